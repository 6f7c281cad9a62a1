//! What is kept of each request beside the counters: a line of the decision log, and, where
//! somebody asked for it, the whole review.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use thiserror::Error;

use super::decision_log::{self, DecisionLog};
use super::metrics::Metrics;
use super::recording::{self, Recording};
use crate::formats::review::{Entrance, Record};

/// How long the end of the process waits for somebody who does not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// The flags.
#[derive(Debug, Clone, Args)]
// Or clap would put the sentence above into the help of the verb.
#[command(about = None, long_about = None)]
pub struct JournalArgs {
    #[command(flatten)]
    log: decision_log::args::LogArgs,
    #[command(flatten)]
    recording: recording::args::RecordingArgs,
}

impl JournalArgs {
    /// What they ask for. With `--dev` standard output is the configuration's.
    ///
    /// # Errors
    /// A key that cannot be used, no standard output, or a directory that others may enter.
    pub fn options(self, dev: bool) -> Result<JournalOptions, JournalError> {
        Ok(JournalOptions { log: self.log.options(dev)?, recording: self.recording.options()? })
    }
}

/// What is kept, and where.
#[derive(Default)]
pub struct JournalOptions {
    /// The decision log.
    pub log: decision_log::LogOptions,
    /// Whole reviews, if they are wanted.
    pub recording: Option<recording::RecordingOptions>,
}

/// Why nothing can be kept.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The key of the user names cannot be read.
    #[error("--hash-users-key {}: {source}", file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The key of the user names can be guessed.
    #[error(
        "--hash-users-key {}: {bytes} bytes are too few for a key: put at least {} random ones there",
        file.display(), decision_log::users::SHORTEST_KEY
    )]
    ShortKey {
        /// The file.
        file: PathBuf,
        /// How long it is.
        bytes: usize,
    },
    /// Whole reviews would lie where others may read them.
    #[error(
        "--record {0}: its mode {mode:o} lets in others than its owner, and whole reviews are sensitive: run `chmod 700 {0}`, or name a directory in it that is not there yet, which is made with mode 700",
        directory.display()
    )]
    NotPrivate {
        /// The directory.
        directory: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// No randomness for a key.
    #[error("--hash-users: the system gives no random key")]
    NoRandomKey,
    /// Standard output or error cannot be used.
    #[error("the decision log cannot be written: {0}")]
    Output(io::Error),
    /// No thread that writes.
    #[error("no thread for the decision log or the recording: {0}")]
    Thread(io::Error),
}

/// The decision log and the recording of one server.
pub struct Journal {
    log: DecisionLog,
    recording: Option<Recording>,
    metrics: Arc<Metrics>,
}

impl Journal {
    /// Starts what writes.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(options: JournalOptions, metrics: &Arc<Metrics>) -> Result<Self, JournalError> {
        let log = DecisionLog::start(options.log, metrics).map_err(JournalError::Thread)?;
        let recording = options.recording.map(|options| Recording::start(options, metrics));
        let recording = recording.transpose().map_err(JournalError::Thread)?;
        Ok(Self { log, recording, metrics: Arc::clone(metrics) })
    }

    /// Takes note of a request before it is judged.
    pub fn received(&self, entrance: Entrance, body: &[u8]) {
        if let Some(recording) = &self.recording {
            recording.received(entrance, body);
        }
    }

    /// Takes note of an answer: counted, and logged if somebody may have to explain it.
    pub fn answered(&self, entrance: Entrance, record: &Record) {
        self.metrics.reviews.answered(entrance, record);
        self.log.answered(entrance, record);
    }

    /// Writes what is still to be written, and takes nothing more. It blocks, for no longer than
    /// a reader who does not read is worth.
    pub fn close(&self) {
        if !self.log.close(PATIENCE) {
            tracing::warn!("the end of the decision log is lost: nobody reads it");
        }
        if let Some(recording) = &self.recording
            && !recording.close(PATIENCE)
        {
            tracing::warn!("the end of the recording is lost: the disk does not take it");
        }
    }
}
