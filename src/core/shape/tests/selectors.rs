//! Selectors that select nothing, and rules that can never speak.

use serde_json::json;

use crate::core::testing::{Job, job, mistaken, shape};

fn template() -> Job {
    job()
        .set("worker/env", json!([{"name": "A", "value": "1"}]))
        .set("/metadata/finalizers", json!(["a.b/c"]))
        .set("/spec/brandNew", json!({"a": 1}))
}

fn select(selector: &str) -> String {
    format!("rules: [{{name: a, select: [\"{selector}\"]}}]")
}

#[track_caller]
fn nothing(selector: &str, said: &str) {
    let message = format!(
        "`{selector}` can select nothing, neither in the template nor in the Job API: {said}"
    );
    mistaken(&template(), &select(selector), &[(&format!("\"{selector}\""), &message)]);
}

#[test]
fn a_selector_that_selects_nothing_is_a_mistake() {
    nothing(
        "$.spec.paralelism",
        "JobSpec has no field `paralelism` (step 2); did you mean `parallelism`?",
    );
    nothing(
        "$.spec.template.spec.containers[*].comand",
        "Container has no field `comand` (step 6); did you mean `command`?",
    );
    nothing(
        "$.spec.template.spec.containers.image",
        "`image` is asked of a list (step 5); go through a list with `[*]`",
    );
    nothing("$.spec.suspend.x", "`x` is asked of a scalar (step 3)");
    nothing("$.status", "the server alone writes `status`, and nobody compares it (step 1)");
    nothing("$.spec[*]", "`[*]` is asked of a struct (step 2); name its fields");
    nothing("$.spec.suspend[*]", "a step into a list is asked of something else (step 3)");
    nothing(
        "$.spec.template.spec.containers[?@.image=='x']",
        "the filter is not on the list's key (step 5); the key of this list is `name`",
    );
    nothing(
        "$.spec.template.spec.containers[*].ports[?@.containerPort==80]",
        "the filter is not on the list's key (step 7); the key of this list is `containerPort` and `protocol`",
    );
    nothing(
        "$.spec.template.spec.tolerations[?@.key=='x']",
        "this list has no key (step 5); use `[*]`",
    );
    nothing(
        "$.spec.template.spec.containers[?@=='worker']",
        "a step into a list is asked of something else (step 5)",
    );
    nothing("$.spec.brandNew.b", "nobody knows a field `b` here (step 3)");
}

#[test]
fn what_only_the_api_or_only_the_template_has_can_be_selected() {
    for selector in [
        "$",
        "$.spec.template.spec.hostNetwork",
        "$.spec.template.spec.containers[*].lifecycle.preStop.exec.command",
        "$.spec.template.spec.containers[?@.name=='other'].env[?@.name=='B'].value",
        "$.spec.template.spec.containers[*].ports[?@.containerPort==80 && @.protocol=='TCP']",
        "$.spec.template.spec.tolerations[*].key",
        "$.metadata.finalizers[?@=='x.y/z']",
        "$.metadata.annotations['a.b/c']",
        "$.metadata.annotations[*]",
        "$.spec.brandNew.a",
    ] {
        shape(&template(), &select(selector));
    }
}

#[test]
fn a_selector_is_narrow_json_path() {
    for (selector, said) in [
        ("$..image", "`..` in `$..image`; a selector holds only names, `[*]` and equality"),
        (
            "$.spec.template.spec.containers[0]",
            "an index (the submitter chooses what stands there)",
        ),
        ("$.spec.template.spec.containers[0:1]", "a slice"),
        ("$.spec['a','b']", "several selectors in one bracket"),
        ("$.a[?@.name!='x']", "a comparison other than `==`"),
        ("$.a[?@.name=='x' || @.name=='y']", "`||`"),
        ("$.a[?@.image]", "a test or a function"),
        ("$.a[?length(@.name)==1]", "a filter that compares no key with a value"),
        ("$.a[?@.b.c=='x']", "a filter on a nested value"),
        ("$.a[?$.b=='x']", "a filter on `$`"),
        ("$.a[?@.b==true]", "a filter on a value that is no key"),
        ("$.a[?@=='x' && @.b=='y']", "a filter on the item and on its fields"),
        ("spec.suspend", "`spec.suspend` is no JSONPath (RFC 9535); write `$.spec.suspend`"),
        ("", "is no JSONPath"),
    ] {
        mistaken(&template(), &select(selector), &[("\"", said)]);
    }
    let long = format!("$.{}", "a".repeat(2000));
    mistaken(&template(), &select(&long), &[("\"", "a selector of more than 2000 characters")]);
}

#[test]
fn entries_are_of_lists_and_maps() {
    for selector in ["$.spec", "$.spec.suspend", "$.spec.template.spec.containers[*]"] {
        mistaken(
            &template(),
            &format!("rules: [{{name: a, entries: ['{selector}']}}]"),
            &[(
                &format!("'{selector}'"),
                "in `entries` is no list and no map; claim a struct or a scalar with `select`",
            )],
        );
    }
    shape(
        &template(),
        "rules: [{name: a, entries: [$.metadata.annotations, $.spec.template.spec.volumes, $.spec.brandNew]}]",
    );
}

#[test]
fn a_rule_that_can_never_speak_is_a_mistake() {
    let rules = |a: &str, b: &str| format!("rules:\n- {{name: a, {a}}}\n- {{name: b, {b}}}");
    let never = ("b, ", "the rule `b` can never speak: `a` claims the same places before it");
    let image = "select: ['$.spec.template.spec.containers[*].image']";
    mistaken(&template(), &rules(image, image), &[never]);
    let env = "entries: ['$.spec.template.spec.containers[*].env']";
    mistaken(&template(), &rules(env, env), &[never]);
    let both = "select: ['$.spec.template.spec.containers[*].image', '$.spec.suspend']";
    mistaken(&template(), &rules(both, image), &[never]);
    shape(&template(), &rules(image, both));
    // Entries and select of the same list are two claims.
    let select_env = "select: ['$.spec.template.spec.containers[*].env']";
    shape(&template(), &rules(env, select_env));
    shape(&template(), &rules(select_env, env));
    shape(&template(), &rules("select: ['$.spec']", image));
}

#[test]
fn what_nobody_compares_cannot_be_selected() {
    for (selector, said) in [
        ("$.status", "the server alone writes `status`, and nobody compares it"),
        ("$.metadata.uid", "the server alone writes `uid`, and nobody compares it"),
        ("$.metadata.managedFields", "the server alone writes `managedFields`"),
        (
            "$.spec.template.spec.serviceAccount",
            "`serviceAccount` is compared under its other name",
        ),
    ] {
        let said = format!(
            "`{selector}` can select nothing, neither in the template nor in the Job API: {said}"
        );
        mistaken(&template(), &select(selector), &[(&format!("\"{selector}\""), &said)]);
    }
    // Further down these are ordinary names.
    shape(&template(), &select("$.spec.template.metadata.uid"));
}

#[test]
fn a_rule_about_what_is_unpinned_is_a_mistake() {
    let unpinned = "unpinned: [{path: $.spec.template.spec.nodeSelector, reason: r}]";
    for path in ["$.spec.template.spec.nodeSelector", "$.spec.template.spec.nodeSelector.disk"] {
        mistaken(
            &template(),
            &format!("{unpinned}\nrules: [{{name: a, select: [{path}]}}]"),
            &[(path, "is unpinned: a rule about it can never speak")],
        );
    }
    let entries = "rules: [{name: a, entries: [$.spec.template.spec.nodeSelector]}]";
    mistaken(
        &template(),
        &format!("{unpinned}\n{entries}"),
        &[("$.spec.template.spec.nodeSelector]}", "can never speak")],
    );
    shape(
        &template(),
        &format!("{unpinned}\nrules: [{{name: a, select: [$.spec.template.spec]}}]"),
    );
}
