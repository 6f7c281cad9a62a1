//! Reviews to send: a real one, with a Job in it that is right or wrong, of any size.

use axum::body::Bytes;
use serde_json::{Value, json};

/// The review of one Job, as kube-apiserver writes it: envelope first, then the object.
pub fn review(namespace: &str, uid: &str, job: &Value) -> Bytes {
    // In the server's order; serde_json would sort the keys.
    let name = &job["metadata"]["name"];
    Bytes::from(format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{{\
         \"uid\":{uid},\"kind\":{{\"group\":\"batch\",\"version\":\"v1\",\"kind\":\"Job\"}},\
         \"resource\":{{\"group\":\"batch\",\"version\":\"v1\",\"resource\":\"jobs\"}},\
         \"name\":{name},\"namespace\":{namespace},\"operation\":\"CREATE\",\
         \"userInfo\":{{\"username\":\"system:serviceaccount:load:dispatcher\"}},\
         \"object\":{job},\"oldObject\":null,\"dryRun\":false,\"options\":null}}}}",
        uid = Value::from(uid),
        namespace = Value::from(namespace),
    ))
}

/// A Job with so many bytes in an annotation.
pub fn padded(mut job: Value, bytes: usize) -> Value {
    job["metadata"]["annotations"] = json!({"padding": "x".repeat(bytes)});
    job
}

/// Whether the answer to a review admits, if it is an answer to this uid.
///
/// # Errors
/// What it is instead.
pub fn allowed(body: &[u8], uid: &str) -> Result<bool, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|e| format!("no JSON: {e}"))?;
    let response = &answer["response"];
    if response["uid"] != uid {
        return Err("another uid".to_owned());
    }
    response["allowed"].as_bool().ok_or_else(|| "neither allowed nor not".to_owned())
}
