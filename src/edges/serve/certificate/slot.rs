//! Where the serving certificate is held while it is used: a new pair can be put in while
//! connections go on.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Pair;

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
        // The process stays alive and is not ready: whoever looks at the log first has to see why.
        if let Some(problem) = pair.problem(SystemTime::now()) {
            tracing::warn!(problem, "not ready");
        }
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Ok(pair);
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
}
