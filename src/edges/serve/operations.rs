//! The operations port: is the process alive, should it get requests, and what did it do.
//!
//! Plain HTTP on a port of its own, so that neither a broken certificate nor a full webhook port
//! keeps the kubelet from asking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::certificate::slot::Slot;
use super::metrics::{self, Metrics};

/// A condition of readiness: satisfied, or the sentence that says why not.
pub type Condition = Result<(), String>;

/// Everything that must hold before the server should get requests.
pub struct Readiness {
    shapes: Mutex<Condition>,
    self_test: Mutex<Condition>,
    clients: Mutex<Condition>,
    certificate: Arc<Slot>,
    draining: AtomicBool,
}

impl Readiness {
    /// Not ready: nothing is loaded, nothing tested.
    pub fn new(certificate: Arc<Slot>) -> Self {
        Self {
            shapes: Mutex::new(Err("no shapes are loaded".to_owned())),
            self_test: Mutex::new(Err("the self-test has not run".to_owned())),
            clients: Mutex::new(Ok(())),
            certificate,
            draining: AtomicBool::new(false),
        }
    }

    /// Whether there are shapes.
    pub fn set_shapes(&self, condition: Condition) {
        *self.shapes.lock().unwrap_or_else(PoisonError::into_inner) = condition;
    }

    /// Whether each shape admits its own template and each rule refuses what it is there for.
    pub fn set_self_test(&self, condition: Condition) {
        *self.self_test.lock().unwrap_or_else(PoisonError::into_inner) = condition;
    }

    /// Whether it is known which clients to let in.
    pub fn set_clients(&self, condition: Condition) {
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner) = condition;
    }

    /// From now on the server is on its way out, and never comes back.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Every condition that does not hold now; ready when there is none. The certificate is
    /// judged anew each time: it can expire.
    pub fn reasons(&self, now: SystemTime) -> Vec<String> {
        let mut reasons = Vec::new();
        for condition in [&self.shapes, &self.self_test, &self.clients] {
            let condition = condition.lock().unwrap_or_else(PoisonError::into_inner);
            reasons.extend(condition.as_ref().err().cloned());
        }
        reasons.extend(self.certificate.problem(now));
        if self.draining.load(Ordering::Relaxed) {
            reasons.push("draining".to_owned());
        }
        reasons
    }
}

/// What the operations port shows.
pub struct Operations {
    /// Whether requests should come.
    pub readiness: Arc<Readiness>,
    /// Whose end is a metric.
    pub certificate: Arc<Slot>,
    /// What was counted.
    pub metrics: Arc<Metrics>,
}

/// The service of the operations port.
pub fn router(operations: Operations) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(Arc::new(operations))
}

async fn livez() -> &'static str {
    "alive\n"
}

async fn readyz(State(operations): State<Arc<Operations>>) -> (StatusCode, String) {
    let reasons = operations.readiness.reasons(SystemTime::now());
    if reasons.is_empty() {
        return (StatusCode::OK, "ready\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n")
}

async fn scrape(State(operations): State<Arc<Operations>>) -> Response {
    let metrics = &operations.metrics;
    let ready = operations.readiness.reasons(SystemTime::now()).is_empty();
    metrics.ready.set(i64::from(ready));
    metrics.certificate_not_after.set(operations.certificate.not_after());
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the metrics cannot be written");
            (StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n").into_response()
        }
    }
}

async fn unknown_path() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "jobshape answers GET /livez, /readyz and /metrics here\n")
}

async fn wrong_method() -> (StatusCode, &'static str) {
    (StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::serve::dev;

    #[test]
    fn every_condition_has_its_own_sentence() {
        let slot = Arc::new(Slot::empty());
        let readiness = Readiness::new(Arc::clone(&slot));
        let reasons = || readiness.reasons(SystemTime::now());
        assert_eq!(
            reasons(),
            ["no shapes are loaded", "the self-test has not run", "no certificate yet"]
        );
        readiness.set_shapes(Ok(()));
        readiness.set_self_test(Ok(()));
        assert_eq!(reasons(), ["no certificate yet"]);
        slot.put(dev::throwaway(dev::LOOPBACK).ok().unwrap().pair);
        assert!(reasons().is_empty());
        readiness.set_self_test(Err("shape a refuses its own template".to_owned()));
        assert_eq!(reasons(), ["shape a refuses its own template"]);
        readiness.set_self_test(Ok(()));
        readiness.set_clients(Err("no authority".to_owned()));
        assert_eq!(reasons(), ["no authority"]);
        readiness.set_clients(Ok(()));
        readiness.drain();
        assert_eq!(reasons(), ["draining"]);
    }
}
