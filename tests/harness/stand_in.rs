//! A webhook that answers every review the same: just enough to see that the API server of the
//! harness reaches one over TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::Listener;
use axum::{Router, body::Bytes, routing::post};
use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::generate_simple_self_signed;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::apiserver::Cluster;

/// A running webhook; it ends with the runtime of the test.
pub struct StandIn {
    port: u16,
    certificate: String,
}

impl StandIn {
    /// Starts one that gives this response, apart from the uid.
    pub async fn start(cluster: &Cluster, response: Value) -> Self {
        let host = cluster.webhook_host().to_owned();
        let made = generate_simple_self_signed(vec![host]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::from(key))
            .unwrap();
        let tcp = TcpListener::bind((cluster.webhook_bind_address(), 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let listener = Tls { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) };
        let answer = move |review: Bytes| async move {
            let review: Value = serde_json::from_slice(&review).unwrap();
            let mut response = response.clone();
            response["uid"] = review["request"]["uid"].clone();
            let review = json!({
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": response,
            });
            ([("content-type", "application/json")], review.to_string())
        };
        let router = Router::new().route("/review", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        StandIn { port, certificate: made.cert.pem() }
    }

    /// A configuration that sends it every new Job.
    pub fn configuration(&self, cluster: &Cluster) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "stand-in"},
            "webhooks": [{
                "name": "stand-in.jobshape.dev",
                "clientConfig": {
                    "url": cluster.webhook_url(self.port, "review"),
                    "caBundle": STANDARD.encode(&self.certificate),
                },
                "rules": [{
                    "apiGroups": ["batch"], "apiVersions": ["v1"],
                    "resources": ["jobs"], "operations": ["CREATE"],
                }],
                "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
            }],
        })
    }
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, from)) = self.tcp.accept().await else { continue };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
