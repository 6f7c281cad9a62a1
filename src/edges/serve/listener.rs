//! The accept loop: the part of a server that a hostile or careless client meets first.
//!
//! `axum::serve` has neither TLS nor time-outs, and hyper's automatic builder never times out a
//! client that says nothing, so both are done here. No client can hold up another one: the
//! handshake happens in the connection's own task. No client can stay for nothing: handshake,
//! headers, body and answer have each an end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus::IntGauge;
use rustls::ServerConfig;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::certificate::{Slot, provider};
use super::metrics::Metrics;
use super::metrics::traffic::HandshakeFailure;
use super::options::Limits;

/// After an accept error that concerns the process (no file descriptor left) and not one client:
/// long enough not to spin, short enough not to be noticed.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections the kernel may hold for us, as when all slots are taken.
const BACKLOG: i32 = 1024;

/// A read buffer a connection may grow to; also the most that headers may take.
const BUFFER: usize = 64 * 1024;

/// Opens a listening socket. The IPv6 wildcard takes IPv4 too, and becomes the IPv4 wildcard
/// where the kernel has no IPv6.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    bind_by(open, address)
}

fn bind_by<T>(open: fn(SocketAddr) -> io::Result<T>, address: SocketAddr) -> io::Result<T> {
    match open(address) {
        Err(error)
            if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
                && !matches!(
                    error.kind(),
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
                ) =>
        {
            // Kernels say it in more than one way. If IPv4 fails too, the first error is the one
            // that belongs to what was asked for.
            open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()))).or(Err(error))
        }
        result => result,
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // The default is the kernel's, and some distributions turn it round.
        socket.set_only_v6(false)?;
    }
    // A restart must not wait for the last run's connections to be forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// TLS 1.2 and 1.3 with whatever certificate the slot holds at the moment of a handshake.
///
/// HTTP/1.1 only: the API server speaks nothing else to a webhook, and what is not offered
/// cannot be attacked.
pub fn tls(slot: Arc<Slot>) -> Result<TlsAcceptor, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(slot);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A bound port and how its connections are treated.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// TLS, or plain.
    pub tls: Option<TlsAcceptor>,
    /// Most connections at a time; more wait in the kernel.
    pub connections: u32,
    /// How long everything may take.
    pub limits: Limits,
    /// Where connections and failed handshakes are counted; nowhere for the operations port.
    pub metrics: Option<Arc<Metrics>>,
}

impl Listener {
    /// Serves until `stop`, then takes no more connections, lets those with a request in flight
    /// finish it, and cuts what is left after `limits.drain`.
    pub async fn serve(self, router: Router, stop: impl Future<Output = ()>) {
        let Self { socket, tls, connections, limits, metrics } = self;
        let slots = Arc::new(Semaphore::new(connections as usize));
        // True says finish. Dropping the sender says stop at once, which also happens when this
        // future is dropped: no connection outlives it.
        let (draining, drained) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            let (stream, slot) = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&socket, &slots) => match accepted {
                    Some(accepted) => accepted,
                    None => break,
                },
            };
            let connection = Connection {
                router: router.clone(),
                tls: tls.clone(),
                limits: limits.clone(),
                metrics: metrics.clone(),
                draining: drained.clone(),
            };
            tokio::spawn(async move {
                connection.run(stream).await;
                drop(slot);
            });
        }
        drop(socket);
        draining.send_replace(true);
        // Every connection holds a slot, so all slots together mean that none is left.
        if timeout(limits.drain, slots.acquire_many(connections)).await.is_err() {
            tracing::warn!("connections were cut because they did not finish in time");
        }
    }
}

/// The next connection, once there is a slot for it. A slot is taken first so that a client who
/// cannot be served waits in the kernel and costs nothing here.
async fn accept(
    socket: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    loop {
        match socket.accept().await {
            Ok((stream, _)) => return Some((stream, slot)),
            Err(error) if concerns_one_client(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Errors of a client that left between connecting and being accepted.
fn concerns_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

struct Connection {
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    metrics: Option<Arc<Metrics>>,
    draining: watch::Receiver<bool>,
}

impl Connection {
    async fn run(mut self, stream: TcpStream) {
        let _open = self.metrics.as_ref().map(|metrics| Open::new(&metrics.traffic.connections));
        // Neither changes what is said, only how soon: failing to set them is no reason to refuse.
        let _ = stream.set_nodelay(true);
        give_up_after(&stream, self.limits.write);
        let Some(tls) = self.tls.take() else { return self.speak(stream).await };
        let mut draining = self.draining.clone();
        let handshake = tokio::select! {
            handshake = timeout(self.limits.handshake, tls.accept(stream)) => handshake,
            _ = draining.wait_for(|draining| *draining) => return,
        };
        let error = match handshake {
            Ok(Ok(stream)) => return self.speak(stream).await,
            // A port scan, a load balancer's probe: nothing that somebody must look at.
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the client took too long".to_owned(),
        };
        if let Some(metrics) = &self.metrics {
            metrics.traffic.handshake_failed(HandshakeFailure::Other);
        }
        // Among them is the API server saying "bad certificate": a wrong caBundle.
        tracing::info!(error, "a TLS handshake failed");
    }

    async fn speak<S>(mut self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // Also the limit of an idle kept-alive connection.
            .header_read_timeout(self.limits.header)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            result = connection.as_mut() => return ended(result),
            _ = self.draining.wait_for(|draining| *draining) => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            result = connection.as_mut() => ended(result),
            // Never true, so this ends only when the sender is gone.
            _ = self.draining.wait_for(|_| false) => {}
        }
    }
}

/// How a connection ended is the client's affair, and of interest only when one looks for it.
fn ended(result: Result<(), hyper::Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "a connection broke");
    }
}

/// hyper waits for ever for a client that asks and does not read. The kernel does not have to.
#[cfg(target_os = "linux")]
fn give_up_after(stream: &TcpStream, time: Duration) {
    let _ = SockRef::from(stream).set_tcp_user_timeout(Some(time));
}

#[cfg(not(target_os = "linux"))]
fn give_up_after(_stream: &TcpStream, _time: Duration) {}

/// Counts an open connection for as long as it lives.
struct Open(IntGauge);

impl Open {
    fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::{Error, ErrorKind};

    const ANY: &str = "[::]:8443";

    fn no_ipv6(address: SocketAddr) -> io::Result<SocketAddr> {
        if address.is_ipv6() { Err(Error::from(ErrorKind::Unsupported)) } else { Ok(address) }
    }

    #[test]
    fn without_ipv6_the_wildcard_becomes_the_ipv4_one() {
        let bound = bind_by(no_ipv6, ANY.parse().unwrap()).unwrap();
        assert_eq!(bound, "0.0.0.0:8443".parse().unwrap());
        // An address that somebody chose is not exchanged for a wider one.
        assert!(bind_by(no_ipv6, "[::1]:8443".parse().unwrap()).is_err());
    }

    #[test]
    fn a_port_in_use_is_not_tried_elsewhere() {
        fn in_use(address: SocketAddr) -> io::Result<SocketAddr> {
            if address.is_ipv6() { Err(Error::from(ErrorKind::AddrInUse)) } else { Ok(address) }
        }
        assert!(bind_by(in_use, ANY.parse().unwrap()).is_err());
    }

    #[tokio::test]
    async fn the_ipv6_wildcard_takes_ipv4_too() {
        let socket = bind("[::]:0".parse().unwrap()).unwrap();
        let port = socket.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        timeout(Duration::from_secs(5), socket.accept()).await.unwrap().unwrap();
    }

    #[test]
    fn only_a_client_that_left_is_passed_over_at_once() {
        assert!(concerns_one_client(&Error::from(ErrorKind::ConnectionAborted)));
        // EMFILE
        assert!(!concerns_one_client(&Error::from_raw_os_error(24)));
    }
}
