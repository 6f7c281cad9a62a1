//! Where in the text a finding about an object points.

use super::Object;
use crate::core::tree::{NOWHERE, Node, Value};
use crate::formats::json;
use crate::formats::json::Descent;
use crate::formats::text::{Part, Source, offset};

/// Finds places in one object; asked again, it knows what it has read.
pub struct Places<'o, 'a> {
    source: &'o Source,
    object: &'o Object<'a>,
    json: Option<(Part<'a>, Descent<'a>)>,
}

impl<'o, 'a> Places<'o, 'a> {
    /// The places of an object of this text.
    #[must_use]
    pub fn of(source: &'o Source, object: &'o Object<'a>) -> Self {
        Places { source, object, json: object.json.map(|part| (part, Descent::new(part.text))) }
    }

    /// Byte offset in the text of the node at a JSON pointer within the object, or of the
    /// innermost node on the way there that stands in the text: a missing field is shown where it
    /// would belong.
    #[must_use]
    pub fn find(&mut self, pointer: &str) -> Option<u32> {
        let at = match &mut self.json {
            Some((part, descent)) => part.at.checked_add(descent.nearest(part.text, pointer)?)?,
            None => walk(&self.object.root, pointer)?,
        };
        (at <= offset(self.source.text.len())).then_some(at)
    }
}

/// [`Places::find`], asked once.
#[must_use]
pub fn position_of(source: &Source, object: &Object<'_>, pointer: &str) -> Option<u32> {
    Places::of(source, object).find(pointer)
}

fn walk(root: &Node<'_>, pointer: &str) -> Option<u32> {
    let mut node = root;
    let mut at = (root.at != NOWHERE).then_some(root.at);
    let tokens = pointer.strip_prefix('/').unwrap_or_default();
    for token in tokens.split('/').filter(|_| !tokens.is_empty()) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let child = match &node.value {
            Value::Map(entries) => {
                entries.iter().find(|e| e.key == token).map(|e| (&e.node, e.key_at))
            }
            Value::List(items) => {
                json::index(&token).and_then(|index| items.get(index)).map(|item| (item, NOWHERE))
            }
            _ => None,
        };
        let Some((child, key_at)) = child else { break };
        // A map or list begins on the line after its key: the key is what people look for.
        let is_scalar = !matches!(child.value, Value::Map(_) | Value::List(_));
        let place = if is_scalar || key_at == NOWHERE { child.at } else { key_at };
        if place != NOWHERE {
            at = Some(place);
        }
        node = child;
    }
    at
}
