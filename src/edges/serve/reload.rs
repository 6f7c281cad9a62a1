//! Files that are read anew while the server goes on.
//!
//! What is in use stays until there is something better: new content is used when it is whole and
//! good, and what is broken, half-written or gone is said once, and shown, and changes nothing.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::metrics::Metrics;
use super::metrics::reloads::Source;

pub mod follow;
pub mod stamp;
pub mod watch;

use follow::Follower;
use watch::Watch;

/// Between writing one file and the next somebody may be interrupted, so what does not fit
/// together is read again so often,
const AGAIN: u32 = 5;
/// after so long each time, before it is called broken.
const MOMENT: Duration = Duration::from_millis(100);

/// What the files hold at one moment.
pub struct Found<T> {
    /// Tells this content from any other.
    pub content: u64,
    /// What it means; nothing while a file is absent or empty.
    pub value: Result<Option<T>, String>,
}

/// Tells content from other content; nothing secret is kept.
pub fn mark(content: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// One thing that comes from files, all of which are read at once.
pub struct Followed<T> {
    /// What it is.
    pub source: Source,
    /// Reads it.
    pub read: Arc<dyn Fn() -> Found<T> + Send + Sync>,
    /// Puts it in use.
    pub put: Box<dyn Fn(T) -> Result<(), String> + Send + Sync>,
    /// Is told why, while there is nothing in use. `None`: there are no files yet.
    pub wanting: Box<dyn Fn(Option<String>) + Send + Sync>,
    /// The content in use, if there is any.
    pub in_use: Option<u64>,
}

impl<T: Send + 'static> Followed<T> {
    /// Follows the files for ever.
    pub async fn follow(self, watch: Watch, metrics: Arc<Metrics>) -> Infallible {
        let follower =
            Following { followed: self, watch, rejected: None, metrics: Arc::clone(&metrics) };
        follow::follow(follower, metrics).await
    }

    async fn look(&mut self, rejected: &mut Option<u64>, metrics: &Metrics) {
        let Some(found) = self.settled(*rejected).await else { return };
        let (source, content) = (self.source, found.content);
        if self.in_use == Some(content) {
            if rejected.take().is_some() {
                tracing::info!(source = source.word(), "the files hold again what is in use");
            }
            return metrics.reloads.recovered(source);
        }
        if *rejected == Some(content) {
            return;
        }
        let reason = match found.value {
            Ok(Some(value)) => match (self.put)(value) {
                Ok(()) => {
                    (self.in_use, *rejected) = (Some(content), None);
                    return metrics.reloads.succeeded(source);
                }
                Err(reason) => Some(reason),
            },
            Ok(None) => None,
            Err(reason) => Some(reason),
        };
        if self.in_use.is_none() {
            return (self.wanting)(reason);
        }
        *rejected = Some(content);
        metrics.reloads.failed(source);
        let reason = reason.unwrap_or_else(|| "a file is absent or empty".to_owned());
        tracing::error!(source = source.word(), reason, "not reloaded: the last good stays in use");
    }

    /// What the files hold once they hold something that is known or good, or after a while.
    async fn settled(&self, rejected: Option<u64>) -> Option<Found<T>> {
        let mut left = AGAIN;
        loop {
            let read = Arc::clone(&self.read);
            let found = match spawn_blocking(move || read()).await {
                Ok(found) => found,
                // Whoever follows says so.
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                Err(_) => return None,
            };
            let known = [self.in_use, rejected].contains(&Some(found.content));
            if known || left == 0 || matches!(found.value, Ok(Some(_))) {
                return Some(found);
            }
            left -= 1;
            sleep(MOMENT).await;
        }
    }
}

/// What follows one thing.
struct Following<T> {
    followed: Followed<T>,
    watch: Watch,
    /// The content that was last found to be of no use.
    rejected: Option<u64>,
    metrics: Arc<Metrics>,
}

impl<T: Send + 'static> Follower for Following<T> {
    fn source(&self) -> Source {
        self.followed.source
    }

    async fn look(&mut self) {
        self.watch.arm().await;
        self.followed.look(&mut self.rejected, &self.metrics).await;
    }

    async fn rest(&mut self) {
        self.watch.woken().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::Mutex;

    type Reading = Result<Option<&'static str>, &'static str>;

    /// Reads what is given, the last again and again.
    struct Files(Arc<Mutex<VecDeque<Reading>>>, Arc<Mutex<Vec<String>>>);

    impl Files {
        fn followed(&self, in_use: Option<Reading>) -> Followed<&'static str> {
            let (files, done) = (Arc::clone(&self.0), Arc::clone(&self.1));
            let read = move || {
                let mut files = files.lock().unwrap();
                let value =
                    if files.len() > 1 { files.pop_front() } else { files.front().copied() };
                let value = value.unwrap();
                Found { content: mark(&value), value: value.map_err(str::to_owned) }
            };
            let wanting = Arc::clone(&self.1);
            Followed {
                source: Source::Certificate,
                read: Arc::new(read),
                put: Box::new(move |value: &str| {
                    done.lock().unwrap().push(value.to_owned());
                    Ok(())
                }),
                wanting: Box::new(move |why| wanting.lock().unwrap().push(format!("{why:?}"))),
                in_use: in_use.map(|value| mark(&value)),
            }
        }
    }

    fn files(readings: &[Reading]) -> Files {
        Files(Arc::new(Mutex::new(readings.iter().copied().collect())), Arc::default())
    }

    async fn look(files: &Files, in_use: Option<Reading>, times: u32) -> (Vec<String>, String) {
        let metrics = Metrics::new().unwrap();
        let (mut followed, mut rejected) = (files.followed(in_use), None);
        for _ in 0..times {
            followed.look(&mut rejected, &metrics).await;
        }
        let text = String::from_utf8(metrics.text().unwrap()).unwrap();
        let of = |line: &&str| {
            line.contains("\"certificate\"") && line.contains("reload") && !line.contains("running")
        };
        let lines: Vec<&str> = text.lines().filter(of).collect();
        let numbers: Vec<&str> = lines.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        (files.1.lock().unwrap().clone(), numbers.join(" "))
    }

    #[tokio::test]
    async fn what_fits_together_a_moment_later_is_used_without_a_word() {
        let files = files(&[Err("torn"), Ok(None), Ok(Some("new"))]);
        // Failing, failed, ok.
        assert_eq!(
            look(&files, Some(Ok(Some("old"))), 3).await,
            (vec!["new".into()], "0 0 1".into())
        );
    }

    #[tokio::test]
    async fn what_stays_broken_is_a_failure_once_and_the_repair_is_seen() {
        let old = Ok(Some("old"));
        let broken = files(&[Err("broken")]);
        assert_eq!(look(&broken, Some(old), 3).await, (vec![], "1 1 0".into()));
        let gone = files(&[Ok(None)]);
        assert_eq!(look(&gone, Some(old), 3).await, (vec![], "1 1 0".into()));
        let mut readings = vec![Err("broken"); 6];
        readings.push(old);
        assert_eq!(look(&files(&readings), Some(old), 3).await, (vec![], "0 1 0".into()));
    }

    #[tokio::test]
    async fn before_there_was_anything_it_is_only_told() {
        let mut readings = vec![Ok(None); 6];
        readings.push(Ok(Some("first")));
        let expected = vec!["None".to_owned(), "first".to_owned()];
        assert_eq!(look(&files(&readings), None, 3).await, (expected, "0 0 1".into()));
    }
}
