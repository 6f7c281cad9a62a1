//! Whether the server says of a case what the offline test says, and if not, how it differs.

use std::sync::Arc;

use jobshape::core::judge::{Shapes, VerdictKind};
use jobshape::core::shape::Shape;
use jobshape::formats::review::Record;
use jobshape::formats::suite::{Built, Outcome};
use serde_json::Value;

use super::asked::taken;
use super::refusal::Spoken;
use super::stored::{collection, merge_patch};
use crate::apiserver::{Accepted, Method, Refusal, Session};

/// Sends a case as a dry run: a creation, or a patch of what is stored at `path`.
pub async fn send(session: &Session, built: &Built, path: &str) -> Result<Accepted, Refusal> {
    let (method, body) = match &built.old {
        None => (Method::POST, built.job.clone()),
        Some(old) => (Method::PATCH, merge_patch(old, &built.job)),
    };
    let path = match built.old {
        None => collection(&built.namespace, &built.job),
        Some(_) => path.to_owned(),
    };
    session.submit(method, &format!("{path}?dryRun=All"), &body).await
}

/// Whether the server, asking the webhook, says the same.
pub async fn agree(
    session: &Session,
    built: &Built,
    path: &str,
    offline: &Outcome,
    shapes: &Shapes,
) -> Result<(), String> {
    let shape: &Arc<Shape> =
        shapes.of_namespace(&built.namespace).first().ok_or("no shape governs it")?;
    taken(&built.namespace);
    let answer = send(session, built, path).await;
    was_asked(&taken(&built.namespace), built, offline)?;
    match (offline.verdict, answer) {
        (VerdictKind::Allow, Ok(_)) => Ok(()),
        (VerdictKind::Deny, Err(refusal)) => {
            let spoken = Spoken::read(&refusal, shape)?;
            let rules = spoken.rules();
            // Only as many findings as fit are sent.
            if spoken.more == 0 && rules != offline.rules {
                return Err(format!("offline {:?}, server {rules:?}", offline.rules));
            }
            places(&spoken, offline)
        }
        (verdict, Ok(_)) => Err(format!("offline {}, the server admits it", verdict.word())),
        (verdict, Err(refusal)) => Err(format!("offline {}, server: {refusal}", verdict.word())),
    }
}

/// Whether it was the webhook that decided. Without that an admission would prove nothing: a
/// server without a webhook admits too.
fn was_asked(asked: &[Record], built: &Built, offline: &Outcome) -> Result<(), String> {
    let operation = built.operation().word();
    match asked.last() {
        None => Err("the webhook was not asked".to_owned()),
        Some(last) if last.verdict != offline.verdict.word() || last.operation != operation => {
            Err(format!(
                "offline {operation} {}, the webhook {} {}",
                offline.verdict.word(),
                last.operation,
                last.verdict
            ))
        }
        Some(_) => Ok(()),
    }
}

/// What an absent field says offline that the server fills in before the webhook is asked.
const FILLED_IN: &str = ", and the server fills in ";

/// What is looked for only in a Job that has a uid, so in none that stands in a file.
const GENERATED: &str = ": the label that the server generates is missing";

/// The findings, in order, to the last letter; apart from what a Job in a file cannot have. There a
/// default that is missing is one finding, and on the server what it lacks is.
fn places(spoken: &Spoken, offline: &Outcome) -> Result<(), String> {
    let mut server = spoken.findings.iter().map(|(_, text)| text.as_str()).peekable();
    let differs = || {
        Err(format!(
            "the places or texts differ\n  offline {:#?}\n  server {:#?}\n  and {} more",
            offline.findings, spoken.findings, spoken.more
        ))
    };
    for (path, message) in &offline.findings {
        let path = if path.is_empty() { "(the whole object)" } else { path.as_str() };
        if server.next_if(|text| **text == *format!("{path}: {message}")).is_some() {
            continue;
        }
        let below = |text: &&str| {
            let rest = text.strip_prefix(path);
            rest.is_some_and(|rest| rest.starts_with([':', '.', '[']))
        };
        let filled_in = message.contains(FILLED_IN) && server.next_if(below).is_some();
        while filled_in && server.next_if(below).is_some() {}
        // Only as many as fit are sent.
        let not_sent = spoken.more > 0 && server.peek().is_none();
        if !filled_in && !not_sent {
            return differs();
        }
    }
    if server.all(|text| text.contains(GENERATED)) { Ok(()) } else { differs() }
}

/// Whether the server refuses a Job of its own accord, and for the reason that the case gives.
pub fn is_invalid(unasked: Result<Accepted, Refusal>, reason: &str) -> Result<(), String> {
    match unasked {
        Ok(_) => Err("the server takes it: it is not invalid".to_owned()),
        Err(refusal) if refusal.is_by_webhook() || refusal.is_failed_call() => {
            Err(format!("not the server's own refusal: {refusal}"))
        }
        Err(refusal) if !refusal.message.contains(reason) => {
            Err(format!("the server says something else: {refusal}"))
        }
        Err(_) => Ok(()),
    }
}

/// Whether the server stores the same as without the difference, and warns as the case says if it
/// warns. What a disabled feature gate takes out it does not mention.
pub fn is_dropped(
    unasked: Result<Accepted, Refusal>,
    plain: Result<Accepted, Refusal>,
    reason: &str,
) -> Result<(), String> {
    let (unasked, plain) = match (unasked, plain) {
        (Ok(unasked), Ok(plain)) => (unasked, plain),
        (Err(refusal), _) | (_, Err(refusal)) => return Err(format!("refused: {refusal}")),
    };
    if !unasked.warnings.is_empty() && !unasked.warnings.iter().any(|w| w.contains(reason)) {
        return Err(format!("the server warns of something else: {:?}", unasked.warnings));
    }
    let (unasked, plain) = (lasting(unasked.object), lasting(plain.object));
    if unasked == plain { Ok(()) } else { Err(format!("it is stored: {unasked:#}\n{plain:#}")) }
}

/// What of an object does not differ from one request to the next.
fn lasting(object: Value) -> Value {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut text = object;
    for key in ["uid", "creationTimestamp", "managedFields", "resourceVersion"] {
        text["metadata"].as_object_mut().map(|metadata| metadata.remove(key));
    }
    serde_json::from_str(&text.to_string().replace(&uid, "UID")).unwrap_or_default()
}
