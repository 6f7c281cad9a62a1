//! The memory that all bodies in flight share.
//!
//! A part of it is only for the first bytes of a body: ordinary Jobs are no larger than those, so
//! a hundred large bodies that have used up the rest keep nobody out.

use std::sync::Arc;

use prometheus::IntGauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::traffic::Held;

/// How much of each body is charged to the part that is for ordinary ones.
const FIRST: usize = 64 * 1024;

/// The budget of one server, a permit a byte.
#[derive(Clone)]
pub struct Budget {
    first: Arc<Semaphore>,
    rest: Arc<Semaphore>,
    held: IntGauge,
}

impl Budget {
    /// So many bytes, of which `first` are for what lies within the first 64 KiB of a body.
    /// `held` shows how much is in use.
    pub fn new(bytes: usize, first: usize, held: IntGauge) -> Self {
        let first = first.min(bytes);
        let of = |bytes: usize| Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)));
        Self { first: of(first), rest: of(bytes - first), held }
    }

    /// The share of a body of which nothing has arrived.
    pub fn share(&self) -> Share {
        Share { budget: self.clone(), permits: [None, None], held: Held::nothing(&self.held) }
    }
}

/// What one body has of the budget, for as long as it lives.
pub struct Share {
    budget: Budget,
    permits: [Option<OwnedSemaphorePermit>; 2],
    held: Held,
}

impl Share {
    /// Charges the next bytes of a body that has `had` so far. Never waits: whoever waited for
    /// memory would hold memory while waiting.
    pub fn charge(&mut self, had: usize, bytes: usize) -> bool {
        let first = FIRST.saturating_sub(had).min(bytes);
        let parts = [(&self.budget.first, first), (&self.budget.rest, bytes - first)];
        for (permits, (semaphore, wanted)) in self.permits.iter_mut().zip(parts) {
            if wanted == 0 {
                continue;
            }
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
            let Ok(more) = Arc::clone(semaphore).try_acquire_many_owned(wanted) else {
                return false;
            };
            match permits {
                Some(permits) => permits.merge(more),
                None => *permits = Some(more),
            }
        }
        self.held.more(bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes: usize, first: usize) -> (Budget, IntGauge) {
        let held = IntGauge::new("a", "b").unwrap();
        (Budget::new(bytes, first, held.clone()), held)
    }

    #[test]
    fn what_is_given_back_can_be_had_again() {
        let (budget, held) = budget(10, 10);
        let mut share = budget.share();
        assert!(share.charge(0, 4) && share.charge(4, 6));
        assert_eq!(held.get(), 10);
        assert!(!budget.share().charge(0, 1));
        drop(share);
        assert_eq!(held.get(), 0);
        assert!(budget.share().charge(0, 10));
    }

    #[test]
    fn large_bodies_leave_the_ordinary_ones_their_part() {
        let (budget, held) = budget(4 * FIRST, 2 * FIRST);
        let mut large = budget.share();
        assert!(large.charge(0, 3 * FIRST));
        assert!(!large.charge(3 * FIRST, 1));
        let mut ordinary = budget.share();
        assert!(ordinary.charge(0, FIRST));
        assert!(!ordinary.charge(FIRST, 1));
        assert_eq!(held.get(), 4 * i64::try_from(FIRST).unwrap());
    }
}
