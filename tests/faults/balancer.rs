//! haproxy before the replicas, as a Service is: it asks `/readyz` and sends connections to those
//! that are ready.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::apiserver::{ControlPlane, Failure, Supervised};
use crate::outside::Settings;

/// How long it takes at most to notice that a replica is gone: two probes that fail, the second
/// begun at most this long after.
#[allow(dead_code, reason = "not every stage waits for it")]
pub const NOTICES: Duration = Duration::from_millis(1_500);

/// What happens to the connections of a replica that does not answer probes any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dead {
    /// They live on, as with a Service.
    Kept,
    /// They are cut. A process that is stopped, or whose node is gone, says nothing itself.
    Cut,
}

/// A running haproxy.
pub struct Balancer {
    _process: Supervised,
}

impl Balancer {
    /// Starts it on an address and waits until it accepts.
    pub async fn start(
        plane: &ControlPlane,
        address: SocketAddr,
        replicas: &[&Settings],
        dead: Dead,
    ) -> Result<Self, Failure> {
        let haproxy = find()?;
        let cut = if dead == Dead::Cut { "on-marked-down shutdown-sessions" } else { "" };
        let servers: String = replicas
            .iter()
            .enumerate()
            .map(|(n, replica)| {
                let (webhook, operations) = (replica.webhook, replica.operations);
                format!("  server r{n} 127.0.0.1:{webhook} check port {operations}\n")
            })
            .collect();
        let configuration = format!(
            "global
  maxconn 2000
defaults
  mode tcp
  timeout connect 1s
  timeout client 5m
  timeout server 5m
  timeout check 400ms
  retries 3
  option redispatch 1
frontend webhook
  bind {address}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 250ms fall 2 rise 1 {cut}
{servers}"
        );
        let name = format!("haproxy-{}.cfg", u8::from(dead == Dead::Cut));
        let file = plane.write(&name, &configuration)?;
        let arguments = ["-f".to_owned(), file.display().to_string(), "-db".to_owned()];
        let mut process = plane.start_beside("haproxy", &haproxy, &arguments)?;
        let began = Instant::now();
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if process.ended().is_some() || began.elapsed() > Duration::from_secs(20) {
                return Err(Failure::new(format!("haproxy: {}", process.tail())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Its first probes have to be through, or it sends to whom it knows nothing of.
        tokio::time::sleep(Duration::from_millis(600)).await;
        Ok(Self { _process: process })
    }
}

fn find() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Where Debian puts it, and a user's PATH does not look.
    folders.push(Path::new("/usr/sbin").to_owned());
    let found = folders.into_iter().map(|folder| folder.join("haproxy")).find(|p| p.is_file());
    found.ok_or_else(|| {
        Failure::new("haproxy is not installed: two replicas need it, as `apt-get install haproxy`")
    })
}
