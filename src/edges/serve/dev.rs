//! `--dev`: a certificate made for this one run. Keys live in memory only and die with the process.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;

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
