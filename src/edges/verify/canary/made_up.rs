//! Jobs that nobody means to run: to see what is refused.

use serde_json::{Value, json};

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// What it does, behind "one that".
    pub title: String,
    /// `Job` or `CronJob`.
    pub kind: &'static str,
    pub object: Value,
}

const IMAGE: &str = "registry.invalid/jobshape-canary:1";

/// The least that an API server takes: no digest, no limits, no labels, no deadline.
pub(super) fn job(namespace: &str) -> Candidate {
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "jobshape-canary", "namespace": namespace},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "jobshape-canary", "image": IMAGE}],
        }}},
    });
    Candidate { title: "says no more than an API server needs".to_owned(), kind: "Job", object }
}

/// A way to change the `spec` of a Job.
type Change = (&'static str, fn(&mut Value));

const CHANGES: [Change; 12] = [
    ("runs another image", |spec| container(spec)["image"] = json!(IMAGE)),
    ("uses the node's network", |spec| pod(spec)["hostNetwork"] = json!(true)),
    ("has a second container", |spec| {
        let second = json!({"name": "jobshape-canary", "image": IMAGE});
        append(&mut pod(spec)["containers"], second);
    }),
    ("runs another command", |spec| container(spec)["command"] = json!(["/jobshape-canary"])),
    ("runs under another service account", |spec| {
        pod(spec)["serviceAccountName"] = json!("jobshape-canary");
        remove(pod(spec), "serviceAccount");
    }),
    ("is privileged", |spec| container(spec)["securityContext"] = json!({"privileged": true})),
    ("sees the node's processes", |spec| pod(spec)["hostPID"] = json!(true)),
    ("mounts the node's files", |spec| {
        let volume = json!({"name": "jobshape-canary", "hostPath": {"path": "/"}});
        append(&mut pod(spec)["volumes"], volume);
    }),
    ("runs as root", |spec| container(spec)["securityContext"] = json!({"runAsUser": 0})),
    ("has no limits", |spec| remove(container(spec), "resources")),
    ("has no labels on its Pods", |spec| remove(&mut spec["template"]["metadata"], "labels")),
    ("has no deadline and stays for ever", |spec| {
        remove(spec, "activeDeadlineSeconds");
        remove(spec, "ttlSecondsAfterFinished");
    }),
];

/// The same, changed in each way that changes it.
pub(super) fn changed(base: &Candidate) -> Vec<Candidate> {
    let at = if base.kind == "CronJob" { "/spec/jobTemplate/spec" } else { "/spec" };
    let one = |(title, change): &Change| {
        let mut object = base.object.clone();
        let spec = object.pointer_mut(at)?;
        container_of(spec)?;
        change(spec);
        (object != base.object).then(|| Candidate {
            title: (*title).to_owned(),
            kind: base.kind,
            object,
        })
    };
    CHANGES.iter().filter_map(one).collect()
}

fn container_of(spec: &Value) -> Option<&Value> {
    spec.pointer("/template/spec/containers/0")
}

fn pod(spec: &mut Value) -> &mut Value {
    &mut spec["template"]["spec"]
}

fn container(spec: &mut Value) -> &mut Value {
    &mut pod(spec)["containers"][0]
}

fn append(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

fn remove(map: &mut Value, key: &str) {
    if let Some(map) = map.as_object_mut() {
        map.remove(key);
    }
}
