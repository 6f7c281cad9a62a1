//! The files of a recording: segments that end, so that the oldest can go.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::rand::{SystemRandom, generate};

use super::args::{RecordingOptions, open_to_others};
use super::line::header;

/// Into how many segments the bytes and the age are divided, at least: so much goes at a time.
const PARTS: u32 = 8;

/// Long enough that there are few files, short enough that one can be taken away for a replay.
const LONGEST: Duration = Duration::from_secs(3600);

const BEFORE: &str = "reviews-";
const AFTER: &str = ".jsonl";

/// The segments in one directory.
pub struct Segments {
    options: RecordingOptions,
    current: Option<Segment>,
}

struct Segment {
    file: File,
    path: PathBuf,
    started: SystemTime,
    length: u64,
}

/// A segment that is there, written by this process or by one before it.
struct Found {
    path: PathBuf,
    stamp: String,
    length: u64,
}

impl Segments {
    /// Nothing is opened before there is something to write.
    pub fn new(options: RecordingOptions) -> Self {
        Self { options, current: None }
    }

    /// Writes one line, into a new segment if it is time for one.
    ///
    /// # Errors
    /// The line is not written, and nothing of it stays, unless not even that is possible.
    pub fn append(&mut self, line: &[u8], now: SystemTime) -> io::Result<()> {
        let length = line.len() as u64;
        self.end_segment_if_due(length, now);
        if self.current.is_none() {
            let header = header(now);
            // For all that the segment is going to hold, so that only a new one has to look.
            let whole = (length + header.len() as u64).max(self.part());
            if whole > self.options.bytes {
                return Err(io::Error::other("a review that is larger than what may be kept"));
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&self.options.directory)?;
            // It was its owner's alone at the start; somebody may have made it anew since.
            if let Some(mode) = open_to_others(&self.options.directory) {
                let why = format!("its mode {mode:o} lets in others than its owner");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            self.make_room(whole, now)?;
            self.current = Some(create(&self.options.directory, now)?);
            self.write(&header)?;
        }
        self.write(line)
    }

    /// Lets go what is too old; for when nothing comes to be written.
    ///
    /// # Errors
    /// Something cannot be deleted.
    pub fn tend(&mut self, now: SystemTime) -> io::Result<()> {
        self.end_segment_if_due(0, now);
        if self.options.directory.is_dir() { self.make_room(0, now) } else { Ok(()) }
    }

    fn part(&self) -> u64 {
        self.options.bytes / u64::from(PARTS)
    }

    fn end_segment_if_due(&mut self, length: u64, now: SystemTime) {
        let (part, age) = (self.part(), self.options.age);
        let is_due = |segment: &Segment| {
            // A clock that was set back makes a new one too.
            let old = now.duration_since(segment.started).unwrap_or(LONGEST);
            old >= LONGEST.min(age / PARTS) || segment.length + length > part
        };
        if self.current.as_ref().is_some_and(is_due) {
            self.current = None;
        }
    }

    fn make_room(&mut self, length: u64, now: SystemTime) -> io::Result<()> {
        let mut found = found(&self.options.directory)?;
        found.sort_by(|a, b| a.stamp.cmp(&b.stamp).then_with(|| a.path.cmp(&b.path)));
        let oldest = now.checked_sub(self.options.age).map(stamp).unwrap_or_default();
        let mut sum: u64 = found.iter().map(|segment| segment.length).sum();
        for segment in found {
            if self.current.as_ref().is_some_and(|current| current.path == segment.path) {
                continue;
            }
            if segment.stamp < oldest || sum + length > self.options.bytes {
                fs::remove_file(&segment.path)?;
                sum -= segment.length;
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(segment) = &mut self.current else { return Ok(()) };
        let Err(error) = segment.file.write_all(bytes) else {
            segment.length += bytes.len() as u64;
            return Ok(());
        };
        // Half a line may be there. Where it cannot be taken back it is the last of its segment:
        // whatever comes is written to a new one.
        let _ = segment.file.set_len(segment.length);
        if segment.length == 0 {
            let _ = fs::remove_file(&segment.path);
        }
        self.current = None;
        Err(error)
    }
}

fn create(directory: &Path, now: SystemTime) -> io::Result<Segment> {
    let random = generate::<[u8; 4]>(&SystemRandom::new());
    let random = random.map_err(|_| io::Error::other("the system gives no random name"))?.expose();
    let random = u32::from_be_bytes(random);
    let path = directory.join(format!("{BEFORE}{}-{random:08x}{AFTER}", stamp(now)));
    // Appending, so that what was taken back leaves no hole.
    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
    Ok(Segment { file, path, started: now, length: 0 })
}

/// `20261130T195209Z`: as texts they are in the order of time.
fn stamp(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// Every file that is a segment by its name; nothing else is ever touched.
fn found(directory: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stamp) = name.to_str().and_then(stamp_of) else { continue };
        match entry.metadata() {
            Ok(about) if about.is_file() => {
                let stamp = stamp.to_owned();
                found.push(Found { path: entry.path(), stamp, length: about.len() });
            }
            // Somebody else took it away.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(found)
}

/// The time in the name of a segment.
fn stamp_of(name: &str) -> Option<&str> {
    let (stamp, random) = name.strip_prefix(BEFORE)?.strip_suffix(AFTER)?.split_once('-')?;
    let like = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                b'f' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
                other => byte == other,
            })
    };
    (like(stamp, "00000000T000000Z") && like(random, "ffffffff")).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::UNIX_EPOCH;

    const HOUR: Duration = Duration::from_secs(3600);

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn segments(directory: &Path, bytes: u64) -> Segments {
        let directory = directory.to_owned();
        Segments::new(RecordingOptions { directory, bytes, age: HOUR * 24 })
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn sum(directory: &Path) -> u64 {
        found(directory).unwrap().iter().map(|segment| segment.length).sum()
    }

    /// A directory of its owner alone.
    fn folder() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    /// A line with a number in it.
    fn line(number: u32) -> Vec<u8> {
        format!("{{\"n\": {number:090}}}\n").into_bytes()
    }

    fn numbers(directory: &Path) -> Vec<u32> {
        let mut numbers = vec![];
        for name in names(directory) {
            let text = fs::read_to_string(directory.join(name)).unwrap();
            let mut lines = text.lines();
            let header: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
            assert_eq!(header["sensitive"], true);
            numbers.extend(lines.map(|line| line[6..96].parse::<u32>().unwrap()));
        }
        numbers
    }

    #[test]
    fn only_the_owner_can_read_what_is_written() {
        let folder = folder();
        let directory = folder.path().join("new/deeper");
        segments(&directory, 1 << 20).append(&line(1), now()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        let names = names(&directory);
        assert_eq!(names.len(), 1);
        assert!(names[0].starts_with("reviews-20270115T080000Z-"), "{names:?}");
        assert_eq!(mode(&directory.join(&names[0])), 0o600);
        assert_eq!(numbers(&directory), [1]);
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let folder = folder();
        let mut segments = segments(folder.path(), 8000);
        for number in 0..400 {
            let now = now() + Duration::from_secs(number.into());
            segments.append(&line(number), now).unwrap();
            assert!(sum(folder.path()) <= 8000, "{}", sum(folder.path()));
        }
        let kept = numbers(folder.path());
        assert_eq!(kept.last(), Some(&399));
        // In order and without a gap, and most of what there is room for.
        assert!(kept.windows(2).all(|two| two[0] + 1 == two[1]), "{kept:?}");
        assert!(kept.len() > 40, "{}", kept.len());
    }

    #[test]
    fn what_is_too_old_goes_though_nothing_comes() {
        let folder = folder();
        let mut segments = segments(folder.path(), 1 << 20);
        segments.append(&line(1), now()).unwrap();
        segments.append(&line(2), now() + HOUR).unwrap();
        assert_eq!(names(folder.path()).len(), 2, "a segment ends after an hour");
        segments.tend(now() + HOUR * 24).unwrap();
        assert_eq!(numbers(folder.path()), [1, 2]);
        segments.tend(now() + HOUR * 24 + Duration::from_secs(1)).unwrap();
        assert_eq!(numbers(folder.path()), [2]);
        segments.tend(now() + HOUR * 26).unwrap();
        assert_eq!(names(folder.path()), [] as [&str; 0]);
    }

    #[test]
    fn another_process_goes_on_where_one_ended_and_only_segments_are_deleted() {
        let folder = folder();
        let others = [
            "reviews-20200101T000000Z-0123456.jsonl",
            "reviews-20200101T000000Z-0123456789.jsonl",
            "reviews-20200101T000000Z-0123456g.jsonl",
            "reviews-2020-01-01T00Z-01234567.jsonl",
            "reviews-20200101T000000Z-01234567.jsonl.gz",
            "my-reviews-20200101T000000Z-01234567.jsonl",
            "notes.txt",
        ];
        for name in others {
            fs::write(folder.path().join(name), vec![b'x'; 9000]).unwrap();
        }
        // A folder by that name is none either.
        fs::create_dir(folder.path().join("reviews-20200101T000000Z-00000000.jsonl")).unwrap();
        fs::write(folder.path().join("reviews-20200101T000000Z-01234567.jsonl"), "{}\n").unwrap();
        segments(folder.path(), 8000).append(&line(1), now()).unwrap();
        segments(folder.path(), 8000).append(&line(2), now()).unwrap();
        let names = names(folder.path());
        assert_eq!(names.len(), others.len() + 1 + 2, "{names:?}");
        assert!(!names.contains(&"reviews-20200101T000000Z-01234567.jsonl".to_owned()));
    }

    #[test]
    fn a_directory_that_was_opened_to_others_is_no_place_for_more() {
        let folder = folder();
        let open = |mode| fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        open(0o750);
        let mut segments = segments(folder.path(), 1 << 20);
        let error = segments.append(&line(1), now()).unwrap_err().to_string();
        assert_eq!(error, "its mode 750 lets in others than its owner");
        assert!(names(folder.path()).is_empty());
        open(0o700);
        segments.append(&line(2), now()).unwrap();
        assert_eq!(numbers(folder.path()), [2]);
    }

    #[test]
    fn what_can_never_be_kept_deletes_nothing() {
        let folder = folder();
        let mut segments = segments(folder.path(), 8000);
        segments.append(&line(0), now()).unwrap();
        let error = segments.append(&[b'x'; 8001], now()).unwrap_err();
        assert!(error.to_string().contains("larger than what may be kept"), "{error}");
        segments.append(&line(1), now() + HOUR).unwrap();
        assert_eq!(numbers(folder.path()), [0, 1]);
    }

    #[test]
    fn a_directory_that_is_none_is_an_error_until_it_is_one() {
        let folder = folder();
        let directory = folder.path().join("here");
        fs::write(&directory, "a file").unwrap();
        let mut segments = segments(&directory, 8000);
        segments.append(&line(1), now()).unwrap_err();
        segments.tend(now()).unwrap();
        fs::remove_file(&directory).unwrap();
        segments.append(&line(2), now()).unwrap();
        // Taken away under it: what is written until then is lost, and it does not stay so.
        fs::remove_dir_all(&directory).unwrap();
        segments.append(&line(3), now()).unwrap();
        segments.append(&line(4), now() + HOUR).unwrap();
        assert_eq!(numbers(&directory), [4]);
    }
}
