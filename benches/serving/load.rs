//! A burst of requests by several clients, and how long each took.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::task::JoinSet;

use crate::apiserver::Failure;
use crate::outside::{Client, Reply, Target};

const PATIENCE: Duration = Duration::from_secs(60);

/// What is sent, and where to.
#[derive(Clone)]
pub struct Request {
    /// The server.
    pub target: Target,
    /// The path.
    pub path: String,
    /// The body.
    pub body: Bytes,
    /// Whether an answer is the one that is wanted: an error is not fast, it is wrong.
    pub good: fn(&Reply) -> bool,
}

/// Clients that stay connected from one burst to the next, if they keep their connections.
pub struct Clients(Vec<Client>);

/// How one burst went.
pub struct Burst {
    /// Of each request, sorted.
    pub latencies: Vec<Duration>,
    /// From the first request to the last answer.
    pub took: Duration,
}

impl Clients {
    /// So many of them.
    pub fn new(target: &Target, count: usize, keep: bool) -> Self {
        Self((0..count).map(|_| Client::new(target.clone(), keep)).collect())
    }

    /// Each sends `each` requests, one after the other.
    pub async fn burst(&mut self, request: &Request, each: usize) -> Result<Burst, Failure> {
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for mut client in self.0.drain(..) {
            let request = request.clone();
            tasks.spawn(async move {
                let mut latencies = Vec::with_capacity(each);
                for _ in 0..each {
                    let began = Instant::now();
                    let reply = client.post(&request.path, request.body.clone(), PATIENCE).await?;
                    latencies.push(began.elapsed());
                    if !(request.good)(&reply) {
                        let text = String::from_utf8_lossy(&reply.body).into_owned();
                        return Err(format!("it answered {}: {text}", reply.status));
                    }
                }
                Ok((client, latencies))
            });
        }
        let mut latencies = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let done = done.map_err(Failure::during("sending requests"))?;
            let (client, some) = done.map_err(Failure::during("a request"))?;
            self.0.push(client);
            latencies.extend(some);
        }
        latencies.sort_unstable();
        Ok(Burst { latencies, took: began.elapsed() })
    }
}

/// The value below which this share of sorted latencies lies.
pub fn quantile(sorted: &[Duration], share: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank"
    )]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}
