//! The ratchet of an UPDATE: what the old object had may stay as it is, and nothing else.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::core::judge::update::{Old, Start};
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind, judge_one};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::testing::{Job, NAMESPACE, job, shape, short};
use crate::core::tree::Node;

const UID: &str = "5b3c6f0e-0000-4000-8000-000000000001";

/// What an update gets.
pub fn verdict(shape: &Shape, old: &Job, new: &Job) -> Verdict {
    let (before, after) = (Node::from_json(&old.0), Node::from_json(&new.0));
    let read = || Some(&before);
    Shapes::new(vec![shape.clone()]).unwrap().judge(&Request {
        kind: "Job",
        namespace: NAMESPACE,
        operation: Operation::Update,
        requester: None,
        object: &after,
        old: Some(Old::new(&read)),
        pointers: false,
    })
}

/// The update is admitted and leaves so many findings as they were.
#[track_caller]
fn admits(shape: &Shape, old: &Job, new: &Job, left: usize) {
    let verdict = verdict(shape, old, new);
    assert_eq!(verdict.kind, VerdictKind::Allow, "{:#?}", verdict.findings);
    assert_eq!((verdict.findings.count, verdict.findings.old), (0, left));
    assert_eq!(verdict.start, None);
}

/// The update is refused for findings at exactly these places, and leaves so many as they were.
#[track_caller]
fn refuses(shape: &Shape, old: &Job, new: &Job, expected: &[&str], left: usize) {
    let verdict = verdict(shape, old, new);
    let places: Vec<String> = verdict.findings.findings.iter().map(|f| short(&f.path)).collect();
    assert_eq!(places, expected, "{verdict:#?}");
    assert_eq!(verdict.kind, VerdictKind::Deny);
    assert_eq!(verdict.findings.old, left, "{verdict:#?}");
    assert_eq!(verdict.start, None);
}

/// A Job that breaks the plain shape in three places.
fn bad() -> Job {
    job()
        .set("/spec/parallelism", json!(2))
        .set("/spec/completions", json!(2))
        .set("worker/env", json!([{"name": "A", "value": "a"}]))
        .set("/metadata/labels", json!({"team": "x"}))
}

fn plain() -> Shape {
    shape(&job(), "unpinned: [{path: \"$.metadata.annotations['note']\", reason: nobody reads it}]")
}

#[test]
fn what_was_there_may_stay_and_what_conforms_may_change() {
    let noted = bad().set("/metadata/annotations", json!({"note": "x"}));
    admits(&plain(), &bad(), &noted, 4);
    admits(&plain(), &bad(), &bad(), 0);
    // Repaired in one place.
    let repaired = bad().remove("/metadata/labels");
    admits(&plain(), &bad(), &repaired, 3);
    admits(&plain(), &bad(), &job(), 0);
    admits(&plain(), &job(), &job().set("/metadata/annotations", json!({"note": "x"})), 0);
}

#[test]
fn what_was_not_there_is_refused() {
    let labelled = |team: &str| bad().set("/metadata/labels/team", json!(team));
    refuses(&plain(), &bad(), &labelled("y"), &["metadata.labels.team"], 3);
    let another = bad().set("/metadata/labels/other", json!("x"));
    refuses(&plain(), &bad(), &another, &["metadata.labels.other"], 4);
    // An old object that fitted leaves nothing to stay.
    refuses(&plain(), &job(), &job().set("worker/tty", json!(true)), &["worker.tty"], 0);
    // Traded: one label for another of the same rule, and of the same value.
    let traded = bad().set("/metadata/labels", json!({"crew": "x"}));
    refuses(&plain(), &bad(), &traded, &["metadata.labels.crew"], 3);
    // Deeper, and less deep, than before.
    let whole = job().set("pod/affinity", json!({"podAffinity": {}}));
    let more = whole.clone().set("pod/affinity/nodeAffinity", json!({}));
    refuses(&plain(), &whole, &more, &["pod.affinity"], 0);
    refuses(&plain(), &more, &whole, &["pod.affinity"], 0);
}

#[test]
fn worse_is_not_old() {
    let spec = "rules: [{name: lower, select: [$.spec.parallelism]}]";
    let shape = shape(&job().set("/spec/parallelism", json!(1)), spec);
    let of = |count: i64| job().set("/spec/parallelism", json!(count));
    // Lower starts nothing, and is another value than before.
    refuses(&shape, &of(7), &of(6), &["spec.parallelism"], 0);
    let verdict = verdict(&shape, &of(2), &of(1000));
    assert_eq!(verdict.kind, VerdictKind::Deny);
    assert_eq!(verdict.start, Some(Start::Raised("parallelism")));
}

#[test]
fn what_lets_pods_start_is_judged_as_new() {
    let labelled = |job: Job| job.set("/metadata/labels", json!({"team": "x"}));
    let template =
        job().set("/spec/completionMode", json!("Indexed")).set("/spec/suspend", json!(true));
    let spec = "variables:
  p: {type: integer, minimum: 0, maximum: 50, at: [$.spec.parallelism]}
  c: {type: integer, minimum: 0, maximum: 50, at: [$.spec.completions]}
  b: {type: integer, minimum: 0, maximum: 50, at: [$.spec.backoffLimit]}
  m: {type: integer, minimum: 0, maximum: 50, at: [$.spec.maxFailedIndexes]}
unpinned: [{path: $.spec.suspend, reason: a queue writes it}]
";
    let template = template
        .set("/spec/parallelism", json!(1))
        .set("/spec/completions", json!(1))
        .set("/spec/backoffLimit", json!(1))
        .set("/spec/maxFailedIndexes", json!(1));
    let shape = shape(&template, spec);
    let old = labelled(template);
    let starts = |new: &Job| {
        let verdict = verdict(&shape, &old, new);
        assert_eq!(
            (verdict.kind == VerdictKind::Deny, verdict.findings.count),
            (verdict.start.is_some(), usize::from(verdict.start.is_some())),
            "the label alone is old: {verdict:#?}"
        );
        verdict.start
    };
    for field in ["parallelism", "completions", "backoffLimit", "maxFailedIndexes"] {
        let at = format!("/spec/{field}");
        assert_eq!(starts(&old.clone().set(&at, json!(2))), Some(Start::Raised(field)));
        assert_eq!(starts(&old.clone().set(&at, json!(0))), None, "{field}");
    }
    assert_eq!(starts(&old.clone().set("/spec/suspend", json!(false))), Some(Start::Resumed));
    assert_eq!(starts(&old.clone().remove("/spec/suspend")), Some(Start::Resumed));
    assert_eq!(starts(&old.clone()), None);
    // Suspending starts nothing.
    let running = old.clone().set("/spec/suspend", json!(false));
    assert_eq!(verdict(&shape, &running, &old).kind, VerdictKind::Allow);
    // Defaults count, and no limit is more than any.
    let without = |job: &Job, field: &str| job.clone().remove(&format!("/spec/{field}"));
    assert_eq!(
        verdict(&shape, &old, &without(&old, "maxFailedIndexes")).start,
        Some(Start::Raised("maxFailedIndexes"))
    );
    assert_eq!(
        verdict(&shape, &old, &without(&old, "backoffLimit")).start,
        Some(Start::Raised("backoffLimit")),
        "the server would fill in 6"
    );
    let many = old.clone().set("/spec/backoffLimit", json!(7));
    assert_eq!(verdict(&shape, &many, &without(&many, "backoffLimit")).start, None);
}

#[test]
fn one_variable_is_one_value_wherever_it_stands() {
    let template = job()
        .set("/metadata/labels", json!({"issue": "<issue>", "again": "<issue>"}))
        .set("worker/env", json!([{"name": "ISSUE", "value": "<issue>"}]));
    let shape = shape(&template, "variables: {issue: {pattern: '[0-9]', example: '1'}}");
    let of = |again: &str, issue: &str, env: &str| {
        job()
            .set("/metadata/labels", json!({"again": again, "issue": issue}))
            .set("worker/env", json!([{"name": "ISSUE", "value": env}]))
    };
    let old = of("1", "2", "1");
    let noted = |job: Job| job.set("/spec/ttlSecondsAfterFinished", json!(5));
    let ttl = ["spec.ttlSecondsAfterFinished"];
    refuses(&shape, &old, &noted(old.clone()), &ttl, 1);
    // Shifted to another place, or the same place beside another first one.
    refuses(
        &shape,
        &old,
        &of("2", "1", "1"),
        &["metadata.labels.issue", "worker.env[ISSUE].value"],
        0,
    );
    refuses(
        &shape,
        &old,
        &of("3", "2", "1"),
        &["metadata.labels.issue", "worker.env[ISSUE].value"],
        0,
    );
    refuses(&shape, &old, &of("1", "3", "1"), &["metadata.labels.issue"], 0);
    // The one place that disagreed is as it was, and another one is not.
    refuses(
        &shape,
        &old,
        &of("1", "2", "2"),
        &["metadata.labels.issue", "worker.env[ISSUE].value"],
        0,
    );
    admits(&shape, &old, &of("2", "2", "2"), 0);
}

#[test]
fn entries_of_one_key_are_one_value() {
    let template = job().set("worker/env", json!([{"name": "A", "value": "good"}]));
    let shape = shape(&template, "");
    let of = |values: &[&str]| {
        let env: Vec<Value> = values.iter().map(|v| json!({"name": "A", "value": v})).collect();
        job().set("worker/env", json!(env))
    };
    let old = of(&["evil", "good"]);
    admits(&shape, &old, &old.clone().set("/metadata/resourceVersion", json!("7")), 0);
    let labelled = |job: Job| job.set("/metadata/labels", json!({"a": "b"}));
    refuses(&shape, &old, &labelled(old.clone()), &["metadata.labels.a"], 2);
    // The last one counts, wherever it stood before.
    let place = "worker.env[A]";
    for (values, places) in [
        (&["good", "evil"][..], vec![place]),
        (&["evil", "worse"], vec![place, "worker.env[A].value"]),
        (&["evil", "good", "good"], vec![place, place, "worker.env[A].value"]),
        (&["evil"], vec!["worker.env[A].value"]),
    ] {
        refuses(&shape, &old, &of(values), &places, 0);
    }
    // The same for entries that the template does not have.
    let extra = |first: &str, second: &str| {
        let b = |v: &str| json!({"name": "B", "value": v});
        job().set("worker/env", json!([{"name": "A", "value": "good"}, b(first), b(second)]))
    };
    let b = "worker.env[B]";
    refuses(&shape, &extra("x", "y"), &extra("x", "z"), &[b, b], 0);
    refuses(&shape, &extra("x", "y"), &extra("y", "x"), &[b, b], 0);
}

#[test]
fn a_default_is_as_old_as_its_neighbours() {
    // Left out of the template: whatever stands there depends on parallelism.
    let shape = shape(&job(), "unpinned: [{path: $.spec.parallelism, reason: a scaler writes it}]");
    let of = |parallelism: i64, completions: i64| {
        job()
            .set("/spec/parallelism", json!(parallelism))
            .set("/spec/completions", json!(completions))
    };
    let noted = of(5, 9).set("/metadata/resourceVersion", json!("8"));
    admits(&shape, &of(5, 9), &noted, 0);
    refuses(&shape, &of(5, 9), &of(4, 9), &["spec.completions"], 0);
}

#[test]
fn both_spellings_of_the_service_account_are_one_value() {
    let shape = shape(&job().set("pod/serviceAccountName", json!("worker")), "");
    let of = |name: &str| job().set("pod/serviceAccount", json!(name));
    refuses(&shape, &of("evil"), &of("worse"), &["pod.serviceAccountName"], 0);
    let labelled = of("evil").set("/metadata/labels", json!({"a": "b"}));
    refuses(&shape, &of("evil"), &labelled, &["metadata.labels.a"], 1);
}

#[test]
fn labels_that_are_copied_are_the_pods() {
    let template = job().set("/metadata/labels", json!({"app": "w"}));
    let shape = shape(&template, "");
    let of = |pod: Value| job().set("/spec/template/metadata/labels", pod);
    let (old, new) = (of(json!({"x": "1"})), of(json!({"x": "2"})));
    let places = ["metadata.labels.app", "metadata.labels.x", "spec.template.metadata.labels.x"];
    refuses(&shape, &old, &new, &places, 0);
}

#[test]
fn the_same_amount_written_another_way_is_the_same_value() {
    let of = |memory: &str| job().set("worker/resources", json!({"limits": {"memory": memory}}));
    let shape = shape(&of("1Gi"), "");
    let labelled = of("2048Mi").set("/metadata/labels", json!({"a": "b"}));
    refuses(&shape, &of("2Gi"), &labelled, &["metadata.labels.a"], 1);
    refuses(&shape, &of("2Gi"), &of("3Gi"), &["worker.resources.limits.memory"], 0);
}

#[test]
fn an_order_is_the_whole_list() {
    let two = |first: &str, second: &str| {
        let of = |name: &str| json!({"name": name, "image": "registry.example/worker:1"});
        job().set("pod/containers", json!([of(first), of(second)]))
    };
    let shape = shape(&two("a", "b"), "");
    let old = two("b", "a");
    let labelled = old.clone().set("/metadata/labels", json!({"a": "b"}));
    refuses(&shape, &old, &labelled, &["metadata.labels.a"], 1);
    let tty = old.clone().set("worker/tty", json!(true));
    refuses(&shape, &old, &tty, &["pod.containers", "pod.containers[b].tty"], 0);
}

#[test]
fn a_finding_that_only_warns_is_old_too() {
    let shape = shape(&job(), "action: Warn");
    let old = bad();
    admits(&shape, &old, &old.clone().set("/metadata/generation", json!(3)), 0);
    let new = old.clone().set("/metadata/labels/other", json!("x"));
    let verdict = verdict(&shape, &old, &new);
    assert_eq!(verdict.kind, VerdictKind::Allow);
    assert_eq!((verdict.findings.count, verdict.findings.old), (1, 4));
}

#[test]
fn without_an_old_object_an_update_is_a_new_job() {
    let after = Node::from_json(&bad().0);
    let nothing = || None;
    for old in [None, Some(Old::new(&nothing))] {
        let verdict = Shapes::new(vec![plain()]).unwrap().judge(&Request {
            kind: "Job",
            namespace: NAMESPACE,
            operation: Operation::Update,
            requester: None,
            object: &after,
            old,
            pointers: false,
        });
        assert_eq!((verdict.kind, verdict.findings.count), (VerdictKind::Deny, 4));
    }
    // And a creation is none whatever is said to be old.
    let read = || Some(&after);
    let verdict = Shapes::new(vec![plain()]).unwrap().judge(&Request {
        kind: "Job",
        namespace: NAMESPACE,
        operation: Operation::Create,
        requester: None,
        object: &after,
        old: Some(Old::new(&read)),
        pointers: false,
    });
    assert_eq!(verdict.kind, VerdictKind::Deny);
}

mod removal {
    //! Updates that only take something away pass, whatever the Job is.

    use super::*;

    fn owner(uid: &str, blocks: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": uid, "blockOwnerDeletion": blocks})
    }

    fn kept() -> Job {
        bad()
            .set("/metadata/uid", json!(UID))
            .set("/metadata/resourceVersion", json!("1"))
            .set("/metadata/finalizers", json!(["a/b", "orphan", "a/b"]))
            .set(
                "/metadata/ownerReferences",
                json!([owner("1", json!(true)), owner("2", json!(null))]),
            )
    }

    fn passes(new: &Job) -> bool {
        let verdict = verdict(&plain(), &kept(), new);
        assert_eq!(verdict.shape.is_none(), verdict.reason.is_some(), "no shape is looked at");
        verdict.shape.is_none()
    }

    #[test]
    fn of_finalizers_and_owners() {
        let with = |at: &str, value: Value| kept().set(at, value);
        for new in [
            kept(),
            with("/metadata/finalizers", json!(["a/b", "a/b"])),
            with("/metadata/finalizers", json!(["orphan"])),
            with("/metadata/finalizers", json!([])),
            kept().remove("/metadata/finalizers"),
            kept().remove("/metadata/ownerReferences"),
            with("/metadata/ownerReferences", json!([owner("2", json!(null))])),
            with(
                "/metadata/ownerReferences",
                json!([owner("1", json!(false)), owner("2", json!(null))]),
            ),
            with("/metadata/ownerReferences", json!([owner("2", json!(false))])),
            kept().remove("/metadata/ownerReferences").remove("/metadata/finalizers"),
            kept()
                .remove("/metadata/finalizers")
                .set("/metadata/resourceVersion", json!("2"))
                .set("/metadata/generation", json!(3))
                .set("/metadata/managedFields", json!([{"manager": "x"}]))
                .set("/status", json!({"active": 1})),
        ] {
            assert!(passes(&new), "{}", new.0);
        }
    }

    #[test]
    fn and_of_nothing_else() {
        let with = |at: &str, value: Value| kept().set(at, value);
        for new in [
            with("/metadata/finalizers", json!(["a/b", "orphan", "a/b", "orphan"])),
            with("/metadata/finalizers", json!(["c/d"])),
            with("/metadata/finalizers", json!("orphan")),
            with("/metadata/finalizers", json!({"a/b": 1})),
            with(
                "/metadata/ownerReferences",
                json!([owner("1", json!(true)), owner("3", json!(null))]),
            ),
            with(
                "/metadata/ownerReferences",
                json!([owner("1", json!(true)), owner("2", json!(true))]),
            ),
            with(
                "/metadata/ownerReferences",
                json!([owner("1", json!("no")), owner("2", json!(null))]),
            ),
            with(
                "/metadata/ownerReferences",
                json!([owner("1", json!(false)), owner("1", json!(true)), owner("2", json!(null))]),
            ),
            with("/metadata/ownerReferences/0/name", json!("p")),
            with("/metadata/ownerReferences/0/controller", json!(true)),
            kept().remove("/metadata/finalizers").set("/metadata/annotations", json!({"a": "b"})),
            kept().remove("/metadata/finalizers").set("/metadata/labels/a", json!("b")),
            kept().remove("/metadata/finalizers").set("/spec/suspend", json!(true)),
            kept().remove("/metadata/finalizers").set("worker/image", json!("x")),
            kept().remove("/metadata/finalizers").set("/metadata/name", json!("x")),
            kept().remove("/metadata/finalizers").set("/metadata/uid", json!("x")),
            kept().remove("/metadata/finalizers").set("/unknown", json!("x")),
            kept().remove("/metadata/finalizers").remove("/metadata/labels"),
        ] {
            assert!(!passes(&new), "{}", new.0);
        }
    }

    #[test]
    fn of_a_cron_job_and_where_nobody_governs() {
        let cron = Node::from_json(&kept().set("/kind", json!("CronJob")).0);
        let freed = kept().set("/kind", json!("CronJob")).remove("/metadata/finalizers");
        let freed = Node::from_json(&freed.0);
        let read = || Some(&cron);
        let shapes = Shapes::new(vec![plain()]).unwrap();
        for namespace in [NAMESPACE, "elsewhere"] {
            let verdict = shapes.judge(&Request {
                kind: "CronJob",
                namespace,
                operation: Operation::Update,
                requester: None,
                object: &freed,
                old: Some(Old::new(&read)),
                pointers: false,
            });
            assert_eq!(verdict.kind, VerdictKind::Allow, "{namespace}");
        }
    }
}

/// Changes that an update may bring, one of them twice another.
fn changes() -> Vec<(&'static str, Vec<Value>)> {
    let env = |entries: &[(&str, &str)]| {
        json!(entries.iter().map(|(n, v)| json!({"name": n, "value": v})).collect::<Vec<_>>())
    };
    vec![
        (
            "/metadata/labels",
            vec![json!({"run": "a", "x": "1"}), json!({"run": "b"}), json!({}), json!(null)],
        ),
        ("/metadata/annotations", vec![json!({"note": "a"}), json!({"other": "a"})]),
        ("/metadata/finalizers", vec![json!(["a/b"]), json!(["a/b", "c/d"])]),
        ("/spec/parallelism", vec![json!(0), json!(1), json!(2), json!(3)]),
        ("/spec/completions", vec![json!(1), json!(2)]),
        ("/spec/suspend", vec![json!(true), json!(false)]),
        ("/spec/activeDeadlineSeconds", vec![json!(5), json!(6)]),
        (
            "worker/env",
            vec![
                env(&[("RUN", "a")]),
                env(&[("RUN", "b")]),
                env(&[("RUN", "a"), ("RUN", "b")]),
                env(&[("RUN", "b"), ("RUN", "a")]),
                env(&[("X", "$(RUN)"), ("RUN", "a")]),
                json!(null),
            ],
        ),
        (
            "worker/resources",
            vec![
                json!({"limits": {"cpu": "1"}}),
                json!({"limits": {"cpu": "1000m"}}),
                json!({"limits": {"cpu": "2"}}),
            ],
        ),
        (
            "pod/volumes",
            vec![json!([{"name": "a"}]), json!([{"name": "b", "hostPath": {"path": "/"}}])],
        ),
        ("/spec/template/metadata/labels", vec![json!({"x": "1"}), json!({"run": "a"})]),
    ]
}

fn any_job() -> impl Strategy<Value = Job> {
    let changes = changes();
    let one = (0..changes.len()).prop_flat_map(move |index| {
        let (at, values) = changes[index].clone();
        (Just(at), 0..values.len()).prop_map(move |(at, value)| (at, values[value].clone()))
    });
    proptest::collection::vec(one, 0..5)
        .prop_map(|all| all.into_iter().fold(runs(), |job, (at, value)| job.set(at, value)))
}

fn runs() -> Job {
    job()
        .set("/metadata/labels", json!({"run": "a"}))
        .set("worker/env", json!([{"name": "RUN", "value": "a"}]))
}

proptest! {
    /// Said in another way, without the ratchet's own code: whatever an admitted update leaves at a
    /// place that is a finding stood there before, and was a finding then.
    #[test]
    fn an_admitted_update_brings_nothing(old in any_job(), new in any_job()) {
        let template = job()
            .set("/metadata/labels", json!({"run": "<run>"}))
            .set("worker/env", json!([{"name": "RUN", "value": "<run>"}]));
        let shape = shape(&template, "variables: {run: {enum: [a, b]}}");
        let verdict = verdict(&shape, &old, &new);
        let (before, after) = (Node::from_json(&old.0), Node::from_json(&new.0));
        let had = judge_one(&shape, shape.first(), &before, NAMESPACE);
        let has = judge_one(&shape, shape.first(), &after, NAMESPACE);
        if has.count == 0 || old == new {
            prop_assert_eq!(verdict.kind, VerdictKind::Allow);
        } else if had.count == 0 && verdict.shape.is_some() {
            prop_assert_eq!(verdict.kind, VerdictKind::Deny);
        }
        if verdict.kind == VerdictKind::Allow && verdict.shape.is_some() {
            prop_assert!(verdict.start.is_none() || has.count == 0);
            for finding in &has.findings {
                let same = had.findings.iter().find(|f| f.path == finding.path && f.message == finding.message);
                prop_assert!(same.is_some(), "{} is new: {} -> {}", finding.path, old.0, new.0);
                // An entry may stand elsewhere in its list.
                let before = same.and_then(|f| old.0.pointer(&f.pointer));
                let after = new.0.pointer(&finding.pointer);
                let cpu = finding.path.contains("resources");
                prop_assert!(finding.missing || cpu || before == after, "{} changed: {} -> {}", finding.path, old.0, new.0);
            }
        }
        prop_assert_eq!(verdict.kind == VerdictKind::Deny, verdict.findings.enforced > 0);
    }
}
