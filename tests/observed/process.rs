//! The real program, `jobshape serve`, with its real standard output.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest that any step of a test may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_jobshape");

/// A namespace that is enforced and one that warns and audits.
const SHAPES: &str = r#"
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {name: enforced}
spec:
  match: {namespaces: [governed]}
  rules:
  - {name: everything}
  templates:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: main}
    spec:
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "registry.example/main:1"}]
---
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {name: audited}
spec:
  match: {namespaces: [watched]}
  rules:
  - {name: deadline, select: [$.spec.activeDeadlineSeconds], action: Warn}
  - {name: everything, action: Audit, auditUntil: 2027-01-31}
  templates:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: main}
    spec:
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "registry.example/main:1"}]
"#;

/// `jobshape serve` at work. It ends with the test.
pub struct Process {
    child: Child,
    webhook: SocketAddr,
    operations: SocketAddr,
    tls: Option<TlsConnector>,
    said: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
    /// Where its files are.
    pub folder: TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// With these flags more, and its standard output as given. `{}` in a flag is a folder of its
    /// own.
    pub fn start(flags: &[&str], stdout: Stdio) -> Self {
        Self::start_by(Command::new(PROGRAM), flags, stdout)
    }

    /// The same, the program being the last argument of a command.
    pub fn start_by(mut command: Command, flags: &[&str], stdout: Stdio) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let cert = params.self_signed(&key).unwrap().pem();
        std::fs::write(path("tls.crt"), &cert).unwrap();
        std::fs::write(path("tls.key"), key.serialize_pem()).unwrap();
        command.arg("serve").stdout(stdout);
        command.args(["--tls-cert", &path("tls.crt"), "--tls-key", &path("tls.key")]);
        command.args(flags.iter().map(|flag| flag.replace("{}", &path(""))));
        let mut process = Self::listening(command, folder);
        process.tls = Some(trusting(cert.as_bytes()));
        process
    }

    /// With `--dev`, and the configuration that it prints.
    pub fn dev() -> (Self, String) {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--dev"]).stdout(Stdio::piped());
        let mut process = Self::listening(command, tempfile::tempdir().unwrap());
        let mut configuration = String::new();
        let mut stdout = BufReader::new(process.stdout());
        // One entry for each of the two shapes, and this ends an entry.
        while configuration.matches("timeoutSeconds: 5\n").count() < 2 {
            assert_ne!(stdout.read_line(&mut configuration).unwrap(), 0, "{configuration}");
        }
        process.child.stdout = Some(stdout.into_inner());
        let mut lines = configuration.lines();
        let bundle = lines.find_map(|line| line.trim().strip_prefix("caBundle: ")).unwrap();
        process.tls = Some(trusting(&STANDARD.decode(bundle).unwrap()));
        (process, configuration)
    }

    fn listening(mut command: Command, folder: TempDir) -> Self {
        let shapes = folder.path().join("shapes.yaml");
        std::fs::write(&shapes, SHAPES).unwrap();
        command.arg("--shapes").arg(&shapes);
        command.args(["--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"]);
        command.env_remove("RUST_LOG").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = vec![];
        let listening = loop {
            let line = log.next().unwrap_or_else(|| panic!("it ended: {before:?}")).unwrap();
            match serde_json::from_str::<Value>(&line) {
                Ok(line) if line["message"] == "listening" => break line,
                _ => before.push(line),
            }
        };
        let said = Arc::new(Mutex::new(before));
        // Somebody has to read on, or it would wait for that.
        let keep = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            log.for_each(|line| keep.lock().unwrap().push(line.unwrap()));
        });
        let address = |which: &str| listening[which].as_str().unwrap().parse().unwrap();
        let (webhook, operations) = (address("webhook"), address("operations"));
        Self { child, webhook, operations, tls: None, said, reader: Some(reader), folder }
    }

    /// What it wrote to standard error, all of it once it has ended.
    pub fn stderr(&mut self) -> Vec<String> {
        self.reader.take().unwrap().join().unwrap();
        self.said.lock().unwrap().clone()
    }

    /// What it writes, for a test that reads it.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    /// One connection, over which requests can follow each other.
    pub async fn connect(&self) -> Connection {
        soon(async {
            let stream = TcpStream::connect(self.webhook).await.unwrap();
            let name = ServerName::try_from("127.0.0.1").unwrap();
            Connection(self.tls.as_ref().unwrap().connect(name, stream).await.unwrap())
        })
        .await
    }

    /// What the operations port says.
    pub async fn get(&self, path: &str) -> String {
        soon(async {
            let mut stream = TcpStream::connect(self.operations).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text.split_once("\r\n\r\n").unwrap().1.to_owned()
        })
        .await
    }

    /// The value of one series.
    pub async fn metric(&self, series: &str) -> u64 {
        let text = self.get("/metrics").await;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(series));
        let value = values.next().unwrap_or_else(|| panic!("no {series} in {text}"));
        value.trim().parse().unwrap()
    }

    /// Waits for what is counted after the answer was given, by the thread that writes.
    pub async fn until_metric(&self, series: &str, expected: u64) {
        let start = Instant::now();
        while self.metric(series).await != expected {
            assert!(start.elapsed() < PATIENCE, "{series} is not {expected}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// SIGTERM, and the end.
    pub fn stop(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn trusting(pem: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A connection to the webhook port.
pub struct Connection(TlsStream<TcpStream>);

impl Connection {
    /// Asks, and gives the `response`.
    pub async fn ask(&mut self, entrance: &str, body: &str) -> Value {
        // In one piece: the second of two waits for the other end to acknowledge the first.
        let request = format!(
            "POST /validate/{entrance} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        soon(async {
            self.0.write_all(request.as_bytes()).await.unwrap();
            self.0.flush().await.unwrap();
            let mut bytes = vec![];
            loop {
                let mut more = [0; 4096];
                let count = self.0.read(&mut more).await.unwrap();
                assert_ne!(count, 0, "closed");
                bytes.extend_from_slice(&more[..count]);
                let text = String::from_utf8_lossy(&bytes);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let head = head.to_ascii_lowercase();
                let length = head.split_once("content-length: ").unwrap().1.lines().next().unwrap();
                if body.len() >= length.parse().unwrap() {
                    let mut review: Value = serde_json::from_str(body).unwrap();
                    return review["response"].take();
                }
            }
        })
        .await
    }
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it hangs")
}

/// A request to create a Job in a namespace, under a uid.
pub fn review(namespace: &str, uid: &str, job: &Value) -> String {
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "name": format!("main-{uid}"),
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": USER, "groups": ["system:authenticated"]},
            "object": job,
            "dryRun": false,
        },
    })
    .to_string()
}

/// Who asks.
pub const USER: &str = "system:serviceaccount:governed:dispatcher-of-a-name-that-is-rather-long";

/// A value that must be in no log.
pub const SECRET: &str = "correct-horse-battery-staple";

/// What the templates are, with a container more.
pub fn job(more: Option<&str>) -> Value {
    let mut containers = vec![json!({"name": "main", "image": "registry.example/main:1"})];
    if let Some(name) = more {
        let env = json!([{"name": "PASSWORD", "value": SECRET}]);
        containers.push(json!({"name": name, "image": SECRET, "env": env}));
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "main"},
        "spec": {"activeDeadlineSeconds": 600, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": containers,
        }}},
    })
}

/// The lines of a file or of what was read.
pub fn lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    text.lines().map(parse).collect()
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
