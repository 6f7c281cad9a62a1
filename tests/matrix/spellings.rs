//! Other spellings of one Job, offline and through a real server; and what the server has made of
//! it, as `kubectl get` prints it.

use jobshape::core::judge::{Shapes, judge_one};
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::formats::documents::documents;
use serde_json::{Value, json};

use crate::apiserver::{self, Identity, Probe};
use crate::both_ways::webhook::{changed, configuration, serve};

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "spelled", "labels": {"a": "b"}},
        "spec": {"template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "restartPolicy": "Never", "serviceAccountName": "worker",
                "containers": [{
                    "name": "main", "image": "registry.example/main:1",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                    "resources": {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "250m"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}],
                    "livenessProbe": {"httpGet": {"port": 80}},
                }],
                "volumes": [{"name": "v"}, {"name": "w", "emptyDir": {"sizeLimit": "1Gi"}}],
            },
        }},
    })
}

fn shape(namespace: &str) -> Shape {
    let document = json!({
        "apiVersion": "jobshape.dev/v1alpha1", "kind": "JobShape", "metadata": {"name": "spelled"},
        "spec": {"match": {"namespaces": [namespace]}, "templates": [job()]},
    });
    Shape::load(&Node::from_json(&document), &[]).unwrap_or_else(|m| panic!("{m:#?}"))
}

/// Each with a name for a failure.
fn spellings() -> Vec<(&'static str, Value)> {
    let main = "/spec/template/spec/containers/0";
    let limit = |name: &str, value: Value| {
        changed(job(), &format!("{main}/resources/limits/{name}"), value)
    };
    let at = |pointer: &str, value: Value| changed(job(), pointer, value);
    let reversed = |pointer: &str| {
        let mut job = job();
        job.pointer_mut(pointer).unwrap().as_array_mut().unwrap().reverse();
        job
    };
    let mut twin = job();
    let pod = twin.pointer_mut("/spec/template/spec").unwrap().as_object_mut().unwrap();
    let account = pod.remove("serviceAccountName").unwrap();
    pod.insert("serviceAccount".to_owned(), account);
    vec![
        ("cpu in milli", limit("cpu", json!("2000m"))),
        ("cpu as a number", limit("cpu", json!(2))),
        ("memory in Mi", limit("memory", json!("2048Mi"))),
        ("memory as a number", limit("memory", json!(2_147_483_648_i64))),
        ("memory with an exponent", limit("memory", json!("2147483648e0"))),
        ("env the other way round", reversed(&format!("{main}/env"))),
        ("ports the other way round", reversed(&format!("{main}/ports"))),
        ("mounts the other way round", reversed(&format!("{main}/volumeMounts"))),
        ("volumes the other way round", reversed("/spec/template/spec/volumes")),
        ("a default written out", at("/spec/parallelism", json!(1)).clone()),
        ("null", at("/spec/suspend", Value::Null)),
        ("an empty list", at(&format!("{main}/args"), json!([]))),
        ("an empty map", at("/metadata/annotations", json!({}))),
        ("a zero that is not kept", at("/spec/template/spec/hostNetwork", json!(false))),
        ("the deprecated twin", twin),
        ("both twins", at("/spec/template/spec/serviceAccount", json!("worker"))),
        ("the volume's default", at("/spec/template/spec/volumes/0/emptyDir", json!({}))),
        ("a probe's defaults", at(&format!("{main}/livenessProbe/timeoutSeconds"), json!(1))),
    ]
    .into_iter()
    .map(|(name, job)| {
        // Alone it would make the Job a work queue, which is another one.
        let job = match name {
            "a default written out" => changed(job, "/spec/completions", json!(1)),
            _ => job,
        };
        (name, job)
    })
    .collect()
}

#[tokio::test]
async fn equivalent_spellings_are_admitted_on_and_offline() {
    let cluster = apiserver::shared().await;
    let namespace = cluster.namespace("spelled").await.unwrap();
    let shape = shape(&namespace.name);
    let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let tampered = changed(job(), "/spec/activeDeadlineSeconds", json!(1));
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
    let entry = configuration(&webhook);
    let _installed = cluster.install_webhook(&entry, &[&namespace], &probe).await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    for (name, job) in spellings() {
        let judged = judge_one(&shape, shape.first(), &Node::from_json(&job), &namespace.name);
        assert_eq!(judged.count, 0, "{name}: {judged:#?}");
        let sent = session.dry_run_job(&namespace.name, &job).await;
        sent.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    }

    // The order of keys: backwards, in the request's text.
    let backwards = backwards(&job());
    let path = format!("{}?dryRun=All", namespace.path("batch/v1", "jobs"));
    let sent = session.send(axum::http::Method::POST, &path, "application/json", backwards.into());
    sent.await.unwrap().into_result().unwrap();

    // As the server has stored it, with everything that it has added.
    session.create_job(&namespace.name, &job()).await.unwrap();
    let printed = cluster
        .kubectl_with(&["get", "job", "spelled", "-n", &namespace.name, "-o", "yaml"], "")
        .unwrap();
    assert!(printed.contains("controller-uid") && printed.contains("dnsPolicy"), "{printed}");
    let read = documents(&printed).next().unwrap().unwrap().root;
    let judged = judge_one(&shape, shape.first(), &read, &namespace.name);
    assert_eq!(judged.count, 0, "{judged:#?}\n{printed}");
    // And one thing in it changed is found.
    let other = printed.replace("registry.example/main:1", "registry.example/main:2");
    let read = documents(&other).next().unwrap().unwrap().root;
    assert_eq!(judge_one(&shape, shape.first(), &read, &namespace.name).count, 1);
}

/// JSON with the keys of every map in the reverse order.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .rev()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), backwards(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
