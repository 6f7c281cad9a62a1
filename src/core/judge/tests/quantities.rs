//! Quantities are numbers, where the API has a quantity and nowhere else; the server's rounding is
//! done where it rounds.

use serde_json::{Value, json};

use crate::core::testing::{Job, admits, job, refuses, shape};

fn limit(resource: &str, value: Value) -> Job {
    job().set(&format!("worker/resources/limits/{resource}"), value)
}

#[test]
fn a_quantity_may_be_written_in_any_way() {
    for (written, same, other) in [
        (json!("2Gi"), json!("2048Mi"), json!("2G")),
        (json!("1"), json!(1), json!(2)),
        (json!("1"), json!("1000m"), json!("1001m")),
        (json!(0.5), json!("500m"), json!("0.6")),
        (json!(1), json!("1e0"), json!("1e1")),
    ] {
        for (template, found) in [(&written, &same), (&same, &written)] {
            let shape = shape(&limit("cpu", template.clone()), "");
            admits(&shape, &limit("cpu", found.clone()));
            let path = "worker.resources.limits.cpu";
            refuses(&shape, &limit("cpu", other.clone()), &[(path, "the template has `")]);
        }
    }
}

#[test]
fn what_is_no_quantity_is_none() {
    let shape = shape(&limit("memory", json!("1Gi")), "");
    let path = "worker.resources.limits.memory";
    for wrong in [json!("1gi"), json!("much"), json!(true), json!({})] {
        refuses(&shape, &limit("memory", wrong), &[(path, "a quantity is expected here")]);
    }
    refuses(&shape, &limit("memory", json!("-1Gi")), &[(path, "`1Gi`")]);
}

#[test]
fn resource_lists_are_rounded_up_to_milli() {
    let shape = shape(&limit("cpu", json!("0.0001")), "");
    for same in [json!("1m"), json!("100u"), json!("0.0009"), json!(0.001)] {
        admits(&shape, &limit("cpu", same));
    }
    refuses(&shape, &limit("cpu", json!("2m")), &[("worker.resources.limits.cpu", "`0.0001`")]);
}

#[test]
fn a_size_limit_is_not_rounded() {
    let volume = |size: &str| {
        job().set("pod/volumes", json!([{"name": "v", "emptyDir": {"sizeLimit": size}}]))
    };
    let shape = shape(&volume("0.0001"), "");
    admits(&shape, &volume("100u"));
    refuses(&shape, &volume("1m"), &[("pod.volumes[v].emptyDir.sizeLimit", "`0.0001`")]);
}

#[test]
fn a_divisor_is_not_rounded() {
    let env = |rest: Value| {
        let mut field = json!({"resource": "limits.cpu"});
        field.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        job().set("worker/env", json!([{"name": "A", "valueFrom": {"resourceFieldRef": field}}]))
    };
    let path = "worker.env[A].valueFrom.resourceFieldRef.divisor";
    let tiny = shape(&env(json!({"divisor": "100u"})), "");
    admits(&tiny, &env(json!({"divisor": "0.0001"})));
    refuses(&tiny, &env(json!({"divisor": "1m"})), &[(path, "`100u`")]);
    // Left out, the server fills in 0.
    let none = shape(&env(json!({})), "");
    admits(&none, &env(json!({"divisor": "0"})));
    admits(&none, &env(json!({"divisor": 0})));
    refuses(&none, &env(json!({"divisor": "1"})), &[(path, "`0`")]);
}

#[test]
fn a_string_that_reads_like_a_quantity_is_a_string() {
    let template = job()
        .set("worker/env", json!([{"name": "A", "value": "1Gi"}]))
        .set("/metadata/annotations", json!({"size": "1"}));
    let shape = shape(&template, "");
    refuses(
        &shape,
        &template.clone().set("worker/env/0/value", json!("1024Mi")),
        &[("worker.env[A].value", "`1Gi`")],
    );
    refuses(
        &shape,
        &template.set("/metadata/annotations/size", json!("1000m")),
        &[("metadata.annotations.size", "`1`")],
    );
}
