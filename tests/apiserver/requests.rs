//! Requests to the API server as bytes and JSON, so that nothing is lost in a typed struct that is
//! older or newer than the server.

use axum::http::{HeaderMap, HeaderValue, Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use super::Failure;

/// What the server answered, whatever it was.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body: JSON, or a JSON string holding what was no JSON.
    pub body: Value,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
}

/// A request that the server accepted.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The object as the server answers it.
    pub object: Value,
    /// What kubectl would print as warnings.
    pub warnings: Vec<String>,
}

/// A request that the server refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status; 0 when the connection ended without an answer.
    pub code: u16,
    /// The machine-readable reason of the `Status`.
    pub reason: String,
    /// The message of the `Status`, or what else the server answered.
    pub message: String,
    /// What kubectl would print as warnings.
    pub warnings: Vec<String>,
}

impl Refusal {
    /// Whether an admission webhook said no, rather than RBAC, validation, or a failed call.
    pub fn is_by_webhook(&self) -> bool {
        self.message.starts_with("admission webhook ")
    }

    /// Whether a webhook could not be asked and its failure policy is to refuse.
    pub fn is_failed_call(&self) -> bool {
        self.code == 500 && self.message.contains("failed calling webhook")
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl Answer {
    /// Success or refusal, by the status.
    pub fn into_result(self) -> Result<Accepted, Refusal> {
        if (200..300).contains(&self.status) {
            return Ok(Accepted { object: self.body, warnings: self.warnings });
        }
        let text = |key| self.body.get(key).and_then(Value::as_str).map(str::to_owned);
        Err(Refusal {
            code: self.status,
            reason: text("reason").unwrap_or_default(),
            message: text("message").unwrap_or_else(|| self.body.to_string()),
            warnings: self.warnings,
        })
    }
}

/// Success or refusal; no answer is a refusal too.
fn accepted(sent: Result<Answer, Failure>) -> Result<Accepted, Refusal> {
    sent.map_err(|failure| Refusal {
        code: 0,
        reason: String::new(),
        message: failure.to_string(),
        warnings: Vec::new(),
    })
    .and_then(Answer::into_result)
}

/// One identity's connection to the server. It belongs to the tokio runtime it was opened on.
#[derive(Clone)]
pub struct Session {
    client: kube::Client,
}

impl Session {
    /// Opens one with a kubeconfig.
    pub async fn open(kubeconfig: &Value) -> Result<Self, Failure> {
        let doing = "reading the kubeconfig of the cluster";
        let kubeconfig: Kubeconfig =
            serde_json::from_value(kubeconfig.clone()).map_err(Failure::during(doing))?;
        let options = KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(Failure::during(doing))?;
        // A test counts what a webhook is asked; a silent second request would spoil that.
        config.default_retry = false;
        let client = kube::Client::try_from(config).map_err(Failure::during("making a client"))?;
        Ok(Session { client })
    }

    /// The typed client, for callers that want one.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Sends anything.
    pub async fn send(
        &self,
        method: Method,
        path_and_query: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Answer, Failure> {
        let doing = || format!("{method} {path_and_query}");
        let request = Request::builder()
            .method(method.clone())
            .uri(path_and_query)
            .header("Content-Type", content_type)
            .header("Accept", "application/json")
            .body(body.into())
            .map_err(Failure::during(doing()))?;
        let answer = self.client.send(request).await.map_err(Failure::during(doing()))?;
        let status = answer.status().as_u16();
        let warnings = warnings(answer.headers());
        let bytes = answer.into_body().collect_bytes().await.map_err(Failure::during(doing()))?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Answer { status, body, warnings })
    }

    /// Reads something.
    pub async fn get(&self, path_and_query: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, path_and_query, "application/json", Vec::new()).await
    }

    /// Sends JSON and tells success from refusal. A connection that ends without an answer, which
    /// a panicking API server does, is a refusal with code 0.
    pub async fn submit(
        &self,
        method: Method,
        path_and_query: &str,
        body: &Value,
    ) -> Result<Accepted, Refusal> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        accepted(self.send(method, path_and_query, content_type, body).await)
    }

    /// Applies an object on the server's side, as whoever the query's `fieldManager` names.
    pub async fn apply(&self, path_and_query: &str, object: &Value) -> Result<Accepted, Refusal> {
        let body = object.to_string().into_bytes();
        let sent = self.send(Method::PATCH, path_and_query, "application/apply-patch+yaml", body);
        accepted(sent.await)
    }

    /// Creates a Job.
    pub async fn create_job(&self, namespace: &str, job: &Value) -> Result<Accepted, Refusal> {
        self.submit(Method::POST, &jobs(namespace), job).await
    }

    /// Asks what creating a Job would do: the whole way through admission, and nothing is stored.
    pub async fn dry_run_job(&self, namespace: &str, job: &Value) -> Result<Accepted, Refusal> {
        self.submit(Method::POST, &format!("{}?dryRun=All", jobs(namespace)), job).await
    }
}

fn jobs(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// The texts of `299 - "..."` headers, unquoted.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    headers.get_all("warning").iter().filter_map(warning).collect()
}

fn warning(header: &HeaderValue) -> Option<String> {
    let header = String::from_utf8_lossy(header.as_bytes());
    let quoted = header.splitn(3, ' ').nth(2)?;
    let mut characters = quoted.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            other => text.push(other),
        }
    }
}
