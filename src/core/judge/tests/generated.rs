//! What the server generates: labels and selector are subtracted, but only with the values that it
//! generates, and only where it does.

use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::shape::job_rules::GENERATED_LABELS;
use crate::core::testing::{Job, admits, job, judge, refuses, shape};

const UID: &str = "5b3c6f0e-0000-4000-8000-000000000001";
const LABELS: &str = "/spec/template/metadata/labels";

/// The value that the server generates for a label of a Job of that name and uid.
fn generated(label: &str) -> &'static str {
    if label.ends_with("job-name") { "worker" } else { UID }
}

/// The pointer of a label.
fn label(labels: &str, key: &str) -> String {
    format!("{labels}/{}", key.replace('/', "~1"))
}

/// What a webhook sees of a Job: uid, labels and selector.
fn seen(job: Job) -> Job {
    let mut job = job
        .set("/metadata/uid", json!(UID))
        .set("/spec/selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}));
    for key in GENERATED_LABELS {
        job = job.set(&label(LABELS, key), json!(generated(key)));
    }
    job
}

/// A shape whose Pods have a label of their own.
fn plain() -> Shape {
    shape(&labelled(), "")
}

fn labelled() -> Job {
    job().set(LABELS, json!({"app": "w"}))
}

fn place(key: &str) -> String {
    let at = "spec.template.metadata.labels";
    if key.contains('/') { format!("{at}[{key}]") } else { format!("{at}.{key}") }
}

#[test]
fn what_the_server_generates_is_subtracted() {
    admits(&plain(), &seen(labelled()));
    refuses(&plain(), &seen(job()), &[("spec.template.metadata.labels", "missing")]);
    let extra = seen(labelled().set(&label(LABELS, "a"), json!("b")));
    refuses(&plain(), &extra, &[(&place("a"), "the template has only")]);
    // The same where the template has no labels at all.
    let bare = shape(&job(), "");
    admits(&bare, &seen(job()));
    assert_ne!(judge(&bare, &seen(labelled())).count, 0);
}

#[test]
fn a_generated_label_must_have_the_generated_value() {
    for key in GENERATED_LABELS {
        for wrong in [json!("another"), json!(""), json!(1), json!(null)] {
            let job = seen(labelled()).set(&label(LABELS, key), wrong);
            refuses(&plain(), &job, &[(&place(key), "the template has only")]);
        }
        // Each its own: a name is no uid.
        let other = if generated(key) == UID { "worker" } else { UID };
        let job = seen(labelled()).set(&label(LABELS, key), json!(other));
        refuses(&plain(), &job, &[(&place(key), "the template has only")]);
    }
}

#[test]
fn a_generated_label_may_be_missing_only_before_there_is_a_uid() {
    for key in GENERATED_LABELS {
        let job = seen(labelled()).remove(&label(LABELS, key));
        refuses(&plain(), &job, &[(&place(key), "the label that the server generates is missing")]);
    }
    for key in ["job-name", "batch.kubernetes.io/job-name"] {
        admits(&plain(), &labelled().set(&label(LABELS, key), json!("worker")));
        let wrong = labelled().set(&label(LABELS, key), json!("other"));
        refuses(&plain(), &wrong, &[(&place(key), "the template has only")]);
    }
    for key in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
        for value in [UID, "", "worker"] {
            let early = labelled().set(&label(LABELS, key), json!(value));
            refuses(&plain(), &early, &[(&place(key), "the template has only")]);
        }
    }
}

#[test]
fn the_selector_is_exactly_the_generated_one() {
    let own = ("spec.selector", "the selector is not exactly the one");
    let selector = |value: Value| seen(labelled()).set("/spec/selector", value);
    for wrong in [
        json!(null),
        json!({}),
        json!({"matchLabels": {}}),
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "another"}}),
        json!({"matchLabels": {"controller-uid": UID}}),
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": UID, "app": "w"}}),
        json!({
            "matchLabels": {"batch.kubernetes.io/controller-uid": UID},
            "matchExpressions": [{"key": "a", "operator": "Exists"}],
        }),
        json!("batch.kubernetes.io/controller-uid"),
    ] {
        refuses(&plain(), &selector(wrong), &[own]);
    }
    refuses(&plain(), &seen(labelled()).remove("/spec/selector"), &[own]);
    let nothing_else = json!({
        "matchLabels": {"batch.kubernetes.io/controller-uid": UID},
        "matchExpressions": [],
    });
    admits(&plain(), &selector(nothing_else));
}

#[test]
fn before_there_is_a_uid_there_is_no_selector() {
    let own = ("spec.selector", "the selector is not exactly the one");
    for nothing in [json!(null), json!({}), json!({"matchLabels": {}, "matchExpressions": []})] {
        admits(&plain(), &labelled().set("/spec/selector", nothing));
    }
    let early = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": UID}});
    refuses(&plain(), &labelled().set("/spec/selector", early), &[own]);
}

#[test]
fn generated_labels_are_ordinary_anywhere_else() {
    for (pointer, path) in [
        ("pod/nodeSelector", "pod.nodeSelector"),
        ("/metadata/annotations", "metadata.annotations"),
        ("/spec/template/metadata/annotations", "spec.template.metadata.annotations"),
    ] {
        let job =
            seen(labelled()).set(pointer, json!({"job-name": "worker", "controller-uid": UID}));
        refuses(&plain(), &job, &[(path, "nothing here")]);
    }
}

#[test]
fn generated_labels_may_stand_at_the_job_too() {
    for key in GENERATED_LABELS {
        let own = label("/metadata/labels", key);
        admits(&plain(), &seen(labelled()).set(&own, json!(generated(key))));
        let wrong = seen(labelled()).set(&own, json!("another"));
        let path = place(key).replace("spec.template.", "");
        refuses(&plain(), &wrong, &[(&path, "the template has only")]);
    }
}

#[test]
fn with_a_manual_selector_nothing_is_generated() {
    let template = job()
        .set("/spec/manualSelector", json!(true))
        .set("/spec/selector", json!({"matchLabels": {"app": "w"}}))
        .set(LABELS, json!({"app": "w"}));
    let manual = shape(&template, "");
    admits(&manual, &template);
    admits(&manual, &template.clone().set("/metadata/uid", json!(UID)));
    let other = template.clone().set("/spec/selector/matchLabels/app", json!("x"));
    refuses(&manual, &other, &[("spec.selector.matchLabels.app", "`w`")]);
    let without = template.clone().remove("/spec/selector");
    refuses(&manual, &without, &[("spec.selector", "missing")]);
    let generated = template.clone().set(&label(LABELS, "job-name"), json!("worker"));
    refuses(
        &manual,
        &generated,
        &[("spec.template.metadata.labels.job-name", "the template has only")],
    );
    // And the other way round.
    let manual = labelled().set("/spec/manualSelector", json!(true));
    refuses(&plain(), &manual, &[("spec.manualSelector", "false")]);
}
