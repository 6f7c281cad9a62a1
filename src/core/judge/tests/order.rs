//! Where the order of a list counts: containers, host aliases, environments that expand, and
//! every list without a key.

use serde_json::{Value, json};

use crate::core::testing::{Job, admits, job, refuses, shape};

#[test]
fn the_order_of_containers_counts() {
    let container = |name: &str| json!({"name": name, "image": "r.example/x:1"});
    for (list, path) in
        [("pod/containers", "pod.containers"), ("pod/initContainers", "pod.initContainers")]
    {
        let template = job().set(list, json!([container("a"), container("b"), container("c")]));
        let shape = shape(&template, "");
        admits(&shape, &template);
        let reversed = template.clone().reverse(list);
        refuses(&shape, &reversed, &[(path, "the order is not the template's")]);
        // A missing or an extra one does not change the order of the others.
        let without = template.clone().remove(&format!("{list}/1"));
        refuses(&shape, &without, &[(&format!("{path}[b]"), "missing")]);
        let extra = job()
            .set(list, json!([container("x"), container("a"), container("b"), container("c")]));
        refuses(&shape, &extra, &[(&format!("{path}[x]"), "the template has only")]);
    }
}

#[test]
fn the_order_of_host_aliases_counts() {
    let template = job().set(
        "pod/hostAliases",
        json!([{"ip": "192.0.2.1", "hostnames": ["a"]}, {"ip": "192.0.2.2", "hostnames": ["a"]}]),
    );
    let shape = shape(&template, "");
    admits(&shape, &template);
    refuses(&shape, &template.reverse("pod/hostAliases"), &[("pod.hostAliases", "the order")]);
}

fn env(values: [&str; 3]) -> Job {
    let entry = |(name, value): (&str, &str)| json!({"name": name, "value": value});
    let names = ["A", "B", "C"].into_iter().zip(values);
    job().set("worker/env", names.map(entry).collect::<Vec<Value>>().into())
}

#[test]
fn the_order_of_an_environment_counts_when_a_value_expands() {
    let plain = shape(&env(["1", "2", "$3 (x)"]), "");
    admits(&plain, &env(["1", "2", "$3 (x)"]).reverse("worker/env"));

    let expanding = env(["1", "2", "a$(A)"]);
    let shape_of = shape(&expanding, "");
    admits(&shape_of, &expanding);
    let order = ("worker.env", "a value holds `$(`");
    refuses(&shape_of, &expanding.clone().reverse("worker/env"), &[order]);
    // Also when only the Job's value does.
    let plain = shape(&env(["1", "2", "3"]), "");
    let of_job = env(["1", "2", "$(A)"]);
    refuses(&plain, &of_job, &[("worker.env[C].value", "`3`")]);
    refuses(&plain, &of_job.reverse("worker/env"), &[order, ("worker.env[C].value", "`3`")]);
    // And when only the template's does.
    let gone = env(["1", "2", "3"]).reverse("worker/env");
    refuses(&shape_of, &gone, &[order, ("worker.env[C].value", "a$(A)")]);
}

#[test]
fn the_order_counts_around_a_variable_too() {
    let template = env(["1", "<v>", "$(A)<v>"]);
    let shape = shape(&template, "variables: {v: {pattern: '[a-z]*', example: x}}");
    admits(&shape, &env(["1", "y", "$(A)y"]));
    let order = ("worker.env", "a value holds `$(`");
    refuses(&shape, &env(["1", "y", "$(A)y"]).reverse("worker/env"), &[order]);
}

#[test]
fn lists_without_a_key_are_compared_in_order() {
    let toleration = |key: &str| json!({"key": key, "operator": "Exists"});
    let template = job()
        .set("worker/args", json!(["a", "b"]))
        .set("pod/tolerations", json!([toleration("x"), toleration("y")]));
    let shape = shape(&template, "");
    admits(&shape, &template);
    refuses(
        &shape,
        &template.clone().reverse("worker/args"),
        &[("worker.args[0]", "`a`"), ("worker.args[1]", "`b`")],
    );
    refuses(
        &shape,
        &template.clone().reverse("pod/tolerations"),
        &[("pod.tolerations[0].key", "`x`"), ("pod.tolerations[1].key", "`y`")],
    );
    refuses(
        &shape,
        &template.clone().set("worker/args/-", json!("c")),
        &[("worker.args[2]", "the template has only")],
    );
    refuses(
        &shape,
        &template.clone().remove("worker/args/1"),
        &[("worker.args[1]", "missing: the template has `b`")],
    );
    refuses(&shape, &template.clone().remove("worker/args"), &[("worker.args", "missing")]);
    refuses(
        &shape,
        &template.set("worker/command", json!(["sh"])),
        &[("worker.command", "nothing here")],
    );
}
