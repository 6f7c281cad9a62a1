//! The stage: a control plane, the manifests as they are committed, and what stands in for nodes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::apiserver::{Cluster, ControlPlane, Failure, Identity, Options, Session, Supervised};
use crate::balancer::{Balancer, Dead};
use crate::breaks::Break;
use crate::kubelet::{self, Mount};
use crate::outside::authority::Volume;
use crate::outside::{Replica, Settings};
use crate::verified::{self, Answer};

/// What is installed.
pub const OVERLAY: &str = "manifests/overlays/built-in/enforce";
/// What it enforces.
pub const SHAPES: &str = "rules";
/// Whose Jobs are governed.
pub const GOVERNED: &str = "pm-agent";
/// Where jobshape runs.
pub const OWN: &str = "jobshape-system";
/// The Deployment that serves, its Service, and the configuration.
pub const NAME: &str = "jobshape";
/// The Deployment that makes the certificates.
const CERTIFICATES: &str = "jobshape-certificates";

const PATIENCE: Duration = Duration::from_secs(90);

/// One replica with what is mounted into it.
pub struct Node {
    /// The Pod's name.
    pub pod: String,
    /// Its shapes.
    pub shapes: Mount,
    /// Its certificate.
    pub certificate: Mount,
    replica: Replica,
}

/// Everything that `verify` looks at.
pub struct Installation {
    // Dropped in this order: whoever works in the cluster's folder goes before it.
    /// The two replicas.
    pub nodes: Vec<Node>,
    _balancer: Balancer,
    /// What makes the certificates.
    pub rotator: Supervised,
    /// The administrator.
    pub session: Session,
    /// What `verify` is told to expect.
    pub shapes: Vec<String>,
    kubeconfig: PathBuf,
    /// The cluster.
    pub cluster: &'static Cluster,
}

fn plane(cluster: &'static Cluster) -> Result<&'static ControlPlane, Failure> {
    match cluster {
        Cluster::Own(plane) => Ok(plane),
        Cluster::Existing(_) => {
            Err(Failure::new("this test needs a control plane of its own: take KUBECONFIG away"))
        }
    }
}

/// Whose Jobs these are.
pub fn submitter() -> Identity {
    Identity::service_account(GOVERNED, GOVERNED)
}

impl Installation {
    /// Installs it.
    pub async fn new() -> Result<Self, Failure> {
        // Loopback, so that the API server reaches the Service, and a range of its own for whoever
        // runs this twice at a time.
        let range = format!("127.{}.0.0/16", 64 + fastrand::u8(..128));
        let accounts = [NAME, CERTIFICATES].map(|name| Identity::service_account(OWN, name));
        let options = Options {
            identities: accounts.to_vec(),
            apiserver_arguments: vec![format!("--service-cluster-ip-range={range}")],
            ..Options::default()
        };
        // Leaked: the supervisors clean up when this process ends, however it does.
        let cluster: &'static Cluster =
            Box::leak(Box::new(Cluster::Own(ControlPlane::start(&options).await?)));
        let plane = plane(cluster)?;
        let session = cluster.session(&Identity::Admin).await?;
        let governed = cluster.exact_namespace(GOVERNED).await?;
        governed.allow_jobs(&submitter()).await?;
        // It is needed until the process ends.
        std::mem::forget(governed);

        let overlay = format!("{}/{OVERLAY}", env!("CARGO_MANIFEST_DIR"));
        let applied = cluster.kubectl_with(&["apply", "-k", &overlay], "")?;
        println!("kubectl apply -k {OVERLAY}\n{applied}");

        let deployment = |name: &str| format!("/apis/apps/v1/namespaces/{OWN}/deployments/{name}");
        let serving = session.get(&deployment(NAME)).await?.body;
        let rotating = session.get(&deployment(CERTIFICATES)).await?.body;
        let kubeconfig_of = |account| cluster.kubeconfig_for(account);
        let kubeconfig = kubeconfig_of(&Identity::Admin)?;
        let rotator = start_rotator(plane, &rotating, &kubeconfig_of(&accounts[1])?)?;

        let mut nodes = vec![];
        for pod in ["jobshape-one", "jobshape-two"] {
            let uid = kubelet::pod(&session, &serving, pod).await?;
            let mount = |what: &str, path: String| {
                let folder = plane.folder().join(format!("{pod}-{what}"));
                Ok::<_, Failure>(Mount::new(path, Volume::new(folder)?))
            };
            let path = format!("/api/v1/namespaces/{OWN}/configmaps/jobshape-shapes");
            let mut shapes = mount("shapes", path)?;
            let certificate =
                mount("certificate", format!("/api/v1/namespaces/{OWN}/secrets/jobshape-tls"))?;
            shapes.follow(&session).await?;
            let mut settings = Settings::new(certificate.volume.path(), shapes.volume.path())?;
            settings.flags = flags(&serving);
            settings.before = format!(
                "export KUBECONFIG={} POD_NAME={pod} POD_UID={uid} POD_NAMESPACE={OWN}",
                kubeconfig_of(&accounts[0])?.display()
            );
            let replica = Replica::start(plane, pod, settings)?;
            nodes.push(Node { pod: pod.to_owned(), shapes, certificate, replica });
        }
        let service = session.get(&format!("/api/v1/namespaces/{OWN}/services/{NAME}")).await?.body;
        let address = service["spec"]["clusterIP"].as_str().and_then(|ip| ip.parse().ok());
        let address: Ipv4Addr =
            address.ok_or_else(|| Failure::new(format!("no address: {service}")))?;
        let settings: Vec<&Settings> = nodes.iter().map(|node| &node.replica.settings).collect();
        let at = SocketAddr::from((address, 443));
        let balancer = Balancer::start(plane, at, &settings, Dead::Kept).await?;
        let shapes = vec![SHAPES.to_owned()];
        Ok(Self { nodes, _balancer: balancer, rotator, session, shapes, kubeconfig, cluster })
    }

    /// What nodes do all the time, once.
    pub async fn tick(&mut self) -> Result<(), Failure> {
        let mut ready = vec![];
        for node in &mut self.nodes {
            node.shapes.follow(&self.session).await?;
            node.certificate.follow(&self.session).await?;
            let answer = node.replica.get("/readyz").await;
            ready.push((node.pod.as_str(), matches!(answer, Ok((200, _)))));
        }
        kubelet::endpoints(&self.session, (OWN, NAME), &ready).await
    }

    /// What `verify` says now.
    pub async fn verify(&mut self) -> Result<Answer, Failure> {
        self.tick().await?;
        let (kubeconfig, shapes) = (self.kubeconfig.clone(), self.shapes.clone());
        let asked = tokio::task::spawn_blocking(move || verified::ask(&kubeconfig, &shapes));
        asked.await.map_err(Failure::during("waiting for jobshape verify"))?
    }

    /// Waits until everything is as it should be.
    pub async fn until_live(&mut self) -> Result<Answer, Failure> {
        self.until("the installation to be live", |answer| answer.status == 0).await
    }

    /// Waits until what is broken is named, and answers how.
    pub async fn until_named(&mut self, broken: &Break) -> Result<String, Failure> {
        let is_it = |(check, status, text): &(String, String, String)| {
            check == broken.check && status == "failed" && text.contains(broken.said)
        };
        let answer =
            self.until(broken.title, |answer| answer.status != 0 && answer.lines.iter().any(is_it));
        let answer = answer.await?;
        let found = answer.lines.iter().find(|line| is_it(line));
        let line: Value = found
            .map_or(Value::Null, |(_, _, text)| serde_json::from_str(text).unwrap_or_default());
        Ok(line["message"].as_str().unwrap_or_default().to_owned())
    }

    async fn until(&mut self, what: &str, so: impl Fn(&Answer) -> bool) -> Result<Answer, Failure> {
        let began = Instant::now();
        loop {
            let answer = self.verify().await?;
            if so(&answer) {
                return Ok(answer);
            }
            if began.elapsed() > PATIENCE {
                let rotator = self.rotator.tail();
                return Err(Failure::new(format!(
                    "waited for {what}, and verify says:\n{}\n{rotator}",
                    answer.text
                )));
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    /// Installs again what is committed.
    pub fn apply_again(&self) -> Result<(), Failure> {
        let overlay = format!("{}/{OVERLAY}", env!("CARGO_MANIFEST_DIR"));
        self.cluster.kubectl_with(&["apply", "-k", &overlay], "").map(|_| ())
    }
}

/// The arguments of the container that are neither the verb nor about where things are: ports and
/// directories are this machine's.
fn flags(deployment: &Value) -> Vec<String> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let elsewhere = ["--shapes", "--tls-cert", "--tls-key", "--listen", "--ops-listen"];
    let is_kept = |arg: &&str| {
        let flag = arg.split('=').next().unwrap_or_default();
        *arg != "serve" && !elsewhere.contains(&flag)
    };
    args.filter(is_kept).map(str::to_owned).collect()
}

fn start_rotator(
    plane: &ControlPlane,
    deployment: &Value,
    kubeconfig: &std::path::Path,
) -> Result<Supervised, Failure> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut arguments = vec![
        format!("KUBECONFIG={}", kubeconfig.display()),
        format!("POD_NAMESPACE={OWN}"),
        "POD_NAME=jobshape-certificates-one".to_owned(),
        env!("CARGO_BIN_EXE_jobshape").to_owned(),
    ];
    arguments.extend(args.map(str::to_owned));
    plane.start_beside("rotator", std::path::Path::new("env"), &arguments)
}
