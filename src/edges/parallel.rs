//! Work on many things that do not depend on each other, on all cores.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What `work` makes of each item, in the items' order. A thread takes `batch` of them at a time,
/// and none is started for less: it costs more than a few items do.
pub fn map<T: Sync, R: Send>(items: &[T], batch: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len().div_ceil(batch));
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let batches = Mutex::new(items.chunks(batch).enumerate());
    let worker = || {
        let mut done = vec![];
        loop {
            let next = batches.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, batch)) = next else { return done };
            done.push((index, batch.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut done: Vec<(usize, Vec<R>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        // A panic goes on here: results must not be missing without anybody knowing.
        workers.into_iter().flat_map(|w| w.join().unwrap_or_else(|p| resume_unwind(p))).collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        for batch in [1, 7, 1000, 2000] {
            let squares = map(&items, batch, |n| {
                // Those at the beginning are the last to be done.
                thread::sleep(std::time::Duration::from_micros(20 * u64::from(*n < 50)));
                n * n
            });
            assert!(squares.iter().zip(&items).all(|(square, n)| *square == n * n), "{batch}");
            assert_eq!(squares.len(), items.len());
        }
        assert!(map(&[] as &[u64], 16, |n| *n).is_empty());
    }

    #[test]
    #[should_panic(expected = "at 77")]
    fn a_panic_is_not_lost() {
        let items: Vec<u64> = (0..100).collect();
        map(&items, 1, |n| assert!(*n != 77, "at {n}"));
    }
}
