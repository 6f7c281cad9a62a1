//! Making certificates, and reading them again.

use std::net::IpAddr;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, PrimitiveDateTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::state::seen::{Leaf, Signer, Trusted};
use crate::edges::serve::certificate::{self, facts, fingerprint};
use crate::formats::manifest::Names;

/// How much earlier than now a certificate begins: a clock may be behind.
pub const SKEW: Duration = Duration::from_secs(3600);

/// A certificate to serve, as it is stored.
pub struct Made {
    /// The certificate, PEM.
    pub certificate: String,
    /// Its key, PEM.
    pub key: String,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
#[error("no certificate can be made: {0}")]
pub struct CannotMake(#[from] rcgen::Error);

/// The names under which a Service is called; the API server uses the first.
#[must_use]
pub fn service_names(names: &Names) -> Vec<String> {
    let Names { service, namespace, .. } = names;
    let qualified = format!("{service}.{namespace}");
    [".svc", ".svc.cluster.local", ""]
        .map(|end| format!("{qualified}{end}"))
        .into_iter()
        .chain([service.clone()])
        .collect()
}

/// A further name as certificates have it: addresses are spelled in one way there.
///
/// # Errors
/// What no certificate can be for.
pub fn name(text: &str) -> Result<String, CannotMake> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    CertificateParams::new([text.to_owned()])?;
    Ok(text.to_owned())
}

/// A new authority. Its name has the moment in it: two of the same name and different keys make
/// for errors that nobody understands.
///
/// # Errors
/// Whatever rcgen has against it.
pub fn authority(now: i64, life: Duration) -> Result<Signer, CannotMake> {
    let moment = moment(now);
    let mut params = CertificateParams::default();
    let date = moment.replace_nanosecond(0).ok().and_then(|moment| moment.format(&Rfc3339).ok());
    let name = format!("jobshape authority {}", date.unwrap_or_default());
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = earlier(moment);
    params.not_after = later(moment, life);
    // ECDSA P-256: cheap handshakes, and every Go accepts it. The serial number is of the new key.
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem();
    let certificate =
        trusted(&pem).into_iter().next().ok_or(rcgen::Error::CouldNotParseCertificate)?;
    Ok(Signer { certificate, key: key.serialize_pem() })
}

/// A new certificate for these names, which neither begins before its authority nor outlives it.
///
/// # Errors
/// Whatever rcgen has against the names or the authority.
pub fn leaf(
    signer: &Signer,
    names: &[String],
    now: i64,
    life: Duration,
) -> Result<Made, CannotMake> {
    let moment = moment(now);
    let mut params = CertificateParams::new(names.to_vec())?;
    let name = names.first().map_or("jobshape", String::as_str);
    // A common name has 64 characters at most, and nobody looks at it.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    // It is not believed while its authority is not.
    params.not_before = earlier(moment).max(self::moment(signer.certificate.from));
    params.not_after = later(moment, life).min(self::moment(signer.certificate.to));
    let issuer =
        Issuer::from_ca_cert_pem(&signer.certificate.pem, KeyPair::from_pem(&signer.key)?)?;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Made { certificate, key: key.serialize_pem() })
}

/// The certificates in a PEM text, each once. A certificate can be trusted that vouches only for
/// itself.
#[must_use]
pub fn trusted(pem: &str) -> Vec<Trusted> {
    let mut found: Vec<Trusted> = vec![];
    for der in CertificateDer::pem_slice_iter(pem.as_bytes()).map_while(Result::ok) {
        let Some(trusted) = read(&der) else { continue };
        if found.iter().all(|other| other.fingerprint != trusted.fingerprint) {
            found.push(trusted);
        }
    }
    found
}

fn read(der: &CertificateDer<'_>) -> Option<Trusted> {
    let (from, to, _) = facts(der)?;
    Some(Trusted { pem: certificate::pem(der), fingerprint: fingerprint(der), from, to })
}

/// An authority with the key that belongs to it.
#[must_use]
pub fn signer(certificate: &str, key: &str) -> Option<Signer> {
    let found = trusted(certificate).into_iter().next()?;
    let der = CertificateDer::from_pem_slice(found.pem.as_bytes()).ok()?;
    let is_ca = X509Certificate::from_der(&der).is_ok_and(|(_, parsed)| parsed.is_ca());
    (is_ca && belongs(&der, key)).then(|| Signer { certificate: found, key: key.to_owned() })
}

/// A certificate to serve with the key that belongs to it, and which of the authorities signed it.
#[must_use]
pub fn served<'a>(
    certificate: &str,
    key: &str,
    names: &[String],
    authorities: impl Iterator<Item = &'a Trusted>,
) -> Option<Leaf> {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).ok()?;
    let (from, to, found) = facts(&der)?;
    let (_, parsed) = X509Certificate::from_der(&der).ok()?;
    let mut by = authorities.filter(|authority| {
        let Ok(der) = CertificateDer::from_pem_slice(authority.pem.as_bytes()) else {
            return false;
        };
        X509Certificate::from_der(&der).is_ok_and(|(_, authority)| {
            parsed.issuer() == authority.subject()
                && parsed.verify_signature(Some(authority.public_key())).is_ok()
        })
    });
    belongs(&der, key).then(|| Leaf {
        fingerprint: fingerprint(&der),
        by: by.next().map(|authority| authority.fingerprint.clone()),
        from,
        to,
        names: names.iter().all(|name| found.contains(name)),
    })
}

fn belongs(certificate: &CertificateDer<'_>, key: &str) -> bool {
    let Ok(key) = KeyPair::from_pem(key) else { return false };
    X509Certificate::from_der(certificate).is_ok_and(|(_, certificate)| {
        certificate.public_key().subject_public_key.data == key.public_key_raw()
    })
}

fn moment(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(seconds.max(0)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

// Whatever an API server takes for the time, nothing panics.
fn earlier(moment: OffsetDateTime) -> OffsetDateTime {
    moment.checked_sub(time::Duration::try_from(SKEW).unwrap_or_default()).unwrap_or(moment)
}

fn later(moment: OffsetDateTime, life: Duration) -> OffsetDateTime {
    let life = time::Duration::try_from(life).ok();
    life.and_then(|life| moment.checked_add(life)).unwrap_or(LAST)
}

/// No certificate can end later.
const LAST: OffsetDateTime = PrimitiveDateTime::MAX.assume_utc();

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::PublicKeyData as _;
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::sync::Arc;

    use crate::edges::serve::certificate::provider;

    const NOW: i64 = 1_800_000_000;
    const DAY: Duration = Duration::from_secs(86_400);

    fn names() -> Vec<String> {
        let mut names = service_names(&Names::default());
        names.push("127.0.0.1".to_owned());
        names
    }

    /// As an API server would judge it.
    fn is_believed(leaf: &Made, by: &Signer, name: &str, at: i64) -> bool {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(by.certificate.pem.as_bytes()).unwrap();
        roots.add(root).unwrap();
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()))
                .build()
                .unwrap();
        let leaf = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
        let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at).unwrap()));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&leaf, &[], &name, &[], at).is_ok()
    }

    #[test]
    fn a_certificate_is_believed_under_each_name_from_an_hour_before_until_its_end() {
        let (signer, other) = (authority(NOW, 9 * DAY).unwrap(), authority(NOW, 9 * DAY).unwrap());
        let made = leaf(&signer, &names(), NOW, DAY).unwrap();
        for name in [
            "jobshape",
            "jobshape.jobshape-system",
            "jobshape.jobshape-system.svc",
            "jobshape.jobshape-system.svc.cluster.local",
            "127.0.0.1",
        ] {
            assert!(is_believed(&made, &signer, name, NOW), "{name}");
        }
        assert!(!is_believed(&made, &signer, "kubernetes", NOW));
        assert!(!is_believed(&made, &other, "jobshape", NOW));
        assert!(is_believed(&made, &signer, "jobshape", NOW - 3600));
        assert!(!is_believed(&made, &signer, "jobshape", NOW - 3601));
        assert!(is_believed(&made, &signer, "jobshape", NOW + 86_400));
        assert!(!is_believed(&made, &signer, "jobshape", NOW + 86_401));
    }

    #[test]
    fn a_certificate_has_every_name_that_can_be_asked_for() {
        let texts = ["127.0.0.1", "0:0:0:0:0:0:0:1", "webhook.example", "*.example"];
        let names: Vec<String> = texts.iter().map(|text| name(text).unwrap()).collect();
        let signer = authority(NOW, DAY).unwrap();
        let made = leaf(&signer, &names, NOW, DAY).unwrap();
        assert!(served(&made.certificate, &made.key, &names, [].into_iter()).unwrap().names);
        assert!(name("münchen.example").is_err());
    }

    #[test]
    fn a_certificate_never_outlives_its_authority() {
        let signer = authority(NOW, DAY).unwrap();
        let made = leaf(&signer, &names(), NOW, 9 * DAY).unwrap();
        let read = served(&made.certificate, &made.key, &names(), [].into_iter()).unwrap();
        assert_eq!(read.to, NOW + 86_400);
    }

    #[test]
    fn no_time_of_day_and_no_life_is_too_much() {
        for now in [i64::MIN, -1, 0, NOW, 253_402_300_799, i64::MAX] {
            for life in [Duration::ZERO, DAY, Duration::MAX] {
                let signer = authority(now, life).unwrap();
                leaf(&signer, &names(), now, life).unwrap();
            }
        }
    }

    #[test]
    fn what_is_read_is_what_was_made() {
        let [one, two] = [(); 2].map(|()| authority(NOW, DAY).unwrap());
        let made = leaf(&two, &names(), NOW, DAY).unwrap();
        let both = [&one.certificate, &two.certificate];
        let read = served(&made.certificate, &made.key, &names(), both.into_iter()).unwrap();
        assert_eq!(read.by.as_ref(), Some(&two.certificate.fingerprint));
        assert!(read.names);
        let more = ["elsewhere".to_owned()];
        assert!(!served(&made.certificate, &made.key, &more, [].into_iter()).unwrap().names);
        // The key of another one, and nonsense.
        let other = leaf(&two, &names(), NOW, DAY).unwrap();
        assert!(served(&made.certificate, &other.key, &names(), [].into_iter()).is_none());
        assert!(served("nonsense", &other.key, &names(), [].into_iter()).is_none());
        assert!(signer(&one.certificate.pem, &one.key).is_some_and(|read| read == one));
        assert!(signer(&one.certificate.pem, &two.key).is_none());
        assert!(signer(&made.certificate, &made.key).is_none(), "it is no authority");

        let text = format!("{}{}{}", one.certificate.pem, made.certificate, one.certificate.pem);
        let read = trusted(&text);
        assert_eq!(read.len(), 2, "each once, and also what is no authority");
        assert_eq!(read[0], one.certificate);
    }

    #[test]
    fn names_serials_and_keys_are_never_the_same_twice() {
        let parsed = |pem: &str| {
            let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            let (_, parsed) = X509Certificate::from_der(&der).unwrap();
            (parsed.subject().to_string(), parsed.raw_serial().to_vec())
        };
        let signer = authority(NOW, DAY).unwrap();
        let later = authority(NOW + 1, DAY).unwrap();
        let (name, serial) = parsed(&signer.certificate.pem);
        assert_eq!(name, "CN=jobshape authority 2027-01-15T08:00:00Z");
        assert_ne!(parsed(&later.certificate.pem), (name, serial));
        let leaves = [(); 2].map(|()| leaf(&signer, &names(), NOW, DAY).unwrap());
        let [one, two] = leaves.each_ref().map(|made| parsed(&made.certificate).1);
        assert_ne!(one, two);
        let [one, two] = leaves.map(|made| KeyPair::from_pem(&made.key).unwrap());
        assert_ne!(one.der_bytes(), two.der_bytes());
    }
}
