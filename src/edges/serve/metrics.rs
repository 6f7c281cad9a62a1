//! Every metric the server has, by name. Nothing else in the program spells one.
//!
//! All labels are bounded: verdicts, entrances and operations are fixed sets, shapes and rules
//! come from what was loaded, and nothing that a requester writes becomes a label.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    Encoder, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::formats::review::{Entrance, Record};

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// A decision takes tens of microseconds; beyond 100 ms only hostile input is left.
const DECISION_BUCKETS: [f64; 12] =
    [25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1.0];

const VERDICTS: [&str; 4] = ["allow", "deny", "error", "ungoverned"];

/// A name and digest of each loaded shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeInfo {
    /// `metadata.name`.
    pub name: String,
    /// The digest, as the refusals abbreviate it.
    pub digest: String,
}

/// The registry of one server and the handles into it.
pub struct Metrics {
    registry: Registry,
    reviews: IntCounterVec,
    findings: IntCounterVec,
    decision_seconds: Histogram,
    /// Open connections on the webhook port.
    pub connections: IntGauge,
    /// TLS handshakes that failed or took too long; a client that just left is none.
    pub handshake_errors: IntCounter,
    /// Decisions that panicked and were answered as errors.
    pub panics: IntCounter,
    /// Requests whose body was larger than the limit.
    pub oversize: IntCounter,
    /// 1 while `/readyz` says ready.
    pub ready: IntGauge,
    /// End of the serving certificate's validity, seconds since 1970.
    pub certificate_not_after: IntGauge,
    shapes: IntGauge,
    shape_info: IntGaugeVec,
}

impl Metrics {
    /// A registry with every metric in it, the known label sets at 0: a rate over a series that
    /// appears with its first event misses that event.
    pub fn new() -> Result<Self, prometheus::Error> {
        let metrics = Self {
            registry: Registry::new(),
            reviews: IntCounterVec::new(
                Opts::new("jobshape_reviews_total", "Admission reviews answered, by verdict."),
                &["verdict", "entrance", "operation", "dry_run"],
            )?,
            findings: IntCounterVec::new(
                Opts::new("jobshape_findings_total", "Findings, dry runs left out."),
                &["shape", "rule", "action"],
            )?,
            decision_seconds: Histogram::with_opts(
                HistogramOpts::new("jobshape_decision_seconds", "Time to judge one review.")
                    .buckets(DECISION_BUCKETS.to_vec()),
            )?,
            connections: IntGauge::new(
                "jobshape_connections",
                "Open connections on the webhook port.",
            )?,
            handshake_errors: IntCounter::new(
                "jobshape_handshake_errors_total",
                "TLS handshakes that failed or took too long.",
            )?,
            panics: IntCounter::new(
                "jobshape_panics_total",
                "Decisions that panicked and were answered as errors.",
            )?,
            oversize: IntCounter::new(
                "jobshape_oversize_total",
                "Requests whose body was larger than the limit.",
            )?,
            ready: IntGauge::new("jobshape_ready", "1 while the server is ready.")?,
            certificate_not_after: IntGauge::new(
                "jobshape_certificate_not_after_seconds",
                "End of the serving certificate's validity, seconds since 1970.",
            )?,
            shapes: IntGauge::new("jobshape_shapes", "Loaded shapes.")?,
            shape_info: IntGaugeVec::new(
                Opts::new("jobshape_shape_info", "1 for each loaded shape."),
                &["shape", "digest"],
            )?,
        };
        for collector in metrics.collectors() {
            metrics.registry.register(collector)?;
        }
        for verdict in VERDICTS {
            for entrance in [Entrance::Enforce, Entrance::Audit] {
                for operation in ["CREATE", "UPDATE"] {
                    for dry_run in ["false", "true"] {
                        let labels = [verdict, word(entrance), operation, dry_run];
                        metrics.reviews.with_label_values(&labels).reset();
                    }
                }
            }
        }
        Ok(metrics)
    }

    fn collectors(&self) -> [Box<dyn Collector>; 11] {
        [
            Box::new(self.reviews.clone()),
            Box::new(self.findings.clone()),
            Box::new(self.decision_seconds.clone()),
            Box::new(self.connections.clone()),
            Box::new(self.handshake_errors.clone()),
            Box::new(self.panics.clone()),
            Box::new(self.oversize.clone()),
            Box::new(self.ready.clone()),
            Box::new(self.certificate_not_after.clone()),
            Box::new(self.shapes.clone()),
            Box::new(self.shape_info.clone()),
        ]
    }

    /// Replaces what is said about the loaded shapes.
    pub fn set_shapes(&self, shapes: &[ShapeInfo]) {
        self.shape_info.reset();
        for shape in shapes {
            self.shape_info.with_label_values(&[&shape.name, &shape.digest]).set(1);
        }
        self.shapes.set(i64::try_from(shapes.len()).unwrap_or(i64::MAX));
    }

    /// Counts one answer. A dry run is counted as a review and is evidence of nothing more.
    pub fn answered(&self, entrance: Entrance, record: &Record) {
        let dry_run = if record.dry_run { "true" } else { "false" };
        // The request's own word must not become a label.
        let operation = match record.operation.as_str() {
            known @ ("CREATE" | "UPDATE") => known,
            _ => "other",
        };
        let labels = [record.verdict, word(entrance), operation, dry_run];
        self.reviews.with_label_values(&labels).inc();
        if record.dry_run {
            return;
        }
        let shape = record.shape.as_deref().unwrap_or_default();
        for (rule, action, _) in &record.rules {
            self.findings.with_label_values(&[shape, rule.as_str(), *action]).inc();
        }
    }

    /// Takes note of how long one decision took.
    pub fn decided(&self, took: Duration) {
        self.decision_seconds.observe(took.as_secs_f64());
    }

    /// All of it in the Prometheus text format.
    pub fn text(&self) -> Result<Vec<u8>, prometheus::Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
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
        metrics.answered(Entrance::Audit, &record);
        let text = text(&metrics);
        assert!(!text.contains("EVIL"), "{text}");
        assert!(text.contains("operation=\"other\",verdict=\"error\"} 1"), "{text}");
    }

    #[test]
    fn a_dry_run_is_no_evidence() {
        let metrics = Metrics::new().unwrap();
        let mut record = undecided(Entrance::Enforce, Some("u"), 400, "no").record;
        record.shape = Some("worker".to_owned());
        record.rules = vec![("image".to_owned(), "Enforce", "spec".to_owned())];
        record.dry_run = true;
        metrics.answered(Entrance::Enforce, &record);
        assert!(!text(&metrics).contains("jobshape_findings_total"));
        record.dry_run = false;
        metrics.answered(Entrance::Enforce, &record);
        let line = "jobshape_findings_total{action=\"Enforce\",rule=\"image\",shape=\"worker\"} 1";
        assert!(text(&metrics).contains(line));
    }

    #[test]
    fn a_reload_forgets_the_shapes_before_it() {
        let metrics = Metrics::new().unwrap();
        let shape = |name: &str| ShapeInfo { name: name.to_owned(), digest: "3f9a".to_owned() };
        metrics.set_shapes(&[shape("old"), shape("both")]);
        metrics.set_shapes(&[shape("both")]);
        let text = text(&metrics);
        assert!(text.contains("jobshape_shapes 1") && !text.contains("\"old\""), "{text}");
        assert!(text.contains("jobshape_shape_info{digest=\"3f9a\",shape=\"both\"} 1"), "{text}");
    }
}
