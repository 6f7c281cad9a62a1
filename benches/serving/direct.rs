//! Straight at the listener: jobshape beside the webhook that always says yes.

use std::path::Path;
use std::time::Duration;

use jobshape::core::changes::Random;
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use serde_json::Value;

use crate::Effort;
use crate::apiserver::Failure;
use crate::load::{Burst, Clients, Request, quantile};
use crate::outside::reviews::{allowed, review};
use crate::process::{Arms, Certificate, cpu};
use crate::report::{Report, interval};
use crate::side_by_side::Median;

const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";

/// Clients at a time, and whether they keep their connections. Beyond 25 the API server's pool keeps
/// none.
const WAYS: [(usize, bool); 6] =
    [(1, true), (25, true), (26, true), (100, true), (1, false), (25, false)];

/// The committed Job as a server stores it, without what only a server knows.
pub fn job() -> Result<Value, Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reviews/1.36.3/job-create.json");
    let text = std::fs::read(&path).map_err(Failure::during(path.display()))?;
    let sent: Value = serde_json::from_slice(&text).map_err(Failure::during(path.display()))?;
    Ok(sent["request"]["object"].clone())
}

/// The committed Job as a dispatcher sends it.
pub fn filled(namespace: &str) -> Result<Value, Failure> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml").to_owned();
    let loaded = shapes::load(&[path], None, Style::Plain);
    let loaded = loaded.map_err(|errors| Failure::new(errors.reports.join("\n")))?;
    let shape = loaded.into_iter().next().ok_or_else(|| Failure::new("no shape"))?.shape;
    let job = shape.first().fill(&[]).map_err(Failure::during("filling the template"))?;
    let mut job = job.to_json();
    job["metadata"]["namespace"] = namespace.into();
    Ok(job)
}

/// Measures both, in every way.
pub async fn measure(
    arms: &Arms,
    certificate: &Certificate,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Failure> {
    let request = |replica| {
        Ok::<_, Failure>(Request {
            target: certificate.target(replica)?,
            path: "/validate/enforce?timeout=10s".to_owned(),
            body: review("pm-agent", UID, &job()?),
            good: |reply| reply.status == 200 && allowed(&reply.body, UID) == Ok(true),
        })
    };
    let requests = [request(&arms.jobshape)?, request(&arms.allow)?];
    let replicas = [&arms.jobshape, &arms.allow];
    report.heading(
        "Straight at the listener, beside a webhook that always says yes on the same listener",
        &[
            "clients",
            "p50",
            "p99",
            "p99.9",
            "rate",
            "CPU s per 1,000",
            "always yes: p50",
            "rate",
            "CPU s per 1,000",
            "p50, ratio",
            "95 %",
        ],
    );
    let mut random = Random::new(7);
    for (count, keep) in WAYS {
        let each = (effort.requests / count).max(2);
        let mut clients = requests.clone().map(|r| Clients::new(&r.target, count, keep));
        let mut bursts: [Vec<Burst>; 2] = [Vec::new(), Vec::new()];
        let mut used = [0.0; 2];
        for block in 0..=effort.blocks {
            let first = random.below(2);
            for arm in [first, 1 - first] {
                let before = cpu(replicas[arm])?;
                let burst = clients[arm].burst(&requests[arm], each).await?;
                // The first block opens the connections.
                if block > 0 {
                    used[arm] += cpu(replicas[arm])? - before;
                    bursts[arm].push(burst);
                }
            }
        }
        let ratio = Median::of(bursts[0].iter().zip(&bursts[1]).map(|(ours, theirs)| {
            quantile(&ours.latencies, 0.5).as_secs_f64()
                / quantile(&theirs.latencies, 0.5).as_secs_f64()
        }));
        let kept = if keep { "" } else { ", a connection each" };
        let title = format!("{count}{kept}");
        let [ours, theirs] = [0, 1].map(|arm| Summary::of(&bursts[arm], used[arm]));
        report.plain(&[
            title.clone(),
            millis(ours.p50),
            millis(ours.p99),
            millis(ours.p999),
            format!("{:.0}/s", ours.rate),
            format!("{:.3}", ours.cpu),
            millis(theirs.p50),
            format!("{:.0}/s", theirs.rate),
            format!("{:.3}", theirs.cpu),
            format!("{:.2}", ratio.value),
            interval(ratio),
        ]);
        report.point("straight at the listener", &format!("{title} clients"), ratio, None);
    }
    Ok(())
}

/// All bursts of an arm.
pub struct Summary {
    /// The median latency.
    pub p50: Duration,
    /// 99 % were faster.
    pub p99: Duration,
    /// 99.9 % were faster.
    pub p999: Duration,
    /// Requests a second.
    pub rate: f64,
    /// Seconds of the processor a thousand requests.
    pub cpu: f64,
}

impl Summary {
    /// Of all bursts together, with the processor time that they took.
    pub fn of(bursts: &[Burst], cpu: f64) -> Self {
        let mut all: Vec<Duration> =
            bursts.iter().flat_map(|burst| burst.latencies.iter().copied()).collect();
        all.sort_unstable();
        let seconds: f64 = bursts.iter().map(|burst| burst.took.as_secs_f64()).sum();
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let count = all.len() as f64;
        Self {
            p50: quantile(&all, 0.5),
            p99: quantile(&all, 0.99),
            p999: quantile(&all, 0.999),
            rate: count / seconds,
            cpu: cpu * 1000.0 / count,
        }
    }
}

/// As a table shows it.
pub fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
