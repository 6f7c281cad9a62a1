//! Would an API server believe the certificate that the replicas show?

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Verification;
use super::configuration::webhooks;
use crate::edges::cluster::replica::Report;
use crate::edges::serve::certificate::provider;
use crate::formats::report::verified::Line;

const CHECK: &str = "certificate";

/// Less than this is said although nothing is wrong yet.
const SOON: time::Duration = time::Duration::days(7);

pub(super) fn look(
    verification: &Verification<'_>,
    live: Option<&Value>,
    reports: &BTreeMap<String, Report>,
) -> Vec<Line> {
    let Some(live) = live else { return vec![] };
    let fix = "see what makes the certificates: certs/README.md";
    let (mut lines, mut notes) = (vec![], vec![]);
    let mut good = 0;
    for webhook in webhooks(live) {
        let entry = webhook["name"].as_str().unwrap_or_default();
        let roots = match roots(&webhook["clientConfig"]["caBundle"]) {
            Ok(roots) => roots,
            Err(why) => {
                let message = format!("the caBundle of {entry} {why}: no call succeeds");
                lines.push(Line::failed(CHECK, message, fix));
                continue;
            }
        };
        for (pod, report) in reports {
            match believed(verification, &roots, report) {
                Ok(Believed::AsItIs) => good += 1,
                Ok(Believed::AsAnAuthority) => {
                    good += 1;
                    let message = format!(
                        "{pod} shows a certificate that is an authority itself: API servers believe it, as {entry} trusts exactly it, and many others do not"
                    );
                    notes.push(Line::note(CHECK, message));
                }
                Err(why) => {
                    let message =
                        format!("the caBundle of {entry} does not verify what {pod} shows: {why}");
                    lines.push(Line::failed(CHECK, message, fix));
                }
            }
        }
    }
    if good > 0 && lines.is_empty() {
        let ends = reports.values().filter_map(ends).min();
        let left = ends.map(|ends| ends - OffsetDateTime::now_utc());
        let days = left.map_or(String::new(), |left| format!(", {} days left", left.whole_days()));
        let message = format!("the caBundle verifies what every replica shows{days}");
        lines.push(match left {
            Some(left) if left < SOON => {
                Line::failed(CHECK, format!("the certificate ends soon{days}"), fix)
            }
            _ => Line::ok(CHECK, message),
        });
    }
    lines.extend(notes);
    lines
}

/// How an API server comes to believe what is shown.
#[derive(Debug, PartialEq, Eq)]
enum Believed {
    AsItIs,
    /// It is an authority, which Go lets pass.
    AsAnAuthority,
}

fn ends(report: &Report) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(report.certificate_ends.as_deref()?, &Rfc3339).ok()
}

fn roots(bundle: &Value) -> Result<Arc<RootCertStore>, &'static str> {
    let text = bundle.as_str().filter(|text| !text.is_empty()).ok_or("is empty")?;
    let pem = STANDARD.decode(text).map_err(|_| "is no base64")?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| "is no PEM")?;
        roots.add(certificate).map_err(|_| "holds what is no certificate")?;
    }
    if roots.is_empty() { Err("holds no certificate") } else { Ok(Arc::new(roots)) }
}

/// As an API server looks at it: the chain, the time, and the Service's name.
fn believed(
    verification: &Verification<'_>,
    roots: &Arc<RootCertStore>,
    report: &Report,
) -> Result<Believed, String> {
    let Some(chain) = &report.certificate_chain else {
        return Err("it has no certificate".to_owned());
    };
    let chain: Result<Vec<CertificateDer<'_>>, _> =
        CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
    let chain = chain.map_err(|_| "what it says of it is no PEM".to_owned())?;
    let Some((leaf, others)) = chain.split_first() else {
        return Err("it has no certificate".to_owned());
    };
    let names = verification.names;
    let name = format!("{}.{}.svc", names.service, names.namespace);
    let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::new(provider()))
            .build()
            .map_err(|error| error.to_string())?;
    let verified = verifier.verify_server_cert(leaf, others, &name, &[], UnixTime::now());
    match verified {
        Ok(_) => Ok(Believed::AsItIs),
        // Nothing else was looked at then, so the rest is up to us.
        Err(error) if error.to_string().contains("CaUsedAsEndEntity") => {
            let now = OffsetDateTime::now_utc().unix_timestamp();
            if is_believed_itself(leaf, roots, &name.to_str(), now) {
                Ok(Believed::AsAnAuthority)
            } else {
                Err(error.to_string())
            }
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a certificate that is an authority would do for a server: the very one that is trusted,
/// now, for the name. crypto/x509 asks no more of a leaf that is in the pool.
fn is_believed_itself(leaf: &[u8], roots: &RootCertStore, name: &str, now: i64) -> bool {
    let Ok((_, read)) = X509Certificate::from_der(leaf) else { return false };
    let is_trusted = roots.roots.iter().any(|root| {
        // Name and key are what a root is; whoever shows it has proved to have the key.
        let key = read.tbs_certificate.subject_pki.raw;
        let subject = read.tbs_certificate.subject.as_raw();
        key.ends_with(&root.subject_public_key_info) && subject.ends_with(&root.subject)
    });
    let is_now =
        read.validity.not_before.timestamp() <= now && now <= read.validity.not_after.timestamp();
    let names = read.subject_alternative_name().ok().flatten();
    let is_named = names.is_some_and(|names| {
        let is_it = |of: &GeneralName<'_>| matches!(of, GeneralName::DNSName(dns) if *dns == name);
        names.value.general_names.iter().any(is_it)
    });
    let serves = match read.extended_key_usage() {
        Ok(usage) => usage.is_none_or(|usage| usage.value.server_auth || usage.value.any),
        Err(_) => false,
    };
    is_trusted && is_now && is_named && serves
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    #[test]
    fn an_authority_that_is_trusted_itself_will_do() {
        let key = KeyPair::generate().unwrap();
        let made = |name: &str| {
            let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.self_signed(&key).unwrap().der().clone()
        };
        let (right, wrong) = (made("jobshape.x.svc"), made("other.x.svc"));
        let mut roots = RootCertStore::empty();
        let now = OffsetDateTime::now_utc().unix_timestamp();
        assert!(!is_believed_itself(&right, &roots, "jobshape.x.svc", now));
        roots.add(right.clone()).unwrap();
        assert!(is_believed_itself(&right, &roots, "jobshape.x.svc", now));
        assert!(!is_believed_itself(&wrong, &roots, "jobshape.x.svc", now));
        assert!(!is_believed_itself(&right, &roots, "jobshape.x.svc", i64::MAX));
    }
}
