//! Throw-away keys of one control plane. Nothing of this is ever kept.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

use super::Failure;

/// What kube-apiserver needs to serve TLS and to sign the tokens of service accounts, as PEM.
pub struct Keys {
    /// The authority that clients trust.
    pub ca: String,
    /// The certificate of the server, for loopback.
    pub certificate: String,
    /// Its private key.
    pub private_key: String,
    /// Verifies service account tokens.
    pub tokens_public: String,
    /// Signs them.
    pub tokens_private: String,
}

impl Keys {
    /// New keys.
    pub fn generate() -> Result<Self, Failure> {
        Self::try_generate().map_err(Failure::during("making keys for the API server"))
    }

    fn try_generate() -> Result<Self, rcgen::Error> {
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key)?.pem();

        let key = KeyPair::generate()?;
        let mut serving = CertificateParams::new(vec!["localhost".to_owned()])?;
        serving.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
        let certificate = serving.signed_by(&key, &Issuer::from_params(&ca, &ca_key))?.pem();

        let tokens = KeyPair::generate()?;
        Ok(Keys {
            ca: ca_pem,
            certificate,
            private_key: key.serialize_pem(),
            tokens_public: tokens.public_key_pem(),
            tokens_private: tokens.serialize_pem(),
        })
    }
}

/// A token that nobody else on this machine can guess. The standard library keys its hash maps
/// with randomness of the system, which spares a dependency.
pub fn random_token() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}
