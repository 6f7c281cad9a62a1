//! Loading shapes while somebody may be writing them.
//!
//! A file that is half written can be valid YAML, and of two files that belong together only one
//! may have been replaced. So nothing is loaded that does not stand still: the files must be the
//! same before and after, and must have been so for a moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::options::Loaded;
use super::reload::stamp::Stamp;

/// How long files must have been left alone.
const SETTLE: Duration = Duration::from_millis(200);

/// When they are not left alone for so long: then whatever is the same before and after. Somebody
/// who replaces a directory twice a second is followed.
const RESTLESS: Duration = Duration::from_secs(2);

/// Between two looks at files that are being written.
const MOMENT: Duration = Duration::from_millis(25);

/// Loads shapes; it may read files.
pub type Load = Arc<dyn Fn() -> Attempt + Send + Sync>;

/// What came of loading.
pub struct Attempt {
    /// The shapes.
    pub result: Result<Loaded, Mistakes>,
    /// All files that were read or looked for.
    pub files: Vec<String>,
}

/// Why shapes cannot be loaded: reports, ready to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<String>);

impl Mistakes {
    /// For whoever asks why the process is not ready.
    pub fn reason(&self) -> String {
        let count = self.0.len();
        let word = if count == 1 { "mistake" } else { "mistakes" };
        format!("no valid shapes: {count} {word}, in the log")
    }
}

/// The files that shapes are loaded from, and go on being loaded from.
pub struct ShapeFiles {
    paths: Vec<String>,
    load: Load,
    more: Vec<PathBuf>,
    stamp: Stamp,
    /// Why the last load failed.
    pub mistakes: Option<Mistakes>,
}

impl ShapeFiles {
    /// Files and directories, and what loads shapes from them.
    pub fn new(paths: Vec<String>, load: Load) -> Self {
        Self { paths, load, more: vec![], stamp: Stamp::default(), mistakes: None }
    }

    /// What to watch: what was named, and the templates that were named there.
    pub fn watched(&self) -> Vec<PathBuf> {
        self.paths.iter().map(PathBuf::from).chain(self.more.iter().cloned()).collect()
    }

    /// Whether the files are others than at the last load.
    pub async fn changed(&self) -> bool {
        self.now().await != self.stamp
    }

    /// Loads them as soon as they stand still.
    pub async fn take(&mut self) -> Result<Loaded, Mistakes> {
        let begin = Instant::now();
        let mut before = self.now().await;
        let mut since = begin;
        loop {
            let quiet = before.is_older_than(SETTLE) || since.elapsed() >= SETTLE;
            if quiet || begin.elapsed() >= RESTLESS {
                let attempted = Instant::now();
                let Attempt { result, files } = self.attempt().await;
                // Now it is known which templates belong to them. Those that were not known before
                // must be older than the attempt, or all is read once more.
                self.more = files.into_iter().map(PathBuf::from).collect();
                let after = self.now().await;
                let age = attempted.elapsed() + SETTLE;
                if after == before || (after.has_all_of(&before) && after.is_older_than(age)) {
                    self.stamp = after;
                    self.mistakes = result.as_ref().err().cloned();
                    return result;
                }
                (before, since) = (after, Instant::now());
                continue;
            }
            sleep(MOMENT).await;
            let now = self.now().await;
            if now != before {
                (before, since) = (now, Instant::now());
            }
        }
    }

    async fn attempt(&self) -> Attempt {
        let load = Arc::clone(&self.load);
        spawn_blocking(move || load()).await.unwrap_or_else(|error| {
            let report = format!("error: loading the shapes ended in an internal error: {error}\n");
            Attempt { result: Err(Mistakes(vec![report])), files: vec![] }
        })
    }

    async fn now(&self) -> Stamp {
        let (paths, more) = (self.paths.clone(), self.more.clone());
        spawn_blocking(move || Stamp::of(&paths, &more)).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Mutex;
    use std::thread;

    /// Loads nothing, and remembers the texts that it saw in two files; `between` happens between
    /// the reading of the first and of the second.
    fn files(
        folder: &std::path::Path,
        between: impl Fn() + Send + Sync + 'static,
    ) -> (ShapeFiles, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (into, at) = (Arc::clone(&seen), folder.to_owned());
        let load = move || {
            let first = fs::read_to_string(at.join("a.yaml")).unwrap_or_default();
            between();
            let second = fs::read_to_string(at.join("template")).unwrap_or_default();
            into.lock().unwrap().push(format!("{first}{second}"));
            let files = ["a.yaml", "template"].map(|name| at.join(name).display().to_string());
            Attempt { result: Err(Mistakes(vec![])), files: files.into() }
        };
        let paths = vec![folder.to_str().unwrap().to_owned()];
        (ShapeFiles::new(paths, Arc::new(load)), seen)
    }

    fn write(folder: &std::path::Path, text: &str) {
        fs::write(folder.join("a.yaml"), text).unwrap();
        fs::write(folder.join("template"), text).unwrap();
    }

    async fn taken(files: &mut ShapeFiles, seen: &Mutex<Vec<String>>) -> String {
        assert!(files.take().await.is_err());
        seen.lock().unwrap().last().unwrap().clone()
    }

    #[tokio::test]
    async fn what_is_being_written_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1");
        let (mut files, seen) = files(folder.path(), || ());
        let path = folder.path().to_owned();
        let writer = thread::spawn(move || {
            for text in ["2", "3", "4"] {
                fs::write(path.join("a.yaml"), text).unwrap();
                thread::sleep(Duration::from_millis(60));
                fs::write(path.join("template"), text).unwrap();
            }
        });
        assert_eq!(taken(&mut files, &seen).await, "44");
        // Whatever it saw on the way, it never took.
        writer.join().unwrap();
        assert!(!files.changed().await);
        write(folder.path(), "5");
        assert!(files.changed().await);
        assert_eq!(taken(&mut files, &seen).await, "55");
    }

    #[tokio::test]
    async fn a_template_outside_belongs_to_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1");
        let (mut files, seen) = files(folder.path(), || ());
        assert_eq!(taken(&mut files, &seen).await, "11");
        fs::write(folder.path().join("template"), "2").unwrap();
        assert!(files.changed().await);
    }

    #[tokio::test]
    async fn what_changed_between_two_files_is_not_taken_even_when_there_is_no_rest() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a");
        let (path, texts) = (folder.path().to_owned(), Mutex::new(vec!["c", "b"]));
        let (mut files, seen) = files(folder.path(), move || {
            if let Some(text) = texts.lock().unwrap().pop() {
                write(&path, text);
            }
        });
        assert_eq!(taken(&mut files, &seen).await, "cc");
        assert_eq!(seen.lock().unwrap()[..2], ["ab", "bc"]);
    }

    #[tokio::test]
    async fn without_any_rest_it_is_taken_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a");
        let (mut files, seen) = files(folder.path(), || ());
        let path = folder.path().to_owned();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let writer = thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(100)).is_err() {
                write(&path, "b");
            }
        });
        let took = tokio::time::timeout(Duration::from_secs(20), taken(&mut files, &seen)).await;
        stop.send(()).unwrap();
        writer.join().unwrap();
        assert!(took.is_ok());
    }
}
