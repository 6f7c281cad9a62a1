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

/// A certificate that others chain to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// Itself.
    pub pem: String,
    /// Tells it from any other.
    pub fingerprint: String,
    /// The beginning of its validity, in seconds since 1970.
    pub from: i64,
    /// The end.
    pub to: i64,
}

/// An authority that can sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Its certificate.
    pub certificate: Trusted,
    /// Its key, PEM.
    pub key: String,
}

/// What is stored of authorities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Authority {
    /// Who signs. Nobody while the first one after a loss is not trusted everywhere.
    pub signer: Option<Signer>,
    /// Who will sign as soon as everybody trusts it.
    pub next: Option<Signer>,
    /// Whose certificates may still be shown.
    pub previous: Vec<Trusted>,
}

/// What is stored for the replicas.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Serving {
    /// The certificate, if there is one that can be served.
    pub leaf: Option<Leaf>,
    /// The authorities beside it.
    pub bundle: String,
}

/// A certificate to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Tells it from any other.
    pub fingerprint: String,
    /// The fingerprint of the authority that signed it, if it is a known one.
    pub by: Option<String>,
    /// The beginning of its validity, in seconds since 1970.
    pub from: i64,
    /// The end.
    pub to: i64,
    /// Whether it is for every name that it has to be for.
    pub names: bool,
}

/// What the configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configuration {
    /// It could not be read, or not written.
    Unknown,
    /// There is none, or it has no entry: nobody calls.
    Absent,
    /// The bundle of each entry.
    Entries(Vec<String>),
}

/// Everything that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The stored authorities; none if they are absent or useless.
    pub authority: Option<Authority>,
    /// What is stored for the replicas.
    pub serving: Serving,
    /// What the API servers are told.
    pub configuration: Configuration,
    /// The fingerprints of what replicas say that they show; none if nobody could be asked.
    pub shown: Option<Vec<String>>,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Make the first authority, or the first after a loss.
    Begin,
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
    pub const WRITES: [Self; 7] = [
        Self::Begin,
        Self::Announce,
        Self::Publish,
        Self::Promote,
        Self::Issue,
        Self::Show,
        Self::Forget,
    ];

    /// The word in labels and log lines.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Begin => "begin",
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
}

impl Watched {
    /// For how long it has been as it is seen now.
    pub fn look(&mut self, seen: &Seen, now: Duration) -> Held {
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

/// Of what is waited for until nobody trusts the old authority any more, so many times as long:
/// there is no hurry, and a replica may have started with an old Secret and not have said so yet.
pub const PATIENCE: u32 = 5;

impl Authority {
    /// The first one. What may be shown already stays trusted, and then the new one must be
    /// trusted before it signs.
    #[must_use]
    pub fn begin(signer: Signer, previous: Vec<Trusted>) -> Self {
        match previous.is_empty() {
            true => Self { signer: Some(signer), next: None, previous },
            false => Self { signer: None, next: Some(signer), previous },
        }
    }

    /// With another one on its way. One that was on its way before has signed nothing.
    #[must_use]
    pub fn announce(self, next: Signer) -> Self {
        Self { next: Some(next), ..self }
    }

    /// With the next one signing.
    #[must_use]
    pub fn promote(self) -> Self {
        let Some(next) = self.next else { return self };
        let mut previous = self.previous;
        previous.extend(self.signer.map(|signer| signer.certificate));
        Self { signer: Some(next), next: None, previous }
    }

    /// Without those that signed before.
    #[must_use]
    pub fn forget(self) -> Self {
        Self { previous: Vec::new(), ..self }
    }

    /// Every authority to trust, oldest first.
    pub fn trusted(&self) -> impl Iterator<Item = &Trusted> {
        let signers = [&self.signer, &self.next].into_iter().flatten();
        self.previous.iter().chain(signers.map(|signer| &signer.certificate))
    }

    /// The same as the API server reads it.
    #[must_use]
    pub fn bundle(&self) -> String {
        self.trusted().map(|trusted| trusted.pem.as_str()).collect()
    }
}

impl Seen {
    /// Whether every API server is told to trust all there is to trust.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        let Some(authority) = &self.authority else { return false };
        match &self.configuration {
            Configuration::Unknown => false,
            Configuration::Absent => true,
            Configuration::Entries(bundles) => {
                let bundle = authority.bundle();
                bundles.iter().all(|entry| *entry == bundle)
            }
        }
    }

    /// Whether all replicas, of which there is one at least, show the certificate that is stored.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let (Some(shown), Some(leaf)) = (&self.shown, &self.serving.leaf) else { return false };
        !shown.is_empty() && shown.iter().all(|shown| *shown == leaf.fingerprint)
    }
}

/// The next step.
#[must_use]
pub fn next(seen: &Seen, held: Held, now: i64, settle: Duration) -> Step {
    let Some(authority) = &seen.authority else {
        // What it says may be the only trace of who is trusted.
        return match seen.configuration {
            Configuration::Unknown => Step::Rest(Rest::Configuration),
            _ => Step::Begin,
        };
    };
    let Authority { signer, next, previous } = authority;
    let is_due = |signer: &Signer| {
        let Trusted { from, to, .. } = signer.certificate;
        now < from || now >= share_of_life((from, to), 2, 3)
    };
    match next {
        None if signer.as_ref().is_none_or(is_due) => return Step::Announce,
        // It waited so long for somebody that it would have to be replaced at once.
        Some(next) if is_due(next) && held.trusted.is_none_or(|held| held < settle) => {
            return Step::Announce;
        }
        _ => {}
    }
    if !seen.is_trusted() && seen.configuration != Configuration::Unknown {
        return Step::Publish;
    }
    if next.is_some() && held.trusted.is_some_and(|held| held >= settle) {
        return Step::Promote;
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
