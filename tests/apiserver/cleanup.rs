//! Removing from the cluster what a test made, also when it panics.

use axum::http::Method;
use serde_json::Value;

use super::keys::random_token;
use super::requests::Session;

/// The label that everything made here carries, with the same value for one run. What a killed run
/// left in an existing cluster goes with
/// `kubectl delete validatingwebhookconfigurations,namespaces -l jobshape.dev/test`.
pub const LABEL: &str = "jobshape.dev/test";

/// The value of the label in this process.
pub fn run() -> &'static str {
    static RUN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    RUN.get_or_init(|| suffix(8))
}

/// A few characters that make a name unique.
pub fn suffix(length: usize) -> String {
    random_token()[..length].to_owned()
}

/// Deletes one object when it is dropped.
pub struct Cleanup {
    kubeconfig: Value,
    path: String,
}

impl Cleanup {
    /// Will delete the object at this path of the API.
    pub fn new(kubeconfig: Value, path: String) -> Self {
        Cleanup { kubeconfig, path }
    }

    async fn delete(&self) -> Result<(), String> {
        let session = Session::open(&self.kubeconfig).await.map_err(|f| f.to_string())?;
        let deleted = session.submit(Method::DELETE, &self.path, &Value::Null).await;
        match deleted {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.code == 404 => Ok(()),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

impl Drop for Cleanup {
    /// A thread of its own, because a runtime may not be blocked from within, and the one of the
    /// test may be on its way out.
    fn drop(&mut self) {
        let delete = || -> Result<(), String> {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().map_err(|error| error.to_string())?;
            runtime.block_on(self.delete())
        };
        let outcome = std::thread::scope(|scope| scope.spawn(delete).join());
        if let Ok(Err(why)) = outcome {
            eprintln!("{} is left in the cluster: {why}", self.path);
        }
    }
}
