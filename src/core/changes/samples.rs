//! Values that a field might have.

use serde_json::{Value, json};

use crate::core::kubernetes::api::{Api, Kind};

/// Values that a field might have, whether a server accepts them or not.
pub(super) fn samples(api: &Api, name: &str, kind: Kind, depth: usize) -> Vec<Value> {
    let words: &[&str] = match name {
        "imagePullPolicy" | "pullPolicy" => &["Always", "IfNotPresent", "Never"],
        "image" | "reference" => &[
            "x",
            "x:latest",
            "x:1",
            "registry.example/main",
            "registry.example/main:latest",
            "r:5000/x",
            "X/UPPER",
        ],
        "dnsPolicy" => &["Default", "ClusterFirstWithHostNet", "None", "ClusterFirst"],
        "restartPolicy" => &["Never", "OnFailure", "Always", "NotRequired", "RestartContainer"],
        "terminationMessagePath" => &["/x"],
        "terminationMessagePolicy" => &["FallbackToLogsOnError", "File"],
        "protocol" => &["TCP", "UDP", "SCTP"],
        "scheme" => &["HTTP", "HTTPS"],
        "completionMode" => &["Indexed", "NonIndexed"],
        "podReplacementPolicy" => &["Failed", "TerminatingOrFailed"],
        "managedBy" => &["example.com/c", "kubernetes.io/job-controller"],
        "operator" => &["Equal", "Exists", "In", "NotIn", "DoesNotExist"],
        "effect" => &["NoSchedule", "NoExecute", "PreferNoSchedule"],
        "procMount" => &["Default", "Unmasked"],
        "mountPropagation" => &["None", "HostToContainer", "Bidirectional"],
        "recursiveReadOnly" => &["Disabled", "IfPossible", "Enabled"],
        "fsGroupChangePolicy" => &["Always", "OnRootMismatch"],
        "supplementalGroupsPolicy" => &["Merge", "Strict"],
        "seLinuxChangePolicy" => &["Recursive", "MountOption"],
        "preemptionPolicy" => &["PreemptLowerPriority", "Never"],
        "nodeAffinityPolicy" | "nodeTaintsPolicy" => &["Honor", "Ignore"],
        "whenUnsatisfiable" => &["DoNotSchedule", "ScheduleAnyway"],
        "medium" => &["Memory", "HugePages"],
        "type" => &["", "Directory", "RuntimeDefault", "Unconfined", "Localhost"],
        "status" => &["True", "False", "Unknown"],
        "action" => &["Ignore", "Count", "FailJob", "FailIndex"],
        "volumeMode" => &["Filesystem", "Block"],
        "cachingMode" => &["ReadWrite", "None", "ReadOnly"],
        "kind" => &["Shared", "Managed", "Dedicated", "ConfigMap", "Job"],
        "storageMode" => &["ThinProvisioned", "ThickProvisioned"],
        "apiVersion" => &["v1", "batch/v1"],
        "accessModes" => &["ReadWriteOnce"],
        "ip" => &["10.0.0.9"],
        "mountPath" | "path" | "devicePath" => &["/x", "x", "/"],
        "uid" => &["0a0a0a0a-0000-4000-8000-000000000009"],
        "schedulerName" => &["default-scheduler", "other"],
        "fieldPath" => &["metadata.name", "spec.nodeName"],
        "resource" => &["limits.cpu", "requests.memory"],
        "creationTimestamp" | "deletionTimestamp" | "time" => &["2020-01-01T00:00:00Z"],
        "stopSignal" => &["SIGTERM"],
        _ => &[],
    };
    match kind {
        Kind::String => {
            let mut all: Vec<Value> = words.iter().map(|word| json!(word)).collect();
            all.extend([json!("x"), json!("example.com/x")]);
            all
        }
        Kind::Boolean => vec![json!(true), json!(false)],
        Kind::Integer => vec![
            json!(0),
            json!(1),
            json!(3),
            json!(6),
            json!(10),
            json!(30),
            json!(420),
            json!(3600),
            json!(2_147_483_647),
            json!(-1),
        ],
        Kind::Quantity { .. } => vec![json!("1"), json!(1), json!("0"), json!("1m")],
        Kind::IntOrString => vec![json!(80), json!("http"), json!("80")],
        Kind::Unknown => vec![json!({}), json!("x")],
        Kind::Map(id) => {
            let mut all = vec![json!({})];
            let items = samples(api, name, api.list(id).item, depth);
            all.extend(items.into_iter().take(2).map(|item| json!({"extra.example/x": item})));
            all
        }
        Kind::List(id) => {
            let mut all = vec![json!([]), json!([null])];
            let items = samples(api, name, api.list(id).item, depth);
            all.extend(items.into_iter().take(12).map(|item| json!([item])));
            all
        }
        Kind::Struct(id) => {
            let mut all = vec![json!({})];
            if depth == 0 {
                return all;
            }
            let fields = &api.structure(id).fields;
            // Each field alone, and beside the fields that most types want.
            let mut plausible = serde_json::Map::new();
            for field in fields {
                if matches!(
                    field.name,
                    "name"
                        | "image"
                        | "mountPath"
                        | "path"
                        | "port"
                        | "key"
                        | "operator"
                        | "type"
                        | "command"
                        | "secretName"
                        | "claimName"
                        | "driver"
                        | "containerPort"
                        | "ip"
                        | "topologyKey"
                        | "labelSelector"
                        | "resource"
                        | "fieldPath"
                        | "uid"
                        | "apiVersion"
                        | "kind"
                        | "devicePath"
                        | "conditionType"
                ) && let Some(value) =
                    samples(api, field.name, field.kind, depth - 1).into_iter().find(|v| {
                        *v != json!({})
                            && *v != json!([])
                            && *v != json!([null])
                            && *v != json!("")
                            && *v != json!(0)
                    })
                {
                    plausible.insert(field.name.to_owned(), value);
                }
            }
            all.push(Value::Object(plausible.clone()));
            for field in fields {
                let values = samples(api, field.name, field.kind, depth - 1);
                for value in values.into_iter().take(3) {
                    all.push(json!({field.name: value.clone()}));
                    let mut beside = plausible.clone();
                    beside.insert(field.name.to_owned(), value);
                    all.push(Value::Object(beside));
                }
            }
            all
        }
    }
}
