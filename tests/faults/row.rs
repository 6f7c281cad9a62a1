//! One row of the table: a fault, what it did to the Jobs meanwhile, and whether that is allowed.

use std::time::Duration;

use crate::apiserver::Failure;
use crate::stage::TIMEOUT;
use crate::traffic::{SLACK, Tally, Window};

/// What became of the Jobs while a fault went on.
#[derive(Debug, Clone)]
pub struct Row {
    /// Jobs created, or tried to be.
    pub requests: usize,
    /// Answers that were wrong: none is allowed.
    pub wrong: usize,
    /// Requests that failed although a replica was ready: none is allowed.
    pub lost: usize,
    /// Requests that a dying replica had in hand.
    pub in_hand: usize,
    /// The longest that one took, where that is bounded by `timeoutSeconds`.
    pub longest: Option<Duration>,
    /// What else was seen.
    pub note: String,
}

impl Row {
    /// The row of a fault; a failure when something happened that must not.
    pub fn new(tally: &Tally, windows: &[Window], note: String) -> Result<Self, Failure> {
        let wrong = tally.wrong();
        let (in_hand, lost) = tally.failed(windows);
        let longest = tally.longest();
        let mut troubles = Vec::new();
        if tally.requests() == 0 {
            troubles.push("no Job was created meanwhile".to_owned());
        }
        if let Some(first) = wrong.first() {
            troubles.push(format!("{} wrong answers, such as: {first}", wrong.len()));
        }
        if let Some(first) = lost.first() {
            troubles.push(format!("{} requests lost, such as {first}", lost.len()));
        }
        if longest > TIMEOUT + SLACK {
            troubles.push(format!("one request took {:.1} s", longest.as_secs_f64()));
        }
        if !troubles.is_empty() {
            let requests = tally.requests();
            return Err(Failure::new(format!("of {requests}: {}", troubles.join("; "))));
        }
        Ok(Self {
            requests: tally.requests(),
            wrong: wrong.len(),
            lost: lost.len(),
            in_hand: in_hand.len(),
            longest: Some(longest),
            note,
        })
    }
}
