//! The digest of a shape: which version of the rules spoke.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use crate::core::tree::{Entry, NOWHERE, Node, Number, Value};

/// SHA-256, in hexadecimal, of the RFC 8785 JSON of `spec` as written, with `templateFrom`
/// replaced by `templates`: the same for a file, a ConfigMap and a resource.
#[must_use]
pub fn of<'t>(root: &Node<'_>, templates: impl Iterator<Item = &'t Node<'static>>) -> String {
    let mut spec = root.get("spec").map_or_else(|| Node::new(Value::Null), Node::borrowed);
    if let Value::Map(entries) = &mut spec.value
        && entries.iter().any(|entry| entry.key == "templateFrom")
    {
        entries.retain(|entry| !matches!(&*entry.key, "templateFrom" | "templates"));
        let node = Node::new(Value::List(templates.map(Node::borrowed).collect()));
        entries.push(Entry { key: Cow::Borrowed("templates"), key_at: NOWHERE, node });
    }
    let mut canonical = String::new();
    write(&spec, &mut canonical);
    let hash = Sha256::digest(canonical.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 8785 JSON, except that an integer keeps all its digits: two templates that differ only
/// beyond 2^53 are two templates.
fn write(node: &Node<'_>, to: &mut String) {
    match &node.value {
        Value::Null => to.push_str("null"),
        Value::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
        Value::Number(Number::Int(int)) => to.push_str(&int.to_string()),
        Value::Number(Number::Unsigned(int)) => to.push_str(&int.to_string()),
        // JSON has no infinity.
        Value::Number(Number::Float(float)) => to.push_str(
            &serde_json_canonicalizer::to_string(&serde_json::Value::from(*float))
                .unwrap_or_else(|_| float.to_string()),
        ),
        Value::String(text) => write_text(text, to),
        Value::List(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write(item, to);
            }
            to.push(']');
        }
        Value::Map(entries) => {
            let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
            sorted.sort_by(|a, b| a.key.encode_utf16().cmp(b.key.encode_utf16()));
            to.push('{');
            for (index, entry) in sorted.into_iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write_text(&entry.key, to);
                to.push(':');
                write(&entry.node, to);
            }
            to.push('}');
        }
    }
}

fn write_text(text: &str, to: &mut String) {
    if text.bytes().any(|b| b < b' ' || b == b'"' || b == b'\\') {
        to.push_str(&serde_json::Value::from(text).to_string());
        return;
    }
    to.push('"');
    to.push_str(text);
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_form_is_that_of_rfc_8785() {
        let json = serde_json::json!({"b": [1e3, 0.5, 1e30], "a\u{e000}": 1, "a\u{10000}": "\u{1}é\"", "big": 9_007_199_254_740_993_i64});
        let mut canonical = String::new();
        write(&Node::from_json(&json), &mut canonical);
        assert_eq!(
            canonical,
            "{\"a\u{10000}\":\"\\u0001é\\\"\",\"a\u{e000}\":1,\"b\":[1000,0.5,1e+30],\"big\":9007199254740993}"
        );
    }
}
