//! What the process says about itself, on standard error, written by a thread of its own.
//!
//! Requests and handshakes say something too, and whoever reads standard error may stop doing so:
//! a container runtime whose disk is full does. Then lines are lost, and nothing waits.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

use super::spool::{Bounds, Feed, Next, Spool};

/// What waits to be written.
const QUEUE: Bounds = Bounds { items: 1024, weight: 1 << 20 };

/// How long the end of the process waits for somebody who does not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks of a thread that has nothing to do.
const IDLE: Duration = Duration::from_secs(60);

/// Where log lines go.
#[derive(Clone)]
pub struct Log {
    lines: Arc<Spool<Vec<u8>>>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let lost = Arc::<AtomicU64>::default();
        let of_thread = Arc::clone(&lost);
        let lines = Spool::start("log", QUEUE, move |feed| write(out, &feed, &of_thread))?;
        Ok(Self { lines: Arc::new(lines), lost })
    }

    /// Writes what is left, unless nobody reads it.
    pub fn close(&self) {
        self.lines.close(PATIENCE);
    }
}

fn write(mut out: impl Write, feed: &Feed<Vec<u8>>, lost: &AtomicU64) {
    loop {
        match feed.next(Instant::now() + IDLE) {
            // What cannot be written cannot be complained about either.
            Next::Item(line) => drop(out.write_all(&line)),
            Next::Time => {}
            Next::End => return,
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "lines of this log are lost: nobody read them in time");
        }
    }
}

/// An event is one call.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.lines.offer(line.len(), || line.to_vec()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision_log::tests::Lines;
    use super::*;
    use std::sync::mpsc::{Receiver, sync_channel};

    /// Does not read before it is told to.
    struct Stalled(Receiver<()>, Lines);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_whoever_does_not_read_and_what_is_lost_is_counted() {
        let (read, told) = sync_channel(0);
        let lines = Lines::default();
        let mut log = Log::start(Stalled(told, lines.clone())).unwrap();
        for _ in 0..QUEUE.items + 100 {
            log.write_all(b"a line\n").unwrap();
        }
        let lost = log.lost.load(Ordering::Relaxed);
        // The thread may have one in its hands.
        assert!(lost == 100 || lost == 99, "{lost}");
        drop(read);
        log.close();
        let written = lines.text().matches("a line\n").count();
        assert_eq!(written as u64, QUEUE.items as u64 + 100 - lost);
        assert_eq!(log.lost.load(Ordering::Relaxed), 0, "it was said");
    }
}
