//! JSON into the tree, in one pass and without copying strings.
//!
//! Nothing here has a position: a request has none to show, and for a file [`locate`] finds one
//! when a finding needs it, which is rarely.

mod place;
mod seed;

use crate::core::mistake::Mistake;
use crate::core::tree::Node;
use crate::formats::refused;
use crate::formats::text::Part;

pub use place::locate;
pub(crate) use place::{Descent, index, items};
pub(crate) use seed::job_seed;

/// What of an object is not worth building.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// Everything is built.
    Nothing,
    /// `status` and `metadata.managedFields` of the root are passed over: the largest parts of a
    /// Job that lives in a cluster, and no part of what was asked for.
    Job,
}

/// What becomes of a second key of the same name in one map: by it the text is a file, or what a
/// server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// A mistake, as befits a file: kubectl would silently keep the last. Integers beyond 2^63 are
    /// rounded as kubectl rounds them before it sends the file.
    Refuse,
    /// Both are kept, and whoever looks at the tree decides.
    Keep,
}

/// Reads one JSON value that is the whole text. Every node is at
/// [`NOWHERE`](crate::core::tree::NOWHERE).
///
/// # Errors
///
/// The first [`Mistake`]: its syntax, a key that may not stand twice, or more than
/// [`MAX_NODES`](crate::core::tree::MAX_NODES) nodes or
/// [`MAX_DEPTH`](crate::core::tree::MAX_DEPTH) levels.
pub fn read(text: &str, skip: Skip, duplicates: Duplicates) -> Result<Node<'_>, Mistake> {
    read_part(Part::whole(text), skip, duplicates)
}

/// The same for one part of a larger text.
pub(crate) fn read_part(
    part: Part<'_>,
    skip: Skip,
    duplicates: Duplicates,
) -> Result<Node<'_>, Mistake> {
    seed::read(part, skip, duplicates)
}

/// The values of a text that is a stream of them, as `json.Decoder` of kubectl takes it: one after
/// another, with or without space between. What follows a mistake cannot be read.
#[must_use]
pub fn split(text: &str) -> Vec<Result<Part<'_>, Mistake>> {
    place::split(text)
}

/// A serde error as a mistake at its offset in the whole text.
fn syntax(part: Part<'_>, error: &serde_json::Error) -> Mistake {
    let full = error.to_string();
    // The position is told by the offset, which also knows where in the file this part stands.
    let what = full.rfind(" at line ").and_then(|end| full.get(..end)).unwrap_or(&full);
    let at = part.offset(place::of_error(part.text, error));
    if what.starts_with("recursion limit") {
        return refused::too_deep(at);
    }
    Mistake::new(at, format!("the JSON is broken here: {what}"))
}

#[cfg(test)]
mod tests;
