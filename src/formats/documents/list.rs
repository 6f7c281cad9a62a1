//! A `List` is its items, as kubectl takes it.

use std::borrow::Cow;

use super::{Object, is_map, not_an_object};
use crate::core::mistake::Mistake;
use crate::core::tree::{Entry, NOWHERE, Node, Value};
use crate::formats::json;
use crate::formats::text::Part;

const LIST: &str = "List";

/// Adds the objects of one document.
pub(super) fn flatten<'a>(
    mut root: Node<'a>,
    document: usize,
    json: Option<Part<'a>>,
    objects: &mut Vec<Result<Object<'a>, Mistake>>,
) {
    if !is_map(&root) {
        objects.push(Err(not_an_object(&root, json)));
        return;
    }
    let Some(kind) = list_kind(&root) else {
        let index = objects.len() + 1;
        objects.push(Ok(Object { index, document, root, pointer: String::new(), json }));
        return;
    };
    let implied = Implied {
        kind: kind.strip_suffix(LIST).unwrap_or_default().to_owned(),
        version: root.get("apiVersion").and_then(Node::as_str).unwrap_or_default().to_owned(),
    };
    let items = match take_items(&mut root) {
        Ok(items) => items,
        Err(found) => {
            let at = json.map_or(root.at, |part| part.at);
            objects.push(Err(Mistake::new(
                at,
                format!("`{kind}` needs a list under `items`, and has {found}"),
            )));
            return;
        }
    };
    let places = json.map(json::items).unwrap_or_default();
    for (number, root) in items.into_iter().enumerate() {
        let index = objects.len() + 1;
        let json = places.get(number).copied().or(json);
        objects.push(item(root, &implied, json).map(|root| Object {
            index,
            document,
            root,
            pointer: format!("/items/{number}"),
            json,
        }));
    }
}

/// What a typed list says of items that do not say it themselves.
struct Implied {
    kind: String,
    version: String,
}

/// Whether it holds others: others than `List` may be kinds that only end so.
pub(super) fn is_list(root: &Node<'_>) -> bool {
    let has_items = root.get("items").is_some_and(|items| matches!(items.value, Value::List(_)));
    list_kind(root).is_some_and(|kind| kind == LIST || has_items)
}

fn list_kind(root: &Node<'_>) -> Option<String> {
    let kind = root.get("kind")?.as_str()?;
    kind.ends_with(LIST).then(|| kind.to_owned())
}

fn take_items<'a>(root: &mut Node<'a>) -> Result<Vec<Node<'a>>, &'static str> {
    let Value::Map(entries) = &mut root.value else { return Err("nothing") };
    let Some(items) = entries.iter_mut().find(|entry| entry.key == "items") else {
        return Err("nothing");
    };
    match &mut items.node.value {
        Value::List(items) => Ok(std::mem::take(items)),
        _ => Err(items.node.kind()),
    }
}

fn item<'a>(
    mut root: Node<'a>,
    implied: &Implied,
    json: Option<Part<'a>>,
) -> Result<Node<'a>, Mistake> {
    let at = json.map_or(root.at, |part| part.at);
    let Value::Map(entries) = &mut root.value else {
        return Err(not_an_object(&root, json));
    };
    let says = |key: &str| entries.iter().any(|entry| entry.key == key);
    // kubectl goes by the kind, and takes the list's version along.
    if !says("kind") && !implied.kind.is_empty() {
        let versioned = says("apiVersion");
        entries.push(said("kind", &implied.kind));
        if !versioned && !implied.version.is_empty() {
            entries.push(said("apiVersion", &implied.version));
        }
    }
    if list_kind(&root).is_some() {
        return Err(Mistake::new(at, "a list stands within a list, which kubectl refuses")
            .help("put the objects into one list, or give each its own document"));
    }
    Ok(root)
}

fn said<'a>(key: &'static str, value: &str) -> Entry<'a> {
    Entry {
        key: Cow::Borrowed(key),
        key_at: NOWHERE,
        node: Node::new(Value::String(Cow::Owned(value.to_owned()))),
    }
}
