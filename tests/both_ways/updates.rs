//! Updates on a real server: what must pass for the cluster to work, and the attempts to get more
//! out of one than it may give.

use jobshape::core::judge::Shapes;
use jobshape::core::shape::Shape;
use serde_json::{Value, json};

use super::refusal::Spoken;
use super::webhook::{changed, configuration, load, serve};
use crate::apiserver::{
    self, Cluster, Identity, InstalledWebhook, Method, Namespace, Probe, Refusal, Session,
};
use crate::serve::Running;

/// A Job whose run stands in two labels and an environment variable. A queue may hold it back.
fn document(namespace: &str, action: &str) -> String {
    format!(
        r#"
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: batch}}
spec:
  match: {{namespaces: [{namespace}]}}
  action: {action}
  variables:
    run: {{pattern: "[0-9]{{1,4}}", example: "1"}}
  optional:
    - {{path: $.spec.suspend, value: true}}
  rules:
    - {{name: labels, select: [$.metadata.labels]}}
    - {{name: everything}}
  templates:
  - {template}
"#,
        template = template()
    )
}

fn template() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "batch-<run>", "labels": {"run": "<run>", "task": "<run>"}},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "main",
                    "image": "registry.example/main:1",
                    "env": [{"name": "RUN", "value": "<run>"}],
                }],
            }},
        },
    })
}

/// The Job of one run, as committed.
fn job(run: &str) -> Value {
    serde_json::from_str(&template().to_string().replace("<run>", run)).unwrap()
}

/// One that nothing starts.
fn held_back(run: &str) -> Value {
    changed(job(run), "/spec/suspend", json!(true))
}

/// A namespace with Jobs that were there before the webhook, and the webhook.
struct Governed<'c> {
    namespace: Namespace<'c>,
    shape: Shape,
    session: Session,
    _webhook: Running,
    _installed: InstalledWebhook,
}

impl<'c> Governed<'c> {
    async fn with(cluster: &'c Cluster, prefix: &str, stored: &[Value]) -> Governed<'c> {
        let namespace = cluster.namespace(prefix).await.unwrap();
        let session = cluster.session(&Identity::Admin).await.unwrap();
        for job in stored {
            session.create_job(&namespace.name, job).await.unwrap();
        }
        Governed::of(cluster, namespace, session, "Enforce").await
    }

    async fn of(
        cluster: &'c Cluster,
        namespace: Namespace<'c>,
        session: Session,
        action: &str,
    ) -> Governed<'c> {
        let shape = load(&document(&namespace.name, action));
        let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
        let tampered = changed(job("9"), "/spec/activeDeadlineSeconds", json!(1));
        let probe =
            Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
        let configuration = configuration(&webhook);
        let installed =
            cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
        Governed { namespace, shape, session, _webhook: webhook, _installed: installed }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace.path("batch/v1", "jobs"))
    }

    async fn patch(&self, name: &str, patch: Value) -> Result<Value, Refusal> {
        let sent = self.session.submit(Method::PATCH, &self.path(name), &patch).await;
        sent.map(|accepted| accepted.object)
    }

    /// The patch is refused by the shape, for findings at these places, and nothing is changed.
    async fn refuses(&self, name: &str, patch: Value, places: &[&str]) -> Spoken {
        let before = self.session.get(&self.path(name)).await.unwrap().body;
        let refusal = match self.patch(name, patch.clone()).await {
            Ok(_) => panic!("{name} is admitted with {patch}"),
            Err(refusal) => refusal,
        };
        let spoken = Spoken::read(&refusal, &self.shape).unwrap();
        let found: Vec<&str> = spoken
            .findings
            .iter()
            .map(|(_, text)| text.split_once(": ").map_or(text.as_str(), |(path, _)| path))
            .collect();
        assert_eq!(found, places, "{refusal}");
        let after = self.session.get(&self.path(name)).await.unwrap().body;
        assert_eq!(before["spec"], after["spec"]);
        assert_eq!(before["metadata"]["labels"], after["metadata"]["labels"]);
        spoken
    }

    async fn admits(&self, name: &str, patch: Value) -> Value {
        match self.patch(name, patch.clone()).await {
            Ok(object) => object,
            Err(refusal) => panic!("{name} with {patch}: {refusal}"),
        }
    }
}

const RESUMED: &str = "The update lets Pods start (it resumes what was suspended), so the whole Job is judged as a new one.";

#[tokio::test]
async fn an_old_deviation_stays_and_gets_no_worse() {
    let many = changed(held_back("1"), "/spec/parallelism", json!(2));
    let labelled = changed(held_back("2"), "/metadata/labels/team", json!("a"));
    let shifted = changed(held_back("3"), "/metadata/labels/task", json!("4"));
    let stored = [many, labelled, shifted];
    let governed = Governed::with(apiserver::shared().await, "worse", &stored).await;

    // Untouched, it is nobody's business; repaired, all the better.
    let team = json!({"metadata": {"labels": {"team": "b"}}});
    governed.refuses("batch-1", team, &["metadata.labels.team"]).await;
    governed.admits("batch-1", json!({"metadata": {"annotations": null}})).await;

    // Worse, by much and by little, and better without being right.
    let parallelism = |count: i64| json!({"spec": {"parallelism": count}});
    for count in [1000, 3] {
        let spoken = governed.refuses("batch-1", parallelism(count), &["spec.parallelism"]).await;
        assert!(spoken.notes[0].contains("(it raises spec.parallelism)"), "{spoken:?}");
    }
    let spoken = governed.refuses("batch-1", parallelism(0), &["spec.parallelism"]).await;
    assert_eq!(spoken.notes, Vec::<String>::new());
    governed
        .refuses(
            "batch-1",
            json!({"spec": {"backoffLimit": 3}}),
            &["spec.backoffLimit", "spec.parallelism"],
        )
        .await;

    // One label for another of the same rule.
    let traded = json!({"metadata": {"labels": {"team": null, "crew": "a"}}});
    governed.refuses("batch-2", traded, &["metadata.labels.crew"]).await;
    let renamed = json!({"metadata": {"labels": {"team": "b"}}});
    governed.refuses("batch-2", renamed, &["metadata.labels.team"]).await;

    // The label that disagreed is right now, and the other one is not.
    let other = json!({"metadata": {"labels": {"task": "3", "run": "4"}}});
    let places = [
        "metadata.labels.task",
        "metadata.name",
        "spec.template.spec.containers[main].env[RUN].value",
    ];
    // The first place is another one now, and the others disagree with it.
    governed.refuses("batch-3", other, &places).await;
    let further = json!({"metadata": {"labels": {"task": "5"}}});
    governed.refuses("batch-3", further, &["metadata.labels.task"]).await;
    governed.admits("batch-3", json!({"metadata": {"labels": {"task": "3"}}})).await;
    governed
        .refuses(
            "batch-3",
            json!({"metadata": {"labels": {"task": "4"}}}),
            &["metadata.labels.task"],
        )
        .await;
}

#[tokio::test]
async fn a_bad_job_from_audit_times_does_not_start() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("audit-times").await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let bad = changed(
        held_back("1"),
        "/spec/template/spec/containers/0/image",
        json!("registry.example/other:1"),
    );
    // The same shape only records: through its webhook the Job is admitted.
    let shape = load(&document(&namespace.name, "Audit"));
    let audit = serve(cluster, Shapes::new(vec![shape]).unwrap());
    let mut entry = configuration(&audit);
    entry["webhooks"][0]["failurePolicy"] = json!("Fail");
    let admin = cluster.session(&Identity::Admin).await.unwrap();
    let name = format!("{}-audit", namespace.name);
    entry["metadata"]["name"] = json!(name);
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    admin.submit(Method::POST, path, &entry).await.unwrap();
    let seen = async || {
        let series = "jobshape_reviews_total{dry_run=\"true\",entrance=\"audit\",\
                      operation=\"CREATE\",verdict=\"allow\"}";
        audit.metric(series).await.unwrap_or_default()
    };
    while seen().await < 1.0 {
        session.dry_run_job(&namespace.name, &bad).await.unwrap();
    }
    session.create_job(&namespace.name, &bad).await.unwrap();
    admin.submit(Method::DELETE, &format!("{path}/{name}"), &Value::Null).await.unwrap();

    let governed = Governed::of(cluster, namespace, session, "Enforce").await;
    let image = "spec.template.spec.containers[main].image";
    for resume in [json!(false), Value::Null] {
        let spoken =
            governed.refuses("batch-1", json!({"spec": {"suspend": resume}}), &[image]).await;
        assert_eq!(spoken.notes, [RESUMED]);
    }
    let pods = governed.namespace.path("v1", "pods");
    let pods = governed.session.get(&pods).await.unwrap().body;
    assert_eq!(pods["items"], json!([]));
    // A good one resumes, and its Pod comes.
    governed.session.create_job(&governed.namespace.name, &held_back("2")).await.unwrap();
    governed.admits("batch-2", json!({"spec": {"suspend": false}})).await;
    governed.namespace.wait_for("v1", "pods", |pods| pods.len() == 1).await.unwrap();
}

/// What may be written into a suspended Job since 1.35 and 1.36 is compared like everything else.
#[tokio::test]
async fn the_window_of_a_suspended_job_is_shut() {
    let governed = Governed::with(apiserver::shared().await, "window", &[held_back("1")]).await;
    let pod = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let metadata = |metadata: Value| json!({"spec": {"template": {"metadata": metadata}}});
    let limits = json!([{
        "name": "main",
        "image": "registry.example/main:1",
        "env": [{"name": "RUN", "value": "1"}],
        "resources": {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}},
    }]);
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}],
    }}});
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}]);
    let spec = "spec.template.spec";
    let meta = "spec.template.metadata";
    for (patch, place) in [
        (pod(json!({"nodeSelector": {"pool": "x"}})), format!("{spec}.nodeSelector")),
        (pod(json!({"tolerations": [{"operator": "Exists"}]})), format!("{spec}.tolerations")),
        (pod(json!({"affinity": affinity})), format!("{spec}.affinity")),
        (pod(json!({"schedulingGates": [{"name": "a/b"}]})), format!("{spec}.schedulingGates")),
        (pod(json!({"containers": limits})), format!("{spec}.containers[main].resources")),
        (metadata(json!({"labels": {"app": "x"}})), format!("{meta}.labels.app")),
        (metadata(json!({"annotations": {"a": "b"}})), format!("{meta}.annotations")),
        (metadata(json!({"finalizers": ["a/b"]})), format!("{meta}.finalizers")),
        (metadata(json!({"ownerReferences": owner})), format!("{meta}.ownerReferences")),
        (metadata(json!({"name": "x"})), format!("{meta}.name")),
    ] {
        let resumed = changed(patch.clone(), "/spec/suspend", json!(false));
        for patch in [patch, resumed] {
            let refusal = governed.patch("batch-1", patch.clone()).await.unwrap_err();
            let spoken = Spoken::read(&refusal, &governed.shape).unwrap();
            assert!(
                spoken.findings.iter().all(|(_, text)| text.starts_with(&place)),
                "{patch}: {refusal}"
            );
        }
    }
    governed.admits("batch-1", json!({"spec": {"suspend": false}})).await;
}

#[tokio::test]
async fn a_removal_brings_nothing_along() {
    let kept = |run| changed(held_back(run), "/metadata/finalizers", json!(["a/b", "c/d"]));
    let stored = [kept("1"), kept("2"), kept("3")];
    let governed = Governed::with(apiserver::shared().await, "removal", &stored).await;
    let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});

    // Its finalizers are what the shape does not have; alone they go.
    let both = changed(finalizers(json!(["a/b"])), "/metadata/annotations", json!({"a": "b"}));
    governed.refuses("batch-1", both, &["metadata.annotations", "metadata.finalizers"]).await;
    let other = finalizers(json!(["a/b", "e/f"]));
    governed.refuses("batch-1", other, &["metadata.finalizers"]).await;
    let less = governed.admits("batch-1", finalizers(json!(["a/b"]))).await;
    assert_eq!(less["metadata"]["finalizers"], json!(["a/b"]));

    // Kept "being deleted", it is a Job like any other.
    let path = governed.path("batch-2");
    governed.session.submit(Method::DELETE, &path, &Value::Null).await.unwrap();
    let deleting = governed.session.get(&path).await.unwrap().body;
    assert!(deleting["metadata"]["deletionTimestamp"].is_string(), "{deleting}");
    let resources = json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}});
    governed.refuses("batch-2", resources, &["spec.template.metadata.annotations"]).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    governed.refuses("batch-2", label, &["metadata.labels.a"]).await;
    let resumed = json!({"spec": {"suspend": false}});
    let spoken = governed.refuses("batch-2", resumed, &["metadata.finalizers"]).await;
    assert_eq!(spoken.notes, [RESUMED]);
    // What the shape does not look at may change, and then it goes.
    governed.admits("batch-2", finalizers(Value::Null)).await;
    governed
        .namespace
        .wait_for("batch/v1", "jobs", |jobs| {
            jobs.iter().all(|job| job["metadata"]["name"] != "batch-2")
        })
        .await
        .unwrap();
    for name in ["batch-1", "batch-3"] {
        governed.admits(name, finalizers(Value::Null)).await;
    }
}

/// A Job that has failed is not tried again by raising its limit: the server would take it.
#[tokio::test]
async fn a_failed_job_is_not_given_another_try() {
    let governed = Governed::with(apiserver::shared().await, "failed", &[]).await;
    governed.session.create_job(&governed.namespace.name, &job("1")).await.unwrap();
    let pods = governed.namespace.wait_for("v1", "pods", |pods| pods.len() == 1).await.unwrap();
    let pod = pods[0]["metadata"]["name"].as_str().unwrap();
    let status = format!("{}/{pod}/status", governed.namespace.path("v1", "pods"));
    let failed = json!({"status": {"phase": "Failed"}});
    governed.session.submit(Method::PATCH, &status, &failed).await.unwrap();
    let is_failed = |jobs: &[Value]| {
        let conditions = jobs[0]["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|c| c["type"] == "Failed" && c["status"] == "True")
    };
    governed.namespace.wait_for("batch/v1", "jobs", is_failed).await.unwrap();
    let again = json!({"spec": {"backoffLimit": 1}});
    let spoken = governed.refuses("batch-1", again, &["spec.backoffLimit"]).await;
    assert!(spoken.notes[0].contains("(it raises spec.backoffLimit)"), "{spoken:?}");
}

/// Server-side apply is judged by what it would store, and not by what it sends.
#[tokio::test]
async fn server_side_apply_is_an_update_like_any_other() {
    let bad = changed(held_back("1"), "/spec/completions", json!(1));
    let bad = changed(bad, "/metadata/labels/team", json!("a"));
    let governed = Governed::with(apiserver::shared().await, "apply", &[bad]).await;
    let apply = async |object: &Value| {
        let path = format!("{}?fieldManager=test&force=true", governed.path("batch-1"));
        let content_type = "application/apply-patch+yaml";
        let body = object.to_string().into_bytes();
        let sent = governed.session.send(Method::PATCH, &path, content_type, body).await.unwrap();
        sent.into_result()
    };
    // Its manifest does not know the label that is there from before.
    apply(&held_back("1")).await.unwrap();
    let applied = changed(held_back("1"), "/metadata/labels/crew", json!("b"));
    let refusal = apply(&applied).await.unwrap_err();
    let spoken = Spoken::read(&refusal, &governed.shape).unwrap();
    assert_eq!(spoken.rules(), ["labels"], "{refusal}");
    assert_eq!(spoken.notes, ["One finding is as it was before the update, and does not count."]);
    // Applied where nothing is, it is a creation.
    let path = format!("{}?fieldManager=test", governed.path("batch-2"));
    let body = changed(job("2"), "/spec/backoffLimit", json!(9)).to_string().into_bytes();
    let content_type = "application/apply-patch+yaml";
    let sent = governed.session.send(Method::PATCH, &path, content_type, body).await.unwrap();
    let refusal = sent.into_result().unwrap_err();
    assert_eq!(Spoken::read(&refusal, &governed.shape).unwrap().rules(), ["everything"]);
}
