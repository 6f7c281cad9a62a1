//! Updates that take something away from the Job's metadata and do nothing else: they pass before
//! any shape is looked at, so that nothing can wedge deletion or orphaning.
//!
//! The garbage collector takes its own finalizer away from a Job that is being deleted, takes the
//! owner away from a Job whose owner is deleted with `orphan`, and sets `blockOwnerDeletion` to
//! false. Refused, it tries for ever.

use crate::core::judge::update::difference::{Difference, Place};
use crate::core::kubernetes::api::Kind;
use crate::core::tree::{Node, Value};

/// What the server writes on every update.
const SERVERS_OWN: [&str; 3] = ["managedFields", "resourceVersion", "generation"];

/// What may lose entries.
const LISTS: [&str; 2] = ["finalizers", "ownerReferences"];

/// Whether the update of `old` to `new` at most takes entries of `metadata.finalizers` and
/// `metadata.ownerReferences` away and sets `blockOwnerDeletion` to false; `difference` is theirs. A
/// tree whose `spec` is the raw text of it does as well.
#[must_use]
pub fn only_removes(difference: &Difference<'_>, old: &Node<'_>, new: &Node<'_>) -> bool {
    // An update of the Job itself leaves the status as it is.
    let Some(mut inside) = only_at(difference, &["metadata", "status"]) else { return false };
    let allowed = [&SERVERS_OWN[..], &LISTS].concat();
    inside.all(|(key, below)| key == "status" || only_at(below, &allowed).is_some())
        && LISTS.iter().all(|name| has_less(list(old, name), list(new, name)))
}

fn list<'n>(job: &'n Node<'n>, name: &str) -> Option<&'n Node<'n>> {
    job.get("metadata")?.get(name)
}

/// The fields of a map that differ, if none but these do.
fn only_at<'d>(
    difference: &'d Difference<'_>,
    allowed: &[&str],
) -> Option<impl Iterator<Item = (&'d str, &'d Difference<'d>)>> {
    let places = match difference {
        Difference::None => None,
        Difference::Whole => return None,
        Difference::Inside { places, .. } => Some(places),
    };
    let fields = || {
        places.into_iter().flatten().map(|(place, difference)| match place {
            Place::Key(key) => (&**key, difference),
            Place::Item(_) | Place::Index(_) => ("", difference),
        })
    };
    fields().all(|(key, _)| allowed.contains(&key)).then(fields)
}

/// Whether each item of a list is one of the old ones, each of those once at most. What is left
/// keeps its order.
fn has_less(old: Option<&Node<'_>>, new: Option<&Node<'_>>) -> bool {
    let is_list = |list: &Node<'_>| matches!(list.value, Value::List(_) | Value::Null);
    let mut before = old.map(Node::items).unwrap_or_default().iter();
    let mut after = new.map(Node::items).unwrap_or_default().iter();
    old.is_none_or(is_list)
        && new.is_none_or(is_list)
        && after.all(|item| before.any(|old| is_same(old, item)))
}

/// Whether an item is the old one, but that an owner may have stopped to block its own deletion.
fn is_same(old: &Node<'_>, new: &Node<'_>) -> bool {
    let unblocked = new
        .get("blockOwnerDeletion")
        .is_none_or(|node| matches!(node.value, Value::Null | Value::Bool(false)));
    let allowed: &[&str] = if unblocked { &["blockOwnerDeletion"] } else { &[] };
    only_at(&Difference::between(Kind::Unknown, old, new), allowed).is_some()
}
