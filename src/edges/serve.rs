//! `jobshape serve`: the webhook.
//!
//! Two listeners, one life. [`bind`] opens both ports, so that whoever needs the real addresses
//! can have them; [`Server::serve`] lives until it is told to stop; [`run`] is the two with the
//! process's signals and its standard output.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

pub mod body;
pub mod certificate;
pub mod decision;
pub mod decision_log;
pub mod dev;
pub mod journal;
pub mod listener;
pub mod metrics;
pub mod operations;
pub mod options;
pub mod recording;
pub mod router;
pub mod served;
mod spool;
pub mod uid;

pub use options::{Limits, Loaded, Options, ServeArgs, Tls};

use certificate::{CertificateError, Slot};
use decision::Judge;
use dev::DevError;
use journal::{Journal, JournalError};
use listener::Listener;
use metrics::Metrics;
use operations::{Operations, Readiness};
use served::{Awaited, Served};

/// Why the server could not start; every one is exit status 2.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Flags that do not fit together.
    #[error("{0}")]
    Usage(&'static str),
    /// A certificate that is there and cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
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
    slot: Arc<Slot>,
    awaited: Option<(PathBuf, PathBuf)>,
    served: Arc<Served>,
    awaited_shapes: Option<Awaited>,
    metrics: Arc<Metrics>,
    journal: Arc<Journal>,
    configuration: Option<String>,
}

/// Reads the certificate and opens both ports.
pub fn bind(options: Options) -> Result<Server, ServeError> {
    let Options { loaded, awaited_shapes, tls, listen, ops_listen, limits, journal, decide } =
        options;
    let slot = Arc::new(Slot::empty());
    let mut awaited = None;
    let mut authority = None;
    match tls {
        Tls::Dev { host } => {
            let made = dev::throwaway(&host)?;
            slot.put(made.pair);
            authority = Some((host, made.ca_pem));
        }
        Tls::Files { cert, key } => match certificate::read(&cert, &key)? {
            Some(pair) => slot.put(pair),
            None => awaited = Some((cert, key)),
        },
    }

    let metrics = Arc::new(Metrics::new()?);
    metrics.reviews.set_shapes(&loaded.info);
    let readiness = Arc::new(Readiness::new(Arc::clone(&slot)));
    match &awaited_shapes {
        None => {
            readiness.set_shapes(Ok(()));
            readiness.set_self_test(loaded.self_test);
        }
        Some(awaited) => readiness.set_shapes(Err(awaited.mistakes.reason())),
    }

    let webhook = Listener {
        socket: open("--listen", listen)?,
        tls: Some(listener::tls(Arc::clone(&slot))?),
        connections: limits.connections,
        limits: limits.clone(),
        metrics: Some(Arc::clone(&metrics)),
    };
    let operations = Listener {
        socket: open("--ops-listen", ops_listen)?,
        tls: None,
        connections: limits.ops_connections,
        limits: limits.clone(),
        metrics: None,
    };
    let webhook_address = address(&webhook, "--listen", listen)?;
    let operations_address = address(&operations, "--ops-listen", ops_listen)?;
    let configuration = authority.map(|(host, ca_pem)| {
        dev::configuration(&host, webhook_address.port(), &ca_pem, &loaded.entries)
    });

    let journal = Arc::new(Journal::start(journal, &metrics)?);
    let served = Arc::new(Served::new(loaded.shapes));
    let judge = Judge { decide, served: Arc::clone(&served), metrics: Arc::clone(&metrics) };
    let shown = Operations {
        readiness: Arc::clone(&readiness),
        certificate: Arc::clone(&slot),
        metrics: Arc::clone(&metrics),
    };
    Ok(Server {
        webhook: (webhook, router::router(judge, limits, Arc::clone(&journal))),
        operations: (operations, operations::router(shown)),
        webhook_address,
        operations_address,
        readiness,
        slot,
        awaited,
        served,
        awaited_shapes,
        metrics,
        journal,
        configuration,
    })
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

    /// Serves until `stop`: not ready from then on, requests in flight finished. The operations
    /// port stays until the end, so that probes see it.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let awaiting = self
            .awaited
            .map(|(cert, key)| tokio::spawn(certificate::wait(Arc::clone(&self.slot), cert, key)));
        let awaiting_shapes = self.awaited_shapes.map(|awaited| {
            let readiness = Arc::clone(&self.readiness);
            tokio::spawn(served::wait(awaited, self.served, readiness, self.metrics))
        });
        let readiness = self.readiness;
        let (listener, service) = self.webhook;
        let webhook = listener.serve(service, async {
            stop.await;
            readiness.drain();
            tracing::info!("draining");
        });
        let (finish, finished) = oneshot::channel::<()>();
        let (listener, service) = self.operations;
        let operations = listener.serve(service, async {
            // An error only means that the sender is gone, which says the same.
            let _ = finished.await;
        });
        tokio::join!(operations, async {
            webhook.await;
            drop(finish);
        });
        for awaiting in awaiting.into_iter().chain(awaiting_shapes) {
            awaiting.abort();
        }
    }
}

/// Serves until SIGTERM or SIGINT; a second one does not wait for requests in flight.
pub async fn run(options: Options) -> Result<(), ServeError> {
    let mut signals = Signals::new().map_err(ServeError::Signals)?;
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
