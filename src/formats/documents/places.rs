//! Where in the text a finding about an object points.

use super::Object;
use crate::core::tree::{NOWHERE, Node, Value};
use crate::formats::json;
use crate::formats::text::{Source, offset};

/// Byte offset in the text of the node at a JSON pointer within an object, or of the innermost
/// node on the way there that stands in the text: a missing field is shown where it would belong.
#[must_use]
pub fn position_of(source: &Source, object: &Object<'_>, pointer: &str) -> Option<u32> {
    let at = match object.json {
        Some(part) => {
            let within = json::nearest(part.text, pointer)?;
            part.at.checked_add(within)?
        }
        None => walk(&object.root, pointer)?,
    };
    (at <= offset(source.text.len())).then_some(at)
}

fn walk(root: &Node<'_>, pointer: &str) -> Option<u32> {
    let mut node = root;
    let mut at = (root.at != NOWHERE).then_some(root.at);
    let tokens = pointer.strip_prefix('/').unwrap_or_default();
    for token in tokens.split('/').filter(|_| !tokens.is_empty()) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let child = match &node.value {
            Value::Map(_) => node.get(&token),
            Value::List(items) => json::index(&token).and_then(|index| items.get(index)),
            _ => None,
        };
        let Some(child) = child else { break };
        if child.at != NOWHERE {
            at = Some(child.at);
        }
        node = child;
    }
    at
}
