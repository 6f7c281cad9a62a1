//! Jobs that are one change away from a template, at every place that the API knows there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use jobshape::core::kubernetes::api::{Api, FieldDefault, Kind};

/// What is to be changed in a template: some places, each to a value or away.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate(Vec<(String, Option<Value>)>);

impl Candidate {
    /// Where, and to what.
    pub fn what(&self) -> String {
        let change = |(pointer, value): &(String, Option<Value>)| match value {
            Some(value) => format!("{pointer} = {}", short(value)),
            None => format!("{pointer} removed"),
        };
        self.0.iter().map(change).collect::<Vec<_>>().join(" and ")
    }

    /// The places that are changed.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(pointer, _)| pointer.as_str())
    }

    /// The changed template.
    pub fn job(&self, template: &Value) -> Value {
        let mut job = template.clone();
        for (pointer, value) in &self.0 {
            let (parent, last) = pointer.rsplit_once('/').expect("not the root");
            let last = last.replace("~1", "/").replace("~0", "~");
            match (job.pointer_mut(parent), value) {
                (Some(Value::Object(map)), Some(value)) => {
                    map.insert(last, value.clone());
                }
                (Some(Value::Object(map)), None) => {
                    map.remove(&last);
                }
                (Some(Value::Array(items)), value) => {
                    let index: usize = last.parse().expect("an index");
                    match value {
                        Some(value) => items[index] = value.clone(),
                        None => {
                            items.remove(index);
                        }
                    }
                }
                _ => {}
            }
        }
        job
    }
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound.max(1)
    }
}

struct Maker {
    api: &'static Api,
    made: Vec<Candidate>,
}

/// Every candidate of a template.
pub fn candidates(template: &Value) -> Vec<Candidate> {
    let api = Api::get();
    let mut maker = Maker { api, made: vec![] };
    maker.node("", template, api.job());
    let mut seen = BTreeSet::new();
    maker.made.retain(|made| {
        let [(pointer, value)] = &made.0[..] else { return true };
        template.pointer(pointer) != value.as_ref() && seen.insert(format!("{pointer} {value:?}"))
    });
    maker.made
}

/// Changes at several places at once, none within another.
pub fn combinations(all: &[Candidate], random: &mut Random, count: usize) -> Vec<Candidate> {
    let mut made = vec![];
    while made.len() < count {
        let mut together: Vec<(String, Option<Value>)> = vec![];
        for _ in 0..2 + random.below(2) {
            let (pointer, value) = &all[random.below(all.len())].0[0];
            // An index after an entry that was taken away would be another's.
            let apart = |other: &str| {
                let list =
                    |pointer: &str| pointer.rsplit_once('/').map(|(list, _)| list.to_owned());
                !pointer.starts_with(&list(other).unwrap_or_default())
                    && !other.starts_with(&list(pointer).unwrap_or_default())
            };
            let beside =
                |other: &str| !pointer.starts_with(other) && !other.starts_with(pointer.as_str());
            let fits = together.iter().all(|(other, removed)| {
                if value.is_none() || removed.is_none() { apart(other) } else { beside(other) }
            });
            if fits {
                together.push((pointer.clone(), value.clone()));
            }
        }
        made.push(Candidate(together));
    }
    made
}

/// The zero of a kind; the server refuses one of another JSON type.
fn zero(kind: Kind) -> Value {
    match kind {
        Kind::String | Kind::Unknown => json!(""),
        Kind::Boolean => json!(false),
        Kind::Integer | Kind::IntOrString | Kind::Quantity { .. } => json!(0),
        Kind::Struct(_) | Kind::Map(_) => json!({}),
        Kind::List(_) => json!([]),
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 140 {
        format!("{}…", text.chars().take(140).collect::<String>())
    } else {
        text
    }
}

impl Maker {
    fn set(&mut self, pointer: &str, value: Value) {
        self.made.push(Candidate(vec![(pointer.to_owned(), Some(value))]));
    }

    fn remove(&mut self, pointer: &str) {
        self.made.push(Candidate(vec![(pointer.to_owned(), None)]));
    }

    fn node(&mut self, pointer: &str, value: &Value, kind: Kind) {
        match (kind, value) {
            (Kind::Struct(id), Value::Object(map)) => {
                for field in &self.api.structure(id).fields {
                    let place = format!("{pointer}/{}", escape(field.name));
                    self.set(&place, json!(null));
                    self.set(&place, zero(field.kind));
                    if let FieldDefault::Fixed(default) = &field.default {
                        self.set(&place, default.clone());
                    }
                    for sample in samples(self.api, field.name, field.kind, 2) {
                        self.set(&place, sample);
                    }
                    if let Some(means) = &field.means_absent {
                        self.set(&place, means.clone());
                    }
                    if let Some(child) = map.get(field.name) {
                        self.remove(&place);
                        self.node(&place, child, field.kind);
                    }
                }
            }
            (Kind::Map(id), Value::Object(map)) => {
                let item = self.api.list(id).item;
                for extra in samples(self.api, "extra", item, 1) {
                    self.set(&format!("{pointer}/extra.example~1x"), extra);
                }
                self.set(&format!("{pointer}/extra"), Value::Null);
                for (key, child) in map {
                    let place = format!("{pointer}/{}", escape(key));
                    self.remove(&place);
                    self.set(&place, Value::Null);
                    self.node(&place, child, item);
                }
            }
            (Kind::List(id), Value::Array(items)) => {
                let item = self.api.list(id).item;
                let mut extra = samples(self.api, "extra", item, 2);
                extra.extend([json!(null), json!(""), json!({})]);
                for extra in extra {
                    let mut longer = items.clone();
                    longer.push(extra.clone());
                    self.set(pointer, longer.into());
                    let mut longer = items.clone();
                    longer.insert(0, extra);
                    self.set(pointer, longer.into());
                }
                let mut reversed = items.clone();
                reversed.reverse();
                self.set(pointer, reversed.into());
                for (index, child) in items.iter().enumerate() {
                    let place = format!("{pointer}/{index}");
                    self.remove(&place);
                    self.set(&place, Value::Null);
                    let mut twice = items.clone();
                    twice.insert(index, child.clone());
                    self.set(pointer, twice.into());
                    let mut last = items.clone();
                    last.push(child.clone());
                    self.set(pointer, last.into());
                    if index + 1 < items.len() {
                        let mut swapped = items.clone();
                        swapped.swap(index, index + 1);
                        self.set(pointer, swapped.into());
                    }
                    if let Some(name) = child.get("name").and_then(Value::as_str) {
                        let mut renamed = items.clone();
                        renamed[index]["name"] = format!("{name}x").into();
                        self.set(pointer, renamed.into());
                        let mut copied = items.clone();
                        let mut copy = child.clone();
                        copy["name"] = format!("{name}x").into();
                        copied.push(copy);
                        self.set(pointer, copied.into());
                    }
                    self.node(&place, child, item);
                }
            }
            (Kind::Quantity { .. }, _) => {
                for text in quantities(value) {
                    self.set(pointer, text);
                }
            }
            (_, Value::String(text)) => {
                for other in [
                    format!("{text}x"),
                    format!("{text} "),
                    format!(" {text}"),
                    format!("{text}\n"),
                    text.to_uppercase(),
                    text.to_lowercase(),
                    format!("{text}/"),
                    "x".to_owned(),
                    format!("$(FIRST){text}"),
                    format!("{text}\u{200b}"),
                ] {
                    self.set(pointer, other.into());
                }
            }
            (_, Value::Number(number)) => {
                let number = number.as_i64().unwrap_or_default();
                for other in [number + 1, number - 1, number * 2, i64::from(i32::MAX)] {
                    self.set(pointer, other.into());
                }
                self.set(pointer, number.to_string().into());
            }
            (_, Value::Bool(value)) => self.set(pointer, (!value).into()),
            _ => {}
        }
    }
}

/// A quantity in other spellings, and others that are nearly the same.
fn quantities(value: &Value) -> Vec<Value> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut made: Vec<Value> = [
        format!("+{text}"),
        format!("0{text}"),
        format!(" {text} "),
        format!("{text}0"),
        "0".into(),
        "".into(),
        "1".into(),
        "1000m".into(),
        "1e0".into(),
        "1E0".into(),
        "1.0".into(),
        "1.".into(),
        "0.001k".into(),
        "1n".into(),
        "100n".into(),
        "0.0001".into(),
        "1m".into(),
        "0.0000000001".into(),
        "2048Mi".into(),
        "2Gi".into(),
        "2147483648".into(),
        "2147483649".into(),
        "2097152Ki".into(),
        "1536Mi".into(),
        "1.5Gi".into(),
        "1610612736".into(),
        "1610612736000m".into(),
        "0.1".into(),
        "100000u".into(),
        "10e-3".into(),
        "0.010".into(),
        "9999999n".into(),
        "10000001n".into(),
        "16777216".into(),
        "16384Ki".into(),
        "4000m".into(),
        "4e0".into(),
        "4.0000000001".into(),
        "4.0000001".into(),
        "3000m".into(),
        "2000m".into(),
        "0.002k".into(),
        "2E".into(),
        "2Ei".into(),
        "-2".into(),
        "0x2".into(),
        "2e0".into(),
        "20e-1".into(),
        "2000000000n".into(),
        "2000000000000n".into(),
        "1999999999999n".into(),
        "Gi".into(),
        "m".into(),
        ".".into(),
        "+".into(),
        "1e4294967296".into(),
        "2e4294967296".into(),
        "4096Mi".into(),
        "4Gi".into(),
        "512Mi".into(),
        "0.5Gi".into(),
        "1048576Ki".into(),
        "1024Mi".into(),
        "1Gi".into(),
        "1073741824".into(),
        "250m".into(),
        "0.25".into(),
    ]
    .iter()
    .map(|text: &String| Value::from(text.clone()))
    .collect();
    made.extend([
        json!(0),
        json!(1),
        json!(2),
        json!(4),
        json!(0.1),
        json!(0.25),
        json!(2.0),
        json!(2_147_483_648_i64),
        json!(true),
        json!(null),
    ]);
    made
}

/// Values that a field might have, whether a server accepts them or not.
fn samples(api: &'static Api, name: &str, kind: Kind, depth: usize) -> Vec<Value> {
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
