//! Through a real API server: what each arm adds to the creating of one Job, as a dry run.

use std::net::SocketAddr;

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobshape::core::changes::Random;
use serde_json::{Value, json};

use crate::Effort;
use crate::apiserver::{Cluster, Failure, Identity, InstalledWebhook, Method, Probe};
use crate::direct::{Summary, filled, millis};
use crate::load::{Burst, Clients, Request, quantile};
use crate::outside::{Replica, Target};
use crate::policies;
use crate::process::{Arms, cpu};
use crate::report::Report;
use crate::side_by_side::{Median, shuffle};

/// The namespace of the committed shape.
pub const NAMESPACE: &str = "pm-agent";

/// A namespace each, so that all are in force at the same time.
const ARMS: [(&str, &str); 5] = [
    ("no webhook", "bench-none"),
    ("always allows", "bench-allow"),
    ("jobshape", NAMESPACE),
    ("native policy, six rules in CEL", "bench-six-rules"),
    ("native policy, closed world", "bench-closed-world"),
];
const NONE: usize = 0;
const ALLOW: usize = 1;
const JOBSHAPE: usize = 2;
const SIX_RULES: usize = 3;
const CLOSED_WORLD: usize = 4;

/// Measures all arms with one client and with 25.
pub async fn measure(
    cluster: &Cluster,
    arms: &Arms,
    authority: &str,
    dispatcher: &Identity,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Failure> {
    let admin = cluster.session(&Identity::Admin).await?;
    let mut namespaces = Vec::new();
    for (_, name) in ARMS {
        let namespace = cluster.exact_namespace(name).await?;
        namespace.allow_jobs(dispatcher).await?;
        namespaces.push(namespace);
    }
    let wrong = |namespace: &str| {
        let mut job = filled(namespace)?;
        job["spec"]["template"]["spec"]["initContainers"] =
            json!([{"name": "x", "image": "registry.example/x:1"}]);
        Ok::<_, Failure>(job)
    };
    let stored = admin.dry_run_job(ARMS[NONE].1, &filled(ARMS[NONE].1)?).await;
    let stored = stored.map_err(Failure::during("storing the Job"))?.object;
    let closed = crate::closed_world::expressions(&stored);
    for (arm, name, expressions) in
        [(SIX_RULES, "six-rules", policies::six_rules()), (CLOSED_WORLD, "closed-world", closed)]
    {
        let namespace = ARMS[arm].1;
        policies::install(&admin, name, namespace, &expressions, &wrong(namespace)?).await?;
    }
    let mut installed: Vec<InstalledWebhook> = Vec::new();
    for (arm, replica) in [(ALLOW, &arms.allow), (JOBSHAPE, &arms.jobshape)] {
        let configuration = configuration(cluster, replica, authority);
        if arm == JOBSHAPE {
            let job = wrong(NAMESPACE)?;
            let probe = Probe { identity: dispatcher, namespace: NAMESPACE, job: &job };
            let one = cluster.install_webhook(&configuration, &[&namespaces[arm]], &probe).await?;
            installed.push(one);
        } else {
            // Nothing it is asked is refused, so its own count says that it is asked.
            always(&admin, configuration, ARMS[arm].1, replica).await?;
        }
    }

    let Cluster::Own(plane) = cluster else { return Err(Failure::new("no control plane")) };
    let address: SocketAddr = plane
        .url()
        .trim_start_matches("https://")
        .parse()
        .map_err(Failure::during("reading the address of the API server"))?;
    let mut target = Target::new(address, &[plane.ca()]).map_err(Failure::new)?;
    target.authorization = plane.token(dispatcher).map(|token| format!("Bearer {token}"));
    let mut requests = Vec::new();
    for (_, namespace) in ARMS {
        requests.push(Request {
            target: target.clone(),
            path: format!("/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All"),
            body: Bytes::from(filled(namespace)?.to_string()),
            good: |reply| reply.status == 201,
        });
    }
    for clients in [1, 25] {
        table(arms, &target, &requests, clients, effort, report).await?;
    }
    Ok(())
}

async fn table(
    arms: &Arms,
    target: &Target,
    requests: &[Request],
    count: usize,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Failure> {
    let each = (effort.requests / count / 2).max(2);
    let mut clients = Clients::new(target, count, true);
    let mut bursts: Vec<Vec<Burst>> = ARMS.map(|_| Vec::new()).into();
    let mut used = 0.0;
    let mut random = Random::new(11);
    for block in 0..=effort.blocks {
        let mut order: Vec<usize> = (0..ARMS.len()).collect();
        shuffle(&mut order, &mut random);
        for arm in order {
            let before = cpu(&arms.jobshape)?;
            let burst = clients.burst(&requests[arm], each).await?;
            if block > 0 {
                used += cpu(&arms.jobshape)? - before;
                bursts[arm].push(burst);
            }
        }
    }
    let plural = if count == 1 { "client" } else { "clients" };
    report.heading(
        &format!("Creating the Job of pm-agent through the API server, {count} {plural}"),
        &["", "p50", "p99", "p99.9", "rate", "p50 added"],
    );
    for (arm, (title, _)) in ARMS.iter().enumerate() {
        let all = Summary::of(&bursts[arm], used);
        let added = Median::of(added(&bursts, arm));
        report.plain(&[
            (*title).to_owned(),
            millis(all.p50),
            millis(all.p99),
            millis(all.p999),
            format!("{:.0}/s", all.rate),
            if arm == NONE { String::new() } else { format!("{:.2} ms", added.value * 1e3) },
        ]);
    }
    let cpu = Summary::of(&bursts[JOBSHAPE], used).cpu;
    report.say(&format!("jobshape used {cpu:.3} s of the processor per 1,000 reviews."));
    // What is added to a request is a difference of noisy times: the blocks' ratios can be far apart.
    let ratio = |over: usize| {
        Median::of(
            added(&bursts, JOBSHAPE).zip(added(&bursts, over)).map(|(ours, theirs)| ours / theirs),
        )
    };
    let (beside_allow, beside_native) = (ratio(ALLOW), ratio(SIX_RULES));
    report.heading("", &["added latency, ratio of medians of the blocks", "", "95 %", "bound"]);
    for (title, ratio, bound) in [
        ("jobshape to always-allow", beside_allow, Some(1.10)),
        ("jobshape to the native policy of six rules", beside_native, (count == 25).then_some(1.0)),
    ] {
        let figure = format!("through the API server, {count} {plural}");
        report.ratio(&figure, title, ratio, bound);
    }
    Ok(())
}

/// What an arm adds to the median request, a block each, in seconds.
fn added(bursts: &[Vec<Burst>], arm: usize) -> impl Iterator<Item = f64> {
    let p50 = |burst: &Burst| quantile(&burst.latencies, 0.5).as_secs_f64();
    bursts[arm].iter().zip(&bursts[NONE]).map(move |(with, without)| p50(with) - p50(without))
}

fn configuration(cluster: &Cluster, replica: &Replica, authority: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "bench"},
        "webhooks": [{
            "name": "bench.jobshape.dev",
            "clientConfig": {
                "url": cluster.webhook_url(replica.webhook().port(), "/validate/enforce"),
                "caBundle": STANDARD.encode(authority),
            },
            "rules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"],
                "resources": ["jobs"], "operations": ["CREATE", "UPDATE"],
            }],
            "failurePolicy": "Fail", "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
        }],
    })
}

/// Installs a webhook that refuses nothing and waits until it is asked. It goes with the cluster.
async fn always(
    admin: &crate::apiserver::Session,
    mut configuration: Value,
    namespace: &str,
    replica: &Replica,
) -> Result<(), Failure> {
    configuration["metadata"]["name"] = json!("bench-allow");
    configuration["webhooks"][0]["namespaceSelector"] =
        json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let made = admin.submit(Method::POST, path, &configuration).await;
    made.map_err(Failure::during("installing the webhook that says yes"))?;
    let began = std::time::Instant::now();
    loop {
        let job = filled(namespace)?;
        let sent = admin.dry_run_job(namespace, &job).await;
        sent.map_err(Failure::during("a Job under the webhook that says yes"))?;
        if replica.metric("jobshape_reviews_total").await? > 0.0 {
            return Ok(());
        }
        if began.elapsed() > std::time::Duration::from_secs(30) {
            return Err(Failure::new("the webhook that says yes is never asked"));
        }
    }
}
