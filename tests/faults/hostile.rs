//! Clients that connect and are no API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::apiserver::Failure;
use crate::balancer::Dead;
use crate::outside::Target;
use crate::row::Row;
use crate::stage::Stage;

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Connects and says nothing, not even TLS.
    Silent,
    /// Says nothing after the handshake.
    SilentInTls,
    /// A byte of a header a second.
    Trickle,
    /// Headers, and half the body that they announce.
    Half,
    /// Bytes that are no TLS.
    Garbage,
    /// Bytes that are no HTTP.
    GarbageInTls,
}

const KINDS: [Kind; 6] =
    [Kind::Silent, Kind::SilentInTls, Kind::Trickle, Kind::Half, Kind::Garbage, Kind::GarbageInTls];

/// Five hundred connections of each kind, to both replicas, each opened again when it is closed.
pub async fn besieged(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let (each, seconds) = if full { (500, 60) } else { (60, 5) };
    let (opened, tally) = stage
        .while_jobs_are_created(async |stage| {
            let targets = targets(stage)?;
            let until = Instant::now() + Duration::from_secs(seconds);
            let opened = Arc::new(AtomicU64::new(0));
            let mut siege = JoinSet::new();
            for n in 0..each {
                for kind in KINDS {
                    let target = targets[n % 2].clone();
                    let opened = Arc::clone(&opened);
                    siege.spawn(async move {
                        while Instant::now() < until {
                            opened.fetch_add(1, Ordering::Relaxed);
                            let _ = timeout_at(until, annoy(kind, &target)).await;
                            // It ends by itself, and does not fill the machine.
                            sleep(Duration::from_secs(1)).await;
                        }
                    });
                }
            }
            siege.join_all().await;
            Ok(opened.load(Ordering::Relaxed))
        })
        .await?;
    let memory = stage.replica(0)?.memory("VmHWM")?;
    let kinds = KINDS.len();
    Row::new(
        &tally,
        &[],
        format!(
            "{kinds} kinds, {each} of each at a time for {seconds} s, {opened} connections; memory at most {memory:.0} MiB"
        ),
    )
}

/// One replica may open 64 files, and is sent 300 connections that say nothing.
pub async fn no_descriptors(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let seconds = if full { 30 } else { 5 };
    let mut settings = stage.settings(0);
    // Both limits: the process raises the soft one to the hard one.
    settings.before = "ulimit -n 64".to_owned();
    stage.start(0, settings)?;
    stage.replica(0)?.wait(true).await?;
    stage.balance(Dead::Kept).await?;
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            let target = targets(stage)?[0].clone();
            let mut held = Vec::new();
            for _ in 0..300 {
                held.extend(TcpStream::connect(target.address).await);
            }
            sleep(Duration::from_secs(seconds)).await;
            stage.replica(0)?.wait(true).await?;
            drop(held);
            Ok(())
        })
        .await?;
    let evicted = stage.replica(0)?.metric("jobshape_connections_evicted_total").await?;
    stage.restore(0).await?;
    Row::new(&tally, &[], format!("for {seconds} s; {evicted} connections closed to make room"))
}

fn targets(stage: &Stage) -> Result<[Target; 2], Failure> {
    let one = |n: usize| {
        let replica = stage.replicas[n].as_ref();
        stage.target(replica.ok_or_else(|| Failure::new("a replica is not up"))?)
    };
    Ok([one(0)?, one(1)?])
}

async fn annoy(kind: Kind, target: &Target) -> Result<(), String> {
    let plain = || async { TcpStream::connect(target.address).await.map_err(|e| e.to_string()) };
    match kind {
        Kind::Silent => until_closed(plain().await?).await,
        Kind::Garbage => {
            let mut stream = plain().await?;
            write(&mut stream, &[0x5a; 4096]).await?;
            until_closed(stream).await
        }
        Kind::SilentInTls => until_closed(target.connect().await?).await,
        Kind::GarbageInTls => {
            let mut stream = target.connect().await?;
            write(&mut stream, b"\x01\x02 no HTTP\r\n\r\n").await?;
            until_closed(stream).await
        }
        Kind::Trickle => {
            let mut stream = target.connect().await?;
            for byte in b"POST /validate/enforce HTTP/1.1\r\nHost: a\r\n".iter().cycle() {
                write(&mut stream, &[*byte]).await?;
                sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        }
        Kind::Half => {
            let mut stream = target.connect().await?;
            let head = "POST /validate/enforce HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n";
            write(&mut stream, head.as_bytes()).await?;
            write(&mut stream, &[b' '; 4500]).await?;
            until_closed(stream).await
        }
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), String> {
    stream.write_all(bytes).await.map_err(|e| e.to_string())?;
    stream.flush().await.map_err(|e| e.to_string())
}

async fn until_closed(mut stream: impl tokio::io::AsyncRead + Unpin) -> Result<(), String> {
    let mut nothing = Vec::new();
    stream.read_to_end(&mut nothing).await.map(|_| ()).map_err(|e| e.to_string())
}
