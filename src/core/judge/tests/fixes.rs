//! What a finding says is to be done, and which mistakes are told from others.

use serde_json::json;

use crate::core::judge::Finding;
use crate::core::shape::Shape;
use crate::core::testing::{Job, job, judge, shape};

/// Message and fix of each finding.
fn said(shape: &Shape, job: &Job) -> Vec<(String, String)> {
    let findings = judge(shape, job).findings;
    let said = |f: Finding| (f.message.into_owned(), f.help.unwrap_or_default().into_owned());
    findings.into_iter().map(said).collect()
}

#[track_caller]
fn says(shape: &Shape, job: &Job, message: &str, help: &str) {
    let found = said(shape, job);
    assert!(
        matches!(&found[..], [(m, h)] if m.contains(message) && h == help),
        "expected {message:?}, {help:?}, found {found:#?}"
    );
}

#[test]
fn what_is_missing_is_written_out_as_yaml_that_can_be_pasted() {
    let env = json!([
        {"name": "PLAIN", "value": "a"},
        {"name": "NUMBER", "value": "10"},
        {"name": "WORD", "value": "yes"},
        {"name": "COLON", "value": "a: b"},
        {"name": "ID", "value": "<id>"},
        {"name": "LONG", "value": "x".repeat(120)},
    ]);
    let template = job()
        .set("worker/env", env)
        .set("worker/resources/limits", json!({"cpu": "2", "memory": "2Gi"}))
        .set("/spec/activeDeadlineSeconds", json!(60));
    let of = shape(&template, "variables: {id: {pattern: '[a-z]+', example: x}}");
    let filled = Job(of.first().fill(&[]).unwrap().to_json());
    for (at, entry) in [
        (0, "add `- {name: PLAIN, value: a}`"),
        (1, "add `- {name: NUMBER, value: \"10\"}`"),
        (2, "add `- {name: WORD, value: \"yes\"}`"),
        (3, "add `- {name: COLON, value: \"a: b\"}`"),
        (4, "add `- {name: ID, value: \"<id>\"}`"),
        (5, "copy it from the template job.yaml"),
    ] {
        let without = filled.clone().remove(&format!("worker/env/{at}"));
        says(&of, &without, "missing: ", entry);
    }
    let without = |pointer| filled.clone().remove(pointer);
    says(&of, &without("worker/resources/limits/cpu"), "`2`", "add `cpu: \"2\"`");
    says(&of, &without("worker/resources/limits/memory"), "`2Gi`", "add `memory: 2Gi`");
    let deadline = "add `activeDeadlineSeconds: 60`";
    says(&of, &without("/spec/activeDeadlineSeconds"), "60", deadline);
}

#[test]
fn an_image_is_told_by_its_digest() {
    let image = |end: &str| format!("registry.example/a/worker{end}");
    let pinned = format!("@sha256:{}", "a".repeat(64));
    let of = shape(&job().set("worker/image", json!(image(&pinned))), "");
    let message = |end: &str| said(&of, &job().set("worker/image", json!(image(end)))).remove(0).0;
    assert!(message(":1").starts_with("an image without the digest that pins it: the template"));
    let other = format!("@sha256:a{}", "b".repeat(63));
    assert!(message(&other).starts_with("the digest is another one: the template has `registry"));
    let of_another = message(&format!("-2@sha256:{}", "a".repeat(64)));
    assert!(of_another.starts_with("the template has `registry"), "{of_another}");
}

#[test]
fn one_mistake_that_is_two_findings_is_named_by_both() {
    let env = |names: &[&str]| {
        let entries: Vec<_> = names.iter().map(|n| json!({"name": n, "value": "x"})).collect();
        job().set("worker/env", json!(entries))
    };
    let of = shape(&env(&["HOME", "TMPDIR", "A"]), "");
    let both = said(&of, &env(&["HOEM", "TMPDIR", "A"]));
    assert_eq!(both[0].0, "not in the template: did you mean `HOME`, which is missing?");
    assert_eq!(both[0].1, "rename it to `HOME`");
    assert!(both[1].0.ends_with("; is it what you called `HOEM`?"), "{both:?}");
    // One is extra and nothing like it is missing, or one letter, which is near every other.
    for names in [
        &["HOEM", "HOME", "TMPDIR", "A"][..],
        &["HOME", "TMPDIR", "B"],
        &["HOME", "A", "LOG_LEVEL"],
    ] {
        let found = said(&of, &env(names));
        assert!(found.iter().all(|(m, _)| !m.contains("did you mean")), "{found:?}");
    }
    // Two of which only one can be meant.
    let found = said(&of, &env(&["HOEM", "HOMEE", "TMPDIR", "A"]));
    let named = found.iter().filter(|(m, _)| m.contains("did you mean")).count();
    assert_eq!((found.len(), named), (3, 1), "{found:?}");
    // What all labels of a domain begin with is no likeness.
    let labels = |labels| job().set("/spec/template/metadata/labels", labels);
    let of = shape(&labels(json!({"app.example.net/tier": "x"})), "");
    let found = said(&of, &labels(json!({"app.example.net/owner": "x"})));
    assert!(found.iter().all(|(m, _)| !m.contains("did you mean")), "{found:?}");
}

#[test]
fn a_field_that_kubernetes_has_not() {
    let of = shape(&job().set("worker/tty", json!(true)), "");
    let base = job().set("worker/tty", json!(true));
    says(
        &of,
        &base.clone().set("pod/tty", json!(true)),
        "the template has it at spec.template.spec.containers[worker].tty",
        "move it to spec.template.spec.containers[worker].tty",
    );
    let none = "Kubernetes has no such field, and the template has no `envFrom` either";
    says(&of, &base.clone().set("worker/envfrom", json!([{}])), none, "take it out");
    let other = "Kubernetes has no such field (as of 1.37), and the template has none";
    says(&of, &base.clone().set("worker/somethingElse", json!(1)), other, "take it out");
    let image = "Kubernetes has no such field: did you mean `image`?";
    says(
        &of,
        &base.clone().set("worker/Image", json!("x")),
        image,
        "rename it to `image`, as in the template",
    );
    let long = "x".repeat(100_000);
    says(&of, &base.set(&format!("worker/{long}"), json!(1)), "nothing here", "take it out");
}

#[test]
fn the_order_is_said_if_it_is_short() {
    let of = shape(
        &job().set(
            "worker/env",
            json!([{"name": "A", "value": "x"}, {"name": "B", "value": "$(A)"}]),
        ),
        "",
    );
    let swapped = job()
        .set("worker/env", json!([{"name": "B", "value": "$(A)"}, {"name": "A", "value": "x"}]));
    says(&of, &swapped, "the order", "put them in this order: `A` and `B`");
}
