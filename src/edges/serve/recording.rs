//! `--record`: whole reviews, kept for a later replay.
//!
//! They hold whatever the Jobs hold, so it is off unless somebody asks, and the files are their
//! owner's alone. A decision only copies and queues; what finds no room is lost and counted, and so
//! is what the disk does not take: serving goes on.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::metrics::Metrics;
use super::metrics::journal::ReviewLost;
use super::spool::{Bounds, Feed, Next, Spool};
use crate::formats::review::Entrance;

pub mod args;
mod line;
mod segments;

pub use args::RecordingOptions;
use line::Item;
use segments::Segments;

/// What waits for the disk.
const QUEUE: Bounds = Bounds { items: 4096, weight: 16 << 20 };

/// How often what is too old is looked for.
const TEND: Duration = Duration::from_secs(60);

/// How long a disk that failed is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// The recording of one server.
pub struct Recording {
    reviews: Spool<Item>,
    metrics: Arc<Metrics>,
}

impl Recording {
    /// Starts the writing thread. A directory that cannot be used is no reason not to serve.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(options: RecordingOptions, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let directory = options.directory.display().to_string();
        tracing::warn!(directory, "whole reviews are recorded: they hold what is in the Jobs");
        let segments = Segments::new(options);
        let state = State { failing: None, lost: 0, directory, metrics: Arc::clone(metrics) };
        let writer = Writer { segments, state };
        let reviews = Spool::start("recording", QUEUE, |feed| writer.run(&feed))?;
        Ok(Self { reviews, metrics: Arc::clone(metrics) })
    }

    /// Takes note of a request.
    pub fn received(&self, entrance: Entrance, body: &[u8]) {
        let make = || Item { time: SystemTime::now(), entrance, body: body.to_vec() };
        if !self.reviews.offer(body.len(), make) {
            self.metrics.journal.review_lost(ReviewLost::Queue);
        }
    }

    /// Writes what is left, unless that takes longer than `patience`. Whether it did not.
    pub fn close(&self, patience: Duration) -> bool {
        self.reviews.close(patience)
    }
}

struct Writer {
    segments: Segments,
    state: State,
}

impl Writer {
    fn run(mut self, feed: &Feed<Item>) {
        let mut tend = Instant::now();
        loop {
            match feed.next(tend) {
                Next::Item(item) => self.record(&item),
                Next::Time => {}
                Next::End => break,
            }
            if Instant::now() >= tend {
                let tended = self.segments.tend(SystemTime::now());
                self.state.after(tended.as_ref().err());
                tend = Instant::now() + TEND;
            }
        }
    }

    fn record(&mut self, item: &Item) {
        let Some(line) = line::review(item) else {
            self.state.metrics.journal.review_lost(ReviewLost::Unreadable);
            return;
        };
        if self.state.is_left_alone(Instant::now()) {
            self.state.lost();
            return;
        }
        match self.segments.append(&line, SystemTime::now()) {
            Ok(()) => {
                self.state.after(None);
                self.state.metrics.journal.recorded.inc();
            }
            Err(error) => {
                self.state.after(Some(&error));
                self.state.lost();
            }
        }
    }
}

/// Whether the disk takes what it gets: said in the log when it changes, and in a metric.
struct State {
    failing: Option<Instant>,
    lost: u64,
    directory: String,
    metrics: Arc<Metrics>,
}

impl State {
    fn is_left_alone(&self, now: Instant) -> bool {
        self.failing.is_some_and(|last| now < last + RETRY)
    }

    fn lost(&mut self) {
        self.lost += 1;
        self.metrics.journal.review_lost(ReviewLost::Disk);
    }

    fn after(&mut self, error: Option<&io::Error>) {
        let directory = &self.directory;
        match (error, self.failing) {
            (None, None) => {}
            (None, Some(_)) => {
                tracing::info!(directory, lost = self.lost, "recording again");
                self.lost = 0;
                self.failing = None;
            }
            (Some(error), before) => {
                if before.is_none() {
                    tracing::error!(directory, %error, "reviews cannot be recorded; serving goes on");
                }
                self.failing = Some(Instant::now());
            }
        }
        self.metrics.journal.record_failing.set(i64::from(self.failing.is_some()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision_log::tests::log_of;
    use super::*;
    use std::fs;
    use std::path::Path;

    fn writer(directory: &Path, metrics: &Arc<Metrics>) -> Writer {
        let directory = directory.to_owned();
        let options =
            RecordingOptions { directory, bytes: 1 << 20, age: Duration::from_secs(3600) };
        let directory = options.directory.display().to_string();
        let state = State { failing: None, lost: 0, directory, metrics: Arc::clone(metrics) };
        Writer { segments: Segments::new(options), state }
    }

    fn item(body: &str) -> Item {
        let (time, entrance) = (SystemTime::now(), Entrance::Enforce);
        Item { time, entrance, body: body.as_bytes().to_vec() }
    }

    fn scraped(metrics: &Metrics, series: &str) -> String {
        let text = String::from_utf8(metrics.text().unwrap()).unwrap();
        let line = text.lines().find(|line| line.starts_with(series));
        line.unwrap_or_else(|| panic!("no {series} in {text}"))
            .rsplit(' ')
            .next()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_disk_that_fails_is_said_once_and_recording_goes_on_when_it_works() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("here");
        fs::write(&directory, "no directory").unwrap();
        let metrics = Arc::new(Metrics::new().unwrap());
        let mut writer = writer(&directory, &metrics);
        let dropped = "jobshape_record_dropped_total{reason=\"disk\"}";
        let log = log_of(|| {
            for _ in 0..3 {
                writer.record(&item("{}"));
            }
            assert_eq!(scraped(&metrics, dropped), "3");
            assert_eq!(scraped(&metrics, "jobshape_record_failing"), "1");
            fs::remove_file(&directory).unwrap();
            writer.record(&item("{}"));
            assert_eq!(scraped(&metrics, dropped), "4", "it is left alone for a while");
            writer.state.failing = Instant::now().checked_sub(RETRY);
            for _ in 0..2 {
                writer.record(&item("{}"));
            }
        });
        assert_eq!(scraped(&metrics, "jobshape_record_failing"), "0");
        assert_eq!(scraped(&metrics, "jobshape_recorded_total"), "2");
        assert_eq!(scraped(&metrics, dropped), "4");
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(log.contains("cannot be recorded") && log.contains("\"lost\":4"), "{log}");
    }

    #[test]
    fn what_is_no_review_is_counted_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let metrics = Arc::new(Metrics::new().unwrap());
        let mut writer = writer(folder.path(), &metrics);
        writer.record(&item("{\"a\":"));
        assert_eq!(scraped(&metrics, "jobshape_record_dropped_total{reason=\"unreadable\"}"), "1");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
