//! The walk that makes them.

use serde_json::{Value, json};

use crate::core::changes::Change;
use crate::core::changes::quantities::quantities;
use crate::core::changes::samples::samples;
use crate::core::kubernetes::api::{Api, FieldDefault, Kind};

struct Maker<'a> {
    api: &'a Api,
    made: Vec<Change>,
}

/// Every change of a single place; some of them change nothing, and some are there twice.
pub(super) fn all(api: &Api, job: &Value) -> Vec<Change> {
    let mut maker = Maker { api, made: vec![] };
    let kind = if job["kind"] == "CronJob" { api.cron_job() } else { api.job() };
    maker.node("", job, kind);
    maker.made
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

impl Maker<'_> {
    fn set(&mut self, pointer: &str, value: Value) {
        self.made.push(Change::at(pointer, Some(value)));
    }

    fn remove(&mut self, pointer: &str) {
        self.made.push(Change::at(pointer, None));
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
