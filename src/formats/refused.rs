//! What the YAML and the JSON reader both refuse, in the same words.

use crate::core::mistake::Mistake;
use crate::core::tree::{MAX_DEPTH, MAX_NODES};

/// From this size on a map's keys go into a set; below it, comparing them all is faster.
pub(super) const MANY_KEYS: usize = 16;

/// A second key of the same name.
pub(super) fn duplicate(key: &str, at: u32, first_line: usize) -> Mistake {
    Mistake::new(at, format!("the key `{key}` stands here a second time in the same map")).help(
        format!(
            "it first stands on line {first_line}; remove one: kubectl would silently keep the last"
        ),
    )
}

/// More levels than are read.
pub(super) fn too_deep(at: u32) -> Mistake {
    Mistake::new(
        at,
        format!(
            "lists and maps are nested {MAX_DEPTH} levels deep or more, and no Kubernetes object \
             comes near that"
        ),
    )
    .help("check the brackets and aliases")
}

/// More nodes than are read.
pub(super) fn too_many(at: u32) -> Mistake {
    Mistake::new(
        at,
        format!(
            "the document has more than {MAX_NODES} values, those copied by aliases counted, and \
             no Kubernetes object comes near that"
        ),
    )
    .help("split the document, or write out what its aliases multiply")
}
