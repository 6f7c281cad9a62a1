//! An attempt on a real server to make a Job that no update can free, so that its namespace never
//! goes.

use std::time::{Duration, Instant};

use jobshape::core::judge::Shapes;
use serde_json::{Value, json};

use super::webhook::{changed, configuration, job, serve, shape};
use crate::apiserver::{self, Identity, Method, Probe};

/// One that breaks the shape.
fn bad(name: &str) -> Value {
    changed(job(name), "/spec/backoffLimit", json!(3))
}

#[tokio::test]
async fn a_namespace_goes_whatever_is_in_it() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("attacks").await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    // More finalizers than a tree may have nodes: the server keeps the same one as often as it is
    // written.
    let many = changed(bad("main-many"), "/metadata/finalizers", json!(vec!["a/b"; 210_000]));
    for job in [&many, &bad("main-bad"), &job("main-good")] {
        session.create_job(&namespace.name, job).await.unwrap_or_else(|r| panic!("{r}"));
    }
    let path = format!("{}/main-many", namespace.path("batch/v1", "jobs"));
    let stored = session.get(&path).await.unwrap().body;
    assert_eq!(stored["metadata"]["finalizers"].as_array().map(Vec::len), Some(210_000));

    let shapes = Shapes::new(vec![shape(&namespace.name, "  - {name: everything}")]).unwrap();
    let webhook = serve(cluster, shapes);
    let refused = bad("main-probe");
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };
    let installed =
        cluster.install_webhook(&configuration(&webhook), &[&namespace], &probe).await.unwrap();

    let gone = format!("/api/v1/namespaces/{}", namespace.name);
    session.submit(Method::DELETE, &gone, &Value::Null).await.unwrap();
    // It stays until somebody frees it, and does nothing else.
    let one = json!({"metadata": {"finalizers": ["a/b"], "labels": {"a": "b"}}});
    let refusal = session.submit(Method::PATCH, &path, &one).await.unwrap_err();
    assert!(refusal.is_by_webhook(), "{refusal}");
    let free = json!({"metadata": {"finalizers": null}});
    let freed = session.submit(Method::PATCH, &path, &free).await;
    freed.unwrap_or_else(|refusal| panic!("{refusal}"));
    let began = Instant::now();
    while session.get(&gone).await.unwrap().status != 404 {
        assert!(began.elapsed() < Duration::from_secs(60), "the namespace does not go");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(installed);
}
