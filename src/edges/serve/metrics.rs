//! Every metric the server has, by name. Nothing else in the program spells one.
//!
//! All labels are bounded: verdicts, entrances and operations are fixed sets, shapes and rules
//! come from what was loaded, and nothing that a requester writes becomes a label.

use std::time::SystemTime;

use prometheus::core::Collector;
use prometheus::{Encoder, IntGauge, Registry, TextEncoder};

use crate::formats::review::Entrance;

mod about;
pub mod journal;
mod process;
pub mod publishing;
pub mod reloads;
pub mod reviews;
mod rules;
pub mod traffic;

use journal::Kept;
use process::Process;
use publishing::Publishing;
use reloads::Reloads;
use reviews::Reviews;
use traffic::Traffic;

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// The registry of one server and the handles into it.
pub struct Metrics {
    registry: Registry,
    /// What was judged, and by which shapes.
    pub reviews: Reviews,
    /// What happens before and beside a decision.
    pub traffic: Traffic,
    /// What was read anew.
    pub reloads: Reloads,
    /// What the decision log and the recording could not keep.
    pub journal: Kept,
    /// Whether the cluster knows what is served.
    pub publishing: Publishing,
    /// 1 while `/readyz` says ready.
    pub ready: IntGauge,
    /// End of the serving certificate's validity, seconds since 1970.
    pub certificate_not_after: IntGauge,
    process: Process,
}

impl Metrics {
    /// A registry with every metric in it.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        about::register(&registry)?;
        Ok(Self {
            reviews: Reviews::new(&registry)?,
            traffic: Traffic::new(&registry)?,
            reloads: Reloads::new(&registry)?,
            journal: Kept::new(&registry)?,
            publishing: Publishing::new(&registry)?,
            process: Process::new(&registry)?,
            ready: put(
                &registry,
                IntGauge::new("jobshape_ready", "1 while the server is ready.")?,
            )?,
            certificate_not_after: put(
                &registry,
                IntGauge::new(
                    "jobshape_certificate_not_after_seconds",
                    "End of the serving certificate's validity, seconds since 1970.",
                )?,
            )?,
            registry,
        })
    }

    /// All of it in the Prometheus text format.
    pub fn text(&self) -> Result<Vec<u8>, prometheus::Error> {
        self.text_at(SystemTime::now())
    }

    /// The same, as it is at another time.
    pub fn text_at(&self, now: SystemTime) -> Result<Vec<u8>, prometheus::Error> {
        self.reviews.set_today(now);
        self.process.look();
        self.reloads.look();
        encode(&self.registry)
    }
}

/// All of a registry in the Prometheus text format.
///
/// # Errors
/// Whatever the encoder says.
pub(crate) fn encode(registry: &Registry) -> Result<Vec<u8>, prometheus::Error> {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text)?;
    Ok(text)
}

/// Registers a metric and hands it back.
///
/// # Errors
/// A name that is taken, or that Prometheus does not have.
pub(crate) fn put<C: Collector + Clone + 'static>(
    registry: &Registry,
    metric: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// An entrance as labels and log lines have it.
pub(super) fn word(entrance: Entrance) -> &'static str {
    match entrance {
        Entrance::Enforce => "enforce",
        Entrance::Audit => "audit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::review::undecided;

    fn text(metrics: &Metrics) -> String {
        String::from_utf8(metrics.text().unwrap()).unwrap()
    }

    #[test]
    fn known_series_begin_at_zero() {
        let text = text(&Metrics::new().unwrap());
        let line = "jobshape_reviews_total{dry_run=\"false\",entrance=\"enforce\",\
                    operation=\"CREATE\",verdict=\"deny\"} 0";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("jobshape_decision_seconds_bucket{le=\"0.000025\"} 0"), "{text}");
    }

    #[test]
    fn no_word_of_the_requester_becomes_a_label() {
        let metrics = Metrics::new().unwrap();
        let mut record = undecided(Entrance::Audit, Some("u"), 400, "no").record;
        record.operation = "EVIL".to_owned();
        metrics.reviews.answered(Entrance::Audit, &record);
        let text = text(&metrics);
        assert!(!text.contains("EVIL"), "{text}");
        assert!(text.contains("operation=\"other\",verdict=\"error\"} 1"), "{text}");
    }
}
