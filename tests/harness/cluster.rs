//! What the shared cluster can do, as the tests and the demo use it.

use std::process::Command;

use serde_json::{Value, json};

use super::job;
use crate::apiserver::{self, Cluster, Existing, Identity, Method};

#[tokio::test]
async fn the_server_is_ready_and_of_the_version_asked_for() {
    let cluster = apiserver::shared().await;
    let ready = cluster.session(&Identity::Admin).await.unwrap().get("/readyz").await.unwrap();
    assert_eq!((ready.status, ready.body), (200, json!("ok")));
    // A cluster or assets that somebody brings have the version that they have.
    if matches!(cluster, Cluster::Own(_)) && std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        let version = cluster.version().await.unwrap();
        assert_eq!(version, format!("v{}", apiserver::VERSION));
    }
}

#[tokio::test]
async fn a_dispatcher_may_create_jobs_and_nothing_else() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("dispatch").await.unwrap();
    let elsewhere = cluster.namespace("elsewhere").await.unwrap();
    let dispatcher = Identity::service_account(&namespace.name, "dispatcher");
    namespace.allow_jobs(&dispatcher).await.unwrap();
    let session = cluster.session(&dispatcher).await.unwrap();

    let created = session.create_job(&namespace.name, &job("one")).await.unwrap();
    assert_eq!(created.object["spec"]["backoffLimit"], 6, "the whole object comes back");
    assert_eq!(created.object["metadata"]["name"], "one");

    let refusal = session.create_job(&elsewhere.name, &job("one")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.reason.as_str()), (403, "Forbidden"));
    assert!(!refusal.is_by_webhook());

    let pod = json!({"metadata": {"name": "pod"}, "spec": {"containers": []}});
    let path = namespace.path("v1", "pods");
    let refusal = session.submit(Method::POST, &path, &pod).await.unwrap_err();
    assert_eq!(refusal.code, 403, "{refusal}");
    assert!(refusal.message.contains("cannot create resource \"pods\""), "{refusal}");
}

#[tokio::test]
async fn a_dry_run_stores_nothing_and_warnings_are_kept() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("dry").await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let mut odd = job("odd");
    odd["spec"]["surprise"] = json!(true);
    let accepted = session.dry_run_job(&namespace.name, &odd).await.unwrap();
    assert_eq!(accepted.warnings, ["unknown field \"spec.surprise\""]);
    let path = namespace.path("batch/v1", "jobs");
    let stored = session.get(&path).await.unwrap();
    assert_eq!(stored.body["items"], json!([]));
}

#[tokio::test]
async fn an_identity_has_its_groups() {
    let cluster = apiserver::shared().await;
    let somebody = Identity::user("somebody", &["team-a", "team-b"]);
    let session = cluster.session(&somebody).await.unwrap();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = session.submit(Method::POST, path, &json!({})).await.unwrap();
    let who = &answer.object["status"]["userInfo"];
    assert_eq!(who["username"], "somebody");
    assert_eq!(who["groups"], json!(["team-a", "team-b", "system:authenticated"]));
}

#[tokio::test]
async fn kubectl_speaks_as_the_identity_of_its_kubeconfig() {
    let cluster = apiserver::shared().await;
    let kubeconfig = cluster.kubeconfig_for(&Identity::user("somebody", &["team-a"])).unwrap();
    let output = Command::new(cluster.kubectl().unwrap())
        .args(["auth", "whoami", "--output=jsonpath={.status.userInfo.username}", "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "somebody", "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_job_gets_its_pod() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("pods").await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    session.create_job(&namespace.name, &job("real")).await.unwrap();
    let pods = namespace.wait_for("v1", "pods", |pods| !pods.is_empty()).await.unwrap();
    assert_eq!(pods[0]["metadata"]["ownerReferences"][0]["name"], "real");
    assert_eq!(pods[0]["spec"]["containers"][0]["image"], "registry.example/main:1");

    // There is no kubelet; a test says in its place how the Pod went.
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    let status = format!("{}/{name}/status", namespace.path("v1", "pods"));
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    session.submit(Method::PATCH, &status, &succeeded).await.unwrap();
    let done = |jobs: &[Value]| jobs.iter().any(|job| job["status"]["succeeded"] == 1);
    namespace.wait_for("batch/v1", "jobs", done).await.unwrap();
}

#[tokio::test]
async fn a_namespace_of_a_given_name_is_for_one_test_at_a_time() {
    let cluster = apiserver::shared().await;
    let name = "jobshape-test-exact";
    let first = cluster.exact_namespace(name).await.unwrap();
    // Both on this one thread: the second is waiting when the first is dropped.
    let second = cluster.exact_namespace(name);
    let drop_first = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        drop(first);
    };
    let (second, ()) = tokio::join!(second, drop_first);
    second.unwrap();
}

/// The shared cluster, taken for one that somebody brought.
#[tokio::test]
async fn in_an_existing_cluster_only_what_was_made_is_removed() {
    let cluster = apiserver::shared().await;
    let not_ours = cluster.namespace("not-ours").await.unwrap();
    let kubeconfig = cluster.kubeconfig_for(&Identity::Admin).unwrap();
    let host = cluster.webhook_host();
    let existing = Cluster::Existing(Existing::new(&kubeconfig, host).unwrap());
    assert!(existing.webhook_url(8443, "review").ends_with(":8443/review"));

    let namespace = existing.namespace("ours").await.unwrap();
    let dispatcher = Identity::service_account(&namespace.name, "dispatcher");
    namespace.allow_jobs(&dispatcher).await.unwrap();
    let session = existing.session(&dispatcher).await.unwrap();
    session.create_job(&namespace.name, &job("one")).await.unwrap();
    assert!(existing.exact_namespace("default").await.is_err(), "it is somebody else's");

    let ours = format!("/api/v1/namespaces/{}", namespace.name);
    let theirs = format!("/api/v1/namespaces/{}", not_ours.name);
    drop(namespace);
    let admin = existing.session(&Identity::Admin).await.unwrap();
    let ours = admin.get(&ours).await.unwrap();
    let going = ours.body["metadata"]["deletionTimestamp"].is_string();
    assert!(ours.status == 404 || going, "{}", ours.body);
    let theirs = admin.get(&theirs).await.unwrap();
    assert_eq!(theirs.body["status"]["phase"], "Active", "{}", theirs.body);
}
