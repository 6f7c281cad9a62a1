//! A template without Job labels accepts none, or all of its Pod labels: the server copies them.

use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::testing::{Job, admits, document, job, read, refuses, shape};

const POD: &str = "/spec/template/metadata/labels";
const UID: &str = "5b3c6f0e-0000-4000-8000-000000000001";

fn template() -> Job {
    job().set(POD, json!({"app": "w", "example.org/tier": "x"}))
}

fn labelled(labels: Value) -> Job {
    template().set("/metadata/labels", labels)
}

/// The partial and wrong copies, with their findings.
fn refused() -> Vec<(Job, Vec<(&'static str, &'static str)>)> {
    let tier = "metadata.labels[example.org/tier]";
    vec![
        (labelled(json!({"app": "w"})), vec![(tier, "missing")]),
        (labelled(json!({"example.org/tier": "x"})), vec![("metadata.labels.app", "missing")]),
        (
            labelled(json!({"app": "v", "example.org/tier": "x"})),
            vec![("metadata.labels.app", "`w`")],
        ),
        (
            labelled(json!({"app": "w", "example.org/tier": "x", "a": "b"})),
            vec![("metadata.labels.a", "the template has only")],
        ),
        (labelled(json!({"a": "b"})), vec![("metadata.labels.a", "the template has only")]),
        (labelled(json!(["a"])), vec![("metadata.labels", "a map is expected here, not a list")]),
        (labelled(json!("a")), vec![("metadata.labels", "a map is expected here, not a string")]),
    ]
}

#[test]
fn none_or_all_labels_are_copied() {
    let shape = shape(&template(), "");
    admits(&shape, &template());
    admits(&shape, &labelled(json!({})));
    admits(&shape, &labelled(json!(null)));
    admits(&shape, &labelled(json!({"example.org/tier": "x", "app": "w"})));
    for (job, expected) in refused() {
        refuses(&shape, &job, &expected);
    }
}

#[test]
fn a_template_without_positions_says_the_same() {
    let template_node = crate::core::tree::Node::from_json(&template().0);
    let shape = Shape::load(&read(&document("")), &[template_node]).unwrap();
    admits(&shape, &template());
    for (job, expected) in refused() {
        refuses(&shape, &job, &expected);
    }
}

#[test]
fn generated_labels_are_copied_or_not() {
    let shape = shape(&template(), "");
    let copy = labelled(json!({"app": "w", "example.org/tier": "x", "job-name": "worker"}));
    admits(&shape, &copy);
    admits(&shape, &labelled(json!({"job-name": "worker"})));
    let wrong = copy.set("/metadata/labels/job-name", json!("other"));
    refuses(&shape, &wrong, &[("metadata.labels.job-name", "the template has only")]);

    let generated = json!({
        "app": "w", "example.org/tier": "x",
        "job-name": "worker", "batch.kubernetes.io/job-name": "worker",
        "controller-uid": UID, "batch.kubernetes.io/controller-uid": UID,
    });
    let seen = template()
        .set("/metadata/uid", json!(UID))
        .set(POD, generated.clone())
        .set("/spec/selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}));
    admits(&shape, &seen);
    admits(&shape, &seen.clone().set("/metadata/labels", generated));
    let partial = json!({"app": "w", "controller-uid": UID});
    refuses(
        &shape,
        &seen.set("/metadata/labels", partial),
        &[("metadata.labels[example.org/tier]", "missing")],
    );
}

#[test]
fn a_pod_label_that_deviates_is_one_finding() {
    let shape = shape(&template(), "");
    let other = template().set(&format!("{POD}/app"), json!("v"));
    refuses(&shape, &other, &[("spec.template.metadata.labels.app", "`w`")]);
    // The same when the server has copied it.
    let copied = other.set("/metadata/labels", json!({"app": "v", "example.org/tier": "x"}));
    refuses(&shape, &copied, &[("spec.template.metadata.labels.app", "`w`")]);
}

#[test]
fn a_template_with_job_labels_wants_exactly_these() {
    let own = job().set("/metadata/labels", json!({"app": "w"}));
    let shape_of = shape(&own, "");
    admits(&shape_of, &own);
    refuses(&shape_of, &job(), &[("metadata.labels", "missing")]);
    let extra = own.clone().set("/metadata/labels/a", json!("b"));
    refuses(&shape_of, &extra, &[("metadata.labels.a", "the template has only")]);
    // A Job without any gets its Pod's.
    let same = own.set(POD, json!({"app": "w"}));
    let of_same = shape(&same, "");
    admits(&of_same, &same.clone().remove("/metadata/labels"));
    let more = same.set(&format!("{POD}/tier"), json!("x"));
    let of_more = shape(&more, "");
    admits(&of_more, &more);
    let copied = more.remove("/metadata/labels");
    refuses(&of_more, &copied, &[("metadata.labels.tier", "the template has only")]);
}

#[test]
fn a_template_without_any_labels_accepts_none() {
    let plain = shape(&job(), "");
    refuses(
        &plain,
        &job().set("/metadata/labels", json!({"a": "b", "c": "d"})),
        &[("metadata.labels.a", "nothing here"), ("metadata.labels.c", "nothing here")],
    );
    let extra = [("spec.template.metadata.labels.a", "nothing here")];
    let in_pod = job().set(POD, json!({"a": "b"}));
    refuses(&plain, &in_pod, &extra);
    // The same when the server has copied it.
    refuses(&plain, &in_pod.set("/metadata/labels", json!({"a": "b"})), &extra);
}

#[test]
fn a_variable_in_a_copied_label_has_one_value() {
    let template = job().set(POD, json!({"run": "<id>"}));
    let shape = shape(&template, "variables: {id: {pattern: '[a-z]+', example: a}}");
    let of = |own: &str, pod: &str| {
        job().set(POD, json!({"run": pod})).set("/metadata/labels", json!({"run": own}))
    };
    admits(&shape, &of("b", "b"));
    let places = [("metadata.labels.run", "than at spec.template.metadata.labels.run")];
    refuses(&shape, &of("b", "c"), &places);
}
