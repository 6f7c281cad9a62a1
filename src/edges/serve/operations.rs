//! The operations port: is the process alive, should it get requests, and what did it do.
//!
//! Plain HTTP on a port of its own, so that neither a broken certificate nor a full webhook port
//! keeps the kubelet from asking.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::certificate::slot::Slot;
use super::metrics::{self, Metrics};

/// A condition of readiness: satisfied, or the sentence that says why not.
pub type Condition = Result<(), String>;

/// Everything that must hold before the server should get requests.
pub struct Readiness {
    conditions: Mutex<Conditions>,
    certificate: Arc<Slot>,
    changed: Notify,
}

struct Conditions {
    shapes: Condition,
    self_test: Condition,
    clients: Condition,
    draining: bool,
}

impl Readiness {
    /// Not ready: nothing is loaded, nothing tested.
    pub fn new(certificate: Arc<Slot>) -> Self {
        let conditions = Conditions {
            shapes: Err("no shapes are loaded".to_owned()),
            self_test: Err("the self-test has not run".to_owned()),
            clients: Ok(()),
            draining: false,
        };
        Self { conditions: Mutex::new(conditions), certificate, changed: Notify::new() }
    }

    /// There are shapes, and whether each admits its own template and each rule refuses what it is
    /// there for.
    pub fn set_self_test(&self, self_test: Condition) {
        self.set(|now| (now.shapes, now.self_test) = (Ok(()), self_test));
    }

    /// Why there are no shapes.
    pub fn set_no_shapes(&self, why: String) {
        self.set(|now| now.shapes = Err(why));
    }

    /// Whether it is known which clients to let in.
    pub fn set_clients(&self, clients: Condition) {
        self.set(|now| now.clients = clients);
    }

    /// From now on the server is on its way out, and never comes back.
    pub fn drain(&self) {
        self.set(|now| now.draining = true);
    }

    /// Every condition that does not hold now; ready when there is none. The certificate is
    /// judged anew each time: it can expire.
    pub fn reasons(&self, now: SystemTime) -> Vec<String> {
        let (mut reasons, draining) = {
            let conditions = self.conditions();
            let each = [&conditions.shapes, &conditions.self_test, &conditions.clients];
            let reasons = each.into_iter().filter_map(|condition| condition.clone().err());
            (reasons.collect::<Vec<_>>(), conditions.draining)
        };
        reasons.extend(self.certificate.problem(now));
        if draining {
            reasons.push("draining".to_owned());
        }
        reasons
    }

    /// Says each change in the log, once, for ever. Nobody tells when a certificate expires, so it
    /// looks every so often too.
    pub async fn say_changes(&self, every: Duration) -> Infallible {
        let mut said = None;
        loop {
            self.say(&mut said, SystemTime::now());
            let _ = timeout(every, self.changed.notified()).await;
        }
    }

    /// Says what is so now unless that was `said`. Other reasons are a change too.
    fn say(&self, said: &mut Option<Vec<String>>, now: SystemTime) {
        let reasons = self.reasons(now);
        if said.as_ref() == Some(&reasons) {
            return;
        }
        if reasons.is_empty() {
            tracing::info!("ready");
        } else {
            tracing::warn!(reasons = reasons.join("; "), "not ready");
        }
        *said = Some(reasons);
    }

    fn set(&self, change: impl FnOnce(&mut Conditions)) {
        change(&mut self.conditions());
        self.changed.notify_one();
    }

    fn conditions(&self) -> MutexGuard<'_, Conditions> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
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
    use crate::edges::serve::decision_log::tests::{log_kept, log_of};
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

    #[test]
    fn each_change_is_one_line_and_an_expired_certificate_is_one() {
        let slot = Arc::new(Slot::empty());
        slot.put(dev::throwaway(dev::LOOPBACK).ok().unwrap().pair);
        let readiness = Readiness::new(slot);
        let now = SystemTime::now();
        let expired = now + Duration::from_secs(100 * 365 * 86_400);
        let log = log_of(|| {
            let mut said = None;
            let mut twice = |now| (0..2).for_each(|_| readiness.say(&mut said, now));
            twice(now);
            readiness.set_self_test(Ok(()));
            twice(now);
            twice(expired);
            twice(now);
            readiness.set_no_shapes("no valid shapes".to_owned());
            readiness.drain();
            twice(expired);
        });
        let said: Vec<String> = log
            .lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let word = |key: &str| line["fields"][key].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", word("message"), word("reasons"))
            })
            .collect();
        assert_eq!(
            said,
            [
                "not ready: no shapes are loaded; the self-test has not run",
                "ready: ",
                "not ready: the certificate has expired",
                "ready: ",
                "not ready: no valid shapes; the certificate has expired; draining",
            ]
        );
    }

    #[tokio::test]
    async fn a_change_is_said_at_once() {
        let readiness = Readiness::new(Arc::new(Slot::empty()));
        let (lines, _kept) = log_kept();
        let long = Duration::from_secs(3600);
        let changes = async {
            for reason in ["first", "second"] {
                readiness.set_clients(Err(reason.to_owned()));
                while !lines.text().contains(reason) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        };
        let said = async {
            tokio::select! {
                _ = readiness.say_changes(long) => {}
                () = changes => {}
            }
        };
        timeout(Duration::from_secs(20), said).await.expect("nothing is said");
    }
}
