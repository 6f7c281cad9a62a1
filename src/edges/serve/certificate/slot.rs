//! Where the serving certificate is held while it is used: a new pair can be put in while
//! connections go on.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Pair;
use crate::edges::serve::reload::{self, Found};

/// The place the listener takes the certificate from, anew for every handshake.
#[derive(Debug)]
pub struct Slot {
    held: RwLock<Result<Pair, String>>,
}

impl Slot {
    /// What is said while the files are absent or empty.
    pub const NOTHING: &str = "no certificate yet";

    /// A slot with nothing in it; handshakes fail until there is.
    pub fn empty() -> Self {
        Self { held: RwLock::new(Err(Self::NOTHING.to_owned())) }
    }

    /// Puts a pair in: new handshakes get it, open connections live on.
    pub fn put(&self, pair: Pair) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Ok(pair);
    }

    /// What was found, unless that would make a server not ready that is: all replicas get the same
    /// files at the same time. What is not valid yet has another mark when it is.
    pub fn weigh(&self, found: Found<Pair>, now: SystemTime) -> Found<Pair> {
        let Ok(Some(pair)) = &found.value else { return found };
        match pair.problem(now) {
            Some(problem) if self.problem(now).is_none() => {
                Found { content: reload::mark(&(found.content, &problem)), value: Err(problem) }
            }
            _ => found,
        }
    }

    /// Why this slot cannot be served from now, or nothing.
    pub fn problem(&self, now: SystemTime) -> Option<String> {
        match &*self.held.read().unwrap_or_else(PoisonError::into_inner) {
            Ok(pair) => pair.problem(now),
            Err(reason) => Some(reason.clone()),
        }
    }

    /// The end of the validity of what is held, in seconds since 1970; 0 while nothing is.
    pub fn not_after(&self) -> i64 {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map_or(0, Pair::not_after)
    }

    /// Says why there is still nothing; never displaces a pair that is there.
    pub fn complain(&self, reason: String) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_err_and(|old| *old != reason) {
            tracing::warn!(reason, "there is no certificate to serve with");
            *held = Err(reason);
        }
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().ok().map(|pair| Arc::clone(&pair.certified))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::serve::dev;

    #[test]
    fn a_complaint_never_displaces_a_pair() {
        let slot = Slot::empty();
        assert_eq!(slot.problem(SystemTime::now()).unwrap(), "no certificate yet");
        assert_eq!(slot.not_after(), 0);
        slot.complain("half a file".to_owned());
        assert_eq!(slot.problem(SystemTime::now()).unwrap(), "half a file");
        slot.put(dev::throwaway(dev::LOOPBACK).ok().unwrap().pair);
        slot.complain("half a file".to_owned());
        assert_eq!(slot.problem(SystemTime::now()), None);
    }

    #[test]
    fn a_pair_that_can_be_served_is_not_displaced_by_one_that_cannot() {
        let pair = || dev::throwaway(dev::LOOPBACK).ok().unwrap().pair;
        let slot = Slot::empty();
        let found = |not_before, not_after| Found {
            content: 1,
            value: Ok(Some(Pair { not_before, not_after, ..pair() })),
        };
        let now = SystemTime::now();
        assert!(slot.weigh(found(0, 1), now).value.is_ok(), "there is nothing better");
        slot.put(pair());
        let expired = slot.weigh(found(0, 1), now);
        assert_eq!(expired.value.err().unwrap(), "the certificate has expired");
        let early = slot.weigh(found(i64::MAX - 1, i64::MAX), now);
        assert_eq!(early.value.err().unwrap(), "the certificate is not valid yet");
        let good = slot.weigh(found(0, i64::MAX), now);
        assert!(good.value.is_ok() && good.content == 1 && early.content != 1);
        // When what is held has expired too, whatever comes is no worse.
        let later = now + std::time::Duration::from_secs(100 * 365 * 86_400);
        assert!(slot.weigh(found(0, 1), later).value.is_ok());
    }
}
