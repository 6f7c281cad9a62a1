//! What the template has at a place, in words and as somebody would write it.

use crate::core::shape::compiled::{CompiledNode, Name, NodeId, Want};
use crate::core::shape::template::Template;
use crate::core::shape::text::{Piece, TextPattern};
use crate::core::tree::Number;

/// Longest text of the template that a message shows whole, in characters: an image with its
/// digest.
const SHOWN: usize = 160;

/// Longest entry of the template that is written out, in bytes.
const WRITTEN: usize = 100;

/// Longest list of names, in bytes.
const NAMES: usize = 100;

/// What the template has at a node, quoted; nothing for maps, lists and long texts.
pub(super) fn expected(template: &Template, id: NodeId) -> Option<String> {
    let node = template.tree.node(id);
    let text = match &node.want {
        Want::Bool(value) => value.to_string(),
        Want::Number(number) => digits(*number),
        Want::Text(text) | Want::Quantity(_, text) => quoted(text)?,
        Want::Pattern(pattern) => quoted(&with_names(template, pattern))?,
        Want::Variable(id) => format!("`<{}>`", template.variables.get(*id).name),
        _ => return None,
    };
    Some(text)
}

fn digits(number: Number) -> String {
    match number {
        Number::Int(int) => int.to_string(),
        Number::Unsigned(int) => int.to_string(),
        Number::Float(float) => float.to_string(),
    }
}

/// A text of the template in backticks, if it is short and can be shown.
pub(super) fn quoted(text: &str) -> Option<String> {
    let short =
        text.chars().count() <= SHOWN && !text.contains(|c: char| c.is_control() || c == '`');
    short.then(|| format!("`{text}`"))
}

/// A text of the template with its variables as `<name>`.
pub(super) fn with_names(template: &Template, pattern: &TextPattern) -> String {
    pattern.fill(|id| format!("<{}>", template.variables.get(id).name))
}

/// What the template has at a node as flow YAML, if that is short.
pub(super) fn entry(template: &Template, id: NodeId) -> Option<String> {
    let mut out = String::new();
    write(template, id, &mut out)?;
    (out.len() <= WRITTEN && !out.contains('`')).then_some(out)
}

/// What [`entry`] has written, behind its key or as an item of its list.
pub(super) fn named(template: &Template, id: NodeId, value: String) -> String {
    match &template.tree.node(id).name {
        Name::Key(key) => format!("{key}: {value}"),
        Name::Root => value,
        Name::Item(_) | Name::Index(_) | Name::Any => format!("- {value}"),
    }
}

fn write(template: &Template, id: NodeId, out: &mut String) -> Option<()> {
    if out.len() > WRITTEN {
        return None;
    }
    let node = template.tree.node(id);
    match &node.want {
        Want::Bool(value) => out.push_str(&value.to_string()),
        Want::Number(number) => out.push_str(&digits(*number)),
        Want::Text(text) => write_text(text, out),
        Want::Quantity(_, text) if text.parse::<f64>().is_err() => out.push_str(text),
        Want::Quantity(_, text) => write_text(text, out),
        // Whatever takes a variable's place stays a string.
        Want::Pattern(pattern) if matches!(pattern.pieces[..], [Piece::Variable(..)]) => {
            out.push_str(&format!("\"{}\"", with_names(template, pattern)));
        }
        Want::Pattern(pattern) => write_text(&with_names(template, pattern), out),
        Want::Variable(id) => out.push_str(&format!("<{}>", template.variables.get(*id).name)),
        Want::Struct | Want::Map => {
            out.push('{');
            for (index, (key, child)) in written(template, &node.children).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_text(key, out);
                out.push_str(": ");
                write(template, *child, out)?;
            }
            out.push('}');
        }
        Want::List => {
            out.push('[');
            for (index, (_, child)) in written(template, &node.items).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(template, *child, out)?;
            }
            out.push(']');
        }
        Want::Nothing | Want::Sibling(_) | Want::Null => return None,
    }
    Some(())
}

/// What the template itself has of these.
pub(super) fn written<'s>(
    template: &'s Template,
    children: &'s [(String, NodeId)],
) -> impl Iterator<Item = &'s (String, NodeId)> + Clone {
    children.iter().filter(|(_, id)| is_written(template.tree.node(*id)))
}

/// Whether the template itself has this node.
pub(super) fn is_written(node: &CompiledNode) -> bool {
    !node.filled && !node.held && !matches!(node.want, Want::Nothing | Want::Sibling(_))
}

fn write_text(text: &str, out: &mut String) {
    if needs_quotes(text) {
        out.push_str(&serde_json::Value::from(text).to_string());
    } else {
        out.push_str(text);
    }
}

/// Whether a reader of YAML could take the text for something else than a string.
pub(super) fn needs_quotes(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:@+=<>".contains(c);
    let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
    !text.starts_with(|c: char| c.is_ascii_alphabetic() || "/_<".contains(c))
        || text.ends_with(':')
        || !text.chars().all(plain)
        || words.contains(&text.to_ascii_lowercase().as_str())
}

/// The names of a list's or map's entries: `` `a`, `b` and `c` ``, if these are few.
pub(super) fn names(template: &Template, id: NodeId) -> Option<String> {
    let node = template.tree.node(id);
    let mut names: Vec<&str> = vec![];
    let mut length = 0;
    for (name, _) in written(template, &node.children).chain(written(template, &node.items)) {
        length += name.len() + 4;
        if length > NAMES {
            return None;
        }
        names.push(name);
    }
    let (last, most) = names.split_last()?;
    if most.is_empty() {
        return Some(format!("`{last}`"));
    }
    let most: Vec<String> = most.iter().map(|name| format!("`{name}`")).collect();
    Some(format!("{} and `{last}`", most.join(", ")))
}
