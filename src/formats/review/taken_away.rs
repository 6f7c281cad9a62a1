//! Updates that only take something away, seen in the raw request.
//!
//! For these neither size nor depth of the object may matter, so that everything but the two lists
//! that may lose entries stays the text that it is: the API server writes both objects in the same
//! way.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::core::judge::update::{self, Difference};
use crate::core::tree::{Entry, NOWHERE, Node, Value};
use crate::formats::json::{Duplicates, Skip, read};

/// Whether the update at most takes finalizers and owner references away; see
/// [`update::only_removes`].
pub fn only_removes(old: &RawValue, new: &RawValue) -> bool {
    match (shallow(old), shallow(new)) {
        (Some(old), Some(new)) => {
            update::only_removes(&Difference::of_jobs(&old, &new), &old, &new)
        }
        _ => false,
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Fields<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

/// The object with what may lose entries as trees, and all else as text.
fn shallow(object: &RawValue) -> Option<Node<'_>> {
    map(object, |key, value| match key {
        "metadata" => map(value, |key, value| match key {
            "finalizers" | "ownerReferences" => list(value),
            _ => Some(text(value)),
        }),
        _ => Some(text(value)),
    })
}

fn map<'a>(
    object: &'a RawValue,
    of: impl Fn(&str, &'a RawValue) -> Option<Node<'a>>,
) -> Option<Node<'a>> {
    let Fields(fields) = serde_json::from_str(object.get()).ok()?;
    let entries = fields.into_iter().map(|(key, raw)| {
        let node = of(&key, raw)?;
        Some(Entry { key, key_at: NOWHERE, node })
    });
    Some(Node::new(Value::Map(entries.collect::<Option<_>>()?)))
}

/// A list whose length does not matter; each item is read by itself.
fn list(items: &RawValue) -> Option<Node<'_>> {
    let items: Option<Vec<&RawValue>> = serde_json::from_str(items.get()).ok()?;
    let items = items.unwrap_or_default().into_iter();
    let items = items.map(|item| read(item.get(), Skip::Nothing, Duplicates::Keep).ok());
    Some(Node::new(Value::List(items.collect::<Option<_>>()?)))
}

fn text(raw: &RawValue) -> Node<'_> {
    Node::new(Value::String(Cow::Borrowed(raw.get())))
}
