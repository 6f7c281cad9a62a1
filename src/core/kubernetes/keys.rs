//! What identifies an item of a keyed list.

use std::borrow::Cow;

use super::api::{Api, FieldDefault, ListType};
use crate::core::tree::{Node, Number, Value};

/// The key of `item` in a keyed list (`worker`, `8080/TCP`), absent parts as the server would
/// fill them; `None` when the item is of another kind than the list holds.
#[must_use]
pub fn item_key<'n>(api: &Api, list: &ListType, item: &'n Node<'_>) -> Option<Cow<'n, str>> {
    if list.keys == ["="] {
        return item.as_str().map(Cow::Borrowed);
    }
    if !matches!(item.value, Value::Map(_)) {
        return None;
    }
    match list.keys[..] {
        [key] => Some(part(api, list, item, key)),
        _ => {
            let parts: Vec<Cow<'_, str>> = list
                .keys
                .iter()
                .map(|key| part(api, list, item, key))
                .filter(|p| !p.is_empty())
                .collect();
            Some(Cow::Owned(parts.join("/")))
        }
    }
}

fn part<'n>(api: &Api, list: &ListType, item: &'n Node<'_>, key: &str) -> Cow<'n, str> {
    match item.get(key).map(|n| &n.value) {
        Some(Value::String(text)) if !text.is_empty() => Cow::Borrowed(text),
        Some(Value::Number(Number::Int(int))) => Cow::Owned(int.to_string()),
        _ => match api.field(list.item, key).map(|f| &f.default) {
            Some(FieldDefault::Fixed(serde_json::Value::String(text))) => Cow::Owned(text.clone()),
            _ => Cow::Borrowed(""),
        },
    }
}

/// Whether a value among the entries of an environment may hold that of another one, so that their
/// order counts.
#[must_use]
pub fn refer(env: &[Node<'_>]) -> bool {
    env.iter().filter_map(|item| item.get("value")?.as_str()).any(|text| text.contains("$("))
}
