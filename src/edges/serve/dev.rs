//! `--dev`: a certificate made for this one run and the configuration that makes an API server
//! on the same machine use it. Keys live in memory only and die with the process.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use time::OffsetDateTime;

use super::certificate::{CertificateError, Pair};

/// The host an API server on this machine reaches the server at.
pub const LOOPBACK: &str = "127.0.0.1";

/// The names every throw-away certificate is for.
const NAMES: [&str; 3] = [LOOPBACK, "::1", "localhost"];

/// Long enough for any session at a desk.
const VALID: Duration = Duration::from_secs(365 * 24 * 3600);

/// A client's clock may be a little behind.
const SKEW: Duration = Duration::from_secs(3600);

/// Why there is no throw-away certificate.
#[derive(Debug, Error)]
pub enum DevError {
    /// What was given is no name and no address.
    #[error("{0:?} is no host: give a DNS name or an IP address, without a port")]
    Host(String),
    /// rcgen refused.
    #[error("no certificate can be made: {0}")]
    Make(#[from] rcgen::Error),
    /// What was made cannot be served.
    #[error(transparent)]
    Use(#[from] CertificateError),
}

/// A throw-away authority's certificate and a leaf signed by it.
pub struct Throwaway {
    /// What clients must trust, as PEM.
    pub ca_pem: String,
    /// What the server shows.
    pub pair: Pair,
}

/// Makes both, for loopback and for `host`.
pub fn throwaway(host: &str) -> Result<Throwaway, DevError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    if host.parse::<IpAddr>().is_err() && (host.is_empty() || !host.chars().all(plain)) {
        return Err(DevError::Host(host.to_owned()));
    }
    let (ca_pem, leaf, key) = sign(host)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let here = Path::new("--dev");
    let pair = Pair::new(vec![leaf.der().clone()], key, (here, here))?;
    Ok(Throwaway { ca_pem, pair })
}

fn sign(host: &str) -> Result<(String, rcgen::Certificate, KeyPair), rcgen::Error> {
    let now = OffsetDateTime::now_utc();
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "jobshape --dev authority");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (ca.not_before, ca.not_after) = (now - SKEW, now + VALID);
    let ca_key = KeyPair::generate()?;
    let ca_pem = ca.self_signed(&ca_key)?.pem();

    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    if !names.iter().any(|name| name == host) {
        names.push(host.to_owned());
    }
    let mut leaf = CertificateParams::new(names)?;
    leaf.distinguished_name.push(DnType::CommonName, "jobshape --dev");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    (leaf.not_before, leaf.not_after) = (now - SKEW, now + VALID);
    let key = KeyPair::generate()?;
    let leaf = leaf.signed_by(&key, &Issuer::new(ca, ca_key))?;
    Ok((ca_pem, leaf, key))
}

/// One entry of the configuration to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevEntry {
    /// `/validate/enforce` or `/validate/audit`.
    pub path: &'static str,
    /// The namespaces that belong to it.
    pub namespaces: Vec<String>,
    /// `CREATE`, `UPDATE`.
    pub operations: Vec<String>,
}

/// The `ValidatingWebhookConfiguration` for this server, ready for `kubectl apply -f -`.
///
/// Every text that comes from elsewhere is written as a JSON string, which YAML reads as it is: a
/// namespace may be called `on` or `1e3`.
pub fn configuration(host: &str, port: u16, ca_pem: &str, entries: &[DevEntry]) -> String {
    let ca_bundle = STANDARD.encode(ca_pem);
    let authority = match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        _ => format!("{host}:{port}"),
    };
    let mut text = String::from(
        "apiVersion: admissionregistration.k8s.io/v1\n\
         kind: ValidatingWebhookConfiguration\n\
         metadata:\n  name: jobshape-dev\nwebhooks:",
    );
    let entries = entries.iter().filter(|entry| !entry.namespaces.is_empty());
    let blocks: Vec<String> = entries.map(|entry| block(entry, &authority, &ca_bundle)).collect();
    if blocks.is_empty() {
        text.push_str(" []");
    }
    text.push('\n');
    text.extend(blocks);
    text
}

fn block(entry: &DevEntry, authority: &str, ca_bundle: &str) -> String {
    // A namespace that only audits must go on working while this process is down.
    let (name, policy) = match entry.path.strip_suffix("/audit") {
        Some(_) => ("audit", "Ignore"),
        None => ("enforce", "Fail"),
    };
    let url = quoted(&format!("https://{authority}{}", entry.path));
    let operations = list(&entry.operations);
    let namespaces = list(&entry.namespaces);
    format!(
        "- name: {name}.jobshape.dev
  clientConfig:
    url: {url}
    caBundle: {ca_bundle}
  rules:
  - apiGroups: [batch]
    apiVersions: [v1]
    resources: [jobs, cronjobs]
    operations: {operations}
    scope: Namespaced
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values: {namespaces}
  failurePolicy: {policy}
  matchPolicy: Equivalent
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v1]
  timeoutSeconds: 5
"
    )
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &'static str, namespaces: &[&str]) -> DevEntry {
        DevEntry {
            path,
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            operations: vec!["CREATE".to_owned(), "UPDATE".to_owned()],
        }
    }

    #[test]
    fn the_configuration_holds_an_entry_for_each_path_that_has_namespaces() {
        let entries =
            [entry("/validate/enforce", &["pm-agent", "on"]), entry("/validate/audit", &["ci"])];
        insta::assert_snapshot!(configuration(LOOPBACK, 8443, "PEM", &entries), @r#"
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingWebhookConfiguration
        metadata:
          name: jobshape-dev
        webhooks:
        - name: enforce.jobshape.dev
          clientConfig:
            url: "https://127.0.0.1:8443/validate/enforce"
            caBundle: UEVN
          rules:
          - apiGroups: [batch]
            apiVersions: [v1]
            resources: [jobs, cronjobs]
            operations: ["CREATE", "UPDATE"]
            scope: Namespaced
          namespaceSelector:
            matchExpressions:
            - key: kubernetes.io/metadata.name
              operator: In
              values: ["pm-agent", "on"]
          failurePolicy: Fail
          matchPolicy: Equivalent
          sideEffects: NoneOnDryRun
          admissionReviewVersions: [v1]
          timeoutSeconds: 5
        - name: audit.jobshape.dev
          clientConfig:
            url: "https://127.0.0.1:8443/validate/audit"
            caBundle: UEVN
          rules:
          - apiGroups: [batch]
            apiVersions: [v1]
            resources: [jobs, cronjobs]
            operations: ["CREATE", "UPDATE"]
            scope: Namespaced
          namespaceSelector:
            matchExpressions:
            - key: kubernetes.io/metadata.name
              operator: In
              values: ["ci"]
          failurePolicy: Ignore
          matchPolicy: Equivalent
          sideEffects: NoneOnDryRun
          admissionReviewVersions: [v1]
          timeoutSeconds: 5
        "#);
        let text =
            configuration(LOOPBACK, 1, "", &[entries[1].clone(), entry("/validate/enforce", &[])]);
        assert!(text.contains("audit.jobshape.dev") && !text.contains("enforce"), "{text}");
        assert!(configuration(LOOPBACK, 1, "", &[]).ends_with("webhooks: []\n"));
    }

    #[test]
    fn an_ipv6_host_stands_in_brackets() {
        let text = configuration("fd00::1", 443, "", &[entry("/validate/audit", &["a"])]);
        assert!(text.contains("\"https://[fd00::1]:443/validate/audit\""), "{text}");
    }

    #[test]
    fn the_certificate_is_for_loopback_and_the_host() {
        let made = throwaway("host.docker.internal").unwrap();
        assert_eq!(made.pair.names(), ["127.0.0.1", "::1", "localhost", "host.docker.internal"]);
        assert_eq!(throwaway("10.0.0.7").unwrap().pair.names()[3], "10.0.0.7");
        assert_eq!(throwaway(LOOPBACK).unwrap().pair.names().len(), 3);
        assert!(made.ca_pem.starts_with("-----BEGIN CERTIFICATE-----"));
        for host in ["", "höst", "10.0.0.7:8443", "[::1]", "https://a"] {
            let error = throwaway(host).err().map(|error| error.to_string()).unwrap();
            assert!(error.contains("is no host"), "{error}");
        }
    }
}
