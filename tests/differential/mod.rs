//! The core against a real API server: thousands of Jobs, each one change away from a template, are
//! sent as a dry run without any webhook. What the server would store tells whether the change has
//! an effect, and that is what the judge must say: of the Job as it was written, and of the Job as
//! a webhook would see it.
//!
//! The server decides what is right; nothing here knows a default.

pub mod candidates;
pub mod normal;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use jobshape::core::judge::judge_one;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::formats::documents::documents;

use crate::apiserver::{self, Identity, Method, Session};
use candidates::{Candidate, Random, candidates, combinations};
use normal::normal;

/// How many requests are under way at once.
const CLIENTS: usize = 24;

/// How many candidates of a template the ordinary run takes; `JOBSHAPE_DIFFERENTIAL=100000` takes
/// as many, and another seed (`JOBSHAPE_SEED`) takes others.
const SAMPLE: usize = 500;

fn read(text: &str) -> Value {
    let document = documents(text).next().expect("a document").expect("it can be read");
    document.root.to_json()
}

fn shape(template: &Value) -> Shape {
    let document = json!({
        "apiVersion": "jobshape.dev/v1alpha1",
        "kind": "JobShape",
        "metadata": {"name": "differential"},
        "spec": {"match": {"namespaces": ["differential"]}, "templates": [template]},
    });
    Shape::load(&Node::from_json(&document), &[]).unwrap_or_else(|m| panic!("{m:?}"))
}

/// What the judge says about a Job: the paths of its findings.
fn findings(shape: &Shape, job: &Value, namespace: &str) -> Vec<String> {
    let findings = judge_one(shape, &Node::from_json(job), namespace);
    findings.findings.into_iter().map(|f| format!("{}: {}", f.path, f.message)).collect()
}

/// What the server makes the template of, and the judge refuses as it is written: a Job without
/// kind, a uid of the client's (which makes it a Job that a server has seen), and what is behind
/// feature gates that are off (facts/job-api.md, section 1).
fn only_offline(place: &str, job: &Value) -> bool {
    let text = job.pointer(place).map(Value::to_string).unwrap_or_default();
    matches!(place, "/apiVersion" | "/kind" | "/metadata/uid")
        || ["clusterTrustBundle", "podCertificate", "schedulingGroup", "stopSignal"]
            .iter()
            .any(|gated| place.contains(gated) || text.contains(gated))
}

/// A number from the environment.
pub fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// A sample that is the same in every run.
fn sample(mut all: Vec<Candidate>, count: usize, random: &mut Random) -> Vec<Candidate> {
    let count = count.min(all.len());
    for index in 0..count {
        let other = index + random.below(all.len() - index);
        all.swap(index, other);
    }
    all.truncate(count);
    all
}

#[derive(Default)]
struct Tally {
    same: usize,
    other: usize,
    refused: usize,
    wrong: BTreeSet<String>,
}

async fn try_one(
    session: &Session,
    namespace: &str,
    shape: &Shape,
    template: &Value,
    stored: &Value,
    candidate: &Candidate,
    tally: &std::sync::Mutex<Tally>,
) {
    let path =
        format!("/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All&fieldValidation=Strict");
    let job = candidate.job(template);
    let answer = session.submit(Method::POST, &path, &job).await;
    let raw = findings(shape, &job, namespace);
    let mut tally = tally.lock().expect("nobody panics with it");
    let accepted = match answer {
        Ok(accepted) => accepted.object,
        Err(refusal) => {
            assert!(refusal.code != 429 && refusal.code != 401, "{refusal}");
            tally.refused += 1;
            return;
        }
    };
    let seen = findings(shape, &accepted, namespace);
    let same = normal(&accepted) == *stored;
    if same {
        tally.same += 1;
    } else {
        tally.other += 1;
    }
    if same && candidate.places().any(|place| only_offline(place, &job)) {
        assert!(seen.is_empty(), "{}: {seen:?}", candidate.what());
        return;
    }
    for (how, found) in [("as written", &raw), ("as a webhook sees it", &seen)] {
        if same != found.is_empty() {
            let verdict = if same {
                format!("REFUSED although the server stores the template: {}", found.join("; "))
            } else {
                format!(
                    "ADMITTED although the server stores another Job: {}",
                    normal::difference(stored, &normal(&accepted))
                )
            };
            tally.wrong.insert(format!("{}, {how}: {verdict}", candidate.what()));
        }
    }
}

async fn differential(name: &str, template: Value) {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("differential").await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let shape = shape(&template);
    let path = format!(
        "/apis/batch/v1/namespaces/{}/jobs?dryRun=All&fieldValidation=Strict",
        namespace.name
    );
    let stored = session.submit(Method::POST, &path, &template).await;
    let stored = normal(&stored.unwrap_or_else(|r| panic!("the template itself: {r}")).object);
    let seed = u64::try_from(number("JOBSHAPE_SEED").unwrap_or(1)).expect("a small number");
    let mut random = Random(seed);
    let all = candidates(&template);
    let singles = all.len();
    let count = number("JOBSHAPE_DIFFERENTIAL").unwrap_or(SAMPLE);
    let together = combinations(&all, &mut random, count / 4);
    let mut all = sample(all, count, &mut random);
    all.extend(together);
    let tally = std::sync::Mutex::new(Tally::default());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || async {
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(candidate) = all.get(index) else { return };
            try_one(&session, &namespace.name, &shape, &template, &stored, candidate, &tally).await;
        }
    };
    let workers: Vec<_> = (0..CLIENTS).map(|_| worker()).collect();
    futures_join(workers).await;
    let tally = tally.into_inner().expect("nobody panicked with it");
    eprintln!(
        "{name}: {singles} single changes, {} tried: {} without effect, {} with, {} refused by the server, {} wrong",
        all.len(),
        tally.same,
        tally.other,
        tally.refused,
        tally.wrong.len()
    );
    assert!(tally.same > 20 && tally.other > 100, "the candidates are worth something");
    let wrong: Vec<String> = tally.wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{name}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Waits for all of them.
pub async fn futures_join<F: std::future::Future<Output = ()>>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|context| {
        futures.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if futures.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn the_kitchen_sink() {
    differential("sink", read(include_str!("sink.yaml"))).await;
}

#[tokio::test]
async fn the_worker() {
    let mut worker = read(include_str!("../../rules/pm-agent/jobs/worker.yaml"));
    worker["metadata"].as_object_mut().expect("a map").remove("namespace");
    differential("worker", worker).await;
}

#[tokio::test]
async fn a_job_that_says_nothing() {
    let template = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bare"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main"}],
            "volumes": [{"name": "bare"}],
        }}},
    });
    differential("bare", template).await;
}

#[tokio::test]
async fn a_work_queue() {
    let template = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "queue-"},
        "spec": {"parallelism": 2, "podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "X"}]}]},
          "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "restartPolicy": "Never", "serviceAccount": "old-spelling",
            "containers": [{"name": "main", "image": "registry.example/main:1",
              "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
              "resources": {"limits": {"cpu": 1, "memory": "0.0001"}}}],
            "volumes": [{"name": "e", "emptyDir": {}}],
        }}},
    });
    differential("queue", template).await;
}

#[tokio::test]
async fn a_selector_of_its_own() {
    let template = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own"},
        "spec": {"completions": 3, "manualSelector": true, "selector": {"matchLabels": {"a": "b"}},
          "template": {"metadata": {"labels": {"a": "b", "job-name": "another"}}, "spec": {
            "restartPolicy": "OnFailure",
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    });
    differential("own", template).await;
}
