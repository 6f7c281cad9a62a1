//! The real `jobshape serve --dev`, as a process of its own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::apiserver::{Cluster, Failure, Supervised};

const PATIENCE: Duration = Duration::from_secs(20);

/// It ends with this.
pub struct Webhook {
    /// What it printed: the configuration that makes an API server ask it.
    pub configuration: String,
    _process: Supervised,
}

impl Webhook {
    /// Starts it on free ports of loopback and waits until it is ready.
    pub async fn start(cluster: &Cluster, shapes: &Path) -> Result<Self, Failure> {
        let Cluster::Own(plane) = cluster else {
            return Err(Failure::new("the demo is for a cluster of its own"));
        };
        let jobshape = binary()?.display().to_string();
        let shapes = shapes.display().to_string();
        let ports = ["--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];
        // The shell keeps what it prints apart from its log.
        let mut arguments = vec!["-c", "exec \"$0\" \"$@\" >webhook.yaml", &jobshape];
        arguments.extend(["serve", "--dev", "--shapes", &shapes].iter().chain(&ports));
        let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        let mut process = plane.start_beside("jobshape", Path::new("sh"), &arguments)?;
        let began = Instant::now();
        loop {
            // It is ready after it has printed, so all of it is there then.
            let log = read(&plane.folder().join("jobshape.log"));
            if operations(&log).is_some_and(|address| is_ready(&address)) {
                let configuration = read(&plane.folder().join("webhook.yaml"));
                return Ok(Webhook { configuration, _process: process });
            }
            if process.ended().is_some() || began.elapsed() > PATIENCE {
                return Err(Failure::new(format!("jobshape serve: {}", process.tail())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Cargo puts examples into a folder beside it.
fn binary() -> Result<PathBuf, Failure> {
    let demo = std::env::current_exe().map_err(Failure::during("looking for jobshape"))?;
    let beside = demo.parent().and_then(Path::parent).map(|folder| folder.join("jobshape"));
    beside.filter(|path| path.is_file()).ok_or_else(|| {
        Failure::new(
            "jobshape is not built: `make demo` builds it, or `cargo build --bin jobshape`.",
        )
    })
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// The address of the operations port, once the log names it.
fn operations(log: &str) -> Option<String> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut addresses = lines.filter_map(|line| line["operations"].as_str().map(str::to_owned));
    addresses.next()
}

fn is_ready(address: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
