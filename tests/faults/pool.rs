//! Connections that are kept for long and used now and then, as the API server's pool does: it keeps
//! up to 25 idle ones for 90 s. One that the server closes first may be closed under a request.

use std::time::Duration;

use jobshape::core::changes::Random;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::apiserver::Failure;
use crate::outside::reviews::{allowed, review};
use crate::outside::{Client, Target};
use crate::stage::NAMESPACE;
use crate::traffic::job;

const PATIENCE: Duration = Duration::from_secs(20);

/// The use of such a pool, going on beside the faults.
pub struct Pool {
    clients: JoinSet<Result<(u64, u64), String>>,
    title: String,
}

impl Pool {
    /// So many connections, with gaps of up to `gap` between requests, for so long.
    pub fn start(target: &Target, connections: u64, gap: Duration, lasts: Duration) -> Self {
        let until = Instant::now() + lasts;
        let mut clients = JoinSet::new();
        for n in 0..connections {
            let target = target.clone();
            clients.spawn(use_one(target, n, gap, until));
        }
        let title = format!(
            "{connections} connections, gaps of 0–{} s, for {} s",
            gap.as_secs(),
            lasts.as_secs()
        );
        Self { clients, title }
    }

    /// Waits for its end. A request that failed is a failure.
    pub async fn end(mut self) -> Result<(u64, String), Failure> {
        let (mut requests, mut connections) = (0, 0);
        while let Some(client) = self.clients.join_next().await {
            let one = client.map_err(Failure::during("using a pool"))?;
            let (sent, opened) = one.map_err(Failure::during("a pooled connection"))?;
            requests += sent;
            connections += opened;
        }
        Ok((requests, format!("{}: {connections} opened in all, no EOF", self.title)))
    }
}

async fn use_one(
    target: Target,
    n: u64,
    gap: Duration,
    until: Instant,
) -> Result<(u64, u64), String> {
    // Far apart: neighbouring seeds begin alike.
    let mut random = Random::new((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut client = Client::new(target, true);
    let mut requests = 0;
    while Instant::now() < until {
        let uid = format!("pool-{n}-{requests}");
        let body = review(NAMESPACE, &uid, &job());
        let reply = client.post("/validate/enforce?timeout=5s", body, PATIENCE).await;
        let reply = reply.map_err(|e| format!("request {requests} of client {n}: {e}"))?;
        if reply.status != 200 || !allowed(&reply.body, &uid)? {
            return Err(format!("request {requests} of client {n}: {}", reply.status));
        }
        requests += 1;
        let millis = usize::try_from(gap.as_millis()).unwrap_or(usize::MAX);
        sleep(Duration::from_millis(random.below(millis) as u64)).await;
    }
    Ok((requests, client.opened))
}
