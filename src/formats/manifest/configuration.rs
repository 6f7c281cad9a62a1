//! The ValidatingWebhookConfiguration: which namespaces it sends where is what the shapes say.
//!
//! A namespace is in exactly one of two entries, by its immutable name label and nothing else:
//! labels that somebody may write would be a way out. `Fail` where anything is enforced, `Ignore`
//! where a missing webhook must not stop anybody.

use std::collections::BTreeSet;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::core::judge::Shapes;
use crate::formats::manifest::{DOMAIN, Names};

/// The path that the API server calls for namespaces where something is enforced.
pub const ENFORCE: &str = "/validate/enforce";

/// The path that it calls for the others.
pub const AUDIT: &str = "/validate/audit";

/// The label that every namespace has with its own name; the API server sets it, and nobody can
/// change it (kubernetes/plugin/pkg/admission, since 1.21).
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// One entry of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// [`ENFORCE`] or [`AUDIT`].
    pub path: &'static str,
    /// The namespaces that belong to it, sorted.
    pub namespaces: Vec<String>,
    /// `CREATE`, `UPDATE`.
    pub operations: Vec<String>,
}

/// The entries that the shapes ask for; none without a namespace. A namespace belongs to the
/// enforce entry as soon as one rule there is Enforce.
#[must_use]
pub fn entries(shapes: &Shapes) -> Vec<Entry> {
    let entry = |path, enforced: bool| {
        let (mut namespaces, mut operations) = (BTreeSet::new(), BTreeSet::new());
        for shape in shapes.all() {
            for namespace in &shape.namespaces {
                let governing = shapes.of_namespace(namespace);
                if governing.iter().any(|shape| shape.enforces()) == enforced {
                    namespaces.insert(namespace.clone());
                    operations.extend(shape.operations.iter().map(|o| o.word().to_owned()));
                }
            }
        }
        let (namespaces, operations) =
            (namespaces.into_iter().collect(), operations.into_iter().collect());
        Entry { path, namespaces, operations }
    };
    let both = [entry(ENFORCE, true), entry(AUDIT, false)];
    both.into_iter().filter(|entry| !entry.namespaces.is_empty()).collect()
}

/// How the API server reaches the webhook.
#[derive(Debug, Clone, Copy)]
pub enum Reached<'a> {
    /// At an address; what it has to trust is PEM.
    Url {
        /// A DNS name or an IP address.
        host: &'a str,
        /// The port.
        port: u16,
        /// Its authority.
        ca_pem: &'a str,
    },
    /// Through the Service. There is no `caBundle`: whoever makes the certificates writes it, and
    /// applying this again does not take it away.
    Service(&'a Names),
}

/// The `ValidatingWebhookConfiguration` as YAML, ready for `kubectl apply -f -`.
///
/// Every text that comes from elsewhere is written as a JSON string, which YAML reads as it is: a
/// namespace may be called `on` or `1e3`.
#[must_use]
pub fn configuration(name: &str, reached: Reached<'_>, entries: &[Entry]) -> String {
    annotated(name, reached, entries, &[])
}

/// The same with annotations.
#[must_use]
pub fn annotated(
    name: &str,
    reached: Reached<'_>,
    entries: &[Entry],
    annotations: &[(&str, &str)],
) -> String {
    let mut text = format!(
        "apiVersion: admissionregistration.k8s.io/v1\n\
         kind: ValidatingWebhookConfiguration\n\
         metadata:\n  name: {name}\n"
    );
    if !annotations.is_empty() {
        text.push_str("  annotations:\n");
    }
    for (key, value) in annotations {
        text.push_str(&format!("    {key}: {}\n", quoted(value)));
    }
    text.push_str("webhooks:");
    let entries = entries.iter().filter(|entry| !entry.namespaces.is_empty());
    let blocks: Vec<String> = entries.map(|entry| block(entry, reached)).collect();
    if blocks.is_empty() {
        text.push_str(" []");
    }
    text.push('\n');
    text.extend(blocks);
    text
}

fn block(entry: &Entry, reached: Reached<'_>) -> String {
    // A namespace that only audits must go on working while the webhook is down.
    let (name, policy) =
        if entry.path == AUDIT { ("audit", "Ignore") } else { ("enforce", "Fail") };
    let client = client(entry.path, reached);
    let operations = list(&entry.operations);
    let namespaces = list(&entry.namespaces);
    format!(
        "- name: {name}.{DOMAIN}
  clientConfig:
{client}  rules:
  - apiGroups: [batch]
    apiVersions: [v1]
    resources: [jobs, cronjobs]
    operations: {operations}
    scope: Namespaced
  namespaceSelector:
    matchExpressions:
    - key: {NAME_LABEL}
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

fn client(path: &str, reached: Reached<'_>) -> String {
    match reached {
        Reached::Url { host, port, ca_pem } => {
            let authority = match host.parse() {
                Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
                _ => format!("{host}:{port}"),
            };
            let url = quoted(&format!("https://{authority}{path}"));
            let bundle = STANDARD.encode(ca_pem);
            format!("    url: {url}\n    caBundle: {bundle}\n")
        }
        Reached::Service(names) => {
            let Names { namespace, service, .. } = names;
            format!(
                "    service:\n      name: {service}\n      namespace: {namespace}\n      path: {path}\n      port: 443\n"
            )
        }
    }
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

    const LOOPBACK: &str = "127.0.0.1";

    fn url<'a>(host: &'a str, port: u16, ca_pem: &'a str) -> Reached<'a> {
        Reached::Url { host, port, ca_pem }
    }

    fn entry(path: &'static str, namespaces: &[&str]) -> Entry {
        Entry {
            path,
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            operations: vec!["CREATE".to_owned(), "UPDATE".to_owned()],
        }
    }

    #[test]
    fn the_configuration_holds_an_entry_for_each_path_that_has_namespaces() {
        let entries =
            [entry("/validate/enforce", &["pm-agent", "on"]), entry("/validate/audit", &["ci"])];
        insta::assert_snapshot!(configuration("jobshape-dev", url(LOOPBACK, 8443, "PEM"), &entries), @r#"
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
            configuration("x", url(LOOPBACK, 1, ""), &[entries[1].clone(), entry(ENFORCE, &[])]);
        assert!(text.contains("audit.jobshape.dev") && !text.contains("enforce"), "{text}");
        assert!(configuration("x", url(LOOPBACK, 1, ""), &[]).ends_with("webhooks: []\n"));
    }

    #[test]
    fn an_ipv6_host_stands_in_brackets() {
        let text = configuration("x", url("fd00::1", 443, ""), &[entry("/validate/audit", &["a"])]);
        assert!(text.contains("\"https://[fd00::1]:443/validate/audit\""), "{text}");
    }

    #[test]
    fn through_a_service_it_names_no_authority() {
        let names = Names::default();
        let text = configuration("x", Reached::Service(&names), &[entry(ENFORCE, &["a"])]);
        let client = "    service:\n      name: jobshape\n      namespace: jobshape-system\n      path: /validate/enforce\n      port: 443\n";
        assert!(text.contains(client) && !text.contains("caBundle"), "{text}");
    }
}
