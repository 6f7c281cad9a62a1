//! What can be wrong with a template.

use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::testing::{Job, document, job, mistaken, read, shape};

#[test]
fn a_template_is_a_job() {
    mistaken(
        &job().set("/kind", json!("Deployment")),
        "",
        &[("\"Deployment\"", "a template is a Job or a CronJob of `batch/v1`")],
    );
    mistaken(
        &job().set("/apiVersion", json!("batch/v1beta1")),
        "",
        &[("\"batch/v1beta1\"", "a template is a Job or a CronJob of `batch/v1`")],
    );
    for no_map in [json!([]), json!("Job"), json!(null)] {
        let loaded =
            Shape::load(&read(&document("")), &[crate::core::tree::Node::from_json(&no_map)]);
        let mistakes = loaded.expect_err("it is no map");
        assert!(
            mistakes[0].message.starts_with("a template is a Job or a CronJob, not "),
            "{mistakes:?}"
        );
        assert_eq!(mistakes[0].source, 1);
    }
}

#[test]
fn values_have_the_types_of_the_api() {
    for (pointer, value, at, said) in [
        (
            "/spec/backoffLimit",
            json!("3"),
            "\"3\"",
            "the API has an integer here, not a string; take the quotes away",
        ),
        ("/spec/backoffLimit", json!(1.5), "1.5", "the API has an integer here, not a number"),
        ("pod/hostNetwork", json!("true"), "\"true\"", "the API has a boolean here, not a string"),
        (
            "worker/env",
            json!([{"name": "A", "value": 1}]),
            "1",
            "the API has a string here, not an integer; put it in quotes",
        ),
        ("worker/args", json!("a"), "\"a\"", "the API has a list here, not a string"),
        ("worker/resources", json!([]), "[]", "the API has a map here, not a list"),
        (
            "worker/resources/limits",
            json!({"cpu": "much"}),
            "\"much\"",
            "the API has a quantity here, not a string",
        ),
        ("pod/volumes", json!(["v"]), "\"v\"", "an item of this list is not a string"),
        (
            "/metadata/annotations",
            json!({"a": true}),
            "true",
            "the API has a string here, not a boolean; put it in quotes",
        ),
        (
            "worker/livenessProbe",
            json!({"httpGet": {"port": true}}),
            "true",
            "the API has an integer or a string here",
        ),
    ] {
        mistaken(&job().set(pointer, value), "", &[(at, said)]);
    }
}

#[test]
fn a_key_that_stands_twice_is_a_mistake_that_names_both() {
    let twice = |pointer: &str, one: Value, key: &str| {
        let template = job().set(pointer, json!([one, one]));
        let mistakes = crate::core::testing::load(&template, "").expect_err(pointer);
        let text = template.text();
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let mistake = &mistakes[0];
        assert!(
            mistake.message.starts_with(&format!("`{key}` stands twice in this list")),
            "{mistake}"
        );
        let first = mistake.also.unwrap();
        assert!(
            first < mistake.at
                && text[first as usize..]
                    .starts_with(&text[mistake.at as usize..=mistake.at as usize])
        );
    };
    twice("worker/env", json!({"name": "A", "value": "1"}), "A");
    twice("worker/ports", json!({"containerPort": 80}), "80/TCP");
    twice("pod/imagePullSecrets", json!({"name": "s"}), "s");
    twice("pod/volumes", json!({"name": "v"}), "v");
    twice("/metadata/finalizers", json!("a.b/c"), "a.b/c");
    // As the server fills in the protocol.
    let ports = json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]);
    mistaken(&job().set("worker/ports", ports), "", &[("{", "`80/TCP` stands twice")]);
    shape(
        &job().set(
            "worker/ports",
            json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]),
        ),
        "",
    );
}

#[test]
fn what_the_server_generates_is_not_written() {
    for key in ["job-name", "batch.kubernetes.io/controller-uid"] {
        let labels = json!({key: "x"});
        let said = format!(
            "the server generates the label `{key}`; leave it out: it is checked by itself"
        );
        let at = format!("\"{key}\"");
        mistaken(&job().set("/spec/template/metadata/labels", labels.clone()), "", &[(&at, &said)]);
        mistaken(&job().set("/metadata/labels", labels), "", &[(&at, &said)]);
    }
    let selector = json!({"matchLabels": {"a": "b"}});
    mistaken(
        &job().set("/spec/selector", selector.clone()),
        "",
        &[(
            "{",
            "the server generates the selector of a Job; leave it out, or set `manualSelector: true`",
        )],
    );
    let manual = job()
        .set("/spec/selector", selector)
        .set("/spec/manualSelector", json!(true))
        .set("/spec/template/metadata/labels", json!({"a": "b", "job-name": "x"}));
    shape(&manual, "");
}

#[test]
fn mistakes_in_an_inline_template_are_in_the_shapes_text() {
    let inline = |job: &Job| format!("templates:\n- {}", job.0);
    let text = document(&inline(&job().set("/spec/backoffLimit", json!("3"))));
    let mistakes = Shape::load(&read(&text), &[]).expect_err("a quoted integer");
    assert_eq!((mistakes.len(), mistakes[0].source), (1, 0));
    assert!(text[mistakes[0].at as usize..].starts_with("\"3\""));
    Shape::load(&read(&document(&inline(&job()))), &[]).unwrap();
}

#[test]
fn a_template_that_its_own_shape_refuses_is_a_mistake() {
    let template = job().set("worker/args", json!(["$(<v>)"]));
    mistaken(
        &template,
        "variables: {v: {maxLength: 3, example: x}}",
        &[(
            "\"$(<v>)\"",
            "the shape refuses its own template at spec.template.spec.containers[worker].args[0]: a variable's value takes part in `$(…)`",
        )],
    );
    // A default that the server computes from the example is another than the template says.
    let image = job()
        .set("worker/image", json!("r.example/w:<tag>"))
        .set("worker/imagePullPolicy", json!("Always"));
    shape(&image, "variables: {tag: {pattern: '[a-z0-9]+', example: '1'}}");
}

#[test]
fn samples_of_one_variable_are_one_value() {
    let template = job().set("/metadata/annotations", json!({"a": "1", "b": "2"}));
    let both =
        "variables: {v: {maxLength: 3, at: [$.metadata.annotations.a, $.metadata.annotations.b]}}";
    let mistakes = crate::core::testing::load(&template, both).expect_err("two samples");
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert!(template.text()[mistakes[0].at as usize..].starts_with("\"2\""), "{mistakes:?}");
    shape(&template.set("/metadata/annotations/b", json!("1")), both);
}

#[test]
fn the_filled_template_is_the_job_that_must_pass() {
    let template = job()
        .set("worker/args", json!(["--run=<run>", "<kind>"]))
        .set("/spec/activeDeadlineSeconds", json!("<deadline>"))
        .set("/metadata/annotations", json!({"a": "sample"}));
    let of = shape(
        &template,
        "variables:\n  run: {pattern: '[a-z]+', example: abc}\n  kind: {enum: [x, z]}\n  deadline: {type: integer, minimum: 1, maximum: 9, example: 5}\n  note: {maxLength: 9, at: [$.metadata.annotations.a]}",
    );
    let filled = of.first().fill(&[]).unwrap().to_json();
    assert_eq!(
        filled.pointer("/spec/template/spec/containers/0/args").unwrap(),
        &json!(["--run=abc", "x"])
    );
    assert_eq!(filled.pointer("/spec/activeDeadlineSeconds").unwrap(), 5);
    assert_eq!(filled.pointer("/metadata/annotations/a").unwrap(), "sample");
    crate::core::testing::admits(&of, &Job(filled));

    let values = of.first().settings([("run", "xyz"), ("deadline", "7"), ("kind", "z")]).unwrap();
    let filled = of.first().fill(&values).unwrap().to_json();
    assert_eq!(
        filled.pointer("/spec/template/spec/containers/0/args").unwrap(),
        &json!(["--run=xyz", "z"])
    );
    assert_eq!(filled.pointer("/spec/activeDeadlineSeconds").unwrap(), 7);
    // What is no value of the type stays text, and is refused.
    let wrong =
        of.first().fill(&of.first().settings([("deadline", "07")]).unwrap()).unwrap().to_json();
    assert_eq!(wrong.pointer("/spec/activeDeadlineSeconds").unwrap(), "07");
    let unknown = of.first().settings([("rum", "a")]).unwrap_err();
    assert_eq!(unknown.to_string(), "the shape has no variable `rum`; did you mean `run`?");
}
