//! What there is: authorities, the certificate, what API servers are told, what replicas show.

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
    /// Who signed the certificate, if API servers trust it and it is none of the authorities.
    pub stranger: Option<Trusted>,
    /// The fingerprints of what replicas say that they show; none if nobody could be asked.
    pub shown: Option<Vec<String>>,
}

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

    /// Nothing, if there is nobody to sign, or if somebody will and it is not known who does now.
    #[must_use]
    pub fn if_whole(self) -> Option<Self> {
        let is_whole = self.signer.is_some() || (self.next.is_some() && !self.previous.is_empty());
        is_whole.then_some(self)
    }

    /// With one more whose certificates may be shown. Whoever would sign has to wait: it may never
    /// have been trusted.
    #[must_use]
    pub fn adopt(self, stranger: Trusted) -> Self {
        let mut previous = self.previous;
        previous.push(stranger);
        Self { signer: None, next: self.signer.or(self.next), previous }
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
