//! The kubelet expands `$(NAME)` in env, args, command and subPathExpr: no variable's value may
//! take part in that, unless the variable says so.

use serde_json::json;

use crate::core::testing::{Job, admits, job, refuses, shape};

const ANY: &str = "variables: {v: {maxLength: 20, example: x}}";
const SAID: &str = "a variable's value takes part in `$(…)`";

/// Every place that expands: pointer and path.
const PLACES: [(&str, &str); 5] = [
    ("worker/livenessProbe/exec/command/0", "worker.livenessProbe.exec.command[0]"),
    ("worker/args/0", "worker.args[0]"),
    ("worker/command/0", "worker.command[0]"),
    ("worker/env/0/value", "worker.env[A].value"),
    ("worker/volumeMounts/0/subPathExpr", "worker.volumeMounts[/m].subPathExpr"),
];

fn base() -> Job {
    job()
        .set("worker/args", json!(["a"]))
        .set("worker/livenessProbe", json!({"exec": {"command": ["a"]}}))
        .set("worker/command", json!(["a"]))
        .set("worker/env", json!([{"name": "A", "value": "a"}]))
        .set("worker/volumeMounts", json!([{"name": "v", "mountPath": "/m", "subPathExpr": "a"}]))
        .set("pod/volumes", json!([{"name": "v"}]))
}

#[test]
fn a_value_may_not_expand_where_the_kubelet_expands() {
    for (pointer, path) in PLACES {
        let of = shape(&base().set(pointer, json!("<v>")), ANY);
        admits(&of, &base().set(pointer, json!("$ (x) $x")));
        for value in ["$(TOKEN)", "a$(TOKEN)b", "$(", "$$(X)"] {
            refuses(&of, &base().set(pointer, json!(value)), &[(path, SAID)]);
        }
    }
}

#[test]
fn a_value_may_say_anything_elsewhere() {
    for pointer in ["worker/image", "/metadata/annotations/a", "worker/volumeMounts/0/subPath"] {
        let base = base().remove("worker/volumeMounts/0/subPathExpr");
        let of = shape(&base.clone().set(pointer, json!("<v>")), ANY);
        admits(&of, &base.set(pointer, json!("$(TOKEN)")));
    }
}

#[test]
fn what_counts_is_the_composed_string() {
    let of = |template: &str| shape(&base().set("worker/args/0", json!(template)), ANY);
    let job = |text: &str| base().set("worker/args/0", json!(text));
    let path = "worker.args[0]";
    for (template, text) in
        [("$<v>", "$(X)"), ("<v>(X)", "$(X)"), ("$<v>(X)", "$$(X)"), ("<v>)", "$(X)")]
    {
        refuses(&of(template), &job(text), &[(path, SAID)]);
    }
    // The template's own expansions are its own.
    admits(&of("$(HOME)/<v>"), &job("$(HOME)/x"));
    admits(&of("<v>/$(HOME)"), &job("x/$(HOME)"));
    refuses(&of("<v>$(HOME)"), &job("$$(HOME)"), &[(path, SAID)]);
}

#[test]
fn a_variable_may_be_allowed_to_expand() {
    let template = base().set("worker/args/0", json!("<v>")).set("worker/command/0", json!("<w>"));
    let of = shape(
        &template,
        "variables: {v: {maxLength: 20, example: x, expansion: true}, w: {maxLength: 20, example: x}}",
    );
    let expanding = |pointer: &str| {
        template.clone().set("worker/command/0", json!("w")).set(pointer, json!("$(X)"))
    };
    admits(&of, &expanding("worker/args/0"));
    let both = expanding("worker/command/0").set("worker/args/0", json!("$(X)"));
    refuses(&of, &both, &[("worker.command[0]", SAID)]);
}
