//! Looking again and again, whatever happens while looking.
//!
//! A look can last for ever (a file system that does not answer, files that are written without a
//! pause) and it can end in an internal error. Neither may go unseen: what is in use would grow
//! old, and a certificate would expire. Neither makes the server not ready, though, as long as what
//! is in use is good: all replicas read the same files at the same time, so all of them would be
//! gone at once, and a restart would not even find what was good.

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::edges::serve::metrics::Metrics;
use crate::edges::serve::metrics::reloads::Source;

/// A look that lasts longer is said in the log.
pub const SLOW: Duration = Duration::from_secs(30);

/// After an internal error: the same files will most often end in the same one.
const PAUSE: Duration = Duration::from_secs(60);

/// Somebody who knows where to look, and what to do with what is found.
pub trait Follower: Send {
    /// What it looks for.
    fn source(&self) -> Source;
    /// Looks once.
    fn look(&mut self) -> impl Future<Output = ()> + Send;
    /// Waits until it is time to look again.
    fn rest(&mut self) -> impl Future<Output = ()> + Send;
}

/// Looks for ever.
pub async fn follow(follower: impl Follower, metrics: Arc<Metrics>) -> Infallible {
    follow_at(follower, &metrics, SLOW, PAUSE).await
}

async fn follow_at(
    mut follower: impl Follower,
    metrics: &Metrics,
    slow: Duration,
    pause: Duration,
) -> Infallible {
    loop {
        let source = follower.source();
        let looked = caught(async {
            let _running = metrics.reloads.running(source);
            patiently(source, slow, follower.look()).await;
        });
        if looked.await.is_err() {
            metrics.reloads.failed(source);
            tracing::error!(
                source = source.word(),
                "not reloaded: looking at the files ended in an internal error; what is in use stays, and it is tried again"
            );
            sleep(pause).await;
        }
        follower.rest().await;
    }
}

/// Waits for a look, for ever if it must be, and says once that it lasts.
pub async fn patiently<T>(source: Source, slow: Duration, look: impl Future<Output = T>) -> T {
    let begin = Instant::now();
    let mut look = pin!(look);
    if let Ok(done) = timeout(slow, look.as_mut()).await {
        return done;
    }
    let word = source.word();
    let seconds = begin.elapsed().as_secs();
    tracing::error!(
        source = word,
        seconds,
        "looking at the files does not end: their file system does not answer, or they are written without a pause; what is in use stays"
    );
    let done = look.await;
    let seconds = begin.elapsed().as_secs();
    tracing::info!(source = word, seconds, "looking at the files has ended after all");
    done
}

struct Panicked;

/// What has changed half-way when `work` panics is replaced whole the next time: what is in use
/// stands behind locks, and each is put there in one step.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::serve::decision_log::tests::log_kept;
    use tokio::sync::Notify;

    const MOMENT: Duration = Duration::from_millis(10);

    /// Does what it is told when it looks.
    struct Told<F>(F);

    impl<F: AsyncLook> Follower for Told<F> {
        fn source(&self) -> Source {
            Source::Shapes
        }
        async fn look(&mut self) {
            self.0.look().await;
        }
        async fn rest(&mut self) {
            sleep(Duration::from_millis(1)).await;
        }
    }

    trait AsyncLook: Send {
        fn look(&mut self) -> impl Future<Output = ()> + Send;
    }

    struct Hangs(Arc<Notify>);

    impl AsyncLook for Hangs {
        async fn look(&mut self) {
            self.0.notified().await;
        }
    }

    struct Panics(u32);

    impl AsyncLook for Panics {
        async fn look(&mut self) {
            self.0 += 1;
            assert!(self.0 > 2, "as it should");
            std::future::pending::<()>().await;
        }
    }

    fn scraped(metrics: &Metrics, series: &str) -> f64 {
        let text = String::from_utf8(metrics.text().unwrap()).unwrap();
        let mut values = text.lines().filter_map(|line| line.strip_prefix(series));
        values.next().unwrap_or_else(|| panic!("no {series} in {text}")).trim().parse().unwrap()
    }

    const RUNNING: &str = "jobshape_reload_running_seconds{source=\"shapes\"}";

    /// Follows until it is so.
    async fn until(follower: impl Follower, metrics: &Metrics, so: impl Fn() -> bool) {
        let waiting = async {
            while !so() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let both = async {
            tokio::select! {
                _ = follow_at(follower, metrics, MOMENT, MOMENT) => {}
                () = waiting => {}
            }
        };
        timeout(Duration::from_secs(20), both).await.expect("it is never so");
    }

    #[tokio::test]
    async fn a_look_that_hangs_is_said_once_and_shown_and_its_end_too() {
        let (lines, _kept) = log_kept();
        let metrics = Metrics::new().unwrap();
        let go = Arc::<Notify>::default();
        let ends = || lines.text().contains("has ended after all");
        let so = || {
            if scraped(&metrics, RUNNING) > 0.05 && !ends() {
                assert_eq!(lines.text().matches("does not end").count(), 1, "{}", lines.text());
                go.notify_one();
            }
            ends()
        };
        until(Told(Hangs(Arc::clone(&go))), &metrics, so).await;
        // It was dropped while it looked again.
        assert_eq!(scraped(&metrics, RUNNING), 0.0);
    }

    #[tokio::test]
    async fn an_internal_error_is_said_and_counted_and_it_looks_again() {
        let (lines, _kept) = log_kept();
        let metrics = Metrics::new().unwrap();
        let failed = "jobshape_reloads_total{result=\"failed\",source=\"shapes\"}";
        // The third look hangs.
        let third = || lines.text().contains("does not end");
        until(Told(Panics(0)), &metrics, third).await;
        assert_eq!(scraped(&metrics, failed), 2.0);
        assert_eq!(scraped(&metrics, "jobshape_reload_failing{source=\"shapes\"}"), 1.0);
        assert_eq!(lines.text().matches("internal error").count(), 2, "{}", lines.text());
    }
}
