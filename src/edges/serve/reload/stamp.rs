//! Whether files are the same as a moment ago, without reading them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::edges::files;

/// All files that something is loaded from, as they are at one moment. Links are followed: the
/// directory that a mounted ConfigMap's `..data` points to is replaced as a whole.
#[derive(Debug, Clone, Default)]
pub struct Stamp {
    /// By the bytes of their paths, which are compared faster than what paths consist of.
    files: BTreeMap<OsString, Option<Mark>>,
    newest: Option<SystemTime>,
}

/// What changes when a file does: device, inode, size, and two times, of which nobody can set
/// back the second.
type Mark = (u64, u64, u64, (i64, i64), (i64, i64));

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Stamp {
    /// Of what these paths name, directories with all that is read in them, and of `more` files.
    pub fn of(paths: &[String], more: &[PathBuf]) -> Self {
        let mut stamp = Self::default();
        for path in paths {
            if !Path::new(path).is_dir() {
                stamp.add(path.into());
                continue;
            }
            for entry in files::walk(path) {
                match entry {
                    Ok(entry) if entry.file_type().is_dir() => stamp.note(entry.metadata().ok()),
                    Ok(entry) if files::is_read(entry.path()) => stamp.add(entry.into_path()),
                    Ok(_) => {}
                    Err(error) => stamp.add(error.path().unwrap_or(Path::new(path)).to_owned()),
                }
            }
        }
        for file in more {
            stamp.add(file.clone());
        }
        stamp
    }

    /// Whether all files of another stamp are in this one and the same.
    pub fn has_all_of(&self, other: &Self) -> bool {
        other.files.iter().all(|(path, mark)| self.files.get(path) == Some(mark))
    }

    /// Whether nothing has been written for so long, by the clock of the file system.
    pub fn is_older_than(&self, age: Duration) -> bool {
        let Some(newest) = self.newest else { return false };
        SystemTime::now().duration_since(newest).is_ok_and(|since| since > age)
    }

    fn add(&mut self, path: PathBuf) {
        // Most of `more` stand in the directories too.
        if self.files.contains_key(path.as_os_str()) {
            return;
        }
        let found = metadata(&path).ok();
        let mark = found.as_ref().map(|found| {
            let modified = (found.mtime(), found.mtime_nsec());
            let changed = (found.ctime(), found.ctime_nsec());
            (found.dev(), found.ino(), found.size(), modified, changed)
        });
        self.note(found);
        self.files.insert(path.into_os_string(), mark);
    }

    /// Of a directory only the time: that something else comes and goes in it changes nothing.
    fn note(&mut self, found: Option<Metadata>) {
        let Some(found) = found else { return };
        let seconds = Duration::from_secs(u64::try_from(found.ctime()).unwrap_or(0));
        let rest = Duration::from_nanos(u64::try_from(found.ctime_nsec()).unwrap_or(0));
        self.newest = self.newest.max(UNIX_EPOCH.checked_add(seconds + rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_way_of_changing_a_file_shows() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let paths = [folder.path().to_str().unwrap().to_owned()];
        let more = [at("template.txt")];
        fs::write(at("a.yaml"), "one").unwrap();
        fs::create_dir_all(at("..1")).unwrap();
        fs::write(at("..1/b.yaml"), "one").unwrap();
        symlink("..1", at("..data")).unwrap();
        symlink("..data/b.yaml", at("b.yaml")).unwrap();
        let mut before = Stamp::of(&paths, &more);
        assert_eq!(before.files.len(), 3, "{before:?}");
        let mut differs = |what: &str| {
            let after = Stamp::of(&paths, &more);
            assert_ne!(after, before, "{what}");
            before = after;
        };
        fs::write(at("a.yaml"), "two").unwrap();
        differs("written over");
        let modified = fs::metadata(at("a.yaml")).unwrap().modified().unwrap();
        fs::write(at("c"), "two").unwrap();
        fs::File::options().append(true).open(at("c")).unwrap().set_modified(modified).unwrap();
        fs::rename(at("c"), at("a.yaml")).unwrap();
        differs("moved over");
        fs::create_dir_all(at("..2")).unwrap();
        fs::write(at("..2/b.yaml"), "one").unwrap();
        symlink("..2", at("..new")).unwrap();
        fs::rename(at("..new"), at("..data")).unwrap();
        differs("swapped below");
        fs::write(&more[0], "").unwrap();
        differs("come");
        fs::remove_file(at("a.yaml")).unwrap();
        differs("gone");
        fs::write(at("log.txt"), "").unwrap();
        assert_eq!(Stamp::of(&paths, &more), before, "what nobody reads is no change");
    }

    #[test]
    fn what_was_just_written_is_young() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().to_str().unwrap().to_owned()];
        assert!(!Stamp::of(&paths, &[]).is_older_than(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(50));
        assert!(Stamp::of(&paths, &[]).is_older_than(Duration::from_millis(10)));
        assert!(!Stamp::of(&["nowhere".to_owned()], &[]).is_older_than(Duration::ZERO));
    }
}
