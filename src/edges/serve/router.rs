//! The two paths of the webhook port, and what is answered when a request never becomes a
//! decision.
//!
//! To the API server every status other than 2xx is a failed call: the user sees "failed calling
//! webhook" instead of our sentence, and failurePolicy decides. So as soon as a uid could be read
//! the answer is a review with HTTP 200.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::time::Instant;

use super::body::{self, Failure, Trouble};
use super::budget::Budget;
use super::decision::Judge;
use super::journal::Journal;
use super::listener::registry::Standing;
use super::metrics::Metrics;
use super::metrics::traffic::{Held, Shed};
use super::options::Limits;
use super::uid;
use crate::formats::review::{Answer, Entrance, undecided};

/// The path of the entry whose failurePolicy is Fail.
pub const ENFORCE: &str = "/validate/enforce";
/// The path of the entry whose failurePolicy is Ignore.
pub const AUDIT: &str = "/validate/audit";

/// Longest `?timeout=` that is believed; the API server allows no more.
const LONGEST: Duration = Duration::from_secs(30);

/// What answering needs.
pub struct Reviews {
    judge: Judge,
    limits: Limits,
    budget: Budget,
    journal: Arc<Journal>,
}

/// The service of the webhook port.
pub fn router(judge: Judge, limits: Limits, journal: Arc<Journal>) -> Router {
    let held = judge.metrics.traffic.body_bytes.clone();
    let budget = Budget::new(limits.bodies_bytes, limits.first_bytes, limits.stall, held);
    let reviews = Arc::new(Reviews { judge, limits, budget, journal });
    Router::new()
        .route(ENFORCE, post(enforce))
        .route(AUDIT, post(audit))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(reviews)
}

/// The service of a connection for which there is no room: whatever is asked, come again.
pub fn full(limits: &Limits, metrics: Arc<Metrics>) -> Router {
    let (most, time) = (limits.body_bytes, limits.handshake);
    Router::new().fallback(async move |request: Request| {
        metrics.traffic.shed(Shed::Connections);
        body::discard(request.into_body(), most, Instant::now() + time).await;
        come_again()
    })
}

/// The API server does, within the webhook's `timeoutSeconds`, because of the header.
fn come_again() -> Response {
    let text = "jobshape has too much to do just now; ask again in a second\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], text).into_response()
}

async fn enforce(State(reviews): State<Arc<Reviews>>, request: Request) -> Response {
    reviews.review(Entrance::Enforce, request).await
}

async fn audit(State(reviews): State<Arc<Reviews>>, request: Request) -> Response {
    reviews.review(Entrance::Audit, request).await
}

async fn unknown_path() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "jobshape answers POST /validate/enforce and POST /validate/audit\n")
}

async fn wrong_method() -> (StatusCode, &'static str) {
    (StatusCode::METHOD_NOT_ALLOWED, "send an AdmissionReview with POST\n")
}

impl Reviews {
    async fn review(&self, entrance: Entrance, request: Request) -> Response {
        let deadline = Instant::now() + patience(request.uri().query(), &self.limits);
        let _in_flight = Held::one(&self.judge.metrics.traffic.in_flight);
        let standing = request.extensions().get::<Arc<Standing>>().cloned();
        let body = request.into_body();
        let received = body::receive(body, self.limits.body_bytes, &self.budget, deadline).await;
        if let Some(standing) = standing {
            standing.judging();
        }
        let answer = match received {
            Ok(body) => {
                self.journal.received(entrance, &body.bytes);
                self.judge.judge(entrance, body, deadline).await
            }
            Err(failure) => self.failed(entrance, &failure),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => {
                self.judge.metrics.traffic.shed(reason);
                let mut response = come_again();
                // The rest of its body would be taken for the next request.
                if reason == Shed::Stalled {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                return response;
            }
        };
        self.journal.answered(entrance, &answer.record);
        response(answer)
    }

    fn failed(&self, entrance: Entrance, failure: &Failure) -> Result<Answer, Shed> {
        let (code, message) = match failure.trouble {
            Trouble::TooLarge => {
                self.judge.metrics.traffic.oversize.inc();
                let limit = self.limits.body_bytes;
                (413, format!("the request has more than {limit} bytes"))
            }
            Trouble::Late => {
                self.judge.metrics.traffic.late.inc();
                (408, "the request's body did not arrive in time".to_owned())
            }
            Trouble::Crowded => return Err(Shed::Bodies),
            Trouble::Stalled => return Err(Shed::Stalled),
            Trouble::Broken => (400, "the request's body broke off".to_owned()),
        };
        Ok(undecided(entrance, uid::scan(&failure.head), code, &message))
    }
}

/// How long the caller will wait, less what it takes to be heard.
fn patience(query: Option<&str>, limits: &Limits) -> Duration {
    let parameters = query.unwrap_or_default().split('&');
    let mut timeouts = parameters.filter_map(|parameter| parameter.strip_prefix("timeout="));
    let seconds = timeouts.next().and_then(|value| value.strip_suffix('s'));
    match seconds.and_then(|seconds| seconds.parse().ok()) {
        Some(0) | None => limits.body_time,
        Some(seconds) => Duration::from_secs(seconds).min(LONGEST).saturating_sub(limits.spare),
    }
}

fn response(answer: Answer) -> Response {
    let kind = if answer.http == 200 { "application/json" } else { "text/plain; charset=utf-8" };
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_patience_is_believed_within_reason() {
        let limits = Limits::default();
        let after = |query| patience(Some(query), &limits).as_millis();
        assert_eq!(after("timeout=5s"), 4_800);
        assert_eq!(after("a=b&timeout=1s"), 800);
        assert_eq!(after("timeout=3600s"), 29_800);
        for nonsense in
            ["", "timeout=", "timeout=s", "timeout=0s", "timeout=-1s", "timeout=5", "xtimeout=5s"]
        {
            assert_eq!(after(nonsense), 10_000, "{nonsense}");
        }
        assert_eq!(patience(None, &limits).as_millis(), 10_000);
    }
}
