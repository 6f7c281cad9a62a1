//! The Jobs that are changed, each with the shape that has to notice.

use jobshape::core::kubernetes::api::{Api, Kind};
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::edges::shapes;
use jobshape::formats::documents::documents;
use jobshape::formats::report::snippet::Style;
use serde_json::{Value, json};

/// A Job that its shape admits.
pub struct Base {
    /// Its name in the table.
    pub name: &'static str,
    /// The Job.
    pub job: Value,
    /// Its shape, for this namespace.
    pub shape: Box<dyn Fn(&str) -> Shape>,
    /// The only namespace that it can be in.
    pub namespace: Option<&'static str>,
    /// Changes beside those that everybody would try.
    pub more: Vec<(&'static str, Value)>,
    /// What may be changed with an effect: the places, and why.
    pub exceptions: &'static [(&'static str, &'static str)],
}

/// The variables of `rules/pm-agent` that one change can give another valid value, and what it
/// does not look at. The other variables stand in several places, and one change makes them
/// disagree.
const WORKER: &[(&str, &str)] = &[
    ("/spec/template/spec/containers/0/env/1/value", "the variable issueRepo"),
    ("/metadata/annotations", "kubectl.kubernetes.io/last-applied-configuration is unpinned"),
];

/// All of them, as far as this server can have them.
pub fn bases(api: &Api) -> Vec<Base> {
    let mut all = vec![worker()];
    for (name, job) in [
        ("sink", read(include_str!("sink.yaml"))),
        ("indexed", indexed()),
        ("suspended", suspended()),
        ("bare", bare()),
        ("queue", queue()),
        ("own", own()),
    ] {
        all.push(pinned(name, without_gated(api, api.job(), &job).unwrap_or_default()));
    }
    all
}

fn read(text: &str) -> Value {
    let document = documents(text).next().expect("a document").expect("it can be read");
    document.root.to_json()
}

/// The committed shape, with its variables.
fn worker() -> Base {
    let load = |_: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml").to_owned();
        let loaded = shapes::load(&[path], None, Style::Plain);
        loaded.map_err(|errors| errors.reports.join("\n")).unwrap().remove(0).shape
    };
    let applied = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    Base {
        name: "worker",
        job: read(include_str!("../../rules/pm-agent/jobs/worker.yaml")),
        shape: Box::new(load),
        namespace: Some("pm-agent"),
        more: vec![(WORKER[0].0, json!("home-network/apps")), (WORKER[1].0, applied)],
        exceptions: WORKER,
    }
}

/// A shape in which nothing varies.
fn pinned(name: &'static str, job: Value) -> Base {
    let template = job.clone();
    let load = move |namespace: &str| {
        let document = json!({
            "apiVersion": "jobshape.dev/v1alpha1",
            "kind": "JobShape",
            "metadata": {"name": name},
            "spec": {"match": {"namespaces": [namespace]}, "templates": [template]},
        });
        Shape::load(&Node::from_json(&document), &[]).unwrap_or_else(|m| panic!("{name}: {m:?}"))
    };
    Base { name, job, shape: Box::new(load), namespace: None, more: vec![], exceptions: &[] }
}

/// The Job without what this server takes out of it or does not know: an entry of a list goes
/// whole, and so does whoever mounts a volume that is gone.
fn without_gated(api: &Api, kind: Kind, value: &Value) -> Option<Value> {
    Some(match (kind, value) {
        (Kind::Struct(_), Value::Object(map)) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in map {
                let field = api.field(kind, key)?;
                if !field.gated.is_empty() && field.gated.iter().any(|v| field.versions.contains(v))
                {
                    return None;
                }
                kept.insert(key.clone(), without_gated(api, field.kind, value)?);
            }
            Value::Object(kept)
        }
        (Kind::List(list), Value::Array(items)) => {
            let item = api.list(list).item;
            items.iter().filter_map(|value| without_gated(api, item, value)).collect()
        }
        (_, other) => other.clone(),
    })
}

fn indexed() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "indexed", "labels": {"a": "b"}},
        "spec": {
            "completionMode": "Indexed", "completions": 5, "parallelism": 3,
            "backoffLimitPerIndex": 1, "maxFailedIndexes": 2, "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": [
                {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1, 2]}},
            ]},
            "successPolicy": {"rules": [{"succeededIndexes": "0-2", "succeededCount": 1}]},
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "main", "image": "registry.example/main:1",
                    "args": ["--index", "$(JOB_COMPLETION_INDEX)"],
                    "resources": {"requests": {"cpu": "1"}},
                }],
            }},
        },
    })
}

fn suspended() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "suspended"},
        "spec": {
            "suspend": true, "backoffLimit": 2, "activeDeadlineSeconds": 100,
            "template": {
                "metadata": {"labels": {"app": "x"}, "annotations": {"example.com/a": "b"}},
                "spec": {
                    "restartPolicy": "OnFailure",
                    "nodeSelector": {"pool": "x"},
                    "tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoSchedule"}],
                    "schedulingGates": [{"name": "example.com/gate"}],
                    "containers": [{
                        "name": "main", "image": "registry.example/main",
                        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    }],
                },
            },
        },
    })
}

fn bare() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bare"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main"}],
            "volumes": [{"name": "bare"}],
        }}},
    })
}

fn queue() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "queue-"},
        "spec": {
            "parallelism": 2,
            "podFailurePolicy": {"rules": [
                {"action": "Count", "onPodConditions": [{"type": "X"}]},
            ]},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "restartPolicy": "Never", "serviceAccount": "old-spelling",
                "containers": [{
                    "name": "main", "image": "registry.example/main:1",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "resources": {"limits": {"cpu": 1, "memory": "0.0001"}},
                }],
                "volumes": [{"name": "e", "emptyDir": {}}],
            }},
        },
    })
}

fn own() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own"},
        "spec": {
            "completions": 3, "manualSelector": true, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b", "job-name": "another"}}, "spec": {
                "restartPolicy": "OnFailure",
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            }},
        },
    })
}
