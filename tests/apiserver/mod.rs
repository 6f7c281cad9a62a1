//! A real Kubernetes API server for the tests and the demo: etcd, kube-apiserver and
//! kube-controller-manager on loopback ports in a temporary folder, or a cluster that someone
//! already has. What an API server does to a Job before a webhook sees it is nothing to imitate.
//!
//! Nothing here belongs to a test framework: a failure is a [`Failure`], and the caller decides.

#![allow(dead_code, unused_imports, reason = "the tests and the demo use a part each")]

mod binaries;
mod cleanup;
mod cluster;
mod control_plane;
mod environment;
mod existing;
mod identity;
mod keys;
mod requests;
mod supervisor;
mod webhooks;
mod workspace;

/// The method of a request, for [`Session::submit`].
pub use axum::http::Method;

pub use binaries::{VERSION, VERSIONS, kubectl, minor, versions};
pub use cluster::{Cluster, shared};
pub use control_plane::{ControlPlane, Options};
pub use environment::Target;
pub use existing::Existing;
pub use identity::Identity;
pub use requests::{Accepted, Answer, Refusal, Session};
pub use supervisor::Supervised;
pub use webhooks::{InstalledWebhook, Probe};
pub use workspace::Namespace;

/// Why the harness could not do what it was asked: one readable sentence, also under `unwrap`.
pub struct Failure(String);

impl Failure {
    /// A failure with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Failure(sentence.into())
    }

    /// Turns any error into a failure that says what was being done.
    pub fn during<E: std::fmt::Display>(doing: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Failure(format!("{doing}: {error}"))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

// `unwrap` prints this one; quotes and escapes would only hide the server's log.
impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
