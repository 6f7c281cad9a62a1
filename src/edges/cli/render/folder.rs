//! What is rendered, in a folder that kustomize takes as a resource.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use similar::TextDiff;
use tempfile::{Builder, NamedTempFile};

use super::File;
use crate::edges::cli::{CannotRun, print};

const KUSTOMIZATION: &str = "kustomization.yaml";

/// The first line of a kustomization that may be written over.
const OURS: &str = "# Made by `jobshape render`.\n";

/// All files, the kustomization included.
fn all(files: &[File]) -> Vec<(&'static str, String)> {
    let resources: String = files.iter().map(|file| format!("- {}\n", file.name)).collect();
    let kustomization = format!(
        "{OURS}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{resources}"
    );
    let mut all: Vec<(&str, String)> =
        files.iter().map(|file| (file.name, file.text.clone())).collect();
    all.push((KUSTOMIZATION, kustomization));
    all
}

/// Writes the files. Each is there whole or as it was before; none is touched before all are
/// written beside.
pub(super) fn write(folder: &str, files: &[File]) -> Result<(), CannotRun> {
    let path = Path::new(folder);
    let failed = |error: std::io::Error| CannotRun::because(format_args!("{folder}: {error}"));
    if let Some(there) = read(&path.join(KUSTOMIZATION))?
        && !there.starts_with(OURS)
    {
        return Err(CannotRun::because(format_args!(
            "{folder}/{KUSTOMIZATION}: somebody else wrote it; render into a folder of its own, and name that under `resources`"
        )));
    }
    std::fs::create_dir_all(path).map_err(failed)?;
    let mut written: Vec<(NamedTempFile, &str)> = vec![];
    for (name, text) in all(files) {
        // What anybody may read by the umask: NamedTempFile alone makes files for the owner only.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        let mut file = Builder::new()
            .prefix(".render-")
            .permissions(readable)
            .tempfile_in(path)
            .map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        written.push((file, name));
    }
    for (file, name) in written {
        file.persist(path.join(name)).map_err(|error| failed(error.error))?;
    }
    Ok(())
}

/// Compares the files with those in the folder, and prints how they differ.
pub(super) fn check(folder: &str, files: &[File]) -> Result<u8, CannotRun> {
    let (mut stale, mut differences) = (vec![], String::new());
    for (name, wanted) in all(files) {
        let path = format!("{folder}/{name}");
        let there = read(Path::new(&path))?;
        if there.as_ref() == Some(&wanted) {
            continue;
        }
        let diff = TextDiff::from_lines(there.as_deref().unwrap_or_default(), &wanted);
        let before = if there.is_some() { &path } else { "/dev/null" };
        differences.push_str(&diff.unified_diff().header(before, "rendered").to_string());
        stale.push(path);
    }
    if stale.is_empty() {
        return Ok(0);
    }
    for path in &stale {
        differences.push_str(&format!("{path}: not what the shapes render\n"));
    }
    differences.push_str("Run the same command without --check, and commit what it writes.\n");
    print(&differences).map(|()| 1)
}

/// A file's text; nothing for one that is not there.
fn read(path: &Path) -> Result<Option<String>, CannotRun> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CannotRun::because(format_args!("{}: {error}", path.display()))),
    }
}
