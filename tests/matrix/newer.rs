//! A server that is newer than this program and fills in a default that nobody here knows. Played
//! by taking one out of the table.

use jobshape::core::judge::{Shapes, judge_one};
use jobshape::core::kubernetes::api::Api;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use serde_json::{Value, json};

use crate::apiserver::{self, Identity, Probe};
use crate::both_ways::refusal::Spoken;
use crate::both_ways::webhook::{changed, configuration, job, serve};

/// Whose default it is, and where.
const UNKNOWN: [(&str, &str, &str); 3] = [
    ("PodSpec", "schedulerName", "$.spec.template.spec.schedulerName"),
    ("JobSpec", "completionMode", "$.spec.completionMode"),
    (
        "PodSpec",
        "terminationGracePeriodSeconds",
        "$.spec.template.spec.terminationGracePeriodSeconds",
    ),
];

fn document(namespace: &str, optional: &Value) -> Value {
    json!({
        "apiVersion": "jobshape.dev/v1alpha1",
        "kind": "JobShape",
        "metadata": {"name": "newer"},
        "spec": {
            "match": {"namespaces": [namespace]},
            "optional": optional,
            "templates": [job("main-x")],
        },
    })
}

fn load(api: &'static Api, namespace: &str, optional: &Value) -> Shape {
    let document = Node::from_json(&document(namespace, optional));
    Shape::load_for(api, &document, &[]).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

#[tokio::test]
async fn an_unknown_default_refuses_every_job_until_the_shape_names_it() {
    let cluster = apiserver::shared().await;
    for (owner, name, place) in UNKNOWN {
        let api: &'static Api = Box::leak(Box::new(Api::without_default(owner, name).unwrap()));
        let namespace = cluster.namespace("newer").await.unwrap();
        let session = cluster.session(&Identity::Admin).await.unwrap();
        let stored = session.dry_run_job(&namespace.name, &job("main-x")).await.unwrap().object;
        let pointer = place.trim_start_matches('$').replace('.', "/");
        let filled = stored.pointer(&pointer).unwrap().clone();

        // What nobody knows is refused, and the refusal says where.
        let unaware = load(api, &namespace.name, &json!([]));
        let webhook = serve(cluster, Shapes::new(vec![unaware.clone()]).unwrap());
        let probe =
            Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &job("main-x") };
        let entry = configuration(&webhook);
        let installed = cluster.install_webhook(&entry, &[&namespace], &probe).await.unwrap();
        let spoken = Spoken::read(&installed.first_refusal, &unaware).unwrap();
        let path = place.trim_start_matches("$.");
        assert_eq!(spoken.findings.len(), 1, "{spoken:?}");
        assert!(spoken.findings[0].1.starts_with(&format!("{path}: ")), "{spoken:?}");
        installed.remove(cluster, &probe).await.unwrap();

        // Written into `optional` with its value, it is the same Job as before, and no other.
        let optional = json!([{"path": place, "value": filled}]);
        let repaired = load(api, &namespace.name, &optional);
        let webhook = serve(cluster, Shapes::new(vec![repaired.clone()]).unwrap());
        let tampered = changed(job("main-x"), "/spec/activeDeadlineSeconds", json!(1));
        let probe =
            Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
        let entry = configuration(&webhook);
        let _installed = cluster.install_webhook(&entry, &[&namespace], &probe).await.unwrap();
        session.create_job(&namespace.name, &job("main-x")).await.unwrap();
        let other = match &filled {
            Value::String(_) => json!("Indexed"),
            _ => json!(5),
        };
        let parts: Vec<&str> = pointer.split('/').collect();
        let mut different = job("main-y");
        let parent = parts[..parts.len() - 1].join("/");
        different.pointer_mut(&parent).unwrap()[parts[parts.len() - 1]] = other;
        let different_name = changed(different, "/metadata/name", json!("main-x"));
        let judged = judge_one(
            &repaired,
            repaired.first(),
            &Node::from_json(&different_name),
            &namespace.name,
        );
        assert_eq!(judged.count, 1, "{judged:#?}");

        // The program that knows the default reads the same shape.
        let aware = load(Api::get(), &namespace.name, &optional);
        for job in [&job("main-x"), &stored] {
            let judged = judge_one(&aware, aware.first(), &Node::from_json(job), &namespace.name);
            assert_eq!(judged.count, 0, "{judged:#?}");
        }
    }
}
