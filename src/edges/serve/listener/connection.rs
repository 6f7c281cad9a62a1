//! One connection, from the first byte to the last.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::phase::Phase;
use super::registry::{End, Standing};
use super::tls::{Handshakes, failure};
use crate::edges::serve::metrics::Metrics;
use crate::edges::serve::metrics::traffic::{HandshakeFailure, Held};
use crate::edges::serve::options::Limits;

/// A read buffer a connection may grow to; also the most that headers may take.
const BUFFER: usize = 64 * 1024;

/// What a connection that makes room for another one gets to end its answer.
const LAST: Duration = Duration::from_secs(1);

/// What serving one connection needs.
pub struct Connection {
    /// Who answers.
    pub router: Router,
    /// TLS, or plain.
    pub tls: Option<Arc<Handshakes>>,
    /// How long everything may take.
    pub limits: Limits,
    /// Where it is counted.
    pub metrics: Option<Arc<Metrics>>,
    /// When to finish.
    pub phase: watch::Receiver<Phase>,
    /// What it is doing.
    pub standing: Arc<Standing>,
    /// Whether its first answer is its last.
    pub once: bool,
}

impl Connection {
    /// Serves it to its end.
    pub async fn run(mut self, stream: TcpStream) {
        let _open = self.metrics.as_ref().map(|metrics| Held::one(&metrics.traffic.connections));
        // Neither changes what is said, only how soon: failing to set them is no reason to refuse.
        let _ = stream.set_nodelay(true);
        give_up_after(&stream, self.limits.write);
        let Some(tls) = self.tls.take() else { return self.speak(stream).await };
        // Nobody is let in before it is known who may be.
        let Some(acceptor) = tls.acceptor() else { return };
        let mut phase = self.phase.clone();
        let handshake = tokio::select! {
            handshake = timeout(self.limits.handshake, acceptor.accept(stream)) => handshake,
            _ = phase.wait_for(|phase| *phase == Phase::Finishing) => return,
            _ = self.standing.must_end() => return,
        };
        let (reason, error) = match handshake {
            Ok(Ok(stream)) => {
                self.standing.greeted();
                return self.speak(stream).await;
            }
            Ok(Err(error)) => match failure(&error) {
                Some(reason) => (reason, error),
                None => return,
            },
            Err(_) => (HandshakeFailure::Timeout, io::Error::other("the client took too long")),
        };
        if let Some(metrics) = &self.metrics {
            metrics.traffic.handshake_failed(reason);
        }
        tls.say(reason, &error);
    }

    async fn speak<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { router, limits, mut phase, standing, once, .. } = self;
        let inner = TowerToHyperService::new(router);
        let old = if once { Instant::now() } else { Instant::now() + age(limits.age) };
        let (of_answers, about) = (phase.clone(), Arc::clone(&standing));
        let service = service_fn(move |mut request: Request<Incoming>| {
            about.receiving();
            request.extensions_mut().insert(Arc::clone(&about));
            let (answer, about, phase) = (inner.call(request), about.clone(), of_answers.clone());
            async move {
                let mut response = answer.await?;
                about.answered(response.status() == StatusCode::OK);
                // An idle connection is never closed for its age: a request could be on its way
                // into it. The client who is told closes it, and opens another one elsewhere.
                if *phase.borrow() != Phase::Serving || Instant::now() >= old {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // Also the limit of an idle kept-alive connection.
            .header_read_timeout(limits.header)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let last = tokio::select! {
            result = connection.as_mut() => return ended(result),
            _ = phase.wait_for(|phase| *phase == Phase::Finishing) => None,
            end = standing.must_end() => match end {
                End::Cut => return,
                End::Finish => Some(LAST),
            },
        };
        connection.as_mut().graceful_shutdown();
        match last {
            None => ended(connection.await),
            Some(last) => timeout(last, connection).await.map_or((), ended),
        }
    }
}

/// A fifth more or less, or all the connections that a restart brought together would be opened
/// anew together.
fn age(mean: Duration) -> Duration {
    mean.mul_f64(0.8 + 0.4 * fastrand::f64())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_within_a_fifth_and_not_the_same_for_all() {
        let ages: Vec<Duration> = (0..100).map(|_| age(Duration::from_secs(600))).collect();
        assert!(ages.iter().all(|age| (480..=720).contains(&age.as_secs())), "{ages:?}");
        assert!(ages.windows(2).any(|two| two[0].abs_diff(two[1]) > Duration::from_secs(10)));
    }
}
