//! What lint says of fields that not every release stores.

use serde_json::json;

use crate::core::testing::{Job, job, shape};

fn warnings(template: &Job) -> Vec<String> {
    shape(template, "").warnings().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_field_that_a_release_takes_out_is_named_with_the_release() {
    let gated = job().set("pod/hostnameOverride", json!("x"));
    let said = warnings(&gated);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("Kubernetes 1.34 takes spec.template.spec.hostnameOverride out"));
    // A release that does not know it stores it no more than one that has its gate off.
    let newer = job().set("worker/lifecycle", json!({"stopSignal": "SIGTERM"}));
    assert!(warnings(&newer)[0].starts_with("Kubernetes 1.34, 1.35, 1.36, 1.37 takes "));
    let alpha = job().set("/spec/scheduling", json!({"disruptionMode": {"all": {}}}));
    assert!(warnings(&alpha).iter().any(|w| w.contains("takes spec.scheduling out")));
    let unknown = job().set("pod/fromTheFuture", json!("x"));
    assert!(warnings(&unknown)[0].contains("have no spec.template.spec.fromTheFuture"));
}

#[test]
fn what_every_release_stores_is_not_mentioned() {
    assert_eq!(warnings(&job()), Vec::<String>::new());
    let more = job().set("pod/hostUsers", json!(false)).set("worker/lifecycle", json!({}));
    assert_eq!(warnings(&more), Vec::<String>::new());
}
