//! Places in a Job: how a finding names them for people, and as a JSON pointer.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::core::tree::Node;

/// Longest key or name taken from a Job into a message, in characters.
const MAX_KEY: usize = 64;

/// One step from a node to its child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// A field of a struct, or a key of a map.
    Key(&'a str),
    /// An item of a list: its index in the document, and its key in a keyed list.
    Item {
        /// Index in the document; `None` for an item that the document lacks.
        index: Option<usize>,
        /// The rendered key (`worker`, `8080/TCP`), if the list is keyed.
        key: Option<Cow<'a, str>>,
    },
}

/// A place as people read it (`spec.template.spec.containers[worker].env[HOME].value`).
#[must_use]
pub fn render(steps: &[Step<'_>]) -> String {
    let mut out = String::with_capacity(16 * steps.len());
    for step in steps {
        match step {
            Step::Key(key) if is_plain(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Key(key) => push_in_brackets(key, &mut out),
            Step::Item { key: Some(key), .. } => push_in_brackets(key, &mut out),
            Step::Item { key: None, index } => match index {
                Some(index) => {
                    let _ = write!(out, "[{index}]");
                }
                None => out.push_str("[]"),
            },
        }
    }
    out
}

fn push_in_brackets(name: &str, out: &mut String) {
    out.push('[');
    push_cut(name, out);
    out.push(']');
}

/// The place as an RFC 6901 pointer into `root`, as far as it exists there.
#[must_use]
pub fn pointer_in(steps: &[Step<'_>], root: &Node<'_>) -> String {
    let mut out = String::with_capacity(16 * steps.len());
    let mut at = Some(root);
    for step in steps {
        at = at.and_then(|node| match step {
            Step::Key(key) => node.get(key),
            Step::Item { index, .. } => index.and_then(|index| node.items().get(index)),
        });
        match (at, step) {
            // A key of any length would make the report as long; its parent has to do.
            (Some(_), Step::Key(key)) if key.len() > 4 * MAX_KEY => break,
            (None, _) => break,
            (Some(_), Step::Key(key)) => {
                out.push('/');
                if key.contains(['~', '/']) {
                    out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                } else {
                    out.push_str(key);
                }
            }
            (Some(_), Step::Item { index, .. }) => {
                let _ = write!(out, "/{}", index.unwrap_or_default());
            }
        }
    }
    out
}

/// A key that needs no brackets: a field name as the API has them.
fn is_plain(key: &str) -> bool {
    key.len() <= MAX_KEY
        && key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// A name from a Job, fit for a message: cut to 64 characters, control and other unprintable
/// characters escaped.
#[must_use]
pub fn cut(name: &str) -> String {
    let mut out = String::with_capacity(name.len().min(MAX_KEY));
    push_cut(name, &mut out);
    out
}

fn push_cut(name: &str, out: &mut String) {
    if name.len() <= MAX_KEY && name.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
        out.push_str(name);
        return;
    }
    for (n, c) in name.chars().enumerate() {
        if n == MAX_KEY {
            out.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
}

/// Characters that change how a line looks without being seen: direction marks, zero-width
/// spaces and joiners, the BOM, no-break space.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00a0}' | '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_designed() {
        let steps = [
            Step::Key("spec"),
            Step::Key("containers"),
            Step::Item { index: Some(0), key: Some("worker".into()) },
            Step::Key("ports"),
            Step::Item { index: Some(2), key: Some("8080/TCP".into()) },
        ];
        assert_eq!(render(&steps), "spec.containers[worker].ports[8080/TCP]");
        let label = [Step::Key("metadata"), Step::Key("labels"), Step::Key("a.b/c~d")];
        assert_eq!(render(&label), "metadata.labels[a.b/c~d]");
    }

    #[test]
    fn a_pointer_ends_where_the_document_does() {
        let job = Node::from_json(
            &serde_json::json!({"metadata": {"labels": {"a.b/c~d": 1}}, "l": [{"x": 1}]}),
        );
        let label = [Step::Key("metadata"), Step::Key("labels"), Step::Key("a.b/c~d")];
        assert_eq!(pointer_in(&label, &job), "/metadata/labels/a.b~1c~0d");
        let item = Step::Item { index: Some(0), key: Some("k".into()) };
        assert_eq!(pointer_in(&[Step::Key("l"), item.clone(), Step::Key("y")], &job), "/l/0");
        assert_eq!(pointer_in(&[Step::Key("m"), item], &job), "");
    }

    #[test]
    fn names_from_a_job_cannot_draw_on_the_terminal() {
        assert_eq!(cut("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        assert_eq!(cut(&"x".repeat(100)).chars().count(), 65);
    }
}
