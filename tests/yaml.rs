//! What kubectl reads in the probes and in the manifests of other projects is what is read here.
//!
//! Neither is part of the repository. They are looked for in `../shared`, or where
//! `JOBSHAPE_SHARED` says; without them nothing is compared, except in CI, where that fails.

mod differences;

use std::path::Path;

use jobshape::core::tree::Node;
use jobshape::formats::documents;
use jobshape::formats::json::{self, Duplicates, Skip};
use jobshape::formats::text::Source;
use serde_json::Value as Json;

use crate::corpus::shared;

/// Manifests whose reading differs, and why.
pub const MANIFESTS: &[(&str, &str)] = &[(
    "kyverno__policies/other-mpol/add-ttl-jobs/.chainsaw-test/job-not-patched.yaml",
    "kubectl refuses the type of `ownerReferences`, which is not the reader's question",
)];

/// The objects of a file, and whether anything in it was refused.
fn read(path: &Path) -> (Vec<Json>, bool) {
    let bytes = std::fs::read(path).unwrap();
    let Ok(source) = Source::from_bytes(path.to_string_lossy(), bytes) else {
        return (Vec::new(), true);
    };
    let mut refused = false;
    let mut objects = Vec::new();
    for object in documents::objects(&source) {
        match object {
            Ok(object) => objects.push(object.root.to_json()),
            Err(_) => refused = true,
        }
    }
    (objects, refused)
}

/// JSON through our own reader, so that numbers have one form on both sides.
fn parse(text: &str) -> Json {
    json::read(text, Skip::Nothing, Duplicates::Keep).map(|node: Node<'_>| node.to_json()).unwrap()
}

/// How many probes there are of each kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Probes {
    /// Read as kubectl reads them, or refused by both.
    pub agreed: usize,
    /// Refused here, on purpose.
    pub refused: usize,
    /// Read here where kubectl rounds or refuses.
    pub read: usize,
}

/// Every probe; nothing where there are none.
///
/// # Panics
/// If one is read otherwise than kubectl reads it and is not among the differences, or is and agrees.
pub fn probes() -> Option<Probes> {
    let folder = shared("yaml-probes")?;
    let results = std::fs::read_to_string(folder.join("RESULTS.tsv")).unwrap();
    let (mut found, mut failures) = (Probes::default(), Vec::new());
    for (number, line) in results.lines().enumerate() {
        let (name, result) = line.split_once('\t').unwrap();
        // Newer and older kubectl are on one line where they differ; the newer counts.
        let result = result.split(" || ").next().unwrap();
        let scalar = name.starts_with("scalar ");
        let file =
            if scalar { format!("scalar-v{number:02}.yaml") } else { format!("{name}.yaml") };
        let (objects, refused) = read(&folder.join(file));
        let agrees = if scalar {
            if result.starts_with("ERR") {
                refused
            } else {
                objects.first().is_some_and(|object| object["spec"]["v"] == parse(result))
            }
        } else {
            agrees(result, &objects, refused)
        };
        match (agrees, differences::about(name)) {
            (true, None) => found.agreed += 1,
            (false, Some(difference)) if difference.refused == refused => {
                *(if refused { &mut found.refused } else { &mut found.read }) += 1;
            }
            (true, Some(_)) => failures.push(format!("{name}: agrees, and is said to differ")),
            (false, _) => failures.push(format!("{name}: {result}\n  here {objects:?}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let listed: usize = differences::DIFFERENCES.iter().map(|one| one.probes.len()).sum();
    assert_eq!(found.refused + found.read, listed, "a probe that is not there any more");
    Some(found)
}

#[test]
fn reads_probes_as_kubectl_does() {
    let Some(found) = probes() else { return };
    println!("{found:?}");
}

/// A line like `rc0 docs=1 [...]`, with what kubectl said at the end where it refused.
fn agrees(result: &str, objects: &[Json], refused: bool) -> bool {
    let (code, rest) = result.split_once(' ').unwrap();
    let list = rest.split_once(' ').unwrap().1;
    let list = list.split(" ERR ").next().unwrap();
    let Json::Array(theirs) = parse(list.trim()) else { panic!("{result}") };
    let ours: Vec<Json> = objects
        .iter()
        .map(|object| {
            let mut fields = object.as_object().cloned().unwrap_or_default();
            fields.remove("apiVersion");
            fields.remove("kind");
            Json::Object(fields)
        })
        .collect();
    if code == "rc0" {
        return !refused && ours == theirs;
    }
    // kubectl stops where it fails, and here reading goes on.
    (refused || ours.is_empty()) && ours.starts_with(&theirs)
}

/// How many manifests, and objects in them, are read as kubectl reads them; nothing where there are
/// none.
///
/// # Panics
/// If one is not.
pub fn manifests() -> Option<(usize, usize)> {
    let (readings, corpus) = (shared("corpus-readings")?, shared("corpus")?);
    let (mut files, mut count, mut failures) = (0, 0, Vec::new());
    for entry in walkdir::WalkDir::new(&readings).sort_by_file_name() {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(&readings).unwrap().to_string_lossy().into_owned();
        let Some(manifest) = path.strip_suffix(".read.jsonl") else { continue };
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let theirs: Vec<Json> = text
            .lines()
            .flat_map(|line| match parse(line) {
                Json::Array(objects) => objects,
                object => vec![object],
            })
            .collect();
        let (mut ours, refused) = read(&corpus.join(manifest));
        for object in &mut ours {
            // kubectl reads these and does not show them.
            if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
        let excused = MANIFESTS.iter().any(|(file, _)| *file == manifest);
        if !excused {
            files += 1;
            count += theirs.len();
        }
        if (refused || ours != theirs) != excused {
            failures.push(format!(
                "{manifest}: refused {refused}, {} and {}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Some((files, count))
}

#[test]
fn reads_manifests_as_kubectl_does() {
    let Some((files, objects)) = manifests() else { return };
    println!("{objects} objects of {files} manifests are read as kubectl reads them");
}
