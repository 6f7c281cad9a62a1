//! More than one replica can do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::apiserver::Failure;
use crate::outside::reviews::{allowed, padded, review};
use crate::outside::{Client, Target};
use crate::row::Row;
use crate::stage::{NAMESPACE, Stage};
use crate::traffic::{job, tampered};

const PATH: &str = "/validate/enforce?timeout=30s";
const PATIENCE: Duration = Duration::from_secs(60);

/// Handshakes at a time.
const OPENING: usize = 400;

/// The memory that the manifests give a replica, MiB.
pub const MEMORY_LIMIT: f64 = 384.0;

/// What became of the reviews of a flood.
#[derive(Debug, Default)]
struct Flood {
    judged: usize,
    shed: usize,
    wrong: usize,
    hung: Vec<String>,
    longest: Duration,
}

impl Flood {
    fn count(
        &mut self,
        good: bool,
        uid: &str,
        took: Duration,
        reply: Result<(u16, Bytes), String>,
    ) {
        self.longest = self.longest.max(took);
        match reply {
            Ok((503, _)) => self.shed += 1,
            Ok((200, body)) if allowed(&body, uid) == Ok(good) => self.judged += 1,
            Ok(_) => self.wrong += 1,
            Err(why) => self.hung.push(why),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.wrong > 0 || !self.hung.is_empty() || self.judged == 0 {
            let first = self.hung.first();
            return Err(Failure::new(format!(
                "{} judged, {} shed, {} wrong, {} without an answer, such as {first:?}",
                self.judged,
                self.shed,
                self.wrong,
                self.hung.len()
            )));
        }
        Ok(())
    }

    fn note(&self) -> String {
        let longest = self.longest.as_secs_f64();
        format!("{} judged, {} shed, the longest took {longest:.1} s", self.judged, self.shed)
    }
}

/// Ten thousand reviews in parallel, each on a connection of its own, straight at one replica, while
/// Jobs are created through both.
pub async fn parallel(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let wanted = if full { 10_000 } else { 800 };
    // Some are for the rest of this process.
    let count = wanted.min(open_files().saturating_sub(500));
    let (flood, tally) = stage
        .while_jobs_are_created(async |stage| {
            let target = target(stage)?;
            let reviews = (0..count).map(|n| {
                let good = n % 3 != 0;
                let uid = format!("flood-{n}");
                let job = if good { job() } else { tampered(n) };
                (good, review(NAMESPACE, &uid, &job), uid)
            });
            let mut flood = Flood::default();
            send(&target, reviews.collect(), &mut flood).await?;
            Ok(flood)
        })
        .await?;
    flood.check()?;
    let memory = within_memory(stage)?;
    Row::new(
        &tally,
        &[],
        format!("{count} reviews: {}; memory at most {memory:.0} MiB", flood.note()),
    )
}

/// A hundred clients with bodies of almost 8 MiB, at the replica that judges Jobs meanwhile.
pub async fn large(stage: &mut Stage, full: bool) -> Result<Row, Failure> {
    let (clients, rounds) = if full { (100, 5) } else { (20, 1) };
    let (flood, tally) = stage
        .while_jobs_are_created(async |stage| {
            let target = target(stage)?;
            let mut flood = Flood::default();
            for _ in 0..rounds {
                let reviews = (0..clients).map(|n| {
                    // Not as the template has it, so refused.
                    let uid = format!("large-{n}");
                    (false, review(NAMESPACE, &uid, &padded(job(), 8_000_000)), uid)
                });
                send(&target, reviews.collect(), &mut flood).await?;
            }
            Ok(flood)
        })
        .await?;
    flood.check()?;
    let memory = within_memory(stage)?;
    Row::new(
        &tally,
        &[],
        format!(
            "{clients} at a time, {rounds} times: {}; memory at most {memory:.0} MiB of {MEMORY_LIMIT}",
            flood.note()
        ),
    )
}

/// Sends them all at once, and adds what became of them.
async fn send(
    target: &Target,
    reviews: Vec<(bool, Bytes, String)>,
    flood: &mut Flood,
) -> Result<(), Failure> {
    let mut tasks = JoinSet::new();
    // Both ends of each handshake are on this machine: with all at once none would be done in time.
    let opening = Arc::new(Semaphore::new(OPENING));
    for (good, body, uid) in reviews {
        let (target, opening) = (target.clone(), Arc::clone(&opening));
        tasks.spawn(async move {
            let began = Instant::now();
            let mut client = Client::new(target, false);
            let opened = {
                let _turn = opening.acquire().await;
                client.connect().await
            };
            let reply = match opened {
                Ok(()) => client.post(PATH, body, PATIENCE).await,
                Err(why) => Err(why),
            };
            let reply = reply.map(|reply| (reply.status.as_u16(), reply.body));
            (good, uid, began.elapsed(), reply)
        });
    }
    while let Some(done) = tasks.join_next().await {
        let (good, uid, took, reply) = done.map_err(Failure::during("flooding"))?;
        flood.count(good, &uid, took, reply);
    }
    Ok(())
}

fn target(stage: &Stage) -> Result<Target, Failure> {
    let replica = stage.replicas[0].as_ref();
    stage.target(replica.ok_or_else(|| Failure::new("the replica is not up"))?)
}

fn within_memory(stage: &mut Stage) -> Result<f64, Failure> {
    let memory = stage.replica(0)?.memory("VmHWM")?;
    if memory > MEMORY_LIMIT {
        return Err(Failure::new(format!("it took {memory:.0} MiB, of {MEMORY_LIMIT}")));
    }
    Ok(memory)
}

/// How many files this process may open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(1024)
}
