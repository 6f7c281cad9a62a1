//! What an operator sees of the webhook: metrics, alerts, the decision log and the recording, and
//! that the documents in `docs` say what there is.

mod alerts;
mod decision_log;
mod metrics;
mod process;
mod recording;

use std::path::Path;
use std::process::{Command, Output};

use jsonschema::Validator;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// A schema of `docs`, itself valid.
fn schema(name: &str) -> Validator {
    let schema: Value = serde_json::from_str(&document(name)).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn complaints(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Every object in `value` with one key less, one key too many, and one of another name: what a
/// schema that says anything refuses. Keys in `optional` may be missing.
fn other_interfaces(value: &Value, optional: &[&str]) -> Vec<Value> {
    fn objects(value: &Value, here: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.push(here.to_owned());
                map.iter().for_each(|(key, inner)| objects(inner, &format!("{here}/{key}"), found));
            }
            Value::Array(list) => {
                let inner = list.iter().enumerate();
                inner.for_each(|(n, inner)| objects(inner, &format!("{here}/{n}"), found));
            }
            _ => {}
        }
    }
    let mut places = vec![];
    objects(value, "", &mut places);
    let mut others = vec![];
    for place in places {
        let at = |value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            change(value.pointer_mut(&place).unwrap().as_object_mut().unwrap());
        };
        let keys: Vec<String> =
            value.pointer(&place).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut renamed = value.clone();
            at(&mut renamed, &|map| {
                let value = map.remove(&key).unwrap();
                map.insert(format!("{key}s"), value);
            });
            others.push(renamed);
            if !optional.contains(&key.as_str()) {
                let mut less = value.clone();
                at(&mut less, &|map| drop(map.remove(&key)));
                others.push(less);
            }
        }
    }
    others
}

/// promtool, where it is installed. In CI it has to be.
pub fn promtool(arguments: &[&str], input: &str) -> Option<Output> {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(root());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match command.spawn() {
        Ok(mut child) => {
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            Some(child.wait_with_output().unwrap())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!in_ci, "there is no promtool: install the package `prometheus`");
            eprintln!("not run: no promtool");
            None
        }
        Err(error) => panic!("promtool: {error}"),
    }
}

/// What promtool has to say, all of it.
pub fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
