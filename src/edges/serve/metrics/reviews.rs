//! What was judged, and by which shapes.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::{put, word};
use crate::core::shape::rule::Action;
use crate::formats::review::{Entrance, Record};

/// A decision takes tens of microseconds; beyond 100 ms only hostile input is left.
const DECISION_BUCKETS: [f64; 12] =
    [25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1.0];

const VERDICTS: [&str; 4] = ["allow", "deny", "error", "ungoverned"];

/// What is said about a loaded shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeInfo {
    /// `metadata.name`.
    pub name: String,
    /// The digest, as the refusals abbreviate it.
    pub digest: String,
    /// The namespaces it governs.
    pub namespaces: Vec<String>,
    /// Its rules, in its order.
    pub rules: Vec<RuleInfo>,
}

/// What is said about a rule of a loaded shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its name.
    pub name: String,
    /// What a finding of it does.
    pub action: Action,
    /// The date after which it should not be weaker than Enforce any more, `YYYY-MM-DD`.
    pub audit_until: Option<String>,
}

/// The metrics of decisions.
pub struct Reviews {
    reviews: IntCounterVec,
    findings: IntCounterVec,
    decision_seconds: Histogram,
    shapes: IntGauge,
    shape_info: IntGaugeVec,
}

impl Reviews {
    /// Registers them, the known label sets at 0: a rate over a series that appears with its first
    /// event misses that event.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            reviews: put(
                registry,
                IntCounterVec::new(
                    Opts::new("jobshape_reviews_total", "Admission reviews answered, by verdict."),
                    &["verdict", "entrance", "operation", "dry_run"],
                )?,
            )?,
            findings: put(
                registry,
                IntCounterVec::new(
                    Opts::new("jobshape_findings_total", "Findings, dry runs left out."),
                    &["shape", "rule", "action"],
                )?,
            )?,
            decision_seconds: put(
                registry,
                Histogram::with_opts(
                    HistogramOpts::new("jobshape_decision_seconds", "Time to judge one review.")
                        .buckets(DECISION_BUCKETS.to_vec()),
                )?,
            )?,
            shapes: put(registry, IntGauge::new("jobshape_shapes", "Loaded shapes.")?)?,
            shape_info: put(
                registry,
                IntGaugeVec::new(
                    Opts::new("jobshape_shape_info", "1 for each loaded shape."),
                    &["shape", "digest"],
                )?,
            )?,
        };
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
}
