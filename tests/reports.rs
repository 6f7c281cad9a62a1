//! Small inputs made of other projects' bug reports: each folder says in `expect.txt` what to run
//! and what must come of it. Neither is part of the repository ([`crate::corpus`]).
//!
//! What is not built yet is listed as such, and a folder that nothing here knows how to run is a
//! failure: nothing is green because nothing ran.

mod commands;
mod scripts;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpus::shared;

/// What came of a folder.
enum Outcome {
    /// It gives the answer.
    Agrees,
    /// It needs something that does not exist.
    NotYet(String),
    /// Another test gives it, because it needs a whole installation: which.
    Elsewhere(&'static str),
    /// It does not.
    Wrong(String),
}

/// The folders, with their names.
fn folders() -> Option<Vec<(String, PathBuf)>> {
    let root = shared("reports")?;
    let mut all: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    all.sort();
    Some(all)
}

/// A folder of one's own with the same files, so that nothing is written into the other.
fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

/// The verbs that the built binary has.
fn verbs() -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_jobshape")).arg("--help").output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    let commands = text.split("Commands:\n").nth(1).expect("a list of commands");
    let lines = commands.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[tokio::test]
async fn every_report_gets_its_answer() {
    let Some(folders) = folders() else { return };
    let verbs = verbs();
    let (mut agree, mut not_here, mut wrong) = (0, vec![], vec![]);
    for (name, folder) in &folders {
        let expected = std::fs::read_to_string(folder.join("expect.txt")).unwrap();
        let outcome = match expected.trim() {
            text if text.contains("as the live configuration") => {
                Outcome::Elsewhere("tests/install: a cloud that adds terms to selectors")
            }
            text if text.starts_with("jobshape ") => commands::run(name, folder, text, &verbs),
            text if text.ends_with("run.sh -> 0") => scripts::run_in(folder, folder),
            text if text.starts_with("run.sh in the repository root") => {
                scripts::run_in(Path::new(env!("CARGO_MANIFEST_DIR")), folder)
            }
            text if text.starts_with("serve with action Audit; POST review.json") => {
                scripts::dry_run(folder).await
            }
            text => Outcome::Wrong(format!("nothing here runs this: {text}")),
        };
        match outcome {
            Outcome::Agrees => agree += 1,
            Outcome::NotYet(what) => not_here.push(format!("{name}: not yet: {what}")),
            Outcome::Elsewhere(test) => not_here.push(format!("{name}: {test}")),
            Outcome::Wrong(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    println!("{agree} of {} reports get their answer\n{}", folders.len(), not_here.join("\n"));
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
    assert_eq!(agree + not_here.len(), folders.len());
}
