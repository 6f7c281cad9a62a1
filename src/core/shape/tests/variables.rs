//! What can be wrong with a variable.

use serde_json::json;

use crate::core::testing::{Job, job, mistaken, shape};

/// A template that uses `v`.
fn using() -> Job {
    job().set("worker/args", json!(["<v>"]))
}

/// The shape of one variable.
fn of(variable: &str) -> String {
    format!("variables: {{v: {variable}}}")
}

#[track_caller]
fn wrong(variable: &str, expected: &[(&str, &str)]) {
    mistaken(&using(), &of(variable), expected);
}

#[test]
fn a_variable_needs_a_constraint() {
    wrong("{example: a}", &[("{example", "a variable needs a constraint: any string would pass")]);
    wrong("{minLength: 3, example: abc}", &[("{minLength", "needs a constraint")]);
    wrong(
        "a",
        &[("a}", "a variable is a map, not a string"), ("\"<v>\"", "no variable `v` is declared")],
    );
    mistaken(&job(), "variables: [a]", &[("[a]", "`variables` of spec is a map, not a list")]);
}

#[test]
fn a_number_needs_both_bounds() {
    wrong(
        "{type: integer, minimum: 1, example: 1}",
        &[("{type", "a variable of type integer needs `maximum`")],
    );
    wrong(
        "{type: integer, maximum: 1, example: 1}",
        &[("{type", "needs `minimum`; 0 means \"no limit\"")],
    );
    wrong("{type: integer, example: 1}", &[("{type", "`minimum`"), ("{type", "`maximum`")]);
    wrong(
        "{type: integer, minimum: 2, maximum: 1, example: 1}",
        &[("maximum:", "`maximum` of a variable is below its `minimum`")],
    );
    wrong(
        "{type: integer, minimum: '1', maximum: 2, example: 1}",
        &[(
            "'1'",
            "a value of type integer is expected, not a string; an integer is written without quotes",
        )],
    );
    let quantity = job().set("worker/resources/limits", json!({"memory": "<v>"}));
    wrong("{type: quantity, minimum: 1Mi, example: 1Mi}", &[("{type", "needs `maximum`")]);
    mistaken(
        &quantity,
        &of("{type: quantity, minimum: 2Mi, maximum: 1Mi, example: 2Mi}"),
        &[("maximum:", "below")],
    );
    wrong(
        "{type: quantity, minimum: much, maximum: 1Mi, example: 1Mi}",
        &[("much", "a quantity is written like `64Mi` or `500m`")],
    );
}

#[test]
fn a_constraint_that_cannot_be_read_is_one_mistake() {
    let quantity = job().set("worker/resources/limits", json!({"memory": "<v>"}));
    mistaken(
        &quantity,
        &of("{type: quantity, minimum: 1Mi, example: 1Mi}"),
        &[("{type", "a variable of type quantity needs `maximum`")],
    );
}

#[test]
fn a_variable_needs_an_example_that_fits() {
    for variable in [
        "{pattern: '[a-z]+'}",
        "{maxLength: 3}",
        "{type: integer, minimum: 1, maximum: 2}",
        "{type: boolean}",
    ] {
        wrong(variable, &[("{", "a variable needs an `example`")]);
    }
    wrong(
        "{pattern: '[a-z]+', example: A}",
        &[("A}", "the example does not satisfy its own variable: a string that matches `[a-z]+`")],
    );
    wrong(
        "{pattern: '[a-z]+', example: 1}",
        &[("1}", "a value of type string is expected, not an integer; put it in quotes")],
    );
    wrong(
        "{type: integer, minimum: 1, maximum: 2, example: 3}",
        &[("3}", "does not satisfy its own variable: an integer from 1 to 2")],
    );
    wrong("{maxLength: 2, example: abc}", &[("abc", "a string of at most 2 characters")]);
    // What has an example by itself.
    shape(&using(), &of("{enum: [a, b]}"));
    shape(&using(), &of("{const: a}"));
    shape(&using(), &of("{type: integer, minimum: 1, maximum: 2, example: '1'}"));
}

#[test]
fn constraint_words_belong_to_their_type() {
    wrong(
        "{type: text, maxLength: 3, example: a}",
        &[("text", "no type `text`; one of `string`, `integer`, `boolean` or `quantity`")],
    );
    wrong("{type: int, minimum: 1, maximum: 2, example: 1}", &[("int,", "no type `int`")]);
    wrong(
        "{type: integer, minimum: 1, maximum: 2, pattern: a, example: 1}",
        &[("pattern:", "`pattern` says nothing about a integer")],
    );
    wrong(
        "{maxLength: 3, minimum: 1, example: a}",
        &[("minimum:", "`minimum` says nothing about a string")],
    );
    wrong("{enum: [a], pattern: a}", &[("pattern:", "`pattern` says nothing about const or enum")]);
    wrong("{type: boolean, minimum: 1, example: true}", &[("minimum:", "nothing about a boolean")]);
    wrong("{const: a, enum: [a]}", &[("enum:", "a variable has `const` or `enum`, not both")]);
    wrong("{enum: []}", &[("enum:", "`enum` of a variable is empty: no value could ever pass")]);
    wrong("{enum: [a, 1]}", &[("1]", "a value of type string is expected, not an integer")]);
    wrong(
        "{maxLength: -1, example: a}",
        &[("-1", "an integer of at least 0, not an integer"), ("{maxLength", "needs a constraint")],
    );
}

#[test]
fn a_pattern_is_a_regular_expression_by_itself() {
    for pattern in ["(", "a)|(?:b", "[z-a]", "(?=a)", "a{2,1}", "(?x)a # x"] {
        wrong(
            &format!("{{pattern: '{pattern}', example: a}}"),
            &[("'", "the pattern is no regular expression")],
        );
    }
}

#[test]
fn names_and_placeholders_can_be_told_apart() {
    let named = |name: &str| format!("variables: {{{name}: {{const: a}}}}");
    for name in ["1a", "'a b'", "a.b"] {
        let bare = name.trim_matches('\'');
        mistaken(
            &job().set("worker/args", json!([format!("<{bare}>")])),
            &named(name),
            &[(name, "is no variable name; a letter, then")],
        );
    }
    mistaken(
        &using(),
        "variables: {v: {const: a, placeholder: ''}}",
        &[("placeholder:", "the placeholder of a variable is empty")],
    );
    let two = |one: &str, other: &str| {
        format!(
            "variables:\n  v: {{const: a, placeholder: {one}}}\n  w: {{const: b, placeholder: {other}}}"
        )
    };
    let uses = job().set("worker/args", json!(["RUN", "RUN_ID"]));
    mistaken(
        &uses,
        &two("RUN", "RUN_ID"),
        &[
            ("w:", "the placeholder `RUN_ID` of `w` contains `RUN`, the one of `v`"),
            ("w:", "never used"),
        ],
    );
    mistaken(
        &uses,
        &two("RUN_ID", "RUN"),
        &[("v:", "the placeholder `RUN_ID` of `v` contains `RUN`, the one of `w`")],
    );
    mistaken(&uses, &two("RUN", "RUN"), &[("w:", "contains `RUN`"), ("w:", "never used")]);
    shape(&job().set("worker/args", json!(["RUN", "ID"])), &two("RUN", "ID"));
}

#[test]
fn a_variable_is_used() {
    mistaken(
        &job(),
        &of("{const: a}"),
        &[("v:", "the variable `v` is never used; the template has no `<v>`")],
    );
    mistaken(
        &job(),
        "variables: {v: {const: a, placeholder: RUN}}",
        &[("v:", "the template has no `RUN`")],
    );
    // A literal is no use of it.
    mistaken(&using(), "variables: {v: {const: a}}\nliterals: [\"<v>\"]", &[("v:", "never used")]);
}

#[test]
fn the_right_types_stand_in_their_places() {
    let deadline = job().set("/spec/activeDeadlineSeconds", json!("<v>"));
    mistaken(
        &deadline,
        &of("{const: a}"),
        &[(
            "\"<v>\"",
            "the variable `v` is of type string, and the API has an integer here; give it `type: integer`",
        )],
    );
    let cpu = job().set("worker/resources/limits", json!({"cpu": "<v>"}));
    mistaken(
        &cpu,
        &of("{type: integer, minimum: 1, maximum: 2, example: 1}"),
        &[("\"<v>\"", "give it `type: quantity`")],
    );
    mistaken(
        &using(),
        &of("{type: quantity, minimum: 1, maximum: 2, example: 1}"),
        &[("\"<v>\"", "the variable `v` is of type quantity, and the API has a string here")],
    );
    let tty = job().set("worker/tty", json!("<v>"));
    mistaken(&tty, &of("{enum: ['true']}"), &[("\"<v>\"", "give it `type: boolean`")]);
    mistaken(
        &deadline.set("/spec/activeDeadlineSeconds", json!("1<v>")),
        &of("{type: integer, minimum: 1, maximum: 2, example: 1}"),
        &[(
            "\"1<v>\"",
            "inside a longer string where the API has no string; make the placeholder the whole value",
        )],
    );
}
