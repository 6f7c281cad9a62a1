//! `jobshape certs rotate`: makes the serving certificate and the authority it is from, renews both,
//! and writes into the one webhook configuration whom to trust.
//!
//! A process of its own, with an account of its own: what serves reads what anybody sends, and may
//! write neither Secrets nor the configuration. It serves on while this one is away, until the
//! certificate ends.
//!
//! The key of the authority is in a Secret that no Pod mounts.

use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

use crate::edges::cluster::{ClusterArgs, NoCluster};
use crate::formats::manifest::Names;

pub mod authority;
mod calls;
mod lease;
pub mod metrics;
mod objects;
mod operations;
mod rotator;
pub mod run;
pub mod state;
mod stored;
mod told;

/// The Secret with the authority and its key.
pub const AUTHORITY: &str = "jobshape-certificate-authority";

/// The Lease of whoever may write.
pub const LEASE: &str = "jobshape-certificates";

/// Who wrote, in `managedFields`.
const MANAGER: &str = "jobshape-certificates";

/// Everything that [`run::run`] needs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which cluster.
    pub cluster: ClusterArgs,
    /// What is called how there.
    pub names: Names,
    /// Further names that the certificate is for, besides those of the Service.
    pub also_for: Vec<String>,
    /// Tells this process from another one that does the same.
    pub identity: String,
    /// For how long an authority is valid.
    pub authority_life: Duration,
    /// For how long a certificate is.
    pub certificate_life: Duration,
    /// How long it takes at most until every API server has seen a new configuration, and until a
    /// Pod that starts gets a new Secret.
    pub settle: Duration,
    /// How often everything is looked at.
    pub poll: Duration,
    /// The operations port.
    pub ops_listen: SocketAddr,
}

/// Why it could not start; every one is exit status 2.
#[derive(Debug, Error)]
pub enum CertsError {
    /// Flags that do not fit together.
    #[error("{0}")]
    Usage(String),
    /// No cluster is known.
    #[error(transparent)]
    Cluster(#[from] NoCluster),
    /// The operations port cannot be opened.
    #[error("--ops-listen {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// A metric that cannot be registered.
    #[error("the metrics cannot be set up: {0}")]
    Metrics(#[from] prometheus::Error),
    /// Signals cannot be received.
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
}
