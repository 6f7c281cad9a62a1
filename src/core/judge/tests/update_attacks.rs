//! Attempts to get more out of an update than it may give.

use serde_json::{Value, json};

use super::update::verdict;
use crate::core::judge::VerdictKind;
use crate::core::judge::update::Start;
use crate::core::shape::Shape;
use crate::core::testing::{Job, job, shape, short};

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

/// The server answers with null or with an empty list, whichever a client has sent.
#[test]
fn an_empty_list_is_no_other_value_than_none() {
    let policy = |rules: Value| job().set("/spec/podFailurePolicy", json!({"rules": rules}));
    let shape =
        shape(&policy(json!([{"action": "Count", "onPodConditions": [{"type": "X"}]}])), "");
    for (old, new) in [(json!(null), json!([])), (json!([]), json!(null))] {
        let labelled = |job: Job| job.set("/metadata/resourceVersion", json!("2"));
        let verdict = verdict(&shape, &policy(old), &labelled(policy(new)));
        assert_eq!(verdict.kind, VerdictKind::Allow, "{verdict:#?}");
    }
}
