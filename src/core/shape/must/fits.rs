//! Does what a `must` rule says fit what the API has at its place? A word about another type, or a
//! field that is not there, would hold of everything or of nothing.

use super::schema::{Additional, Schema, Sort, Type};
use super::{is_old_spelling, no_field};
use crate::core::kubernetes::absent::is_zero;
use crate::core::kubernetes::api::{Api, Kind};
use crate::core::kubernetes::quantity::Quantity;
use crate::core::mistake::Mistake;
use crate::core::shape::compile::word;
use crate::core::shape::constraint::ValueType;
use crate::core::tree::{Node, Number, Value};

/// Checks a schema against the kind of the values that it is about.
pub(super) fn check(api: &'static Api, schema: &Schema, kind: Kind, mistakes: &mut Vec<Mistake>) {
    if let Some(of_type) = schema.of_type
        && !is_of(of_type, kind)
    {
        let message = format!(
            "`type: {}` can hold of nothing here: the API has {} at this place",
            of_type.word(),
            word(kind)
        );
        mistakes.push(Mistake::new(schema.at, message));
    }
    if let Some(sort) = schema.sort()
        && schema.of_type.is_none_or(|of_type| is_of(of_type, kind))
        && !is_about(sort, kind)
    {
        let message = format!(
            "this says something about {}, and the API has {} at this place",
            describe(sort),
            word(kind)
        );
        let help = matches!(kind, Kind::Quantity { .. }).then(|| {
            "a quantity has many spellings: compare it with `minimum`, `maximum` or `enum`"
                .to_owned()
        });
        mistakes.push(Mistake { help, ..Mistake::new(schema.at, message) });
        return;
    }
    for value in &schema.one_of {
        if !is_value(kind, value) {
            let (has, found) = (word(kind), value.kind());
            let message = match kind {
                Kind::Struct(_) | Kind::List(_) | Kind::Map(_) => format!(
                    "the API has {has} at this place, which `const` and `enum` do not compare"
                ),
                _ => format!("the API has {has} at this place, not {found}"),
            };
            mistakes.push(Mistake::new(value.at, message));
        }
    }
    match kind {
        Kind::Struct(id) => {
            let structure = api.structure(id);
            let names = schema.required.iter().map(|(name, at)| (name, *at));
            let names = names.chain(schema.properties.iter().map(|(name, at, _)| (name, *at)));
            for (name, at) in names {
                if is_old_spelling(structure, name) {
                    let message = "`serviceAccount` is judged under its other name";
                    let help = "say `serviceAccountName`: both spellings are one value";
                    mistakes.push(Mistake::new(at, message).help(help));
                } else if structure.field(name).is_none() {
                    let (message, help) = no_field(structure, name);
                    mistakes.push(Mistake { help, ..Mistake::new(at, message) });
                }
            }
            for (name, _, below) in &schema.properties {
                let Some(field) = structure.field(name) else { continue };
                check(api, below, field.kind, mistakes);
                if !field.pointer && schema.required.iter().any(|(required, _)| required == name) {
                    refuse_zeros(api, below, field.kind, mistakes);
                }
            }
            if let Additional::Schema(below) = &schema.additional {
                let message = "`additionalProperties` is true or false here: the fields of a struct differ in type";
                mistakes.push(Mistake::new(below.at, message));
            }
        }
        Kind::Map(id) => {
            let item = api.list(id).item;
            schema.properties.iter().for_each(|(_, _, below)| check(api, below, item, mistakes));
            if let Additional::Schema(below) = &schema.additional {
                check(api, below, item, mistakes);
            }
        }
        Kind::List(id) => {
            if let Some(items) = &schema.items {
                check(api, items, api.list(id).item, mistakes);
            }
        }
        _ => {}
    }
    for below in schema.any_of.iter().chain(schema.not.as_deref()) {
        check(api, below, kind, mistakes);
    }
}

/// A place where a zero is stored as nothing never holds one: the value that must be there would be
/// missing.
pub(super) fn refuse_zeros(api: &Api, schema: &Schema, kind: Kind, mistakes: &mut Vec<Mistake>) {
    if !schema.one_of.is_empty() && schema.one_of.iter().all(|value| is_zero(api, kind, value)) {
        let message =
            "the server stores this value as nothing at all, so the rule could never be satisfied";
        let help =
            "say `absent: true` beside `must` (inside a schema: take the name out of `required`)";
        mistakes.push(Mistake::new(schema.at, message).help(help));
    }
}

fn is_of(of_type: Type, kind: Kind) -> bool {
    matches!(
        (of_type, kind),
        (_, Kind::Unknown)
            | (Type::Scalar(ValueType::Text), Kind::String | Kind::IntOrString)
            | (Type::Scalar(ValueType::Integer), Kind::Integer | Kind::IntOrString)
            | (Type::Scalar(ValueType::Boolean), Kind::Boolean)
            | (Type::Scalar(ValueType::Quantity), Kind::Quantity { .. })
            | (Type::Object, Kind::Struct(_) | Kind::Map(_))
            | (Type::Array, Kind::List(_))
    )
}

fn is_about(sort: Sort, kind: Kind) -> bool {
    matches!(
        (sort, kind),
        (_, Kind::Unknown)
            | (Sort::Text, Kind::String | Kind::IntOrString)
            | (Sort::Number, Kind::Integer | Kind::Quantity { .. } | Kind::IntOrString)
            | (Sort::Map, Kind::Struct(_) | Kind::Map(_))
            | (Sort::List, Kind::List(_))
    )
}

fn describe(sort: Sort) -> &'static str {
    match sort {
        Sort::Text => "strings",
        Sort::Number => "numbers",
        Sort::Map => "maps",
        Sort::List => "lists",
    }
}

fn is_value(kind: Kind, value: &Node<'_>) -> bool {
    let int = matches!(value.value, Value::Number(Number::Int(_)));
    match kind {
        Kind::Unknown => true,
        Kind::String => value.as_str().is_some(),
        Kind::Boolean => value.as_bool().is_some(),
        Kind::Integer => int,
        Kind::IntOrString => int || value.as_str().is_some(),
        Kind::Quantity { .. } => int || value.as_str().and_then(Quantity::parse).is_some(),
        Kind::Struct(_) | Kind::List(_) | Kind::Map(_) => false,
    }
}
