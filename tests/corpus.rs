//! Data that is beside the repository in CI and that a clone does not have.

pub mod objects;
mod offline;
mod online;
mod table;

use std::path::{Path, PathBuf};

use jobshape::core::judge::Findings;

/// A folder of it; nothing, said aloud, where there is none, which in CI is a failure.
pub fn shared(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("JOBSHAPE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no corpus, and this is CI");
    println!("not run: no corpus");
    None
}

/// Findings, for a failure.
fn said(judged: &Findings) -> String {
    let found = judged.findings.iter().map(|f| format!("{}: {}", f.path, f.message));
    found.collect::<Vec<_>>().join("; ")
}
