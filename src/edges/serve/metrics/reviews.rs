//! What was judged, and by which shapes.

use std::time::{Duration, SystemTime};

use prometheus::{
    Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};
use sha2::{Digest, Sha256};

use super::rules::{Findings, MOST_SERIES, Overdue};
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
    findings: Findings,
    unshaped: IntCounterVec,
    exempt: IntCounterVec,
    old_findings: IntCounter,
    decision_seconds: Histogram,
    shapes: IntGauge,
    shape_info: IntGaugeVec,
    together: IntGaugeVec,
    overdue: Overdue,
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
            findings: Findings::new(registry)?,
            unshaped: put(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "jobshape_unshaped_total",
                        "Requests of namespaces that no loaded shape names, by entrance.",
                    ),
                    &["entrance"],
                )?,
            )?,
            exempt: put(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "jobshape_exempt_total",
                        "Requests from which a shape was taken away because whoever asks is exempt from it.",
                    ),
                    &["verdict", "dry_run"],
                )?,
            )?,
            old_findings: put(
                registry,
                IntCounter::new(
                    "jobshape_old_findings_total",
                    "Findings that an update left as they were, so that they decided nothing.",
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
            together: put(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "jobshape_shapes_info",
                        "1, with one digest of all loaded shapes: replicas must have the same.",
                    ),
                    &["digest"],
                )?,
            )?,
            overdue: Overdue::new(registry)?,
        };
        for entrance in [Entrance::Enforce, Entrance::Audit] {
            metrics.unshaped.with_label_values(&[word(entrance)]).reset();
            for verdict in VERDICTS {
                for operation in ["CREATE", "UPDATE"] {
                    for dry_run in ["false", "true"] {
                        let labels = [verdict, word(entrance), operation, dry_run];
                        metrics.reviews.with_label_values(&labels).reset();
                    }
                }
            }
        }
        for verdict in VERDICTS {
            for dry_run in ["false", "true"] {
                metrics.exempt.with_label_values(&[verdict, dry_run]).reset();
            }
        }
        Ok(metrics)
    }

    /// Replaces what is said about the loaded shapes.
    pub fn set_shapes(&self, shapes: &[ShapeInfo]) {
        self.findings.set_shapes(shapes);
        self.overdue.set_shapes(shapes);
        self.together.reset();
        self.together.with_label_values(&[digest(shapes)]).set(1);
        self.shape_info.reset();
        for shape in shapes.iter().take(MOST_SERIES) {
            self.shape_info.with_label_values(&[&shape.name, &shape.digest]).set(1);
        }
        self.shapes.set(i64::try_from(shapes.len()).unwrap_or(i64::MAX));
    }

    /// Compares the dates of rules with today's, in UTC.
    pub(super) fn set_today(&self, now: SystemTime) {
        let time = humantime::format_rfc3339_seconds(now).to_string();
        self.overdue.set_today(time.split('T').next().unwrap_or_default());
    }

    /// Counts one answer.
    pub fn answered(&self, entrance: Entrance, record: &Record) {
        let dry_run = if record.dry_run { "true" } else { "false" };
        // The request's own word must not become a label.
        let operation = match record.operation.as_str() {
            known @ ("CREATE" | "UPDATE") => known,
            _ => "other",
        };
        let labels = [record.verdict, word(entrance), operation, dry_run];
        self.reviews.with_label_values(&labels).inc();
        if record.unshaped {
            self.unshaped.with_label_values(&[word(entrance)]).inc();
        }
        if record.exempt {
            self.exempt.with_label_values(&[record.verdict, dry_run]).inc();
        }
        self.old_findings.inc_by(record.old_findings as u64);
        for spoken in &record.rules {
            self.findings.count(&spoken.shape, &spoken.rule, spoken.action, record.dry_run);
        }
    }

    /// Takes note of how long one decision took.
    pub fn decided(&self, took: Duration) {
        self.decision_seconds.observe(took.as_secs_f64());
    }
}

/// One digest of all shapes, whatever their order.
fn digest(shapes: &[ShapeInfo]) -> String {
    let mut each: Vec<_> = shapes.iter().map(|shape| (&shape.name, &shape.digest)).collect();
    each.sort();
    let mut hash = Sha256::new();
    for (name, digest) in each {
        hash.update(format!("{name} {digest}\n"));
    }
    hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Metrics;
    use super::*;
    use crate::formats::review::Spoken;
    use std::time::UNIX_EPOCH;

    fn shape(name: &str, digest: &str) -> ShapeInfo {
        ShapeInfo {
            name: name.to_owned(),
            digest: digest.to_owned(),
            namespaces: vec![],
            rules: vec![],
        }
    }

    fn text(metrics: &Metrics) -> String {
        String::from_utf8(metrics.text().unwrap()).unwrap()
    }

    #[test]
    fn a_reload_forgets_the_shapes_before_it() {
        let metrics = Metrics::new().unwrap();
        metrics.reviews.set_shapes(&[shape("old", "3f9a"), shape("both", "3f9a")]);
        metrics.reviews.set_shapes(&[shape("both", "3f9a")]);
        let text = text(&metrics);
        assert!(text.contains("jobshape_shapes 1") && !text.contains("\"old\""), "{text}");
        assert!(text.contains("jobshape_shape_info{digest=\"3f9a\",shape=\"both\"} 1"), "{text}");
        assert_eq!(text.matches("jobshape_shapes_info{").count(), 1, "{text}");
    }

    #[test]
    fn one_digest_stands_for_all_shapes_in_any_order() {
        let (a, b) = (shape("a", "1"), shape("b", "2"));
        let both = digest(&[a.clone(), b.clone()]);
        assert_eq!(both, digest(&[b, a.clone()]));
        for other in [vec![a.clone()], vec![a, shape("b", "3")], vec![]] {
            assert_ne!(digest(&other), both);
        }
    }

    #[test]
    fn dry_runs_are_told_apart() {
        let metrics = Metrics::new().unwrap();
        let rule =
            RuleInfo { name: "image".to_owned(), action: Action::Enforce, audit_until: None };
        metrics.reviews.set_shapes(&[ShapeInfo { rules: vec![rule], ..shape("worker", "3f9a") }]);
        let mut record = Record {
            verdict: "deny",
            shape: Some("worker".to_owned()),
            rules: vec![Spoken {
                shape: "worker".to_owned(),
                rule: "image".to_owned(),
                action: "Enforce",
                path: "spec".to_owned(),
            }],
            dry_run: true,
            ..Record::default()
        };
        let line = |dry_run: bool, count: u8| {
            format!(
                "jobshape_findings_total{{action=\"Enforce\",dry_run=\"{dry_run}\",\
                 rule=\"image\",shape=\"worker\"}} {count}"
            )
        };
        metrics.reviews.answered(Entrance::Enforce, &record);
        let after = text(&metrics);
        assert!(after.contains(&line(true, 1)) && after.contains(&line(false, 0)), "{after}");
        record.dry_run = false;
        metrics.reviews.answered(Entrance::Enforce, &record);
        let after = text(&metrics);
        assert!(after.contains(&line(true, 1)) && after.contains(&line(false, 1)), "{after}");
    }

    #[test]
    fn a_request_without_a_shape_is_counted_where_it_came_in() {
        let metrics = Metrics::new().unwrap();
        let record = Record { verdict: "ungoverned", unshaped: true, ..Record::default() };
        metrics.reviews.answered(Entrance::Audit, &record);
        let outside = Record { unshaped: false, ..record };
        metrics.reviews.answered(Entrance::Audit, &outside);
        let text = text(&metrics);
        assert!(text.contains("jobshape_unshaped_total{entrance=\"audit\"} 1"), "{text}");
        assert!(text.contains("jobshape_unshaped_total{entrance=\"enforce\"} 0"), "{text}");
    }

    #[test]
    fn a_rule_is_overdue_from_the_day_after_its_date() {
        let metrics = Metrics::new().unwrap();
        let rule = |name: &str, audit_until: Option<&str>| RuleInfo {
            name: name.to_owned(),
            action: Action::Audit,
            audit_until: audit_until.map(str::to_owned),
        };
        let rules = vec![
            rule("soon", Some("2027-01-31")),
            rule("later", Some("2027-02-01")),
            rule("never", None),
        ];
        metrics.reviews.set_shapes(&[ShapeInfo { rules, ..shape("worker", "3f9a") }]);
        // The end of 31 January 2027 in UTC.
        let midnight = UNIX_EPOCH + Duration::from_secs(1_801_440_000);
        let overdue = |now: SystemTime| -> Vec<String> {
            let text = String::from_utf8(metrics.text_at(now).unwrap()).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("jobshape_audit_overdue{"));
            lines.map(|line| line.replace("jobshape_audit_overdue", "")).collect()
        };
        let (later, soon) =
            ("{rule=\"later\",shape=\"worker\"}", "{rule=\"soon\",shape=\"worker\"}");
        let before = overdue(midnight - Duration::from_secs(1));
        assert_eq!(before, [format!("{later} 0"), format!("{soon} 0")]);
        assert_eq!(overdue(midnight), [format!("{later} 0"), format!("{soon} 1")]);
        metrics.reviews.set_shapes(&[shape("worker", "3f9a")]);
        assert_eq!(overdue(midnight), [] as [&str; 0]);
    }
}
