//! What happens on the webhook port before and beside a decision.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use super::put;

/// Why a TLS handshake failed. The words are labels, so there is one for everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The client did not finish in time.
    Timeout,
    /// The client says that it does not trust the certificate: most often a wrong caBundle.
    BadCertificate,
    /// What came was no TLS.
    NotTls,
    /// Client and server have no TLS version or cipher in common.
    NothingInCommon,
    /// A client certificate is wanted and there was none, or another one.
    ClientCertificate,
    /// Anything else.
    Other,
}

impl HandshakeFailure {
    const ALL: [Self; 6] = [
        Self::Timeout,
        Self::BadCertificate,
        Self::NotTls,
        Self::NothingInCommon,
        Self::ClientCertificate,
        Self::Other,
    ];

    /// The word in labels and log lines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::BadCertificate => "bad_certificate",
            Self::NotTls => "not_tls",
            Self::NothingInCommon => "nothing_in_common",
            Self::ClientCertificate => "client_certificate",
            Self::Other => "other",
        }
    }
}

/// Why a request was told to come again instead of being judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shed {
    /// Too many connections, all of them busy.
    Connections,
    /// The bodies in flight have used up their memory.
    Bodies,
    /// The body stood still while others needed its memory.
    Stalled,
    /// Too many large bodies wait to be judged.
    Decisions,
}

impl Shed {
    const ALL: [Self; 4] = [Self::Connections, Self::Bodies, Self::Stalled, Self::Decisions];

    fn word(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Bodies => "bodies",
            Self::Stalled => "stalled",
            Self::Decisions => "decisions",
        }
    }
}

/// The metrics of the webhook port.
pub struct Traffic {
    /// Open connections.
    pub connections: IntGauge,
    /// Connections closed to make room for another one.
    pub evicted: IntCounter,
    /// Connections that could not be accepted.
    pub accept_errors: IntCounter,
    /// Requests whose headers have come and whose answer has not gone.
    pub in_flight: IntGauge,
    /// Bytes of bodies held.
    pub body_bytes: IntGauge,
    /// Decisions that panicked and were answered as errors.
    pub panics: IntCounter,
    /// Requests whose body was larger than the limit.
    pub oversize: IntCounter,
    /// Requests that were not judged within the caller's time.
    pub late: IntCounter,
    handshakes: IntCounterVec,
    shed: IntCounterVec,
}

impl Traffic {
    /// Registers them, the known label sets at 0.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| put(registry, IntGauge::new(name, help)?);
        let counter = |name, help| put(registry, IntCounter::new(name, help)?);
        let labelled = |name, help, labels: &[&str]| {
            put(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let traffic = Self {
            connections: gauge("jobshape_connections", "Open connections on the webhook port.")?,
            evicted: counter(
                "jobshape_connections_evicted_total",
                "Connections closed to make room for another one.",
            )?,
            accept_errors: counter(
                "jobshape_accept_errors_total",
                "Connections that could not be accepted.",
            )?,
            in_flight: gauge("jobshape_requests_in_flight", "Requests not answered yet.")?,
            body_bytes: gauge("jobshape_body_bytes", "Bytes of request bodies held in memory.")?,
            panics: counter(
                "jobshape_panics_total",
                "Decisions that panicked and were answered as errors.",
            )?,
            oversize: counter(
                "jobshape_oversize_total",
                "Requests whose body was larger than the limit.",
            )?,
            late: counter(
                "jobshape_late_total",
                "Requests that were not judged within the caller's time.",
            )?,
            handshakes: labelled(
                "jobshape_handshake_errors_total",
                "TLS handshakes that failed or took too long, by reason.",
                &["reason"],
            )?,
            shed: labelled(
                "jobshape_shed_total",
                "Requests that were told to come again instead of being judged, by reason.",
                &["reason"],
            )?,
        };
        for reason in HandshakeFailure::ALL {
            traffic.handshakes.with_label_values(&[reason.word()]).reset();
        }
        for reason in Shed::ALL {
            traffic.shed.with_label_values(&[reason.word()]).reset();
        }
        Ok(traffic)
    }

    /// Counts a handshake that failed.
    pub fn handshake_failed(&self, reason: HandshakeFailure) {
        self.handshakes.with_label_values(&[reason.word()]).inc();
    }

    /// Counts a request that was told to come again.
    pub fn shed(&self, reason: Shed) {
        self.shed.with_label_values(&[reason.word()]).inc();
    }
}

/// What a gauge counts for as long as this lives.
#[derive(Debug)]
pub struct Held {
    gauge: IntGauge,
    amount: i64,
}

impl Held {
    /// One more.
    pub fn one(gauge: &IntGauge) -> Self {
        let mut held = Self::nothing(gauge);
        held.more(1);
        held
    }

    /// Nothing yet.
    pub fn nothing(gauge: &IntGauge) -> Self {
        Self { gauge: gauge.clone(), amount: 0 }
    }

    /// So many more.
    pub fn more(&mut self, amount: usize) {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        self.gauge.add(amount);
        self.amount += amount;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gauge.sub(self.amount);
    }
}
