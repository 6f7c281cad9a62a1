//! With `--client-ca`: who is let in.

use std::fs;

use super::{ENFORCE, Running, Talk, client, options, review, start, until};
use jobshape::edges::serve::{ClientCa, Options, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};

const SERVER: &str = "jobshape.jobshape.svc";

pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "clients");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub fn client(&self, common: &str, dns: &[&str]) -> (String, String) {
        let names: Vec<String> = dns.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

struct Case {
    server: Running,
    folder: tempfile::TempDir,
    cert: String,
}

fn serve(ca: &str, names: &[&str]) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (cert, key) = super::certificates::pair(SERVER);
    fs::write(at("tls.crt"), &cert).unwrap();
    fs::write(at("tls.key"), key).unwrap();
    fs::write(at("ca.crt"), ca).unwrap();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let server = start(Options {
        tls: Tls::Files { cert: at("tls.crt"), key: at("tls.key") },
        clients: Some(ClientCa { file: at("ca.crt"), names }),
        ..options()
    });
    Case { server, folder, cert }
}

impl Case {
    /// Whether a client that shows this gets an answer.
    async fn lets_in(&self, shows: Option<&(String, String)>) -> bool {
        let shows = shows.map(|(cert, key)| (cert.as_str(), key.as_str()));
        let client = client(&[&self.cert], shows);
        let Ok(stream) = self.server.handshake(&client, SERVER).await else { return false };
        // In TLS 1.3 the client is done before the server has looked at its certificate.
        let mut talk = Talk(stream);
        let body = review(0);
        let request = super::head(ENFORCE, body.len()) + &body;
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        if talk.0.write_all(request.as_bytes()).await.is_err() {
            return false;
        }
        let mut answer = [0; 12];
        let read = talk.0.read_exact(&mut answer).await;
        read.is_ok() && &answer == b"HTTP/1.1 200"
    }

    async fn failures(&self) -> f64 {
        let series = "jobshape_handshake_errors_total{reason=\"client_certificate\"}";
        self.server.metric(series).await.unwrap()
    }
}

#[tokio::test]
async fn only_clients_of_the_authority_are_let_in() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let case = serve(&ours.pem, &[]);
    assert!(case.lets_in(Some(&ours.client("anybody", &[]))).await);
    assert_eq!(case.failures().await, 0.0);
    assert!(!case.lets_in(None).await);
    assert!(!case.lets_in(Some(&theirs.client("anybody", &[]))).await);
    assert!(!case.lets_in(Some(&super::certificates::pair("anybody"))).await);
    assert_eq!(case.failures().await, 3.0);
    // Probes do not need one.
    assert_eq!(case.server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn with_names_only_those() {
    let ours = Authority::new();
    let case = serve(&ours.pem, &["kube-apiserver", "apiserver.example"]);
    assert!(case.lets_in(Some(&ours.client("kube-apiserver", &[]))).await);
    assert!(case.lets_in(Some(&ours.client("x", &["apiserver.example"]))).await);
    assert!(!case.lets_in(Some(&ours.client("kubelet", &["kubelet.example"]))).await);
    assert_eq!(case.failures().await, 1.0);
}

#[tokio::test]
async fn another_authority_is_taken_and_a_broken_one_is_not() {
    let (old, new) = (Authority::new(), Authority::new());
    let (old_client, new_client) = (old.client("a", &[]), new.client("a", &[]));
    let case = serve(&old.pem, &[]);
    let file = case.folder.path().join("ca.crt");
    let failing = "jobshape_reload_failing{source=\"client_ca\"}";
    fs::write(&file, "garbage").unwrap();
    case.server.until_metric(failing, 1.0).await;
    assert!(case.lets_in(Some(&old_client)).await);
    assert!(!case.lets_in(Some(&new_client)).await);
    // Both, while the clients change over, then only the new one.
    fs::write(&file, format!("{}{}", old.pem, new.pem)).unwrap();
    until(async || case.lets_in(Some(&new_client)).await).await;
    assert!(case.lets_in(Some(&old_client)).await);
    assert_eq!(case.server.metric(failing).await, Some(0.0));
    fs::write(&file, &new.pem).unwrap();
    until(async || !case.lets_in(Some(&old_client)).await).await;
    assert!(case.lets_in(Some(&new_client)).await);
}

#[tokio::test]
async fn before_there_is_an_authority_nobody_is_let_in() {
    let ours = Authority::new();
    let case = serve("", &[]);
    let ready = case.server.get("/readyz").await;
    assert_eq!(ready.body, "no certificate of the clients' authority yet\n");
    assert!(!case.lets_in(Some(&ours.client("a", &[]))).await);
    assert!(!case.lets_in(None).await);
    fs::write(case.folder.path().join("ca.crt"), &ours.pem).unwrap();
    until(async || case.server.get("/readyz").await.status == 200).await;
    assert!(case.lets_in(Some(&ours.client("a", &[]))).await);
}
