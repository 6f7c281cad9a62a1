//! The optional check of client certificates: only the API server gets in.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::certificate::{content, provider};
use super::reload::{self, Found};

/// What clients are checked by.
pub type Verifier = Arc<dyn ClientCertVerifier>;

/// What is said while the file is absent or empty.
pub const NOTHING: &str = "no certificate of the clients' authority yet";

/// Reads the authority's certificates. `None` while the file is absent or empty: nobody is let in
/// then.
pub fn look(file: &Path, names: &[String]) -> Found<Verifier> {
    let pem = content(file);
    let mark = reload::mark(&pem.as_ref().map_err(ToString::to_string));
    let value = match pem {
        Ok(Some(pem)) => verifier(file, &pem, names).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    Found { content: mark, value }
}

fn verifier(file: &Path, pem: &[u8], names: &[String]) -> Result<Verifier, String> {
    let file = file.display();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate =
            certificate.map_err(|_| format!("{file} holds no certificate in PEM form"))?;
        roots
            .add(certificate)
            .map_err(|error| format!("{file} holds a certificate of no authority: {error}"))?;
    }
    let inner = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()))
        .build()
        .map_err(|error| format!("{file} holds no certificate in PEM form: {error}"))?;
    if names.is_empty() {
        return Ok(inner);
    }
    Ok(Arc::new(Named { inner, names: names.to_vec() }))
}

/// A certificate of the authority that also has one of some names.
#[derive(Debug)]
struct Named {
    inner: Verifier,
    names: Vec<String>,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        client: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(client, intermediates, now)?;
        if has_one(client, &self.names) {
            return Ok(verified);
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The common name counts here: the API server's client certificate is issued by whoever set up
/// the cluster, and most of those have no other name.
fn has_one(certificate: &CertificateDer<'_>, names: &[String]) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return false };
    let is_wanted = |name: &str| names.iter().any(|wanted| wanted == name);
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    if common.into_iter().any(is_wanted) {
        return true;
    }
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return false };
    extension.value.general_names.iter().any(|name| match name {
        GeneralName::DNSName(name) => is_wanted(name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};
    use std::fs::write;

    #[test]
    fn a_name_is_the_common_name_or_a_dns_name() {
        let mut params =
            CertificateParams::new(["a.b".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.distinguished_name.push(DnType::OrganizationName, "system:masters");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let has = |name: &str| has_one(certificate.der(), &["x".to_owned(), name.to_owned()]);
        assert!(has("kube-apiserver") && has("a.b"));
        assert!(!has("system:masters") && !has("b") && !has("127.0.0.1") && !has("A.B"));
    }

    #[test]
    fn a_file_without_certificates_is_an_error_and_an_empty_one_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca");
        let value = || look(&file, &[]).value.map(|verifier| verifier.is_some());
        assert_eq!(value(), Ok(false));
        write(&file, "\n").unwrap();
        assert_eq!(value(), Ok(false));
        write(&file, "garbage").unwrap();
        assert!(value().unwrap_err().contains("holds no certificate in PEM form"));
        let params = CertificateParams::new(["a".to_owned()]).unwrap();
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        write(&file, &certificate).unwrap();
        assert_eq!(value(), Ok(true));
        write(&file, certificate.replace("MII", "AAA")).unwrap();
        assert!(value().is_err());
    }
}
