//! A client that sends many reviews, or many Jobs: one connection a client, kept alive or not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Where a server is and whom it is trusted by.
#[derive(Clone)]
pub struct Target {
    /// Its address; the certificate is checked against the IP.
    pub address: SocketAddr,
    tls: TlsConnector,
    /// A header with who asks, for an API server.
    pub authorization: Option<String>,
}

impl Target {
    /// A server whose certificate one of these authorities (PEM) has signed.
    ///
    /// # Errors
    /// A PEM that holds no certificate.
    pub fn new(address: SocketAddr, authorities: &[&str]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for pem in authorities {
            let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|e| e.to_string())?;
            roots.add(der).map_err(|e| e.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(config));
        Ok(Self { address, tls, authorization: None })
    }

    /// A connection with TLS and nothing said on it yet.
    ///
    /// # Errors
    /// What the system or TLS said.
    pub async fn connect(&self) -> Result<TlsStream<TcpStream>, String> {
        let stream = TcpStream::connect(self.address).await.map_err(|e| format!("connect: {e}"))?;
        let _ = stream.set_nodelay(true);
        let name = ServerName::IpAddress(self.address.ip().into());
        self.tls.connect(name, stream).await.map_err(|e| format!("handshake: {e}"))
    }
}

/// What a server answered.
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// One client: a connection that is opened when there is none, and kept if the server keeps it.
pub struct Client {
    target: Target,
    keep: bool,
    open: Option<(SendRequest<Full<Bytes>>, JoinHandle<()>)>,
    /// How many connections it has opened.
    pub opened: u64,
}

impl Client {
    /// A client that keeps its connection, or one that opens a new one for each request.
    pub fn new(target: Target, keep: bool) -> Self {
        Self { target, keep, open: None, opened: 0 }
    }

    /// Sends a POST of JSON and reads the whole answer, within `patience`.
    ///
    /// # Errors
    /// What went wrong: connecting, the connection's end, the time.
    pub async fn post(
        &mut self,
        path: &str,
        body: Bytes,
        patience: Duration,
    ) -> Result<Reply, String> {
        let sent = timeout(patience, self.send(path, body)).await;
        let result = sent.unwrap_or_else(|_| Err(format!("no answer in {patience:?}")));
        if result.is_err() || !self.keep {
            self.close();
        }
        result
    }

    /// Opens its connection, if there is none. One that the server has closed is replaced, as a pool
    /// does.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn connect(&mut self) -> Result<(), String> {
        if self.open.as_ref().is_some_and(|(sender, _)| sender.is_closed()) {
            self.close();
        }
        if self.open.is_none() {
            let stream = self.target.connect().await?;
            let (sender, connection) = handshake(TokioIo::new(stream))
                .await
                .map_err(|e| format!("beginning HTTP: {e}"))?;
            let driver = tokio::spawn(async move {
                let _ = connection.await;
            });
            self.open = Some((sender, driver));
            self.opened += 1;
        }
        Ok(())
    }

    async fn send(&mut self, path: &str, body: Bytes) -> Result<Reply, String> {
        self.connect().await?;
        let Some((sender, _)) = &mut self.open else { return Err("no connection".to_owned()) };
        sender.ready().await.map_err(|e| format!("waiting for the connection: {e}"))?;
        let mut request = Request::post(path)
            .header("Host", self.target.address.to_string())
            .header("Content-Type", "application/json");
        if let Some(authorization) = &self.target.authorization {
            request = request.header("Authorization", authorization);
        }
        let request = request.body(Full::new(body)).map_err(|e| e.to_string())?;
        let answer = sender.send_request(request).await.map_err(|e| said(&e))?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(|e| said(&e))?.to_bytes();
        Ok(Reply { status: parts.status, headers: parts.headers, body })
    }

    fn close(&mut self) {
        if let Some((sender, driver)) = self.open.take() {
            drop(sender);
            driver.abort();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

/// An error of hyper and what lies under it.
fn said(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(under) = source {
        text.push_str(": ");
        text.push_str(&under.to_string());
        source = under.source();
    }
    text
}
