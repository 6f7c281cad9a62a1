//! What the server stores, in a form in which two Jobs that mean the same are equal: without what
//! only the server writes, with keyed lists sorted and quantities as numbers.

use serde_json::{Map, Value, json};

const NAMED: [&str; 6] =
    ["volumes", "imagePullSecrets", "schedulingGates", "resourceClaims", "ports", "volumeMounts"];

/// The normal form of a Job that the server answered.
pub fn normal(stored: &Value) -> Value {
    let mut job = stored.clone();
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let generated = job["metadata"]["generateName"]
        .as_str()
        .is_some_and(|prefix| name.strip_prefix(prefix).is_some_and(|suffix| suffix.len() == 5));
    let root = job.as_object_mut().expect("a Job");
    root.remove("status");
    if let Some(metadata) = root["metadata"].as_object_mut() {
        for key in ["uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"] {
            metadata.remove(key);
        }
        if generated {
            metadata.insert("name".into(), "GENERATED".into());
        }
        // With or without the generated ones: it depends on whether the server copied them.
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            for (key, value) in [
                ("job-name", &name),
                ("batch.kubernetes.io/job-name", &name),
                ("controller-uid", &uid),
                ("batch.kubernetes.io/controller-uid", &uid),
            ] {
                if labels.get(key).and_then(Value::as_str) == Some(value) {
                    labels.remove(key);
                }
            }
            if labels.is_empty() {
                metadata.remove("labels");
            }
        }
    }
    let manual = root["spec"]["manualSelector"] == true;
    if !manual {
        for label in ["job-name", "batch.kubernetes.io/job-name"] {
            let labels = &mut root["spec"]["template"]["metadata"]["labels"];
            if labels[label] == name.as_str() {
                labels[label] = "NAME".into();
            }
        }
    }
    let mut job = replace(&job, &uid);
    walk(&mut job);
    job
}

/// Whether two values at one place are one to the server.
pub fn same_value(place: &str, a: &Value, b: &Value) -> bool {
    let last = |word: &str| place.contains(&format!("{word}."));
    let quantities = ["limits", "requests"].iter().any(|word| last(word));
    let reduced = |value: &Value| {
        let mut value = json!({"limits": {"x": value}});
        if !quantities {
            value = value["limits"]["x"].take();
        }
        walk(&mut value);
        value
    };
    reduced(a) == reduced(b)
}

fn replace(value: &Value, uid: &str) -> Value {
    match value {
        Value::String(text) if !uid.is_empty() && text == uid => "UID".into(),
        Value::Array(items) => items.iter().map(|item| replace(item, uid)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), replace(value, uid))).collect()
        }
        other => other.clone(),
    }
}

fn walk(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            for (key, value) in map.iter_mut() {
                field(key, value);
                walk(value);
            }
        }
        _ => {}
    }
}

fn field(key: &str, value: &mut Value) {
    match (key, &mut *value) {
        ("limits" | "requests" | "overhead", Value::Object(quantities)) => {
            reduce(quantities);
        }
        ("sizeLimit" | "divisor", Value::String(text)) => *value = json!(nanos(text)),
        ("finalizers", Value::Array(items)) => items.sort_by_key(Value::to_string),
        ("ownerReferences", Value::Array(items)) => sort(items, &["uid"]),
        ("volumeDevices", Value::Array(items)) => sort(items, &["devicePath"]),
        ("topologySpreadConstraints", Value::Array(items)) => {
            sort(items, &["topologyKey", "whenUnsatisfiable"]);
        }
        ("claims", Value::Array(items)) => sort(items, &["name", "request"]),
        ("env", Value::Array(items)) => {
            let expands = items
                .iter()
                .any(|item| item["value"].as_str().is_some_and(|value| value.contains("$(")));
            if !expands {
                sort(items, &["name"]);
            }
        }
        ("ports", Value::Array(items)) => sort(items, &["containerPort", "protocol"]),
        ("volumeMounts", Value::Array(items)) => sort(items, &["mountPath"]),
        (key, Value::Array(items)) if NAMED.contains(&key) => sort(items, &["name"]),
        _ => {}
    }
}

/// A stable sort: of two entries with one key, the second stays the second.
fn sort(items: &mut [Value], keys: &[&str]) {
    items.sort_by_key(|item| keys.iter().map(|key| item[*key].to_string()).collect::<Vec<_>>());
}

fn reduce(quantities: &mut Map<String, Value>) {
    for quantity in quantities.values_mut() {
        if let Value::String(text) = quantity {
            *quantity = json!(nanos(text));
        }
    }
}

/// A quantity as the server writes it, in units of 10^-9; as text where that is too large.
fn nanos(text: &str) -> String {
    let digits = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c));
    let (number, suffix) = text.split_at(digits.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let unit = |power: u32, binary: u32| {
        10_i128.checked_pow(power)?.checked_mul(1024_i128.checked_pow(binary)?)
    };
    let unit = match suffix {
        "n" => unit(0, 0),
        "u" => unit(3, 0),
        "m" => unit(6, 0),
        "" => unit(9, 0),
        "k" => unit(12, 0),
        "M" => unit(15, 0),
        "G" => unit(18, 0),
        "T" => unit(21, 0),
        "Ki" => unit(9, 1),
        "Mi" => unit(9, 2),
        "Gi" => unit(9, 3),
        "Ti" => unit(9, 4),
        _ => suffix
            .strip_prefix(['e', 'E'])
            .and_then(|exponent| exponent.parse::<i32>().ok())
            .and_then(|exponent| u32::try_from(exponent + 9).ok())
            .and_then(|power| unit(power, 0)),
    };
    let number = format!("{whole}{fraction}").parse::<i128>().ok();
    let scale = u32::try_from(fraction.len()).ok().and_then(|power| 10_i128.checked_pow(power));
    let all = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    match all.zip(scale) {
        Some((all, scale)) if all % scale == 0 => format!("{}n", all / scale),
        _ => text.to_owned(),
    }
}

/// The first place where two normal forms differ.
pub fn difference(a: &Value, b: &Value) -> String {
    fn find(a: &Value, b: &Value, path: &str) -> Option<String> {
        if a == b {
            return None;
        }
        match (a, b) {
            (Value::Object(x), Value::Object(y)) => {
                for key in x.keys().chain(y.keys()) {
                    let (of_x, of_y) = (x.get(key), y.get(key));
                    match (of_x, of_y) {
                        (Some(v), Some(w)) => {
                            if let Some(found) = find(v, w, &format!("{path}/{key}")) {
                                return Some(found);
                            }
                        }
                        _ => return Some(format!("{path}/{key}: {of_x:?} / {of_y:?}")),
                    }
                }
                None
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => x
                .iter()
                .zip(y)
                .enumerate()
                .find_map(|(index, (v, w))| find(v, w, &format!("{path}/{index}"))),
            _ => {
                let text = format!("{path}: {a} / {b}");
                Some(text.chars().take(300).collect())
            }
        }
    }
    find(a, b, "").unwrap_or_default()
}
