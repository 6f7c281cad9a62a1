//! The memory that all bodies in flight share.
//!
//! A part of it is only for the first bytes of a body: ordinary Jobs are no larger than those, so
//! a hundred large bodies that have used up the rest keep nobody out. Whoever has sent a piece of a
//! body and stopped keeps nobody out either: where memory is short, the body of which nothing has
//! come for longest gives its share to the one that comes. A body that arrives is never put out,
//! however slowly, and neither is one that is being judged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::IntGauge;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::metrics::traffic::Held;

/// How much of each body is charged to the part that is for ordinary ones.
const FIRST: usize = 64 * 1024;

/// Bytes of the part that is for the first of each body, and of the rest.
type Parts = [usize; 2];

/// The budget of one server.
#[derive(Clone)]
pub struct Budget(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    stall: Duration,
    held: IntGauge,
}

struct State {
    free: Parts,
    taken: HashMap<u64, Taken>,
    next: u64,
}

/// What one body has.
struct Taken {
    bytes: Parts,
    /// When something of it last came.
    heard: Instant,
    /// Whether more is to come.
    arrives: bool,
    put_out: Arc<Notify>,
}

/// Why a body gets no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Others have all there is.
    Crowded,
    /// It stood still, and another one has its share.
    PutOut,
}

impl Budget {
    /// So many bytes, of which `first` are for what lies within the first 64 KiB of a body. A body
    /// of which nothing came for `stall` has to go when another one needs its share. `held` shows
    /// how much is in use.
    pub fn new(bytes: usize, first: usize, stall: Duration, held: IntGauge) -> Self {
        let first = first.min(bytes);
        let state = State { free: [first, bytes - first], taken: HashMap::new(), next: 0 };
        Self(Arc::new(Shared { state: Mutex::new(state), stall, held }))
    }

    /// The share of a body of which nothing has arrived.
    pub fn share(&self) -> Share {
        let put_out = Arc::<Notify>::default();
        let mut state = self.0.state();
        let id = state.next;
        state.next += 1;
        let taken = Taken {
            bytes: [0, 0],
            heard: Instant::now(),
            arrives: true,
            put_out: Arc::clone(&put_out),
        };
        state.taken.insert(id, taken);
        Share { budget: self.clone(), id, put_out, held: Held::nothing(&self.0.held) }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives what a body had back.
    fn give_back(&mut self, id: u64) -> Option<Taken> {
        let taken = self.taken.remove(&id)?;
        for (free, bytes) in self.free.iter_mut().zip(taken.bytes) {
            *free += bytes;
        }
        Some(taken)
    }

    /// Puts out as many bodies as it takes to have `wanted` bytes of a part; none if all that stood
    /// still since `before` would not do.
    fn make_room(&mut self, part: usize, wanted: usize, before: Instant) {
        let stands =
            |taken: &Taken| taken.arrives && taken.bytes[part] > 0 && taken.heard <= before;
        let still = self.taken.iter().filter(|(_, taken)| stands(taken));
        let mut still: Vec<_> = still.map(|(id, t)| (t.heard, *id, t.bytes[part])).collect();
        let had: usize = still.iter().map(|(.., bytes)| bytes).sum();
        if self.free[part] + had < wanted {
            return;
        }
        still.sort_unstable();
        for (_, id, _) in still {
            if self.free[part] >= wanted {
                return;
            }
            // Its bytes are another one's from now on, though its task still has to wake up and
            // let go of them: to wait for that would be to wait for memory while holding some.
            if let Some(taken) = self.give_back(id) {
                taken.put_out.notify_one();
            }
        }
    }
}

/// What one body has of the budget, for as long as it lives.
pub struct Share {
    budget: Budget,
    id: u64,
    put_out: Arc<Notify>,
    held: Held,
}

impl Share {
    /// Charges the next bytes of a body that has `had` so far. Never waits: whoever waited for
    /// memory would hold memory while waiting.
    ///
    /// # Errors
    /// Nothing is charged.
    pub fn charge(&mut self, had: usize, bytes: usize) -> Result<(), Refused> {
        self.charge_at(had, bytes, Instant::now())
    }

    fn charge_at(&mut self, had: usize, bytes: usize, now: Instant) -> Result<(), Refused> {
        let first = FIRST.saturating_sub(had).min(bytes);
        let wanted: Parts = [first, bytes - first];
        let mut state = self.budget.0.state();
        let taken = state.taken.get_mut(&self.id).ok_or(Refused::PutOut)?;
        // An empty piece is no progress.
        if bytes > 0 {
            taken.heard = now;
        }
        for (part, wanted) in wanted.into_iter().enumerate() {
            if state.free[part] < wanted
                && let Some(before) = now.checked_sub(self.budget.0.stall)
            {
                state.make_room(part, wanted, before);
            }
            if state.free[part] < wanted {
                return Err(Refused::Crowded);
            }
        }
        for (part, wanted) in wanted.into_iter().enumerate() {
            state.free[part] -= wanted;
            if let Some(taken) = state.taken.get_mut(&self.id) {
                taken.bytes[part] += wanted;
            }
        }
        self.held.more(bytes);
        Ok(())
    }

    /// The body is whole: from now on it stays as long as it lives.
    ///
    /// # Errors
    /// It was put out a moment ago.
    pub fn whole(&self) -> Result<(), Refused> {
        let mut state = self.budget.0.state();
        let taken = state.taken.get_mut(&self.id).ok_or(Refused::PutOut)?;
        taken.arrives = false;
        Ok(())
    }

    /// Waits until this body has to make room for another one.
    pub async fn put_out(&self) {
        self.put_out.notified().await;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.state().give_back(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Duration = Duration::from_secs(1);

    fn budget(bytes: usize, first: usize) -> (Budget, IntGauge) {
        let held = IntGauge::new("a", "b").unwrap();
        (Budget::new(bytes, first, STALL, held.clone()), held)
    }

    #[test]
    fn what_is_given_back_can_be_had_again() {
        let (budget, held) = budget(10, 10);
        let mut share = budget.share();
        assert!(share.charge(0, 4).is_ok() && share.charge(4, 6).is_ok());
        assert_eq!(held.get(), 10);
        assert_eq!(budget.share().charge(0, 1), Err(Refused::Crowded));
        drop(share);
        assert_eq!(held.get(), 0);
        assert!(budget.share().charge(0, 10).is_ok());
    }

    #[test]
    fn large_bodies_leave_the_ordinary_ones_their_part() {
        let (budget, held) = budget(4 * FIRST, 2 * FIRST);
        let mut large = budget.share();
        assert!(large.charge(0, 3 * FIRST).is_ok());
        assert_eq!(large.charge(3 * FIRST, 1), Err(Refused::Crowded));
        let mut ordinary = budget.share();
        assert!(ordinary.charge(0, FIRST).is_ok());
        assert_eq!(ordinary.charge(FIRST, 1), Err(Refused::Crowded));
        assert_eq!(held.get(), 4 * i64::try_from(FIRST).unwrap());
    }

    #[test]
    fn the_longest_still_make_room_and_never_one_that_arrives_or_is_whole() {
        let (budget, held) = budget(51, 51);
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut shares: Vec<Share> = (0..5).map(|_| budget.share()).collect();
        for (share, millis) in shares.iter_mut().zip(0..) {
            share.charge_at(0, 10, at(millis)).unwrap();
        }
        shares[0].whole().unwrap();
        shares[1].charge_at(10, 0, at(500)).unwrap();
        shares[3].charge_at(10, 1, at(500)).unwrap();
        let gone = |shares: &[Share]| -> Vec<usize> {
            let is_gone = |share: &Share| !budget.0.state().taken.contains_key(&share.id);
            (0..5).filter(|index| is_gone(&shares[*index])).collect()
        };
        let mut next = budget.share();
        assert_eq!(next.charge_at(0, 15, at(1000)), Err(Refused::Crowded), "none is still yet");
        assert_eq!(next.charge_at(0, 15, at(1003)), Ok(()));
        assert_eq!(gone(&shares), [1, 2]);
        let mut last = budget.share();
        assert_eq!(last.charge_at(0, 16, at(1400)), Err(Refused::Crowded));
        assert_eq!(gone(&shares), [1, 2], "none goes for nothing");
        assert_eq!(last.charge_at(0, 15, at(1400)), Ok(()));
        assert_eq!(gone(&shares), [1, 2, 4]);
        assert_eq!(shares[1].charge_at(10, 1, at(1401)), Err(Refused::PutOut));
        assert_eq!(shares[2].whole(), Err(Refused::PutOut));
        // What they hold shows until they let go of it, and is not given back twice.
        assert_eq!(held.get(), 81);
        drop(shares);
        assert_eq!(held.get(), 30);
        drop((next, last));
        assert_eq!(budget.0.state().free, [51, 0]);
    }
}
