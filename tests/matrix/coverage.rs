//! Which facts of the table a run has put to the server: each default, and each zero that is kept.

use std::collections::BTreeSet;

use jobshape::core::changes::Change;
use jobshape::core::kubernetes::api::{Api, Field, FieldDefault, Kind};
use serde_json::Value;

/// Facts that no valid Job of ours shows, with the reason: what the server refuses whatever stands
/// beside it.
const UNREACHED: &str = include_str!("unreached.tsv");

/// What was sent and what was accepted at which field: `Type.field` and which of the two facts.
#[derive(Debug, Default)]
pub struct Coverage {
    sent: BTreeSet<(String, &'static str)>,
    accepted: BTreeSet<(String, &'static str)>,
}

impl Coverage {
    /// Notes a single change, and whether the server accepts it.
    pub fn add(&mut self, api: &Api, change: &Change, base: &Value, accepted: bool) {
        let seen = if accepted { &mut self.accepted } else { &mut self.sent };
        let changed = change.apply(base);
        for place in change.places() {
            let Some((subject, field)) = field_at(api, &changed, place) else { continue };
            let value = changed.pointer(place).unwrap_or(&Value::Null);
            let default = match &field.default {
                FieldDefault::Fixed(default) => value == default || value.is_null(),
                FieldDefault::Sibling(_) => value.is_null(),
                FieldDefault::None => false,
            };
            if default {
                seen.insert((subject.clone(), "default"));
            }
            if field.pointer && is_zero(value) {
                seen.insert((subject, "zero"));
            }
        }
    }

    /// The facts about fields of this release that nothing showed, and that are not known to be out
    /// of reach; and those that are said to be and were shown.
    pub fn unreached(&self, api: &Api, version: &str) -> Vec<String> {
        let known: BTreeSet<(&str, &str)> = UNREACHED
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| {
                let mut columns = line.split('\t');
                Some((columns.next()?, columns.next()?))
            })
            .collect();
        let mut missing = vec![];
        for (subject, field) in fields(api) {
            let mut facts = vec![];
            if !matches!(field.default, FieldDefault::None) {
                facts.push("default");
            }
            if field.pointer && !matches!(field.kind, Kind::List(_) | Kind::Map(_)) {
                facts.push("zero");
            }
            for fact in facts {
                let fact = (subject.clone(), fact);
                if self.accepted.contains(&fact)
                    || !field.gated.is_empty()
                    || known.contains(&(subject.as_str(), fact.1))
                {
                    continue;
                }
                let why = if self.sent.contains(&fact) { "refused" } else { "not sent" };
                missing.push(format!("{version}: {subject}\t{}\t{why}", fact.1));
            }
        }
        missing
    }
}

/// Every field below a Job.
pub fn fields(api: &Api) -> Vec<(String, &Field)> {
    let mut all = vec![];
    let mut seen = BTreeSet::new();
    let mut open = vec![api.job()];
    while let Some(kind) = open.pop() {
        match kind {
            Kind::Struct(id) => {
                let structure = api.structure(id);
                if structure.name == "JobStatus" || !seen.insert(structure.name) {
                    continue;
                }
                for field in &structure.fields {
                    all.push((format!("{}.{}", structure.name, field.name), field));
                    open.push(field.kind);
                }
            }
            Kind::List(id) | Kind::Map(id) => open.push(api.list(id).item),
            _ => {}
        }
    }
    all
}

/// The field of the API at a place of a Job.
fn field_at<'a>(api: &'a Api, job: &Value, place: &str) -> Option<(String, &'a Field)> {
    let mut kind = if job["kind"] == "CronJob" { api.cron_job() } else { api.job() };
    let mut value = job;
    let mut found = None;
    for step in place.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        static NOTHING: Value = Value::Null;
        match kind {
            Kind::Struct(id) => {
                let structure = api.structure(id);
                let field = structure.field(&step)?;
                found = Some((format!("{}.{step}", structure.name), field));
                kind = field.kind;
                value = value.get(&step).unwrap_or(&NOTHING);
            }
            Kind::List(id) => {
                found = None;
                kind = api.list(id).item;
                value = value.get(step.parse::<usize>().ok()?).unwrap_or(&NOTHING);
            }
            Kind::Map(id) => {
                found = None;
                kind = api.list(id).item;
                value = value.get(&step).unwrap_or(&NOTHING);
            }
            _ => return None,
        }
    }
    found
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Whether a Job has, at a place, on the way to it or below it, a field that this server takes out.
pub fn gated_within(api: &Api, job: &Value, place: &str) -> bool {
    fn below(api: &Api, kind: Kind, value: &Value) -> bool {
        match (kind, value) {
            (Kind::Struct(_), Value::Object(map)) => map.iter().any(|(key, value)| {
                api.field(kind, key).is_none_or(|field| {
                    let gated = !field.gated.is_empty() || entries_hold(field, value);
                    !value.is_null() && (gated || below(api, field.kind, value))
                })
            }),
            (Kind::List(id), Value::Array(items)) => {
                items.iter().any(|item| below(api, api.list(id).item, item))
            }
            _ => false,
        }
    }
    let mut kind = if job["kind"] == "CronJob" { api.cron_job() } else { api.job() };
    let mut value = job;
    let mut list: Option<&Field> = None;
    for step in place.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        (kind, value) = match kind {
            Kind::Struct(_) => {
                let Some(field) = api.field(kind, &step) else { return true };
                if list.is_some_and(|list| inside(list).any(|name| name == step)) {
                    return true;
                }
                list = Some(field);
                if !field.gated.is_empty() {
                    return true;
                }
                match value.get(&step) {
                    Some(value) => (field.kind, value),
                    None => return false,
                }
            }
            Kind::List(id) | Kind::Map(id) => {
                let next = value.get(&step).or_else(|| value.get(step.parse::<usize>().ok()?));
                match next {
                    Some(value) => (api.list(id).item, value),
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    below(api, kind, value) || list.is_some_and(|list| entries_hold(list, value))
}

/// The fields that this server takes out of the entries of a list.
fn inside(list: &Field) -> impl Iterator<Item = &'static str> {
    let here = |releases: &[&str]| list.versions.iter().any(|v| releases.contains(v));
    list.gated_inside.iter().filter(move |(_, releases)| here(releases)).map(|(name, _)| *name)
}

/// Whether an entry of a list, or the one entry that `value` is, has such a field.
fn entries_hold(list: &Field, value: &Value) -> bool {
    let has =
        |entry: &Value| inside(list).any(|name| entry.get(name).is_some_and(|v| !v.is_null()));
    has(value) || value.as_array().is_some_and(|entries| entries.iter().any(has))
}
