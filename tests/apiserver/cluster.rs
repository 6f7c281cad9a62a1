//! The cluster that tests talk to, whichever it is.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use tokio::sync::OnceCell;

use serde_json::Value;

use super::cleanup::suffix;
use super::{ControlPlane, Existing, Failure, Identity, Options, Session, Target, binaries};

/// A cluster to test against.
#[allow(clippy::large_enum_variant, reason = "there is one or two of them")]
pub enum Cluster {
    /// A control plane that we started.
    Own(ControlPlane),
    /// One that was there before.
    Existing(Existing),
}

/// The cluster that all tests of this process share, started by the first that asks. When the
/// process ends, however it does, the supervisors clean up: a static is never dropped.
///
/// # Panics
///
/// When there is none, with the reason, in every test that asks: a test that needs an API server
/// does not pass without one.
pub async fn shared() -> &'static Cluster {
    static SHARED: OnceCell<Result<Cluster, Failure>> = OnceCell::const_new();
    let start = || async { Cluster::from_environment(&Options::default()).await };
    match SHARED.get_or_init(start).await {
        Ok(cluster) => cluster,
        Err(failure) => panic!("{failure}"),
    }
}

impl Cluster {
    /// The cluster that the environment asks for; see [`Target`].
    pub async fn from_environment(options: &Options) -> Result<Self, Failure> {
        match Target::from_environment()? {
            Target::Own => ControlPlane::start(options).await.map(Cluster::Own),
            Target::Existing { kubeconfig, webhook_host } => {
                Existing::new(&kubeconfig, &webhook_host).map(Cluster::Existing)
            }
        }
    }

    /// A kubeconfig of an identity, as JSON, which is YAML too.
    pub fn kubeconfig(&self, identity: &Identity) -> Result<Value, Failure> {
        match self {
            Cluster::Own(plane) => Ok(plane.kubeconfig(identity)),
            Cluster::Existing(existing) => existing.kubeconfig(identity),
        }
    }

    /// The same in a file for kubectl, gone when the cluster is dropped.
    pub fn kubeconfig_for(&self, identity: &Identity) -> Result<PathBuf, Failure> {
        let name = format!("{}.kubeconfig", suffix(12));
        let content = self.kubeconfig(identity)?.to_string();
        match self {
            Cluster::Own(plane) => plane.write(&name, &content),
            Cluster::Existing(existing) => existing.write(&name, &content),
        }
    }

    /// A connection of an identity, for the tokio runtime that this is called on.
    pub async fn session(&self, identity: &Identity) -> Result<Session, Failure> {
        Session::open(&self.kubeconfig(identity)?).await
    }

    /// A typed client of an identity, for the tokio runtime that this is called on.
    pub async fn client(&self, identity: &Identity) -> Result<kube::Client, Failure> {
        Ok(self.session(identity).await?.client())
    }

    /// The kubectl that belongs to it, built if it is missing.
    pub fn kubectl(&self) -> Result<PathBuf, Failure> {
        binaries::kubectl()
    }

    /// What the API server says its version is, such as `v1.36.3`.
    pub async fn version(&self) -> Result<String, Failure> {
        let answer = self.session(&Identity::Admin).await?.get("/version").await?;
        let version = answer.body["gitVersion"].as_str().map(str::to_owned);
        version.ok_or_else(|| Failure::new(format!("/version answered {}", answer.body)))
    }

    /// The host under which the API server reaches a webhook on this machine; its certificate has
    /// to name it.
    pub fn webhook_host(&self) -> &str {
        match self {
            Cluster::Own(_) => "127.0.0.1",
            Cluster::Existing(existing) => existing.webhook_host(),
        }
    }

    /// The address on which a webhook has to listen to be reached there.
    pub fn webhook_bind_address(&self) -> IpAddr {
        match self {
            Cluster::Own(_) => Ipv4Addr::LOCALHOST.into(),
            Cluster::Existing(_) => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// The URL of a webhook on this machine, for `clientConfig.url`.
    pub fn webhook_url(&self, port: u16, path: &str) -> String {
        let host = self.webhook_host();
        // A bare IPv6 address needs brackets in a URL.
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("https://{host}:{port}/{}", path.trim_start_matches('/'))
    }
}
