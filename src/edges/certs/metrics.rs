//! Every metric of the rotator.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use super::state::Step;
use crate::edges::serve::metrics::{encode, put};

/// The registry and the handles into it.
pub struct Metrics {
    registry: Registry,
    /// 1 while this process is the one that writes.
    pub writes: IntGauge,
    /// When everything could be looked at and done last, seconds since 1970.
    pub succeeded_at: IntGauge,
    /// What could not be done.
    pub failures: IntCounter,
    /// The end of the authority that signs, seconds since 1970.
    pub authority_not_after: IntGauge,
    /// The end of the certificate, seconds since 1970.
    pub certificate_not_after: IntGauge,
    /// How many authorities are trusted.
    pub authorities: IntGauge,
    /// For how long replicas show another certificate, of an authority that is to be forgotten.
    pub waiting: IntGauge,
    /// So much is the API server's clock ahead.
    pub ahead: IntGauge,
    steps: IntCounterVec,
}

impl Metrics {
    /// A registry with every metric in it, the known label sets at 0.
    ///
    /// # Errors
    /// A name that is there twice.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let gauge = |name: &str, help: &str| put(&registry, IntGauge::new(name, help)?);
        let steps = Opts::new("jobshape_rotation_steps_total", "What was written, by step.");
        let metrics = Self {
            writes: gauge(
                "jobshape_rotation_active",
                "1 while this process is the one that writes.",
            )?,
            succeeded_at: gauge(
                "jobshape_rotation_last_success_timestamp_seconds",
                "When everything could be looked at and done last, seconds since 1970.",
            )?,
            failures: put(
                &registry,
                IntCounter::new("jobshape_rotation_failures_total", "What could not be done.")?,
            )?,
            authority_not_after: gauge(
                "jobshape_rotation_authority_not_after_seconds",
                "End of the authority that signs, seconds since 1970.",
            )?,
            certificate_not_after: gauge(
                "jobshape_rotation_certificate_not_after_seconds",
                "End of the certificate in the Secret, seconds since 1970.",
            )?,
            authorities: gauge(
                "jobshape_rotation_authorities",
                "Authorities that the webhook configuration is told to trust.",
            )?,
            waiting: gauge(
                "jobshape_rotation_waiting_seconds",
                "For how long replicas have not shown the certificate in the Secret, which keeps an old authority trusted.",
            )?,
            ahead: gauge(
                "jobshape_rotation_clock_skew_seconds",
                "By how much the API server's clock is ahead of this process's.",
            )?,
            steps: put(&registry, IntCounterVec::new(steps, &["step"])?)?,
            registry: registry.clone(),
        };
        for step in Step::WRITES {
            metrics.steps.with_label_values(&[step.word()]).reset();
        }
        Ok(metrics)
    }

    /// This was written.
    pub fn took(&self, step: Step) {
        self.steps.with_label_values(&[step.word()]).inc();
    }

    /// All of it in the Prometheus text format.
    ///
    /// # Errors
    /// Whatever the encoder says.
    pub fn text(&self) -> Result<Vec<u8>, prometheus::Error> {
        encode(&self.registry)
    }
}
