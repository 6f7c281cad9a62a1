//! What an installation in a cluster consists of, as far as it follows from the shapes: one
//! implementation for `render`, `verify` and `serve --dev`.

pub mod configuration;
pub mod shapes;

/// The domain of everything that needs one: entries of the configuration, labels, annotations.
pub const DOMAIN: &str = "jobshape.dev";

/// The names that an installation has in a cluster. The manifests use the default ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The Service that the API server calls, on port 443.
    pub service: String,
    /// The ValidatingWebhookConfiguration.
    pub configuration: String,
    /// The ConfigMap of the shapes.
    pub shapes: String,
    /// The Secret of the serving certificate (`kubernetes.io/tls`, and `ca.crt`).
    pub certificate: String,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            namespace: "jobshape-system".to_owned(),
            service: "jobshape".to_owned(),
            configuration: "jobshape".to_owned(),
            shapes: "jobshape-shapes".to_owned(),
            certificate: "jobshape-tls".to_owned(),
        }
    }
}
