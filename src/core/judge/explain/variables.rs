//! Values of variables: what each may be, and where it stands in its text.

use crate::core::judge::explain::Said;
use crate::core::judge::explain::wanted::{quoted, with_names};
use crate::core::path::is_invisible;
use crate::core::shape::compiled::{CompiledNode, Want};
use crate::core::shape::constraint::Constraint;
use crate::core::shape::template::Template;
use crate::core::shape::variable::{Variable, VariableId};

/// Longest description of what a variable may be, in characters.
const DESCRIBED: usize = 200;

/// A value that the variable's constraint refuses.
pub(super) fn constraint(
    template: &Template,
    node: &CompiledNode,
    id: VariableId,
    value: Option<&str>,
) -> Said {
    let variable = template.variables.get(id);
    let mut text = must_be(template, node, variable);
    if let Some(note) = value.and_then(note_on) {
        text.push_str(&format!("; it {note}"));
    }
    Said::new(text).help(write_one(variable))
}

/// A value of another type than the variable's.
pub(super) fn not_of_type(
    template: &Template,
    node: &CompiledNode,
    id: VariableId,
    found: &str,
) -> Said {
    let variable = template.variables.get(id);
    let text = matches!(variable.constraint, Constraint::Text(_) | Constraint::OneOf(_));
    let unquoted = text && matches!(found, "an integer" | "a number" | "a boolean");
    let said = Said::new(format!("{}, and this is {found}", must_be(template, node, variable)));
    said.help(if unquoted { "put it in quotes".to_owned() } else { write_one(variable) })
}

/// A variable with two values.
pub(super) fn disagrees(template: &Template, id: VariableId, first: &str) -> Said {
    let name = &template.variables.get(id).name;
    Said::new(format!("the variable `{name}` has another value here than at {first}"))
        .help("write the same value at both places")
}

/// What the template has there, and what the variable in it must be.
fn must_be(template: &Template, node: &CompiledNode, variable: &Variable) -> String {
    let name = &variable.name;
    let may_be = may_be(variable);
    match &node.want {
        Want::Pattern(pattern) if pattern.pieces.len() > 1 => {
            match quoted(&with_names(template, pattern)) {
                Some(whole) => {
                    format!("the template has {whole} here, and `<{name}>` must be {may_be}")
                }
                None => format!("the variable `{name}` in this text must be {may_be}"),
            }
        }
        _ => format!("the value of the variable `{name}` must be {may_be}"),
    }
}

fn may_be(variable: &Variable) -> String {
    let words = variable.constraint.describe();
    match words.char_indices().nth(DESCRIBED) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// The order to write a value, with one that will do.
fn write_one(variable: &Variable) -> String {
    let example = variable.example.as_ref().and_then(|example| quoted(&example.to_text()));
    match (&variable.constraint, example) {
        (Constraint::Boolean | Constraint::OneOf(_), _) | (_, None) => {
            format!("write {}", may_be(variable))
        }
        (_, Some(example)) => format!("write such a value, for example {example}"),
    }
}

/// What can be said about a string without showing it.
fn note_on(value: &str) -> Option<String> {
    if let Some(c) = value.chars().find(|c| is_invisible(*c)) {
        return Some(format!("holds the invisible character U+{:04X}", u32::from(c)));
    }
    if value.ends_with('\n') {
        return Some("ends in a newline".to_owned());
    }
    if value.is_empty() {
        return Some("is empty".to_owned());
    }
    if value != value.trim() {
        return Some("has space around it".to_owned());
    }
    None
}
