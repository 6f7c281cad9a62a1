//! A CronJob template: the CronJob itself, and the Jobs that its controller makes of it.

use serde_json::{Value, json};

use crate::core::judge::update::Old;
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::{CRON_JOB_CONTROLLER, Named};
use crate::core::testing::{Job, document, read};
use crate::core::tree::Node;

use VerdictKind::{Allow, Deny};

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const MANUAL: &str = "cronjob.kubernetes.io/instantiate";
const HUMAN: &str = "alice";

fn cron_job() -> Job {
    Job(json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {
                "metadata": {"labels": {"app": "nightly"}, "annotations": {"note": "n"}},
                "spec": {
                    "backoffLimit": 2,
                    "template": {"spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "worker", "image": "registry.example/worker:1"}],
                    }},
                },
            },
        },
    }))
}

/// As the controller makes it.
fn child() -> Job {
    Job(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "nightly-29934665",
            "namespace": "ns",
            "labels": {"app": "nightly"},
            "annotations": {"note": "n", SCHEDULED: "2026-11-30T23:05:00Z"},
            "ownerReferences": [owner()],
        },
        "spec": {
            "backoffLimit": 2,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "worker", "image": "registry.example/worker:1"}],
            }},
        },
    }))
}

fn owner() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u-1", "controller": true, "blockOwnerDeletion": true})
}

/// As `kubectl create job --from` makes it.
fn manual() -> Job {
    let mut owner = owner();
    owner.as_object_mut().unwrap().remove("blockOwnerDeletion");
    child()
        .set("/metadata/name", json!("by-hand"))
        .set("/metadata/annotations", json!({"note": "n", MANUAL: "manual"}))
        .set("/metadata/ownerReferences", json!([owner]))
}

fn load(template: &Job, spec: &str) -> Result<Shape, Vec<String>> {
    Shape::load(&read(&document(spec)), &[read(&template.text())])
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
}

fn shape(spec: &str) -> Shape {
    load(&cron_job(), spec).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

fn judged(shape: &Shape, object: &Job, old: Option<&Job>, user: &str) -> Verdict {
    let kind = object.0["kind"].as_str().unwrap().to_owned();
    let object = Node::from_json(&object.0);
    let old = old.map(|old| Node::from_json(&old.0));
    let read_old = || old.as_ref();
    let user = Named::new(user, &[]);
    Shapes::new(vec![shape.clone()]).unwrap().judge(&Request {
        kind: &kind,
        namespace: "ns",
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        requester: Some(user.requester()),
        object: &object,
        old: old.is_some().then(|| Old::new(&read_old)),
        pointers: false,
    })
}

#[track_caller]
fn found(verdict: &Verdict, expected: &[&str]) {
    let paths: Vec<&str> = verdict.findings.findings.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, expected, "{:#?}", verdict.findings.findings);
    assert_eq!(verdict.kind, if expected.is_empty() { Allow } else { Deny });
}

#[test]
fn the_cron_job_is_pinned_whole() {
    let shape = shape("");
    found(&judged(&shape, &cron_job(), None, HUMAN), &[]);
    let filled = cron_job()
        .set("/spec/concurrencyPolicy", json!("Allow"))
        .set("/spec/suspend", json!(false))
        .set("/spec/successfulJobsHistoryLimit", json!(3))
        .set("/spec/failedJobsHistoryLimit", json!(1))
        .set("/spec/jobTemplate/metadata/creationTimestamp", json!(null))
        .set("/spec/jobTemplate/spec/template/spec/dnsPolicy", json!("ClusterFirst"))
        .set("/status", json!({"lastScheduleTime": "2026-11-30T23:05:00Z"}));
    found(&judged(&shape, &filled, None, HUMAN), &[]);
    for (pointer, value, path) in [
        ("/spec/schedule", json!("* * * * *"), "spec.schedule"),
        ("/spec/suspend", json!(true), "spec.suspend"),
        ("/spec/timeZone", json!("Etc/UTC"), "spec.timeZone"),
        ("/metadata/name", json!("other"), "metadata.name"),
        ("/metadata/labels", json!({"a": "b"}), "metadata.labels.a"),
        ("/spec/jobTemplate/metadata/labels/a", json!("b"), "spec.jobTemplate.metadata.labels.a"),
        ("/spec/jobTemplate/spec/backoffLimit", json!(3), "spec.jobTemplate.spec.backoffLimit"),
        // What the server fills into a Job it fills into no CronJob.
        ("/spec/jobTemplate/spec/completions", json!(1), "spec.jobTemplate.spec.completions"),
        ("/spec/jobTemplate/spec/suspend", json!(false), "spec.jobTemplate.spec.suspend"),
        (
            "/spec/jobTemplate/spec/template/spec/containers/0/image",
            json!("x"),
            "spec.jobTemplate.spec.template.spec.containers[worker].image",
        ),
        (
            "/spec/jobTemplate/spec/template/spec/serviceAccount",
            json!("admin"),
            "spec.jobTemplate.spec.template.spec.serviceAccount",
        ),
    ] {
        let changed = cron_job().set(pointer, value);
        found(&judged(&shape, &changed, None, HUMAN), &[path]);
        found(&judged(&shape, &changed, Some(&cron_job()), HUMAN), &[path]);
        found(&judged(&shape, &changed, None, CRON_JOB_CONTROLLER[0]), &[path]);
    }
}

#[test]
fn its_controller_makes_its_jobs_by_either_identity() {
    let shape = shape("");
    let stored = child()
        .set("/metadata/uid", json!("j-1"))
        .set("/metadata/labels/job-name", json!("nightly-29934665"))
        .set("/spec/parallelism", json!(1))
        .set("/spec/completions", json!(1))
        .set("/spec/suspend", json!(false))
        .set(
            "/spec/selector",
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "j-1"}}),
        )
        .set(
            "/spec/template/metadata/labels",
            json!({
                "job-name": "nightly-29934665", "batch.kubernetes.io/job-name": "nightly-29934665",
                "controller-uid": "j-1", "batch.kubernetes.io/controller-uid": "j-1",
            }),
        );
    for user in CRON_JOB_CONTROLLER {
        found(&judged(&shape, &child(), None, user), &[]);
        found(&judged(&shape, &stored, None, user), &[]);
        for (pointer, value, path) in [
            ("/metadata/name", json!("nightly-29934664"), "metadata.name"),
            ("/metadata/name", json!("nightly"), "metadata.name"),
            ("/metadata/name", json!("other-29934665"), "metadata.name"),
            ("/metadata/ownerReferences/0/name", json!("other"), "metadata.name"),
            ("/metadata/ownerReferences/0/kind", json!("Job"), "metadata.ownerReferences"),
            (
                "/metadata/ownerReferences/0/apiVersion",
                json!("batch/v1beta1"),
                "metadata.ownerReferences",
            ),
            ("/metadata/ownerReferences/0/controller", json!(false), "metadata.ownerReferences"),
            (
                "/metadata/ownerReferences/0/blockOwnerDeletion",
                json!(false),
                "metadata.ownerReferences",
            ),
            ("/metadata/ownerReferences/0/uid", json!(""), "metadata.ownerReferences"),
            ("/metadata/ownerReferences/1", owner(), "metadata.ownerReferences"),
            ("/metadata/ownerReferences", json!([]), "metadata.ownerReferences"),
            ("/metadata/annotations", json!({"note": "n", SCHEDULED: "soon"}), "metadata.name"),
            ("/metadata/annotations", json!({"note": "n"}), "metadata.name"),
            ("/metadata/annotations/x", json!("y"), "metadata.annotations.x"),
            ("/metadata/annotations/note", json!("m"), "metadata.annotations.note"),
            ("/metadata/labels/x", json!("y"), "metadata.labels.x"),
            ("/metadata/finalizers", json!(["a/b"]), "metadata.finalizers"),
            ("/metadata/namespace", json!("ns"), ""),
            ("/spec/backoffLimit", json!(6), "spec.backoffLimit"),
            ("/spec/suspend", json!(true), "spec.suspend"),
        ] {
            let changed = child().set(pointer, value);
            let expected: &[&str] = if path.is_empty() { &[] } else { &[path] };
            found(&judged(&shape, &changed, None, user), expected);
        }
    }
    // Another owner of another CronJob, with a name that fits that.
    let other = child()
        .set("/metadata/name", json!("other-29934665"))
        .set("/metadata/ownerReferences/0/name", json!("other"));
    found(&judged(&shape, &other, None, CRON_JOB_CONTROLLER[0]), &["metadata.ownerReferences"]);
}

#[test]
fn nobody_else_does() {
    let shape = shape("");
    let annotation = "metadata.annotations[batch.kubernetes.io/cronjob-scheduled-timestamp]";
    for user in [
        HUMAN,
        "system:serviceaccount:ns:dispatcher",
        "system:serviceaccount:kube-system:job-controller",
    ] {
        found(&judged(&shape, &child(), None, user), &[annotation, "metadata.ownerReferences"]);
        let plain = child()
            .remove("/metadata/ownerReferences")
            .set("/metadata/annotations", json!({"note": "n"}));
        found(&judged(&shape, &plain, None, user), &["metadata.ownerReferences"]);
        let by_hand = judged(&shape, &manual(), None, user);
        assert_eq!(by_hand.kind, Deny);
    }
}

#[test]
fn a_run_by_hand_only_where_the_shape_says_so() {
    let shape = shape("match: {namespaces: [ns], manualRuns: true}");
    found(&judged(&shape, &manual(), None, HUMAN), &[]);
    found(&judged(&shape, &child(), None, CRON_JOB_CONTROLLER[0]), &[]);
    for (pointer, value, paths) in [
        ("/metadata/annotations", json!({"note": "n", MANUAL: "yes"}), 2),
        ("/metadata/annotations/x", json!("y"), 1),
        ("/metadata/ownerReferences/0/name", json!("other"), 1),
        ("/metadata/ownerReferences/0/blockOwnerDeletion", json!(true), 1),
        ("/metadata/ownerReferences/0/controller", json!(false), 1),
        ("/spec/backoffLimit", json!(6), 1),
        (
            "/metadata/annotations",
            json!({"note": "n", MANUAL: "manual", SCHEDULED: "2026-11-30T23:05:00Z"}),
            1,
        ),
    ] {
        let verdict = judged(&shape, &manual().set(pointer, value.clone()), None, HUMAN);
        assert_eq!((verdict.kind, verdict.findings.count), (Deny, paths), "{pointer} {value}");
    }
}

#[test]
fn what_says_whose_child_it_is_may_stay_in_an_update_by_anybody() {
    let suspended = cron_job().set("/spec/jobTemplate/spec/suspend", json!(true));
    let spec = "optional: [{path: $.spec.jobTemplate.spec.suspend, value: false}]";
    let shape = load(&suspended, spec).unwrap();
    let waiting = child().set("/spec/suspend", json!(true));
    let resumed = child().set("/spec/suspend", json!(false));
    found(&judged(&shape, &waiting, None, CRON_JOB_CONTROLLER[0]), &[]);
    // Resumed, it is judged like a new one, and is the controller's all the same.
    found(&judged(&shape, &resumed, Some(&waiting), HUMAN), &[]);
    let tampered = resumed.clone().set("/spec/template/spec/containers/0/image", json!("x"));
    found(
        &judged(&shape, &tampered, Some(&waiting), HUMAN),
        &["spec.template.spec.containers[worker].image"],
    );
    // A forged one stays refused: it never was the controller's.
    let forged = |job: Job| job.set("/metadata/name", json!("nightly-1"));
    let verdict = judged(&shape, &forged(resumed.clone()), Some(&forged(waiting.clone())), HUMAN);
    found(&verdict, &["metadata.name"]);
    // What says whose it is cannot be written by somebody else.
    let orphan = waiting.clone().remove("/metadata/ownerReferences");
    assert_eq!(judged(&shape, &waiting, Some(&orphan), HUMAN).kind, Deny);
    // The garbage collector takes the owner away, and the orphan lives on.
    let gc = "system:serviceaccount:kube-system:generic-garbage-collector";
    found(&judged(&shape, &orphan, Some(&waiting), gc), &[]);
    let resumed_orphan = resumed.remove("/metadata/ownerReferences");
    found(&judged(&shape, &resumed_orphan, Some(&orphan), HUMAN), &[]);
}

#[test]
fn nobody_takes_away_what_says_that_it_is_a_child() {
    let shape = shape("");
    let mut taken = child();
    taken.0["metadata"]["annotations"].as_object_mut().unwrap().remove(SCHEDULED);
    let orphan = child().set("/metadata/ownerReferences", json!([]));
    for (new, why) in [
        (taken.clone(), "the annotation"),
        (taken.set("/metadata/labels", json!({"app": "other"})), "and a label with it"),
        (child().set("/metadata/name", json!("nightly-1")), "the name"),
        (orphan.set("/metadata/annotations", json!({"note": "n"})), "the owner and the annotation"),
    ] {
        let kind = judged(&shape, &new, Some(&child()), HUMAN).kind;
        assert_eq!(kind, Deny, "{why}");
        assert_eq!(
            judged(&shape, &new, Some(&child()), CRON_JOB_CONTROLLER[0]).kind,
            Deny,
            "{why}"
        );
    }
    // A Job that never was one may be changed as before: by what it had already.
    let other =
        child().set("/metadata/ownerReferences", json!([])).set("/metadata/name", json!("x"));
    let labelled = other.clone().set("/spec/backoffLimit", json!(2));
    assert_eq!(judged(&shape, &labelled, Some(&other), HUMAN).kind, Allow);
}

#[test]
fn rules_about_the_cron_job_speak_for_its_jobs() {
    let spec = "rules:
- {name: image, select: ['$.spec.jobTemplate.spec.template.spec.containers[*].image'], action: Audit}
- {name: when, select: [$.spec.schedule], action: Warn}
- {name: rest}
unpinned: [{path: $.spec.jobTemplate.spec.ttlSecondsAfterFinished, reason: r}]";
    let shape = shape(spec);
    let rules = |object: Job, user: &str| -> Vec<String> {
        let verdict = judged(&shape, &object, None, user);
        let said = verdict.findings.findings.iter();
        said.map(|f| format!("{} {}", verdict.rule_of(f).unwrap().name, f.action)).collect()
    };
    let controller = CRON_JOB_CONTROLLER[0];
    let child = |pointer: &str, value: Value| rules(child().set(pointer, value), controller);
    assert_eq!(child("/spec/template/spec/containers/0/image", json!("x")), ["image Audit"]);
    assert_eq!(child("/spec/ttlSecondsAfterFinished", json!(5)), Vec::<String>::new());
    assert_eq!(child("/metadata/name", json!("x")), ["rest Enforce"]);
    let of_cron_job = |pointer: &str, value: Value| rules(cron_job().set(pointer, value), HUMAN);
    assert_eq!(of_cron_job("/spec/schedule", json!("x")), ["when Warn"]);
    let image = "/spec/jobTemplate/spec/template/spec/containers/0/image";
    assert_eq!(of_cron_job(image, json!("x")), ["image Audit"]);
    assert_eq!(
        of_cron_job("/spec/jobTemplate/spec/ttlSecondsAfterFinished", json!(5)),
        Vec::<String>::new()
    );
}

#[test]
fn variables_have_one_value_in_a_job_of_it_too() {
    let template = cron_job().set("/metadata/name", json!("run-<id>")).set(
        "/spec/jobTemplate/spec/template/spec/containers/0/env",
        json!([{"name": "ID", "value": "<id>"}]),
    );
    let shape = load(&template, "variables: {id: {pattern: '[a-z]{2}', example: ab}}").unwrap();
    let child = |cron_job: &str, id: &str| {
        child()
            .set("/metadata/name", json!(format!("{cron_job}-29934665")))
            .set("/metadata/ownerReferences/0/name", json!(cron_job))
            .set("/spec/template/spec/containers/0/env", json!([{"name": "ID", "value": id}]))
    };
    let of = |job: Job| judged(&shape, &job, None, CRON_JOB_CONTROLLER[0]).kind;
    assert_eq!(of(child("run-xy", "xy")), Allow);
    assert_eq!(of(child("run-xy", "zz")), Deny);
    assert_eq!(of(child("run-xyz", "xy")), Deny);
    assert_eq!(of(child("walk-xy", "xy")), Deny);
}

#[test]
fn the_controller_is_one_whom_the_shape_is_for() {
    let shape = shape("match: {namespaces: [ns], users: ['system:serviceaccount:ci:runner']}");
    found(&judged(&shape, &cron_job(), None, "system:serviceaccount:ci:runner"), &[]);
    assert_eq!(judged(&shape, &cron_job(), None, HUMAN).kind, VerdictKind::Ungoverned);
    let tampered = child().set("/spec/backoffLimit", json!(6));
    found(&judged(&shape, &tampered, None, CRON_JOB_CONTROLLER[1]), &["spec.backoffLimit"]);
}

#[test]
fn what_no_cron_job_can_be_is_a_mistake() {
    for (template, said) in [
        (cron_job().set("/metadata/name", json!("n".repeat(53))), "has at most 52 characters"),
        (cron_job().remove("/metadata/name"), "a CronJob template has a name"),
        (
            cron_job().remove("/metadata/name").set("/metadata/generateName", json!("a-")),
            "has a name",
        ),
        (
            cron_job().set("/spec/jobTemplate/spec/selector", json!({})),
            "the server generates the selector of a Job",
        ),
        (
            cron_job()
                .set("/spec/jobTemplate/spec/template/metadata/labels", json!({"job-name": "x"})),
            "the server generates the label `job-name`",
        ),
    ] {
        let mistakes = load(&template, "").expect_err(said);
        assert!(mistakes.len() == 1 && mistakes[0].contains(said), "{mistakes:#?}");
    }
    assert!(load(&cron_job().set("/metadata/name", json!("n".repeat(52))), "").is_ok());
    let spec = "optional: [$.spec.jobTemplate.spec.backoffLimit]";
    let mistakes = load(&cron_job(), spec).expect_err("the server fills it into the Job");
    assert!(mistakes[0].contains("the server fills in"), "{mistakes:#?}");
}
