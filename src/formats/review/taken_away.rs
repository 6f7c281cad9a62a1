//! Updates that only take something away, seen in the raw request.
//!
//! For these neither size nor depth of the object may matter, so that the spec stays the text that
//! it is: the API server writes both objects in the same way.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::core::judge::update;
use crate::core::tree::{Entry, NOWHERE, Node, Value};
use crate::formats::json::{Duplicates, Skip, read};

/// Whether the update at most takes finalizers and owner references away; see
/// [`update::only_removes`].
pub fn only_removes(old: &RawValue, new: &RawValue) -> bool {
    match (shallow(old), shallow(new)) {
        (Some(old), Some(new)) => update::only_removes(&old, &new),
        _ => false,
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Fields<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

/// The object with its metadata as a tree and all else as text.
fn shallow(object: &RawValue) -> Option<Node<'_>> {
    let Fields(fields) = serde_json::from_str(object.get()).ok()?;
    let mut entries = vec![];
    for (key, raw) in fields {
        let node = if key == "metadata" {
            read(raw.get(), Skip::Nothing, Duplicates::Keep).ok()?
        } else {
            Node::new(Value::String(Cow::Borrowed(raw.get())))
        };
        entries.push(Entry { key, key_at: NOWHERE, node });
    }
    Some(Node::new(Value::Map(entries)))
}
