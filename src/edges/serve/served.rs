//! The shapes that decisions are made by, and their replacement while the server goes on.
//!
//! A process whose shapes cannot be loaded stays: it is not ready, it refuses what it is asked
//! about, and it lets pass what only takes something away, so that it keeps no Job from being
//! deleted. A process that ends would. One that had valid shapes keeps those.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::metrics::Metrics;
use super::metrics::reloads::Source;
use super::operations::Readiness;
use super::options::Loaded;
use super::reload::follow::{Follower, follow};
use super::reload::watch::Watch;
use super::shape_files::{Mistakes, ShapeFiles};
use crate::core::judge::Shapes;

pub mod differences;

use differences::{differences, opened, weakened, widened};

/// The shapes, replaceable while requests are decided.
#[derive(Debug, Default)]
pub struct Served {
    held: RwLock<Arc<Shapes>>,
}

impl Served {
    /// These shapes.
    pub fn new(shapes: Arc<Shapes>) -> Self {
        Self { held: RwLock::new(shapes) }
    }

    /// What is served now: a decision that has begun keeps it to its end.
    pub fn get(&self) -> Arc<Shapes> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, shapes: Arc<Shapes>) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = shapes;
    }
}

/// Everything that has to know when other shapes are in force.
pub struct InForce {
    served: Arc<Served>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    /// Whether there were ever good ones.
    good: bool,
}

impl InForce {
    /// Puts the first shapes in force, whatever they are: without good ones the server is not
    /// ready, and says why.
    pub fn begin(
        loaded: Loaded,
        mistakes: Option<&Mistakes>,
        readiness: Arc<Readiness>,
        metrics: Arc<Metrics>,
    ) -> (Self, Arc<Served>) {
        let served = Arc::new(Served::default());
        let mut this = Self { served: Arc::clone(&served), readiness, metrics, good: false };
        match mistakes {
            Some(mistakes) => this.reject(mistakes),
            None => {
                this.good = loaded.self_test.is_ok();
                this.put(loaded);
            }
        }
        (this, served)
    }

    /// Follows the files for ever.
    pub async fn follow(self, files: ShapeFiles, every: Duration) -> Infallible {
        let watched = files.watched();
        let watch = Watch::new(watched.clone(), every);
        let metrics = Arc::clone(&self.metrics);
        follow(Following { in_force: self, files, watched, watch, every }, metrics).await
    }

    fn renew(&mut self, result: Result<Loaded, Mistakes>) {
        let loaded = result.and_then(|loaded| match &loaded.self_test {
            Err(reason) if self.good => Err(Mistakes(vec![format!("error: {reason}\n")])),
            _ => Ok(loaded),
        });
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(mistakes) => return self.reject(&mistakes),
        };
        let before = self.served.get();
        let differences = differences(&before, &loaded.shapes);
        if self.good && differences.is_empty() {
            return self.metrics.reloads.recovered(Source::Shapes);
        }
        for difference in differences {
            tracing::info!(
                shape = difference.shape,
                before = difference.before,
                after = difference.after,
                "the shapes were replaced"
            );
        }
        // What is better than nothing widens nothing: before it everything was refused.
        if self.good {
            let wider = widened(&before, &loaded.shapes);
            for wider in &wider {
                tracing::warn!("more is admitted than before in {wider}");
            }
            let weaker = weakened(&before, &loaded.shapes);
            for weaker in &weaker {
                tracing::warn!(shape = weaker.shape, "more is admitted than before in {weaker}");
            }
            let opened = opened(&before, &loaded.shapes);
            for (shape, how) in &opened {
                tracing::warn!(shape, "more is admitted than before: {how}");
            }
            if !wider.is_empty() || !weaker.is_empty() || !opened.is_empty() {
                self.metrics.reloads.widened.inc();
            }
        }
        self.good |= loaded.self_test.is_ok();
        self.put(loaded);
    }

    fn put(&self, loaded: Loaded) {
        let metrics = &self.metrics;
        metrics.reviews.set_shapes(&loaded.info);
        self.served.put(loaded.shapes);
        self.readiness.set_self_test(loaded.self_test);
        metrics.reloads.succeeded(Source::Shapes);
        metrics.reloads.generation.inc();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        metrics.reloads.loaded_at.set(i64::try_from(now).unwrap_or(i64::MAX));
    }

    fn reject(&self, mistakes: &Mistakes) {
        self.metrics.reloads.failed(Source::Shapes);
        let message = if self.good {
            "the shapes are not reloaded: the last good ones stay in force"
        } else {
            self.readiness.set_no_shapes(mistakes.reason());
            "there are no valid shapes"
        };
        for report in &mistakes.0 {
            tracing::error!(report = report.trim_end(), "{message}");
        }
    }
}

/// What follows the files of the shapes.
struct Following {
    in_force: InForce,
    files: ShapeFiles,
    watched: Vec<PathBuf>,
    watch: Watch,
    every: Duration,
}

impl Follower for Following {
    fn source(&self) -> Source {
        Source::Shapes
    }

    async fn look(&mut self) {
        self.watch.arm().await;
        if !self.files.changed().await {
            return;
        }
        self.in_force.renew(self.files.take().await);
        // Templates may stand elsewhere now.
        if self.files.watched() != self.watched {
            self.watched = self.files.watched();
            self.watch = Watch::new(self.watched.clone(), self.every);
            self.watch.arm().await;
        }
    }

    async fn rest(&mut self) {
        self.watch.woken().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::judge::Shapes;
    use crate::core::testing;
    use crate::edges::cli::serve::served;
    use crate::edges::serve::certificate::slot::Slot;
    use crate::edges::serve::decision_log::tests::log_of;

    fn shapes(image: &str) -> Loaded {
        let job = testing::job();
        let pointer = "/spec/template/spec/containers/0/image";
        let job = job.set(pointer, image.into());
        served(Shapes::new(vec![testing::shape(&job, "")]).unwrap())
    }

    fn in_force(loaded: Loaded, mistakes: Option<&Mistakes>) -> InForce {
        let readiness = Arc::new(Readiness::new(Arc::new(Slot::empty())));
        let metrics = Arc::new(Metrics::new().unwrap());
        InForce::begin(loaded, mistakes, readiness, metrics).0
    }

    #[test]
    fn what_was_replaced_is_said_with_both_digests() {
        let (old, new) = (shapes("x:1"), shapes("x:2"));
        let digests = [&old, &new].map(|loaded| loaded.info[0].digest.clone());
        let mut in_force = in_force(old, None);
        let log = log_of(|| in_force.renew(Ok(new)));
        assert_eq!(log.lines().count(), 1, "{log}");
        let [before, after] = digests;
        assert!(log.contains(&format!("\"before\":\"{before}\",\"after\":\"{after}\"")), "{log}");
        // The same again is nothing new.
        assert_eq!(log_of(|| in_force.renew(Ok(shapes("x:2")))), "");
        assert_eq!(in_force.metrics.reloads.generation.get(), 2);
    }

    #[test]
    fn what_is_wider_is_a_warning() {
        let mut in_force = in_force(served(Shapes::default()), None);
        let log = log_of(|| in_force.renew(Ok(shapes("x:1"))));
        let warning = log.lines().find(|line| line.contains("WARN")).unwrap();
        assert!(warning.contains("more is admitted than before in"), "{warning}");
        assert!(warning.contains(": nothing -> "), "{warning}");
        assert_eq!(in_force.metrics.reloads.widened.get(), 1);
    }

    #[test]
    fn a_rule_that_becomes_weaker_is_wider_and_one_that_becomes_stronger_is_not() {
        let with = |deadline: &str, rest: &str| {
            let rules = format!(
                "rules:
  - {{name: deadline, select: [$.spec.activeDeadlineSeconds], action: {deadline}}}
  - {{name: everything, action: {rest}}}
"
            );
            served(Shapes::new(vec![testing::shape(&testing::job(), &rules)]).unwrap())
        };
        let mut in_force = in_force(with("Enforce", "Warn"), None);
        let mut warnings = |loaded| {
            let log = log_of(|| in_force.renew(Ok(loaded)));
            let warnings = log.lines().filter(|line| line.contains("WARN")).map(str::to_owned);
            (warnings.collect::<Vec<_>>(), in_force.metrics.reloads.widened.get())
        };
        let (said, count) = warnings(with("Audit", "Enforce"));
        assert_eq!((said.len(), count), (1, 1), "{said:?}");
        assert!(said[0].contains(": deadline: Enforce -> Audit\""), "{said:?}");
        let (said, count) = warnings(with("Warn", "Enforce"));
        assert_eq!((said.len(), count), (0, 1), "{said:?}");
        // Once, however many they are.
        let (said, count) = warnings(with("Audit", "Warn"));
        assert_eq!((said.len(), count), (2, 2), "{said:?}");
    }

    #[test]
    fn mistakes_keep_the_last_good_and_after_none_at_all_nothing_is_wider() {
        let mistakes = Mistakes(vec!["error: one\n".to_owned(), "error: two\n".to_owned()]);
        let mut good = in_force(shapes("x:1"), None);
        let log = log_of(|| good.renew(Err(mistakes.clone())));
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(log.contains("the last good ones stay in force"), "{log}");
        assert_eq!(good.served.get().all().len(), 1);

        let mut waiting = in_force(served(Shapes::default()), Some(&mistakes));
        let reasons = waiting.readiness.reasons(SystemTime::now());
        assert!(reasons[0].contains("no valid shapes: 2 mistakes"), "{reasons:?}");
        let log = log_of(|| waiting.renew(Ok(shapes("x:1"))));
        assert!(!log.contains("WARN"), "{log}");
        assert_eq!(waiting.metrics.reloads.widened.get(), 0);
        assert_eq!(waiting.served.get().all().len(), 1);
    }
}
