//! Equal decisions, folded: a controller that tries again every second is one line each flush
//! interval, not one each second.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::line::{Decision, Entry, Which};

/// So many decisions wait for equal ones at a time; whatever comes beyond is written as it is.
const OPEN: usize = 1000;

/// The decisions that equal ones are looked for to.
pub struct Folds {
    interval: Duration,
    open: HashMap<Arc<Decision>, Fold>,
    /// Which end when: the interval is one for all, so the order is the one in which they began.
    ends: VecDeque<(Instant, Arc<Decision>)>,
}

#[derive(Default)]
struct Fold {
    repeated: u64,
    last: Option<Which>,
}

/// Equal decisions that have no line yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Folded {
    /// The last of them.
    pub last: Which,
    /// What they were.
    pub decision: Arc<Decision>,
    /// How many.
    pub repeated: u64,
}

impl Folds {
    /// None yet; without an interval there never is one.
    pub fn new(interval: Duration) -> Self {
        Self { interval, open: HashMap::new(), ends: VecDeque::new() }
    }

    /// Gives the decision back if it is to be written now, and counts it otherwise.
    pub fn take(&mut self, entry: Entry, now: Instant) -> Option<Entry> {
        if let Some(fold) = self.open.get_mut(&entry.decision) {
            fold.repeated += 1;
            fold.last = Some(entry.which);
            return None;
        }
        if self.open.len() < OPEN && !self.interval.is_zero() {
            let decision = Arc::new(entry.decision.clone());
            self.ends.push_back((now + self.interval, Arc::clone(&decision)));
            self.open.insert(decision, Fold::default());
        }
        Some(entry)
    }

    /// When the next one ends.
    pub fn next_end(&self) -> Option<Instant> {
        self.ends.front().map(|(end, _)| *end)
    }

    /// What was folded until its end. What goes on being repeated goes on being folded, without a
    /// line for the first of the next ones.
    pub fn ended(&mut self, now: Instant) -> Option<Folded> {
        while self.next_end()? <= now {
            let (_, decision) = self.ends.pop_front()?;
            let fold = self.open.get_mut(&decision)?;
            if let Some(last) = fold.last.take() {
                let repeated = std::mem::take(&mut fold.repeated);
                self.ends.push_back((now + self.interval, Arc::clone(&decision)));
                return Some(Folded { last, decision, repeated });
            }
            self.open.remove(&decision);
        }
        None
    }

    /// Everything that has no line yet, at the end.
    pub fn rest(self) -> impl Iterator<Item = Folded> {
        self.open.into_iter().filter_map(|(decision, fold)| {
            Some(Folded { last: fold.last?, decision, repeated: fold.repeated })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::denied;
    use super::super::users::Users;
    use super::*;
    use crate::formats::review::Entrance;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn entry(uid: &str, namespace: &str) -> Entry {
        let mut record = denied();
        record.uid = uid.to_owned();
        record.name = format!("job-{uid}");
        record.namespace = namespace.to_owned();
        Entry::new(Entrance::Enforce, &record, &Users::Plain)
    }

    fn told(folded: Option<Folded>) -> Option<(String, u64)> {
        folded.map(|folded| (folded.last.uid, folded.repeated))
    }

    #[test]
    fn equal_decisions_are_one_line_now_and_one_each_interval() {
        let mut folds = Folds::new(INTERVAL);
        let start = Instant::now();
        assert_eq!(folds.next_end(), None);
        assert!(folds.take(entry("1", "a"), start).is_some());
        assert!(folds.take(entry("2", "a"), start).is_none());
        assert!(folds.take(entry("3", "b"), start).is_some(), "another namespace");
        assert!(folds.take(entry("4", "a"), start + INTERVAL / 2).is_none());
        assert_eq!(folds.ended(start + INTERVAL / 2), None);

        let end = folds.next_end().unwrap();
        assert_eq!(end, start + INTERVAL);
        assert_eq!(told(folds.ended(end)), Some(("4".to_owned(), 2)));
        assert_eq!(folds.ended(end), None, "the one in b has no other");
        assert!(folds.take(entry("5", "b"), end).is_some(), "and is forgotten");

        // Still going on: no line for the first of the next interval.
        assert!(folds.take(entry("6", "a"), end).is_none());
        assert_eq!(told(folds.ended(end + INTERVAL)), Some(("6".to_owned(), 1)));
        assert_eq!(folds.ended(end + INTERVAL), None);
        assert_eq!(folds.ended(end + INTERVAL * 2), None);
        assert_eq!(folds.next_end(), None, "nothing is kept of what is over");
    }

    #[test]
    fn whatever_is_beyond_the_bound_is_written_as_it_is() {
        let mut folds = Folds::new(INTERVAL);
        let now = Instant::now();
        for n in 0..OPEN {
            assert!(folds.take(entry("1", &n.to_string()), now).is_some());
        }
        for uid in ["2", "3"] {
            assert!(folds.take(entry(uid, "beyond"), now).is_some());
            assert!(folds.take(entry(uid, "7"), now).is_none());
        }
        assert_eq!(folds.open.len(), OPEN);
        assert_eq!(folds.rest().map(|folded| folded.repeated).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn without_an_interval_nothing_is_folded() {
        let mut folds = Folds::new(Duration::ZERO);
        for uid in ["1", "2"] {
            assert!(folds.take(entry(uid, "a"), Instant::now()).is_some());
        }
        assert_eq!(folds.next_end(), None);
    }
}
