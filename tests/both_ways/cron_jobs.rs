//! A CronJob, the Jobs that the real CronJob controller makes of it, and those that others make.

use jobshape::core::judge::Shapes;
use serde_json::{Value, json};

use super::webhook::{changed, configuration, load, serve};
use crate::apiserver::Options;
use crate::apiserver::{Cluster, Identity, Method, Namespace, Probe, Refusal, Session};

const MANUAL: &str = "cronjob.kubernetes.io/instantiate";

fn cron_job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "every-minute"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {
                "metadata": {"labels": {"app": "minutely"}, "annotations": {"note": "n"}},
                "spec": {
                    "suspend": true,
                    "template": {"spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "main", "image": "registry.example/main:1"}],
                    }},
                },
            },
        },
    })
}

fn document(namespace: &str, name: &str, rest: &str, template: &Value) -> String {
    format!(
        "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: {name}}}
spec:
  match: {{namespaces: [{namespace}]{rest}}}
  templates: [{template}]
"
    )
}

struct Cage<'c> {
    cluster: &'c Cluster,
    namespace: Namespace<'c>,
    admin: Session,
    dispatcher: Session,
}

impl<'c> Cage<'c> {
    async fn in_namespace(cluster: &'c Cluster) -> Cage<'c> {
        let namespace = cluster.namespace("cron").await.unwrap();
        let admin = cluster.session(&Identity::Admin).await.unwrap();
        let dispatcher = Identity::service_account(&namespace.name, "dispatcher");
        for resource in ["jobs", "cronjobs"] {
            for verb in ["create", "patch"] {
                namespace.allow(&dispatcher, verb, "batch", resource).await.unwrap();
            }
        }
        let dispatcher = cluster.session(&dispatcher).await.unwrap();
        Cage { cluster, namespace, admin, dispatcher }
    }

    async fn create(
        &self,
        session: &Session,
        kind: &str,
        object: &Value,
    ) -> Result<Value, Refusal> {
        let path = self.namespace.path("batch/v1", kind);
        session.submit(Method::POST, &path, object).await.map(|accepted| accepted.object)
    }

    async fn patch(&self, session: &Session, what: &str, change: &Value) -> Result<Value, Refusal> {
        let (kind, name) = what.split_once('/').unwrap();
        let path = format!("{}/{name}", self.namespace.path("batch/v1", kind));
        session.submit(Method::PATCH, &path, change).await.map(|accepted| accepted.object)
    }
}

#[track_caller]
fn refused(answer: Result<Value, Refusal>, place: &str) {
    match answer {
        Ok(object) => panic!("it was admitted: {object}"),
        Err(refusal) => {
            assert!(refusal.is_by_webhook(), "{refusal}");
            assert!(refusal.to_string().contains(place), "{place}: {refusal}");
        }
    }
}

/// The whole story: the CronJob pinned, its child admitted, forgeries refused, the child resumed.
async fn story(cluster: &Cluster) {
    let cage = Cage::in_namespace(cluster).await;
    let namespace = &cage.namespace.name;
    let text = format!(
        "{}  optional: [{{path: $.spec.jobTemplate.spec.suspend, value: false}}]\n",
        document(namespace, "cron", "", &cron_job())
    );
    let webhook = serve(cluster, Shapes::new(vec![load(&text)]).unwrap());
    let bad = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"},
        "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "x", "image": "x"}]}}}});
    let probe = Probe { identity: &Identity::Admin, namespace, job: &bad };
    let configuration = configuration(&webhook);
    let _installed =
        cluster.install_webhook(&configuration, &[&cage.namespace], &probe).await.unwrap();

    let tampered = changed(cron_job(), "/spec/jobTemplate/spec/backoffLimit", json!(1));
    let create = cage.create(&cage.dispatcher, "cronjobs", &tampered).await;
    refused(create, "spec.jobTemplate.spec.backoffLimit");
    cage.create(&cage.dispatcher, "cronjobs", &cron_job()).await.unwrap();
    let patch = json!({"spec": {"schedule": "*/2 * * * *"}});
    refused(cage.patch(&cage.dispatcher, "cronjobs/every-minute", &patch).await, "spec.schedule");
    let patch =
        json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"hostNetwork": true}}}}}});
    let update = cage.patch(&cage.dispatcher, "cronjobs/every-minute", &patch).await;
    refused(update, "spec.jobTemplate.spec.template.spec.hostNetwork");

    // The controller, by whatever identity it has here.
    let one = |jobs: &[Value]| !jobs.is_empty();
    let child = cage.namespace.wait_for("batch/v1", "jobs", one).await.unwrap().remove(0);
    let name = child["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(child["spec"]["suspend"], true, "{child}");

    // The same by the dispatcher: with all that the child says of itself, with a part, with none.
    let mut forged = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": cron_job()["spec"]["jobTemplate"]["spec"]});
    forged["metadata"] = json!({
        "name": format!("{name}0"), "labels": {"app": "minutely"},
        "annotations": child["metadata"]["annotations"], "ownerReferences": child["metadata"]["ownerReferences"],
    });
    refused(cage.create(&cage.dispatcher, "jobs", &forged).await, "metadata.ownerReferences");
    let without = changed(forged.clone(), "/metadata/ownerReferences", json!([]));
    refused(cage.create(&cage.dispatcher, "jobs", &without).await, "metadata.annotations");
    let without = changed(without, "/metadata/annotations", json!({"note": "n"}));
    refused(cage.create(&cage.dispatcher, "jobs", &without).await, "metadata.ownerReferences");
    let by_hand =
        changed(forged.clone(), "/metadata/annotations", json!({"note": "n", MANUAL: "manual"}));
    refused(cage.create(&cage.dispatcher, "jobs", &by_hand).await, "metadata.ownerReferences");

    // What the child says of itself stays the controller's in an update by somebody else.
    let what = format!("jobs/{name}");
    let tampered = json!({"spec": {"suspend": false, "backoffLimit": 9}});
    let update = cage.patch(&cage.dispatcher, &what, &tampered).await;
    refused(update, "spec.backoffLimit");
    let resumed = json!({"spec": {"suspend": false}});
    let resumed = cage.patch(&cage.dispatcher, &what, &resumed).await.unwrap();
    assert_eq!(resumed["spec"]["suspend"], false);
    let owners = json!({"metadata": {"ownerReferences": null}});
    cage.patch(&cage.dispatcher, &what, &owners).await.unwrap();
    let back = json!({"metadata": {"ownerReferences": child["metadata"]["ownerReferences"]}});
    refused(cage.patch(&cage.dispatcher, &what, &back).await, "metadata.ownerReferences");
}

/// The controller with its own service account's credentials.
#[tokio::test]
async fn its_own_controller_makes_its_jobs() {
    story(crate::apiserver::shared().await).await;
}

/// And with those of the controller manager: `--use-service-account-credentials=false`.
#[tokio::test]
async fn the_controller_manager_makes_its_jobs() {
    let options = Options { own_credentials: false, ..Options::default() };
    story(&Cluster::from_environment(&options).await.unwrap()).await;
}

/// `make matrix` asks for this one.
#[tokio::test]
#[ignore = "make matrix: a minute for each release"]
async fn on_every_release() {
    for version in crate::apiserver::versions() {
        let options = Options { version, ..Options::default() };
        story(&Cluster::from_environment(&options).await.unwrap()).await;
        println!("CronJobs and their Jobs: {version} ok");
    }
}

/// `kubectl create job --from` by the real kubectl, where the shape says so and where it does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_by_hand_by_the_real_kubectl() {
    let cluster = crate::apiserver::shared().await;
    for (rest, allowed) in [("", false), (", manualRuns: true", true)] {
        let cage = Cage::in_namespace(cluster).await;
        let namespace = cage.namespace.name.clone();
        // It never runs by itself.
        let template = changed(cron_job(), "/spec/suspend", json!(true));
        cage.create(&cage.admin, "cronjobs", &template).await.unwrap();
        let text = document(&namespace, "cron", rest, &template);
        let webhook = serve(cluster, Shapes::new(vec![load(&text)]).unwrap());
        let bad = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"},
            "spec": {"template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "x", "image": "x"}]}}}});
        let probe = Probe { identity: &Identity::Admin, namespace: &namespace, job: &bad };
        let configuration = configuration(&webhook);
        let _installed =
            cluster.install_webhook(&configuration, &[&cage.namespace], &probe).await.unwrap();
        let arguments =
            ["create", "job", "by-hand", "--from=cronjob/every-minute", "-n", &namespace];
        let said = cage.cluster.kubectl_with(&arguments, "");
        match (allowed, said) {
            (true, Ok(said)) => assert!(said.contains("created"), "{said}"),
            (false, Err(failure)) => {
                let failure = failure.to_string();
                assert!(failure.contains("metadata.ownerReferences"), "{failure}");
            }
            (_, Ok(said)) => panic!("it was admitted: {said}"),
            (_, Err(failure)) => panic!("{failure}"),
        }
    }
}
