//! The decision log: one line of JSON for each decision that somebody may have to explain, equal
//! ones folded, and each minute the counts of all of them.
//!
//! A decision only counts and queues. What finds no room in the queue is lost and counted: a
//! reader of the log who is slow must never be the reason why a Job is.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use super::metrics::Metrics;
use super::metrics::journal::LineLost;
use super::spool::{Bounds, Spool};
use crate::formats::review::{Entrance, Record};

pub mod args;
mod folds;
mod line;
mod tally;
pub mod users;
mod writer;

use line::{Entry, is_worth_a_line};
use tally::Tally;
use users::Users;
use writer::Writer;

/// Lines that wait for the writing thread. A line has about 500 bytes, and at most some ten
/// thousand.
const QUEUE: usize = 1024;

/// Where the log goes, and how often.
pub struct LogOptions {
    /// Where.
    pub out: Box<dyn Write + Send>,
    /// For how long equal decisions are folded.
    pub flush: Duration,
    /// How often all of them are summed up.
    pub summary: Duration,
    /// What becomes of user names.
    pub users: Users,
}

impl Default for LogOptions {
    /// Nowhere.
    fn default() -> Self {
        Self {
            out: Box::new(io::sink()),
            flush: Duration::from_secs(10),
            summary: Duration::from_secs(60),
            users: Users::Plain,
        }
    }
}

/// The log of one server.
pub struct DecisionLog {
    lines: Spool<Entry>,
    tally: Arc<Tally>,
    users: Users,
    metrics: Arc<Metrics>,
}

impl DecisionLog {
    /// Starts the writing thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(options: LogOptions, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let tally = Arc::new(Tally::new());
        let times = (options.flush, options.summary);
        let writer = Writer::new(options.out, times, Arc::clone(&tally), Arc::clone(metrics));
        let bounds = Bounds { items: QUEUE, weight: QUEUE };
        let lines = Spool::start("decision-log", bounds, |feed| writer.run(&feed))?;
        Ok(Self { lines, tally, users: options.users, metrics: Arc::clone(metrics) })
    }

    /// Takes note of an answer.
    pub fn answered(&self, entrance: Entrance, record: &Record) {
        self.tally.count(record);
        if is_worth_a_line(record)
            && !self.lines.offer(1, || Entry::new(entrance, record, &self.users))
        {
            self.metrics.journal.lines_lost(LineLost::Queue, 1);
            self.tally.dropped(record.shape.as_deref(), record.digest.as_deref(), 1);
        }
    }

    /// Writes what is left and a last summary, unless that takes longer than `patience`. Whether
    /// it was written.
    pub fn close(&self, patience: Duration) -> bool {
        self.lines.close(patience)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::formats::review::{Spoken, undecided};
    use std::sync::Mutex;
    use tracing::subscriber::DefaultGuard;
    use tracing_subscriber::fmt::MakeWriter;

    /// Where log lines of a test go.
    #[derive(Clone, Default)]
    pub struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        /// All of them.
        pub fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    /// What `work` logs through tracing, as lines of JSON.
    pub fn log_of(work: impl FnOnce()) -> String {
        let (lines, _kept) = log_kept();
        work();
        lines.text()
    }

    /// The same of all that this thread does from now on, until the second one is dropped.
    pub fn log_kept() -> (Lines, DefaultGuard) {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt().json().with_writer(lines.clone()).finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    /// A refusal with names that somebody has to cut and escape.
    pub fn denied() -> Record {
        let mut record = undecided(Entrance::Enforce, Some("u-1"), 403, "no").record;
        record.verdict = "deny";
        record.name = format!("{}\u{202e}\n", "x".repeat(70));
        record.user = format!("system:serviceaccount:{}", "n".repeat(80));
        record.findings = 1;
        record.rules = vec![Spoken {
            shape: "worker".to_owned(),
            rule: "image".to_owned(),
            action: "Enforce",
            path: "spec.a[\u{1b}]".to_owned(),
        }];
        record.shape = Some("worker".to_owned());
        record.digest = Some("3f9a1c2e".to_owned());
        record
    }
}
