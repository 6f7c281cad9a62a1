//! A decision that lasts as long as a test wants.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::until;

/// Holds decisions on large bodies, which have threads of their own: a held one must hold nobody
/// else.
pub struct Hold {
    held: AtomicBool,
    begun: AtomicBool,
}

impl Hold {
    /// Nothing is held yet. One for each test: they run at the same time.
    pub const fn new() -> Self {
        Self { held: AtomicBool::new(false), begun: AtomicBool::new(false) }
    }

    /// From now on decisions are held.
    pub fn begin(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    /// Lets them go.
    pub fn end(&self) {
        self.held.store(false, Ordering::SeqCst);
    }

    /// Waits until one is held.
    pub async fn until_one_is_held(&self) {
        until(async || self.begun.load(Ordering::SeqCst)).await;
    }

    /// What a decision on a body does first.
    pub fn decide(&self, body: &[u8]) {
        while body.len() > 64 * 1024 && self.held.load(Ordering::SeqCst) {
            self.begun.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
