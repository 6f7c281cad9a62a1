//! The flags of the recording.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use crate::edges::serve::decision_log::args::between;

/// Twice the largest review, so that there is room for one beside the one before it.
const LEAST_BYTES: ByteSize = ByteSize::mib(16);

/// The flags of the recording.
#[derive(Debug, Clone, Args)]
#[command(about = None, long_about = None)]
pub struct RecordingArgs {
    /// Keep every whole review in this directory, for a replay: sensitive, whoever reads it reads
    /// what is in the Jobs
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

impl RecordingArgs {
    /// What they ask for; nothing without `--record`.
    pub fn options(self) -> Option<RecordingOptions> {
        Some(RecordingOptions {
            directory: self.record?,
            bytes: self.record_bytes.as_u64(),
            age: self.record_age,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        recording: RecordingArgs,
    }

    fn options(line: &str) -> Result<Option<RecordingOptions>, String> {
        let line = Line::try_parse_from(format!("serve {line}").split_whitespace());
        line.map(|line| line.recording.options()).map_err(|error| error.to_string())
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
