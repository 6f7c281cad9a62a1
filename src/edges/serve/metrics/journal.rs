//! What the decision log and the recording could not keep.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use super::put;

/// Why a decision has no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineLost {
    /// Too many were waiting: whoever reads the log is too slow.
    Queue,
    /// It could not be written.
    Write,
}

impl LineLost {
    const ALL: [Self; 2] = [Self::Queue, Self::Write];

    fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Write => "write",
        }
    }
}

/// Why a review is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewLost {
    /// Too much was waiting for the disk.
    Queue,
    /// The disk did not take it.
    Disk,
    /// It is no JSON object.
    Unreadable,
}

impl ReviewLost {
    const ALL: [Self; 3] = [Self::Queue, Self::Disk, Self::Unreadable];

    fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Disk => "disk",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The metrics of what is kept.
pub struct Kept {
    /// Reviews in a segment of the recording.
    pub recorded: IntCounter,
    /// 1 while the disk does not take them.
    pub record_failing: IntGauge,
    lines_lost: IntCounterVec,
    reviews_lost: IntCounterVec,
}

impl Kept {
    /// Registers them, the known label sets at 0.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let kept = Self {
            recorded: put(
                registry,
                IntCounter::new("jobshape_recorded_total", "Reviews written by --record.")?,
            )?,
            record_failing: put(
                registry,
                IntGauge::new(
                    "jobshape_record_failing",
                    "1 while reviews cannot be written by --record.",
                )?,
            )?,
            lines_lost: put(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "jobshape_decision_log_dropped_total",
                        "Decisions whose line in the decision log is lost, by reason.",
                    ),
                    &["reason"],
                )?,
            )?,
            reviews_lost: put(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "jobshape_record_dropped_total",
                        "Reviews that --record could not keep, by reason.",
                    ),
                    &["reason"],
                )?,
            )?,
        };
        for reason in LineLost::ALL {
            kept.lines_lost.with_label_values(&[reason.word()]).reset();
        }
        for reason in ReviewLost::ALL {
            kept.reviews_lost.with_label_values(&[reason.word()]).reset();
        }
        Ok(kept)
    }

    /// Counts decisions without a line.
    pub fn lines_lost(&self, reason: LineLost, decisions: u64) {
        self.lines_lost.with_label_values(&[reason.word()]).inc_by(decisions);
    }

    /// Counts a review that is not recorded.
    pub fn review_lost(&self, reason: ReviewLost) {
        self.reviews_lost.with_label_values(&[reason.word()]).inc();
    }
}
