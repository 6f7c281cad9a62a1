//! A tree as YAML that every reader reads alike: whatever YAML 1.1 or 1.2 could take for
//! something else is quoted.

use std::fmt::Write as _;

use crate::core::tree::{Node, Number, Value};

/// The node as a YAML document, ending in a newline.
#[must_use]
pub fn yaml(node: &Node<'_>) -> String {
    let mut out = String::new();
    block(node, 0, &mut out);
    out
}

fn block(node: &Node<'_>, indent: usize, out: &mut String) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    pad(indent, out);
                }
                key(&entry.key, indent, out);
                out.push(':');
                below(&entry.node, indent, out);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    pad(indent, out);
                }
                out.push('-');
                match &item.value {
                    Value::Map(e) if !e.is_empty() => {
                        out.push(' ');
                        block(item, indent + 2, out);
                    }
                    Value::List(i) if !i.is_empty() => {
                        out.push(' ');
                        block(item, indent + 2, out);
                    }
                    _ => below(item, indent, out),
                }
            }
        }
        _ => {
            scalar(node, indent, out);
            out.push('\n');
        }
    }
}

/// What follows a key: on the same line for a scalar, below it for a list or map.
fn below(node: &Node<'_>, indent: usize, out: &mut String) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            pad(indent + 2, out);
            block(node, indent + 2, out);
        }
        Value::List(items) if !items.is_empty() => {
            out.push('\n');
            pad(indent + 2, out);
            block(node, indent + 2, out);
        }
        _ => {
            out.push(' ');
            scalar(node, indent, out);
            out.push('\n');
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(node: &Node<'_>, indent: usize, out: &mut String) {
    // Writing to a String does not fail.
    let _ = match &node.value {
        Value::Null => write!(out, "null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Number(Number::Int(int)) => write!(out, "{int}"),
        Value::Number(Number::Unsigned(int)) => write!(out, "{int}"),
        Value::Number(Number::Float(float)) => write!(out, "{float:?}"),
        Value::String(value) => {
            text(value, indent, out);
            Ok(())
        }
        Value::List(_) => write!(out, "[]"),
        Value::Map(_) => write!(out, "{{}}"),
    };
}

/// How long a key may be that stands before its `:`; YAML 1.2.2, 7.4.2, and every reader of it.
const LONGEST_KEY: usize = 1024;

/// A key stands on one line. A long one has to say that it is one, and its `:` is on the next line.
fn key(value: &str, indent: usize, out: &mut String) {
    let mut written = String::new();
    if is_plain(value) {
        written.push_str(value);
    } else {
        quoted(value, &mut written);
    }
    if written.len() < LONGEST_KEY {
        out.push_str(&written);
    } else {
        out.push_str("? ");
        out.push_str(&written);
        out.push('\n');
        pad(indent, out);
    }
}

/// A JSON string is a double-quoted YAML scalar, but for the characters that YAML does not take as
/// they are.
fn quoted(value: &str, out: &mut String) {
    for c in serde_json::Value::from(value).to_string().chars() {
        // Writing to a String does not fail.
        let _ = match u32::from(c) {
            _ if !is_hidden(c) => write!(out, "{c}"),
            code @ ..=0xffff => write!(out, "\\u{code:04X}"),
            code => write!(out, "\\U{code:08X}"),
        };
    }
}

/// What nobody sees, and what YAML knows as an escape only.
fn is_hidden(c: char) -> bool {
    c.is_control() || crate::core::path::is_invisible(c) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn text(value: &str, indent: usize, out: &mut String) {
    if is_plain(value) {
        out.push_str(value);
    } else if let Some(chomping) = as_lines(value) {
        out.push('|');
        out.push_str(chomping);
        for line in value.trim_end_matches('\n').split('\n') {
            out.push('\n');
            if !line.is_empty() {
                pad(indent + 2, out);
                out.push_str(line);
            }
        }
    } else {
        quoted(value, out);
    }
}

/// Text that no reader takes for anything but itself.
fn is_plain(value: &str) -> bool {
    let word = value.trim_start_matches('/');
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let safe = value.chars().all(|c| c.is_ascii_alphanumeric() || "._-/@=".contains(c) || c == ':')
        && !value.ends_with(':')
        && !value.contains("::");
    let reserved = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    begins && safe && !reserved.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether several lines can be written as they are, and the indicator for how they end.
fn as_lines(value: &str) -> Option<&'static str> {
    let body = value.strip_suffix('\n').unwrap_or(value);
    let simple = body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n', '\t'])
        && !body.chars().any(|c| is_hidden(c) && c != '\n');
    simple.then_some(if value.ends_with('\n') { "" } else { "-" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::documents::documents;

    #[test]
    fn what_is_written_is_read_back() {
        let json = serde_json::json!({
            "plain": "a/b:c@sha256", "no": "no", "number": "42", "hex": "0x1F", "float": "1e3", "empty": "", "tilde": "~",
            "space": " a", "colon": "a: b", "hash": "a #b", "star": "*a", "dash": "-", "date": "2026-01-01", "sexa": "1:20",
            "script": "set -e\n\nif x; then\n  y\nfi\n", "nonl": "a\nb", "two": "a\nb\n\n", "lead": " a\nb", "tab": "a\tb\nc",
            "unicode": "é\u{202e}\u{0}", "breaks": "a\u{85}\u{2028}\u{2029}\u{7f}\u{9b}", "none": "\u{feff}\u{fffe}\u{ffff}\u{e0001}", "list": [[], {}, [1, [2]], {"a": [{"b": null, "c": true}]}], "big": 9_007_199_254_740_993_i64,
            "1": "key", "on": "key", "": "key", "a\nb": "key", "<<": "key"
        });
        let text = yaml(&Node::from_json(&json));
        let back = documents(&text)
            .next()
            .expect("a document")
            .unwrap_or_else(|e| panic!("{e}\n{text}"))
            .root;
        assert_eq!(back.to_json(), json, "{text}");
    }

    #[test]
    fn long_keys_are_written_so_that_they_are_read() {
        for length in [1000, 1021, 1022, 1023, 1024, 1025, 5000] {
            for letter in ["a", " ", "é", "\u{85}"] {
                let key = letter.repeat(length);
                let below =
                    serde_json::json!({&key: "text", "list": [{&key: {"a": 1}}, {&key: [1]}]});
                let json = serde_json::json!({&key: below, "then": true});
                let text = yaml(&Node::from_json(&json));
                let back = documents(&text).next().expect("a document");
                let back = back.unwrap_or_else(|e| panic!("{length} {letter:?}: {e}")).root;
                assert_eq!(back.to_json(), json, "{length} {letter:?}");
            }
        }
    }
}
