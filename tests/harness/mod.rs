//! The harness itself, tested: what it promises is what every other test with a real API server
//! stands on.

mod build;
mod cluster;
mod lifetime;
mod stand_in;
mod webhook;

use serde_json::{Value, json};

use crate::apiserver::Target;

/// The smallest Job that a server accepts.
fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }}},
    })
}

#[test]
fn an_existing_cluster_needs_both_variables() {
    let path = || Some("cluster.yaml".to_owned());
    let host = || Some("192.0.2.1".to_owned());
    assert_eq!(Target::from_values(None, None).unwrap(), Target::Own);
    assert_eq!(
        Target::from_values(path(), host()).unwrap(),
        Target::Existing {
            kubeconfig: "cluster.yaml".into(),
            webhook_host: "192.0.2.1".to_owned()
        }
    );
    let alone = Target::from_values(path(), None).unwrap_err().to_string();
    assert!(
        alone.starts_with("JOBSHAPE_TEST_KUBECONFIG is set without JOBSHAPE_TEST_WEBHOOK_HOST: "),
        "{alone}"
    );
    let alone = Target::from_values(None, host()).unwrap_err().to_string();
    assert!(
        alone.starts_with("JOBSHAPE_TEST_WEBHOOK_HOST is set without JOBSHAPE_TEST_KUBECONFIG: "),
        "{alone}"
    );
}
