//! Attempts to get more out of an update than it may give.

use std::time::Instant;

use serde_json::{Value, json};

use crate::core::judge::update::{Old, Start};
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::testing::{Job, NAMESPACE, job, shape, short};
use crate::core::tree::Node;

fn verdict(shape: &Shape, old: &Job, new: &Job) -> Verdict {
    let (before, after) = (Node::from_json(&old.0), Node::from_json(&new.0));
    let read = || Some(&before);
    Shapes::new(vec![shape.clone()]).unwrap().judge(&Request {
        kind: "Job",
        namespace: NAMESPACE,
        operation: Operation::Update,
        object: &after,
        old: Some(Old::new(&read)),
    })
}

/// The update is refused, for findings at these places at least.
#[track_caller]
fn refuses(shape: &Shape, old: &Job, new: &Job, expected: &[&str]) {
    let verdict = verdict(shape, old, new);
    let places: Vec<String> = verdict.findings.findings.iter().map(|f| short(&f.path)).collect();
    assert_eq!(verdict.kind, VerdictKind::Deny, "{verdict:#?}");
    assert_eq!(places, expected, "{verdict:#?}");
}

fn env(entries: &[(&str, &str)]) -> Value {
    json!(entries.iter().map(|(n, v)| json!({"name": n, "value": v})).collect::<Vec<_>>())
}

/// A longer life lets the Pods of a Job that does not fit be replaced for longer.
#[test]
fn a_job_that_does_not_fit_gets_no_more_time() {
    let template = job().set("/spec/activeDeadlineSeconds", json!(60));
    let shape = shape(
        &template,
        "variables: {deadline: {type: integer, minimum: 60, maximum: 3600, at: [$.spec.activeDeadlineSeconds]}}",
    );
    let bad = template.set("worker/image", json!("registry.example/other:1"));
    let longer = bad.clone().set("/spec/activeDeadlineSeconds", json!(3600));
    refuses(&shape, &bad, &longer, &["worker.image"]);
    let verdict = verdict(&shape, &bad, &longer);
    assert_eq!(verdict.start, Some(Start::Raised("activeDeadlineSeconds")));
    // A shorter one is what an operator may want.
    assert_eq!(self::verdict(&shape, &longer, &bad).kind, VerdictKind::Allow);
}

/// Where a value holds `$(`, an entry is worth something else at another place.
#[test]
fn entries_that_do_not_belong_stay_where_they_are() {
    let template = job().set("worker/env", env(&[("A", "good"), ("B", "$(A)")]));
    let shape = shape(&template, "");
    let of = |entries: &[(&str, &str)]| job().set("worker/env", env(entries));
    // The second A comes to stand before its reader.
    let old = of(&[("A", "good"), ("B", "$(A)"), ("A", "evil")]);
    let new = of(&[("A", "good"), ("A", "evil"), ("B", "$(A)")]);
    refuses(&shape, &old, &new, &["worker.env[A]"]);
    let old = of(&[("A", "good"), ("B", "$(A)"), ("Y", "$(X)"), ("X", "1")]);
    let new = of(&[("A", "good"), ("B", "$(A)"), ("X", "1"), ("Y", "$(X)")]);
    refuses(&shape, &old, &new, &["worker.env[X]", "worker.env[Y]"]);
    // What it stands beside may go, or come right.
    let two = |first: &str, second: &str| {
        let of = |name: &str| json!({"name": name, "image": "registry.example/worker:1"});
        job().set("pod/initContainers", json!([of(first), of(second)]))
    };
    let shape = self::shape(&job(), "");
    refuses(&shape, &two("x", "y"), &two("y", "x"), &["pod.initContainers"]);
}

/// Null is nothing for a field, and something in a list or a map.
#[test]
fn a_null_that_is_stored_is_a_difference() {
    let shape = shape(&job(), "");
    let tolerations = |list: Value| job().set("pod/tolerations", list);
    for (old, new) in [
        (tolerations(json!([{"key": "a"}])), tolerations(json!([{"key": "a"}, null]))),
        (job().set("worker/args", json!(["a"])), job().set("worker/args", json!(["a", null]))),
        (
            job().set("pod/nodeSelector", json!({"a": "b"})),
            job().set("pod/nodeSelector", json!({"a": "b", "c": null})),
        ),
    ] {
        assert_eq!(verdict(&shape, &old, &new).kind, VerdictKind::Deny, "{}", new.0);
    }
    let fields = job().set("pod/tolerations", json!([{"key": "a", "value": null}]));
    assert_eq!(
        verdict(&shape, &tolerations(json!([{"key": "a"}])), &fields).kind,
        VerdictKind::Allow
    );
}

/// A report cuts keys; an identity does not.
#[test]
fn keys_that_look_the_same_in_a_report_are_two() {
    let shape = shape(&job(), "");
    let of = |last: &str| {
        job().set("/metadata/annotations", json!({format!("{}{last}", "a".repeat(80)): "x"}))
    };
    let verdict = verdict(&shape, &of("1"), &of("2"));
    assert_eq!(verdict.kind, VerdictKind::Deny);
    let of = |last: &str| {
        let volume = json!({"name": format!("{}{last}", "a".repeat(80)), "emptyDir": {}});
        job().set("pod/volumes", json!([volume]))
    };
    assert_eq!(self::verdict(&shape, &of("1"), &of("2")).kind, VerdictKind::Deny);
}

/// A client that asks the webhook past the API server may send fields that no API server keeps, and
/// pays for each of them once.
#[test]
fn an_update_costs_no_more_than_its_size() {
    let shape = shape(&job().set("/metadata/labels", json!({"a": "b"})), "");
    let seconds = |count: usize| {
        let many: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("a{n}"), json!("x"))).collect();
        let mut metadata = many.clone();
        metadata.extend([("name".to_owned(), json!("worker")), ("labels".to_owned(), many.into())]);
        let old = job().set("/metadata", metadata.into());
        let new = old.clone().set("/spec/ttlSecondsAfterFinished", json!(7));
        let took = (0..3).map(|_| {
            let began = Instant::now();
            let verdict = verdict(&shape, &old, &new);
            assert_eq!((verdict.findings.count, verdict.findings.old), (1, 2 * count + 1));
            began.elapsed().as_secs_f64()
        });
        took.fold(f64::MAX, f64::min)
    };
    // Eight times as much; the square of it would be 64 times.
    let (small, large) = (seconds(2_000), seconds(16_000));
    assert!(large < 20.0 * small, "{small} s, and {large} s for eight times as much");
}
