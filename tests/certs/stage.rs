//! A namespace with a configuration of its own, rotators, and replicas that get the Secret as a node
//! would give it to them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::apiserver::{
    Accepted, Cluster, ControlPlane, Identity, Method, Options, Refusal, Session, Supervised,
};
use crate::outside::authority::Volume;
use crate::outside::{Replica, Settings, free_ports};

/// The Secret with the certificate.
pub const TLS: &str = "jobshape-tls";
/// The Secret with the authority.
pub const AUTHORITY: &str = "jobshape-certificate-authority";
/// The Lease of whoever writes.
pub const LEASE: &str = "jobshape-certificates";

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A control plane for all tests here, without controllers: nobody deletes what belongs to Pods that
/// are not there.
pub async fn cluster() -> &'static Cluster {
    static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
    let start = async || {
        let options = Options { controllers: false, ..Options::default() };
        Cluster::Own(ControlPlane::start(&options).await.unwrap())
    };
    CLUSTER.get_or_init(start).await
}

fn plane(cluster: &Cluster) -> &ControlPlane {
    let Cluster::Own(plane) = cluster else { panic!("it was started here") };
    plane
}

/// Where a test plays.
pub struct Stage<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// Its administrator.
    pub admin: Session,
    /// The namespace, and the name of the configuration.
    pub name: String,
}

impl<'c> Stage<'c> {
    /// With a namespace and nothing in it.
    pub async fn new(cluster: &'c Cluster, prefix: &str) -> Self {
        let admin = cluster.session(&Identity::Admin).await.unwrap();
        let name = format!("{prefix}-{:08x}", fastrand::u32(..));
        let namespace = json!({"metadata": {"name": name}});
        admin.submit(Method::POST, "/api/v1/namespaces", &namespace).await.unwrap();
        Self { cluster, admin, name }
    }

    /// A rotator that may do anything.
    pub fn rotator(&self, name: &str, flags: &[&str]) -> Rotator {
        self.rotator_as(&Identity::Admin, name, flags)
    }

    /// A rotator as somebody.
    pub fn rotator_as(&self, identity: &Identity, name: &str, flags: &[&str]) -> Rotator {
        let [operations] = free_ports().unwrap();
        let kubeconfig = self.cluster.kubeconfig_for(identity).unwrap();
        let mut arguments = vec![
            "certs".to_owned(),
            "rotate".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--namespace={}", self.name),
            format!("--configuration={}", self.name),
            format!("--identity={name}"),
            format!("--ops-listen=127.0.0.1:{operations}"),
        ];
        let short = ["--also-for=127.0.0.1", "--settle=1s", "--poll=100ms"];
        let name_of = |flag: &str| flag.split('=').next().unwrap_or_default().to_owned();
        let others = short.iter().filter(|s| flags.iter().all(|f| name_of(f) != name_of(s)));
        arguments.extend(others.chain(flags).map(|flag| (*flag).to_owned()));
        let program = Path::new(env!("CARGO_BIN_EXE_jobshape"));
        let name = format!("{}-{name}", self.name);
        let process = plane(self.cluster).start_beside(&name, program, &arguments).unwrap();
        let log = plane(self.cluster).folder().join(format!("{name}.log"));
        Rotator { process, operations, log }
    }

    /// A configuration that asks each of these ports about every Job here, and that trusts nobody.
    pub fn configuration(&self, ports: &[u16]) -> Value {
        let webhooks = ports.iter().enumerate().map(|(n, port)| {
            json!({
                "name": format!("entry-{n}.jobshape.dev"),
                "clientConfig": {"url": self.cluster.webhook_url(*port, "validate/enforce")},
                "rules": [{
                    "apiGroups": ["batch"], "apiVersions": ["v1"],
                    "resources": ["jobs"], "operations": ["CREATE"], "scope": "*",
                }],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.name}},
                "failurePolicy": "Fail", "sideEffects": "NoneOnDryRun",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
            })
        });
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.name},
            "webhooks": webhooks.collect::<Vec<Value>>(),
        })
    }

    /// Applies it with kubectl.
    pub fn apply(&self, configuration: &Value, more: &[&str]) {
        let arguments = [&["apply", "-f", "-"], more].concat();
        self.cluster.kubectl_with(&arguments, &configuration.to_string()).unwrap();
    }

    /// Where the configuration is.
    pub fn configured(&self) -> String {
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        format!("{path}/{}", self.name)
    }

    /// Where a Secret is.
    pub fn secret_path(&self, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{}/secrets/{name}", self.name);
        path.trim_end_matches('/').to_owned()
    }

    /// Where the Lease is.
    pub fn lease_path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{LEASE}", self.name)
    }

    /// A Secret, null if there is none.
    pub async fn secret(&self, name: &str) -> Value {
        let answer = self.admin.get(&self.secret_path(name)).await.unwrap();
        if answer.status == 200 { answer.body } else { Value::Null }
    }

    /// The certificate in the Secret; empty without one.
    pub async fn certificate(&self) -> String {
        text(&self.secret(TLS).await, "tls.crt")
    }

    /// What each entry trusts.
    pub async fn bundles(&self) -> Vec<String> {
        let object = self.admin.get(&self.configured()).await.unwrap().body;
        let webhooks = object["webhooks"].as_array().cloned().unwrap_or_default();
        webhooks.iter().map(|w| decoded(&w["clientConfig"]["caBundle"])).collect()
    }

    /// Whether every entry trusts this many authorities, and all the same.
    pub async fn trusts(&self, count: usize) -> bool {
        let bundles = self.bundles().await;
        let counts = |bundle: &String| bundle.matches("BEGIN CERTIFICATE").count() == count;
        bundles.first().is_some_and(|first| counts(first) && bundles.iter().all(|b| b == first))
    }

    /// Deletes something.
    pub async fn delete(&self, path: &str) {
        self.admin.submit(Method::DELETE, path, &Value::Null).await.unwrap();
    }

    /// Waits until something is so.
    pub async fn until(&self, what: &str, rotator: &Rotator, so: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !so().await {
            assert!(began.elapsed() < PATIENCE, "waited for {what}\n{}", rotator.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the API server says to a Job.
    pub async fn job(&self) -> Result<Accepted, Refusal> {
        self.admin.dry_run_job(&self.name, &job("Never")).await
    }

    /// Waits until a Job is admitted, with no rotator about.
    pub async fn job_until_admitted(&self) {
        let began = Instant::now();
        while let Err(refusal) = self.job().await {
            assert!(began.elapsed() < PATIENCE, "{refusal}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A replica that gets a new Secret so much later, and says what it shows.
    pub fn replica(&self, name: &str, late: Duration) -> Node {
        let plane = plane(self.cluster);
        let folder = |what: &str| plane.folder().join(format!("{}-{name}-{what}", self.name));
        let (volume, shapes) = (Volume::new(folder("tls")).unwrap(), folder("shapes"));
        std::fs::create_dir(&shapes).unwrap();
        let guard = json!({
            "apiVersion": "jobshape.dev/v1alpha1",
            "kind": "JobShape",
            "metadata": {"name": "guard"},
            "spec": {"match": {"namespaces": [self.name]}, "rules": [{
                "name": "never-again",
                "select": ["$.spec.template.spec.restartPolicy"],
                "must": {"const": "Never"},
            }]},
        });
        std::fs::write(shapes.join("guard.yaml"), guard.to_string()).unwrap();
        let mut settings = Settings::new(volume.path(), &shapes).unwrap();
        settings.flags.push("--publish".to_owned());
        settings.before = format!(
            "export KUBECONFIG={} POD_NAME={name} POD_UID={name} POD_NAMESPACE={}",
            self.cluster.kubeconfig_for(&Identity::Admin).unwrap().display(),
            self.name
        );
        let replica = Replica::start(plane, &format!("{}-{name}", self.name), settings).unwrap();
        let (admin, path) = (self.admin.clone(), self.secret_path(TLS));
        let follows = tokio::spawn(async move {
            let mut shown = Value::Null;
            loop {
                let data = admin.get(&path).await.map_or(Value::Null, |a| a.body["data"].clone());
                if data.is_object() && data != shown {
                    tokio::time::sleep(late).await;
                    let files = ["tls.crt", "tls.key"].map(|key| (key, decoded(&data[key])));
                    let files = files.each_ref().map(|(key, text)| (*key, text.as_str()));
                    volume.publish(&files).unwrap();
                    shown = data;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Node { replica, follows }
    }
}

/// A replica with a node.
pub struct Node {
    /// The process.
    pub replica: Replica,
    follows: JoinHandle<()>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.follows.abort();
    }
}

/// A running rotator; it ends with this.
pub struct Rotator {
    process: Supervised,
    operations: u16,
    log: PathBuf,
}

impl Rotator {
    /// What it printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What its operations port answers; nothing while there is none.
    pub async fn get(&self, path: &str) -> String {
        let ask = async {
            let mut stream = TcpStream::connect(("127.0.0.1", self.operations)).await?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        ask.await.unwrap_or_default()
    }

    /// Whether all is well.
    pub async fn is_ready(&self) -> bool {
        self.get("/readyz").await.starts_with("HTTP/1.1 200")
    }

    /// The sum of a metric over its series.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await;
        let of =
            |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']));
        text.lines()
            .filter(of)
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    /// Tells it to end, and waits until it has.
    pub async fn stop(&mut self) {
        let pid = self.process.pid().unwrap().to_string();
        let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        let began = Instant::now();
        while self.process.ended().is_none() {
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether it is still there.
    pub fn is_running(&mut self) -> bool {
        self.process.ended().is_none()
    }
}

/// The smallest Job that a server accepts.
pub fn job(restart: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "try-"},
        "spec": {"template": {"spec": {
            "restartPolicy": restart,
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    })
}

/// A text in a Secret.
pub fn text(secret: &Value, key: &str) -> String {
    decoded(&secret["data"][key])
}

fn decoded(value: &Value) -> String {
    let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
