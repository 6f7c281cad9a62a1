//! A control plane of our own: etcd, kube-apiserver and, for Jobs that really run, the controllers
//! of kube-controller-manager.

use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::keys::{Keys, random_token};
use super::requests::Session;
use super::supervisor::{Folder, Supervised};
use super::{Failure, Identity, binaries};

/// A loaded CI machine takes many times the usual three seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a control plane is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Identities with a token of their own, besides the administrator. Everybody else is
    /// impersonated.
    pub identities: Vec<Identity>,
    /// The Kubernetes release of its API server.
    pub version: &'static str,
    /// Whether Jobs get Pods, CronJobs get Jobs, and deleted things go away.
    pub controllers: bool,
    /// Whether each controller has the credentials of a service account of its own.
    pub own_credentials: bool,
    /// Further arguments of kube-apiserver, such as an audit log.
    pub apiserver_arguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            identities: Vec::new(),
            version: binaries::VERSION,
            controllers: true,
            own_credentials: true,
            apiserver_arguments: Vec::new(),
        }
    }
}

/// A running control plane. Dropping it kills its processes and removes its folder.
pub struct ControlPlane {
    url: String,
    ca: String,
    tokens: HashMap<Identity, String>,
    /// How its API server was started.
    command: (PathBuf, Vec<String>),
    // Fields are dropped in this order: whoever writes to etcd goes before it, the folder last.
    controllers: Option<Supervised>,
    apiserver: Supervised,
    etcd: Supervised,
    folder: Folder,
}

impl ControlPlane {
    /// Starts one and waits until it is ready. Builds what is missing first.
    pub async fn start(options: &Options) -> Result<Self, Failure> {
        let [etcd] = binaries::find(["etcd"])?;
        let apiserver = binaries::apiserver(options.version)?;
        let manager = match options.controllers {
            true => Some(binaries::find(["kube-controller-manager"])?),
            false => None,
        };
        let mut attempts_left = 3;
        loop {
            attempts_left -= 1;
            match Self::launch(&etcd, &apiserver, options).await {
                Ok(mut plane) => {
                    if let Some([manager]) = &manager {
                        plane.start_controllers(manager, options.own_credentials)?;
                    }
                    return Ok(plane);
                }
                // Between choosing a free port and using it, another process may take it.
                Err(failure) if attempts_left > 0 && port_was_taken(&failure) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn launch(etcd: &Path, apiserver: &Path, options: &Options) -> Result<Self, Failure> {
        let folder = Folder::new()?;
        let keys = Keys::generate()?;
        let tokens: HashMap<Identity, String> = std::iter::once(&Identity::Admin)
            .chain(&options.identities)
            .map(|identity| (identity.clone(), random_token()))
            .collect();
        folder.write("ca.crt", &keys.ca)?;
        folder.write("tls.crt", &keys.certificate)?;
        folder.write("tls.key", &keys.private_key)?;
        folder.write("sa.pub", &keys.tokens_public)?;
        folder.write("sa.key", &keys.tokens_private)?;
        folder.write("tokens.csv", &token_file(&tokens))?;

        let [client_port, peer_port, secure_port] = free_ports()?;
        let etcd = folder.start("etcd", etcd, &etcd_arguments(client_port, peer_port))?;
        let mut arguments = apiserver_arguments(client_port, secure_port);
        arguments.extend(options.apiserver_arguments.iter().cloned());
        let command = (apiserver.to_owned(), arguments);
        let apiserver = folder.start("kube-apiserver", apiserver, &command.1)?;

        let url = format!("https://127.0.0.1:{secure_port}");
        let (ca, controllers) = (keys.ca, None);
        let mut plane =
            ControlPlane { url, ca, tokens, command, controllers, apiserver, etcd, folder };
        plane.wait_until_ready().await?;
        Ok(plane)
    }

    async fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let session = Session::open(&self.kubeconfig(&Identity::Admin)).await?;
        let began = Instant::now();
        loop {
            let answer = session.get("/readyz").await;
            if matches!(&answer, Ok(answer) if answer.status == 200) {
                return Ok(());
            }
            for server in [&mut self.etcd, &mut self.apiserver] {
                if let Some(status) = server.ended() {
                    let tail = server.tail();
                    return Err(Failure::new(format!("It ended with {status}; {tail}")));
                }
            }
            if began.elapsed() > PATIENCE {
                let said =
                    answer.map_or_else(|failure| failure.to_string(), |a| a.body.to_string());
                return Err(Failure::new(format!(
                    "The API server was not ready after {} s ({said}); {}",
                    PATIENCE.as_secs(),
                    self.apiserver.tail()
                )));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn start_controllers(&mut self, manager: &Path, own: bool) -> Result<(), Failure> {
        // Without credentials of their own they are all who the manager is.
        let identity = match own {
            true => Identity::Admin,
            false => Identity::user("system:kube-controller-manager", &["system:masters"]),
        };
        let kubeconfig = self.kubeconfig(&identity).to_string();
        let kubeconfig = self.folder.write("controllers.kubeconfig", &kubeconfig)?;
        let arguments = [
            format!("--kubeconfig={}", kubeconfig.display()),
            // Those that have to do with Jobs; the others would only use the processor.
            "--controllers=job-controller,cronjob-controller,ttl-after-finished-controller,\
             garbage-collector-controller,namespace-controller,serviceaccount-controller"
                .to_owned(),
            format!("--use-service-account-credentials={own}"),
            "--service-account-private-key-file=sa.key".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        self.controllers =
            Some(self.folder.start("kube-controller-manager", manager, &arguments)?);
        Ok(())
    }

    /// Where its API server listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The authority its certificate is from, as PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// The token of an identity it was started with.
    pub fn token(&self, identity: &Identity) -> Option<&str> {
        self.tokens.get(identity).map(String::as_str)
    }

    /// The folder with its data and logs, gone when it is dropped.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into its folder.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, Failure> {
        self.folder.write(name, content)
    }

    /// Starts a program in its folder that ends with the returned handle; it prints to `NAME.log`.
    /// The handle has to be dropped first: the control plane waits for whoever uses its folder.
    pub fn start_beside(
        &self,
        name: &str,
        program: &Path,
        arguments: &[String],
    ) -> Result<Supervised, Failure> {
        self.folder.start(name, program, arguments)
    }

    /// Kills its API server; etcd stays.
    pub fn kill_apiserver(&self) -> Result<(), Failure> {
        let pid = self.apiserver.pid().unwrap_or_default().to_string();
        match Command::new("kill").args(["-KILL", &pid]).status() {
            Ok(status) if status.success() => Ok(()),
            other => Err(Failure::new(format!("kill -KILL {pid}: {other:?}"))),
        }
    }

    /// Starts it again, on the same port. The handle has to be dropped first.
    pub fn start_apiserver_again(&self) -> Result<Supervised, Failure> {
        self.folder.start("kube-apiserver-again", &self.command.0, &self.command.1)
    }

    /// What its controllers printed last, for a failure.
    pub fn controllers_log(&self) -> String {
        self.controllers.as_ref().map(Supervised::tail).unwrap_or_default()
    }

    /// How an identity reaches it: with its own token, or impersonated by the administrator.
    pub fn kubeconfig(&self, identity: &Identity) -> Value {
        let token = self.token(identity);
        let admin = self.token(&Identity::Admin);
        let mut user = json!({"token": token.or(admin)});
        if let (None, Identity::As { user: name, groups }) = (token, identity) {
            user["as"] = json!(name);
            user["as-groups"] = json!(groups);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {
                "server": self.url,
                "certificate-authority": self.folder.path().join("ca.crt"),
            }}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        })
    }
}

fn token_file(tokens: &HashMap<Identity, String>) -> String {
    let line = |(identity, token): (&Identity, &String)| match identity {
        Identity::Admin => format!("{token},admin,admin,system:masters\n"),
        Identity::As { user, groups } => {
            format!("{token},{user},{user},\"{}\"\n", groups.join(","))
        }
    };
    tokens.iter().map(line).collect()
}

/// Three different ports that were free a moment ago: all are held at once before any is released.
fn free_ports() -> Result<[u16; 3], Failure> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let ports = || -> std::io::Result<[u16; 3]> {
        let listeners = [bind()?, bind()?, bind()?];
        let [a, b, c] = &listeners;
        Ok([a.local_addr()?.port(), b.local_addr()?.port(), c.local_addr()?.port()])
    };
    ports().map_err(Failure::during("looking for free ports on loopback"))
}

fn port_was_taken(failure: &Failure) -> bool {
    failure.to_string().contains("address already in use")
}

fn etcd_arguments(client: u16, peer: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    vec![
        "--data-dir=etcd".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // Nothing here has to survive a power cut.
        "--unsafe-no-fsync".to_owned(),
    ]
}

fn apiserver_arguments(etcd: u16, secure: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--secure-port={secure}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        // 1.37 refuses a loopback address as the endpoint of the service `kubernetes`.
        "--endpoint-reconciler-type=none".to_owned(),
        "--tls-cert-file=tls.crt".to_owned(),
        "--tls-private-key-file=tls.key".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--service-account-key-file=sa.pub".to_owned(),
        "--service-account-signing-key-file=sa.key".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        // As every installer sets it. Without it the server itself refuses privileged containers.
        "--allow-privileged=true".to_owned(),
        "--token-auth-file=tokens.csv".to_owned(),
        // It would refuse Pods until somebody makes the service account they name.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
}
