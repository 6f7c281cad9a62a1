//! Jobs being created all along, right and tampered with, and what became of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::apiserver::{Failure, Session};

/// A fault may last this much longer than `timeoutSeconds`: the API server's own work.
pub const SLACK: Duration = Duration::from_millis(750);

/// What a request became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Right,
    /// Admitted though tampered with, or refused though good.
    Wrong,
    /// The webhook could not be asked.
    Failed,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Sent {
    began: Instant,
    took: Duration,
    outcome: Outcome,
    said: String,
}

/// From when to when a replica that dies may take with it what it had in hand.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Requests that began later…
    pub from: Instant,
    /// …and earlier than this.
    pub to: Instant,
}

/// The creating of Jobs, going on.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    clients: JoinSet<Result<Vec<Sent>, Failure>>,
}

/// Names of Jobs are never used twice in a run.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The Job of the shape that the replicas serve.
pub fn job() -> Value {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": format!("work-{id:012}")},
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    })
}

/// One that must be refused; which way, `n` says.
pub fn tampered(n: usize) -> Value {
    let mut job = job();
    let pod = &mut job["spec"]["template"]["spec"];
    match n % 5 {
        0 => pod["serviceAccountName"] = json!("admin"),
        1 => pod["containers"][0]["image"] = json!("registry.example/other:1"),
        2 => pod["hostNetwork"] = json!(true),
        3 => pod["containers"][0]["args"] = json!(["sh"]),
        _ => pod["volumes"] = json!([{"name": "root", "hostPath": {"path": "/"}}]),
    }
    job
}

impl Traffic {
    /// So many clients, each with a pause between its requests.
    pub fn start(session: &Session, namespace: &str, clients: usize, pause: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for client in 0..clients {
            let (session, namespace) = (session.clone(), namespace.to_owned());
            let stop = Arc::clone(&stop);
            tasks.spawn(async move {
                let mut sent = Vec::new();
                let mut n = client;
                while !stop.load(Ordering::Relaxed) {
                    sent.push(one(&session, &namespace, n).await?);
                    n += 1;
                    tokio::time::sleep(pause).await;
                }
                Ok(sent)
            });
        }
        Self { stop, clients: tasks }
    }

    /// Stops it and says what became of all requests.
    pub async fn stop(mut self) -> Result<Tally, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let mut sent = Vec::new();
        while let Some(client) = self.clients.join_next().await {
            sent.extend(client.map_err(Failure::during("creating Jobs"))??);
        }
        Ok(Tally { sent })
    }
}

/// Every third Job is tampered with.
async fn one(session: &Session, namespace: &str, n: usize) -> Result<Sent, Failure> {
    let good = !n.is_multiple_of(3);
    let job = if good { job() } else { tampered(n / 3) };
    let began = Instant::now();
    let result = session.create_job(namespace, &job).await;
    let took = began.elapsed();
    let (outcome, said) = match result {
        Ok(_) if good => (Outcome::Right, String::new()),
        Ok(_) => (Outcome::Wrong, "admitted though tampered with".to_owned()),
        Err(refusal) if refusal.is_failed_call() => (Outcome::Failed, refusal.message),
        Err(refusal) if refusal.is_by_webhook() && !good => (Outcome::Right, String::new()),
        Err(refusal) if refusal.is_by_webhook() => (Outcome::Wrong, refusal.message),
        // Neither the webhook nor its absence: then nothing here can be believed.
        Err(refusal) => return Err(Failure::new(format!("a Job met something else: {refusal}"))),
    };
    Ok(Sent { began, took, outcome, said })
}

/// All requests of one fault.
pub struct Tally {
    sent: Vec<Sent>,
}

impl Tally {
    /// How many there were.
    pub fn requests(&self) -> usize {
        self.sent.len()
    }

    /// Wrong answers, each with what was said.
    pub fn wrong(&self) -> Vec<String> {
        let wrong = self.sent.iter().filter(|sent| sent.outcome == Outcome::Wrong);
        wrong.map(|sent| sent.said.clone()).collect()
    }

    /// Requests that failed: those which a dying replica had in hand, and the others.
    pub fn failed(&self, windows: &[Window]) -> (Vec<String>, Vec<String>) {
        let mut in_hand = Vec::new();
        let mut lost = Vec::new();
        for sent in self.sent.iter().filter(|sent| sent.outcome == Outcome::Failed) {
            let overlaps = |w: &Window| sent.began < w.to && sent.began + sent.took > w.from;
            let to = if windows.iter().any(overlaps) { &mut in_hand } else { &mut lost };
            to.push(format!("after {:.1} s: {}", sent.took.as_secs_f64(), sent.said));
        }
        (in_hand, lost)
    }

    /// The longest that one of them took.
    pub fn longest(&self) -> Duration {
        self.sent.iter().map(|sent| sent.took).max().unwrap_or_default()
    }
}
