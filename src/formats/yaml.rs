//! YAML as kubectl 1.36 reads it, with the place of every value.
//!
//! A stream is cut into documents by kubectl's own rule ([`split`]), before any YAML is parsed;
//! each is then parsed and typed as go-yaml v2 does ([`read`]). What kubectl accepts but people
//! misread is refused with a sentence: duplicate keys, merge keys, tags, invisible line breaks.
//! Documents are independent of each other, so a caller may read them on several threads.

mod characters;
mod nodes;
mod scalar;
mod stream;
mod syntax;

use crate::core::mistake::Mistake;
use crate::core::tree::{Node, Value};
use crate::formats::text::Part;

pub use stream::split;

/// Reads one document of a stream; nothing for an empty one, which kubectl skips.
///
/// Content after a `...` line is ignored, as kubectl does.
///
/// # Errors
///
/// The first [`Mistake`] of the document: its syntax, something that is deliberately not read, or
/// more than [`MAX_NODES`](crate::core::tree::MAX_NODES) nodes or
/// [`MAX_DEPTH`](crate::core::tree::MAX_DEPTH) levels.
pub fn read(part: Part<'_>) -> Result<Option<Node<'_>>, Mistake> {
    characters::check(part)?;
    let root = nodes::read(part)?;
    Ok(root.filter(|node| node.value != Value::Null))
}

#[cfg(test)]
mod tests;
