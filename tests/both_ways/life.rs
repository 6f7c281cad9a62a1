//! Whole lives of Jobs with the controllers of a real cluster and the webhook in force: nothing here
//! may keep one from being completed, deleted or collected.

use std::sync::Arc;

use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use serde_json::{Value, json};

use super::webhook::{changed, configuration, load};
use crate::apiserver::{
    self, Cluster, Identity, InstalledWebhook, Method, Namespace, Probe, Session,
};
use crate::serve::{Running, start};

/// A Job that goes a second after it has finished.
fn document(namespace: &str) -> String {
    let job = short_lived("life-<run>");
    format!(
        "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: life}}
spec:
  match: {{namespaces: [{namespace}]}}
  variables: {{run: {{pattern: '[a-z]{{1,12}}', example: a}}}}
  templates: [{job}]
"
    )
}

fn short_lived(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "ttlSecondsAfterFinished": 1,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            }},
        },
    })
}

/// One that breaks the shape, and so can only be older than it.
fn bad(name: &str) -> Value {
    let job = changed(short_lived(name), "/spec/backoffLimit", json!(3));
    changed(job, "/metadata/annotations", json!({"a": "b"}))
}

struct Cage<'c> {
    namespace: Namespace<'c>,
    session: Session,
    webhook: Running,
    _installed: InstalledWebhook,
}

impl<'c> Cage<'c> {
    /// Jobs that were there before, and then the webhook; `valid`: with the shape, or with none.
    async fn with(cluster: &'c Cluster, stored: &[Value], valid: bool) -> Cage<'c> {
        let namespace = cluster.namespace("life").await.unwrap();
        Cage::around(cluster, namespace, stored, valid).await
    }

    /// The same in a namespace that is there already.
    async fn around(
        cluster: &'c Cluster,
        namespace: Namespace<'c>,
        stored: &[Value],
        valid: bool,
    ) -> Cage<'c> {
        let session = cluster.session(&Identity::Admin).await.unwrap();
        for job in stored {
            session.create_job(&namespace.name, job).await.unwrap();
        }
        let shapes = Shapes::new(vec![load(&document(&namespace.name))]).unwrap();
        let mut loaded = served(shapes);
        if !valid {
            loaded.shapes = Arc::default();
        }
        let webhook = start(Options {
            tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
            listen: (cluster.webhook_bind_address(), 0).into(),
            ops_listen: "127.0.0.1:0".parse().unwrap(),
            ..Options::new(loaded)
        });
        let refused = bad("life-probe");
        let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };
        let configuration = configuration(&webhook);
        let installed =
            cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
        Cage { namespace, session, webhook, _installed: installed }
    }

    async fn delete(&self, resource: (&str, &str), name: &str, propagation: &str) {
        let path = self.namespace.path(resource.0, resource.1);
        let path = format!("{path}/{name}?propagationPolicy={propagation}");
        self.session.submit(Method::DELETE, &path, &Value::Null).await.unwrap();
    }

    async fn gone(&self, name: &str) {
        let without =
            |jobs: &[Value]| jobs.iter().all(|job| job["metadata"]["name"] != json!(name));
        self.namespace.wait_for("batch/v1", "jobs", without).await.unwrap();
    }

    /// The Pods of a Job, once there are this many.
    async fn pods(&self, job: &str, count: usize) -> Vec<Value> {
        let of = |pod: &&Value| pod["metadata"]["labels"]["job-name"] == json!(job);
        let all =
            self.namespace.wait_for("v1", "pods", |pods| pods.iter().filter(of).count() == count);
        all.await.unwrap().into_iter().filter(|pod| of(&pod)).collect()
    }

    /// How many updates came to the webhook and were admitted.
    async fn updates(&self) -> f64 {
        let series = "jobshape_reviews_total{dry_run=\"false\",entrance=\"enforce\",\
                      operation=\"UPDATE\",verdict=\"allow\"}";
        self.webhook.metric(series).await.unwrap_or_default()
    }
}

#[tokio::test]
async fn a_job_gets_its_pod_finishes_and_is_collected() {
    let cage = Cage::with(apiserver::shared().await, &[bad("life-old")], true).await;
    cage.session.create_job(&cage.namespace.name, &short_lived("life-new")).await.unwrap();
    for job in ["life-new", "life-old"] {
        let pod = cage.pods(job, 1).await.remove(0);
        let name = pod["metadata"]["name"].as_str().unwrap();
        let status = format!("{}/{name}/status", cage.namespace.path("v1", "pods"));
        let done = json!({"status": {"phase": "Succeeded"}});
        cage.session.submit(Method::PATCH, &status, &done).await.unwrap();
        // Its status says complete, and a second later the TTL controller deletes it.
        cage.gone(job).await;
        cage.pods(job, 0).await;
    }
}

#[tokio::test]
async fn every_way_of_deleting_ends() {
    let cluster = apiserver::shared().await;
    for valid in [true, false] {
        let ways = ["Foreground", "Background", "Orphan"];
        let name = |kind: &str, way: &str| format!("life-{kind}{}", way.to_lowercase());
        let mut stored: Vec<Value> = ways.iter().map(|way| bad(&name("old", way))).collect();
        stored.extend(ways.iter().map(|way| short_lived(&name("good", way))));
        let cage = Cage::with(cluster, &stored, valid).await;
        for way in ways {
            for job in [name("old", way), name("good", way)] {
                cage.pods(&job, 1).await;
                let before = cage.updates().await;
                cage.delete(("batch/v1", "jobs"), &job, way).await;
                cage.gone(&job).await;
                let left = cage.pods(&job, usize::from(way == "Orphan")).await;
                // The garbage collector takes its finalizer away by an update, and that came here.
                let asked = cage.updates().await > before;
                assert_eq!(asked, way != "Background", "{way}, valid shape: {valid}");
                for pod in left {
                    assert_eq!(pod["metadata"].get("ownerReferences"), None, "{way}");
                }
            }
        }
    }
}

/// `kubectl delete cronjob --cascade=orphan` takes the owner away from Jobs that stay.
#[tokio::test]
async fn an_owner_goes_and_its_jobs_stay() {
    let cluster = apiserver::shared().await;
    let admin = cluster.session(&Identity::Admin).await.unwrap();
    for valid in [true, false] {
        let namespace = cluster.namespace("life").await.unwrap();
        let owners = namespace.path("v1", "configmaps");
        let owner = json!({"metadata": {"name": "owner"}});
        let owner = admin.submit(Method::POST, &owners, &owner).await.unwrap().object;
        let reference = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
        }]);
        let owned = changed(bad("life-owned"), "/metadata/ownerReferences", reference.clone());
        let stored = [owned, bad("life-free")];
        let cage = Cage::around(cluster, namespace, &stored, valid).await;
        // To get an owner is an update too, and none that may pass.
        let path = format!("{}/life-free", cage.namespace.path("batch/v1", "jobs"));
        let owned = json!({"metadata": {"ownerReferences": reference}});
        let refusal = cage.session.submit(Method::PATCH, &path, &owned).await.unwrap_err();
        assert!(refusal.is_by_webhook(), "{refusal}");

        let before = cage.updates().await;
        cage.delete(("v1", "configmaps"), "owner", "Orphan").await;
        let freed = |jobs: &[Value]| {
            jobs.iter().all(|job| job["metadata"].get("ownerReferences").is_none())
        };
        let jobs = cage.namespace.wait_for("batch/v1", "jobs", freed).await.unwrap();
        assert_eq!(jobs.len(), 2);
        assert!(cage.updates().await > before);
    }
}
