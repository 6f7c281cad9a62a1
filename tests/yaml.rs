//! What kubectl reads in the probes and in the manifests of other projects is what is read here.
//!
//! Neither is part of the repository. They are looked for in `../shared`, or where
//! `JOBSHAPE_SHARED` says; without them nothing is compared, except in CI, where that fails.

use std::path::Path;

use jobshape::core::tree::Node;
use jobshape::formats::documents;
use jobshape::formats::json::{self, Duplicates, Skip};
use jobshape::formats::text::Source;
use serde_json::Value as Json;

use crate::corpus::shared;

/// Probes that are deliberately read otherwise than kubectl reads them, and why.
const REFUSED: &[(&str, &str)] = &[
    ("scalar '!!str 123'", "tags are refused: readers of YAML disagree on them"),
    ("scalar '!!int \"123\"'", "a tag"),
    ("scalar '!!float 1'", "a tag"),
    ("scalar '!!bool \"yes\"'", "a tag"),
    ("scalar '!!binary aGk='", "a tag"),
    ("scalar '!foo bar'", "a tag"),
    ("dup-key", "kubectl silently keeps the last of two equal keys"),
    ("dup-key-nested", "equal keys"),
    ("json-dup", "equal keys"),
    ("merge", "kubectl's merge keys depend on the order of the keys beside them"),
    ("merge-list", "a merge key"),
    ("utf16", "a file is UTF-8"),
    ("invalid-utf8", "kubectl puts U+FFFD, which is another Job"),
    ("surrogate-json", "kubectl puts U+FFFD, which is another Job"),
    ("nel", "U+0085 is a line break in YAML 1.1 and none in YAML 1.2"),
    ("kyaml-nosep", "a text that begins with `{` is JSON; YAML needs a `---` before it"),
    ("json-trailing-comma", "JSON has no comma there"),
    ("json-sep", "JSON values need no `---` between them"),
    ("json-then-yaml", "a text is either JSON or YAML"),
];

/// Probes that are read where kubectl refuses or rounds, and why.
const READ: &[(&str, &str)] = &[
    ("case-kind", "whether an object has a `kind` is not the reader's question"),
    ("second-bad", "whether `metadata` is a map is not the reader's question"),
    ("json-bigint", "integers of JSON are exact up to 64 bits; kubectl rounds beyond 2^63"),
];

/// Manifests whose reading differs, and why.
const MANIFESTS: &[(&str, &str)] = &[(
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

#[test]
fn reads_probes_as_kubectl_does() {
    let Some(folder) = shared("yaml-probes") else { return };
    let results = std::fs::read_to_string(folder.join("RESULTS.tsv")).unwrap();
    let (mut agreed, mut failures) = (0, Vec::new());
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
        let deliberate = if refused { REFUSED } else { READ };
        let excused = deliberate.iter().any(|(probe, _)| *probe == name);
        match (agrees, excused) {
            (true, false) => agreed += 1,
            (false, true) => {}
            (true, true) => failures.push(format!("{name}: agrees, and is said to differ")),
            (false, false) => failures.push(format!("{name}: {result}\n  here {objects:?}")),
        }
    }
    let differ = REFUSED.len() + READ.len();
    println!("{agreed} probes agree, {differ} differ deliberately");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(agreed + differ, results.lines().count());
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

#[test]
fn reads_manifests_as_kubectl_does() {
    let (Some(readings), Some(corpus)) = (shared("corpus-readings"), shared("corpus")) else {
        return;
    };
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
        files += 1;
        count += theirs.len();
        let excused = MANIFESTS.iter().any(|(file, _)| *file == manifest);
        if (refused || ours != theirs) != excused {
            failures.push(format!(
                "{manifest}: refused {refused}, {} and {}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    println!("{count} objects of {files} manifests are read as kubectl reads them");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
