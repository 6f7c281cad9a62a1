//! Receiving a body: never more than a limit, never longer than a deadline, and never, over all
//! connections together, more than one budget. hyper itself bounds none of the three. A body that
//! stands still gives way to one that comes.

use axum::body::Body;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::budget::{Budget, Refused, Share};
use super::uid;

/// An oversize body is read on, up to so many times the limit, and thrown away: a client that is
/// still sending does not hear an answer, and its connection would be reset under the answer.
const PATIENCE: usize = 4;

/// What is set aside at once for a body that announces its length. More only as bytes arrive: an
/// announcement costs nothing.
const FIRST: usize = 64 * 1024;

/// A whole body, and its share of the budget for as long as it lives.
pub struct Received {
    /// The bytes.
    pub bytes: Vec<u8>,
    _share: Share,
}

/// A body that did not become whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub trouble: Trouble,
    /// What arrived first, enough to look for a uid in.
    pub head: Vec<u8>,
}

/// What can happen to a body on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is larger than the limit.
    TooLarge,
    /// It did not end before the deadline.
    Late,
    /// The budget is used up by others.
    Crowded,
    /// It stood still while others came.
    Stalled,
    /// The connection or its framing broke.
    Broken,
}

/// Receives `body`.
pub async fn receive(
    mut body: Body,
    limit: usize,
    budget: &Budget,
    deadline: Instant,
) -> Result<Received, Failure> {
    use axum::body::HttpBody as _;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(announced.min(FIRST).min(limit));
    let mut share = budget.share();
    loop {
        let frame = tokio::select! {
            biased;
            frame = timeout_at(deadline, body.frame()) => frame,
            // Who sends nothing need not be read on to hear the answer.
            () = share.put_out() => return Err(failure(Trouble::Stalled, bytes)),
        };
        let frame = match frame {
            Err(_) => return Err(failure(Trouble::Late, bytes)),
            Ok(Some(Err(_))) => return Err(failure(Trouble::Broken, bytes)),
            Ok(None) if share.whole().is_err() => return Err(failure(Trouble::Stalled, bytes)),
            Ok(None) => return Ok(Received { bytes, _share: share }),
            Ok(Some(Ok(frame))) => frame,
        };
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len().saturating_add(data.len()) > limit {
            // A limit below the head's length must not hide the uid.
            let missing = uid::WITHIN.saturating_sub(bytes.len()).min(data.len());
            bytes.extend(data.iter().take(missing));
            drop(share);
            let failure = failure(Trouble::TooLarge, bytes);
            discard(body, limit.saturating_mul(PATIENCE), deadline).await;
            return Err(failure);
        }
        if let Err(refused) = share.charge(bytes.len(), data.len()) {
            drop(share);
            let trouble = match refused {
                Refused::Crowded => Trouble::Crowded,
                Refused::PutOut => Trouble::Stalled,
            };
            let failure = failure(trouble, bytes);
            discard(body, limit, deadline).await;
            return Err(failure);
        }
        bytes.extend_from_slice(data);
    }
}

/// Keeps the head only: the rest of a body that will not be judged is memory for nothing.
fn failure(trouble: Trouble, mut head: Vec<u8>) -> Failure {
    head.truncate(uid::WITHIN);
    head.shrink_to_fit();
    Failure { trouble, head }
}

/// Reads on and throws away, or a client that is still sending would not hear the answer.
pub async fn discard(mut body: Body, most: usize, deadline: Instant) {
    let mut seen = 0_usize;
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        seen = seen.saturating_add(frame.data_ref().map_or(0, |data| data.len()));
        if seen > most {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::IntGauge;
    use std::time::Duration;

    fn budget(bytes: usize) -> (Budget, IntGauge) {
        let held = IntGauge::new("a", "b").unwrap();
        (Budget::new(bytes, bytes, Duration::from_secs(1), held.clone()), held)
    }

    async fn take(text: &'static str, limit: usize, budget: &Budget) -> Result<Received, Failure> {
        let deadline = Instant::now() + Duration::from_millis(50);
        receive(Body::from(text), limit, budget, deadline).await
    }

    #[tokio::test]
    async fn the_limit_is_the_last_size_that_passes() {
        let (budget, held) = budget(100);
        assert_eq!(take("12345", 5, &budget).await.ok().unwrap().bytes, b"12345");
        let failure = take("123456", 5, &budget).await.err().unwrap();
        assert_eq!(failure, Failure { trouble: Trouble::TooLarge, head: b"123456".to_vec() });
        assert_eq!(held.get(), 0);
    }

    #[tokio::test]
    async fn bodies_share_one_budget_and_give_it_back() {
        let (budget, held) = budget(8);
        let first = take("12345", 8, &budget).await.ok().unwrap();
        assert_eq!(held.get(), 5);
        assert_eq!(take("12345", 8, &budget).await.err().unwrap().trouble, Trouble::Crowded);
        drop(first);
        assert!(take("12345", 8, &budget).await.is_ok());
        assert_eq!(held.get(), 0);
    }
}
