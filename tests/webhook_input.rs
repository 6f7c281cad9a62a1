//! Bad input to the running webhook, over TLS. Whoever asks hears why it was not judged, under the
//! uid of the request whenever that can be read, and the server goes on.

use std::fmt::Write as _;

use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::Options;
use serde_json::{Value, json};

use crate::both_ways::webhook::{changed, job, shape};
use crate::serve::{Reply, Running, start};

const ENFORCE: &str = "/validate/enforce";
const AUDIT: &str = "/validate/audit";
const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";

/// One shape for the namespace `governed`, with the limits of production.
fn webhook() -> Running {
    let shapes = Shapes::new(vec![shape("governed", "  - {name: everything}")]).unwrap();
    let loopback = "127.0.0.1:0".parse().unwrap();
    start(Options { listen: loopback, ops_listen: loopback, ..Options::new(served(shapes)) })
}

/// A request to create this object.
fn review(object: &Value) -> Value {
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "name": "main-x",
            "namespace": "governed",
            "operation": "CREATE",
            "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
            "object": object,
            "dryRun": false,
        },
    })
}

/// A good review with one thing changed.
fn but(pointer: &str, to: Value) -> Vec<u8> {
    changed(review(&job("main-x")), pointer, to).to_string().into_bytes()
}

/// A good review whose text is changed where JSON values cannot say it.
fn text(from: &str, to: &str) -> Vec<u8> {
    let text = review(&changed(job("main-x"), "/spec/suspend", Value::Null)).to_string();
    assert!(text.contains(from), "{text}");
    text.replacen(from, to, 1).into_bytes()
}

/// A good review with the uid at its front, as the API server writes it; `json!` sorts the keys.
fn front() -> Vec<u8> {
    let request = review(&job("main-x"))["request"].to_string();
    let uid = format!("\"uid\":\"{UID}\"");
    let rest = request.replacen(&format!(",{uid}"), "", 1).replacen('{', "", 1);
    assert!(!rest.contains(UID));
    format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\
         \"request\":{{{uid},{rest}}}"
    )
    .into_bytes()
}

impl Running {
    /// The server lives: it admits the Job that may be and refuses one that may not.
    async fn assert_lives(&self, after: &str) {
        let good = self.post(ENFORCE, review(&job("main-x")).to_string()).await;
        assert_eq!(good.response()["allowed"], true, "after {after}: {}", good.body);
        let bad = changed(job("main-x"), "/spec/suspend", true.into());
        let bad = self.post(ENFORCE, review(&bad).to_string()).await;
        assert_eq!(bad.response()["allowed"], false, "after {after}: {}", bad.body);
    }

    /// What cannot be judged and has a uid: the path decides, and both answers say why.
    async fn assert_undecided(&self, what: &str, body: &[u8], code: u16, sentence: &str) {
        let refused = self.post(ENFORCE, body).await;
        let response = answered(what, &refused);
        assert_eq!(response["allowed"], false, "{what}: {response}");
        assert_eq!(response["status"]["code"], code, "{what}: {response}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("jobshape: cannot decide: "), "{what}: {message}");
        assert!(message.contains(sentence), "{what}: {message}");
        assert_eq!(response["auditAnnotations"]["verdict"], "error", "{what}: {response}");

        let admitted = self.post(AUDIT, body).await;
        let response = answered(what, &admitted);
        assert_eq!(response["allowed"], true, "{what}: {response}");
        let warned = response["warnings"][0].as_str().unwrap();
        assert!(warned.contains(sentence), "{what}: {warned}");
        let recorded = response["auditAnnotations"]["would-deny"].as_str().unwrap();
        assert!(recorded.contains(sentence), "{what}: {recorded}");
        self.assert_lives(what).await;
    }

    /// What has no uid has no valid answer either, on neither path: the API server applies the
    /// failure policy of the entry.
    async fn assert_no_review(&self, what: &str, body: &[u8], sentence: &str) {
        for path in [ENFORCE, AUDIT] {
            let reply = self.post(path, body).await;
            assert_eq!(reply.status, 400, "{what}: {reply:?}");
            assert!(reply.body.contains(sentence), "{what}: {}", reply.body);
            assert_eq!(reply.body.lines().count(), 1, "{what}: {}", reply.body);
        }
        self.assert_lives(what).await;
    }
}

/// HTTP 200 and the request's uid.
fn answered(what: &str, reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{what}: {reply:?}");
    let response = reply.response();
    assert_eq!(response["uid"], UID, "{what}: {response}");
    response
}

#[tokio::test]
async fn what_is_no_review_is_an_http_error_that_says_so() {
    let webhook = webhook();
    let no_review = "the body is no AdmissionReview";
    for (what, body, sentence) in [
        ("nothing", &b""[..], no_review),
        ("no JSON", b"apiVersion: v1", no_review),
        ("a list", b"[]", no_review),
        ("another object", b"{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}", no_review),
        ("half a uid", b"{\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"0d9a", no_review),
        ("invalid UTF-8", b"\xff\xfe{}", no_review),
        (
            "no request",
            b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
            "with a request",
        ),
        (
            "a request that is null",
            b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":null}",
            "with a request",
        ),
    ] {
        webhook.assert_no_review(what, body, sentence).await;
    }
    webhook.assert_no_review("no uid", &text(UID, ""), "has no uid").await;
    webhook.assert_no_review("a uid of 7", &but("/request/uid", json!(7)), "another type").await;
}

#[tokio::test]
async fn what_cannot_be_judged_is_answered_by_its_uid_and_the_path_decides() {
    let webhook = webhook();
    let version = "no AdmissionReview of admission.k8s.io/v1";
    let v1beta1 = but("/apiVersion", json!("admission.k8s.io/v1beta1"));
    webhook.assert_undecided("v1beta1", &v1beta1, 400, version).await;
    let other = but("/kind", json!("TokenReview"));
    webhook.assert_undecided("another review", &other, 400, version).await;
    let gone = text("\"object\":", "\"objekt\":");
    webhook.assert_undecided("no object", &gone, 500, "the request has no object").await;
    let null = but("/request/object", Value::Null);
    webhook.assert_undecided("a null object", &null, 500, "the request has no object").await;

    let sends = "jobshape judges Jobs and CronJobs; the configuration sends ";
    let pod = but("/request/kind", json!({"group": "", "version": "v1", "kind": "Pod"}));
    webhook.assert_undecided("a Pod", &pod, 500, &format!("{sends}Pod")).await;
    let volcano = json!({"group": "batch.volcano.sh", "version": "v1", "kind": "Job"});
    let volcano = but("/request/kind", volcano);
    webhook.assert_undecided("a Job of another group", &volcano, 500, sends).await;
    let status = but("/request/subResource", json!("status"));
    webhook.assert_undecided("a subresource", &status, 500, &format!("{sends}Job/status")).await;
    let delete = but("/request/operation", json!("DELETE"));
    webhook.assert_undecided("a deletion", &delete, 500, "CREATE and UPDATE").await;
    let nowhere = but("/request/namespace", json!(""));
    webhook.assert_undecided("no namespace", &nowhere, 500, "names no namespace").await;
}

#[tokio::test]
async fn a_repeated_key_of_the_envelope_is_never_resolved_by_guessing() {
    let webhook = webhook();
    for (key, value) in [
        ("namespace", "\"elsewhere\""),
        ("operation", "\"UPDATE\""),
        ("object", "{}"),
        ("kind", "{\"group\":\"batch\",\"version\":\"v1\",\"kind\":\"CronJob\"}"),
    ] {
        let end = text("\"uid\":", &format!("\"{key}\":{value},\"uid\":"));
        webhook.assert_undecided(key, &end, 400, "stands twice").await;
    }
    // Under the first, which is the one at the front; to whoever meant the other it is no answer.
    let uid = text("\"uid\":", &format!("\"uid\":\"{UID}\",\"uid\":"));
    webhook.assert_undecided("uid", &uid, 400, "stands twice").await;
    let request = text("\"request\":", "\"request\":{},\"request\":");
    webhook.assert_no_review("request", &request, "stands twice").await;
}

#[tokio::test]
async fn an_object_that_no_committed_template_can_equal_is_not_judged() {
    let webhook = webhook();
    let mut list = String::from("[");
    for number in 0..250_000 {
        let _ = write!(list, "{}{number}", if number == 0 { "" } else { "," });
    }
    list.push(']');
    let nodes = text("\"suspend\":null", &format!("\"suspend\":{list}"));
    webhook.assert_undecided("250,000 nodes", &nodes, 500, "the object cannot be read").await;
    let deep = format!("\"suspend\":{}{}", "[".repeat(500), "]".repeat(500));
    let deep = text("\"suspend\":null", &deep);
    webhook.assert_undecided("500 levels", &deep, 500, "the object cannot be read").await;
}

#[tokio::test]
async fn what_breaks_behind_its_uid_is_answered_all_the_same() {
    let webhook = webhook();
    let body = front();
    let half = &body[..body.len() / 2];
    webhook.assert_undecided("half a review", half, 400, "it ends too early").await;
    let mut bytes = body;
    let at = bytes.windows(4).rposition(|at| at == b"main").unwrap();
    bytes[at] = 0xff;
    webhook.assert_undecided("invalid UTF-8 in the object", &bytes, 400, "no valid JSON").await;
}

#[tokio::test]
async fn nine_megabytes_are_refused_by_the_uid_in_their_first_bytes() {
    let webhook = webhook();
    let padding = "x".repeat(9 << 20);
    let body = String::from_utf8(front()).unwrap();
    let body = body.replacen("registry.example", &padding, 1);
    let sentence = format!("more than {} bytes", 8 << 20);
    webhook.assert_undecided("9 MiB", body.as_bytes(), 413, &sentence).await;
    for path in [ENFORCE, AUDIT] {
        assert_eq!(webhook.post(path, padding.as_bytes()).await.status, 413);
    }
    webhook.assert_lives("9 MiB of nothing").await;
}

#[tokio::test]
async fn a_namespace_that_no_shape_governs_passes_only_where_failures_do() {
    let webhook = webhook();
    let sentence = "the configuration sends elsewhere here, no shape governs it";
    for object in [job("main-x"), json!({}), json!([1, 2])] {
        let body = changed(review(&object), "/request/namespace", json!("elsewhere")).to_string();
        let response = answered("enforce", &webhook.post(ENFORCE, &body).await);
        assert_eq!(response["allowed"], false, "{response}");
        assert_eq!(response["status"]["code"], 403);
        assert!(response["status"]["message"].as_str().unwrap().contains(sentence), "{response}");
        let response = answered("audit", &webhook.post(AUDIT, &body).await);
        assert_eq!(response["allowed"], true, "{response}");
        let recorded = response["auditAnnotations"]["would-deny"].as_str().unwrap();
        assert!(recorded.contains(sentence), "{response}");
    }
    webhook.assert_lives("a namespace of nobody").await;
}

/// Whatever the object is, in a governed namespace: never admitted, and never the end.
#[tokio::test]
async fn an_object_that_is_no_job_is_refused() {
    let webhook = webhook();
    for object in [json!({}), json!([]), json!("x"), json!(7), json!({"spec": []}), json!(true)] {
        let reply = webhook.post(ENFORCE, review(&object).to_string()).await;
        assert_eq!(answered("enforce", &reply)["allowed"], false, "{object}: {}", reply.body);
        webhook.assert_lives("an object that is no Job").await;
    }
}
