//! What is committed in `rules` and `docs/examples` holds: the filled Job is what `fill` prints,
//! every shape loads, every case of every test file passes, and each known hole has a case.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use jobshape::core::judge::VerdictKind;
use jobshape::edges::{shapes, suites};
use jobshape::formats::report::snippet::Style;
use jobshape::formats::suite::case::complaints_about_base;
use jobshape::formats::suite::{Ready, Server};

use super::{root, run, text};

pub(super) fn folders() -> Vec<String> {
    let there = |name: &str| -> Option<PathBuf> { Some(root().join(name)).filter(|p| p.is_dir()) };
    ["rules", "docs/examples"]
        .into_iter()
        .filter_map(there)
        .map(|path| path.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_filled_job_is_what_fill_prints() {
    let shape = root().join("rules/pm-agent/shape.yaml");
    let output = run(&["fill", shape.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let committed = root().join("rules/pm-agent/jobs/worker.yaml");
    let committed = std::fs::read_to_string(committed).unwrap();
    assert!(
        committed == text(&output.stdout),
        "run `jobshape fill rules/pm-agent/shape.yaml > rules/pm-agent/jobs/worker.yaml`"
    );
}

/// The shapes are in a ConfigMap of what kustomize prints. No cluster is needed to see that they are read.
#[test]
fn the_stream_of_an_installation_is_what_verify_reads() {
    use std::io::Write as _;
    let overlay = root().join("manifests/overlays/built-in/audit-first");
    let kubectl = crate::apiserver::kubectl().unwrap();
    let built = std::process::Command::new(kubectl).arg("kustomize").arg(overlay).output().unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let mut command = super::jobshape();
    command.args(["verify", "--shapes", "-", "--kubeconfig", "no-such-file"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&built.stdout).unwrap();
    let said = text(&child.wait_with_output().unwrap().stderr);
    assert!(said.starts_with("error: no-such-file: "), "{said}");
}

#[test]
fn every_shape_loads() {
    let mut count = 0;
    for folder in folders() {
        match shapes::load(std::slice::from_ref(&folder), None, Style::Plain) {
            Ok(loaded) => count += loaded.len(),
            Err(errors) => panic!("{}", errors.reports.concat()),
        }
    }
    assert!(count > 0);
}

#[test]
fn every_case_of_every_test_file_passes() {
    let mut count = 0;
    let mut failures = vec![];
    for folder in folders() {
        let loaded = suites::load(&[folder], None, Style::Plain)
            .unwrap_or_else(|r| panic!("{}", r.concat()));
        for one in &loaded {
            let ready = Ready::new(&one.suite, &one.shapes, &one.files).unwrap();
            let about_base = complaints_about_base(&ready.judge(&ready.base(), false));
            failures.extend(about_base.into_iter().map(|c| format!("{}: {c}", one.source.name)));
            for case in &one.suite.cases {
                let complaints = match ready.build(case) {
                    Ok(built) => case.complaints(&ready.judge(&built, case.as_written)),
                    Err(message) => vec![message],
                };
                failures.extend(complaints.into_iter().map(|c| format!("{}: {c}", case.name)));
                count += 1;
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(count > 390, "{count} cases");
}

/// The ways that a policy which lists what is forbidden leaves open for this worker, by number; what
/// no Job shape can close is a row of the README instead.
#[test]
fn every_hole_has_a_case() {
    let file = root().join("rules/pm-agent/tests.yaml").to_str().unwrap().to_owned();
    let loaded = suites::load(&[file], None, Style::Plain).unwrap();
    let mut closed = BTreeSet::new();
    for case in &loaded[0].suite.cases {
        let Some(rest) = case.name.strip_prefix("hole-") else { continue };
        let (number, words) = rest.split_once('-').unwrap();
        assert!(number.len() == 2 && !words.is_empty(), "{}", case.name);
        assert_eq!(case.expect, VerdictKind::Deny, "{}", case.name);
        // Only what is yet to come is something that no webhook sees.
        assert_eq!(case.server, (number == "29").then_some(Server::Drops), "{}", case.name);
        closed.insert(number.parse::<u8>().unwrap());
    }
    let holes: BTreeSet<u8> = (2..=26).chain([28, 29]).collect();
    assert_eq!(closed, holes);
}

/// The README shows the shape that its commands use.
#[test]
fn the_readme_shows_the_first_shape() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let shape = read("docs/examples/first-shape/shape.yaml");
    assert!(read("README.md").contains(&format!("```yaml\n{shape}```\n")));
    assert!(shape.lines().count() <= 10);
}

/// A rule that a user relies on names the test that holds it, and that test is there.
#[test]
fn the_tests_that_the_rules_name_are_there() {
    let text = std::fs::read_to_string("docs/equality.md").unwrap();
    let names: Vec<&str> = text.split('`').filter(|part| part.contains("::")).collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let path = name.replace("::", "/");
        let module = ["src", "tests"]
            .iter()
            .any(|root| std::path::Path::new(&format!("{root}/{path}.rs")).is_file());
        let function = path.rsplit_once('/').is_some_and(|(module, function)| {
            let file = std::fs::read_to_string(format!("tests/{module}.rs")).unwrap_or_default();
            file.contains(&format!("fn {function}()"))
        });
        assert!(module || function, "docs/equality.md names `{name}`, and there is no such test");
    }
}
