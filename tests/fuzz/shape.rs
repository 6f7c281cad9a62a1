//! Whatever shape document comes: its mistakes have places, and one that loads admits its own
//! templates.

use jobshape::core::shape::document::Operation;
use jobshape::core::shape::identities::Requester;
use jobshape::core::tree::NOWHERE;
use jobshape::formats::report::snippet::{Style, mistake};
use jobshape::formats::text::Source;

use super::{USER, ask, filled, load, review_of, together};

/// Checks one text that may hold a shape and, after it, the templates that it names.
///
/// # Panics
/// If a shape is loaded that should not be, or a mistake cannot be shown.
pub fn check(data: &[u8]) {
    let Ok(source) = Source::from_bytes("-", data.to_vec()) else { return };
    let shape = match load(&source.text) {
        None => return,
        Some(Ok(shape)) => shape,
        Some(Err(mistakes)) => {
            assert!(!mistakes.is_empty(), "it does not load, and nobody says why");
            // The templates stand in the same text here.
            let sources: Vec<&Source> = std::iter::repeat_n(&source, 8).collect();
            for found in mistakes {
                assert!(found.at == NOWHERE || found.at as usize <= source.text.len());
                assert!(mistake(&sources, &found, Style::Plain).starts_with("error"));
            }
            return;
        }
    };
    let _ = (shape.open_places(), shape.literal_braces(), shape.warnings());
    let ([namespace, ..], [operation, ..]) = (&shape.namespaces[..], &shape.operations[..]) else {
        return;
    };
    let requester = Requester { user: USER, groups: &Vec::<String>::new() };
    if !shape.is_for(Some(&requester)) || shape.exempts(Some(&requester)) {
        return;
    }
    let operation = match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
    };
    let shapes = together(vec![shape.clone()]);
    for object in shape.written().filter_map(filled) {
        let review = review_of(operation, namespace, &object["kind"], &object.to_string());
        let record = ask(&shapes, &review).record;
        assert_eq!((record.verdict, record.findings), ("allow", 0), "{:?}\n{object}", record.rules);
    }
}
