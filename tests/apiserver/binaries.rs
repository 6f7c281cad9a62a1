//! Where the binaries of a control plane are, and how they come to be there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Failure;

/// The Kubernetes releases that the committed Go modules build.
pub const VERSIONS: [&str; 4] = ["1.34.4", "1.35.4", "1.36.3", "1.37.2"];

/// The one that the tests run against unless they say otherwise.
pub const VERSION: &str = "1.36.3";

/// Those of them that `JOBSHAPE_VERSIONS=1.36.3,1.37.2` names, or all.
pub fn versions() -> Vec<&'static str> {
    let asked = std::env::var("JOBSHAPE_VERSIONS").unwrap_or_default();
    let asked: Vec<&str> = asked.split(',').filter(|version| !version.is_empty()).collect();
    let unknown: Vec<&&str> = asked.iter().filter(|v| !VERSIONS.contains(v)).collect();
    assert!(unknown.is_empty(), "JOBSHAPE_VERSIONS names {unknown:?}, and there are {VERSIONS:?}");
    VERSIONS.into_iter().filter(|version| asked.is_empty() || asked.contains(version)).collect()
}

/// Finds binaries by name: in the folder that `KUBEBUILDER_ASSETS` names, else in ours, else they
/// are built there, with the progress on standard error.
pub fn find<const N: usize>(names: [&str; N]) -> Result<[PathBuf; N], Failure> {
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    find_in(VERSION, assets, names)
}

/// The kubectl of [`VERSION`], built if it is missing.
pub fn kubectl() -> Result<PathBuf, Failure> {
    find(["kubectl"]).map(|[path]| path)
}

/// The kube-apiserver of a release, built if it is missing.
pub fn apiserver(version: &str) -> Result<PathBuf, Failure> {
    if version == VERSION {
        return find(["kube-apiserver"]).map(|[path]| path);
    }
    find_in(version, None, ["kube-apiserver"]).map(|[path]| path)
}

fn find_in<const N: usize>(
    version: &str,
    assets: Option<PathBuf>,
    names: [&str; N],
) -> Result<[PathBuf; N], Failure> {
    let ours = here().join("bin").join(version);
    if let Some(folder) = assets.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::new(format!(
            "KUBEBUILDER_ASSETS names {}, which is no folder.",
            folder.display()
        )));
    }
    let locate = |name: &str| {
        let places = assets.iter().chain([&ours]);
        // Absolute, because the servers run in a folder of their own.
        let mut paths = places.filter_map(|folder| std::path::absolute(folder.join(name)).ok());
        paths.find(|path| path.is_file())
    };
    if names.iter().any(|name| locate(name).is_none()) {
        build(version, &ours, &names)?;
    }
    let found: Vec<PathBuf> = names.iter().filter_map(|name| locate(name)).collect();
    found.try_into().map_err(|_| {
        Failure::new(format!(
            "tests/apiserver/build.sh ended well, and yet not all of {names:?} are there."
        ))
    })
}

fn build(version: &str, ours: &Path, names: &[&str]) -> Result<(), Failure> {
    std::fs::create_dir_all(ours).map_err(Failure::during(format!("making {}", ours.display())))?;
    // A second test run that starts meanwhile waits here instead of compiling the same again.
    let lock = File::create(ours.join(".lock")).map_err(Failure::during("creating .lock"))?;
    lock.lock().map_err(Failure::during("waiting for another build of the API server"))?;
    let status = Command::new(here().join("build.sh"))
        .args(["--minor", minor(version)])
        .args(names)
        .status()
        .map_err(Failure::during("running tests/apiserver/build.sh"))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(
        "There is no API server to test against; tests/apiserver/build.sh said why, above.",
    ))
}

/// `1.36` of `1.36.3`.
pub fn minor(version: &str) -> &str {
    version.trim_start_matches('v').rsplit_once('.').map_or(version, |(minor, _)| minor)
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apiserver")
}
