//! What was read anew while serving, and what could not be.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prometheus::{GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

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
    running: GaugeVec,
    begun: Mutex<[Option<Instant>; Source::ALL.len()]>,
}

/// Files are being looked at for as long as this lives.
pub struct Running<'r> {
    reloads: &'r Reloads,
    source: Source,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.reloads.begun()[self.source as usize] = None;
    }
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
            running: put(
                registry,
                GaugeVec::new(
                    Opts::new(
                        "jobshape_reload_running_seconds",
                        "For how long files have been looked at that are being looked at now.",
                    ),
                    &["source"],
                )?,
            )?,
            begun: Mutex::default(),
        };
        for source in Source::ALL {
            metrics.failing.with_label_values(&[source.word()]).set(0);
            for result in ["ok", "failed"] {
                metrics.reloads.with_label_values(&[source.word(), result]).reset();
            }
        }
        Ok(metrics)
    }

    /// The files of `source` are being looked at from now on.
    pub fn running(&self, source: Source) -> Running<'_> {
        self.begun()[source as usize] = Some(Instant::now());
        Running { reloads: self, source }
    }

    /// Says for how long, as it is now.
    pub(super) fn look(&self) {
        for (source, begun) in Source::ALL.into_iter().zip(*self.begun()) {
            let seconds = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
            self.running.with_label_values(&[source.word()]).set(seconds);
        }
    }

    fn begun(&self) -> MutexGuard<'_, [Option<Instant>; Source::ALL.len()]> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
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
