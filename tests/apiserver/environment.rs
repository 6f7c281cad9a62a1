//! Which cluster the tests run against, from the environment.

use std::path::PathBuf;

use super::Failure;

const KUBECONFIG: &str = "JOBSHAPE_TEST_KUBECONFIG";
const WEBHOOK_HOST: &str = "JOBSHAPE_TEST_WEBHOOK_HOST";

/// What the tests run against.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// A control plane that they start themselves.
    Own,
    /// A cluster that is there already.
    Existing {
        /// How to reach it.
        kubeconfig: PathBuf,
        /// The host under which its API server reaches a webhook on this machine.
        webhook_host: String,
    },
}

impl Target {
    /// From the environment. `KUBECONFIG` is not among what it reads, on purpose: a cluster that
    /// somebody happens to be logged in to is none to create Jobs and webhooks in.
    pub fn from_environment() -> Result<Self, Failure> {
        let read = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        Self::from_values(read(KUBECONFIG), read(WEBHOOK_HOST))
    }

    /// The same, from the values of the two variables.
    pub fn from_values(
        kubeconfig: Option<String>,
        webhook_host: Option<String>,
    ) -> Result<Self, Failure> {
        match (kubeconfig, webhook_host) {
            (None, None) => Ok(Target::Own),
            (Some(kubeconfig), Some(webhook_host)) => {
                Ok(Target::Existing { kubeconfig: kubeconfig.into(), webhook_host })
            }
            (Some(_), None) => Err(Failure::new(format!(
                "{KUBECONFIG} is set without {WEBHOOK_HOST}: set it to the host name or address under which that cluster's API server reaches a webhook on this machine."
            ))),
            (None, Some(_)) => Err(Failure::new(format!(
                "{WEBHOOK_HOST} is set without {KUBECONFIG}: set it to the kubeconfig of the cluster to test against, or unset both."
            ))),
        }
    }
}
