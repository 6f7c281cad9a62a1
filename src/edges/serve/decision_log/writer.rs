//! The thread that writes the decision log, the only one that ever waits for its reader.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::folds::{Folded, Folds};
use super::line::{Decision, Entry, Line, Which};
use super::tally::{Summary, Tally};
use crate::edges::serve::metrics::Metrics;
use crate::edges::serve::metrics::journal::LineLost;
use crate::edges::serve::spool::{Feed, Next};

/// Writes lines until nothing comes any more.
pub struct Writer {
    out: Box<dyn Write + Send>,
    /// The last line broke off inside.
    torn: bool,
    folds: Folds,
    tally: Arc<Tally>,
    metrics: Arc<Metrics>,
    summary: Duration,
}

impl Writer {
    /// Folds for `flush`, sums up each `summary`.
    pub fn new(
        out: Box<dyn Write + Send>,
        (flush, summary): (Duration, Duration),
        tally: Arc<Tally>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { out, torn: false, folds: Folds::new(flush), tally, metrics, summary }
    }

    /// The whole life of the thread.
    pub fn run(mut self, feed: &Feed<Entry>) {
        let mut sum_up = Instant::now() + self.summary;
        loop {
            let next = self.folds.next_end().map_or(sum_up, |end| end.min(sum_up));
            match feed.next(next) {
                Next::Item(entry) => {
                    if let Some(Entry { which, decision }) = self.folds.take(entry, Instant::now())
                    {
                        self.decision(&which, &decision, None);
                    }
                }
                Next::Time => {}
                Next::End => break,
            }
            let now = Instant::now();
            while let Some(folded) = self.folds.ended(now) {
                self.folded(&folded);
            }
            if now >= sum_up {
                self.sum_up();
                sum_up = now + self.summary;
            }
        }
        for folded in std::mem::replace(&mut self.folds, Folds::new(Duration::ZERO)).rest() {
            self.folded(&folded);
        }
        self.sum_up();
    }

    fn folded(&mut self, folded: &Folded) {
        self.decision(&folded.last, &folded.decision, Some(folded.repeated));
    }

    fn decision(&mut self, which: &Which, decision: &Decision, repeated: Option<u64>) {
        if self.write(&Line::new(which, decision, repeated)).is_err() {
            let lost = repeated.unwrap_or(1);
            self.metrics.journal.lines_lost(LineLost::Write, lost);
            self.tally.dropped(decision.shape.as_deref(), decision.digest.as_deref(), lost);
        }
    }

    fn sum_up(&mut self) {
        let counted = self.tally.take();
        for (shape, digest, counts) in counted.each() {
            let since = counted.since();
            if self.write(&Summary::new(since, shape, digest, counts)).is_err() {
                self.tally.put_back(since, shape, digest, counts);
            }
        }
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(512);
        // The rest of a line that broke off must not swallow this one.
        if self.torn {
            bytes.push(b'\n');
        }
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.out.write(rest) {
                Ok(0) => return Err(self.broke_off(&bytes, rest, io::ErrorKind::WriteZero.into())),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broke_off(&bytes, rest, error)),
            }
        }
        self.torn = false;
        Ok(())
    }

    fn broke_off(&mut self, all: &[u8], rest: &[u8], error: io::Error) -> io::Error {
        if rest.len() < all.len() {
            // A line break that did go out ends what broke off before.
            self.torn = !(self.torn && all.len() - rest.len() == 1);
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Lines, denied};
    use super::super::users::Users;
    use super::*;
    use crate::edges::serve::spool::{Bounds, Spool};
    use crate::formats::review::Entrance;
    use serde_json::Value;

    /// Takes at each try what the script says, an error being 0, and everything after its end.
    struct Fitful {
        lines: Lines,
        script: std::vec::IntoIter<usize>,
    }

    impl Fitful {
        fn new(lines: &Lines, script: Vec<usize>) -> Self {
            Self { lines: lines.clone(), script: script.into_iter() }
        }
    }

    impl Write for Fitful {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.script.next().unwrap_or(usize::MAX) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                most => self.lines.write(&bytes[..bytes.len().min(most)]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(out: impl Write + Send + 'static) -> Writer {
        let (tally, metrics) = (Arc::new(Tally::new()), Arc::new(Metrics::new().unwrap()));
        let times = (Duration::from_secs(3600), Duration::from_secs(3600));
        Writer::new(Box::new(out), times, tally, metrics)
    }

    fn entry() -> Entry {
        Entry::new(Entrance::Enforce, &denied(), &Users::Plain)
    }

    #[test]
    fn the_last_summary_comes_at_the_end() {
        let lines = Lines::default();
        let writer = writer(lines.clone());
        let tally = Arc::clone(&writer.tally);
        let bounds = Bounds { items: 9, weight: 9 };
        let spool = Spool::start("test", bounds, |feed| writer.run(&feed)).unwrap();
        for _ in 0..3 {
            tally.count(&denied());
            assert!(spool.offer(1, entry));
        }
        assert!(spool.close(Duration::from_secs(10)));
        let said: Vec<Value> =
            lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let words: Vec<_> = said.iter().map(|line| line["log"].as_str().unwrap()).collect();
        assert_eq!(words, ["decision", "decision", "summary"]);
        assert_eq!(said[0].get("repeated"), None);
        assert_eq!((&said[1]["repeated"], &said[2]["deny"]), (&2.into(), &3.into()));
    }

    #[test]
    fn a_line_that_broke_off_swallows_no_other_and_is_counted() {
        let lines = Lines::default();
        // Ten bytes go out, then the disk is full; then a line break and no more; then all.
        let mut writer = writer(Fitful::new(&lines, vec![10, 0, 1, 0]));
        let Entry { which, decision } = entry();
        writer.decision(&which, &decision, None);
        writer.decision(&which, &decision, Some(5));
        writer.tally.count(&denied());
        writer.decision(&which, &decision, Some(7));
        writer.sum_up();
        let text = lines.text();
        let said: Vec<_> = text.lines().collect();
        assert_eq!(said[0], "{\"log\":\"de");
        let parsed: Vec<Value> =
            said[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(parsed.len(), 2, "{text}");
        assert_eq!((&parsed[0]["repeated"], &parsed[1]["dropped"]), (&7.into(), &6.into()));
        let metrics = String::from_utf8(writer.metrics.text().unwrap()).unwrap();
        let series = "jobshape_decision_log_dropped_total{reason=\"write\"} 6";
        assert!(metrics.contains(series), "{metrics}");
    }

    #[test]
    fn a_summary_that_did_not_go_out_is_in_the_next() {
        let lines = Lines::default();
        let mut writer = writer(Fitful::new(&lines, vec![0]));
        writer.tally.count(&denied());
        writer.sum_up();
        writer.tally.count(&denied());
        writer.sum_up();
        let said: Value = serde_json::from_str(&lines.text()).unwrap();
        assert_eq!(said["deny"], 2);
    }
}
