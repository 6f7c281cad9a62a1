//! The accept loop: the part of a server that a hostile or careless client meets first.
//!
//! `axum::serve` has neither TLS nor time-outs, and hyper's automatic builder never times out a
//! client that says nothing, so both are done here. No client can hold up another one: the
//! handshake happens in the connection's own task. No client can stay for nothing: handshake,
//! headers, body and answer have each an end, and who is of no use makes room for others.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::metrics::Metrics;
use super::options::Limits;

mod bind;
mod connection;
mod phase;
pub mod registry;
pub mod tls;

pub use bind::bind;
use connection::Connection;
pub use phase::Phase;
use registry::{Admission, Place, Registry, Standing};
use tls::Handshakes;

/// After an accept error that concerns the process (no file descriptor left) and not one client:
/// long enough not to spin, short enough not to be noticed.
const PAUSE: Duration = Duration::from_millis(100);

/// The same when a connection is just being closed to get a descriptor back, or its place.
const MOMENT: Duration = Duration::from_millis(5);

/// How long nothing more is said of accept errors.
const QUIET: Duration = Duration::from_secs(10);

/// All that a connection gets which is only to hear that there is no room.
const SHORT: Duration = Duration::from_secs(10);

/// A bound port and how its connections are treated.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// TLS, or plain.
    pub tls: Option<Arc<Handshakes>>,
    /// Most connections at a time.
    pub connections: u32,
    /// Who answers when none of them can make room for another one.
    pub full: Router,
    /// How long everything may take.
    pub limits: Limits,
    /// Where connections and failed handshakes are counted; nowhere for the operations port.
    pub metrics: Option<Arc<Metrics>>,
}

impl Listener {
    /// Serves until the phase says to finish, then takes no more connections, lets those with a
    /// request in flight finish it, and cuts what is left after `limits.drain`. Dropped, it cuts
    /// all of them at once.
    pub async fn serve(self, router: Router, phase: watch::Receiver<Phase>) {
        let Limits { shed_connections, grace, .. } = self.limits;
        let registry = Registry::new(self.connections, shed_connections, grace);
        let mut connections = JoinSet::new();
        let (mut finishing, mut told) = (phase.clone(), None);
        loop {
            let stream = tokio::select! {
                biased;
                _ = finishing.wait_for(|phase| *phase == Phase::Finishing) => break,
                Some(_) = connections.join_next() => continue,
                stream = self.accept(&registry, &mut told) => stream,
            };
            let mut admission = registry.admit();
            // Those behind it wait in the kernel: nobody is sent away unheard.
            while matches!(admission, Admission::Wait) && *phase.borrow() != Phase::Finishing {
                sleep(MOMENT).await;
                while connections.try_join_next().is_some() {}
                admission = registry.admit();
            }
            match admission {
                Admission::In(place) => {
                    self.count_eviction(place.evicted);
                    let connection = self.connection(router.clone(), &place, &phase);
                    connections.spawn(async move {
                        connection.run(stream).await;
                        drop(place);
                    });
                }
                Admission::Shed(permit) => {
                    let standing = Arc::<Standing>::default();
                    let connection = self.with(self.full.clone(), standing, &phase, true);
                    connections.spawn(async move {
                        let _ = timeout(SHORT, connection.run(stream)).await;
                        drop(permit);
                    });
                }
                Admission::Wait => break,
            }
        }
        drop(self.socket);
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(self.limits.drain, all).await.is_err() {
            tracing::warn!("connections were cut because they did not finish in time");
        }
    }

    /// The next connection.
    async fn accept(&self, registry: &Registry, told: &mut Option<Instant>) -> TcpStream {
        loop {
            let error = match self.socket.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => error,
            };
            if concerns_one_client(&error) {
                continue;
            }
            if let Some(metrics) = &self.metrics {
                metrics.traffic.accept_errors.inc();
            }
            let room = registry.make_room();
            self.count_eviction(room);
            // It would be said hundreds of times a second.
            if told.is_none_or(|told| told.elapsed() > QUIET) {
                tracing::warn!(%error, "connections cannot be accepted");
                *told = Some(Instant::now());
            }
            sleep(if room { MOMENT } else { PAUSE }).await;
        }
    }

    fn connection(
        &self,
        router: Router,
        place: &Place,
        phase: &watch::Receiver<Phase>,
    ) -> Connection {
        self.with(router, Arc::clone(&place.standing), phase, false)
    }

    fn with(
        &self,
        router: Router,
        standing: Arc<Standing>,
        phase: &watch::Receiver<Phase>,
        once: bool,
    ) -> Connection {
        Connection {
            router,
            tls: self.tls.clone(),
            limits: self.limits.clone(),
            metrics: self.metrics.clone(),
            phase: phase.clone(),
            standing,
            once,
        }
    }

    fn count_eviction(&self, evicted: bool) {
        if let Some(metrics) = self.metrics.as_ref().filter(|_| evicted) {
            metrics.traffic.evicted.inc();
        }
    }
}

/// Errors of a client that left between connecting and being accepted.
fn concerns_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::{Error, ErrorKind};

    #[test]
    fn only_a_client_that_left_is_passed_over_at_once() {
        assert!(concerns_one_client(&Error::from(ErrorKind::ConnectionAborted)));
        // EMFILE
        assert!(!concerns_one_client(&Error::from_raw_os_error(24)));
    }
}
