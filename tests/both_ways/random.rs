//! Random updates of random Jobs on a real server: whether the webhook admits one is compared with
//! what a judgement of the two stored objects says, each by itself and without the ratchet.

use std::sync::Mutex;

use jobshape::core::changes::{Change, Random, single};
use jobshape::core::judge::{Shapes, judge_one};
use jobshape::core::kubernetes::api::Api;
use jobshape::core::shape::Shape;
use jobshape::core::shape::rule::Action;
use jobshape::core::tree::Node;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use serde_json::{Value, json};

use super::asked;
use super::stored::{Seeder, merge_patch};
use super::webhook::{changed, configuration, load};
use crate::apiserver::{self, Identity, Method, Probe, Session};
use crate::matrix::measure::for_each;
use crate::matrix::normal::same_value;
use crate::matrix::number;
use crate::serve::start;

/// How many old objects are in the cluster at once, and how many updates each of them gets.
const UPDATES: usize = 10;

/// How many updates of a template the ordinary run tries; `JOBSHAPE_MATRIX=5000` tries as
/// many, and another seed (`JOBSHAPE_SEED`) tries others.
const PAIRS: usize = 150;

/// What a server lets an update change.
const MUTABLE: [&str; 20] = [
    "/metadata/labels",
    "/metadata/annotations",
    "/metadata/finalizers",
    "/metadata/ownerReferences",
    "/spec/activeDeadlineSeconds",
    "/spec/backoffLimit",
    "/spec/completions",
    "/spec/manualSelector",
    "/spec/maxFailedIndexes",
    "/spec/parallelism",
    "/spec/podReplacementPolicy",
    "/spec/suspend",
    "/spec/ttlSecondsAfterFinished",
    "/spec/template/metadata",
    "/spec/template/spec/affinity",
    "/spec/template/spec/nodeSelector",
    "/spec/template/spec/schedulingGates",
    "/spec/template/spec/tolerations",
    "/spec/template/spec/containers/0/resources",
    "/spec/template/spec/containers/1/resources",
];

/// Numbers of Pods and tries and seconds.
const RAISED: [&str; 5] =
    ["parallelism", "completions", "backoffLimit", "maxFailedIndexes", "activeDeadlineSeconds"];

struct Trial<'t> {
    name: &'t str,
    shape: Shape,
    namespace: String,
    base: Value,
    all: Vec<Change>,
    seeder: Session,
    user: Session,
}

#[derive(Default)]
struct Tally {
    admitted: usize,
    refused: usize,
    invalid: usize,
    /// Admitted although the new object has findings.
    old: usize,
    wrong: Vec<String>,
}

/// A finding, and the value that it is about.
#[derive(Debug)]
struct Found {
    place: String,
    value: Option<Value>,
    enforced: bool,
}

fn found(shape: &Shape, job: &Value, namespace: &str) -> Vec<Found> {
    let findings = judge_one(shape, shape.first(), &Node::from_json(job), namespace).findings;
    assert!(findings.len() < 100, "no finding may be left out");
    findings
        .into_iter()
        .map(|f| Found {
            value: (!f.missing).then(|| job.pointer(&f.pointer).cloned()).flatten(),
            place: format!("{}: {}", f.path, f.message),
            enforced: f.action == Action::Enforce,
        })
        .collect()
}

/// The enforced findings of the new object that the old one had not.
fn new_findings(had: &[Found], has: &[Found]) -> Vec<String> {
    let mut had: Vec<&Found> = had.iter().collect();
    let mut new = vec![];
    for one in has {
        let is_same = |old: &&Found| {
            old.place == one.place
                && match (&old.value, &one.value) {
                    (Some(before), Some(after)) => same_value(&one.place, before, after),
                    (before, after) => before == after,
                }
        };
        match had.iter().position(is_same) {
            Some(index) => {
                had.swap_remove(index);
            }
            None if one.enforced => new.push(one.place.clone()),
            None => {}
        }
    }
    new
}

fn lets_start(old: &Value, new: &Value) -> bool {
    let (old, new) = (&old["spec"], &new["spec"]);
    old["suspend"] == true && new["suspend"] != true
        || RAISED.iter().any(|field| match (old[field].as_i64(), new[field].as_i64()) {
            (Some(before), Some(after)) => after > before,
            (before, after) => before.is_some() && after.is_none(),
        })
}

/// Whether the update at most takes finalizers and owners away.
fn takes_away(old: &Value, new: &Value) -> bool {
    let rest = |job: &Value| {
        let mut job = job.clone();
        job["status"] = Value::Null;
        let own =
            ["finalizers", "ownerReferences", "managedFields", "resourceVersion", "generation"];
        own.iter().for_each(|key| job["metadata"][key] = Value::Null);
        job
    };
    let list =
        |job: &Value, key: &str| job["metadata"][key].as_array().cloned().unwrap_or_default();
    rest(old) == rest(new)
        && ["finalizers", "ownerReferences"].iter().all(|key| {
            let mut before = list(old, key).into_iter();
            list(new, key).iter().all(|item| {
                before.any(|old| {
                    let mut unblocked = old.clone();
                    if unblocked.is_object() {
                        unblocked["blockOwnerDeletion"] = json!(false);
                    }
                    old == *item || unblocked == *item
                })
            })
        })
}

impl Trial<'_> {
    /// One stored object and its updates.
    async fn run(&self, number: usize, seed: u64, tally: &Mutex<Tally>) {
        let mut random = Random::new(seed);
        // A seed that differs little gives numbers that do, at first.
        (0..8).for_each(|_| _ = random.below(2));
        let pick = |random: &mut Random, mutable: bool| loop {
            let one = &self.all[random.below(self.all.len())];
            let can_change =
                one.places().all(|place| MUTABLE.iter().any(|start| place.starts_with(start)));
            if can_change || !mutable {
                return one;
            }
        };
        let another_value = |random: &mut Random, one: &Change| {
            let same: Vec<&Change> =
                self.all.iter().filter(|other| other.places().eq(one.places())).collect();
            same[random.below(same.len())]
        };
        let base: Value =
            serde_json::from_str(&self.base.to_string().replace("<run>", &number.to_string()))
                .expect("it was JSON");
        let apply = |to: &Value, changes: &[&Change]| {
            changes.iter().fold(to.clone(), |job, change| change.apply(&job))
        };
        let jobs = format!("/apis/batch/v1/namespaces/{}/jobs", self.namespace);
        // Most changes the server refuses: until it takes one.
        let (before, changes, path) = loop {
            let count = if number.is_multiple_of(8) { 0 } else { 1 + random.below(3) };
            let changes: Vec<&Change> =
                (0..count).map(|n| pick(&mut random, n > 0 || count < 3)).collect();
            let before = apply(&base, &changes);
            let path = format!("{jobs}/{}", before["metadata"]["name"].as_str().unwrap_or("-"));
            if self.seeder.submit(Method::POST, &jobs, &before).await.is_ok() {
                break (before, changes, path);
            }
        };
        for _ in 0..UPDATES {
            // What was there goes, or stays, or becomes something else; and something comes.
            let mut kept = vec![];
            for one in &changes {
                match random.below(6) {
                    0 => {}
                    1 | 2 => kept.push(another_value(&mut random, one)),
                    _ => kept.push(*one),
                }
            }
            kept.extend((0..random.below(3)).map(|_| pick(&mut random, true)));
            let patch = merge_patch(&before, &apply(&base, &kept));
            self.update(&path, &patch, tally).await;
        }
        let free = json!({"metadata": {"finalizers": null}});
        let _ = self.seeder.submit(Method::PATCH, &path, &free).await;
        let delete = format!("{path}?propagationPolicy=Background");
        let _ = self.seeder.submit(Method::DELETE, &delete, &Value::Null).await;
    }

    async fn update(&self, path: &str, patch: &Value, tally: &Mutex<Tally>) {
        let old = self.seeder.get(path).await.expect("an answer").body;
        let dry = format!("{path}?dryRun=All");
        let stored = self.seeder.submit(Method::PATCH, &dry, patch).await;
        let answer = self.user.submit(Method::PATCH, &dry, patch).await;
        let mut tally = tally.lock().expect("nobody panics with it");
        let new = match stored {
            Ok(accepted) => accepted.object,
            Err(_) => {
                tally.invalid += 1;
                return;
            }
        };
        let admitted = match &answer {
            Ok(_) => true,
            Err(refusal) if refusal.is_by_webhook() => false,
            // The garbage collector was faster.
            Err(_) => return,
        };
        let had = found(&self.shape, &old, &self.namespace);
        let has = found(&self.shape, &new, &self.namespace);
        let new_ones = new_findings(&had, &has);
        let starts = lets_start(&old, &new) && has.iter().any(|one| one.enforced);
        let must = !starts && new_ones.is_empty() || takes_away(&old, &new);
        // What more a finding depends on, its place does not show.
        let depends = has.iter().any(|one| {
            ["another value here than at", "completions", "podReplacementPolicy", "backoffLimit"]
                .iter()
                .any(|word| one.place.contains(word))
        });
        *(if admitted { &mut tally.admitted } else { &mut tally.refused }) += 1;
        if admitted && has.iter().any(|one| one.enforced) {
            tally.old += 1;
        }
        if admitted != must && !(must && depends) {
            let what = if admitted { "ADMITTED" } else { "REFUSED" };
            let why = answer.err().map(|refusal| refusal.message).unwrap_or_default();
            tally.wrong.push(format!(
                "{}, {what}: {patch}\nstarts: {starts}, new: {new_ones:?}\nold: {}\nhad: {had:?}\n{why}",
                self.name, old["spec"],
            ));
        }
    }
}

async fn updates(name: &str, spec: &str, base: Value) {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("random").await.unwrap();
    let template = serde_json::to_string(&base).unwrap();
    let shape = load(&format!(
        "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: random}}
spec:
  match: {{namespaces: [{}]}}
{spec}
  templates: [{template}]
",
        namespace.name
    ));
    let webhook = start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        decide: asked::decide,
        ..Options::new(served(Shapes::new(vec![shape.clone()]).unwrap()))
    });
    let seeder = Seeder::new(cluster, &[&namespace]).await;
    let refused = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"},
        "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "probe", "image": "probe"}]}}}});
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };
    let configuration = configuration(&webhook);
    let _installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();

    let suspended = changed(base, "/spec/suspend", json!(true));
    // Another name is another object, and who owns it nobody is, so that the garbage collector
    // takes it.
    let elsewhere = ["/metadata/name", "/metadata/generateName", "/metadata/ownerReferences"];
    let mut all = single(Api::get(), &suspended);
    all.retain(|one| {
        !one.places().any(|place| {
            elsewhere.iter().any(|start| place.starts_with(start)) || place == "/metadata"
        })
    });
    let trial = Trial {
        name,
        shape,
        namespace: namespace.name.clone(),
        base: suspended,
        all,
        seeder: seeder.session().clone(),
        user: cluster.session(&Identity::Admin).await.unwrap(),
    };
    let olds = number("JOBSHAPE_MATRIX").unwrap_or(PAIRS) / UPDATES;
    let seed = u64::try_from(number("JOBSHAPE_SEED").unwrap_or(1)).expect("a small number");
    let tally = Mutex::new(Tally::default());
    let indexes: Vec<usize> = (0..olds).collect();
    for_each(&indexes, async |&index| {
        trial.run(index, seed * 1_000_003 + index as u64, &tally).await;
    })
    .await;
    let tally = tally.into_inner().expect("nobody panicked with it");
    eprintln!(
        "{name}: {} updates admitted, {} of them with old findings; {} refused; {} no update for the server; {} wrong",
        tally.admitted,
        tally.old,
        tally.refused,
        tally.invalid,
        tally.wrong.len()
    );
    assert!(tally.old > olds / 4 && tally.refused > olds, "the updates are worth something");
    let wrong = &tally.wrong[..tally.wrong.len().min(10)];
    assert!(wrong.is_empty(), "{} wrong\n{}", tally.wrong.len(), wrong.join("\n\n"));
}

#[tokio::test]
async fn of_an_indexed_job() {
    let spec = "
  variables:
    run: {pattern: '[0-9]{1,6}', example: '1'}
    deadline: {type: integer, minimum: 1, maximum: 3600, at: [$.spec.activeDeadlineSeconds]}
  optional:
    - {path: $.spec.suspend, value: true}
    - $.spec.ttlSecondsAfterFinished
  unpinned:
    - {path: \"$.metadata.annotations['extra.example/x']\", reason: nobody reads it}
  rules:
    - {name: resources, select: ['$.spec.template.spec.containers[*].resources'], action: Warn}
    - {name: everything}";
    let base = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "indexed-<run>", "labels": {"run": "<run>", "app": "x"},
            "annotations": {"run": "<run>"},
        },
        "spec": {
            "completionMode": "Indexed", "completions": 2, "parallelism": 2,
            "backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "activeDeadlineSeconds": 600,
            "ttlSecondsAfterFinished": 3600,
            "template": {
                "metadata": {"labels": {"run": "<run>"}, "annotations": {"a": "b"}},
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"pool": "batch"},
                    "tolerations": [{"key": "batch", "operator": "Exists"}],
                    "containers": [
                        {"name": "main", "image": "registry.example/main:1",
                         "env": [{"name": "RUN", "value": "<run>"}, {"name": "READS", "value": "$(RUN)"}],
                         "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
                        {"name": "side", "image": "registry.example/side:1"},
                    ],
                },
            },
        },
    });
    updates("indexed", spec, base).await;
}

#[tokio::test]
async fn of_a_job_that_says_nothing() {
    let spec = "
  variables: {run: {pattern: '[0-9]{1,6}', example: '1'}}
  optional: [{path: $.spec.suspend, value: true}]";
    let base = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bare-<run>"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main"}],
        }}},
    });
    updates("bare", spec, base).await;
}

#[tokio::test]
async fn of_a_job_with_a_selector_of_its_own() {
    let spec = "
  variables:
    run: {pattern: '[0-9]{1,6}', example: '1'}
    many: {type: integer, minimum: 0, maximum: 3, at: [$.spec.parallelism]}
  unpinned: [{path: $.spec.suspend, reason: a queue writes it}]";
    let base = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own-<run>"},
        "spec": {"completions": 3, "parallelism": 1, "manualSelector": true,
          "selector": {"matchLabels": {"own": "<run>"}},
          "podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "X"}]}]},
          "template": {"metadata": {"labels": {"own": "<run>"}}, "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    });
    updates("own", spec, base).await;
}
