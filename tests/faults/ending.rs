//! A replica ends, or stands still.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::apiserver::Failure;
use crate::balancer::{Dead, NOTICES};
use crate::outside::reviews::review;
use crate::row::Row;
use crate::stage::{NAMESPACE, Stage, TIMEOUT};
use crate::traffic::{Window, job};

/// `kill -9` and a new start, one replica after the other.
pub async fn killed(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let rounds = if full { 10 } else { 1 };
    let (windows, tally) = stage
        .while_jobs_are_created(async |stage| {
            let mut windows = Vec::new();
            for n in (0..rounds).map(|round| round % 2) {
                let from = Instant::now();
                stage.replica(n)?.signal("KILL")?;
                tokio::time::sleep(NOTICES).await;
                // What it had in hand is told at once: the kernel closes its connections.
                windows.push(Window { from, to: from + Duration::from_millis(100) });
                stage.restore(n).await?;
            }
            Ok(windows)
        })
        .await?;
    Row::new(&tally, &windows, format!("{rounds} times"))
}

/// `SIGSTOP`: nobody tells its clients anything, so haproxy cuts their connections when its probes
/// are not answered.
pub async fn stopped(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let rounds = if full { 5 } else { 1 };
    stage.balance(Dead::Cut).await?;
    let (windows, tally) = stage
        .while_jobs_are_created(async |stage| {
            let mut windows = Vec::new();
            for n in (0..rounds).map(|round| round % 2) {
                let from = Instant::now();
                stage.replica(n)?.signal("STOP")?;
                tokio::time::sleep(TIMEOUT).await;
                stage.replica(n)?.signal("CONT")?;
                windows.push(Window { from, to: from + NOTICES });
                stage.replica(n)?.wait(true).await?;
                tokio::time::sleep(Duration::from_millis(600)).await;
            }
            Ok(windows)
        })
        .await?;
    stage.balance(Dead::Kept).await?;
    Row::new(&tally, &windows, format!("{rounds} times, {} s each", TIMEOUT.as_secs()))
}

/// `SIGTERM` and a new start, as in a rolling update: nothing may be lost, nothing is in hand.
pub async fn terminated(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let rounds = if full { 10 } else { 2 };
    let ((), tally) = stage
        .while_jobs_are_created(async |stage| {
            for n in (0..rounds).map(|round| round % 2) {
                let replica = stage.replica(n)?;
                replica.signal("TERM")?;
                replica.wait(false).await?;
                replica.wait_for_the_end().await?;
                stage.restore(n).await?;
            }
            Ok(())
        })
        .await?;
    Row::new(&tally, &[], format!("{rounds} times"))
}

/// `SIGTERM` while a request's body is still on its way: it is answered.
pub async fn terminated_within_a_request(stage: &mut Stage, _: bool) -> Result<Row, Failure> {
    let (answer, tally) = stage
        .while_jobs_are_created(async |stage| {
            let body = review(NAMESPACE, "slow", &job());
            let target = stage.target(stage.replicas[0].as_ref().ok_or_else(gone)?)?;
            let mut stream = target.connect().await.map_err(Failure::new)?;
            let during = "a slow request";
            let head = format!(
                "POST /validate/enforce?timeout=30s HTTP/1.1\r\nHost: a\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let (first, second) = body.split_at(body.len() / 2);
            stream.write_all(head.as_bytes()).await.map_err(Failure::during(during))?;
            stream.write_all(first).await.map_err(Failure::during(during))?;
            stream.flush().await.map_err(Failure::during(during))?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            stage.replica(0)?.signal("TERM")?;
            // Beyond the lame-duck period: then it is the draining that waits for it.
            tokio::time::sleep(Duration::from_secs(5)).await;
            stream.write_all(second).await.map_err(Failure::during(during))?;
            stream.flush().await.map_err(Failure::during(during))?;
            let mut answer = Vec::new();
            let reading = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut answer)).await;
            reading
                .map_err(|_| Failure::new("the slow request hangs"))?
                .map_err(Failure::during(during))?;
            stage.replica(0)?.wait_for_the_end().await?;
            stage.restore(0).await?;
            Ok(String::from_utf8_lossy(&answer).into_owned())
        })
        .await?;
    if !answer.contains("\"allowed\":true") {
        return Err(Failure::new(format!("the slow request was answered with {answer:?}")));
    }
    Row::new(&tally, &[], "the slow request was admitted 5 s after the signal".to_owned())
}

fn gone() -> Failure {
    Failure::new("the replica is not up")
}
