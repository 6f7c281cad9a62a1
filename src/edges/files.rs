//! Reading what the command line names: files, directories and standard input.

use std::io::Read as _;
use std::path::Path;

use walkdir::WalkDir;

use crate::formats::text::{MAX_TEXT, Source};

/// What reads as YAML or JSON in a directory.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The name of standard input.
pub const STDIN: &str = "-";

/// The files that a path names: itself, or every YAML and JSON file below a directory, sorted.
///
/// Entries that begin with `..` are skipped: a mounted ConfigMap shows each file three times.
///
/// # Errors
/// A sentence: the path is not there, cannot be read, or is a directory with nothing in it.
pub fn expand(path: &str) -> Result<Vec<String>, String> {
    if path == STDIN {
        return Ok(vec![path.to_owned()]);
    }
    let metadata = std::fs::metadata(path).map_err(|error| format!("{path}: {}", why(&error)))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = vec![];
    for entry in walk(path) {
        let entry = entry.map_err(|error| format!("{path}: {error}"))?;
        let name = entry.path();
        if entry.file_type().is_file() && is_read(name) {
            match name.to_str() {
                Some(name) => files.push(name.to_owned()),
                None => return Err(format!("{}: the file name is not UTF-8", name.display())),
            }
        }
    }
    if files.is_empty() {
        return Err(format!("{path}: the directory holds no .yaml, .yml or .json file"));
    }
    Ok(files)
}

/// Everything in a directory but entries that begin with `..`, links followed, sorted.
pub fn walk(path: &str) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let walk = WalkDir::new(path).follow_links(true).sort_by_file_name();
    walk.into_iter().filter_entry(|entry| {
        entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with("..")
    })
}

/// Whether a file of this name in a directory is read.
#[must_use]
pub fn is_read(path: &Path) -> bool {
    path.extension().and_then(|e| e.to_str()).is_some_and(|e| EXTENSIONS.contains(&e))
}

/// Reads a file or, for `-`, standard input.
///
/// # Errors
/// A sentence with the name in it.
pub fn read(name: &str) -> Result<Source, String> {
    let mut bytes = vec![];
    let limit = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX) + 1;
    if name == STDIN {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name}: {}", why(&error)))?;
    } else {
        let file = std::fs::File::open(name).map_err(|error| format!("{name}: {}", why(&error)))?;
        let size = file.metadata().map(|m| m.len()).unwrap_or(0);
        if size >= limit {
            return Err(format!(
                "{name}: the file has {size} bytes, and at most {MAX_TEXT} (64 MiB) are read; split it into several files"
            ));
        }
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name}: {}", why(&error)))?;
    }
    Source::from_bytes(name, bytes).map_err(|error| format!("{name}: {error}"))
}

/// A path beside a file, as `templateFrom` and test files name them.
#[must_use]
pub fn beside(file: &str, relative: &str) -> String {
    let parent = if file == STDIN { None } else { Path::new(file).parent() };
    match parent {
        Some(parent) if !parent.as_os_str().is_empty() => {
            parent.join(relative).to_string_lossy().into_owned()
        }
        _ => relative.to_owned(),
    }
}

fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    }
}
