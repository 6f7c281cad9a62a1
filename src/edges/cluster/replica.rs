//! What a replica says of itself in the cluster: a Lease of its own, with one annotation.
//!
//! A Lease, because the account that serves may then write neither ConfigMaps, where the shapes
//! are, nor Secrets. The Pod owns it, so that it goes with the Pod.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The annotation that holds the [`Report`] as JSON.
pub const ANNOTATION: &str = "jobshape.dev/replica";

/// The label that every replica's Lease has, with the value [`LABEL_VALUE`].
pub const LABEL: &str = "app.kubernetes.io/component";

/// See [`LABEL`].
pub const LABEL_VALUE: &str = "jobshape-replica";

/// What a replica serves now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
// A program of another version says more, or less.
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Of the program.
    pub version: String,
    /// The Kubernetes releases that the program's table of the Job API covers, as `1.34`.
    pub releases: Vec<String>,
    /// The digests of the shapes in force, whole, by name.
    pub shapes: BTreeMap<String, String>,
    /// How often shapes were put in force since the start.
    pub generation: u64,
    /// Whether what stands in the files is what is in force.
    pub reload_failing: bool,
    /// The SHA-256 of the certificate that is shown, as hexadecimal; nothing without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The chain that is shown, leaf first, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_chain: Option<String>,
    /// When that certificate ends, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_ends: Option<String>,
    /// Whether it is ready, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_ready: Option<String>,
}

/// The name of the Lease of a Pod.
#[must_use]
pub fn name(pod: &str) -> String {
    format!("jobshape-replica-{pod}")
}
