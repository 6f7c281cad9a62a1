//! The process itself: its signals and its files.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio_rustls::TlsConnector;

use super::{ENFORCE, PATIENCE, Reply, Talk, UID, review, soon, until};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

/// `jobshape serve --dev`, ended when dropped.
struct Process {
    child: Child,
    webhook: SocketAddr,
    operations: SocketAddr,
    client: TlsConnector,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(arguments: &[&str]) -> Process {
    let (process, log) = begin(arguments);
    std::thread::spawn(move || log.lines().for_each(drop));
    process
}

/// The same with its standard error, of which nobody reads on.
fn begin(arguments: &[&str]) -> (Process, BufReader<ChildStderr>) {
    let shapes = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml");
    let mut child = Command::new(env!("CARGO_BIN_EXE_jobshape"))
        .args(["serve", "--dev", "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"])
        .args(["--shapes", shapes])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let listening: Value = log
        .by_ref()
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|line| line["message"] == "listening")
        .unwrap();
    let address = |field: &str| listening[field].as_str().unwrap().parse().unwrap();
    let mut configuration = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    while !configuration.contains("timeoutSeconds") {
        assert_ne!(printed.read_line(&mut configuration).unwrap(), 0, "{configuration}");
    }
    std::thread::spawn(move || printed.read_to_end(&mut Vec::new()));
    let client = super::trusting(&configuration);
    let (webhook, operations) = (address("webhook"), address("operations"));
    (Process { child, webhook, operations, client }, log)
}

impl Process {
    async fn post(&self) -> std::io::Result<Reply> {
        let stream = TcpStream::connect(self.webhook).await?;
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut talk = Talk(soon(self.client.connect(name, stream)).await?);
        talk.post(ENFORCE, review(0).as_bytes()).await;
        Ok(talk.reply().await)
    }

    async fn ready(&self) -> u16 {
        let mut talk = Talk(soon(TcpStream::connect(self.operations)).await.unwrap());
        talk.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").await;
        talk.reply().await.status
    }

    fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    async fn ended(&mut self) -> ExitStatus {
        soon(async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }
}

#[tokio::test]
async fn a_signal_begins_the_end_and_a_second_one_is_the_end() {
    let mut process = start(&["--lame-duck=1h"]);
    assert_eq!(process.ready().await, 200);
    process.signal();
    until(async || process.ready().await == 503).await;
    let reply = process.post().await.unwrap();
    assert_eq!(reply.response()["uid"], UID);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    process.signal();
    assert!(process.ended().await.success());
}

#[tokio::test]
async fn one_signal_is_enough() {
    let mut process = start(&["--lame-duck=100ms", "--drain=1s"]);
    process.signal();
    assert!(process.ended().await.success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_log_that_nobody_reads_stops_nothing() {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    const NONBLOCK: i32 = 0o4000;
    let (mut process, _unread) = begin(&["--lame-duck=1h"]);
    let pipe = format!("/proc/{}/fd/2", process.child.id());
    let mut pipe = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(pipe).unwrap();
    while pipe.write(b"\n").is_ok() {}
    process.signal();
    until(async || process.ready().await == 503).await;
    assert_eq!(process.post().await.unwrap().response()["uid"], UID);
    process.signal();
    assert!(process.ended().await.success());
}

#[tokio::test]
async fn a_file_that_does_not_answer_does_not_keep_the_end() {
    use std::fs::OpenOptions;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca");
    let mut process = start(&["--client-ca", file.to_str().unwrap(), "--lame-duck=1h"]);
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    // It opens when somebody reads it, who then waits for what never comes.
    let open = tokio::task::spawn_blocking(move || OpenOptions::new().write(true).open(file));
    let _open = soon(open).await.unwrap().unwrap();
    process.signal();
    until(async || process.ready().await == 503).await;
    process.signal();
    assert!(process.ended().await.success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_a_file_to_spare_the_silent_make_room() {
    use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
    let process = start(&[]);
    assert_eq!(process.post().await.unwrap().response()["uid"], UID);
    let pid = Pid::from_child(&process.child);
    let folder = format!("/proc/{}/fd", process.child.id());
    let open = std::fs::read_dir(Path::new(&folder)).unwrap().count();
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(u64::try_from(open).unwrap() + 4);
    prlimit(Some(pid), Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let mut silent = vec![];
    for _ in 0..60 {
        silent.push(soon(TcpStream::connect(process.webhook)).await.unwrap());
    }
    let answered = async {
        // One whose handshake is under way may have to make room, too.
        while process.post().await.is_err() {}
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("nobody gets in");
    prlimit(Some(pid), Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let mut talk = Talk(soon(TcpStream::connect(process.operations)).await.unwrap());
    talk.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let metrics = talk.reply().await.body;
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    assert!(value("jobshape_accept_errors_total ") >= 1.0);
    assert!(value("jobshape_connections_evicted_total ") >= 30.0);
}
