//! What people are told: metrics, and lines of the log.

use std::time::{Duration, Instant};

use super::calls::Trouble;
use super::metrics::Metrics;
use super::objects::Objects;
use super::state::Rest;
use super::state::seen::{Configuration, Seen};
use super::state::watched::Since;

/// After so long, replicas that do not take up a new certificate are said in the log.
const LONG: Duration = Duration::from_secs(600);

/// What was told already.
pub struct Told {
    began: Instant,
    /// Since when replicas show another certificate than this one.
    waiting: Since,
    rested: Option<Rest>,
    is_said: bool,
    is_blind: bool,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            waiting: Since::default(),
            rested: None,
            is_said: false,
            is_blind: false,
        }
    }
}

impl Told {
    /// Puts what is seen into the metrics.
    pub fn measure(&mut self, metrics: &Metrics, ahead: i64, seen: &Seen, objects: &Objects) {
        metrics.ahead.set(ahead);
        let authority = seen.authority.as_ref();
        let signer = authority.and_then(|authority| authority.signer.as_ref());
        metrics.authority_not_after.set(signer.map_or(0, |signer| signer.certificate.to));
        metrics.certificate_not_after.set(seen.serving.leaf.as_ref().map_or(0, |leaf| leaf.to));
        let count = authority.map_or(0, |authority| authority.trusted().count());
        metrics.authorities.set(i64::try_from(count).unwrap_or(i64::MAX));

        // Only while somebody has to be forgotten does it matter what they show.
        let leaf = seen.serving.leaf.as_ref().filter(|leaf| {
            let is_by_signer =
                signer.map(|signer| &signer.certificate.fingerprint) == leaf.by.as_ref();
            let is_over = authority.is_none_or(|authority| authority.previous.is_empty());
            is_by_signer && !is_over && !seen.is_shown()
        });
        let waits_for = leaf.map(|leaf| leaf.fingerprint.clone());
        let waited = self.waiting.look(waits_for, self.began.elapsed()).unwrap_or_default();
        metrics.waiting.set(i64::try_from(waited.as_secs()).unwrap_or(i64::MAX));
        if waited < LONG {
            self.is_said = false;
        } else if !self.is_said {
            self.is_said = true;
            let others = objects
                .shown
                .iter()
                .filter(|(_, shown)| Some(shown) != leaf.map(|l| &l.fingerprint));
            let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
            tracing::warn!(
                replicas = others.join(", "),
                "the old authority stays trusted: these replicas do not show the new certificate, or none says what it shows (--publish)"
            );
        }
    }

    /// Puts into the log what is waited for, once.
    pub fn say(&mut self, rest: Rest, seen: &Seen, name: &str, troubles: &[Trouble]) {
        // What could not be done says more.
        if !troubles.is_empty() || seen.configuration == Configuration::Unknown {
            self.rested = None;
            return;
        }
        if self.rested.replace(rest) == Some(rest) {
            return;
        }
        match rest {
            Rest::Done => {
                tracing::info!("certificate, authority and configuration are as they should be")
            }
            Rest::Configuration => tracing::warn!(
                configuration = name,
                "there is no webhook configuration, or none with an entry: the authority is written into it as soon as there is"
            ),
            Rest::Trust => {
                tracing::info!("waiting until every API server trusts the new authority")
            }
            Rest::Replicas => {
                tracing::info!("waiting until every replica shows the new certificate")
            }
        }
    }

    /// Changes of the configuration are not heard of. That a watch ends some time is no news.
    pub fn cannot_watch(&mut self, trouble: &Trouble) {
        if trouble.status != 0 && !std::mem::replace(&mut self.is_blind, true) {
            let trouble = trouble.to_string();
            tracing::warn!(
                trouble,
                "changes of the configuration are only seen some seconds later"
            );
        }
    }

    /// Something was written: what is waited for is news again.
    pub fn took(&mut self) {
        self.rested = None;
    }
}
