//! What the real API server does with a request that was told to come again.

use std::time::Duration;

use super::Running;
use super::hold::Hold;
use crate::apiserver::{self, Cluster, Identity, Probe};
use crate::both_ways::webhook::{changed, configuration, job, shape};
use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use jobshape::formats::review::{Answer, Entrance, answer};
use serde_json::json;

static HOLD: Hold = Hold::new();

fn held(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    HOLD.decide(body);
    answer(shapes, entrance, body)
}

fn serve(cluster: &Cluster, shapes: Shapes) -> Running {
    let mut options = Options {
        decide: held,
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        ..Options::new(served(shapes))
    };
    options.limits.connections = 1;
    options.limits.grace = Duration::ZERO;
    super::start(options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_api_server_comes_again_and_the_job_is_created() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("shed").await.unwrap();
    let shapes = Shapes::new(vec![shape(&namespace.name, "  - {name: everything}")]).unwrap();
    let webhook = serve(cluster, shapes);
    let refused = changed(job("main-probe"), "/spec/backoffLimit", json!(1));
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };
    let configuration = configuration(&webhook);
    let installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();

    // The one place is taken by a decision that lasts, so the API server's request is shed.
    let shed = "jobshape_shed_total{reason=\"connections\"}";
    HOLD.begin();
    let mut busy = webhook.connect_as_host(cluster.webhook_host()).await;
    busy.post("/validate/enforce?timeout=30s", super::review(100 << 10).as_bytes()).await;
    HOLD.until_one_is_held().await;
    let before = webhook.metric(shed).await.unwrap();
    let namespace_name = namespace.name.clone();
    let creating =
        tokio::spawn(async move { session.create_job(&namespace_name, &job("main-x")).await });
    super::until(async || webhook.metric(shed).await.unwrap() > before).await;
    assert!(!creating.is_finished(), "it was given up at once");
    HOLD.end();
    let created = tokio::time::timeout(Duration::from_secs(20), creating).await.unwrap().unwrap();
    assert_eq!(created.unwrap().object["metadata"]["name"], "main-x");
    installed.remove(cluster, &probe).await.unwrap();
}
