//! STUB: another branch brings the review.

use crate::core::judge::Shapes;
use serde_json::{Value, json};

/// Which entry of the webhook configuration a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// The entry with failurePolicy Fail.
    Enforce,
    /// The entry with failurePolicy Ignore.
    Audit,
}

/// The answer to one request, and what the log and the metrics say about it.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub http: u16,
    /// Response body.
    pub body: Vec<u8>,
    /// What the log and the metrics say.
    pub record: Record,
}

/// What the log and the metrics say about one answer.
#[derive(Debug, Clone)]
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
    /// The object's name.
    pub name: String,
    /// The requester.
    pub user: String,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The shape that spoke.
    pub shape: Option<String>,
    /// Its digest.
    pub digest: Option<String>,
    /// How many findings in all.
    pub findings: usize,
    /// Rule, action, path.
    pub rules: Vec<(String, &'static str, String)>,
    /// Why, in a sentence.
    pub reason: Option<String>,
}

/// Judges one AdmissionReview.
pub fn answer(_shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    let request = &review["request"];
    let Some(uid) = request["uid"].as_str() else {
        return undecided(entrance, None, 400, "the body is no AdmissionReview");
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": uid, "allowed": true}});
    Answer {
        http: 200,
        body: body.to_string().into_bytes(),
        record: Record {
            verdict: "allow",
            allowed: true,
            uid: uid.to_owned(),
            operation: text(&request["operation"]),
            kind: text(&request["kind"]["kind"]),
            namespace: text(&request["namespace"]),
            name: text(&request["name"]),
            user: text(&request["userInfo"]["username"]),
            dry_run: request["dryRun"].as_bool().unwrap_or_default(),
            ..nothing(entrance)
        },
    }
}

/// An error answer for a request whose body could not be judged.
pub fn undecided(entrance: Entrance, uid: Option<&str>, code: u16, message: &str) -> Answer {
    let record = Record { reason: Some(message.to_owned()), ..nothing(entrance) };
    let Some(uid) = uid else {
        return Answer { http: code, body: format!("{message}\n").into_bytes(), record };
    };
    let allowed = entrance == Entrance::Audit;
    let mut response = json!({"uid": uid, "allowed": allowed});
    if allowed {
        response["warnings"] = json!([message]);
    } else {
        response["status"] = json!({"code": code, "message": message});
    }
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": response});
    Answer {
        http: 200,
        body: body.to_string().into_bytes(),
        record: Record { uid: uid.to_owned(), ..record },
    }
}

fn nothing(entrance: Entrance) -> Record {
    Record {
        uid: String::new(),
        verdict: "error",
        allowed: entrance == Entrance::Audit,
        operation: String::new(),
        kind: String::new(),
        namespace: String::new(),
        name: String::new(),
        user: String::new(),
        dry_run: false,
        shape: None,
        digest: None,
        findings: 0,
        rules: Vec::new(),
        reason: None,
    }
}
