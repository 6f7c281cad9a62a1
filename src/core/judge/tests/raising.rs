//! An extra or missing entry belongs whole to one rule; a stronger rule that claims something
//! inside it raises the action, and the catch-all never does.

use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::testing::{Job, job, judge, shape, spoken};

const POD: &str = "$.spec.template.spec";

/// A shape whose rule about containers is `weak`, beside another rule.
fn containers(template: &Job, weak: &str, other: &str) -> Shape {
    shape(
        template,
        &format!(
            "rules:\n- {{name: containers, entries: ['{POD}.containers'], action: {weak}}}\n- {other}"
        ),
    )
}

fn extra(rest: Value) -> Job {
    let mut container = json!({"name": "x", "image": "x:1"});
    container.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    job().set("pod/containers/-", container)
}

#[test]
fn an_extra_entry_is_one_finding_of_the_entries_rule() {
    let of = containers(&job(), "Audit", "{name: rest}");
    let found = judge(&of, &extra(json!({"args": ["a"], "securityContext": {"privileged": true}})));
    assert_eq!((found.count, found.enforced), (1, 0));
    // The catch-all enforces, and raises nothing.
    let says = spoken(&of, &extra(json!({"securityContext": {"privileged": true}})));
    assert_eq!(says, ["containers Audit pod.containers[x]"]);
}

#[test]
fn a_deeper_rule_raises_the_action_when_the_entry_holds_what_it_claims() {
    let other = format!("{{name: privileged, select: ['{POD}.containers[*].securityContext']}}");
    let of = containers(&job(), "Audit", &other);
    assert_eq!(spoken(&of, &extra(json!({}))), ["containers Audit pod.containers[x]"]);
    assert_eq!(
        spoken(&of, &extra(json!({"securityContext": null}))),
        ["containers Audit pod.containers[x]"]
    );
    let privileged = extra(json!({"securityContext": {"privileged": true}}));
    let raised = "containers Enforce pod.containers[x] raised by privileged";
    assert_eq!(spoken(&of, &privileged), [raised]);
    assert_eq!(judge(&of, &privileged).enforced, 1);
}

#[test]
fn the_strongest_of_several_raises() {
    let other = format!(
        "{{name: args, select: ['{POD}.containers[*].args'], action: Warn}}\n- {{name: env, entries: ['{POD}.containers[*].env']}}"
    );
    let of = containers(&job(), "Audit", &other);
    let (args, env) = (json!(["a"]), json!([{"name": "A"}]));
    assert_eq!(
        spoken(&of, &extra(json!({"args": args}))),
        ["containers Warn pod.containers[x] raised by args"]
    );
    assert_eq!(
        spoken(&of, &extra(json!({"args": args, "env": env}))),
        ["containers Enforce pod.containers[x] raised by env"]
    );
    // A weaker or equal one raises nothing.
    let of = containers(&job(), "Enforce", &other);
    assert_eq!(
        spoken(&of, &extra(json!({"args": args, "env": env}))),
        ["containers Enforce pod.containers[x]"]
    );
    let of = containers(&job(), "Warn", &other);
    assert_eq!(spoken(&of, &extra(json!({"args": args}))), ["containers Warn pod.containers[x]"]);
}

#[test]
fn a_missing_entry_is_raised_by_what_the_template_has_in_it() {
    let template = extra(json!({"args": ["a"]}));
    let claim = |field: &str| format!("{{name: {field}, select: ['{POD}.containers[*].{field}']}}");
    let of = containers(&template, "Audit", &claim("args"));
    let raised = "containers Enforce pod.containers[x] raised by args";
    assert_eq!(spoken(&of, &job()), [raised]);
    // Not by what neither has, nor by what only the server fills in.
    for field in ["command", "terminationMessagePath", "imagePullPolicy"] {
        let of = containers(&template, "Audit", &claim(field));
        assert_eq!(spoken(&of, &job()), ["containers Audit pod.containers[x]"], "{field}");
    }
}

#[test]
fn a_list_that_only_the_job_has_is_raised_too() {
    let of = shape(
        &job(),
        &format!(
            "rules:\n- {{name: volumes, entries: ['{POD}.volumes'], action: Audit}}\n- {{name: host, select: ['{POD}.volumes[*].hostPath']}}"
        ),
    );
    let volumes = |source: Value| job().set("pod/volumes", json!([{"name": "a"}, source]));
    assert_eq!(
        spoken(&of, &volumes(json!({"name": "b", "emptyDir": {}}))),
        ["volumes Audit pod.volumes"]
    );
    assert_eq!(
        spoken(&of, &volumes(json!({"name": "b", "hostPath": {"path": "/"}}))),
        ["volumes Enforce pod.volumes raised by host"]
    );
}

#[test]
fn a_claim_on_one_key_raises_only_for_that_key() {
    let of = shape(
        &job().set("worker/env", json!([{"name": "A", "value": "1"}])),
        &format!(
            "rules:\n- {{name: names, entries: ['{POD}.containers[*].env'], action: Audit}}\n- {{name: path, select: [\"{POD}.containers[?@.name=='worker'].env[?@.name=='LD_PRELOAD'].value\"]}}"
        ),
    );
    let add = |name: &str| {
        let env = json!([{"name": "A", "value": "1"}, {"name": name, "value": "/x"}]);
        spoken(&of, &job().set("worker/env", env))
    };
    assert_eq!(add("B"), ["names Audit worker.env[B]"]);
    assert_eq!(add("LD_PRELOAD"), ["names Enforce worker.env[LD_PRELOAD] raised by path"]);
}

#[test]
fn select_and_entries_of_one_place_raise_both() {
    let env = format!("{POD}.containers[*].env");
    let rules = |select: &str, entries: &str| {
        format!(
            "{{name: values, select: ['{env}'], action: {select}}}\n- {{name: names, entries: ['{env}'], action: {entries}}}"
        )
    };
    let added = extra(json!({"env": [{"name": "A"}]}));
    for (select, entries, raised) in [
        ("Warn", "Enforce", "containers Enforce pod.containers[x] raised by names"),
        ("Enforce", "Warn", "containers Enforce pod.containers[x] raised by values"),
        ("Audit", "Warn", "containers Warn pod.containers[x] raised by names"),
    ] {
        let of = containers(&job(), "Audit", &rules(select, entries));
        assert_eq!(spoken(&of, &added), [raised]);
    }
}
