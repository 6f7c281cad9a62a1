//! Requests to the API server: JSON in and out, so that nothing is lost of what others wrote into
//! the same objects, and errors that name the verb and what it was about.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::http::header::{ACCEPT, CONTENT_TYPE, DATE};
use axum::http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// Why something could not be done: a sentence with the API server's own words, which for a missing
/// right name the verb, the resource and the account.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{doing}: {said}")]
pub struct Trouble {
    /// What was being done.
    pub doing: String,
    /// What the API server, or the way to it, said.
    pub said: String,
    /// The HTTP status; 0 without an answer.
    pub status: u16,
}

impl Trouble {
    /// Somebody else wrote in between, or made it first.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status == 409
    }
}

/// Something happened, or nobody can say any more whether it did.
pub type Change = Pin<Box<dyn Future<Output = Result<(), Trouble>> + Send>>;

/// A client that remembers what time the API server has. Its clock is the one that certificates
/// are judged by.
pub struct Calls {
    client: Client,
    ahead: AtomicI64,
}

impl Calls {
    /// With this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, ahead: AtomicI64::new(0) }
    }

    /// The API server's time, in seconds since 1970, as of its last answer.
    #[must_use]
    pub fn now(&self) -> i64 {
        OffsetDateTime::now_utc().unix_timestamp() + self.ahead()
    }

    /// So many seconds the API server's clock is ahead of this one.
    #[must_use]
    pub fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Reads an object; none if there is none.
    ///
    /// # Errors
    /// Everything else.
    pub async fn get(&self, what: &str, path: &str) -> Result<Option<Value>, Trouble> {
        let read = self.send(format!("reading {what}"), Method::GET, path, None).await;
        match read {
            Ok(object) => Ok(Some(object)),
            Err(trouble) if trouble.status == 404 => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// A conflict if there is one of that name.
    pub async fn create(&self, what: &str, path: &str, object: &Value) -> Result<Value, Trouble> {
        let body = Some(("application/json", object));
        self.send(format!("creating {what}"), Method::POST, path, body).await
    }

    /// Replaces an object as it was read.
    ///
    /// # Errors
    /// A conflict if it is not that any more.
    pub async fn replace(&self, what: &str, path: &str, object: &Value) -> Result<Value, Trouble> {
        let body = Some(("application/json", object));
        self.send(format!("writing {what}"), Method::PUT, path, body).await
    }

    /// Changes places of an object (RFC 6902).
    ///
    /// # Errors
    /// Also if one of its tests fails.
    pub async fn patch(&self, what: &str, path: &str, patch: &Value) -> Result<Value, Trouble> {
        let body = Some(("application/json-patch+json", patch));
        self.send(format!("writing {what}"), Method::PATCH, path, body).await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// Also if there is none.
    pub async fn delete(&self, what: &str, path: &str, options: &Value) -> Result<Value, Trouble> {
        let body = Some(("application/json", options));
        self.send(format!("deleting {what}"), Method::DELETE, path, body).await
    }

    /// Waits until something happens to what a watch is about. The answer does not depend on this:
    /// whoever asked may go on meanwhile.
    pub fn watch(&self, what: &str, path: &str) -> Change {
        let (client, doing) = (self.client.clone(), format!("watching {what}"));
        let request = Request::get(path).header(ACCEPT, "application/json").body(Body::empty());
        Box::pin(async move {
            let trouble = |said, status| Trouble { doing: doing.clone(), said, status };
            let request = request.map_err(|error| trouble(error.to_string(), 0))?;
            let answer = client.send(request).await;
            let answer = answer.map_err(|error| trouble(reasons(&error), 0))?;
            let status = answer.status().as_u16();
            let mut body = answer.into_body();
            if !(200..300).contains(&status) {
                let bytes = body.collect_bytes().await.unwrap_or_default();
                return Err(trouble(said(&bytes, status), status));
            }
            match body.frame().await {
                Some(Ok(_)) => Ok(()),
                _ => Err(trouble("it ended".to_owned(), 0)),
            }
        })
    }

    async fn send(
        &self,
        doing: String,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, Trouble> {
        let (content_type, body) = match body {
            Some((content_type, body)) => (content_type, body.to_string().into_bytes()),
            None => ("application/json", Vec::new()),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, content_type)
            .header(ACCEPT, "application/json")
            .body(body.into());
        let no_answer = |said: String| Trouble { doing: doing.clone(), said, status: 0 };
        let request = request.map_err(|error| no_answer(error.to_string()))?;
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| no_answer(reasons(&error)))?;
        if let Some(date) = answer.headers().get(DATE).and_then(|date| date.to_str().ok()) {
            // HTTP's date is RFC 2822's with a name for the zone.
            let date = OffsetDateTime::parse(&date.replace("GMT", "+0000"), &Rfc2822);
            if let Ok(date) = date {
                let ahead = date.unix_timestamp() - OffsetDateTime::now_utc().unix_timestamp();
                self.ahead.store(ahead, Ordering::Relaxed);
            }
        }
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect_bytes().await;
        let bytes = bytes.map_err(|error| no_answer(reasons(&error)))?;
        if (200..300).contains(&status) {
            return Ok(serde_json::from_slice(&bytes).unwrap_or_default());
        }
        Err(Trouble { doing, said: said(&bytes, status), status })
    }
}

/// What an API server says in place of an object.
fn said(bytes: &[u8], status: u16) -> String {
    let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
    object["message"].as_str().map_or_else(|| format!("status {status}"), str::to_owned)
}

/// An error and what it comes from: "service error" alone helps nobody.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        source = error.source();
    }
    said
}
