//! For how long it has been so.

use std::time::Duration;

use super::seen::{Authority, Seen};

/// For how long something has been so without a break, as this process saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Every entry of the configuration has had the bundle that there is now, or there was none.
    pub trusted: Option<Duration>,
    /// Every replica has shown the certificate that is stored.
    pub shown: Option<Duration>,
}

/// What is told from several looks, one after the other. The times are those of a clock that does
/// not jump.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    trusted: Since,
    shown: Since,
    last: Option<Duration>,
}

impl Watched {
    /// For how long it has been as it is seen now. Nobody knows what was while nobody looked: after
    /// a gap as long as what is waited for, it begins again.
    pub fn look(&mut self, seen: &Seen, now: Duration, settle: Duration) -> Held {
        if self.last.replace(now).is_some_and(|last| now.saturating_sub(last) > settle) {
            *self = Self { last: self.last, ..Self::default() };
        }
        let bundle = seen.authority.as_ref().map(Authority::bundle);
        let leaf = seen.serving.leaf.as_ref().map(|leaf| leaf.fingerprint.clone());
        Held {
            trusted: self.trusted.look(bundle.filter(|_| seen.is_trusted()), now),
            shown: self.shown.look(leaf.filter(|_| seen.is_shown()), now),
        }
    }
}

/// Since when something has been the same.
#[derive(Debug, Clone, Default)]
pub struct Since(Option<(String, Duration)>);

impl Since {
    /// For how long it has been this; nothing if it is none.
    pub fn look(&mut self, what: Option<String>, now: Duration) -> Option<Duration> {
        let is_new = self.0.as_ref().map(|(before, _)| before) != what.as_ref();
        if is_new {
            self.0 = what.map(|what| (what, now));
        }
        self.0.as_ref().map(|(_, since)| now.saturating_sub(*since))
    }
}
