//! What to do next, decided from what is there and nothing else: no clock, no cluster, no keys.
//!
//! A call succeeds when what a replica shows chains to what an API server trusts, and both lag
//! behind what is stored. So an authority is trusted everywhere before anything is signed by it,
//! and stays trusted until nothing signed by it is shown any more. Each step is one write, and each
//! write leaves something from which the next step can be told: whoever crashes begins here again.
//!
//! Nothing that could break a chain depends on the time of day. When it jumps, certificates may be
//! made too early or too late, but an authority that something may still chain to stays trusted.

use std::time::Duration;

use super::authority::SKEW;
use seen::{Authority, Configuration, Seen, Signer, Trusted};
use watched::Held;

pub mod seen;
pub mod watched;

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Make the first authority, or the first after a loss.
    Begin,
    /// Go on trusting whoever signed what is shown: what is stored of authorities is older than that.
    Adopt,
    /// Make the next authority.
    Announce,
    /// Write the bundle into every entry of the configuration.
    Publish,
    /// Let the next authority sign.
    Promote,
    /// Sign a new certificate.
    Issue,
    /// Write the bundle beside the certificate.
    Show,
    /// Trust only who signs.
    Forget,
    /// Nothing now.
    Rest(Rest),
}

impl Step {
    /// All that write.
    pub const WRITES: [Self; 8] = [
        Self::Begin,
        Self::Adopt,
        Self::Announce,
        Self::Publish,
        Self::Promote,
        Self::Issue,
        Self::Show,
        Self::Forget,
    ];

    /// Those after whose failure the others still have a point.
    pub const DISPENSABLE: [Self; 3] = [Self::Announce, Self::Publish, Self::Promote];

    /// The word in labels and log lines.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Adopt => "adopt",
            Self::Announce => "announce",
            Self::Publish => "publish",
            Self::Promote => "promote",
            Self::Issue => "issue",
            Self::Show => "show",
            Self::Forget => "forget",
            Self::Rest(_) => "rest",
        }
    }

    /// What has been done then.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Begin => "there is a new authority",
            Self::Adopt => {
                "whoever signed the certificate stays trusted, though it is not the stored authority"
            }
            Self::Announce => "there is a new authority, which signs nothing before it is trusted",
            Self::Publish => "the webhook configuration names whom to trust",
            Self::Promote => "the new authority signs from now on",
            Self::Issue => "there is a new certificate",
            Self::Show => "the authorities beside the certificate are those that are trusted",
            Self::Forget => "the old authority is not trusted any more",
            Self::Rest(_) => "there is nothing to do",
        }
    }
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: all is as it should be.
    Done,
    /// The configuration.
    Configuration,
    /// API servers, to see what it says.
    Trust,
    /// Replicas, to show the certificate that is stored.
    Replicas,
}

/// Of what is waited for until nobody trusts the old authority any more, so many times as long:
/// there is no hurry, and a replica may have started with an old Secret and not have said so yet.
pub const PATIENCE: u32 = 5;

/// The next step that is none of those that failed just now: what cannot be done to one object must
/// not keep another one from being renewed.
#[must_use]
pub fn next(seen: &Seen, held: Held, now: i64, settle: Duration, failed: &[Step]) -> Step {
    let can = |step| !failed.contains(&step);
    let Some(authority) = &seen.authority else {
        // What it says may be the only trace of who is trusted.
        return match seen.configuration {
            Configuration::Unknown => Step::Rest(Rest::Configuration),
            _ => Step::Begin,
        };
    };
    let Authority { signer, next, previous } = authority;
    if seen.stranger.is_some() {
        return Step::Adopt;
    }
    let is_due = |signer: &Signer| {
        let Trusted { from, to, .. } = signer.certificate;
        now < from || now >= share_of_life((from, to), 2, 3)
    };
    let is_settled = held.trusted.is_some_and(|held| held >= settle);
    let is_missing = match next {
        None => signer.as_ref().is_none_or(is_due),
        // It waited so long for somebody that it would have to be replaced at once.
        Some(next) => is_due(next) && !is_settled,
    };
    if is_missing && can(Step::Announce) {
        return Step::Announce;
    }
    let is_told = seen.is_trusted() || seen.configuration == Configuration::Unknown;
    if !is_told && can(Step::Publish) {
        return Step::Publish;
    }
    if next.is_some() && is_settled && can(Step::Promote) {
        return Step::Promote;
    }
    let is_foreign = seen.serving.leaf.as_ref().is_some_and(|leaf| leaf.by.is_none());
    if is_foreign && seen.configuration == Configuration::Unknown {
        // Whoever signed it may be the only one who is trusted.
        return Step::Rest(Rest::Configuration);
    }
    if let Some(signer) = signer {
        let is_good = seen.serving.leaf.as_ref().is_some_and(|leaf| {
            let by_signer = leaf.by.as_ref() == Some(&signer.certificate.fingerprint);
            // A new one could not be any longer than one that ends with its authority.
            let is_longest = leaf.to >= signer.certificate.to;
            let is_young = now < share_of_life((leaf.from, leaf.to), 2, 3);
            let is_begun = leaf.from <= now.max(signer.certificate.from);
            by_signer && leaf.names && is_begun && (is_young || is_longest)
        });
        if !is_good {
            return Step::Issue;
        }
        if seen.serving.bundle != authority.bundle() {
            return Step::Show;
        }
    }
    let is_forgotten = held.shown.is_some_and(|held| held >= settle * PATIENCE);
    match (next, previous.is_empty(), &seen.configuration) {
        (None, false, _) if is_forgotten => Step::Forget,
        (_, _, Configuration::Unknown | Configuration::Absent) => Step::Rest(Rest::Configuration),
        (Some(_), ..) => Step::Rest(Rest::Trust),
        (None, false, _) => Step::Rest(Rest::Replicas),
        (None, true, _) => Step::Rest(Rest::Done),
    }
}

/// The moment at which so much of a life is over. Certificates begin earlier than they are made.
fn share_of_life((from, to): (i64, i64), part: i64, whole: i64) -> i64 {
    let made = from + i64::try_from(SKEW.as_secs()).unwrap_or_default();
    // A life that ends before it was made is over.
    made + (to - made).max(0) / whole * part
}

#[cfg(test)]
mod tests;
