//! Only one process writes: the one that holds a Lease.
//!
//! Whether the holder is gone is told by how long nothing changed in the Lease, by this process's
//! own clock. What time stands in it is for people: clocks differ.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::LEASE;
use super::calls::{Calls, Trouble};
use crate::edges::cluster::micro_time;

/// Without a renewal for so long, somebody else takes over.
const DURATION: Duration = Duration::from_secs(30);

/// The holder renews it so often.
const RENEW: Duration = Duration::from_secs(10);

/// A holder that has not renewed it for so long writes nothing any more.
const SURE: Duration = Duration::from_secs(20);

/// This process's view of the Lease.
pub struct Held {
    identity: String,
    namespace: String,
    duration: Duration,
    renewed: Option<Instant>,
    seen: Option<(String, Instant)>,
}

impl Held {
    /// Not held yet.
    #[must_use]
    pub fn new(identity: String, namespace: String) -> Self {
        Self { identity, namespace, duration: DURATION, renewed: None, seen: None }
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.renewed.is_some_and(|at| at.elapsed() < SURE)
    }

    /// Renews it or takes it, if that is due and possible; then says whether this process may
    /// write.
    ///
    /// # Errors
    /// The API server could not be asked. What was held stays so for a while.
    pub async fn hold(&mut self, calls: &Calls) -> Result<bool, Trouble> {
        if self.renewed.is_some_and(|at| at.elapsed() < RENEW) {
            return Ok(true);
        }
        // The answer may take its time: it is renewed from when it was asked for.
        let asked = Instant::now();
        let (what, path) = (self.what(), self.path());
        let lease = calls.get(&what, &format!("{path}/{LEASE}")).await?;
        let written = match lease {
            // Whoever held it makes it again when it renews it. Until then it is no reason for two to
            // write that somebody deleted it.
            None if self.is_held_by_another() => return Ok(false),
            None => calls.create(&what, &path, &self.written(json!({}))).await,
            Some(lease) if self.is_free(&lease) => {
                calls.replace(&what, &format!("{path}/{LEASE}"), &self.written(lease)).await
            }
            Some(_) => {
                self.renewed = None;
                return Ok(false);
            }
        };
        match written {
            Ok(_) => {
                if self.renewed.is_none() {
                    tracing::info!(lease = LEASE, "this process writes from now on");
                }
                self.renewed = Some(asked);
                Ok(true)
            }
            Err(trouble) if trouble.is_conflict() => {
                self.renewed = None;
                Ok(false)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Lets the next one take it at once.
    pub async fn release(&mut self, calls: &Calls) {
        if self.renewed.take().is_none() {
            return;
        }
        let (what, path) = (self.what(), format!("{}/{LEASE}", self.path()));
        let Ok(Some(mut lease)) = calls.get(&what, &path).await else { return };
        if lease["spec"]["holderIdentity"] == self.identity.as_str() {
            lease["spec"]["holderIdentity"] = json!("");
            // If it fails, the others wait until it is over.
            let _ = calls.replace(&what, &path, &lease).await;
        }
    }

    /// Whether somebody else renewed it not long ago.
    fn is_held_by_another(&self) -> bool {
        self.seen.as_ref().is_some_and(|(_, since)| since.elapsed() < self.duration)
    }

    /// Whether it is this process's own, nobody's, or was left alone for long enough.
    fn is_free(&mut self, lease: &Value) -> bool {
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        if holder.is_empty() || holder == self.identity {
            self.seen = None;
            return true;
        }
        let version = lease["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        match &self.seen {
            // Its own duration is not asked: who writes a long one there would stop everybody.
            Some((seen, since)) if seen == version => since.elapsed() >= self.duration,
            _ => {
                self.seen = Some((version.to_owned(), Instant::now()));
                false
            }
        }
    }

    fn written(&self, mut lease: Value) -> Value {
        let now = micro_time(SystemTime::now());
        if lease["spec"]["holderIdentity"] != self.identity.as_str() {
            let before = lease["spec"]["leaseTransitions"].as_u64();
            lease["spec"]["leaseTransitions"] = json!(before.map_or(0, |count| count + 1));
            lease["spec"]["acquireTime"] = json!(now);
        }
        lease["apiVersion"] = json!("coordination.k8s.io/v1");
        lease["kind"] = json!("Lease");
        lease["metadata"]["name"] = json!(LEASE);
        lease["metadata"]["namespace"] = json!(self.namespace);
        lease["spec"]["holderIdentity"] = json!(self.identity);
        lease["spec"]["leaseDurationSeconds"] = json!(self.duration.as_secs());
        lease["spec"]["renewTime"] = json!(now);
        lease
    }

    fn what(&self) -> String {
        format!("the Lease {LEASE}")
    }

    fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, version: &str) -> Value {
        // Its times are of another century.
        json!({
            "metadata": {"resourceVersion": version},
            "spec": {"holderIdentity": holder, "renewTime": "2099-01-01T00:00:00.000000Z",
                     "leaseDurationSeconds": 2_000_000_000},
        })
    }

    #[test]
    fn only_a_lease_that_stood_still_is_taken_whatever_time_it_names() {
        let mut held = Held::new("me".to_owned(), "ns".to_owned());
        held.duration = Duration::ZERO;
        assert!(held.is_free(&lease("", "1")));
        assert!(held.is_free(&lease("me", "1")));
        assert!(!held.is_free(&lease("other", "2")), "seen for the first time");
        assert!(!held.is_free(&lease("other", "3")), "it was renewed");
        assert!(held.is_free(&lease("other", "3")));
        assert!(!held.is_held_by_another(), "it stood still for long enough");
        held.duration = Duration::from_secs(3600);
        assert!(!held.is_free(&lease("other", "3")));
        assert!(held.is_held_by_another(), "also when it is deleted");
        assert!(held.is_free(&lease("", "4")));
        assert!(!held.is_held_by_another(), "it was given away");
    }

    #[test]
    fn what_is_written_says_who_and_since_when() {
        let held = Held::new("me".to_owned(), "ns".to_owned());
        let first = held.written(json!({}));
        assert_eq!(first["spec"]["leaseTransitions"], 0);
        let mut other = first.clone();
        other["spec"]["holderIdentity"] = json!("other");
        other["spec"]["acquireTime"] = json!("long ago");
        other["metadata"]["labels"] = json!({"somebody": "else"});
        let taken = held.written(other);
        assert_eq!(taken["spec"]["leaseTransitions"], 1);
        assert_ne!(taken["spec"]["acquireTime"], "long ago");
        assert_eq!(taken["metadata"]["labels"]["somebody"], "else");
        let renewed = held.written(taken.clone());
        assert_eq!(renewed["spec"]["acquireTime"], taken["spec"]["acquireTime"]);
    }
}
