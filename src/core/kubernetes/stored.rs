//! A Job with the server's defaults filled in: what a webhook sees of a manifest.
//!
//! The judgement never needs it, since it fills in both sides where they stand; a shape is checked
//! with it when it is loaded, so that none refuses what the server makes of its own template.

use std::borrow::Cow;

use super::absent::is_absent;
use super::api::{Api, FieldDefault, Kind};
use super::defaults::{Filled, Siblings};
use crate::core::tree::{Entry, NOWHERE, Node, Number, Value};

/// `node`, of this kind, with every default filled in and what is as good as absent left out.
#[must_use]
pub fn with_defaults<'n>(api: &Api, kind: Kind, node: &Node<'n>) -> Node<'n> {
    let value = match (kind, &node.value) {
        (Kind::Struct(id), Value::Map(entries)) => {
            let structure = api.structure(id);
            let mut filled: Vec<Entry<'n>> = entries
                .iter()
                .filter_map(|e| {
                    let field = structure.field(&e.key);
                    if field.is_some_and(|field| is_absent(api, field, &e.node)) {
                        return None;
                    }
                    let kind = field.map_or(Kind::Unknown, |field| field.kind);
                    let node = with_defaults(api, kind, &e.node);
                    Some(Entry { key: e.key.clone(), key_at: e.key_at, node })
                })
                .collect();
            let written = filled.len();
            for field in &structure.fields {
                // A sibling rule looks at what was written, not at what another default filled in.
                let written = &filled[..written];
                let is_written = || written.iter().any(|e| e.key == field.name);
                let default = match &field.default {
                    FieldDefault::None => None,
                    _ if is_written() => None,
                    FieldDefault::Fixed(json) => Some(Node::from_json(json)),
                    FieldDefault::Sibling(rule) => node_of(&rule.fill(&Written(written))),
                };
                filled.extend(default.map(|node| Entry {
                    key: Cow::Borrowed(field.name),
                    key_at: NOWHERE,
                    node,
                }));
            }
            Value::Map(filled)
        }
        (Kind::List(id), Value::List(items)) => Value::List(
            items.iter().map(|item| with_defaults(api, api.list(id).item, item)).collect(),
        ),
        (Kind::Map(id), Value::Map(entries)) => {
            let kind = api.list(id).item;
            let filled = entries.iter().map(|entry| {
                let node = match (kind, &entry.node.value) {
                    // Go reads null as the zero of a value that is no pointer, and keeps the key.
                    (Kind::String, Value::Null) => Node::new(Value::String(Cow::Borrowed(""))),
                    (Kind::Quantity { .. }, Value::Null) => {
                        Node::new(Value::String(Cow::Borrowed("0")))
                    }
                    _ => with_defaults(api, kind, &entry.node),
                };
                Entry { key: entry.key.clone(), key_at: entry.key_at, node }
            });
            Value::Map(filled.collect())
        }
        (_, other) => other.clone(),
    };
    Node { value, at: node.at }
}

/// The value that was filled in.
#[must_use]
pub fn node_of(filled: &Filled) -> Option<Node<'static>> {
    Some(Node::new(match filled {
        Filled::Nothing => return None,
        Filled::Int(int) => Value::Number(Number::Int(*int)),
        Filled::Text(text) => Value::String(Cow::Borrowed(text)),
        Filled::EmptyStruct => Value::Map(vec![]),
    }))
}

/// The fields of a struct as they were written.
struct Written<'a, 'n>(&'a [Entry<'n>]);

impl Siblings for Written<'_, '_> {
    fn is_set(&self, name: &str) -> bool {
        self.0.iter().any(|e| e.key == name)
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let entry = self.0.iter().find(|e| e.key == name)?;
        entry.node.as_str().map(Cow::Borrowed)
    }

    fn any_but(&self, name: &str) -> bool {
        self.0.iter().any(|e| e.key != name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_depend_on_what_was_written() {
        let api = Api::get();
        let job = |spec: serde_json::Value| {
            let job = Node::from_json(&serde_json::json!({"kind": "Job", "spec": spec}));
            with_defaults(api, api.job(), &job).to_json()["spec"].clone()
        };
        let plain = job(serde_json::json!({"selector": {}, "suspend": null}));
        assert_eq!(plain["parallelism"], 1);
        assert_eq!(plain["completions"], 1);
        assert_eq!(plain["backoffLimit"], 6);
        assert_eq!(plain["suspend"], false);
        let queue = job(serde_json::json!({"parallelism": 1, "backoffLimitPerIndex": 0}));
        assert_eq!(queue.get("completions"), None);
        assert_eq!(queue["backoffLimit"], i64::from(i32::MAX));
        let pod = job(
            serde_json::json!({"template": {"spec": {"containers": [{"image": "x"}], "volumes": [{"name": "v"}]}}}),
        );
        assert_eq!(pod["template"]["spec"]["containers"][0]["imagePullPolicy"], "Always");
        assert_eq!(pod["template"]["spec"]["volumes"][0]["emptyDir"], serde_json::json!({}));
    }
}
