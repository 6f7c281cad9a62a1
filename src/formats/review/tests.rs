//! What a request is answered, as bytes in and bytes out, at both entrances.

use serde_json::{Value, json};

use super::Entrance::{self, Audit, Enforce};
use super::{Answer, answer};
use crate::core::judge::Shapes;
use crate::core::testing::{Job, NAMESPACE, job, shape};

const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";
const BOTH: [Entrance; 2] = [Enforce, Audit];

/// Everything enforces, except that arguments only warn.
fn shapes() -> Shapes {
    let spec = "rules: [{name: rest}, {name: args, select: ['$.spec.template.spec.containers[*].args'], action: Warn}]";
    Shapes::new(vec![shape(&job(), spec)]).unwrap()
}

/// A request as the API server writes it, its fields in this order.
fn fields(operation: &str, object: &Job, old: Value) -> Vec<(&'static str, String)> {
    let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
    vec![
        ("uid", json!(UID).to_string()),
        ("kind", kind.to_string()),
        ("name", json!("worker").to_string()),
        ("namespace", json!(NAMESPACE).to_string()),
        ("operation", json!(operation).to_string()),
        ("userInfo", json!({"username": "somebody"}).to_string()),
        ("object", object.0.to_string()),
        ("oldObject", old.to_string()),
        ("dryRun", "false".to_owned()),
    ]
}

fn creation(object: &Job) -> Vec<(&'static str, String)> {
    fields("CREATE", object, Value::Null)
}

/// The review of a request with these fields.
fn review(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let request = fields.join(",");
    format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{{{request}}}}}"
    )
}

/// The same with one field changed.
fn but(
    mut fields: Vec<(&'static str, String)>,
    name: &str,
    value: &str,
) -> Vec<(&'static str, String)> {
    fields.iter_mut().find(|field| field.0 == name).unwrap().1 = value.to_owned();
    fields
}

/// The response inside an answer, which is always one to the request that was sent.
#[track_caller]
fn response(answer: &Answer) -> Value {
    assert_eq!(answer.http, 200, "{:?}", answer.record);
    assert_eq!(answer.record.uid, UID);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["kind"], "AdmissionReview");
    assert_eq!(body["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(body["response"]["uid"], UID, "{body}");
    assert_eq!(body["response"]["allowed"], answer.record.allowed, "{body}");
    body["response"].clone()
}

/// Admitted at this entrance; the response.
#[track_caller]
fn admits(entrance: Entrance, fields: &[(&str, String)]) -> Value {
    let response = response(&answer(&shapes(), entrance, review(fields).as_bytes()));
    assert_eq!(response["allowed"], true, "{response}");
    assert_eq!(response["status"], Value::Null, "{response}");
    response
}

/// Refused at this entrance with a text that says `part`; the response.
#[track_caller]
fn refuses(entrance: Entrance, body: &str, part: &str) -> Value {
    let response = response(&answer(&shapes(), entrance, body.as_bytes()));
    assert_eq!(response["allowed"], false, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains(part), "{message}");
    response
}

/// Refused at the enforce entrance, and at the audit one admitted and recorded.
#[track_caller]
fn the_entrance_decides(body: &str, part: &str) {
    refuses(Enforce, body, part);
    let response = response(&answer(&shapes(), Audit, body.as_bytes()));
    assert_eq!(response["allowed"], true, "{response}");
    let recorded = response["auditAnnotations"]["would-deny"].as_str().unwrap();
    assert!(recorded.contains(part), "{recorded}");
}

#[test]
fn the_verdict_is_the_same_at_both_entrances() {
    let refused = creation(&job().set("worker/image", json!("x:1")));
    let warned = creation(&job().set("worker/args", json!(["a"])));
    for entrance in BOTH {
        let response = admits(entrance, &creation(&job()));
        assert_eq!(response["warnings"], Value::Null);
        assert_eq!(response["auditAnnotations"]["verdict"], "allow");
        let response = refuses(entrance, &review(&refused), "rest spec.template.spec.containers");
        assert_eq!(response["status"]["code"], 403);
        assert_eq!(response["status"]["reason"], "Forbidden");
        assert_eq!(response["auditAnnotations"]["verdict"], "deny");
        let response = admits(entrance, &warned);
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(warning.contains(": args spec.template.spec.containers"), "{warning}");
    }
}

#[test]
fn the_order_of_the_fields_does_not_count() {
    let reversed = |mut fields: Vec<_>| {
        fields.reverse();
        fields
    };
    for entrance in BOTH {
        admits(entrance, &reversed(creation(&job())));
        let refused = reversed(creation(&job().set("worker/image", json!("x:1"))));
        refuses(entrance, &review(&refused), "refused this Job: 1 finding");
    }
}

#[test]
fn an_update_is_judged_beside_what_it_replaces() {
    let old = job().set("/metadata/labels", json!({"team": "x"}));
    let same = old.clone().set("/metadata/generation", json!(2));
    let other = old.clone().set("/metadata/labels/team", json!("y"));
    for entrance in BOTH {
        let response = admits(
            entrance,
            &fields("UPDATE", &same.clone().set("worker/args", json!(["a"])), old.0.clone()),
        );
        assert_eq!(response["auditAnnotations"]["old-findings"], "1");
        refuses(entrance, &review(&fields("UPDATE", &other, old.0.clone())), "metadata.labels");
        // The same object is nothing old when it is created.
        refuses(entrance, &review(&fields("CREATE", &old, old.0.clone())), "metadata.labels");
    }
}

#[test]
fn finalizers_go_whoever_governs_and_whatever_the_object_is() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for spec in ["{}", &deep] {
        let object = |metadata: &str| format!("{{\"metadata\":{metadata},\"spec\":{spec}}}");
        let update = fields("UPDATE", &job(), Value::Null);
        let update = but(update, "oldObject", &object("{\"finalizers\":[\"a/b\"]}"));
        let gone = but(update.clone(), "object", &object("{}"));
        let more = but(update, "object", &object("{\"finalizers\":[\"a/b\",\"c/d\"]}"));
        for namespace in [NAMESPACE, "elsewhere"] {
            let namespace = format!("\"{namespace}\"");
            for entrance in BOTH {
                admits(entrance, &but(gone.clone(), "namespace", &namespace));
            }
            refuses(Enforce, &review(&but(more.clone(), "namespace", &namespace)), "jobshape");
        }
    }
}

#[test]
fn what_cannot_be_judged_is_decided_by_the_entrance() {
    let body = |name, value| review(&but(creation(&job()), name, value));
    let pod = json!({"group": "", "version": "v1", "kind": "Pod"}).to_string();
    the_entrance_decides(&body("kind", &pod), "the configuration sends Pod");
    the_entrance_decides(&body("operation", "\"CONNECT\""), "judges CREATE and UPDATE");
    the_entrance_decides(&body("namespace", "\"\""), "names no namespace");
    the_entrance_decides(&body("object", "null"), "has no object");
    the_entrance_decides(&body("namespace", "\"elsewhere\""), "no shape governs it");
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    the_entrance_decides(&body("object", &deep), "cannot be read");
    // Readable as JSON, but not as a request.
    the_entrance_decides(&body("dryRun", "7"), "a field is of another type");
    let beta = review(&creation(&job())).replace("k8s.io/v1", "k8s.io/v1beta1");
    the_entrance_decides(&beta, "no AdmissionReview of admission.k8s.io/v1");
}

#[test]
fn a_field_that_stands_twice_is_no_choice() {
    for (name, value) in [
        ("namespace", "\"elsewhere\"".to_owned()),
        ("operation", "\"UPDATE\"".to_owned()),
        ("object", job().set("worker/image", json!("x:1")).0.to_string()),
    ] {
        for last in [false, true] {
            let mut fields = creation(&job());
            let at = if last { fields.len() } else { 1 };
            fields.insert(at, (name, value.clone()));
            the_entrance_decides(&review(&fields), "stands twice");
        }
    }
}

#[test]
fn without_a_uid_there_is_no_answer() {
    for body in [
        String::new(),
        "[]".to_owned(),
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}".to_owned(),
        review(&but(creation(&job()), "uid", "\"\"")),
        review(&but(creation(&job()), "uid", "7")),
    ] {
        for entrance in BOTH {
            let answer = answer(&shapes(), entrance, body.as_bytes());
            assert_eq!((answer.http, answer.record.allowed), (400, false), "{body}");
            assert!(!answer.record.reason.unwrap().is_empty());
        }
    }
}
