//! The operations port of the rotator.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::metrics::Metrics;

/// What the port shows.
pub struct Operations {
    /// What was counted.
    pub metrics: Arc<Metrics>,
    /// What could not be done the last time; nothing if all could be.
    pub troubles: Mutex<Vec<String>>,
}

impl Operations {
    /// From the start until everything was looked at once, that is what is missing.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, troubles: Mutex::new(vec!["nothing was looked at yet".to_owned()]) }
    }

    /// What could not be done this time.
    pub fn set(&self, troubles: Vec<String>) {
        *self.troubles.lock().unwrap_or_else(PoisonError::into_inner) = troubles;
    }
}

/// The service of the port.
pub fn router(operations: Arc<Operations>) -> Router {
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(operations)
}

async fn readyz(State(operations): State<Arc<Operations>>) -> (StatusCode, String) {
    let troubles = operations.troubles.lock().unwrap_or_else(PoisonError::into_inner);
    if troubles.is_empty() {
        return (StatusCode::OK, "ready\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, troubles.join("\n") + "\n")
}

async fn scrape(State(operations): State<Arc<Operations>>) -> Response {
    match operations.metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
