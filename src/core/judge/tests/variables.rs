//! Variables: constraints, types, one value everywhere, and strings that hold several.

use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::testing::{Job, admits, job, refuses, shape};

fn args(text: &str) -> Job {
    job().set("worker/args", json!([text]))
}

const ARG: &str = "worker.args[0]";

/// A shape whose one argument is `text`.
fn with(text: &str, variables: &str) -> Shape {
    shape(&args(text), &format!("variables: {{{variables}}}"))
}

#[track_caller]
fn accepts(shape: &Shape, values: &[&str]) {
    values.iter().for_each(|value| admits(shape, &args(value)));
}

#[track_caller]
fn rejects(shape: &Shape, values: &[&str], said: &str) {
    values.iter().for_each(|value| refuses(shape, &args(value), &[(ARG, said)]));
}

#[test]
fn a_pattern_is_of_the_whole_value() {
    let of = with("<v>", "v: {pattern: 'a|bc*', example: a}");
    accepts(&of, &["a", "b", "bccc"]);
    rejects(
        &of,
        &["x", "abc", "xa", "ac", "A"],
        "the value of the variable `v` must be a string that matches `a|bc*`",
    );
    rejects(&of, &["a\n"], "it ends in a newline");
    rejects(&of, &[" a", "a "], "it has space around it");
    rejects(&of, &["a\u{200b}"], "it holds the invisible character U+200B");
    rejects(&of, &[""], "`a|bc*`");
    let empty = with("<v>", "v: {pattern: '[a-z]*', example: a}");
    accepts(&empty, &["", "a"]);
}

#[test]
fn lengths_count_characters() {
    let of = with("<v>", "v: {minLength: 2, maxLength: 4, example: ab}");
    accepts(&of, &["ab", "abcd", "éèçà", "\n\n"]);
    rejects(&of, &["a", "abcde", "é"], "of 2 to 4 characters");
}

#[test]
fn an_enum_and_a_const_are_exact() {
    let of = with("<v>", "v: {enum: [a, bc]}");
    accepts(&of, &["a", "bc"]);
    rejects(&of, &["b", "A", "abc"], "must be one of `a`, `bc`");
    let only = with("<v>", "v: {const: a}");
    accepts(&only, &["a"]);
    rejects(&only, &["b"], "must be `a`");
}

#[test]
fn an_integer_in_a_string_is_canonical_and_within_its_bounds() {
    let of = with("--n=<v>", "v: {type: integer, minimum: -5, maximum: 60, example: 1}");
    accepts(&of, &["--n=-5", "--n=0", "--n=60"]);
    rejects(
        &of,
        &[
            "--n=-6", "--n=61", "--n=01", "--n=+1", "--n=-0", "--n=1.0", "--n= 1", "--n=1e1",
            "--n=x",
        ],
        "the template has `--n=<v>` here, and `<v>` must be an integer from -5 to 60",
    );
    rejects(&of, &["--m=1", "-n=1", ""], "the template has `--n=<v>` here");
    let largest = format!("--n={}", i64::MAX);
    let of = with(
        "--n=<v>",
        &format!("v: {{type: integer, minimum: 0, maximum: {}, example: 1}}", i64::MAX),
    );
    accepts(&of, &[&largest]);
    rejects(&of, &["--n=9223372036854775808"], "an integer from 0");
}

#[test]
fn a_whole_value_has_the_type_of_its_place() {
    let template = job()
        .set("/spec/activeDeadlineSeconds", json!("<deadline>"))
        .set("pod/automountServiceAccountToken", json!("<token>"))
        .set("worker/resources/limits", json!({"memory": "<memory>"}))
        .set("worker/env", json!([{"name": "A", "value": "<flag>"}]));
    let of = shape(
        &template,
        "variables:\n  deadline: {type: integer, minimum: 60, maximum: 600, example: 60}\n  token: {type: boolean, example: false}\n  memory: {type: quantity, minimum: 64Mi, maximum: 1Gi, example: 64Mi}\n  flag: {type: boolean, example: true}",
    );
    let good = template
        .set("/spec/activeDeadlineSeconds", json!(600))
        .set("pod/automountServiceAccountToken", json!(false))
        .set("worker/resources/limits/memory", json!("1024Mi"))
        .set("worker/env/0/value", json!("false"));
    admits(&of, &good);
    admits(&of, &good.clone().set("worker/resources/limits/memory", json!(67_108_864)));
    for (pointer, path, value, said) in [
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!("60"),
            "must be an integer from 60 to 600, and this is a string",
        ),
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!(59),
            "must be an integer from 60 to 600",
        ),
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!(601),
            "must be an integer from 60 to 600",
        ),
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!(0),
            "must be an integer from 60 to 600",
        ),
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!(60.5),
            "and this is a number",
        ),
        (
            "/spec/activeDeadlineSeconds",
            "spec.activeDeadlineSeconds",
            json!(null),
            "missing: the template has `<deadline>`",
        ),
        (
            "pod/automountServiceAccountToken",
            "pod.automountServiceAccountToken",
            json!("true"),
            "must be true or false, and this is a string",
        ),
        (
            "worker/resources/limits/memory",
            "worker.resources.limits.memory",
            json!("2Gi"),
            "must be a quantity from 64Mi to 1Gi",
        ),
        (
            "worker/resources/limits/memory",
            "worker.resources.limits.memory",
            json!("63Mi"),
            "must be a quantity",
        ),
        (
            "worker/resources/limits/memory",
            "worker.resources.limits.memory",
            json!("0"),
            "must be a quantity",
        ),
        (
            "worker/resources/limits/memory",
            "worker.resources.limits.memory",
            json!("lots"),
            "must be a quantity from 64Mi to 1Gi, and this is a string",
        ),
        ("worker/env/0/value", "worker.env[A].value", json!("True"), "must be true or false"),
        (
            "worker/env/0/value",
            "worker.env[A].value",
            json!(true),
            "a string is expected here, not a boolean",
        ),
    ] {
        refuses(&of, &good.clone().set(pointer, value), &[(path, said)]);
    }
}

#[test]
fn a_variable_has_one_value_everywhere() {
    let env = |b: &str| json!([{"name": "A", "value": "<id>"}, {"name": "B", "value": b}]);
    let template =
        job().set("worker/env", env("x-<id>")).set("worker/args", json!(["--id", "<id>"]));
    let of = shape(&template, "variables: {id: {pattern: '[a-z]+', example: a}}");
    let values = |arg: &str, a: &str, b: &str| {
        job()
            .set("worker/args", json!(["--id", arg]))
            .set("worker/env", json!([{"name": "A", "value": a}, {"name": "B", "value": b}]))
    };
    admits(&of, &values("q", "q", "x-q"));
    // Wherever it differs, the first place in the template's order is the one that holds.
    let first = "spec.template.spec.containers[worker].args[1]";
    let said = format!("`id` has another value here than at {first}");
    refuses(&of, &values("q", "r", "x-q"), &[("worker.env[A].value", &said)]);
    refuses(&of, &values("q", "q", "x-r"), &[("worker.env[B].value", &said)]);
    refuses(
        &of,
        &values("r", "q", "x-q"),
        &[("worker.env[A].value", &said), ("worker.env[B].value", &said)],
    );
    // A value that is none is one finding, and fixes nothing.
    refuses(
        &of,
        &values("7", "q", "x-q"),
        &[("worker.args[1]", "`id` must be a string that matches")],
    );
    // Whatever order the Job has.
    let reversed = values("q", "q", "x-r").reverse("worker/env");
    refuses(&of, &reversed, &[("worker.env[B].value", &said)]);
}

#[test]
fn one_value_across_types_and_spellings() {
    let template = job()
        .set("/spec/activeDeadlineSeconds", json!("<num>"))
        .set("worker/args", json!(["--deadline=<num>"]));
    let of =
        shape(&template, "variables: {num: {type: integer, minimum: 1, maximum: 99, example: 1}}");
    let both = |n: i64, arg: &str| {
        job().set("/spec/activeDeadlineSeconds", json!(n)).set("worker/args", json!([arg]))
    };
    admits(&of, &both(60, "--deadline=60"));
    refuses(
        &of,
        &both(60, "--deadline=61"),
        &[(ARG, "`num` has another value here than at spec.activeDeadlineSeconds")],
    );

    let resources = |request: &str, limit: &str| {
        job().set(
            "worker/resources",
            json!({"requests": {"memory": request}, "limits": {"memory": limit}}),
        )
    };
    let of = shape(
        &resources("<m>", "<m>"),
        "variables: {m: {type: quantity, minimum: 1Mi, maximum: 4Gi, example: 1Gi}}",
    );
    admits(&of, &resources("1Gi", "1024Mi"));
    refuses(
        &of,
        &resources("1Gi", "1G"),
        &[("worker.resources.requests.memory", "`m` has another value here than at spec")],
    );
}

#[test]
fn the_same_variable_twice_in_one_string() {
    let of = with("<v>/<v>", "v: {pattern: '[a-z]+', example: a}");
    accepts(&of, &["ab/ab"]);
    rejects(&of, &["ab/ac"], "`v` has another value here than at");
    rejects(&of, &["1/2"], "`<v>` must be a string");
}

#[test]
fn several_variables_of_fixed_length() {
    let of = with(
        "<a><b>!",
        "a: {pattern: '[0-9]{4}', example: '1234'}, b: {pattern: '[0-9]+', example: '1'}",
    );
    accepts(&of, &["12345!", "1234567!"]);
    rejects(&of, &["1234!"], "and `<b>` must be");
    rejects(&of, &["123!", "1234567", "12345!!"], "");
}

#[test]
fn several_variables_of_which_no_word_begins_another() {
    let of = with("<a><b>", "a: {enum: [home, work]}, b: {pattern: '[a-z]*', example: x}");
    accepts(&of, &["home", "homehome", "workx"]);
    rejects(&of, &["hom", "xhome", ""], "the template has `<a><b>` here");
    rejects(&of, &["home1"], "and `<b>` must be");
}

#[test]
fn several_variables_around_a_delimiter() {
    let of = with(
        "<a>/<b>/<a>.git",
        "a: {pattern: '[a-z]+', example: x}, b: {pattern: '[a-z]+', example: z}",
    );
    accepts(&of, &["x/y/x.git"]);
    rejects(&of, &["x/y/z.git"], "`a` has another value here");
    rejects(&of, &["x/y.git", "x/y/x", "x//x.git"], "");
    let two =
        with("<a>/<b>", "a: {pattern: '[a-z]+', example: x}, b: {pattern: '[a-z/]*', example: z}");
    accepts(&two, &["x/", "x/y", "x/y/z"]);
    rejects(&two, &["x", "/y", "X/y", "x/Y"], "");
}

#[test]
fn a_place_named_by_at_is_a_variable() {
    let template = job().set("/spec/activeDeadlineSeconds", json!(300));
    let of = shape(
        &template,
        "variables: {num: {type: integer, minimum: 60, maximum: 600, at: [$.spec.activeDeadlineSeconds]}}",
    );
    admits(&of, &template);
    admits(&of, &job().set("/spec/activeDeadlineSeconds", json!(60)));
    let path = "spec.activeDeadlineSeconds";
    refuses(&of, &job().set("/spec/activeDeadlineSeconds", json!(601)), &[(path, "60 to 600")]);
    refuses(&of, &job(), &[(path, "missing")]);
}

#[test]
fn a_variable_among_the_keys_of_a_map_and_in_an_unknown_place() {
    let template = job()
        .set("/metadata/annotations", json!({"run": "r-<id>"}))
        .set("/spec/brandNew", json!({"deep": ["<id>", 1]}));
    let of = shape(&template, "variables: {id: {pattern: '[a-z]+', example: a}}");
    let values = |a: &str, b: Value| {
        job()
            .set("/metadata/annotations", json!({"run": a}))
            .set("/spec/brandNew", json!({"deep": [b, 1]}))
    };
    admits(&of, &values("r-b", json!("b")));
    refuses(&of, &values("r-b", json!(1)), &[("spec.brandNew.deep[0]", "and this is an integer")]);
    refuses(
        &of,
        &values("r-b", json!("c")),
        &[("spec.brandNew.deep[0]", "another value here than at metadata.annotations.run")],
    );
}
