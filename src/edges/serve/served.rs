//! The shapes that decisions are made by, and the wait for valid ones.
//!
//! A process whose shapes cannot be loaded stays: it is not ready, it refuses what it is asked
//! about, and it lets pass what only takes something away, so that it keeps no Job from being
//! deleted. A process that ends would.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::metrics::Metrics;
use super::operations::Readiness;
use super::options::Loaded;
use crate::core::judge::Shapes;

/// How often shapes with mistakes are looked at again.
const RETRY: Duration = Duration::from_secs(1);

/// The shapes, replaceable while requests are decided.
#[derive(Debug, Default)]
pub struct Served {
    held: RwLock<Arc<Shapes>>,
}

impl Served {
    /// These shapes.
    pub fn new(shapes: Arc<Shapes>) -> Self {
        Self { held: RwLock::new(shapes) }
    }

    /// What is served now: a decision that has begun keeps it to its end.
    pub fn get(&self) -> Arc<Shapes> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, shapes: Arc<Shapes>) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = shapes;
    }
}

/// Shapes that could not be loaded at the start.
pub struct Awaited {
    /// Why they could not be.
    pub mistakes: Mistakes,
    /// Loads them; it may read files.
    pub load: Box<dyn Fn() -> Result<Loaded, Mistakes> + Send + Sync>,
}

/// Why shapes cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<String>);

impl Mistakes {
    /// Says each in the log.
    pub fn log(&self) {
        for report in &self.0 {
            tracing::error!(report = report.trim_end(), "there are no valid shapes");
        }
    }

    /// For whoever asks why the process is not ready.
    pub fn reason(&self) -> String {
        let count = self.0.len();
        let word = if count == 1 { "mistake" } else { "mistakes" };
        format!("no valid shapes: {count} {word}, in the log")
    }
}

/// Loads the shapes again until they are valid, and serves them then.
pub async fn wait(
    awaited: Awaited,
    served: Arc<Served>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
) {
    let load = Arc::new(awaited.load);
    let mut before = awaited.mistakes;
    loop {
        tokio::time::sleep(RETRY).await;
        let load = Arc::clone(&load);
        match tokio::task::spawn_blocking(move || load()).await {
            Ok(Ok(loaded)) => {
                tracing::info!(shapes = loaded.info.len(), "the shapes are valid");
                metrics.reviews.set_shapes(&loaded.info);
                served.put(loaded.shapes);
                readiness.set_self_test(loaded.self_test);
                readiness.set_shapes(Ok(()));
                return;
            }
            Ok(Err(mistakes)) => {
                if mistakes != before {
                    mistakes.log();
                    readiness.set_shapes(Err(mistakes.reason()));
                    before = mistakes;
                }
            }
            Err(error) => tracing::error!(%error, "loading the shapes ended in an internal error"),
        }
    }
}
