//! Whatever text comes: it is refused at a place within it, or read so that it survives being
//! printed as JSON and as YAML.

use jobshape::core::tree::{Node, Value};
use jobshape::formats::documents::{documents, objects, position_of};
use jobshape::formats::emit;
use jobshape::formats::json::{Duplicates, Skip, read};
use jobshape::formats::text::Source;

use super::same::{self, Order};

/// Checks one text.
///
/// # Panics
/// If it is read wrongly.
pub fn check(data: &[u8]) {
    let Ok(source) = Source::from_bytes("-", data.to_vec()) else { return };
    for document in documents(&source.text) {
        match document {
            Ok(document) => survives(&document.root),
            Err(mistake) => {
                let end = source.text.len();
                assert!(mistake.at as usize <= end, "{} of {end}: {mistake}", mistake.at);
                assert!(source.position(mistake.at).line > 0);
            }
        }
    }
    for object in objects(&source).into_iter().flatten() {
        for pointer in ["", "/metadata/name", "/spec/template/spec/containers/0/env/0/value"] {
            let at = position_of(&source, &object, pointer).expect("a place");
            assert!(at as usize <= source.text.len());
        }
    }
}

fn survives(root: &Node<'_>) {
    let text = same::json(root, Order::Kept);
    let again = read(&text, Skip::Nothing, Duplicates::Refuse).expect("our own JSON");
    assert_eq!(bare(&again), bare(root), "as JSON: {text}");
    if root.value == Value::Null {
        // To YAML that is no document.
        return;
    }
    let text = emit::yaml(root);
    let mut found = documents(&text);
    let again = found.next().expect("a document").expect("our own YAML").root;
    assert_eq!(bare(&again), bare(root), "as YAML: {text}");
    assert!(found.next().is_none(), "one document: {text}");
}

/// A tree without its places.
fn bare(node: &Node<'_>) -> String {
    format!("{:?}", read(&same::json(node, Order::Kept), Skip::Nothing, Duplicates::Refuse))
}
