//! When a value that stands there is the same as none: null, an empty list or map, and the zero
//! of a field that is no pointer. Source: every field of the schema sent to a 1.36.3 server with
//! null, `""`, 0, false, `[]` and `{}`.

use super::api::{Api, Field, Kind};
use crate::core::tree::{Node, Number, Value};

/// Whether the server stores `node`, as the value of `field`, the same as no value at all.
#[must_use]
pub fn is_absent(api: &Api, field: &Field, node: &Node<'_>) -> bool {
    match &node.value {
        Value::Null => true,
        _ if field.pointer => match field.kind {
            // An empty list or map has no pointer; a pointer to a struct keeps its `{}`.
            Kind::List(_) | Kind::Map(_) => is_zero(api, field.kind, node),
            _ => false,
        },
        _ => is_zero(api, field.kind, node),
    }
}

/// Whether `node` is the zero of its kind: what Go's `omitempty` leaves out.
#[must_use]
pub fn is_zero(api: &Api, kind: Kind, node: &Node<'_>) -> bool {
    match (kind, &node.value) {
        (_, Value::Null) => true,
        (Kind::String, Value::String(text)) => text.is_empty(),
        (Kind::Boolean, Value::Bool(value)) => !value,
        (Kind::Integer, Value::Number(Number::Int(value))) => *value == 0,
        (Kind::List(_), Value::List(items)) => items.is_empty(),
        (Kind::Map(_), Value::Map(entries)) => entries.is_empty(),
        (Kind::Struct(id), Value::Map(entries)) => {
            let structure = api.structure(id);
            entries.iter().all(|e| match structure.field(&e.key) {
                Some(field) => is_absent(api, field, &e.node),
                None => matches!(e.node.value, Value::Null),
            })
        }
        _ => false,
    }
}
