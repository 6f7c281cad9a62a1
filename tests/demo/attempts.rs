//! What somebody with the permission to create Jobs might try.

use jobshape::core::shape::Shape;
use serde_json::{Value, json};

use crate::apiserver::Failure;

/// A Job that must be refused.
pub struct Attempt {
    /// What is tried.
    pub words: &'static str,
    /// The Job.
    pub job: Value,
}

const POD: &str = "/spec/template/spec";
const WORKER: &str = "/spec/template/spec/containers/0";

/// The committed Job of another run, each with one thing changed. An API server alone would take
/// every one of them.
pub fn attempts(shape: &Shape) -> Result<Vec<Attempt>, Failure> {
    let settings = shape.first().settings([("runId", "k3f9x2abk3f9x2ab")]);
    let filled = settings.and_then(|settings| shape.first().fill(&settings));
    let job = filled.map_err(Failure::during("filling the template"))?.to_json();
    let image = job.pointer(&format!("{WORKER}/image")).and_then(Value::as_str).unwrap_or_default();
    let (name, digest) = image.split_once("@sha256:").unwrap_or((image, ""));
    let other: String = digest.chars().rev().collect();
    let other_image = format!("{name}@sha256:{other}");

    let changes = [
        ("the same image by another digest", "replace", WORKER, "/image", json!(other_image)),
        (
            "a second container beside the worker",
            "add",
            POD,
            "/containers/-",
            json!({"name": "side", "image": "registry.example/side:1"}),
        ),
        (
            "an init container",
            "add",
            POD,
            "/initContainers",
            json!([{"name": "first", "image": "registry.example/first:1"}]),
        ),
        ("arguments for the worker", "add", WORKER, "/args", json!(["--shell"])),
        (
            "a command when the worker stops",
            "add",
            WORKER,
            "/lifecycle",
            json!({"preStop": {"exec": {"command": ["sh", "-c", "id"]}}}),
        ),
        (
            "one more variable, from a Secret",
            "add",
            WORKER,
            "/env/-",
            json!({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "ops", "key": "key"}}}),
        ),
        (
            "a whole Secret as variables",
            "add",
            WORKER,
            "/envFrom",
            json!([{"secretRef": {"name": "ops"}}]),
        ),
        (
            "the root folder of the node as the workspace",
            "replace",
            POD,
            "/volumes/0",
            json!({"name": "workspace", "hostPath": {"path": "/"}}),
        ),
        ("another service account", "replace", POD, "/serviceAccountName", json!("deployer")),
        (
            "a token of the service account in the Pod",
            "replace",
            POD,
            "/automountServiceAccountToken",
            json!(true),
        ),
        ("another pull secret", "replace", POD, "/imagePullSecrets/0/name", json!("ops-registry")),
        (
            "an address of its own for a name",
            "add",
            POD,
            "/hostAliases",
            json!([{"ip": "192.0.2.7", "hostnames": ["gitea.home.example.net"]}]),
        ),
        ("a privileged worker", "replace", WORKER, "/securityContext", json!({"privileged": true})),
        ("the network of the node", "add", POD, "/hostNetwork", json!(true)),
        ("no deadline", "remove", "/spec", "/activeDeadlineSeconds", Value::Null),
        ("fifty Pods at once", "add", "/spec", "/parallelism", json!(50)),
    ];
    changes
        .into_iter()
        .map(|(words, op, place, field, value)| {
            let mut step = json!({"op": op, "path": format!("{place}{field}")});
            if op != "remove" {
                step["value"] = value;
            }
            let mut job = job.clone();
            serde_json::from_value(json!([step]))
                .map_err(|error| error.to_string())
                .and_then(|patch: json_patch::Patch| {
                    json_patch::patch(&mut job, &patch).map_err(|error| error.to_string())
                })
                .map_err(Failure::during(words))?;
            Ok(Attempt { words, job })
        })
        .collect()
}
