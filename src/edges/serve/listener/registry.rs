//! Which connections there are, and which of them is least worth keeping.
//!
//! Whoever holds connections open for nothing must not keep the API server out, so at the cap a
//! new connection takes the place of one that is of no use: first of one that never had a review
//! answered (it may never send any), the longest open first, then of the one that has been idle
//! longest. A connection whose request is being judged is never closed for another one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The connections of one port.
pub struct Registry {
    held: Mutex<HashMap<u64, Arc<Standing>>>,
    next: AtomicU64,
    most: usize,
    grace: Duration,
    shedding: Arc<Semaphore>,
}

/// What becomes of a new connection.
pub enum Admission {
    /// It is served.
    In(Place),
    /// It is told to come again: nothing could be closed for it.
    Shed(OwnedSemaphorePermit),
    /// There are too many of those, too: it has to wait until somebody goes.
    Wait,
}

/// A connection's place among those that are served; given back when dropped.
pub struct Place {
    /// What the connection is doing.
    pub standing: Arc<Standing>,
    /// Whether another connection was closed for it.
    pub evicted: bool,
    id: u64,
    registry: Arc<Registry>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.registry.held().remove(&self.id);
    }
}

impl Registry {
    /// Room for `most` connections, and for `shed` more that only hear that there is none. One that
    /// does nothing is closed for another only after `grace`: thousands that come at once are all
    /// still on their way, and would close each other.
    pub fn new(most: u32, shed: u32, grace: Duration) -> Arc<Self> {
        Arc::new(Self {
            held: Mutex::default(),
            next: AtomicU64::new(0),
            most: most.max(1) as usize,
            grace,
            shedding: Arc::new(Semaphore::new(shed as usize)),
        })
    }

    /// Finds a place for a new connection.
    pub fn admit(self: &Arc<Self>) -> Admission {
        let mut held = self.held();
        let full = held.len() >= self.most;
        if full && !evict(&mut held, self.grace) {
            return match Arc::clone(&self.shedding).try_acquire_owned() {
                Ok(permit) => Admission::Shed(permit),
                Err(_) => Admission::Wait,
            };
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let standing = Arc::<Standing>::default();
        held.insert(id, Arc::clone(&standing));
        Admission::In(Place { standing, evicted: full, id, registry: Arc::clone(self) })
    }

    /// Closes the connection least worth keeping, when the process has run out of what a new one
    /// needs. Nobody is served at all then, so nobody is spared. False if there is none to close.
    pub fn make_room(&self) -> bool {
        evict(&mut self.held(), Duration::ZERO)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Arc<Standing>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn evict(held: &mut HashMap<u64, Arc<Standing>>, grace: Duration) -> bool {
    // Between choosing one and closing it, its request may arrive; then another one is chosen.
    loop {
        let old = |(_, since): &Worth| since.elapsed() >= grace;
        let worth = |s: &Standing| s.worth().filter(old);
        let candidates = held.iter().filter_map(|(id, s)| worth(s).map(|worth| (worth, *id)));
        let Some((_, id)) = candidates.min() else { return false };
        let chosen = held.remove(&id);
        match chosen {
            Some(standing) if !standing.close() => held.insert(id, standing),
            _ => return true,
        };
    }
}

/// What a connection is doing, as far as its worth is concerned.
pub struct Standing {
    state: Mutex<State>,
    closing: Notify,
}

struct State {
    doing: Doing,
    since: Instant,
    answered: bool,
    closing: bool,
}

#[derive(PartialEq, Eq)]
enum Doing {
    /// The handshake, nothing, or headers.
    Waiting,
    /// A body is arriving.
    Receiving,
    /// A whole request is being judged.
    Judging,
}

/// The order in which connections are closed for others: the least first.
type Worth = (bool, Instant);

/// How a connection should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nobody would hear anything.
    Cut,
    /// An answer may still be on its way out.
    Finish,
}

impl Default for Standing {
    /// A connection that has just been accepted.
    fn default() -> Self {
        let (doing, since) = (Doing::Waiting, Instant::now());
        let state = State { doing, since, answered: false, closing: false };
        Self { state: Mutex::new(state), closing: Notify::new() }
    }
}

impl Standing {
    /// The handshake is done: whatever comes next has its time from now on.
    pub fn greeted(&self) {
        self.state().since = Instant::now();
    }

    /// The headers of a request have come.
    pub fn receiving(&self) {
        self.state().doing = Doing::Receiving;
    }

    /// Its body has come.
    pub fn judging(&self) {
        self.state().doing = Doing::Judging;
    }

    /// There is an answer; `review` says whether it is one to a review.
    pub fn answered(&self, review: bool) {
        let mut state = self.state();
        state.doing = Doing::Waiting;
        state.answered |= review;
        if state.answered {
            state.since = Instant::now();
        }
    }

    /// Waits until this connection must make room for another one.
    pub async fn must_end(&self) -> End {
        self.closing.notified().await;
        if self.state().answered { End::Finish } else { End::Cut }
    }

    fn worth(&self) -> Option<Worth> {
        self.state().worth()
    }

    fn close(&self) -> bool {
        let mut state = self.state();
        if state.worth().is_none() {
            return false;
        }
        state.closing = true;
        self.closing.notify_one();
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Nothing for a connection that must not be closed for another one.
    fn worth(&self) -> Option<Worth> {
        match (&self.doing, self.answered) {
            _ if self.closing => None,
            (Doing::Judging, _) | (Doing::Receiving, true) => None,
            (_, answered) => Some((answered, self.since)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{sleep, timeout};

    fn place(registry: &Arc<Registry>) -> Place {
        match registry.admit() {
            Admission::In(place) => place,
            Admission::Shed(_) => panic!("shed"),
            Admission::Wait => panic!("waits"),
        }
    }

    async fn end(place: &Place) -> Option<End> {
        timeout(Duration::from_millis(20), place.standing.must_end()).await.ok()
    }

    #[tokio::test]
    async fn the_first_to_go_never_had_a_review_then_the_longest_idle() {
        let registry = Registry::new(4, 1, Duration::ZERO);
        let mut places = vec![];
        for _ in 0..4 {
            places.push(place(&registry));
            sleep(Duration::from_millis(5)).await;
        }
        // 0 and 2 had an answer, 2 longer ago; 1 was told 404 just now, and 3 is sending.
        places[2].standing.answered(true);
        sleep(Duration::from_millis(5)).await;
        places[0].standing.answered(true);
        places[1].standing.answered(false);
        places[3].standing.receiving();
        for (index, how) in [(1, End::Cut), (3, End::Cut), (2, End::Finish), (0, End::Finish)] {
            let new = place(&registry);
            assert!(new.evicted);
            new.standing.judging();
            assert_eq!(end(&places[index]).await, Some(how), "{index}");
            // Kept to the end: what judges is never closed.
            std::mem::forget(new);
        }
        let shed = registry.admit();
        assert!(matches!(shed, Admission::Shed(_)));
        assert!(matches!(registry.admit(), Admission::Wait));
        drop(shed);
        assert!(matches!(registry.admit(), Admission::Shed(_)));
        assert!(!registry.make_room());
    }

    #[tokio::test]
    async fn a_body_that_arrives_counts_once_there_was_a_review() {
        let registry = Registry::new(1, 1, Duration::ZERO);
        let first = place(&registry);
        first.standing.answered(true);
        first.standing.receiving();
        assert!(matches!(registry.admit(), Admission::Shed(_)));
        first.standing.answered(true);
        assert!(registry.make_room());
        assert_eq!(end(&first).await, Some(End::Finish));
        assert!(!place(&registry).evicted);
    }

    #[tokio::test]
    async fn who_has_just_come_is_not_closed_for_the_next() {
        let grace = Duration::from_millis(200);
        let registry = Registry::new(1, 0, grace);
        let first = place(&registry);
        assert!(matches!(registry.admit(), Admission::Wait));
        sleep(grace).await;
        let next = place(&registry);
        assert!(next.evicted);
        assert_eq!(end(&first).await, Some(End::Cut));
        // Without a file to open it is another matter.
        assert!(registry.make_room());
        assert_eq!(end(&next).await, Some(End::Cut));
    }

    #[tokio::test]
    async fn a_place_comes_back() {
        let registry = Registry::new(1, 0, Duration::ZERO);
        drop(place(&registry));
        assert!(!place(&registry).evicted);
    }
}
