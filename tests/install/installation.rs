//! The stage: a control plane, the manifests as they are committed, and what stands in for nodes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::apiserver::{
    Cluster, ControlPlane, Failure, Identity, Method, Options, Refusal, Session, Supervised,
};
use crate::balancer::{Balancer, Dead};
use crate::breaks::{Break, CONFIGURATION};
use crate::kubelet::{self, Mount};
use crate::outside::authority::Volume;
use crate::outside::{Replica, Settings, free_ports};
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
    uid: String,
    /// Its shapes.
    pub shapes: Mount,
    /// Its certificate.
    pub certificate: Mount,
    settings: Settings,
    /// Its process, unless it was stopped.
    replica: Option<Replica>,
}

impl Node {
    fn tail(&self) -> Option<String> {
        self.replica.as_ref().map(Replica::tail)
    }
}

/// Everything that `verify` looks at.
pub struct Installation {
    // Dropped in this order: whoever works in the cluster's folder goes before it.
    /// The two replicas.
    pub nodes: Vec<Node>,
    _balancer: Balancer,
    /// What makes the certificates, unless it was stopped.
    rotator: Option<Supervised>,
    /// How that is started.
    rotating: Vec<String>,
    /// The administrator.
    pub session: Session,
    /// What `verify` is told to expect.
    pub shapes: Vec<String>,
    /// What else it is told.
    pub flags: Vec<String>,
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
        let rotating = rotator_arguments(&rotating, &kubeconfig_of(&accounts[1])?)?;

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
            nodes.push(Node {
                pod: pod.to_owned(),
                uid,
                shapes,
                certificate,
                settings,
                replica: None,
            });
        }
        let service = session.get(&format!("/api/v1/namespaces/{OWN}/services/{NAME}")).await?.body;
        let address = service["spec"]["clusterIP"].as_str().and_then(|ip| ip.parse().ok());
        let address: Ipv4Addr =
            address.ok_or_else(|| Failure::new(format!("no address: {service}")))?;
        let settings: Vec<&Settings> = nodes.iter().map(|node| &node.settings).collect();
        let at = SocketAddr::from((address, 443));
        let balancer = Balancer::start(plane, at, &settings, Dead::Kept).await?;
        let shapes = vec![SHAPES.to_owned()];
        let mut installation = Self {
            nodes,
            _balancer: balancer,
            rotator: None,
            rotating,
            session,
            shapes,
            flags: vec![],
            kubeconfig,
            cluster,
        };
        installation.start_rotator()?;
        for number in 0..installation.nodes.len() {
            installation.start_replica(number)?;
        }
        Ok(installation)
    }

    /// Starts a replica with what is mounted into it now.
    pub fn start_replica(&mut self, number: usize) -> Result<(), Failure> {
        let node = &mut self.nodes[number];
        node.replica =
            Some(Replica::start(plane(self.cluster)?, &node.pod, node.settings.clone())?);
        Ok(())
    }

    /// Another program from its next start on.
    pub fn replace_program(&mut self, number: usize, program: &str) {
        self.nodes[number].settings.program[0] = program.to_owned();
    }

    /// Ends a replica as the kubelet does, and waits for that.
    pub async fn stop_replica(&mut self, number: usize) -> Result<(), Failure> {
        if let Some(mut replica) = self.nodes[number].replica.take() {
            // What starts it hears no signal yet.
            replica.until_it_answers().await?;
            replica.signal("TERM")?;
            replica.wait_for_the_end().await?;
        }
        Ok(())
    }

    /// Waits until a replica gets requests.
    pub async fn until_ready(&mut self, number: usize) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            self.tick().await?;
            let replica = self.nodes[number].replica.as_mut();
            let replica = replica.ok_or_else(|| Failure::new("that replica was stopped"))?;
            if matches!(replica.get("/readyz").await, Ok((200, _))) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return replica.wait(true).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What a replica counts.
    pub async fn metric(&self, number: usize, name: &str) -> Result<f64, Failure> {
        let replica = self.nodes[number].replica.as_ref();
        replica.ok_or_else(|| Failure::new("that replica was stopped"))?.metric(name).await
    }

    /// Starts what makes the certificates.
    pub fn start_rotator(&mut self) -> Result<(), Failure> {
        let program = std::path::Path::new("env");
        let rotator = plane(self.cluster)?.start_beside("rotator", program, &self.rotating)?;
        self.rotator = Some(rotator);
        Ok(())
    }

    /// Ends it at once, in the middle of whatever it does.
    pub fn stop_rotator(&mut self) {
        self.rotator = None;
    }

    /// What nodes do all the time, once.
    pub async fn tick(&mut self) -> Result<(), Failure> {
        let mut ready = vec![];
        for node in &mut self.nodes {
            node.shapes.follow(&self.session).await?;
            node.certificate.follow(&self.session).await?;
            let is_ready = match &node.replica {
                Some(replica) => matches!(replica.get("/readyz").await, Ok((200, _))),
                None => false,
            };
            ready.push((node.pod.as_str(), node.uid.as_str(), is_ready));
        }
        kubelet::endpoints(&self.session, (OWN, NAME), &ready).await
    }

    /// What `verify` says now.
    pub async fn verify(&mut self) -> Result<Answer, Failure> {
        self.tick().await?;
        let (kubeconfig, shapes) = (self.kubeconfig.clone(), self.shapes.clone());
        let flags = self.flags.clone();
        let asked =
            tokio::task::spawn_blocking(move || verified::ask(&kubeconfig, &shapes, &flags));
        asked.await.map_err(Failure::during("waiting for jobshape verify"))?
    }

    /// Waits until a failing line says this.
    pub async fn until_said(&mut self, check: &str, said: &str) -> Result<(), Failure> {
        let is_it = |(of, status, text): &(String, String, String)| {
            of == check && status == "failed" && text.contains(said)
        };
        let what = format!("verify to say `{said}`");
        self.until(&what, |answer| answer.lines.iter().any(is_it)).await.map(|_| ())
    }

    /// Waits until this becomes of a Job that somebody tries to create: an API server has its
    /// configuration by a watch, and a node its files when it looks.
    pub async fn until_a_job(
        &mut self,
        who: &Identity,
        job: &Value,
        (what, so): (&str, impl Fn(&Result<(), Refusal>) -> bool),
    ) -> Result<(), Failure> {
        let session = self.cluster.session(who).await?;
        let began = Instant::now();
        loop {
            self.tick().await?;
            let seen = session.dry_run_job(GOVERNED, job).await.map(|_| ());
            if so(&seen) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let logs: Vec<String> = self.nodes.iter().filter_map(Node::tail).collect();
                return Err(Failure::new(format!(
                    "a Job should have been {what}, and was {seen:?}\n{}",
                    logs.join("\n")
                )));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Whether this Job of the submitter is admitted now.
    pub async fn passes(&self, job: &Value) -> Result<bool, Failure> {
        let session = self.cluster.session(&submitter()).await?;
        Ok(session.dry_run_job(GOVERNED, job).await.is_ok())
    }

    /// Whether the API server asks about Jobs: any that is a Job is enough to see it.
    pub async fn asks_for_jobs(&self) -> Result<bool, Failure> {
        if self.session.get(CONFIGURATION).await?.status == 404 {
            return Ok(false);
        }
        // It knows of a new configuration by a watch; a second is plenty.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(true)
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

    /// Waits until `verify` answers so.
    pub async fn until(
        &mut self,
        what: &str,
        so: impl Fn(&Answer) -> bool,
    ) -> Result<Answer, Failure> {
        let began = Instant::now();
        loop {
            let answer = self.verify().await?;
            if so(&answer) {
                return Ok(answer);
            }
            if began.elapsed() > PATIENCE {
                let rotator = self.rotator.as_ref().map(Supervised::tail).unwrap_or_default();
                return Err(Failure::new(format!(
                    "waited for {what}, and verify says:\n{}\n{rotator}",
                    answer.text
                )));
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    /// The ConfigMap of the shapes with another text, as a pipeline would ship it.
    pub async fn ship(&self, change: impl Fn(&str) -> String) -> Result<(), Failure> {
        let path = &self.nodes[0].shapes.path;
        let mut object = self.session.get(path).await?.body;
        for (_, text) in object["data"].as_object_mut().into_iter().flatten() {
            *text = Value::String(change(text.as_str().unwrap_or_default()));
        }
        let shipped = self.session.submit(Method::PUT, path, &object).await;
        shipped.map(|_| ()).map_err(Failure::during("shipping shapes"))
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

fn rotator_arguments(
    deployment: &Value,
    kubeconfig: &std::path::Path,
) -> Result<Vec<String>, Failure> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut arguments = vec![
        format!("KUBECONFIG={}", kubeconfig.display()),
        format!("POD_NAMESPACE={OWN}"),
        "POD_NAME=jobshape-certificates-one".to_owned(),
        env!("CARGO_BIN_EXE_jobshape").to_owned(),
    ];
    // Ports are this machine's.
    let is_kept = |arg: &&str| !arg.starts_with("--ops-listen");
    arguments.extend(args.filter(is_kept).map(str::to_owned));
    let [port] = free_ports()?;
    arguments.push(format!("--ops-listen=127.0.0.1:{port}"));
    Ok(arguments)
}
