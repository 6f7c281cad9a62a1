//! The webhook in this process, where the API server reaches it.

use jobshape::core::judge::Shapes;
use jobshape::core::shape::Shape;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use jobshape::edges::shapes;
use jobshape::formats::documents::documents;
use jobshape::formats::report::snippet::Style;
use serde_json::Value;

use crate::apiserver::Cluster;
use crate::serve::{Running, start};

/// Starts the webhook with these shapes, as `jobshape serve --dev` does.
pub fn serve(cluster: &Cluster, shapes: Shapes) -> Running {
    start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        ..Options::new(served(shapes))
    })
}

/// The printed configuration, as a server reads it.
pub fn configuration(webhook: &Running) -> Value {
    let printed = webhook.configuration.as_deref().unwrap();
    documents(printed).next().unwrap().unwrap().root.to_json()
}

/// A shape for one container `main` in a namespace, with rules as given.
pub fn shape(namespace: &str, rules: &str) -> Shape {
    let text = format!(
        r#"
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: one-main}}
spec:
  match: {{namespaces: [{namespace}]}}
  variables:
    tag: {{pattern: "[a-z]{{1,8}}", example: a}}
  rules:
{rules}
  templates:
  - apiVersion: batch/v1
    kind: Job
    metadata: {{name: "main-<tag>"}}
    spec:
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: main, image: "registry.example/main:1"}}]
"#
    );
    load(&text)
}

/// A shape document with its template in it.
pub fn load(text: &str) -> Shape {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shape.yaml");
    std::fs::write(&file, text).unwrap();
    let loaded = shapes::load(&[file.to_str().unwrap().to_owned()], None, Style::Plain);
    loaded.map_err(|errors| errors.reports.join("\n")).unwrap().remove(0).shape
}

/// The Job that [`shape`] is for.
pub fn job(name: &str) -> Value {
    serde_json::json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"activeDeadlineSeconds": 600, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    })
}

/// A Job with one field changed.
pub fn changed(mut job: Value, pointer: &str, to: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    job.pointer_mut(parent).unwrap()[key] = to;
    job
}
