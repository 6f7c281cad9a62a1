//! AdmissionReview in and out.
//!
//! A request that could be read and has a uid always gets HTTP 200 and that uid: any other answer
//! is a failed call to the API server, and its text is lost. What cannot be decided is refused at
//! the enforce entrance and recorded as would-deny at the audit one.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::core::judge::update::Old;
use crate::core::judge::{Finding, Request, Shapes, Verdict, VerdictKind};
use crate::core::path::cut;
use crate::core::shape::document::Operation;
use crate::core::shape::rule::Action;
use crate::core::tree::{Node, Value};
use crate::formats::json::{Duplicates, Skip, read};
use crate::formats::report::refusal;

pub mod envelope;
pub mod one_pass;
mod taken_away;

use envelope::{Envelope, Incoming, Response, Status};

/// Which entry of the webhook configuration a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// `/validate/enforce`: failurePolicy Fail.
    Enforce,
    /// `/validate/audit`: failurePolicy Ignore.
    Audit,
}

/// The answer to one request, and what the log and the metrics say about it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub http: u16,
    /// The response body.
    pub body: Vec<u8>,
    /// What happened.
    pub record: Record,
}

/// What the decision log and the metrics say about one request.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The request's uid.
    pub uid: String,
    /// allow, deny, error or ungoverned.
    pub verdict: &'static str,
    /// What the API server was told.
    pub allowed: bool,
    /// CREATE or UPDATE.
    pub operation: String,
    /// Job or CronJob.
    pub kind: String,
    /// The request's namespace.
    pub namespace: String,
    /// The object's name, as far as the request has one.
    pub name: String,
    /// Who asked: the whole name, as it came.
    pub user: String,
    /// Whether nothing would have been stored anyway.
    pub dry_run: bool,
    /// Whether a shape was taken away because whoever asks is exempt from it.
    pub exempt: bool,
    /// Whether no loaded shape names the namespace.
    pub unshaped: bool,
    /// The shape that governs.
    pub shape: Option<String>,
    /// Its digest, the first eight digits.
    pub digest: Option<String>,
    /// How many findings there are.
    pub findings: usize,
    /// How many more an update left as they were.
    pub old_findings: usize,
    /// Who spoke in each described finding, and where.
    pub rules: Vec<Spoken>,
    /// Why it could not be decided, or why nothing governs it.
    pub reason: Option<String>,
}

/// A finding as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// The shape that it is one of.
    pub shape: String,
    /// The rule.
    pub rule: String,
    /// The action that decides.
    pub action: &'static str,
    /// The place.
    pub path: String,
}

/// Answers one request.
#[must_use]
pub fn answer(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    if let Some((incoming, object)) = one_pass::read(body, |incoming| is_wanted(shapes, incoming)) {
        let decided = match &object {
            Some(object) => decide_at_once(shapes, &incoming, object),
            None => Some(decide(shapes, &incoming)),
        };
        if let Some(decided) = decided {
            return answer_request(shapes, entrance, &incoming, decided);
        }
    }
    match Envelope::read(body) {
        Ok(Envelope { request }) => {
            answer_request(shapes, entrance, &request, decide(shapes, &request))
        }
        Err((uid, message)) => undecided(entrance, uid.as_deref(), 400, &message),
    }
}

/// Whether the object of a request is going to be judged: most requests of a wide configuration
/// concern nobody.
fn is_wanted(shapes: &Shapes, incoming: &Incoming<'_>) -> bool {
    !shapes.of_namespace(&incoming.namespace).is_empty()
}

fn answer_request(
    shapes: &Shapes,
    entrance: Entrance,
    incoming: &Incoming<'_>,
    decided: Result<Verdict, String>,
) -> Answer {
    match decided {
        Ok(verdict) => answer_verdict(shapes, entrance, incoming, verdict),
        Err(message) => {
            let mut answer = undecided(entrance, Some(&incoming.uid), 500, &message);
            describe(&mut answer.record, incoming);
            answer
        }
    }
}

/// The verdict on one request whose object was read with it; nothing when its raw text has to be
/// looked at too.
fn decide_at_once(
    shapes: &Shapes,
    incoming: &Incoming<'_>,
    object: &Node<'_>,
) -> Option<Result<Verdict, String>> {
    match operation_of(incoming) {
        Ok(operation) => match judge(shapes, incoming, operation, object) {
            (_, Doubt::OldUnreadable) => None,
            (verdict, Doubt::No) => Some(Ok(verdict)),
        },
        Err(message) => Some(Err(message)),
    }
}

/// The verdict on one request whose object is still raw.
///
/// # Errors
/// Why it cannot be decided.
fn decide(shapes: &Shapes, incoming: &Incoming<'_>) -> Result<Verdict, String> {
    let operation = operation_of(incoming)?;
    let Some(raw) = incoming.object else { return Err("the request has no object".to_owned()) };
    // Not even an object that nobody can read, in a namespace that nobody governs, may be kept from
    // being deleted.
    let takes_away = || {
        operation == Operation::Update
            && incoming.old_object.is_some_and(|old| taken_away::only_removes(old, raw))
    };
    if !is_wanted(shapes, incoming) {
        if takes_away() {
            return Ok(Verdict::only_removes());
        }
        return Ok(judge(shapes, incoming, operation, &Node::new(Value::Null)).0);
    }
    let object = match read(raw.get(), Skip::Job, Duplicates::Keep) {
        Ok(object) => object,
        Err(_) if takes_away() => return Ok(Verdict::only_removes()),
        Err(mistake) => return Err(format!("the object cannot be read: {mistake}")),
    };
    match judge(shapes, incoming, operation, &object) {
        (_, Doubt::OldUnreadable) if takes_away() => Ok(Verdict::only_removes()),
        (verdict, _) => Ok(verdict),
    }
}

/// What is asked, if it is for us to say.
///
/// # Errors
/// Why it is not.
fn operation_of(incoming: &Incoming<'_>) -> Result<Operation, String> {
    let kind = incoming.kind.kind.as_ref();
    let judged = incoming.kind.group == "batch"
        && incoming.kind.version == "v1"
        && matches!(kind, "Job" | "CronJob");
    if !judged || !incoming.sub_resource.is_empty() {
        let what = if incoming.sub_resource.is_empty() {
            cut(kind)
        } else {
            format!("{}/{}", cut(kind), cut(&incoming.sub_resource))
        };
        return Err(format!("jobshape judges Jobs and CronJobs; the configuration sends {what}"));
    }
    let Some(operation) = Operation::from_word(&incoming.operation) else {
        let what = cut(&incoming.operation);
        return Err(format!("jobshape judges CREATE and UPDATE; the configuration sends {what}"));
    };
    if incoming.namespace.is_empty() {
        return Err("the request names no namespace".to_owned());
    }
    Ok(operation)
}

/// Whether a refusal may be wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// It may not.
    No,
    /// What the update replaces was wanted and cannot be read.
    OldUnreadable,
}

fn judge(
    shapes: &Shapes,
    incoming: &Incoming<'_>,
    operation: Operation,
    object: &Node<'_>,
) -> (Verdict, Doubt) {
    let old = OnceCell::new();
    let read_old = || {
        let old =
            old.get_or_init(|| read(incoming.old_object?.get(), Skip::Job, Duplicates::Keep).ok());
        old.as_ref()
    };
    let verdict = shapes.judge(&Request {
        kind: &incoming.kind.kind,
        namespace: &incoming.namespace,
        operation,
        requester: Some(incoming.user_info.requester()),
        object,
        old: Some(Old::new(&read_old)),
        pointers: false,
    });
    let is_unreadable = incoming.old_object.is_some() && matches!(old.get(), Some(None));
    (verdict, if is_unreadable { Doubt::OldUnreadable } else { Doubt::No })
}

fn answer_verdict(
    shapes: &Shapes,
    entrance: Entrance,
    incoming: &Incoming<'_>,
    verdict: Verdict,
) -> Answer {
    let unnamed = verdict.kind == VerdictKind::Ungoverned
        && shapes.of_namespace(&incoming.namespace).is_empty();
    let refused = match verdict.kind {
        VerdictKind::Deny => true,
        VerdictKind::Allow => false,
        // A namespace that the configuration sends here and no shape names: no shape is no pass.
        VerdictKind::Ungoverned => unnamed && entrance == Entrance::Enforce,
        VerdictKind::Error => entrance == Entrance::Enforce,
    };
    let message = if !refused && !unnamed {
        String::new()
    } else if unnamed {
        let namespace = cut(&incoming.namespace);
        format!(
            "jobshape: the configuration sends {namespace} here, no shape governs it: load a shape that names the \
             namespace, or take the namespace out of the webhook configuration"
        )
    } else {
        refusal::refusal(&verdict, &incoming.kind.kind)
    };
    let mut annotations = BTreeMap::from([("verdict", verdict.kind.word().to_owned())]);
    if let Some(shape) = &verdict.shape {
        annotations.insert("shape", format!("{} ({})", shape.name, shape.short_digest()));
    }
    if let Some(text) = refusal::findings_of(&verdict, Action::Audit) {
        annotations.insert("audit-findings", text);
    }
    if verdict.exempt {
        annotations.insert("exempt", "true".to_owned());
    }
    if verdict.findings.old > 0 {
        annotations.insert("old-findings", verdict.findings.old.to_string());
    }
    if unnamed && !refused {
        annotations.insert("would-deny", message.clone());
    }
    let body = Response {
        uid: &incoming.uid,
        allowed: !refused,
        status: refused.then_some(Status {
            code: 403,
            reason: Some("Forbidden"),
            message: &message,
        }),
        warnings: refusal::warnings(&verdict),
        audit_annotations: annotations,
    }
    .to_body();
    let mut record = Record {
        rules: rules_of(&verdict),
        exempt: verdict.exempt,
        verdict: verdict.kind.word(),
        allowed: !refused,
        unshaped: unnamed,
        shape: verdict.shape.as_ref().map(|s| s.name.clone()),
        digest: verdict.shape.as_ref().map(|s| s.short_digest().to_owned()),
        findings: verdict.findings.count,
        old_findings: verdict.findings.old,
        reason: verdict.reason,
        ..Record::default()
    };
    describe(&mut record, incoming);
    Answer { http: 200, body, record }
}

/// Who spoke in each described finding.
fn rules_of(verdict: &Verdict) -> Vec<Spoken> {
    let findings = verdict.findings.findings.iter();
    let of = |f: &Finding| {
        let shape = verdict.shape_of(f)?;
        Some(Spoken {
            shape: shape.name.clone(),
            rule: shape.rule(f.rule).name.clone(),
            action: f.action.word(),
            path: f.path.clone(),
        })
    };
    findings.filter_map(of).collect()
}

fn describe(record: &mut Record, incoming: &Incoming<'_>) {
    record.uid = incoming.uid.to_string();
    record.operation = cut(&incoming.operation);
    record.kind = cut(&incoming.kind.kind);
    record.namespace = cut(&incoming.namespace);
    record.name = cut(&incoming.name);
    record.user = incoming.user_info.username.to_string();
    record.dry_run = incoming.dry_run;
}

/// The answer to a request that could not be judged: the path decides. Without a uid there is no
/// valid answer, so the HTTP status says it.
#[must_use]
pub fn undecided(entrance: Entrance, uid: Option<&str>, code: u16, message: &str) -> Answer {
    let allowed = uid.is_some() && entrance == Entrance::Audit;
    let record = Record {
        uid: uid.unwrap_or_default().to_owned(),
        verdict: VerdictKind::Error.word(),
        allowed,
        reason: Some(message.to_owned()),
        ..Record::default()
    };
    let Some(uid) = uid else {
        return Answer { http: code, body: format!("{message}\n").into_bytes(), record };
    };
    let text = format!("jobshape: cannot decide: {message}");
    let mut annotations = BTreeMap::from([("verdict", VerdictKind::Error.word().to_owned())]);
    let mut warnings = vec![];
    if allowed {
        warnings.push(text.chars().filter(|c| !c.is_control()).take(256).collect());
        annotations.insert("would-deny", text.clone());
    }
    let status = (!allowed).then_some(Status { code, reason: None, message: &text });
    let response = Response { uid, allowed, status, warnings, audit_annotations: annotations };
    Answer { http: 200, body: response.to_body(), record }
}

#[cfg(test)]
mod tests;
