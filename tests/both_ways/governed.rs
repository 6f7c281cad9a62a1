//! What else reaches the webhook in a governed namespace: CronJobs, updates, the garbage collector,
//! and a namespace that nobody thought of.

use jobshape::core::judge::Shapes;
use serde_json::json;

use super::refusal::Spoken;
use super::webhook::{changed, configuration, job, serve, shape};
use crate::apiserver::{self, Identity, Method, Probe};

#[tokio::test]
async fn a_cronjob_in_a_governed_namespace_is_refused() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("cron").await.unwrap();
    let shape = shape(&namespace.name, "  - {name: everything}");
    let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let scheduler = Identity::user("scheduler", &[]);
    namespace.allow_jobs(&scheduler).await.unwrap();
    namespace.allow(&scheduler, "create", "batch", "cronjobs").await.unwrap();
    let tampered = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(1));
    let probe = Probe { identity: &scheduler, namespace: &namespace.name, job: &tampered };
    let configuration = configuration(&webhook);
    let _installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();

    let session = cluster.session(&scheduler).await.unwrap();
    let job = job("main-x");
    // Its Jobs would be the committed one; it is refused all the same, until a template says so.
    let cronjob = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "main"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job["spec"]}},
    });
    let path = namespace.path("batch/v1", "cronjobs");
    let refusal = session.submit(Method::POST, &path, &cronjob).await.unwrap_err();
    let spoken = Spoken::read(&refusal, &shape).unwrap();
    let said = &spoken.findings[0].1;
    assert!(said.contains("every CronJob in this namespace is refused"), "{refusal}");
    session.create_job(&namespace.name, &job).await.unwrap();
}

#[tokio::test]
async fn a_namespace_that_is_sent_here_and_governed_by_nobody_is_refused() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("governed").await.unwrap();
    let stray = cluster.namespace("stray").await.unwrap();
    let webhook = serve(
        cluster,
        Shapes::new(vec![shape(&namespace.name, "  - {name: everything}")]).unwrap(),
    );
    let mut configuration = configuration(&webhook);
    // As in a configuration that still names a namespace whose shape is gone.
    configuration["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]["values"] =
        json!([namespace.name, stray.name]);
    let job = job("main-x");
    let probe = Probe { identity: &Identity::Admin, namespace: &stray.name, job: &job };
    let both = [&namespace, &stray];
    let installed = cluster.install_webhook(&configuration, &both, &probe).await.unwrap();
    let refusal = &installed.first_refusal;
    assert!(refusal.is_by_webhook() && refusal.code == 403, "{refusal}");
    let sentence = format!("the configuration sends {} here, no shape governs it", stray.name);
    assert!(refusal.message.contains(&sentence), "{refusal}");
    let session = cluster.session(&Identity::Admin).await.unwrap();
    session.create_job(&namespace.name, &job).await.unwrap();
}

#[tokio::test]
async fn an_update_is_judged_and_deletion_goes_through() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("update").await.unwrap();
    let shape = shape(&namespace.name, "  - {name: everything}");
    let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let tampered = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(1));
    // The webhook spares nobody, not even whoever may do everything.
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
    let configuration = configuration(&webhook);
    let _installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let stored = session.create_job(&namespace.name, &job("main-x")).await.unwrap().object;
    namespace.wait_for("v1", "pods", |pods| pods.len() == 1).await.unwrap();

    let path = format!("{}/main-x", namespace.path("batch/v1", "jobs"));
    let labelled = json!({"metadata": {"labels": {"queue": "fast"}}});
    let refusal = session.submit(Method::PATCH, &path, &labelled).await.unwrap_err();
    let spoken = Spoken::read(&refusal, &shape).unwrap();
    assert_eq!(spoken.rules(), ["everything"]);
    assert!(spoken.findings[0].1.starts_with("metadata.labels"), "{refusal}");
    let now = session.get(&path).await.unwrap().body;
    assert_eq!(now["metadata"]["labels"], stored["metadata"]["labels"]);

    // Foreground: the garbage collector removes the Pod, and then, by an UPDATE of the Job that
    // comes here too, its own finalizer. Refused, the Job would stay for ever.
    let updates = async || {
        let series = "jobshape_reviews_total{dry_run=\"false\",entrance=\"enforce\",\
                      operation=\"UPDATE\",verdict=\"allow\"}";
        webhook.metric(series).await.unwrap_or_default()
    };
    let before = updates().await;
    let foreground = format!("{path}?propagationPolicy=Foreground");
    session.submit(Method::DELETE, &foreground, &serde_json::Value::Null).await.unwrap();
    namespace.wait_for("batch/v1", "jobs", |jobs| jobs.is_empty()).await.unwrap();
    namespace.wait_for("v1", "pods", |pods| pods.is_empty()).await.unwrap();
    assert!(updates().await > before, "the garbage collector's update never came here");
}
