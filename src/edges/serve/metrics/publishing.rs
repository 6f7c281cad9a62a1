//! Whether the cluster can read what this replica serves.

use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

use super::put;

/// The metrics of `--publish`.
pub struct Publishing {
    /// When that was last, seconds since 1970.
    pub written_at: IntGauge,
    /// 1 while it cannot be written.
    pub failing: IntGauge,
    writes: IntCounterVec,
}

impl Publishing {
    /// Registers them, the known label sets at 0.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            written_at: put(
                registry,
                IntGauge::new(
                    "jobshape_publish_timestamp_seconds",
                    "When this replica last wrote its Lease, seconds since 1970.",
                )?,
            )?,
            failing: put(
                registry,
                IntGauge::new(
                    "jobshape_publish_failing",
                    "1 while this replica cannot write its Lease.",
                )?,
            )?,
            writes: put(
                registry,
                IntCounterVec::new(
                    Opts::new("jobshape_publish_total", "Attempts to write the Lease, by result."),
                    &["result"],
                )?,
            )?,
        };
        for result in ["ok", "failed"] {
            metrics.writes.with_label_values(&[result]).reset();
        }
        Ok(metrics)
    }

    /// It was written, at this time.
    pub fn succeeded(&self, now: i64) {
        self.writes.with_label_values(&["ok"]).inc();
        self.failing.set(0);
        self.written_at.set(now);
    }

    /// It was not.
    pub fn failed(&self) {
        self.writes.with_label_values(&["failed"]).inc();
        self.failing.set(1);
    }
}
