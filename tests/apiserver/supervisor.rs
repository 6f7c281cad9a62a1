//! Processes and a folder that do not outlive us, however we end.
//!
//! Every process runs under a small shell whose standard input is a pipe that we hold. When we
//! drop it, panic, exit or are killed, the pipe closes and the shell kills its process: the only
//! way to be sure without `unsafe`, and it needs no signal handler. The folder has a shell of its
//! own, which removes it once we *and* all the process shells are gone.

use std::fs::File;
use std::io::PipeWriter;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::Failure;

/// Waits for its process; beside it, a subshell waits for the pipe to close and then kills. The
/// watcher must not live on when the process ended by itself: the number may be someone else's by
/// the time the pipe closes.
const SUPERVISE: &str = r#"
trap '' HUP INT TERM
exec 3<&0
log=$1
shift
"$@" >"$log" 2>&1 3<&- &
process=$!
echo "$process" >"$log.pid"
{ read -r _ <&3; kill -9 "$process"; } >/dev/null 2>&1 &
watcher=$!
wait "$process"
status=$?
kill -9 "$watcher" 2>/dev/null
exit "$status"
"#;

/// Its standard input ends when the last holder of the other end is gone.
const REMOVE: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
rm -rf "$1"
"#;

/// A temporary folder that is removed when it is dropped, or when this process ends in any way.
pub struct Folder {
    path: PathBuf,
    /// Held by us and by the shell of every process that works in the folder.
    held: Option<PipeWriter>,
    remover: Child,
}

impl Folder {
    /// A new empty folder that only this user may read: it will hold keys.
    pub fn new() -> Result<Self, Failure> {
        let made = tempfile::Builder::new()
            .prefix("jobshape-test-")
            .tempdir()
            .map_err(Failure::during("making a temporary folder"))?;
        let (reader, writer) = std::io::pipe().map_err(Failure::during("making a pipe"))?;
        let remover = shell(REMOVE, "jobshape-test-remover")
            .arg(made.path())
            .stdin(reader)
            .stdout(Stdio::null())
            .spawn()
            .map_err(Failure::during("starting sh"))?;
        // From here on the shell removes it, not this process.
        Ok(Folder { path: made.keep(), held: Some(writer), remover })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, Failure> {
        let path = self.path.join(name);
        std::fs::write(&path, content).map_err(Failure::during(format!("writing {name}")))?;
        Ok(path)
    }

    /// Starts a program whose output goes to `NAME.log` in the folder.
    pub fn start(
        &self,
        name: &str,
        program: &Path,
        arguments: &[String],
    ) -> Result<Supervised, Failure> {
        let log = self.path.join(format!("{name}.log"));
        File::create(&log).map_err(Failure::during(format!("creating {name}.log")))?;
        let holds = self.held.as_ref().and_then(|held| held.try_clone().ok());
        let (reader, writer) = std::io::pipe().map_err(Failure::during("making a pipe"))?;
        let shell = shell(SUPERVISE, &format!("jobshape-test-{name}"))
            .arg(&log)
            .arg(program)
            .args(arguments)
            .current_dir(&self.path)
            // A proxy of this machine must not come between a server and a webhook on loopback.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.path)
            .stdin(reader)
            // Holding it is all that matters: the shell itself prints nothing.
            .stdout(holds.map_or_else(Stdio::null, Stdio::from))
            .spawn()
            .map_err(Failure::during(format!("starting {name} under sh")))?;
        Ok(Supervised { name: name.to_owned(), log, alive: Some(writer), shell })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.held = None;
        let _ = self.remover.wait();
    }
}

/// A running program; dropping it kills it and waits for its end.
pub struct Supervised {
    name: String,
    log: PathBuf,
    alive: Option<PipeWriter>,
    shell: Child,
}

impl Supervised {
    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.shell.try_wait().ok().flatten()
    }

    /// The number of its process, to signal it with; nothing before it is started.
    pub fn pid(&self) -> Option<u32> {
        let mut file = self.log.clone().into_os_string();
        file.push(".pid");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// The end of what it printed, for a failure.
    pub fn tail(&self) -> String {
        const LINES: usize = 25;
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        format!("the end of the log of {}:\n{last}", self.name)
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.alive = None;
        let _ = self.shell.wait();
    }
}

/// In a process group of its own, so that a Ctrl-C at the terminal reaches us and not the shell,
/// which still has work to do then.
fn shell(script: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, name]).process_group(0).stderr(Stdio::null());
    command
}
