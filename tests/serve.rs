//! The webhook server, in this process, spoken to over real TLS on loopback.
//!
//! The client is written by hand: most of these tests are about what no HTTP library would send.
//! Everything is bounded by [`PATIENCE`]: a server that hangs is a failed test, not a hung one.

mod certificates;
mod clients;
mod connections;
mod crowded;
mod hold;
mod identified;
mod lifecycle;
mod process;
mod reloads;
mod requests;
mod retried;
mod wire;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jobshape::core::judge::Shapes;
use jobshape::edges::serve::dev::DevEntry;
use jobshape::edges::serve::metrics::reviews::ShapeInfo;
use jobshape::edges::serve::{self, Limits, Loaded, Options};
use jobshape::formats::review::{Answer, Entrance, Record};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest that any step of a test may take, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(20);

const ENFORCE: &str = "/validate/enforce";

const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";

/// Limits of production, except that nobody wants to wait for them.
fn options() -> Options {
    let namespaces = vec!["pm-agent".to_owned()];
    let operations = vec!["CREATE".to_owned(), "UPDATE".to_owned()];
    let loaded = Loaded {
        shapes: Arc::<Shapes>::default(),
        info: vec![ShapeInfo {
            name: "worker".to_owned(),
            digest: "3f9a1c2e".to_owned(),
            namespaces: vec![],
            rules: vec![],
        }],
        entries: vec![DevEntry { path: "/validate/enforce", namespaces, operations }],
        self_test: Ok(()),
    };
    let loopback = "127.0.0.1:0".parse().unwrap();
    let limits = Limits {
        grace: Duration::ZERO,
        handshake: Duration::from_secs(1),
        header: Duration::from_secs(1),
        lame_duck: Duration::ZERO,
        drain: Duration::from_secs(2),
        poll: Duration::from_millis(50),
        body_bytes: 64 * 1024,
        ..Limits::default()
    };
    Options {
        listen: loopback,
        ops_listen: loopback,
        limits,
        decide: admit,
        ..Options::new(loaded)
    }
}

/// A decision that is not under test here: everything that can be read is admitted.
fn admit(_: &Shapes, _: Entrance, body: &[u8]) -> Answer {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    let uid = review["request"]["uid"].as_str().unwrap_or_default().to_owned();
    let body = json!({"response": {"uid": uid, "allowed": true}}).to_string().into_bytes();
    let record = Record {
        uid,
        verdict: "allow",
        allowed: true,
        exempt: false,
        operation: "CREATE".to_owned(),
        kind: "Job".to_owned(),
        namespace: "pm-agent".to_owned(),
        name: "worker".to_owned(),
        user: "somebody".to_owned(),
        dry_run: false,
        unshaped: false,
        shape: Some("worker".to_owned()),
        digest: None,
        findings: 0,
        old_findings: 0,
        rules: Vec::new(),
        reason: None,
    };
    Answer { http: 200, body, record }
}

/// A review with a Job that holds `padding` bytes.
fn review(padding: usize) -> String {
    let padding = "x".repeat(padding);
    format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\
         \"request\":{{\"uid\":\"{UID}\",\"object\":\"{padding}\"}}}}"
    )
}

/// A server at work.
pub struct Running {
    webhook: SocketAddr,
    operations: SocketAddr,
    /// With `--dev`: what it prints.
    pub configuration: Option<String>,
    tls: Option<TlsConnector>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

pub fn start(options: Options) -> Running {
    let server = serve::bind(options).map_err(|error| error.to_string()).unwrap();
    let (webhook, operations) = (server.webhook_address(), server.operations_address());
    let configuration = server.configuration().map(str::to_owned);
    let tls = configuration.as_deref().map(trusting);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(server.serve(async {
        let _ = stopped.await;
    }));
    Running { webhook, operations, configuration, tls, stop: Some(stop), task }
}

/// A client that trusts what the printed configuration says, and nothing else.
fn trusting(configuration: &str) -> TlsConnector {
    let bundle = configuration.lines().find_map(|line| line.trim().strip_prefix("caBundle: "));
    let pem = STANDARD.decode(bundle.unwrap()).unwrap();
    client(&[std::str::from_utf8(&pem).unwrap()], None)
}

/// A client that trusts these, and shows this certificate and key.
fn client(trusted: &[&str], shows: Option<(&str, &str)>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for pem in trusted {
        roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match shows {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(cert.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    // Every handshake a whole one, so that it shows the certificate that is served now.
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

impl Running {
    async fn connect(&self) -> Talk<TlsStream<TcpStream>> {
        self.connect_as("127.0.0.1").await
    }

    async fn connect_as(&self, name: &'static str) -> Talk<TlsStream<TcpStream>> {
        Talk(self.handshake(self.tls.as_ref().unwrap(), name).await.unwrap())
    }

    async fn connect_as_host(&self, host: &str) -> Talk<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let stream = soon(TcpStream::connect(self.webhook)).await.unwrap();
        Talk(soon(self.tls.as_ref().unwrap().connect(name, stream)).await.unwrap())
    }

    async fn handshake(
        &self,
        client: &TlsConnector,
        name: &'static str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = soon(TcpStream::connect(self.webhook)).await?;
        soon(client.connect(ServerName::try_from(name).unwrap(), stream)).await
    }

    /// Nothing but the TCP connection.
    async fn knock(&self) -> Talk<TcpStream> {
        Talk(soon(TcpStream::connect(self.webhook)).await.unwrap())
    }

    pub async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        let mut talk = self.connect().await;
        talk.post(path, body.as_ref()).await;
        talk.reply().await
    }

    /// From the operations port.
    pub async fn get(&self, path: &str) -> Reply {
        let mut talk = Talk(soon(TcpStream::connect(self.operations)).await.unwrap());
        talk.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        talk.reply().await
    }

    /// Waits until a series has this value.
    async fn until_metric(&self, series: &str, value: f64) {
        until(async || self.metric(series).await == Some(value)).await;
    }

    /// The value of one series.
    pub async fn metric(&self, series: &str) -> Option<f64> {
        let text = self.get("/metrics").await.body;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(series));
        values.find_map(|rest| rest.strip_prefix(' ')).map(|value| value.parse().unwrap())
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

/// One connection, in words.
struct Talk<S>(S);

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Reply {
    pub fn response(&self) -> Value {
        let mut review: Value = serde_json::from_str(&self.body).unwrap();
        review["response"].take()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    async fn send(&mut self, text: &str) {
        soon(self.0.write_all(text.as_bytes())).await.unwrap();
        soon(self.0.flush()).await.unwrap();
    }

    async fn post(&mut self, path: &str, body: &[u8]) {
        self.send(&head(path, body.len())).await;
        soon(self.0.write_all(body)).await.unwrap();
        soon(self.0.flush()).await.unwrap();
    }

    async fn reply(&mut self) -> Reply {
        soon(async {
            let mut bytes = Vec::new();
            loop {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let head = head.to_ascii_lowercase();
                    let length = head.split_once("content-length: ").unwrap().1;
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    if body.len() >= length {
                        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                        return Reply { status, head, body: body.to_owned() };
                    }
                }
                let mut more = [0; 4096];
                let count = self.0.read(&mut more).await.unwrap();
                assert_ne!(count, 0, "closed after {text:?}");
                bytes.extend_from_slice(&more[..count]);
            }
        })
        .await
    }

    /// Reads until the server closes.
    async fn closed(&mut self) {
        // A reset is a way of closing too.
        let _ = soon(self.0.read_to_end(&mut Vec::new())).await;
    }
}

fn head(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("the server hangs")
}

/// Asks again until it is so.
async fn until(mut so: impl AsyncFnMut() -> bool) {
    soon(async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
