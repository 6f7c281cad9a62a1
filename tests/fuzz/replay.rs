//! The committed seeds, among them what once broke something, through the checks of the targets.

use std::path::Path;

/// The inputs of a target.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(target);
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("seeds")
        .map(|entry| {
            let entry = entry.expect("a file");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).expect("it can be read"))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 8, "{target} has {} seeds", found.len());
    found
}

/// Every input whole, cut short at many places, and joined to every other.
fn replay(target: &str, check: fn(&[u8])) {
    let seeds = seeds(target);
    for (name, bytes) in &seeds {
        println!("{target}/{name}");
        check(bytes);
        for part in 1..16 {
            check(&bytes[..bytes.len() * part / 16]);
        }
        for (_, other) in &seeds {
            check(&[&bytes[..bytes.len() / 2], other].concat());
        }
    }
}

#[test]
fn review_bytes() {
    replay("review", super::review::check);
}

#[test]
fn yaml() {
    replay("yaml", super::yaml::check);
}

#[test]
fn shape_documents() {
    replay("shape", super::shape::check);
}

#[test]
fn jobs_against_a_shape() {
    replay("job", super::job::check);
}
