//! The stage of all faults: a real API server, two replicas of the real program, haproxy between
//! them, and a configuration whose failurePolicy is Fail.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::apiserver::{
    Cluster, ControlPlane, Failure, Identity, InstalledWebhook, Method, Namespace, Options, Probe,
    Session,
};
use crate::balancer::{Balancer, Dead};
use crate::outside::authority::{Authority, Volume};
use crate::outside::{Replica, Settings, Target, free_ports};
use crate::traffic::{Tally, Traffic, tampered};

/// The namespace with failurePolicy Fail.
pub const NAMESPACE: &str = "faults";
/// What the API server waits for an answer at most.
pub const TIMEOUT: Duration = Duration::from_secs(5);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A shape that pins one small Job, with a note that changes its digest and nothing else.
pub fn shape(note: &str) -> String {
    format!(
        r#"
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: work}}
spec:
  match: {{namespaces: [{NAMESPACE}]}}
  variables:
    id: {{pattern: "[0-9]{{12}}", example: "000000000000"}}
  rules:
  - {{name: work-must-be-the-committed-one, message: "{note}"}}
  templates:
  - apiVersion: batch/v1
    kind: Job
    metadata: {{name: "work-<id>"}}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: main, image: "registry.example/main:1"}}]
"#
    )
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Everything that faults are done to.
pub struct Stage {
    // In this order they are dropped: whoever works in the cluster's folder goes before it.
    /// Those before haproxy; none while a fault has taken one away.
    pub replicas: [Option<Replica>; 2],
    balancer: Option<Balancer>,
    /// The certificate of both.
    pub certificate: Volume,
    /// The shapes of both.
    pub shapes: Volume,
    /// Who signed the certificate.
    pub authority: Authority,
    /// The name of the webhook configuration.
    pub configuration: String,
    port: u16,
    settings: [Settings; 2],
    session: Session,
    started: u32,
    cluster: &'static Cluster,
    _webhook: InstalledWebhook,
    _namespace: Namespace<'static>,
}

impl Stage {
    /// Builds it all.
    pub async fn new() -> Result<Self, Failure> {
        let options = Options { controllers: false, ..Options::default() };
        // Leaked: the supervisors clean up when this process ends, however it does.
        let cluster: &'static Cluster =
            Box::leak(Box::new(Cluster::Own(ControlPlane::start(&options).await?)));
        let plane = plane(cluster)?;
        let namespace = cluster.exact_namespace(NAMESPACE).await?;
        let authority = Authority::new("faults 1")?;
        let certificate = Volume::new(plane.folder().join("certificate"))?;
        let leaf = authority.leaf(DAY)?;
        certificate.publish(&[("tls.crt", &leaf.certificate), ("tls.key", &leaf.key)])?;
        let shapes = Volume::new(plane.folder().join("shapes"))?;
        shapes.publish(&[("shape.yaml", &shape("the first"))])?;

        let [port] = free_ports()?;
        let one = || {
            let mut settings = Settings::new(certificate.path(), shapes.path())?;
            settings.flags = vec!["--lame-duck".to_owned(), "3s".to_owned()];
            Ok::<_, Failure>(settings)
        };
        let settings = [one()?, one()?];
        let mut started = 0;
        let mut replicas = [None, None];
        for (replica, settings) in replicas.iter_mut().zip(&settings) {
            started += 1;
            let mut one = Replica::start(plane, &format!("replica-{started}"), settings.clone())?;
            one.wait(true).await?;
            *replica = Some(one);
        }
        let both: Vec<&Settings> = settings.iter().collect();
        let balancer = Balancer::start(plane, loopback(port), &both, Dead::Kept).await?;

        let probe_job = tampered(0);
        let probe = Probe { identity: &Identity::Admin, namespace: NAMESPACE, job: &probe_job };
        let configuration = configuration(cluster, port, &authority.pem, "Fail");
        let webhook = cluster.install_webhook(&configuration, &[&namespace], &probe).await?;
        let session = cluster.session(&Identity::Admin).await?;
        Ok(Self {
            replicas,
            balancer: Some(balancer),
            certificate,
            shapes,
            authority,
            configuration: webhook.name.clone(),
            port,
            settings,
            session,
            started,
            cluster,
            _webhook: webhook,
            _namespace: namespace,
        })
    }

    /// The API server and who runs beside it.
    pub fn plane(&self) -> Result<&'static ControlPlane, Failure> {
        plane(self.cluster)
    }

    /// The administrator's connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The cluster.
    pub fn cluster(&self) -> &'static Cluster {
        self.cluster
    }

    /// A replica that is up.
    pub fn replica(&mut self, n: usize) -> Result<&mut Replica, Failure> {
        self.replicas[n].as_mut().ok_or_else(|| Failure::new(format!("replica {n} is not up")))
    }

    /// The settings of a replica, to start it with others.
    pub fn settings(&self, n: usize) -> Settings {
        self.settings[n].clone()
    }

    /// Starts a replica anew, without waiting: the one before is killed if it is still there.
    pub fn start(&mut self, n: usize, settings: Settings) -> Result<(), Failure> {
        self.replicas[n] = None;
        self.started += 1;
        let name = format!("replica-{}", self.started);
        self.replicas[n] = Some(Replica::start(self.plane()?, &name, settings)?);
        Ok(())
    }

    /// Starts a replica as it was and waits until haproxy knows it is ready.
    pub async fn restore(&mut self, n: usize) -> Result<(), Failure> {
        self.start(n, self.settings(n))?;
        self.replica(n)?.wait(true).await?;
        tokio::time::sleep(Duration::from_millis(600)).await;
        Ok(())
    }

    /// What a fault before left broken is put right, so that it is not the next one's. The API server
    /// keeps its connections, so without new ones a replica that was away would be asked nothing.
    pub async fn repair(&mut self) -> Result<(), Failure> {
        for n in [0, 1] {
            let ready = match &self.replicas[n] {
                Some(replica) => replica.get("/readyz").await.is_ok_and(|(code, _)| code == 200),
                None => false,
            };
            if !ready {
                self.restore(n).await?;
            }
        }
        self.balance(Dead::Kept).await
    }

    /// A further replica with ports of its own, which haproxy does not know.
    pub async fn lone(&mut self, change: impl FnOnce(&mut Settings)) -> Result<Replica, Failure> {
        let [webhook, operations] = free_ports()?;
        let mut settings = Settings { webhook, operations, ..self.settings(0) };
        change(&mut settings);
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let mut replica = Replica::start(self.plane()?, &name, settings)?;
        replica.wait(true).await?;
        Ok(replica)
    }

    /// How to speak to a replica directly.
    pub fn target(&self, replica: &Replica) -> Result<Target, Failure> {
        Target::new(replica.webhook(), &[&self.authority.pem]).map_err(Failure::new)
    }

    /// Another haproxy in the place of the one before.
    pub async fn balance(&mut self, dead: Dead) -> Result<(), Failure> {
        self.balancer = None;
        let both: Vec<&Settings> = self.settings.iter().collect();
        self.balancer =
            Some(Balancer::start(self.plane()?, loopback(self.port), &both, dead).await?);
        // Connections of the API server that went through the old one are cut, which it may notice
        // only when it uses them. They are asked for until none is left.
        self.settle().await
    }

    /// Asks until ten requests in a row are answered: what one fault broke is not the next one's.
    pub async fn settle(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let mut in_a_row = 0;
        while in_a_row < 10 {
            match self.session.dry_run_job(NAMESPACE, &tampered(0)).await {
                Err(refusal) if refusal.is_by_webhook() => in_a_row += 1,
                other if began.elapsed() > Duration::from_secs(60) => {
                    let said = other.map_or_else(|e| e.to_string(), |_| "admitted".to_owned());
                    return Err(Failure::new(format!("it does not settle: {said}")));
                }
                _ => {
                    in_a_row = 0;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        Ok(())
    }

    /// Jobs created from now on: four clients, some forty Jobs a second.
    pub fn traffic(&self) -> Traffic {
        Traffic::start(&self.session, NAMESPACE, 4, Duration::from_millis(90))
    }

    /// Jobs created while `work` goes on with the stage, and a little before and after.
    pub async fn while_jobs_are_created<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<(T, Tally), Failure> {
        let traffic = self.traffic();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let done = work(self).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let tally = traffic.stop().await?;
        Ok((done?, tally))
    }

    /// Trusts exactly these authorities from now on, as far as the API server has heard of it.
    pub async fn trust(&self, authorities: &[&str]) -> Result<(), Failure> {
        let bundle = STANDARD.encode(authorities.concat());
        let patch = json!([{
            "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle,
        }]);
        let path = format!(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{}",
            self.configuration
        );
        let kind = "application/json-patch+json";
        let body = patch.to_string().into_bytes();
        let answer = self.session.send(Method::PATCH, &path, kind, body).await?;
        if answer.status != 200 {
            return Err(Failure::new(format!("changing the caBundle: {}", answer.body)));
        }
        // It reaches the API server by its watch.
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(())
    }

    /// Adds a webhook of another failurePolicy for another namespace, on the same haproxy.
    pub async fn with_policy(
        &self,
        namespace: &Namespace<'_>,
        policy: &str,
    ) -> Result<InstalledWebhook, Failure> {
        let configuration = configuration(self.cluster, self.port, &self.authority.pem, policy);
        let job = tampered(0);
        let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &job };
        self.cluster.install_webhook(&configuration, &[namespace], &probe).await
    }
}

fn plane(cluster: &'static Cluster) -> Result<&'static ControlPlane, Failure> {
    match cluster {
        Cluster::Own(plane) => Ok(plane),
        Cluster::Existing(_) => Err(Failure::new("faults are for a cluster of their own")),
    }
}

fn configuration(cluster: &Cluster, port: u16, authority: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "faults"},
        "webhooks": [{
            "name": "faults.jobshape.dev",
            "clientConfig": {
                "url": cluster.webhook_url(port, "/validate/enforce"),
                "caBundle": STANDARD.encode(authority),
            },
            "rules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"],
                "resources": ["jobs"], "operations": ["CREATE", "UPDATE"],
            }],
            "failurePolicy": policy,
            "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": TIMEOUT.as_secs(),
        }],
    })
}
