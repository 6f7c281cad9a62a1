//! What `manifests` holds: that it builds, in every combination, says what it should, and is what a
//! real API server takes.

mod built;
mod committed;
mod documented;
mod image;
mod invariants;
mod live;
mod mounted;

use std::path::Path;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The objects of a kind.
fn of_kind<'o>(objects: &'o [Value], kind: &str) -> Vec<&'o Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// The object of a kind and a name.
fn named<'o>(objects: &'o [Value], kind: &str, name: &str) -> &'o Value {
    let found =
        of_kind(objects, kind).into_iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}
