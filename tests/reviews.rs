//! Requests as a real API server sends them, and what they get.
//!
//! `tests/reviews/1.36.3` holds what kube-apiserver 1.36.3 sent for the Jobs of `rules/pm-agent`,
//! byte for byte: the offline run and the benchmark decide about them. `make reviews` writes them
//! anew.

use std::sync::{Mutex, PoisonError};

use jobshape::core::judge::Shapes;
use jobshape::edges::serve::{Options, Tls};
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use jobshape::formats::review::{Answer, Entrance, answer};
use serde_json::{Value, json};

use crate::apiserver::{self, Identity, Probe};
use crate::both_ways::webhook::configuration;
use crate::serve::start;

const CREATE: &[u8] = include_bytes!("reviews/1.36.3/job-create.json");
const REFUSED: &[u8] = include_bytes!("reviews/1.36.3/job-create-refused.json");
const NAMESPACE: &str = "pm-agent";

fn committed() -> Shapes {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml").to_owned();
    let loaded = shapes::load(&[path], None, Style::Plain).map_err(|e| e.reports.concat()).unwrap();
    shapes::together(&loaded).map_err(|e| e.reports.concat()).unwrap()
}

#[test]
fn the_committed_job_as_the_server_sends_it_is_admitted() {
    let answered = answer(&committed(), Entrance::Enforce, CREATE);
    assert_eq!(answered.record.verdict, "allow", "{:?}", answered.record);
    assert_eq!(answered.record.findings, 0);
    let body: Value = serde_json::from_slice(&answered.body).unwrap();
    let sent: Value = serde_json::from_slice(CREATE).unwrap();
    assert_eq!(body["response"]["uid"], sent["request"]["uid"]);
    assert_eq!(body["response"]["allowed"], true);
}

#[test]
fn a_refusal_is_short_and_says_how_much_more_there_is() {
    let answered = answer(&committed(), Entrance::Enforce, REFUSED);
    let body: Value = serde_json::from_slice(&answered.body).unwrap();
    let message = body["response"]["status"]["message"].as_str().unwrap();
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].starts_with("jobshape: pm-agent-worker ("), "{message}");
    assert!(lines[0].ends_with(") refused this Job: 25 findings"), "{message}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("- ")).count(), 20, "{message}");
    assert_eq!(lines[21], "and 5 more");
    assert!(message.len() <= 4096);
    // What the Job tried to put there is nowhere in the text.
    assert!(!message.contains("smuggled"), "{message}");
}

/// The committed Job with 25 more entries of env.
fn refused(mut job: Value) -> Value {
    let env = job.pointer_mut("/spec/template/spec/containers/0/env").and_then(Value::as_array_mut);
    env.unwrap()
        .extend((0..25).map(|n| json!({"name": format!("EXTRA_{n:02}"), "value": "smuggled"})));
    job
}

static SENT: Mutex<Vec<Vec<u8>>> = Mutex::new(vec![]);

fn keep(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    SENT.lock().unwrap_or_else(PoisonError::into_inner).push(body.to_vec());
    answer(shapes, entrance, body)
}

#[tokio::test]
#[ignore = "writes tests/reviews: make reviews"]
async fn write_the_reviews() {
    let cluster = apiserver::shared().await;
    let shapes = committed();
    let job = shapes.of_namespace(NAMESPACE).unwrap().fill(&[]).unwrap().to_json();
    let webhook = start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        decide: keep,
        ..Options::new(jobshape::edges::cli::serve::served(shapes))
    });
    let namespace = cluster.exact_namespace(NAMESPACE).await.unwrap();
    let dispatcher = Identity::service_account(NAMESPACE, NAMESPACE);
    namespace.allow_jobs(&dispatcher).await.unwrap();
    let tampered = refused(job.clone());
    let probe = Probe { identity: &dispatcher, namespace: NAMESPACE, job: &tampered };
    let _installed =
        cluster.install_webhook(&configuration(&webhook), &[&namespace], &probe).await.unwrap();
    let session = cluster.session(&dispatcher).await.unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reviews/1.36.3");
    for (file, job) in [("job-create-refused.json", &tampered), ("job-create.json", &job)] {
        let _ = session.create_job(NAMESPACE, job).await;
        let sent = SENT.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap();
        std::fs::write(format!("{folder}/{file}"), sent).unwrap();
    }
}

/// The same request in another order of fields is read another way, and answered alike.
#[test]
fn how_a_request_is_read_changes_no_answer() {
    let shapes = committed();
    for sent in [CREATE, REFUSED] {
        let ordinary = answer(&shapes, Entrance::Enforce, sent);
        // A `Value` sorts its keys: kind and namespace come before the object, name of the review last.
        let review: Value = serde_json::from_slice(sent).unwrap();
        let request = review["request"].as_object().unwrap();
        let first = format!("\"object\":{}", request["object"]);
        let rest: Vec<String> = request
            .iter()
            .filter(|(key, _)| *key != "object")
            .map(|(key, value)| format!("{}:{value}", Value::from(key.as_str())))
            .collect();
        let object_first = format!(
            "{{\"request\":{{{first},{}}},\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}}",
            rest.join(",")
        );
        for body in [review.to_string(), object_first] {
            let other = answer(&shapes, Entrance::Enforce, body.as_bytes());
            assert_eq!(other.body, ordinary.body);
            assert_eq!(other.record.rules, ordinary.record.rules);
        }
    }
}
