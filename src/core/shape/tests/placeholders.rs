//! Placeholders in a template: what is one, what only looks like one, and where none may stand.

use serde_json::json;

use crate::core::testing::{Job, admits, job, mistaken, refuses, shape};

fn args(text: &str) -> Job {
    job().set("worker/args", json!([text]))
}

const V: &str = "variables: {v: {pattern: '[a-z]+', example: a}}";

#[test]
fn an_undeclared_placeholder_is_a_mistake_unless_it_is_a_literal() {
    mistaken(
        &args("cat <in> x"),
        "",
        &[(
            "\"cat <in> x\"",
            "`<in>` looks like a placeholder, and no variable `in` is declared; declare the variable, or say `literals: [\"<in>\"]` in spec",
        )],
    );
    mistaken(
        &args("<runid> <runId>"),
        "variables: {runId: {const: a}}",
        &[("\"<runid>", "did you mean `<runId>`? Otherwise declare")],
    );
    shape(&args("cat <in> x"), "literals: [\"<in>\"]");
    // What nobody would take for one.
    for text in ["a < b > c", "<1>", "<>", "x <<EOF", "<a b>", "->", "<a"] {
        shape(&args(text), "");
    }
}

#[test]
fn what_something_else_should_have_filled_in_is_a_mistake() {
    mistaken(
        &args("${TAG}"),
        "",
        &[(
            "\"${TAG}\"",
            "the value is nothing but `${TAG}`: something is expected to fill it in before the server sees it; fill it in with `--substitute FILE`",
        )],
    );
    mistaken(
        &args("{{ run_id }}"),
        "",
        &[(
            "\"{{ run_id }}\"",
            "no variable has this placeholder; declare a variable with `placeholder: \"{{ run_id }}\"`",
        )],
    );
    shape(&args("${TAG}"), "literals: ['${TAG}']");
    shape(&args("{{ run_id }}"), "literals: ['{{ run_id }}']");
    shape(&args("x ${TAG}"), "");
    let named = shape(
        &args("{{ run_id }}"),
        "variables: {r: {pattern: '[a-z]+', example: a, placeholder: '{{ run_id }}'}}",
    );
    admits(&named, &args("abc"));
    refuses(&named, &args("{{ run_id }}"), &[("worker.args[0]", "the value of the variable `r`")]);
}

#[test]
fn a_placeholder_in_a_key_is_a_mistake() {
    let said = "the placeholder `<v>` stands in a key, and keys never vary";
    let used = args("<v>");
    mistaken(
        &used.clone().set("worker/env", json!([{"name": "A<v>", "value": "1"}])),
        V,
        &[("{", said)],
    );
    mistaken(
        &used.clone().set("/metadata/annotations", json!({"a<v>": "1"})),
        V,
        &[("\"a<v>\"", said)],
    );
    mistaken(
        &used.clone().set("worker/volumeMounts", json!([{"name": "v", "mountPath": "/<v>"}])),
        V,
        &[("{", said)],
    );
    mistaken(
        &used.clone().set("/metadata/finalizers", json!(["a.b/<v>"])),
        V,
        &[("\"a.b/<v>\"", said)],
    );
    // A placeholder that is a plain word is an ordinary name there.
    let word = "variables: {v: {pattern: '[a-z]+', example: a, placeholder: RUN_ID}}";
    let env =
        |name: &str, value: &str| job().set("worker/env", json!([{"name": name, "value": value}]));
    let of = shape(&env("RUN_ID", "RUN_ID"), word);
    admits(&of, &env("RUN_ID", "abc"));
    refuses(
        &of,
        &env("RUN_ID", "ABC"),
        &[("worker.env[RUN_ID].value", "the value of the variable `v`")],
    );
}

#[test]
fn a_quantity_stands_alone() {
    let quantity = "variables: {v: {type: quantity, minimum: 1, maximum: 2, example: 1}}";
    mistaken(
        &args("--memory=<v>"),
        quantity,
        &[(
            "\"--memory=<v>\"",
            "the quantity `v` stands inside a longer string; a quantity is always a whole value",
        )],
    );
}

#[test]
fn a_string_that_splits_in_two_ways_is_a_mistake() {
    let two = |a: &str, b: &str| format!("variables:\n  a: {a}\n  b: {b}");
    let pattern = |p: &str, example: &str| format!("{{pattern: '{p}', example: '{example}'}}");
    let said = "where `a` ends in this string cannot be told";
    for (text, a, b) in [
        ("<a><b>", pattern("[a-z]+", "x"), pattern("[a-z]+", "x")),
        ("<a>-<b>", pattern("[a-z-]+", "x"), pattern("[a-z]+", "x")),
        ("<a><b>", "{enum: [home, homes]}".to_owned(), pattern("[a-z]*", "x")),
        ("<a> <b>", "{maxLength: 4, example: x}".to_owned(), pattern("[a-z]+", "x")),
        (
            "<a>0<b>",
            "{type: integer, minimum: 1, maximum: 9, example: 1}".to_owned(),
            pattern("[a-z]+", "x"),
        ),
        ("<a><b>", pattern("a|bc", "a"), pattern("[a-z]+", "x")),
    ] {
        mistaken(&args(text), &two(&a, &b), &[(&format!("\"{text}\""), said)]);
    }
    for (text, a, b) in [
        ("<a><b>", pattern("[a-z]{3}", "xyz"), pattern("[a-z]+", "x")),
        ("<a>-<b>", pattern("[a-z]+", "x"), pattern("[a-z-]+", "x")),
        ("<a><b>", "{enum: [home, work]}".to_owned(), pattern("[a-z]*", "x")),
        (
            "<a>:<b>",
            "{type: integer, minimum: 1, maximum: 9, example: 1}".to_owned(),
            pattern("[a-z:]+", "x"),
        ),
        ("<a>-<b>", "{enum: [home, homes]}".to_owned(), pattern("[a-z]*", "x")),
    ] {
        shape(&args(text), &two(&a, &b));
    }
    // Only the last one may be anything.
    shape(&args("run <a> for ever"), "variables: {a: {maxLength: 4, example: x}}");
}

#[test]
fn a_value_that_expands_in_its_own_example_is_refused_at_load() {
    mistaken(
        &args("<v>"),
        "variables: {v: {maxLength: 20, example: $(TOKEN)}}",
        &[(
            "\"<v>\"",
            "the shape refuses its own template at spec.template.spec.containers[worker].args[0]: a variable's value takes part in `$(…)`",
        )],
    );
    shape(&args("<v>"), "variables: {v: {maxLength: 20, example: $(TOKEN), expansion: true}}");
}
