//! `must` rules and what the server makes of an object; what an update may keep of what they find.

use serde_json::{Value, json};

use super::guards::{guard, guard_for, judged, one};
use crate::core::judge::VerdictKind::{Allow, Deny};
use crate::core::testing::{Job, job};

/// As a server has stored it.
fn stored(mut job: Job) -> Job {
    let name = job.0["metadata"]["name"].clone();
    let labels = json!({"job-name": name, "batch.kubernetes.io/job-name": name, "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"});
    let of_pod = &mut job.0["spec"]["template"]["metadata"]["labels"];
    if of_pod.is_null() {
        *of_pod = json!({});
    }
    of_pod.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
    job.0["metadata"]["uid"] = json!("u");
    job
}

#[test]
fn labels_that_the_server_generates_are_no_ones() {
    let closed = "select: [$.spec.template.metadata.labels], must: {properties: {app: {const: a}}, additionalProperties: false}";
    let named = job().set("metadata/name", json!("n"));
    let labelled = named.clone().set("spec/template/metadata", json!({"labels": {"app": "a"}}));
    assert_eq!(one(closed, &stored(labelled.clone())), [""; 0]);
    assert_eq!(one(closed, &labelled), [""; 0]);
    // Another one than the server would generate is the submitter's.
    let mut forged = stored(labelled.clone());
    forged.0["spec"]["template"]["metadata"]["labels"]["job-name"] = json!("other");
    assert_eq!(one(closed, &forged).len(), 1);
    // With a selector of its own the server generates none.
    assert_eq!(one(closed, &stored(labelled.set("spec/manualSelector", json!(true)))).len(), 4);
    let every = "select: ['$.metadata.labels[*]'], must: {const: a}";
    assert_eq!(one(every, &stored(named)), [""; 0]);
}

#[test]
fn a_job_without_labels_has_those_of_its_pod_template() {
    let team = "select: [$.metadata.labels.team], must: {const: a}";
    let of_pod = |team: &str| {
        job().set("spec/template/metadata", json!({"labels": {"team": team}})).0["spec"].clone()
    };
    let as_job = |team: &str| job().set("spec", of_pod(team));
    assert_eq!(one(team, &as_job("a")), [""; 0]);
    assert_eq!(one(team, &as_job("b")).len(), 1);
    assert_eq!(one(team, &as_job("a").set("metadata/labels", json!({"x": "y"}))).len(), 1);
    // Also the Jobs that a CronJob makes.
    let cron_job = |team: &str| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"},
            "spec": {"schedule": "@daily", "jobTemplate": {"spec": of_pod(team)}}})
    };
    let guard = guard(&format!("- {{name: a, {team}}}"));
    let kind = |object: &Value| judged(&[&guard], "CronJob", object, None, "bob").kind;
    assert_eq!((kind(&cron_job("a")), kind(&cron_job("b"))), (Allow, Deny));
}

#[test]
fn the_service_account_has_one_name() {
    let account =
        "select: [$.spec.template.spec.serviceAccountName], must: {const: ok}, absent: true";
    let old = |name: &str| job().set("pod/serviceAccount", json!(name));
    assert_eq!(one(account, &old("ok")), [""; 0]);
    assert_eq!(one(account, &old("evil")).len(), 1);
    assert_eq!(one(account, &old("evil").set("pod/serviceAccountName", json!("ok"))), [""; 0]);
    let closed = "select: [$.spec.template.spec], must: {properties: {serviceAccountName: {const: ok}}, additionalProperties: false}";
    let found = one(closed, &old("ok").set("pod/serviceAccountName", json!("ok")));
    assert!(found.iter().all(|line| !line.contains("serviceAccount")), "{found:?}");
}

#[test]
fn null_in_a_map_is_the_zero_of_its_value() {
    let pool = "select: [$.spec.template.spec.nodeSelector], must: {not: {required: [pool]}}";
    assert_eq!(one(pool, &job().set("pod/nodeSelector", json!({"pool": null}))).len(), 1);
    assert_eq!(one(pool, &job().set("pod/nodeSelector", json!({"other": "x"}))), [""; 0]);
    let cpu =
        "select: ['$.spec.template.spec.containers[*].resources.limits.cpu'], must: {minimum: 1}";
    assert_eq!(
        one(cpu, &job().set("worker/resources", json!({"limits": {"cpu": null}}))),
        ["spec.template.spec.containers[worker].resources.limits.cpu: must be at least 1"]
    );
}

#[test]
fn names_and_namespaces_that_come_later_are_judged_too() {
    let name = "select: [$.metadata.name], must: {pattern: 'a-.*'}";
    let generated =
        |prefix: &str| job().remove("metadata/name").set("metadata/generateName", json!(prefix));
    assert_eq!(one(name, &generated("a-")), [""; 0]);
    assert_eq!(one(name, &generated("b-")).len(), 1);
    let longest = "select: [$.metadata.name], must: {maxLength: 63, minLength: 63}";
    assert_eq!(one(longest, &generated(&"x".repeat(70))), [""; 0]);
    let namespace =
        |wanted: &str| format!("select: [$.metadata.namespace], must: {{const: {wanted}}}");
    let without = job();
    assert_eq!(one(&namespace("ns"), &without), [""; 0]);
    assert_eq!(one(&namespace("other"), &without).len(), 1);
}

#[test]
fn quantities_are_rounded_as_the_server_does() {
    let cpu = |bound: &str, cpu: Value| {
        let rule = format!(
            "select: ['$.spec.template.spec.containers[*].resources.limits.cpu'], must: {{{bound}}}"
        );
        one(&rule, &job().set("worker/resources", json!({"limits": {"cpu": cpu}}))).is_empty()
    };
    assert!(
        cpu("minimum: 0, maximum: 1", json!(0.5)) && !cpu("minimum: 0, maximum: 1", json!(1.5))
    );
    assert!(!cpu("not: {minimum: 1}", json!(1.5)) && cpu("not: {minimum: 1}", json!(0.5)));
    // To milli where it is an amount of a resource.
    assert!(
        cpu("const: 1m", json!("0.0001")) && !cpu("minimum: 0, maximum: 500u", json!("0.0001"))
    );
}

#[test]
fn a_map_or_a_list_that_is_not_there_is_an_empty_one() {
    let none =
        |select: &str, must: &str| one(&format!("select: ['$.{select}'], must: {must}"), &job());
    for map in [
        "spec.template.spec.nodeSelector",
        "metadata.labels",
        "spec.template.spec.containers[*].resources.limits",
    ] {
        assert_eq!(none(map, "{additionalProperties: false}"), [""; 0], "{map}");
        assert_eq!(none(map, "{required: [x]}").len(), 1, "{map}");
    }
    assert_eq!(none("spec.template.spec.volumes", "{maxItems: 0}"), [""; 0]);
    assert_eq!(none("spec.template.spec.activeDeadlineSeconds", "{minimum: 1}").len(), 1);
}

/// What a guard with this rule says of an update of a CronJob from one Pod spec to another.
fn update(rule: &str, old: Value, new: Value) -> crate::core::judge::VerdictKind {
    let cron_job = |more: &Value| {
        let mut pod =
            json!({"restartPolicy": "Never", "containers": [{"name": "w", "image": "i"}]});
        for (key, value) in more.as_object().unwrap() {
            match key.as_str() {
                "volumes" | "tolerations" => pod[key] = value.clone(),
                _ => pod["containers"][0][key] = value.clone(),
            }
        }
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"},
            "spec": {"schedule": "@daily", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": pod}}}}})
    };
    let guard = guard_for("guard", "", &format!("- {{name: a, {rule}}}"));
    judged(&[&guard], "CronJob", &cron_job(&new), Some(&cron_job(&old)), "bob").kind
}

#[test]
fn one_violation_is_no_excuse_for_another() {
    let from = "select: ['$.spec.template.spec.containers[*].envFrom[*]'], must: {required: [configMapRef]}";
    let secret = |name: &str| json!({"secretRef": {"name": name}});
    let two = |one: &str, other: &str| json!({"envFrom": [secret(one), secret(other)]});
    let only = |name: &str| json!({"envFrom": [secret(name)]});
    assert_eq!(update(from, only("a"), only("a")), Allow);
    assert_eq!(update(from, only("a"), two("a", "b")), Deny);
    assert_eq!(update(from, only("a"), two("a", "a")), Deny, "one more of the same is one more");
    assert_eq!(update(from, only("a"), only("b")), Deny);
    assert_eq!(update(from, two("a", "b"), two("b", "a")), Allow, "where it stands does not count");
    assert_eq!(update(from, two("a", "b"), only("b")), Allow);
    // What lacks the same is something else.
    let volume = "select: ['$.spec.template.spec.volumes[*]'], must: {required: [configMap]}";
    let of = |source: &str, value: Value| json!({"volumes": [{"name": "v", source: value}]});
    let scratch = of("emptyDir", json!({}));
    assert_eq!(update(volume, scratch.clone(), scratch.clone()), Allow);
    assert_eq!(update(volume, scratch, of("hostPath", json!({"path": "/"}))), Deny);
    let value = "select: ['$.spec.template.spec.containers[*].env[*].value'], must: {minLength: 1}";
    let env = |name: &str| json!({"env": [{"name": "e", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]});
    assert_eq!(update(value, env("mine"), env("mine")), Allow);
    assert_eq!(update(value, env("mine"), env("admin")), Deny);
    let effect = "select: ['$.spec.template.spec.tolerations[*]'], must: {required: [key]}";
    let narrow = json!({"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]});
    let wide = json!({"tolerations": [{"operator": "Exists"}]});
    assert_eq!(update(effect, narrow.clone(), narrow.clone()), Allow);
    assert_eq!(update(effect, narrow, wide), Deny);
    // Outside of lists nothing in its place is the same, whatever is beside it.
    let limits = "select: ['$.spec.template.spec.activeDeadlineSeconds'], must: {type: integer}";
    assert_eq!(update(limits, json!({}), json!({"image": "j"})), Allow);
}

#[test]
fn what_is_compared_as_a_whole_may_stay_wherever_it_was_read() {
    let not = "select: ['$.spec.template.spec.containers[*].securityContext'], must: {not: {required: [privileged]}}";
    let context = json!({"securityContext": {"privileged": true, "runAsUser": 0}});
    let longer = json!({"securityContext": {"privileged": true, "runAsUser": 0}, "command": ["x"]});
    assert_eq!(update(not, context.clone(), longer), Allow);
    let worse = json!({"securityContext": {"privileged": true, "runAsUser": 1}});
    assert_eq!(update(not, context, worse), Deny);
}

#[test]
fn many_violations_are_compared_in_one_pass() {
    let rule = "select: ['$.spec.template.spec.containers[*].args[*]'], must: {const: x}";
    // A comparison of each with each would be ten thousand million.
    let args: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let mut more = args.clone();
    more.push("y".to_owned());
    assert_eq!(update(rule, json!({"args": args}), json!({"args": args})), Allow);
    assert_eq!(update(rule, json!({"args": args}), json!({"args": more})), Deny);
}

#[test]
fn more_runs_of_what_was_bad_are_judged_as_new() {
    let image = "select: ['$.spec.template.spec.containers[*].image'], must: {const: good}";
    let cron_job = |suspend: bool, parallelism: u32| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {
            "schedule": "@daily",
            "jobTemplate": {"spec": {"suspend": suspend, "parallelism": parallelism, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "w", "image": "bad"}]}}}}}})
    };
    let guard = guard(&format!("- {{name: a, {image}}}"));
    let kind =
        |new: Value| judged(&[&guard], "CronJob", &new, Some(&cron_job(true, 2)), "bob").kind;
    assert_eq!(kind(cron_job(true, 1)), Allow);
    assert_eq!(kind(cron_job(true, 3)), Deny);
    assert_eq!(kind(cron_job(false, 2)), Deny);
}
