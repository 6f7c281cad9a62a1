//! `jobshape serve`: the webhook.
//!
//! Two listeners, one life. [`bind`] opens both ports, so that whoever needs the real addresses
//! can have them; [`Server::serve`] lives until it is told to stop; [`run`] is the two with the
//! process's signals and its standard output.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub mod body;
pub mod budget;
pub mod certificate;
pub mod client_ca;
pub mod decision;
pub mod decision_log;
pub mod descriptors;
pub mod dev;
pub mod journal;
pub mod listener;
pub mod log;
pub mod metrics;
pub mod operations;
pub mod options;
pub mod recording;
pub mod reload;
pub mod router;
pub mod self_test;
pub mod served;
pub mod shape_files;
mod spool;
pub mod uid;

pub use options::{ClientCa, Limits, Loaded, Options, ServeArgs, Tls};

use certificate::slot::Slot;
use certificate::{CertificateError, Pair};
use client_ca::Verifier;
use decision::Judge;
use dev::DevError;
use journal::{Journal, JournalError};
use listener::tls::Handshakes;
use listener::{Listener, Phase};
use metrics::Metrics;
use metrics::reloads::Source;
use operations::{Operations, Readiness};
use reload::watch::Watch;
use reload::{Followed, Found};
use served::InForce;
use shape_files::ShapeFiles;

/// Why the server could not start; every one is exit status 2.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Flags that do not fit together.
    #[error("{0}")]
    Usage(&'static str),
    /// A certificate that is there and cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The authority of the clients is there and cannot be used.
    #[error("--client-ca: {0}")]
    ClientCa(String),
    /// No throw-away certificate.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// TLS cannot be set up at all.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// A metric that cannot be registered.
    #[error("the metrics cannot be set up: {0}")]
    Metrics(#[from] prometheus::Error),
    /// No decision log, or no recording.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Somebody else has the port.
    #[error("{flag} {address}: another process already listens there")]
    AddressInUse {
        /// The flag that names it.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// The port cannot be opened for another reason.
    #[error("{flag} {address}: {source}")]
    Listen {
        /// The flag that names it.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Signals cannot be received.
    #[error("signals cannot be received: {0}")]
    Signals(io::Error),
    /// The configuration of `--dev` cannot be printed.
    #[error("the configuration cannot be printed: {0}")]
    Print(io::Error),
}

/// A server whose ports are open and who does not answer yet.
pub struct Server {
    webhook: (Listener, Router),
    operations: (Listener, Router),
    webhook_address: SocketAddr,
    operations_address: SocketAddr,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    certificate: Option<(Vec<PathBuf>, Followed<Pair>)>,
    clients: Option<(Vec<PathBuf>, Followed<Verifier>)>,
    shapes: (InForce, Option<ShapeFiles>),
    limits: Limits,
    journal: Arc<Journal>,
    configuration: Option<String>,
}

/// Reads the certificate and opens both ports.
pub fn bind(options: Options) -> Result<Server, ServeError> {
    let Options { loaded, source, tls, clients, listen, ops_listen, limits, journal, decide } =
        options;
    let slot = Arc::new(Slot::empty());
    let mut certificate = None;
    let mut authority = None;
    match tls {
        Tls::Dev { host } => {
            let made = dev::throwaway(&host)?;
            slot.put(made.pair);
            authority = Some((host, made.ca_pem));
        }
        Tls::Files { cert, key } => {
            certificate = Some(follow_certificate(&slot, cert, key)?);
        }
    }
    let metrics = Arc::new(Metrics::new()?);
    let readiness = Arc::new(Readiness::new(Arc::clone(&slot)));
    let (handshakes, clients) = match clients {
        None => (Arc::new(Handshakes::with_any_client(Arc::clone(&slot))?), None),
        Some(clients) => {
            let handshakes = Arc::new(Handshakes::with_known_clients(Arc::clone(&slot)));
            let followed = follow_clients(&handshakes, clients, &readiness)?;
            (handshakes, Some(followed))
        }
    };

    let webhook = Listener {
        socket: open("--listen", listen)?,
        tls: Some(handshakes),
        connections: limits.connections,
        full: router::full(&limits, Arc::clone(&metrics)),
        limits: limits.clone(),
        metrics: Some(Arc::clone(&metrics)),
    };
    let operations = Listener {
        socket: open("--ops-listen", ops_listen)?,
        tls: None,
        connections: limits.ops_connections,
        full: Router::new(),
        limits: Limits { shed_connections: 0, ..limits.clone() },
        metrics: None,
    };
    let webhook_address = address(&webhook, "--listen", listen)?;
    let operations_address = address(&operations, "--ops-listen", ops_listen)?;
    let configuration = authority.map(|(host, ca_pem)| {
        dev::configuration(&host, webhook_address.port(), &ca_pem, &loaded.entries)
    });

    let mistakes = source.as_ref().and_then(|source| source.mistakes.as_ref());
    let (ready, counted) = (Arc::clone(&readiness), Arc::clone(&metrics));
    let (in_force, served) = InForce::begin(loaded, mistakes, ready, counted);
    let judge = Judge { decide, served, metrics: Arc::clone(&metrics), aside: decision::aside() };
    let journal = Arc::new(Journal::start(journal, &metrics)?);
    let shown = Operations {
        readiness: Arc::clone(&readiness),
        certificate: slot,
        metrics: Arc::clone(&metrics),
    };
    Ok(Server {
        webhook: (webhook, router::router(judge, limits.clone(), Arc::clone(&journal))),
        operations: (operations, operations::router(shown)),
        webhook_address,
        operations_address,
        readiness,
        metrics,
        certificate,
        clients,
        shapes: (in_force, source),
        limits,
        journal,
        configuration,
    })
}

/// Reads the pair for the first time, and says how to go on. A broken one is an error now, when
/// somebody looks; later the last good one is kept.
fn follow_certificate(
    slot: &Arc<Slot>,
    cert: PathBuf,
    key: PathBuf,
) -> Result<(Vec<PathBuf>, Followed<Pair>), ServeError> {
    let in_use = match certificate::read(&cert, &key)? {
        // Read again, it is not the same any more only if it has just been replaced.
        Some(pair) => {
            slot.put(pair);
            Some(certificate::look(&cert, &key).content)
        }
        None => None,
    };
    if in_use.is_none() {
        tracing::warn!(reason = Slot::NOTHING, "there is no certificate to serve with");
    }
    let (held, put, wanting) = (Arc::clone(slot), Arc::clone(slot), Arc::clone(slot));
    let watched = vec![cert.clone(), key.clone()];
    let followed = Followed {
        source: Source::Certificate,
        read: Arc::new(move || held.weigh(certificate::look(&cert, &key), SystemTime::now())),
        put: Box::new(move |pair: Pair| {
            let (names, not_after) = (pair.names(), pair.not_after());
            tracing::info!(?names, not_after, "there is a new certificate");
            put.put(pair);
            Ok(())
        }),
        wanting: Box::new(move |why| {
            wanting.complain(why.unwrap_or_else(|| Slot::NOTHING.to_owned()));
        }),
        in_use,
    };
    Ok((watched, followed))
}

/// The same for the authority of the clients.
fn follow_clients(
    handshakes: &Arc<Handshakes>,
    clients: ClientCa,
    readiness: &Arc<Readiness>,
) -> Result<(Vec<PathBuf>, Followed<Verifier>), ServeError> {
    let ClientCa { file, names } = clients;
    let Found { content, value } = client_ca::look(&file, &names);
    let in_use = match value.map_err(ServeError::ClientCa)? {
        Some(verifier) => {
            handshakes.check_clients(verifier)?;
            Some(content)
        }
        None => {
            tracing::warn!(reason = client_ca::NOTHING, "no client is let in");
            readiness.set_clients(Err(client_ca::NOTHING.to_owned()));
            None
        }
    };
    let (handshakes, ready, wanting) =
        (Arc::clone(handshakes), Arc::clone(readiness), Arc::clone(readiness));
    let watched = vec![file.clone()];
    let followed = Followed {
        source: Source::ClientCa,
        read: Arc::new(move || client_ca::look(&file, &names)),
        put: Box::new(move |verifier| {
            handshakes.check_clients(verifier).map_err(|error| error.to_string())?;
            tracing::info!("clients are checked by another authority");
            ready.set_clients(Ok(()));
            Ok(())
        }),
        wanting: Box::new(move |why| {
            let why = why.unwrap_or_else(|| client_ca::NOTHING.to_owned());
            wanting.set_clients(Err(why));
        }),
        in_use,
    };
    Ok((watched, followed))
}

impl Server {
    /// Where the webhook port really is.
    pub fn webhook_address(&self) -> SocketAddr {
        self.webhook_address
    }

    /// Where the operations port really is.
    pub fn operations_address(&self) -> SocketAddr {
        self.operations_address
    }

    /// With `--dev`: what to `kubectl apply`.
    pub fn configuration(&self) -> Option<&str> {
        self.configuration.as_deref()
    }

    /// Whether requests should come; a reload says so here.
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// Serves until `stop`, and goes in three steps: not ready, but serving everybody who does not
    /// know it yet; no more connections, requests in flight finished; the end. The operations port
    /// stays until then, so that probes see it.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        // Dropped with this future, so that none of them outlives it. None ends before: the type
        // says so, and `follow` goes on after a panic.
        let mut followed = JoinSet::new();
        let every = self.limits.poll;
        if let Some((files, certificate)) = self.certificate {
            let metrics = Arc::clone(&self.metrics);
            followed.spawn(certificate.follow(Watch::new(files, every), metrics));
        }
        if let Some((files, clients)) = self.clients {
            followed.spawn(clients.follow(Watch::new(files, every), self.metrics));
        }
        if let (in_force, Some(files)) = self.shapes {
            followed.spawn(in_force.follow(files, every));
        }
        let said = Arc::clone(&self.readiness);
        followed.spawn(async move { said.say_changes(every).await });
        let (phase, phases) = watch::channel(Phase::Serving);
        let (readiness, lame_duck) = (self.readiness, self.limits.lame_duck);
        let (listener, service) = self.webhook;
        let webhook = async {
            tokio::join!(listener.serve(service, phases), async {
                stop.await;
                readiness.drain();
                tracing::info!(?lame_duck, "told to end, still serving");
                phase.send_replace(Phase::LameDuck);
                sleep(lame_duck).await;
                tracing::info!("no more connections, finishing what is in flight");
                phase.send_replace(Phase::Finishing);
            });
        };
        let (end, ends) = watch::channel(Phase::Serving);
        let (listener, service) = self.operations;
        tokio::join!(listener.serve(service, ends), async {
            webhook.await;
            end.send_replace(Phase::Finishing);
        });
    }
}

/// Serves until SIGTERM or SIGINT; a second one does not wait for requests in flight.
pub async fn run(mut options: Options) -> Result<(), ServeError> {
    let mut signals = Signals::new().map_err(ServeError::Signals)?;
    options.limits.connections = descriptors::connections(options.limits.connections);
    let server = bind(options)?;
    tracing::info!(
        webhook = %server.webhook_address(),
        operations = %server.operations_address(),
        "listening"
    );
    if let Some(text) = server.configuration() {
        print(text).map_err(ServeError::Print)?;
    }
    let journal = Arc::clone(&server.journal);
    let (tell, told) = oneshot::channel::<()>();
    let serving = server.serve(async {
        let _ = told.await;
    });
    let told_twice = async {
        signals.next().await;
        drop(tell);
        signals.next().await;
    };
    tokio::select! {
        () = serving => {}
        () = told_twice => tracing::warn!("a second signal: not waiting any longer"),
    }
    // The runtime has nothing else to do any more.
    journal.close();
    Ok(())
}

fn open(flag: &'static str, address: SocketAddr) -> Result<tokio::net::TcpListener, ServeError> {
    listener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::AddressInUse { flag, address },
        _ => ServeError::Listen { flag, address, source },
    })
}

fn address(
    listener: &Listener,
    flag: &'static str,
    address: SocketAddr,
) -> Result<SocketAddr, ServeError> {
    let real = listener.socket.local_addr();
    real.map_err(|source| ServeError::Listen { flag, address, source })
}

/// The last thing on standard output: whoever pipes it into kubectl waits for all of it.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
