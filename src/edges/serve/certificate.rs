//! The serving certificate: read from its two files and checked.
//!
//! What breaks a webhook for weeks is a certificate nobody looked at. So a pair is judged before
//! it is used (does the key belong to it?), and again at every readiness probe (is it valid now,
//! has it names a client could check?).

use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::reload::{self, Found};
use crate::edges::files;

pub mod slot;

/// Why a certificate cannot be used. No text from inside a file is repeated: one of them is a key.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file is there but cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate file holds no certificate.
    #[error("{} holds no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    /// The key file holds no private key.
    #[error("{} holds no private key in PEM form", .0.display())]
    NoKey(PathBuf),
    /// The first certificate of the chain is none.
    #[error("{} begins with something that is not an X.509 certificate", .0.display())]
    NotX509(PathBuf),
    /// The key is of a kind that TLS here cannot use, or belongs to another certificate.
    #[error("the key in {} does not belong to the certificate in {}: {source}", .key.display(), .cert.display())]
    Mismatch {
        /// The certificate file.
        cert: PathBuf,
        /// The key file.
        key: PathBuf,
        /// What rustls said.
        source: rustls::Error,
    },
}

/// A certificate with the key that belongs to it, and what readiness asks about it.
#[derive(Debug, Clone)]
pub struct Pair {
    certified: Arc<CertifiedKey>,
    not_before: i64,
    not_after: i64,
    names: Vec<String>,
}

impl Pair {
    /// Puts a chain (leaf first) and its key together.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        (cert_file, key_file): (&Path, &Path),
    ) -> Result<Self, CertificateError> {
        let leaf =
            chain.first().ok_or_else(|| CertificateError::NoCertificate(cert_file.to_owned()))?;
        let (not_before, not_after, names) =
            facts(leaf).ok_or_else(|| CertificateError::NotX509(cert_file.to_owned()))?;
        let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(|source| {
            CertificateError::Mismatch { cert: cert_file.into(), key: key_file.into(), source }
        })?;
        Ok(Self { certified: Arc::new(certified), not_before, not_after, names })
    }

    /// The end of its validity, in seconds since 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// The DNS and IP names it is for.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What is wrong with it at this moment.
    fn problem(&self, now: SystemTime) -> Option<String> {
        let now = seconds(now);
        if now < self.not_before {
            Some("the certificate is not valid yet".to_owned())
        } else if now > self.not_after {
            Some("the certificate has expired".to_owned())
        } else if self.names.is_empty() {
            // Go, and so the API server, ignores the common name.
            Some("the certificate has no DNS or IP name (subject alternative name)".to_owned())
        } else {
            None
        }
    }
}

/// Reads the pair. `None` while one of the two files is absent or empty: in a cluster they come
/// from a Secret that somebody may fill only after the Pod has started.
pub fn read(cert: &Path, key: &Path) -> Result<Option<Pair>, CertificateError> {
    pair(cert, key, &content(cert)?, &content(key)?)
}

/// The same, with what tells this content from any other.
pub fn look(cert: &Path, key: &Path) -> Found<Pair> {
    let contents = [content(cert), content(key)];
    let seen = contents.each_ref().map(|c| c.as_ref().map_err(ToString::to_string));
    let mark = reload::mark(&seen);
    let [cert_pem, key_pem] = contents;
    let value = cert_pem.and_then(|c| key_pem.and_then(|k| pair(cert, key, &c, &k)));
    Found { content: mark, value: value.map_err(|error| error.to_string()) }
}

fn pair(
    cert: &Path,
    key: &Path,
    cert_pem: &Option<Vec<u8>>,
    key_pem: &Option<Vec<u8>>,
) -> Result<Option<Pair>, CertificateError> {
    let (Some(chain), Some(key_pem)) = (cert_pem, key_pem) else { return Ok(None) };
    let chain = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| CertificateError::NoCertificate(cert.to_owned()))?;
    let key_der = PrivateKeyDer::from_pem_slice(key_pem)
        .map_err(|_| CertificateError::NoKey(key.to_owned()))?;
    Pair::new(chain, key_der, (cert, key)).map(Some)
}

/// The one crypto provider. Always named: with two in the tree rustls' default would panic.
pub fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// Nothing for a file that is absent or holds only white space.
pub(super) fn content(path: &Path) -> Result<Option<Vec<u8>>, CertificateError> {
    let read = files::open_regular(path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    });
    match read {
        Ok(bytes) => Ok(Some(bytes).filter(|bytes| !bytes.trim_ascii().is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CertificateError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Validity and names.
fn facts(leaf: &CertificateDer<'_>) -> Option<(i64, i64, Vec<String>)> {
    let (_, leaf) = X509Certificate::from_der(leaf).ok()?;
    let names = match leaf.subject_alternative_name().ok()? {
        Some(extension) => extension.value.general_names.iter().filter_map(name).collect(),
        None => Vec::new(),
    };
    let validity = leaf.validity();
    Some((validity.not_before.timestamp(), validity.not_after.timestamp(), names))
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs::write;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    fn pair(names: &[&str], (from, to): (i32, i32)) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn read_texts(cert: &str, key: &str) -> Result<Option<Pair>, CertificateError> {
        let folder = tempfile::tempdir().unwrap();
        let (cert_file, key_file) = (folder.path().join("c"), folder.path().join("k"));
        write(&cert_file, cert).unwrap();
        write(&key_file, key).unwrap();
        read(&cert_file, &key_file)
    }

    fn year(year: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs((year - 1970) * 31_556_952 + 86_400)
    }

    #[test]
    fn a_good_pair_has_names_and_an_end() {
        let (cert, key) = pair(&["jobshape.ns.svc", "127.0.0.1", "::1"], (2020, 2040));
        let pair = read_texts(&cert, &key).unwrap().unwrap();
        assert_eq!(pair.names(), ["jobshape.ns.svc", "127.0.0.1", "::1"]);
        assert_eq!(pair.not_after(), 2_208_988_800);
        assert_eq!(pair.problem(year(2030)), None);
        assert!(pair.problem(year(2019)).unwrap().contains("not valid yet"));
        assert!(pair.problem(year(2041)).unwrap().contains("expired"));
    }

    #[test]
    fn a_common_name_is_no_name() {
        let (cert, key) = pair(&[], (2020, 2040));
        let pair = read_texts(&cert, &key).unwrap().unwrap();
        assert!(pair.problem(year(2030)).unwrap().contains("no DNS or IP name"));
    }

    #[test]
    fn a_named_pipe_is_an_error_and_nobody_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::from(0o600)).unwrap();
        let (tell, told) = channel();
        thread::spawn(move || tell.send(read(&pipe, &pipe).map(|_| ()).unwrap_err().to_string()));
        let error = told.recv_timeout(Duration::from_secs(20)).expect("it waits");
        assert!(error.contains("cannot be read: it is a named pipe"), "{error}");
    }

    #[test]
    fn absent_and_empty_files_are_no_error() {
        let nowhere = Path::new("no-such-folder/tls.crt");
        assert!(read(nowhere, nowhere).unwrap().is_none());
        let (cert, key) = pair(&["a"], (2020, 2040));
        assert!(read_texts("", &key).unwrap().is_none());
        assert!(read_texts(&cert, "\n").unwrap().is_none());
    }

    #[test]
    fn a_broken_pair_is_an_error_that_repeats_no_key() {
        let (cert, key) = pair(&["a"], (2020, 2040));
        let (other, _) = pair(&["a"], (2020, 2040));
        let text = read_texts(&other, &key).unwrap_err().to_string();
        assert!(text.contains("does not belong to"), "{text}");
        let text = read_texts("garbage", &key).unwrap_err().to_string();
        assert!(text.contains("no certificate"), "{text}");
        let cut = key.replace("-----END", "-----SECRET");
        let text = read_texts(&cert, &cut).unwrap_err().to_string();
        assert!(text.contains("no private key") && !text.contains("SECRET"), "{text}");
        let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let text = read_texts(not_der, &key).unwrap_err().to_string();
        assert!(text.contains("not an X.509"), "{text}");
    }
}
