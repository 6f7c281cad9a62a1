//! Which rule speaks: the deepest claim, with `entries` one deeper than `select`, and the earlier
//! rule where both are as deep; and what its action does.

use serde_json::json;

use crate::core::testing::{Job, job, judge, shape, spoken};

const POD: &str = "$.spec.template.spec";

/// A template with something everywhere, and the same with much changed.
fn template() -> Job {
    job()
        .set("worker/env", json!([{"name": "A", "value": "1"}]))
        .set("worker/args", json!(["a"]))
        .set("pod/imagePullSecrets", json!([{"name": "s"}]))
        .set("/metadata/annotations", json!({"a": "1"}))
}

#[test]
fn a_shape_without_a_catch_all_gets_one() {
    let of = shape(&template(), "");
    assert_eq!(of.rules.len(), 1);
    assert!(of.rules[0].catch_all);
    let other = template().set("worker/image", json!("x:1"));
    assert_eq!(spoken(&of, &other), ["everything-else Enforce worker.image"]);
    // It has the shape's action.
    let audit = shape(&template(), "action: Audit");
    assert_eq!(spoken(&audit, &other), ["everything-else Audit worker.image"]);
    // A rule without select and entries is the catch-all, wherever it stands.
    let named = shape(
        &template(),
        "rules: [{name: rest, action: Warn}, {name: images, select: ['$.spec.template.spec.containers[*].image']}]",
    );
    let both = other.set("pod/hostNetwork", json!(true));
    assert_eq!(spoken(&named, &both), ["images Enforce worker.image", "rest Warn pod.hostNetwork"]);
}

#[test]
fn the_deepest_claim_wins() {
    let of = shape(
        &template(),
        &format!(
            "rules:\n- {{name: pod, select: ['{POD}']}}\n- {{name: image, select: ['{POD}.containers[*].image']}}\n- {{name: container, select: ['{POD}.containers[*]']}}\n- {{name: a, select: [\"{POD}.containers[*].env[?@.name=='A']\"]}}"
        ),
    );
    let changed = template()
        .set("worker/image", json!("x:1"))
        .set("worker/args/0", json!("b"))
        .set("worker/env/0/value", json!("2"))
        .set("pod/hostNetwork", json!(true))
        .set("/spec/suspend", json!(true));
    let rules: Vec<String> = spoken(&of, &changed);
    assert_eq!(
        rules,
        [
            "everything-else Enforce spec.suspend",
            "container Enforce worker.args[0]",
            "a Enforce worker.env[A].value",
            "image Enforce worker.image",
            "pod Enforce pod.hostNetwork",
        ]
    );
}

#[test]
fn entries_speak_for_which_entries_a_list_has() {
    let of = shape(
        &template(),
        &format!(
            "rules:\n- {{name: env-names, entries: ['{POD}.containers[*].env']}}\n- {{name: env, select: ['{POD}.containers[*].env']}}\n- {{name: secrets, entries: ['{POD}.imagePullSecrets']}}\n- {{name: notes, entries: [$.metadata.annotations]}}"
        ),
    );
    let says = |job: Job| spoken(&of, &job);
    let two = json!([{"name": "A", "value": "2"}, {"name": "B"}]);
    assert_eq!(
        says(template().set("worker/env", two)),
        ["env Enforce worker.env[A].value", "env-names Enforce worker.env[B]"]
    );
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]);
    assert_eq!(says(template().set("worker/env", twice)), ["env-names Enforce worker.env[A]"]);
    assert_eq!(says(template().remove("worker/env")), ["env-names Enforce worker.env"]);
    let other = json!([{"name": "B", "value": "1"}]);
    assert_eq!(
        says(template().set("worker/env", other)),
        ["env-names Enforce worker.env[A]", "env-names Enforce worker.env[B]"]
    );
    assert_eq!(
        says(template().remove("pod/imagePullSecrets")),
        ["secrets Enforce pod.imagePullSecrets"]
    );
    let added = template().set("pod/imagePullSecrets/-", json!({"name": "t"}));
    assert_eq!(says(added), ["secrets Enforce pod.imagePullSecrets[t]"]);
    let notes = template().set("/metadata/annotations", json!({"a": "2", "b": "1"}));
    assert_eq!(
        says(notes),
        ["everything-else Enforce metadata.annotations.a", "notes Enforce metadata.annotations.b"]
    );
}

#[test]
fn entries_speak_for_a_list_that_only_the_job_has_and_for_its_order() {
    let containers = job().set(
        "pod/initContainers",
        json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]),
    );
    let of = shape(
        &containers,
        &format!(
            "rules: [{{name: inits, entries: ['{POD}.initContainers']}}, {{name: volumes, entries: ['{POD}.volumes']}}]"
        ),
    );
    let reversed = containers.clone().reverse("pod/initContainers");
    assert_eq!(spoken(&of, &reversed), ["inits Enforce pod.initContainers"]);
    let added = containers.set("pod/volumes", json!([{"name": "v"}]));
    assert_eq!(spoken(&of, &added), ["volumes Enforce pod.volumes"]);
}

#[test]
fn an_item_that_is_named_is_as_deep_as_the_entries_of_its_list() {
    let list = format!("{POD}.containers[*].env");
    let item = format!("{list}[?@.name=='B']");
    let rules = |first: &str, second: &str| format!("rules:\n- {first}\n- {second}");
    let names = format!("{{name: names, entries: ['{list}']}}");
    let b = format!("{{name: b, select: [\"{item}\"]}}");
    let added = template().set("worker/env/-", json!({"name": "B", "value": "1"}));
    let earlier = shape(&template(), &rules(&names, &b));
    assert_eq!(spoken(&earlier, &added), ["names Enforce worker.env[B]"]);
    let later = shape(&template(), &rules(&b, &names));
    assert_eq!(spoken(&later, &added), ["b Enforce worker.env[B]"]);
    // What is inside the named item is its own rule's.
    let of = shape(&added, &rules(&names, &b));
    let changed = added.clone().set("worker/env/1/value", json!("2"));
    assert_eq!(spoken(&of, &changed), ["b Enforce worker.env[B].value"]);
    assert_eq!(spoken(&of, &template()), ["names Enforce worker.env[B]"]);
}

#[test]
fn the_earlier_of_two_equal_claims_speaks() {
    let select = |name: &str, fields: &str| format!("{{name: {name}, select: [{fields}]}}");
    let image = format!("'{POD}.containers[*].image'");
    let args = format!("'{POD}.containers[*].args'");
    let of = shape(
        &template(),
        &format!(
            "rules:\n- {}\n- {}",
            select("one", &image),
            select("two", &format!("{image}, {args}"))
        ),
    );
    let changed = template().set("worker/image", json!("x:1")).set("worker/args/0", json!("b"));
    assert_eq!(spoken(&of, &changed), ["two Enforce worker.args[0]", "one Enforce worker.image"]);
}

#[test]
fn a_claim_may_stand_where_only_the_api_has_a_place() {
    let of = shape(
        &template(),
        &format!(
            "rules:\n- {{name: host, select: ['{POD}.hostNetwork', '{POD}.containers[*].lifecycle']}}\n- {{name: affinity, select: ['{POD}.affinity.nodeAffinity']}}\n- {{name: note, select: [\"$.metadata.annotations['a.b/c']\"]}}"
        ),
    );
    let changed = template()
        .set("pod/hostNetwork", json!(true))
        .set("worker/lifecycle", json!({"preStop": {"exec": {"command": ["x"]}}}))
        .set("/metadata/annotations/a.b~1c", json!("x"));
    assert_eq!(
        spoken(&of, &changed),
        [
            "note Enforce metadata.annotations[a.b/c]",
            "host Enforce worker.lifecycle",
            "host Enforce pod.hostNetwork",
        ]
    );
}

#[test]
fn only_enforce_is_counted_as_enforced() {
    let of = shape(
        &template(),
        &format!(
            "action: Audit\nrules:\n- {{name: images, select: ['{POD}.containers[*].image'], action: Enforce}}\n- {{name: args, select: ['{POD}.containers[*].args'], action: Warn}}"
        ),
    );
    let args = template().set("worker/args/0", json!("b"));
    let host = args.set("pod/hostNetwork", json!(true));
    assert_eq!((judge(&of, &host).count, judge(&of, &host).enforced), (2, 0));
    let image = host.set("worker/image", json!("x:1"));
    assert_eq!((judge(&of, &image).count, judge(&of, &image).enforced), (3, 1));
    assert_eq!(
        spoken(&of, &image),
        [
            "args Warn worker.args[0]",
            "images Enforce worker.image",
            "everything-else Audit pod.hostNetwork"
        ]
    );
}

#[test]
fn a_rules_message_is_not_in_its_findings() {
    let of = shape(
        &template(),
        &format!(
            "rules: [{{name: images, select: ['{POD}.containers[*].image'], message: 'Ask the platform team.'}}]"
        ),
    );
    let found = judge(&of, &template().set("worker/image", json!("x:1")));
    let message = &found.findings[0].message;
    assert_eq!(message, "the template has `registry.example/worker:1` here");
}
