//! Being woken when files change.
//!
//! What the kernel tells is only a reason to look earlier: events get lost behind symbolic links,
//! on network file systems, and when there are no watches left. So somebody looks every few
//! seconds all the same, and nothing is ever concluded from an event.

use std::collections::HashMap;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// A directory that is watched, and that it is still the same one.
type Identity = (u64, u64, Option<SystemTime>);

/// Wakes whoever waits when one of some paths may have changed.
pub struct Watch {
    every: Duration,
    woken: Arc<Notify>,
    watched: Arc<Mutex<Watched>>,
}

struct Watched {
    paths: Vec<PathBuf>,
    watcher: Option<RecommendedWatcher>,
    armed: HashMap<PathBuf, Identity>,
}

impl Watch {
    /// For these files and directories, which need not exist, and at least so often. Nothing is
    /// watched before it is armed.
    pub fn new(paths: Vec<PathBuf>, every: Duration) -> Self {
        let woken = Arc::new(Notify::new());
        let wake = Arc::clone(&woken);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Our own reading is no change.
            if event.map_or(true, |event| is_change(event.kind)) {
                wake.notify_one();
            }
        });
        let watcher = watcher.inspect_err(|error| {
            tracing::warn!(%error, "no changes of files are told: they are looked for");
        });
        let watched = Watched { paths, watcher: watcher.ok(), armed: HashMap::new() };
        Self { every, woken, watched: Arc::new(Mutex::new(watched)) }
    }

    /// Watches what is not watched yet: directories come, go and come again. It waits for their file
    /// system, on another thread.
    pub async fn arm(&self) {
        let watched = Arc::clone(&self.watched);
        let arm = move || watched.lock().unwrap_or_else(PoisonError::into_inner).arm();
        // It ends before its time only with the process.
        let _ = spawn_blocking(arm).await;
    }

    /// Waits for a change, or until it is time to look anyway.
    pub async fn woken(&self) {
        let _ = timeout(self.every, self.woken.notified()).await;
    }
}

impl Watched {
    fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (folder, mode) in self.paths.iter().flat_map(|path| folders(path)) {
            let Ok(found) = metadata(&folder) else { continue };
            let identity = (found.dev(), found.ino(), found.created().ok());
            if self.armed.get(&folder) != Some(&identity) && watcher.watch(&folder, mode).is_ok() {
                self.armed.insert(folder, identity);
            }
        }
    }
}

/// Directories, never files: a file that is replaced takes its watch with it.
fn folders(path: &Path) -> Vec<(PathBuf, RecursiveMode)> {
    let real = path.canonicalize().ok();
    if path.is_dir() {
        let folders = real.into_iter().chain([path.to_owned()]);
        return folders.map(|folder| (folder, RecursiveMode::Recursive)).collect();
    }
    let parent = |path: PathBuf| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(PathBuf::from(".")),
        parent => parent.map(Path::to_owned),
    };
    let folders = real.into_iter().chain([path.to_owned()]).filter_map(parent);
    folders.map(|folder| (folder, RecursiveMode::NonRecursive)).collect()
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const LONG: Duration = Duration::from_secs(60);

    /// Whether it is woken long before it would look by itself.
    async fn is_woken(watch: &Watch) -> bool {
        timeout(Duration::from_secs(10), watch.woken()).await.is_ok()
    }

    #[tokio::test]
    async fn a_change_wakes_and_reading_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "1").unwrap();
        let watch = Watch::new(vec![file.clone()], LONG);
        watch.arm().await;
        fs::read(&file).unwrap();
        assert!(timeout(Duration::from_millis(300), watch.woken()).await.is_err());
        fs::write(folder.path().join("new"), "2").unwrap();
        fs::rename(folder.path().join("new"), &file).unwrap();
        assert!(is_woken(&watch).await);
    }

    #[tokio::test]
    async fn without_events_it_wakes_by_the_clock() {
        let watch = Watch::new(vec!["no-such-folder/file".into()], Duration::from_millis(20));
        assert!(is_woken(&watch).await);
    }

    #[tokio::test]
    async fn a_folder_made_anew_is_watched_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let mut watch = Watch::new(vec![inner.clone()], Duration::from_millis(50));
        watch.arm().await;
        fs::remove_dir(&inner).unwrap();
        watch.arm().await;
        fs::create_dir(&inner).unwrap();
        watch.arm().await;
        watch.every = LONG;
        while timeout(Duration::from_millis(200), watch.woken()).await.is_ok() {}
        fs::write(inner.join("a"), "1").unwrap();
        assert!(is_woken(&watch).await);
    }
}
