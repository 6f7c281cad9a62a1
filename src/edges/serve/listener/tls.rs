//! TLS 1.2 and 1.3, and why a handshake failed.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::server::danger::ClientCertVerifier;
use rustls::{AlertDescription, Error, ServerConfig};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::edges::serve::certificate::provider;
use crate::edges::serve::certificate::slot::Slot;
use crate::edges::serve::metrics::traffic::HandshakeFailure;

/// How handshakes are answered from now on; replaceable while connections go on.
pub struct Handshakes {
    slot: Arc<Slot>,
    config: RwLock<Option<Arc<ServerConfig>>>,
    said: Mutex<HashMap<&'static str, (Instant, u64)>>,
}

/// How long nothing more is said of handshakes that fail for the same reason.
const QUIET: Duration = Duration::from_secs(10);

impl Handshakes {
    /// With whatever certificate the slot holds at the moment of a handshake, for any client.
    pub fn with_any_client(slot: Arc<Slot>) -> Result<Self, Error> {
        let config = config(Arc::clone(&slot), None)?;
        Ok(Self { slot, config: RwLock::new(Some(Arc::new(config))), said: Mutex::default() })
    }

    /// The same for clients that somebody has to vouch for; none is let in until
    /// [`Handshakes::check_clients`] says by what.
    pub fn with_known_clients(slot: Arc<Slot>) -> Self {
        Self { slot, config: RwLock::new(None), said: Mutex::default() }
    }

    /// From now on clients are checked by this. Sessions of clients that another one let in cannot
    /// be resumed: the memory of them goes with the configuration.
    pub fn check_clients(&self, verifier: Arc<dyn ClientCertVerifier>) -> Result<(), Error> {
        let config = config(Arc::clone(&self.slot), Some(verifier))?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(config));
        Ok(())
    }

    /// For one handshake. Nothing while it is not known which clients to let in.
    pub fn acceptor(&self) -> Option<TlsAcceptor> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        config.clone().map(TlsAcceptor::from)
    }

    /// Says that a handshake failed, now and then: whoever can connect could otherwise fill the log
    /// until everything else has gone from it.
    pub fn say(&self, reason: HandshakeFailure, error: &io::Error) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let more = match said.get_mut(reason.word()) {
            Some((last, more)) if last.elapsed() < QUIET => {
                *more += 1;
                return;
            }
            Some((_, more)) => *more,
            None => 0,
        };
        said.insert(reason.word(), (Instant::now(), 0));
        drop(said);
        // Among them is the API server saying "bad certificate": a wrong caBundle.
        tracing::info!(reason = reason.word(), %error, more, "a TLS handshake failed");
    }
}

/// HTTP/1.1 only: the API server speaks nothing else to a webhook, and what is not offered
/// cannot be attacked.
fn config(
    slot: Arc<Slot>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?;
    let builder = match clients {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(slot);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Why a handshake failed. Nothing for a client that just left: a port scan, a load balancer's
/// probe, nothing that somebody must look at.
pub fn failure(error: &io::Error) -> Option<HandshakeFailure> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    if matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe) {
        return None;
    }
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    Some(inner.map_or(HandshakeFailure::Other, reason))
}

fn reason(error: &Error) -> HandshakeFailure {
    use AlertDescription as Alert;
    match error {
        Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::DecryptError,
        ) => HandshakeFailure::BadCertificate,
        Error::AlertReceived(Alert::ProtocolVersion | Alert::HandshakeFailure)
        | Error::PeerIncompatible(_)
        | Error::NoApplicationProtocol => HandshakeFailure::NothingInCommon,
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::PeerSentOversizedRecord => HandshakeFailure::NotTls,
        Error::NoCertificatesPresented | Error::InvalidCertificate(_) => {
            HandshakeFailure::ClientCertificate
        }
        _ => HandshakeFailure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::serve::decision_log::tests::log_of;

    #[test]
    fn failed_handshakes_do_not_fill_the_log() {
        let handshakes = Handshakes::with_known_clients(Arc::new(Slot::empty()));
        let error = io::Error::other("no");
        let log = log_of(|| {
            for _ in 0..100 {
                handshakes.say(HandshakeFailure::NotTls, &error);
            }
            handshakes.say(HandshakeFailure::BadCertificate, &error);
            let long_ago = Instant::now().checked_sub(QUIET).unwrap();
            handshakes.said.lock().unwrap().get_mut("not_tls").unwrap().0 = long_ago;
            handshakes.say(HandshakeFailure::NotTls, &error);
        });
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 3, "{log}");
        assert!(lines[0].contains("\"more\":0") && lines[1].contains("bad_certificate"), "{log}");
        assert!(lines[2].contains("not_tls") && lines[2].contains("\"more\":99"), "{log}");
    }
}
