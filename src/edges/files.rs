//! Reading what the command line names: files, directories and standard input.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
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
    path.extension().and_then(|e| e.to_str()).is_some_and(|typed| {
        // `.YAML` too: passed over, it would be a shape that nobody judges by.
        EXTENSIONS.iter().any(|known| typed.eq_ignore_ascii_case(known))
    })
}

/// Reads a file or, for `-`, standard input.
///
/// # Errors
/// A sentence with the name in it.
pub fn read(name: &str) -> Result<Source, String> {
    if name == STDIN {
        return text(name, std::io::stdin().lock());
    }
    // A pipe too: a shell makes one of `<(kubectl get …)`.
    file(name, File::open(name))
}

/// Reads a regular file: what nobody is there to end the waiting for, and what is read again.
///
/// # Errors
/// As [`read`], and for everything else than a regular file.
pub fn read_regular(name: &str) -> Result<Source, String> {
    file(name, open_regular(Path::new(name)))
}

/// Opens a regular file. A named pipe would wait until somebody writes into it, perhaps for ever.
///
/// # Errors
/// The file cannot be opened, or is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    let what = match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a named pipe",
        _ => "a device",
    };
    let why =
        format!("it is {what}, and only a regular file can be read here: put one in its place");
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

fn file(name: &str, opened: io::Result<File>) -> Result<Source, String> {
    let file = opened.map_err(|error| format!("{name}: {}", why(&error)))?;
    let size = file.metadata().map(|m| m.len()).unwrap_or(0);
    if size > u64::try_from(MAX_TEXT).unwrap_or(u64::MAX) {
        return Err(format!(
            "{name}: the file has {size} bytes, and at most {MAX_TEXT} (64 MiB) are read; split it into several files"
        ));
    }
    text(name, file)
}

fn text(name: &str, from: impl Read) -> Result<Source, String> {
    let limit = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX) + 1;
    let mut bytes = vec![];
    let read = from.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| format!("{name}: {}", why(&error)))?;
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

fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn every_yaml_and_json_file_of_a_directory_is_read_however_its_ending_is_written() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("..data")).unwrap();
        for name in
            ["a.yaml", "b.YAML", "c.Yml", "d.JSON", "e.txt", "f", "g.yaml.bak", "..data/h.yaml"]
        {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let path = folder.path().to_str().unwrap();
        let names = expand(path).unwrap();
        let names: Vec<&str> = names.iter().map(|name| &name[path.len() + 1..]).collect();
        assert_eq!(names, ["a.yaml", "b.YAML", "c.Yml", "d.JSON"]);
    }

    #[test]
    fn what_is_no_regular_file_is_a_sentence_and_nobody_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        mkfifoat(CWD, path("pipe"), Mode::from(0o600)).unwrap();
        std::fs::write(path("file"), "a: 1").unwrap();
        let read = |name: String| {
            let (tell, told) = channel();
            thread::spawn(move || tell.send(read_regular(&name)));
            told.recv_timeout(Duration::from_secs(20)).expect("it waits")
        };
        assert_eq!(read(path("file")).unwrap().text, "a: 1");
        for (name, what) in [
            (path("pipe"), "a named pipe"),
            (path(""), "a directory"),
            ("/dev/null".to_owned(), "a device"),
        ] {
            let error = read(name.clone()).unwrap_err();
            assert!(
                error.starts_with(&format!("{name}: it is {what}, and only a regular file")),
                "{error}"
            );
        }
    }
}
