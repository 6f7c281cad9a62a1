//! One replica: a real `jobshape serve` as a process of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::apiserver::{ControlPlane, Failure, Supervised};

const PATIENCE: Duration = Duration::from_secs(30);

/// How a replica is started.
#[derive(Clone)]
pub struct Settings {
    /// The program and its first argument: `jobshape serve`, or what takes the same flags.
    pub program: [String; 2],
    /// The ports, which stay the same when it is started again.
    pub webhook: u16,
    /// The port for probes and metrics.
    pub operations: u16,
    /// The folder with `tls.crt` and `tls.key`.
    pub certificate: String,
    /// The folder with shapes.
    pub shapes: String,
    /// Further flags.
    pub flags: Vec<String>,
    /// Shell commands before it, such as `ulimit -n 64`.
    pub before: String,
    /// Whether it may mount what only it sees.
    pub own_mounts: bool,
}

impl Settings {
    /// `jobshape serve` on free ports, with a certificate and shapes from these folders.
    pub fn new(certificate: &Path, shapes: &Path) -> Result<Self, Failure> {
        let [webhook, operations] = free_ports()?;
        Ok(Self {
            program: [env!("CARGO_BIN_EXE_jobshape").to_owned(), "serve".to_owned()],
            webhook,
            operations,
            certificate: certificate.display().to_string(),
            shapes: shapes.display().to_string(),
            flags: Vec::new(),
            before: String::new(),
            own_mounts: false,
        })
    }
}

/// A running replica; dropping it kills it.
pub struct Replica {
    /// How it was started.
    pub settings: Settings,
    process: Supervised,
}

impl Replica {
    /// Starts one; it is not ready yet.
    pub fn start(plane: &ControlPlane, name: &str, settings: Settings) -> Result<Self, Failure> {
        let script = format!("{}\nexec \"$0\" \"$@\"", settings.before);
        let mut arguments = vec!["sh".to_owned(), "-c".to_owned(), script];
        arguments.extend(settings.program.clone());
        for (flag, value) in [
            ("--listen", format!("127.0.0.1:{}", settings.webhook)),
            ("--ops-listen", format!("127.0.0.1:{}", settings.operations)),
            ("--tls-cert", format!("{}/tls.crt", settings.certificate)),
            ("--tls-key", format!("{}/tls.key", settings.certificate)),
            ("--shapes", settings.shapes.clone()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        arguments.extend(settings.flags.iter().cloned());
        // It replaces itself by the shell, and that by the program: one process number for all.
        let wrapper = if settings.own_mounts { ["unshare", "-rm"] } else { ["env", "--"] };
        arguments.insert(0, wrapper[1].to_owned());
        let process = plane.start_beside(name, Path::new(wrapper[0]), &arguments)?;
        Ok(Self { settings, process })
    }

    /// Where reviews go.
    pub fn webhook(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.settings.webhook))
    }

    /// Waits until it says that it is ready, or that it is not.
    pub async fn wait(&mut self, ready: bool) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            let answer = self.get("/readyz").await;
            if answer.as_ref().is_ok_and(|(status, _)| (*status == 200) == ready) {
                return Ok(());
            }
            let ended = self.process.ended();
            if ended.is_some() || began.elapsed() > PATIENCE {
                let said = answer.map_or_else(|e| e, |(_, body)| body);
                return Err(Failure::new(format!(
                    "the replica should say that ready is {ready}, and says {said} ({ended:?}); {}",
                    self.process.tail()
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until its operations port says anything.
    pub async fn until_it_answers(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        while let Err(error) = self.get("/readyz").await {
            if self.process.ended().is_some() || began.elapsed() > PATIENCE {
                return Err(Failure::new(format!("{error}; {}", self.process.tail())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Waits until it has ended by itself.
    pub async fn wait_for_the_end(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        while self.process.ended().is_none() {
            if began.elapsed() > PATIENCE {
                return Err(Failure::new(format!("it does not end; {}", self.process.tail())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Sends it a signal, such as `STOP`.
    pub fn signal(&self, name: &str) -> Result<(), Failure> {
        let pid = self.pid()?.to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        match sent {
            Ok(status) if status.success() => Ok(()),
            other => Err(Failure::new(format!("kill -{name} {pid}: {other:?}"))),
        }
    }

    /// The end of its log.
    pub fn tail(&self) -> String {
        self.process.tail()
    }

    /// The number of its process.
    pub fn pid(&self) -> Result<u32, Failure> {
        self.process.pid().ok_or_else(|| Failure::new("the replica has no process"))
    }

    /// What its operations port answers: status and body.
    pub async fn get(&self, path: &str) -> Result<(u16, String), String> {
        let ask = async {
            let mut stream = TcpStream::connect(("127.0.0.1", self.settings.operations)).await?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer = tokio::time::timeout(Duration::from_secs(5), ask).await;
        let answer = answer.map_err(|_| "no answer".to_owned())?.map_err(|e| e.to_string())?;
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status, body.to_owned()))
    }

    /// The sum of a metric over its series.
    pub async fn metric(&self, name: &str) -> Result<f64, Failure> {
        let (_, text) = self.get("/metrics").await.map_err(Failure::during("GET /metrics"))?;
        let series = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        let values: Vec<f64> =
            series.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
        if values.is_empty() {
            return Err(Failure::new(format!("there is no metric {name}")));
        }
        Ok(values.iter().sum())
    }

    /// A figure of `/proc/PID/status` in MiB: `VmRSS` now, `VmHWM` at its highest.
    pub fn memory(&self, field: &str) -> Result<f64, Failure> {
        let path = format!("/proc/{}/status", self.pid()?);
        let text = std::fs::read_to_string(&path).map_err(Failure::during(&path))?;
        let kib = text.lines().find_map(|line| {
            let rest = line.strip_prefix(field)?.strip_prefix(':')?;
            rest.trim().trim_end_matches(" kB").parse::<f64>().ok()
        });
        kib.map(|kib| kib / 1024.0).ok_or_else(|| Failure::new(format!("{path} has no {field}")))
    }
}

/// Ports that were free a moment ago, all different.
pub fn free_ports<const N: usize>() -> Result<[u16; N], Failure> {
    let open = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = open().map_err(Failure::during("looking for free ports"))?;
        *port = listener.local_addr().map_err(Failure::during("looking for free ports"))?.port();
        listeners.push(listener);
    }
    Ok(ports)
}
