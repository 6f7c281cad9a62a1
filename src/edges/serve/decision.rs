//! One decision, so that nothing it does can take the server with it: a panic becomes an error
//! answer, and a large body is judged aside from the threads that serve everybody else.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::body::Received;
use super::metrics::Metrics;
use super::metrics::traffic::Shed;
use super::served::Served;
use super::uid;
use crate::core::judge::Shapes;
use crate::formats::review::{Answer, Entrance, undecided};

/// A decision: `formats::review::answer`, except in tests that need one to misbehave.
pub type Decide = fn(&Shapes, Entrance, &[u8]) -> Answer;

/// A body up to this size is judged in well under a millisecond, for which going to another
/// thread and back is not worth it.
const AT_ONCE: usize = 64 * 1024;

/// What a decision needs beside the request.
#[derive(Clone)]
pub struct Judge {
    /// How to decide.
    pub decide: Decide,
    /// By what.
    pub served: Arc<Served>,
    /// Where time and panics are counted.
    pub metrics: Arc<Metrics>,
    /// How many large bodies are judged at a time.
    pub aside: Arc<Semaphore>,
}

/// As many large bodies at a time as there are cores: more would only be later, all of them.
pub fn aside() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(available_parallelism().map_or(2, usize::from)))
}

impl Judge {
    /// Judges one body. There is an answer before `deadline`, whatever the body is.
    pub async fn judge(
        &self,
        entrance: Entrance,
        body: Received,
        deadline: Instant,
    ) -> Result<Answer, Shed> {
        if body.bytes.len() <= AT_ONCE {
            return Ok(self.judge_here(entrance, &body.bytes));
        }
        // Whoever is sent away after half of the caller's time can come again in the other half.
        let waiting = Instant::now() + deadline.duration_since(Instant::now()) / 2;
        let turn = timeout_at(waiting, Arc::clone(&self.aside).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Shed::Decisions) };
        let uid = uid::scan(&body.bytes).map(str::to_owned);
        let judge = self.clone();
        // The body goes along, and with it its share of the budget and its turn: a decision that
        // nobody waits for any more still holds its memory and its core.
        let there = spawn_blocking(move || {
            let _turn = turn;
            judge.judge_here(entrance, &body.bytes)
        });
        let (code, message) = match timeout_at(deadline, there).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(_)) => (500, "the server is shutting down"),
            Err(_) => {
                self.metrics.traffic.late.inc();
                (504, "the request was not judged in time")
            }
        };
        Ok(undecided(entrance, uid.as_deref(), code, message))
    }

    fn judge_here(&self, entrance: Entrance, body: &[u8]) -> Answer {
        let start = Instant::now();
        // Nothing that the closure touches outlives it changed: shapes are read, an answer is made.
        let shapes = self.served.get();
        let decided = quietly(|| (self.decide)(&shapes, entrance, body));
        self.metrics.reviews.decided(start.elapsed());
        let Some(answer) = decided else {
            self.metrics.traffic.panics.inc();
            let message = "judging this request ended in an internal error of jobshape";
            return undecided(entrance, uid::scan(body), 500, message);
        };
        // What is broken further on may still have a readable uid at its front, and an answer that
        // names it arrives, with its reason.
        match (answer.http, &answer.record.reason, uid::scan(body)) {
            (200, ..) | (_, None, _) | (_, _, None) => answer,
            (code, Some(reason), Some(uid)) => undecided(entrance, Some(uid), code, reason),
        }
    }
}

thread_local! {
    static JUDGING: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `work`; nothing if it panics. The panic's message may quote the submitted object ("byte
/// index 3 is not a char boundary; it is inside…"), so only its place in the source is logged.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if JUDGING.try_with(Cell::get).unwrap_or(false) {
                let place = info.location().map(ToString::to_string);
                tracing::error!(place, "a decision panicked");
            } else {
                before(info);
            }
        }));
    });
    JUDGING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    JUDGING.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::super::decision_log::tests::log_of;
    use super::*;

    #[test]
    fn a_panic_is_caught_and_its_message_is_not_logged() {
        assert_eq!(quietly(|| 7), Some(7));
        let log = log_of(|| assert_eq!(quietly(|| -> u8 { panic!("a secret") }), None));
        assert!(log.contains("a decision panicked") && log.contains("decision.rs:"), "{log}");
        assert!(!log.contains("secret"), "{log}");
        // The next panic on this thread is somebody else's.
        assert!(!JUDGING.get());
    }
}
