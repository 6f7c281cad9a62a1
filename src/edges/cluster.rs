//! The only place that talks to an API server as a client. What is decided about a Job asks nobody:
//! nothing of this is in the path of a request.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub mod dry_run;
pub mod replica;

/// Longer than any answer takes; a cluster that does not answer must not keep anybody.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Which cluster is asked, and as whom.
#[derive(Debug, Clone, Default, Args)]
// Or clap would put the sentence above into the help of the verb.
#[command(about = None, long_about = None)]
pub struct ClusterArgs {
    /// How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the Pod's own account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of it [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Why no cluster can be asked.
#[derive(Debug, Error)]
pub enum NoCluster {
    /// The file cannot be read, or lacks what is named.
    #[error("{file}: {source}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        source: kube::config::KubeconfigError,
    },
    /// There is no file, and this is no Pod.
    #[error("no cluster is known here: {0}; name a file with --kubeconfig")]
    Unknown(#[from] kube::config::InferConfigError),
    /// What the file says cannot be used.
    #[error("the cluster cannot be asked as the kubeconfig says: {0}")]
    Unusable(#[from] kube::Error),
}

impl ClusterArgs {
    /// How the cluster is reached.
    ///
    /// # Errors
    /// A sentence about the kubeconfig.
    pub async fn config(&self) -> Result<Config, NoCluster> {
        let named = self.kubeconfig.is_some() || self.context.is_some();
        let mut config = if named { self.in_file().await? } else { Config::infer().await? };
        config.connect_timeout = Some(TIMEOUT);
        config.read_timeout = Some(TIMEOUT);
        config.write_timeout = Some(TIMEOUT);
        Ok(config)
    }

    /// Whoever asks that cluster.
    ///
    /// # Errors
    /// A sentence about the kubeconfig.
    pub async fn client(&self) -> Result<Client, NoCluster> {
        Ok(Client::try_from(self.config().await?)?)
    }

    async fn in_file(&self) -> Result<Config, NoCluster> {
        let options =
            KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let file = match &self.kubeconfig {
            Some(file) => file.display().to_string(),
            None => "the kubeconfig".to_owned(),
        };
        let read = async {
            match &self.kubeconfig {
                Some(path) => {
                    Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await
                }
                None => Config::from_kubeconfig(&options).await,
            }
        };
        read.await.map_err(|source| NoCluster::File { file, source })
    }
}

/// A time as Leases have it (`MicroTime`).
#[must_use]
pub fn micro_time(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let whole = i64::try_from(since.as_secs()).ok();
    let date = whole.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let date = date.and_then(|date| date.format(&Rfc3339).ok()).unwrap_or_default();
    format!("{}.{:06}Z", date.trim_end_matches('Z'), since.subsec_micros())
}
