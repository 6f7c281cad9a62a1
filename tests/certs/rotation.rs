//! From nothing to a certificate that is believed, and from one authority to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::stage::{AUTHORITY, Stage, TLS, cluster, job, text};

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_and_the_configuration_comes_later() {
    let stage = Stage::new(cluster().await, "nothing").await;
    let rotator = stage.rotator("one", &[]);
    stage.until("a certificate", &rotator, async || !stage.certificate().await.is_empty()).await;
    let secret = stage.secret(TLS).await;
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "tls.crt", "tls.key"], "the authority's key is nowhere else");
    let said = async || rotator.log().contains("there is no webhook configuration");
    stage.until("the log to say that nobody calls", &rotator, said).await;

    let mut nodes = ["a", "b"].map(|name| stage.replica(name, Duration::ZERO));
    let ports = nodes.each_ref().map(|node| node.replica.settings.webhook);
    for node in &mut nodes {
        node.replica.wait(true).await.unwrap();
    }
    stage.apply(&stage.configuration(&ports), &[]);
    stage.until("trust", &rotator, async || stage.job().await.is_ok()).await;
    let refused = stage.admin.dry_run_job(&stage.name, &job("OnFailure")).await.unwrap_err();
    assert!(refused.is_by_webhook(), "{refused}");
    assert!(stage.bundles().await.iter().all(|b| *b == text(&secret, "ca.crt")));
    stage.until("rest", &rotator, async || rotator.is_ready().await).await;
    assert_eq!(rotator.metric("jobshape_rotation_steps_total").await, 3.0, "{}", rotator.log());
}

/// Jobs all the time, while certificate and authority come to their ends, while the configuration is
/// applied again, and while the authority is lost.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_everything_is_replaced() {
    let stage = Arc::new(Stage::new(cluster().await, "rotation").await);
    let late = [Duration::ZERO, Duration::from_millis(700)];
    let mut nodes = [("a", late[0]), ("b", late[1])].map(|(name, late)| stage.replica(name, late));
    let ports = nodes.each_ref().map(|node| node.replica.settings.webhook);
    let configuration = stage.configuration(&ports);
    stage.apply(&configuration, &[]);
    let lives = ["--certificate-life=20s", "--authority-life=60s"];
    let rotator = stage.rotator("one", &lives);
    for node in &mut nodes {
        node.replica.wait(true).await.unwrap();
    }
    stage.until("trust", &rotator, async || stage.job().await.is_ok()).await;
    let first = stage.bundles().await.remove(0);

    let (asked, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let stream = tokio::spawn({
        let (stage, asked, ends) = (Arc::clone(&stage), Arc::clone(&asked), Arc::clone(&ends));
        async move {
            let mut failed = vec![];
            while !ends.load(Ordering::Relaxed) {
                if let Err(refusal) = stage.job().await {
                    failed.push(refusal.to_string());
                }
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            failed
        }
    });
    stage.until("a second authority", &rotator, async || stage.trusts(2).await).await;
    for how in [&[][..], &["--server-side"], &["--server-side", "--force-conflicts"]] {
        stage.apply(&configuration, how);
    }
    let is_alone = async || stage.trusts(1).await && stage.bundles().await[0] != first;
    stage.until("the first one to be forgotten", &rotator, is_alone).await;
    let second = stage.bundles().await.remove(0);

    stage.delete(&stage.secret_path(AUTHORITY)).await;
    let both = async || stage.trusts(2).await && stage.bundles().await[0].starts_with(&second);
    stage.until("a third authority beside the second", &rotator, both).await;
    let is_alone = async || stage.trusts(1).await && stage.bundles().await[0] != second;
    stage.until("the second one to be forgotten", &rotator, is_alone).await;
    ends.store(true, Ordering::Relaxed);
    let failed = stream.await.unwrap();
    let asked = asked.load(Ordering::Relaxed);
    assert!(failed.is_empty(), "{} of {asked}: {failed:#?}\n{}", failed.len(), rotator.log());
    assert!(asked > 100, "{asked}");
}
