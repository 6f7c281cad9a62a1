//! Updates at the running webhook, over TLS, that nothing may stand in the way of: neither the size
//! of the Job, nor that nobody governs it, nor that there is no valid shape at all.

use std::fs::write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::{files, served};
use jobshape::edges::serve::Options;
use serde_json::{Value, json};

use crate::both_ways::webhook::{changed, job, shape};
use crate::serve::{Running, start};

const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";

fn options(shapes: Shapes) -> Options {
    let loopback = "127.0.0.1:0".parse().unwrap();
    Options { listen: loopback, ops_listen: loopback, ..Options::new(served(shapes)) }
}

fn webhook() -> Running {
    start(options(Shapes::new(vec![shape("governed", "  - {name: everything}")]).unwrap()))
}

/// What the webhook answers to an update, written as the API server writes it: uid and kind first,
/// the objects after.
async fn answer(webhook: &Running, namespace: &str, old: &str, new: &str) -> Value {
    let body = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{UID}","kind":{{"group":"batch","version":"v1","kind":"Job"}},"name":"main-x","namespace":"{namespace}","operation":"UPDATE","userInfo":{{"username":"somebody"}},"object":{new},"oldObject":{old},"dryRun":false}}}}"#
    );
    let reply = webhook.post("/validate/enforce", body).await;
    let response = reply.response();
    assert_eq!((reply.status, &response["uid"]), (200, &json!(UID)));
    response
}

/// A Job being deleted, with these finalizers and this many args.
fn deleted(finalizers: &[&str], args: usize) -> String {
    let job = changed(job("main-x"), "/metadata/finalizers", json!(finalizers));
    let job = changed(job, "/metadata/deletionTimestamp", json!("2026-11-30T00:00:00Z"));
    let args = vec![""; args];
    changed(job, "/spec/template/spec/containers/0/args", json!(args)).to_string()
}

#[tokio::test]
async fn a_finalizer_goes_from_a_job_that_is_too_large_to_be_read() {
    let webhook = webhook();
    // More nodes than a tree may have, and no more bytes than a Job may have.
    let (old, new) = (deleted(&["orphan"], 300_000), deleted(&[], 300_000));
    assert!(old.len() < 1_500_000);
    let response = answer(&webhook, "governed", &old, &new).await;
    assert_eq!(response["allowed"], true, "{response}");
    // Any other update of it cannot be decided.
    let annotated =
        new.replacen("\"name\":\"main-x\"", "\"name\":\"main-x\",\"annotations\":{\"a\":\"b\"}", 1);
    let response = answer(&webhook, "governed", &old, &annotated).await;
    assert_eq!(response["allowed"], false);
    assert!(
        response["status"]["message"].as_str().unwrap().contains("cannot be read"),
        "{response}"
    );
    let response = answer(&webhook, "governed", &old, &deleted(&[], 300_001)).await;
    assert_eq!(response["allowed"], false);
}

#[tokio::test]
async fn finalizers_go_however_many_they_are() {
    let webhook = webhook();
    // A server keeps the same one as often as it is written.
    let with = |count: usize| {
        let bad = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(9));
        changed(bad, "/metadata/finalizers", json!(vec!["a/b"; count]))
    };
    let many = with(250_000).to_string();
    assert!(many.len() < 1_600_000);
    for left in [0, 240_000] {
        let response = answer(&webhook, "governed", &many, &with(left).to_string()).await;
        assert_eq!(response["allowed"], true, "{left}: {response}");
        assert_eq!(response["auditAnnotations"]["verdict"], "allow");
    }
    // Nothing comes along.
    for (pointer, left) in [("/metadata/annotations", 10), ("/spec/template/metadata", 240_000)] {
        let new = changed(with(left), pointer, json!({"a": "b"})).to_string();
        let response = answer(&webhook, "governed", &many, &new).await;
        assert_eq!(response["allowed"], false, "{left}: {response}");
    }
    let more = with(250_001).to_string();
    assert_eq!(answer(&webhook, "governed", &many, &more).await["allowed"], false);
}

#[tokio::test]
async fn who_wrote_what_is_no_reason_to_keep_a_job() {
    // Whatever it is, it is not looked at.
    let deep = format!("{}{{}}{}", r#"{"f:a":"#.repeat(500), "}".repeat(500));
    let with = |finalizers: &[&str], manager: &str| {
        deleted(finalizers, 300_000).replacen(
            "\"name\":\"main-x\"",
            &format!(
                r#""managedFields":[{{"manager":"{manager}","fieldsV1":{deep}}}],"name":"main-x""#
            ),
            1,
        )
    };
    let webhook = webhook();
    for namespace in ["governed", "stray"] {
        let (old, new) = (with(&["orphan"], "a"), with(&[], "b"));
        let response = answer(&webhook, namespace, &old, &new).await;
        assert_eq!(response["allowed"], true, "{namespace}: {response}");
    }
}

#[tokio::test]
async fn a_finalizer_goes_where_nobody_governs() {
    let webhook = webhook();
    let (old, new) = (deleted(&["orphan"], 1), deleted(&[], 1));
    let response = answer(&webhook, "stray", &old, &new).await;
    assert_eq!(response["allowed"], true, "{response}");
    assert_eq!(response["auditAnnotations"]["verdict"], "allow");
    let response = answer(&webhook, "stray", &old, &deleted(&[], 2)).await;
    assert_eq!(response["allowed"], false, "{response}");
}

#[tokio::test]
async fn old_findings_are_counted_in_the_audit_log_and_said_in_a_refusal() {
    let webhook = webhook();
    let old = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(900));
    let bad = changed(old.clone(), "/spec/backoffLimit", json!(5));
    let better = changed(bad.clone(), "/spec/activeDeadlineSeconds", json!(600));
    let response = answer(&webhook, "governed", &bad.to_string(), &better.to_string()).await;
    assert_eq!(response["allowed"], true, "{response}");
    assert_eq!(response["auditAnnotations"]["old-findings"], "1");
    let worse = changed(bad.clone(), "/spec/ttlSecondsAfterFinished", json!(0));
    let response = answer(&webhook, "governed", &bad.to_string(), &worse.to_string()).await;
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains(") refused this Job: 1 finding\n- everything spec.ttl"), "{message}");
    // The last line says what every refusal of the shape does.
    let note = message.lines().rev().nth(1).unwrap();
    assert_eq!(note, "2 findings are as they were before the update, and do not count.");
    // Without what it replaces, or with something that is no object, all of them count.
    for old in ["null", "[1]"] {
        let response = answer(&webhook, "governed", old, &worse.to_string()).await;
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(") refused this Job: 3 findings\n"), "{message}");
    }
}

/// A shape file with a mistake in it does not end the process: that would keep Jobs from being
/// deleted, whose finalizers go by an update.
#[tokio::test]
async fn without_a_valid_shape_deletion_goes_on_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shape.yaml");
    write(&file, "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\n").unwrap();
    let mut source = files(vec![file.to_str().unwrap().to_owned()]);
    assert!(source.take().await.is_err());
    let mut options =
        options(Shapes::new(vec![shape("governed", "  - {name: everything}")]).unwrap());
    // The printed configuration is the way to its certificate.
    options.loaded.shapes = Arc::default();
    let webhook = start(Options { source: Some(source), ..options });

    let ready = webhook.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.starts_with("no valid shapes: 2 mistakes, in the log\n"), "{}", ready.body);
    assert_eq!(webhook.get("/livez").await.status, 200);
    let (old, new) = (deleted(&["orphan"], 0), deleted(&[], 0));
    let response = answer(&webhook, "governed", &old, &new).await;
    assert_eq!(response["allowed"], true, "{response}");
    let plain = job("main-x").to_string();
    let response = answer(&webhook, "governed", &plain, &plain.replace("600", "601")).await;
    assert_eq!(response["allowed"], false, "{response}");

    // Mended, it is served: the same update is judged by it.
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/examples/first-shape/shape.yaml"
    ));
    let text = text.unwrap().replace("job.yaml", "other.yaml");
    write(&file, text).unwrap();
    let began = Instant::now();
    while webhook.get("/readyz").await.body.contains("2 mistakes") {
        assert!(began.elapsed() < Duration::from_secs(10), "nobody looked again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_ne!(webhook.get("/readyz").await.status, 200, "its template is not there yet");
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/first-shape/job.yaml");
    std::fs::copy(template, folder.path().join("other.yaml")).unwrap();
    while webhook.get("/readyz").await.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "it never gets ready");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(webhook.metric("jobshape_shapes").await, Some(1.0));
    let response = answer(&webhook, "backup", &plain, &plain.replace("600", "601")).await;
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("jobshape: backup ("), "{message}");
}
