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
use jobshape::formats::review::{Answer, Entrance, Record, answer};
use serde_json::{Value, json};

use crate::apiserver::{self, Identity, Method, Probe};
use crate::both_ways::webhook::{changed, configuration};
use crate::serve::start;

const CREATE: &[u8] = include_bytes!("reviews/1.36.3/job-create.json");
const REFUSED: &[u8] = include_bytes!("reviews/1.36.3/job-create-refused.json");
const ANNOTATION: &[u8] = include_bytes!("reviews/1.36.3/job-update-annotation.json");
const NODE_SELECTOR: &[u8] = include_bytes!("reviews/1.36.3/job-update-node-selector.json");
const RESUME: &[u8] = include_bytes!("reviews/1.36.3/job-update-resume.json");
const GARBAGE_COLLECTOR: &[u8] = include_bytes!("reviews/1.36.3/job-update-garbage-collector.json");
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

/// Keeps what is sent, and lets the rest of the cluster go on.
fn keep(_: &Shapes, _: Entrance, body: &[u8]) -> Answer {
    SENT.lock().unwrap_or_else(PoisonError::into_inner).push(body.to_vec());
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    // What a probe looks for.
    let allowed = review["request"]["name"] != PROBE;
    let response = json!({"uid": review["request"]["uid"], "allowed": allowed});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    Answer { http: 200, body: review.to_string().into(), record: Record::default() }
}

const PROBE: &str = "pm-agent-worker-probe";

#[tokio::test]
#[ignore = "writes tests/reviews: make reviews"]
async fn write_the_reviews() {
    let cluster = apiserver::shared().await;
    let shapes = committed();
    let job = shapes.of_namespace(NAMESPACE).first().unwrap().first().fill(&[]).unwrap().to_json();
    let webhook = start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        decide: keep,
        ..Options::new(jobshape::edges::cli::serve::served(shapes))
    });
    let namespace = cluster.exact_namespace(NAMESPACE).await.unwrap();
    let dispatcher = Identity::service_account(NAMESPACE, NAMESPACE);
    for verb in ["create", "patch", "delete"] {
        namespace.allow(&dispatcher, verb, "batch", "jobs").await.unwrap();
    }
    let named = |name: &str| changed(job.clone(), "/metadata/name", json!(name));
    let probe = named(PROBE);
    let probe = Probe { identity: &dispatcher, namespace: NAMESPACE, job: &probe };
    let _installed =
        cluster.install_webhook(&configuration(&webhook), &[&namespace], &probe).await.unwrap();
    let session = cluster.session(&dispatcher).await.unwrap();

    // The last request of this operation, whoever sent it.
    let sent = |operation: &str| {
        let said = format!("\"operation\":\"{operation}\"");
        let all = SENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.into_iter().rfind(|body| String::from_utf8_lossy(body).contains(&said)).unwrap()
    };
    let write = |file: &str, operation: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reviews/1.36.3");
        std::fs::write(format!("{folder}/{file}"), sent(operation)).unwrap();
    };
    let jobs = namespace.path("batch/v1", "jobs");
    let patch = async |name: &str, patch: Value| {
        session.submit(Method::PATCH, &format!("{jobs}/{name}"), &patch).await.unwrap()
    };

    session.dry_run_job(NAMESPACE, &refused(job.clone())).await.unwrap();
    write("job-create-refused.json", "CREATE");
    session.create_job(NAMESPACE, &job).await.unwrap();
    write("job-create.json", "CREATE");
    let name = job["metadata"]["name"].as_str().unwrap();
    patch(name, json!({"metadata": {"annotations": {"example.net/note": "x"}}})).await;
    write("job-update-annotation.json", "UPDATE");

    let suspended = changed(named("pm-agent-worker-suspended"), "/spec/suspend", json!(true));
    session.create_job(NAMESPACE, &suspended).await.unwrap();
    write("job-create-suspended.json", "CREATE");
    let pool = json!({"spec": {"template": {"spec": {"nodeSelector": {"pool": "x"}}}}});
    patch("pm-agent-worker-suspended", pool).await;
    write("job-update-node-selector.json", "UPDATE");
    patch("pm-agent-worker-suspended", json!({"spec": {"suspend": false}})).await;
    write("job-update-resume.json", "UPDATE");

    let foreground = format!("{jobs}/{name}?propagationPolicy=Foreground");
    session.submit(Method::DELETE, &foreground, &Value::Null).await.unwrap();
    let gone = |jobs: &[Value]| jobs.iter().all(|job| job["metadata"]["name"] != json!(name));
    namespace.wait_for("batch/v1", "jobs", gone).await.unwrap();
    write("job-update-garbage-collector.json", "UPDATE");
}

/// What the committed shape says of each: the verdict, the places that count, how many findings are
/// as they were, and whether the whole Job was judged.
#[test]
fn updates_as_the_server_sends_them() {
    let annotations = "metadata.annotations[example.net/note]";
    let selector = "spec.template.spec.nodeSelector";
    let resumed = ["spec.template.spec.containers[worker].env[RUN_ID].value", selector];
    for (sent, verdict, places, old) in [
        (ANNOTATION, "deny", &[annotations][..], 0),
        (NODE_SELECTOR, "deny", &[selector], 2),
        (RESUME, "deny", &resumed, 0),
        (GARBAGE_COLLECTOR, "allow", &[], 0),
    ] {
        for entrance in [Entrance::Enforce, Entrance::Audit] {
            let record = answer(&committed(), entrance, sent).record;
            let found: Vec<&str> = record.rules.iter().map(|spoken| spoken.path.as_str()).collect();
            assert_eq!((record.verdict, record.operation.as_str()), (verdict, "UPDATE"));
            assert_eq!((&found[..], record.old_findings), (places, old));
        }
    }
    // No shape at all is no reason to keep a Job.
    let record = answer(&Shapes::default(), Entrance::Enforce, GARBAGE_COLLECTOR).record;
    assert!(record.allowed);
    assert_eq!(record.user, "system:serviceaccount:kube-system:generic-garbage-collector");
    assert!(!answer(&Shapes::default(), Entrance::Enforce, ANNOTATION).record.allowed);
}

/// The same for requests that somebody else has recorded, of another template.
#[test]
fn recorded_updates_get_the_same_verdicts() {
    let Some(folder) = crate::corpus::shared("reviews") else { return };
    let mut seen = 0;
    for version in std::fs::read_dir(folder).unwrap() {
        for (file, verdict, count) in [
            ("job-update-gc-removes-finalizer.json", "allow", 0),
            ("job-update-label.json", "deny", 1),
            ("job-update-suspended-nodeselector.json", "deny", 1),
            ("job-update-unsuspend.json", "deny", 5),
        ] {
            let body = std::fs::read(version.as_ref().unwrap().path().join(file)).unwrap();
            let record = answer(&committed(), Entrance::Enforce, &body).record;
            assert_eq!((record.verdict, record.findings), (verdict, count), "{file}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} recorded updates");
}

/// The same request in another order of fields is read another way, and answered alike.
#[test]
fn how_a_request_is_read_changes_no_answer() {
    let shapes = committed();
    for sent in [CREATE, REFUSED, ANNOTATION, NODE_SELECTOR, RESUME, GARBAGE_COLLECTOR] {
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
