//! Building the binaries, as far as it can be tested without five minutes of compiling.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::apiserver::{VERSION, VERSIONS, minor};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/apiserver");

#[test]
fn the_go_modules_build_the_versions_that_the_harness_looks_for() {
    assert!(VERSIONS.contains(&VERSION));
    for version in VERSIONS {
        let module = std::fs::read_to_string(format!("{HERE}/v{}/go.mod", minor(version))).unwrap();
        let requires = format!("k8s.io/kubernetes v{version} ");
        let line = |line: &str| {
            let line = line.trim().trim_start_matches("require ");
            format!("{line} ").starts_with(&requires)
        };
        assert!(module.lines().any(line), "{version}");
    }
}

/// Runs a copy of the script where nothing is built yet and no Go is in the path.
fn build_without_go(root: &Path, assets: Option<&Path>) -> Output {
    let tools = root.join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    for tool in ["awk", "dirname", "sh"] {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let _ = symlink(found.trim(), tools.join(tool));
    }
    std::fs::create_dir_all(root.join("v1.36")).unwrap();
    std::fs::copy(format!("{HERE}/build.sh"), root.join("build.sh")).unwrap();
    std::fs::copy(format!("{HERE}/v1.36/go.mod"), root.join("v1.36/go.mod")).unwrap();
    let mut command = Command::new(root.join("build.sh"));
    command.env_clear().env("PATH", tools).args(["etcd", "kubectl"]);
    if let Some(assets) = assets {
        command.env("KUBEBUILDER_ASSETS", assets);
    }
    command.output().unwrap()
}

#[test]
fn without_go_it_says_in_one_sentence_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let output = build_without_go(root.path(), None);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("no etcd, no kubectl: install Go 1.26"), "{said}");
    assert!(said.contains("KUBEBUILDER_ASSETS"), "{said}");
}

#[test]
fn what_the_assets_lack_is_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let assets = root.path().join("assets");
    std::fs::create_dir(&assets).unwrap();
    std::fs::copy(format!("{HERE}/build.sh"), assets.join("etcd")).unwrap();
    let output = build_without_go(root.path(), Some(&assets));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("etcd: from KUBEBUILDER_ASSETS"), "{said}");
    assert!(said.contains("there is no kubectl: "), "{said}");

    std::fs::copy(format!("{HERE}/build.sh"), assets.join("kubectl")).unwrap();
    let output = build_without_go(root.path(), Some(&assets));
    assert!(output.status.success(), "nothing is missing, so Go is not needed");
}
