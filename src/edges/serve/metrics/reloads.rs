//! What was read anew while serving, and what could not be.

use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::put;

/// What can be read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The serving certificate and its key.
    Certificate,
    /// The authority that client certificates are checked against.
    ClientCa,
    /// The shapes.
    Shapes,
}

impl Source {
    const ALL: [Self; 3] = [Self::Certificate, Self::ClientCa, Self::Shapes];

    /// The word in labels and log lines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::ClientCa => "client_ca",
            Self::Shapes => "shapes",
        }
    }
}

/// The metrics of reloading.
pub struct Reloads {
    /// How often shapes were put in force, the first time included.
    pub generation: IntGauge,
    /// When that was last, seconds since 1970.
    pub loaded_at: IntGauge,
    /// Reloads after which a namespace admits by a template that it did not have, or by a rule with
    /// a weaker action.
    pub widened: IntCounter,
    reloads: IntCounterVec,
    failing: IntGaugeVec,
}

impl Reloads {
    /// Registers them, the known label sets at 0.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            generation: put(
                registry,
                IntGauge::new(
                    "jobshape_shapes_generation",
                    "How often shapes were put in force since the start.",
                )?,
            )?,
            loaded_at: put(
                registry,
                IntGauge::new(
                    "jobshape_shapes_loaded_timestamp_seconds",
                    "When shapes were last put in force, seconds since 1970.",
                )?,
            )?,
            widened: put(
                registry,
                IntCounter::new(
                    "jobshape_shapes_widened_total",
                    "Reloads after which a namespace admits more: a template that it did not have, or a weaker action.",
                )?,
            )?,
            reloads: put(
                registry,
                IntCounterVec::new(
                    Opts::new("jobshape_reloads_total", "Files read anew, by what and result."),
                    &["source", "result"],
                )?,
            )?,
            failing: put(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "jobshape_reload_failing",
                        "1 while the files say something that cannot be used: the last good is kept, if there was one.",
                    ),
                    &["source"],
                )?,
            )?,
        };
        for source in Source::ALL {
            metrics.failing.with_label_values(&[source.word()]).set(0);
            for result in ["ok", "failed"] {
                metrics.reloads.with_label_values(&[source.word(), result]).reset();
            }
        }
        Ok(metrics)
    }

    /// New content of `source` is in use.
    pub fn succeeded(&self, source: Source) {
        self.reloads.with_label_values(&[source.word(), "ok"]).inc();
        self.failing.with_label_values(&[source.word()]).set(0);
    }

    /// New content of `source` cannot be used; once for each new content.
    pub fn failed(&self, source: Source) {
        self.reloads.with_label_values(&[source.word(), "failed"]).inc();
        self.failing.with_label_values(&[source.word()]).set(1);
    }

    /// The files hold again what is in use.
    pub fn recovered(&self, source: Source) {
        self.failing.with_label_values(&[source.word()]).set(0);
    }
}
