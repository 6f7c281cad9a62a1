//! What can be wrong with `optional`, `unpinned` and `at`.

use serde_json::json;

use crate::core::testing::{Job, job, mistaken, shape};

fn template() -> Job {
    job()
        .set("/spec/ttlSecondsAfterFinished", json!(300))
        .set("/metadata/annotations", json!({"a": "1", "b": "2"}))
        .set("worker/env", json!([{"name": "A", "value": "1"}]))
}

#[test]
fn what_the_server_fills_in_is_never_absent() {
    for (path, default) in [
        ("$.spec.parallelism", "the server fills in `1`"),
        ("$.spec.suspend", "the server fills in `false`"),
        ("$.spec.template.spec.dnsPolicy", "the server fills in `\"ClusterFirst\"`"),
        ("$.spec.backoffLimit", "the server fills in a value that depends on other fields"),
        (
            "$.spec.template.spec.containers[*].imagePullPolicy",
            "a value that depends on other fields",
        ),
    ] {
        let spec = format!("optional: ['{path}']");
        let found = match crate::core::testing::load(&template(), &spec) {
            Ok(_) => panic!("{path} loads"),
            Err(found) => found,
        };
        for mistake in found {
            let said = mistake.to_string();
            assert!(said.contains("cannot be optional") && said.contains(default), "{said}");
            assert!(
                said.contains("to accept another value besides the template's, write"),
                "{said}"
            );
        }
    }
    // Also where the template says it.
    mistaken(
        &template().set("/spec/backoffLimit", json!(3)),
        "optional: [$.spec.backoffLimit]",
        &[("$.spec.backoffLimit", "cannot be optional")],
    );
    shape(&template(), "optional: [{path: $.spec.backoffLimit, value: 3}]");
}

#[test]
fn what_neither_template_nor_shape_has_cannot_be_optional() {
    mistaken(
        &template(),
        "optional: [$.spec.activeDeadlineSeconds]",
        &[(
            "$.spec.activeDeadlineSeconds",
            "is optional, and the template has nothing there; say what may stand there: `{path: …, value: …}`",
        )],
    );
    mistaken(
        &template(),
        "optional: [{path: $.spec.activeDeadlineSeconds, value: null}]",
        &[("value:", "is null, which is the same as absent")],
    );
    mistaken(
        &template(),
        "optional: [{value: 1}]",
        &[("{value", "an entry of optional needs `path`")],
    );
    mistaken(
        &template(),
        "optional: [{path: $.spec.activeDeadlineSeconds, value: '1'}]",
        &[("'1'", "the API has an integer here, not a string")],
    );
}

#[test]
fn unpinned_needs_a_reason() {
    mistaken(
        &template(),
        "unpinned: [$.metadata.annotations.a]",
        &[(
            "$.metadata",
            "an entry of unpinned needs a reason; write `{path: …, reason: why nobody compares it}`",
        )],
    );
    mistaken(
        &template(),
        "unpinned: [{path: $.metadata.annotations.a}]",
        &[("{path", "an entry of unpinned needs `reason`")],
    );
    mistaken(
        &template(),
        "unpinned: [{path: $.metadata.annotations.a, reason: ''}]",
        &[("reason:", "`reason` of an entry of unpinned is empty")],
    );
}

#[test]
fn the_same_or_nested_places_are_a_mistake() {
    let nested = "name the same or nested places of optional, unpinned and at";
    let u = |path: &str| format!("{{path: \"{path}\", reason: r}}");
    mistaken(
        &template(),
        &format!("unpinned: [{}, {}]", u("$.metadata.annotations.a"), u("$.metadata.annotations")),
        &[("\"$.metadata.annotations\"", nested)],
    );
    mistaken(
        &template(),
        &format!("unpinned: [{}, {}]", u("$.metadata.annotations"), u("$.metadata.annotations.a")),
        &[("\"$.metadata.annotations.a\"", nested)],
    );
    mistaken(
        &template(),
        &format!(
            "optional: [$.metadata.annotations.a]\nunpinned: [{}]",
            u("$.metadata.annotations.a")
        ),
        &[("\"$.metadata", nested)],
    );
    mistaken(
        &template(),
        "optional: [$.metadata.annotations.a, $.metadata.annotations.a]",
        &[("$.metadata.annotations.a]", nested)],
    );
    mistaken(
        &template(),
        &format!(
            "unpinned: [{}]\nvariables: {{v: {{maxLength: 3, at: [$.metadata.annotations.a]}}}}",
            u("$.metadata.annotations")
        ),
        &[("\"$.metadata.annotations\"", nested)],
    );
    let two = "variables:\n  v: {maxLength: 3, at: [$.metadata.annotations.a]}\n  w: {maxLength: 3, at: [$.metadata.annotations.a]}";
    assert!(crate::core::testing::load(&template(), two).is_err());
    shape(
        &template(),
        &format!(
            "optional: [$.metadata.annotations.a]\nunpinned: [{}]",
            u("$.metadata.annotations.b")
        ),
    );
}

#[test]
fn at_names_scalars_that_the_template_has() {
    let at = |path: &str, constraint: &str| {
        format!("variables: {{v: {{{constraint}, at: [\"{path}\"]}}}}")
    };
    let text = "maxLength: 3";
    for (path, said) in [
        ("$.spec.activeDeadlineSeconds", "names no sample: the template has nothing there"),
        ("$.spec.backoffLimit", "the server fills it in"),
        ("$.spec.suspend", "the server fills it in"),
        ("$.metadata.annotations", "it is no scalar"),
        ("$.spec.template.spec.containers[*].env", "it is no scalar"),
        ("$.spec.ttlSecondsAfterFinished", "the value there is of another type than the variable"),
        (
            "$.spec.template.spec.containers[?@.name=='worker'].name",
            "is a key, and keys never vary",
        ),
        (
            "$.spec.template.spec.containers[?@.name=='worker'].env[?@.name=='A'].name",
            "is a key, and keys never vary",
        ),
    ] {
        let mistakes = crate::core::testing::load(&template(), &at(path, text)).expect_err(path);
        let said_all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        assert!(said_all[0].contains(said), "{path}: {said_all:#?}");
    }
    mistaken(
        &template().set("worker/args", json!(["<v>"])),
        &at("$.spec.template.spec.containers[?@.name=='worker'].args", text),
        &[("\"$.spec", "it is no scalar")],
    );
    shape(&template(), &at("$.metadata.annotations.a", text));
}

#[test]
fn a_sample_satisfies_its_constraint() {
    let deadline = "variables: {v: {type: integer, minimum: 1, maximum: 9, at: [$.spec.ttlSecondsAfterFinished]}}";
    mistaken(
        &template(),
        deadline,
        &[(
            "300",
            "the template's own value does not satisfy the variable `v`: an integer from 1 to 9 is expected",
        )],
    );
    let both =
        "variables: {v: {maxLength: 3, at: [$.metadata.annotations.a, $.metadata.annotations.b]}}";
    let same = template().set("/metadata/annotations/b", json!("1"));
    shape(&same, both);
}

#[test]
fn what_holds_nearly_everything_is_not_left_open() {
    let said = "holds nearly everything: nothing would be pinned; name the fields";
    for path in [
        "$",
        "$.metadata",
        "$.spec",
        "$.spec.template",
        "$.spec.template.metadata",
        "$.spec.template.spec",
    ] {
        let place = format!("\"{path}\"");
        mistaken(
            &template(),
            &format!("unpinned: [{{path: {place}, reason: r}}]"),
            &[(&place, said)],
        );
        mistaken(&template(), &format!("optional: [{place}]"), &[(&place, said)]);
    }
    for key in ["containers[*].name", "containers[*].env[*].name"] {
        let place = format!("\"$.spec.template.spec.{key}\"");
        mistaken(
            &template(),
            &format!("unpinned: [{{path: {place}, reason: r}}]"),
            &[(&place, "is a key of its list, and keys never vary")],
        );
    }
}

#[test]
fn what_the_server_writes_into_is_not_optional_as_a_whole() {
    let template = template()
        .set("/metadata/labels", json!({"a": "1"}))
        .set("/metadata/namespace", json!("ns"))
        .set("/spec/template/metadata/labels", json!({"a": "1"}));
    for (path, help) in [
        ("$.metadata.labels", "the server adds labels of its own: name single ones"),
        ("$.spec.template.metadata.labels", "the server adds labels of its own"),
        ("$.metadata.namespace", "a template without a namespace takes the request's"),
    ] {
        let said = format!("`{path}` cannot be optional; {help}");
        mistaken(&template, &format!("optional: [{path}]"), &[(path, &said)]);
    }
    shape(&template, "optional: [$.metadata.labels.a]");
}
