//! The flags of the recording.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use crate::edges::serve::decision_log::args::between;
use crate::edges::serve::journal::JournalError;

/// Twice the largest review, so that there is room for one beside the one before it.
const LEAST_BYTES: ByteSize = ByteSize::mib(16);

/// The flags of the recording.
#[derive(Debug, Clone, Args)]
#[command(about = None, long_about = None)]
pub struct RecordingArgs {
    /// Keep every whole review in this directory, for a replay: sensitive, whoever reads it reads
    /// what is in the Jobs; one that others may enter is refused
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// With --record: how much is kept; the oldest goes first
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size, requires = "record")]
    record_bytes: ByteSize,
    /// With --record: for how long
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = age, requires = "record")]
    record_age: Duration,
}

/// Where whole reviews are kept, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingOptions {
    /// The directory.
    pub directory: PathBuf,
    /// All segments together, at most.
    pub bytes: u64,
    /// The age of the oldest, at most.
    pub age: Duration,
}

fn size(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse()?;
    if size < LEAST_BYTES { Err(format!("it is {LEAST_BYTES} at least")) } else { Ok(size) }
}

fn age(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_secs(60), Duration::from_secs(3650 * 24 * 3600))
}

/// The mode of a directory that others than its owner may enter, list or write.
pub(super) fn open_to_others(directory: &Path) -> Option<u32> {
    let mode = metadata(directory).ok().filter(|found| found.is_dir())?.mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

impl RecordingArgs {
    /// What they ask for; nothing without `--record`.
    ///
    /// # Errors
    /// A directory that others than its owner may enter. Its mode is not changed: somebody made it
    /// so, and others may need it.
    pub fn options(self) -> Result<Option<RecordingOptions>, JournalError> {
        let Some(directory) = self.record else { return Ok(None) };
        if let Some(mode) = open_to_others(&directory) {
            return Err(JournalError::NotPrivate { directory, mode });
        }
        let (bytes, age) = (self.record_bytes.as_u64(), self.record_age);
        Ok(Some(RecordingOptions { directory, bytes, age }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        recording: RecordingArgs,
    }

    fn options(line: &str) -> Result<Option<RecordingOptions>, String> {
        let line = Line::try_parse_from(format!("serve {line}").split_whitespace());
        let recording = line.map_err(|error| error.to_string())?.recording;
        recording.options().map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("--record {}", folder.path().display());
        let set = |mode| set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        for mode in [0o750, 0o701, 0o777, 0o1777, 0o710] {
            set(mode);
            let error = options(&line).unwrap_err();
            let directory = folder.path().display();
            assert!(error.contains(&format!("`chmod 700 {directory}`")), "{error}");
            assert!(error.contains(&format!("its mode {mode:o} ")), "{error}");
        }
        set(0o700);
        assert!(options(&line).unwrap().is_some());
        // It is made with 0700 when there is something to keep.
        assert!(options(&format!("{line}/new")).unwrap().is_some());
    }

    #[test]
    fn it_is_off_unless_a_directory_is_named() {
        assert_eq!(options("").unwrap(), None);
        let made = options("--record d").unwrap().unwrap();
        assert_eq!((made.bytes, made.age), (256 << 20, Duration::from_secs(7 * 24 * 3600)));
        let made = options("--record d --record-bytes 1GiB --record-age 2h").unwrap().unwrap();
        assert_eq!((made.bytes, made.age), (1 << 30, Duration::from_secs(7200)));
    }

    #[test]
    fn bounds_that_hold_no_review_are_refused() {
        let error = options("--record d --record-bytes 1MiB").unwrap_err();
        assert!(error.contains("it is 16.0 MiB at least"), "{error}");
        let error = options("--record d --record-age 1s").unwrap_err();
        assert!(error.contains("it is from 1m"), "{error}");
        assert!(options("--record d --record-bytes much").is_err());
        assert!(options("--record-bytes 1GiB").unwrap_err().contains("--record <DIR>"));
    }
}
