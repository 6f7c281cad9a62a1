//! A bounded queue to a thread of its own. Whoever has something for the thread never waits for
//! it: what finds no room is lost, and the caller is told so.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// The end that decisions see.
pub struct Spool<T> {
    sender: RwLock<Option<SyncSender<(T, usize)>>>,
    held: Arc<AtomicUsize>,
    most: usize,
    ended: Mutex<Receiver<()>>,
}

/// The end that the thread sees.
pub struct Feed<T> {
    receiver: Receiver<(T, usize)>,
    held: Arc<AtomicUsize>,
}

/// What the thread gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// Something to do.
    Item(T),
    /// Nothing came until the time that it asked for.
    Time,
    /// Nothing will come any more.
    End,
}

/// How much a spool holds.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Things.
    pub items: usize,
    /// The weights of the things together.
    pub weight: usize,
}

impl<T: Send + 'static> Spool<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(
        name: &str,
        bounds: Bounds,
        work: impl FnOnce(Feed<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(bounds.items);
        let (ending, ended) = sync_channel::<()>(0);
        let held = Arc::new(AtomicUsize::new(0));
        let feed = Feed { receiver, held: Arc::clone(&held) };
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            work(feed);
            // Being gone is the message, so that a panic gives it too.
            drop(ending);
        })?;
        Ok(Self {
            sender: RwLock::new(Some(sender)),
            held,
            most: bounds.weight,
            ended: Mutex::new(ended),
        })
    }

    /// Puts in what `make` makes, if there is room for something of that weight; it is not made
    /// otherwise. Whether it went in.
    pub fn offer(&self, weight: usize, make: impl FnOnce() -> T) -> bool {
        let room = |held: usize| held.checked_add(weight).filter(|sum| *sum <= self.most);
        if self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_err() {
            return false;
        }
        let sender = self.sender.read().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().is_some_and(|sender| sender.try_send((make(), weight)).is_ok());
        if !sent {
            self.held.fetch_sub(weight, Ordering::Relaxed);
        }
        sent
    }

    /// Takes nothing more, and waits until the thread has done all it was given, but no longer
    /// than `patience`. Whether it has.
    pub fn close(&self, patience: Duration) -> bool {
        drop(self.sender.write().unwrap_or_else(PoisonError::into_inner).take());
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }
}

impl<T> Feed<T> {
    /// The next thing, waited for until `time`.
    pub fn next(&self, time: Instant) -> Next<T> {
        let patience = time.saturating_duration_since(Instant::now());
        match self.receiver.recv_timeout(patience) {
            Ok((item, weight)) => {
                self.held.fetch_sub(weight, Ordering::Relaxed);
                Next::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Next::Time,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A thread that takes nothing before it is told to, and then gives everything to the test.
    fn blocked(bounds: Bounds) -> (Spool<u32>, SyncSender<()>, Receiver<u32>) {
        let (go, told) = sync_channel::<()>(1);
        let (give, given) = channel();
        let spool = Spool::start("test", bounds, move |feed| {
            told.recv().unwrap();
            while let Next::Item(item) = feed.next(Instant::now() + PATIENCE) {
                give.send(item).unwrap();
            }
        });
        (spool.unwrap(), go, given)
    }

    #[test]
    fn what_finds_no_room_is_lost_and_not_even_made() {
        let (spool, go, given) = blocked(Bounds { items: 2, weight: 10 });
        assert!(spool.offer(4, || 1));
        assert!(!spool.offer(7, || unreachable!()), "heavier than what is left");
        assert!(spool.offer(6, || 2));
        assert!(!spool.offer(0, || 3), "a third of two");
        go.send(()).unwrap();
        assert_eq!((given.recv_timeout(PATIENCE), given.recv_timeout(PATIENCE)), (Ok(1), Ok(2)));
        assert!(spool.offer(10, || 4), "all its weight was given back");
        assert!(spool.close(PATIENCE));
        assert_eq!(given.iter().collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn closing_waits_for_the_thread_but_not_for_ever() {
        let (spool, go, given) = blocked(Bounds { items: 2, weight: 2 });
        assert!(spool.offer(1, || 1));
        assert!(!spool.close(Duration::from_millis(20)), "it is blocked");
        assert!(!spool.offer(1, || 2), "closed");
        go.send(()).unwrap();
        assert!(spool.close(PATIENCE));
        assert!(spool.close(PATIENCE), "once more does no harm");
        assert_eq!(given.iter().collect::<Vec<_>>(), [1]);
    }
}
