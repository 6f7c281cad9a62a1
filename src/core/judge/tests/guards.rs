//! `must` rules and guards: what they find, beside templates and alone.

use serde_json::{Value, json};

use crate::core::judge::update::Old;
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::testing::{Job, document, job, read, shape};
use crate::core::tree::Node;

use VerdictKind::{Allow, Deny, Ungoverned};

/// A guard with these rules.
pub(super) fn guard(rules: &str) -> Shape {
    guard_for("guard", "", rules)
}

pub(super) fn guard_for(name: &str, of_match: &str, rules: &str) -> Shape {
    let spec = format!("match: {{namespaces: [ns]{of_match}}}\ntemplates: []\nrules:\n{rules}");
    let text = document(&spec)
        .replace("  templates: []\n", "")
        .replace("metadata: {name: worker}", &format!("metadata: {{name: {name}}}"));
    Shape::load(&read(&text), &[]).unwrap_or_else(|mistakes| {
        panic!("{:#?}", mistakes.iter().map(ToString::to_string).collect::<Vec<_>>())
    })
}

pub(super) fn judged(
    shapes: &[&Shape],
    kind: &str,
    object: &Value,
    old: Option<&Value>,
    user: &str,
) -> Verdict {
    let object = Node::from_json(object);
    let old = old.map(Node::from_json);
    let read_old = || old.as_ref();
    let user = Named::new(user, &[]);
    let shapes: Vec<Shape> = shapes.iter().map(|shape| (*shape).clone()).collect();
    Shapes::new(shapes).unwrap().judge(&Request {
        kind,
        namespace: "ns",
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        requester: Some(user.requester()),
        object: &object,
        old: old.is_some().then(|| Old::new(&read_old)),
        pointers: true,
    })
}

/// Whether a guard with this one rule admits a Job, and what it says of it.
pub(super) fn one(rule: &str, job: &Job) -> Vec<String> {
    let guard = guard(&format!("- {{name: a, {rule}}}"));
    let verdict = judged(&[&guard], "Job", &job.0, None, "bob");
    let found = verdict.findings.findings.iter().map(|f| format!("{}: {}", f.path, f.message));
    let found: Vec<String> = found.collect();
    assert_eq!(verdict.kind == Deny, !found.is_empty());
    found
}

const IMAGE: &str = "select: ['$.spec.template.spec.containers[*].image']";

#[test]
fn each_word_says_what_json_schema_says() {
    let image = |must: &str| one(&format!("{IMAGE}, must: {must}"), &job()).is_empty();
    assert!(image("{pattern: 'registry[.]example/.*'}") && !image("{pattern: 'registry'}"));
    assert!(image("{const: 'registry.example/worker:1'}") && !image("{const: 'x'}"));
    assert!(image("{enum: ['x', 'registry.example/worker:1']}") && !image("{enum: ['x', 'z']}"));
    assert!(
        image("{minLength: 3, maxLength: 30}")
            && !image("{maxLength: 5}")
            && !image("{minLength: 99}")
    );
    assert!(image("{not: {pattern: 'docker.*'}}") && !image("{not: {pattern: 'registry.*'}}"));
    assert!(
        image("{anyOf: [{const: x}, {pattern: 'r.*'}]}")
            && !image("{anyOf: [{const: x}, {const: z}]}")
    );

    let limit = |must: &str| {
        one(&format!("select: [$.spec.backoffLimit], must: {must}"), &job()).is_empty()
    };
    // Nobody wrote it: the server makes it 6.
    assert!(limit("{const: 6}") && !limit("{const: 0}") && limit("{type: integer}"));
    assert!(limit("{minimum: 0, maximum: 6}") && !limit("{minimum: 0, maximum: 5}"));

    let containers = |must: &str, job: &Job| {
        one(&format!("select: [$.spec.template.spec.containers], must: {must}"), job).is_empty()
    };
    let two = job().set("pod/containers/-", json!({"name": "b", "image": "i"}));
    assert!(containers("{maxItems: 1}", &job()) && !containers("{maxItems: 1}", &two));
    assert!(!containers("{items: {properties: {image: {pattern: 'registry.*'}}}}", &two));
    assert!(containers("{items: {required: [image]}}", &two));

    let labels = |must: &str, job: &Job| {
        one(&format!("select: [$.metadata.labels], must: {must}, absent: true"), job).is_empty()
    };
    let labelled = job().set("metadata/labels", json!({"team": "a"}));
    assert!(labels("{required: [team]}", &labelled) && !labels("{required: [owner]}", &labelled));
    assert!(labels("{required: [owner]}", &job()), "there are none, and none need be");
    assert!(!labels("{additionalProperties: false}", &labelled));
    assert!(labels("{properties: {team: {const: a}}, additionalProperties: false}", &labelled));
    assert!(!labels("{additionalProperties: {const: b}}", &labelled));
}

#[test]
fn quantities_compare_by_value() {
    let memory = |written: &str| {
        let job = job().set("worker/resources", json!({"limits": {"memory": written}}));
        let rule = "select: ['$.spec.template.spec.containers[*].resources.limits.memory'], must: {type: quantity, minimum: 64Mi, maximum: 2Gi}";
        one(rule, &job).is_empty()
    };
    assert!(memory("2048Mi") && memory("2Gi") && memory("64Mi") && memory("1e9"));
    assert!(!memory("3Gi") && !memory("2049Mi") && !memory("1") && !memory("4Ti"));
}

#[test]
fn a_place_is_asked_for_once_per_parent_and_missing_is_a_finding() {
    let rule = "select: ['$.spec.template.spec.containers[*].resources.limits'], must: {required: [memory]}";
    let two = job()
        .set("worker/resources", json!({"limits": {"memory": "1Gi"}}))
        .set("pod/containers/-", json!({"name": "b", "image": "i"}));
    let found = one(rule, &two);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("spec.template.spec.containers[b].resources.limits.memory: missing"),
        "{found:?}"
    );
    let found = one(rule, &job().set("worker/resources", json!({"limits": {"cpu": "1"}})));
    assert!(found[0].contains("resources.limits.memory: missing"), "{found:?}");
    // The server fills the Pod's in, and leaves a container's away.
    let pod = "select: [$.spec.template.spec.securityContext.runAsNonRoot], must: {const: true}";
    assert_eq!(one(pod, &job()).len(), 1);
    assert_eq!(one(&format!("{pod}, absent: true"), &job()), [""; 0]);
    assert_eq!(one(pod, &job().set("pod/securityContext", json!({"runAsNonRoot": true}))), [""; 0]);
    let of_container = "select: ['$.spec.template.spec.containers[*].securityContext.privileged'], must: {const: false}, absent: true";
    assert_eq!(one(of_container, &job()), [""; 0]);
    assert_eq!(
        one(of_container, &job().set("worker/securityContext", json!({"privileged": true}))).len(),
        1
    );
    // A map that nobody wrote is an empty one.
    let label = "select: [\"$.metadata.labels['a/b']\"], must: {const: c}";
    assert_eq!(one(label, &job()), ["metadata.labels[a/b]: missing; it must be there, and be `c`"]);
    let by_key =
        "select: [\"$.spec.template.spec.containers[?@.name=='b'].image\"], must: {const: j}";
    assert_eq!(one(by_key, &two).len(), 1);
    assert_eq!(one(by_key, &job()), [""; 0]);
}

#[test]
fn no_value_of_the_job_is_told() {
    let found = one(
        &format!("{IMAGE}, must: {{pattern: 'x/.*'}}"),
        &job().set("worker/image", json!("SECRET")),
    );
    assert!(!found[0].contains("SECRET") && found[0].contains("x/.*"), "{found:?}");
}

#[test]
fn what_no_guard_refuses_is_admitted_and_others_apply_too() {
    let network = guard(
        "- {name: no-network, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}",
    );
    let registry = guard_for(
        "registry",
        "",
        &format!("- {{name: ours, {IMAGE}, must: {{pattern: 'registry.*'}}, action: Warn}}"),
    );
    let template = shape(&job(), "");
    let any = job().set("pod/containers/-", json!({"name": "b", "image": "registry.example/b"}));
    let on_network = job().set("pod/hostNetwork", json!(true));
    let elsewhere = job().set("worker/image", json!("x"));
    let told = |shapes: &[&Shape], job: &Job| {
        let verdict = judged(shapes, "Job", &job.0, None, "bob");
        let speaker = verdict.shape.as_ref().map(|shape| shape.name.clone()).unwrap_or_default();
        let rules = verdict.findings.findings.iter();
        let rules = rules.map(|f| verdict.rule_of(f).unwrap().name.clone()).collect::<Vec<_>>();
        (verdict.kind, speaker, rules.join(" "))
    };
    let is = |kind, speaker: &str, rules: &str| (kind, speaker.to_owned(), rules.to_owned());
    assert_eq!(told(&[&network], &any), is(Allow, "guard", ""));
    assert_eq!(told(&[&network], &on_network), is(Deny, "guard", "no-network"));
    assert_eq!(told(&[&network, &registry], &elsewhere), is(Allow, "guard", "ours"));
    // Beside a template both have to be content.
    assert_eq!(told(&[&template, &network], &job()), is(Allow, "worker", ""));
    assert_eq!(told(&[&template, &network], &any), is(Deny, "worker", "everything-else"));
    let both = told(
        &[&template, &network, &registry],
        &on_network.clone().set("worker/image", json!("x")),
    );
    assert_eq!(both, is(Deny, "worker", "ours everything-else no-network everything-else"));
    // What only a guard refuses is refused by it.
    let wide = shape(&job(), "unpinned: [{path: $.spec.template.spec.hostNetwork, reason: r}]");
    assert_eq!(told(&[&wide, &network], &on_network), is(Deny, "guard", "no-network"));
    let audit = shape(&job(), "action: Audit");
    assert_eq!(
        told(&[&audit, &network], &on_network),
        is(Deny, "guard", "no-network everything-else")
    );
}

#[test]
fn an_exempt_identity_loses_only_that_guard_and_users_have_their_own() {
    let network = "- {name: net, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}";
    let exempt = guard_for("a", ", exempt: {users: [alice]}", network);
    let others =
        guard_for("b", ", users: [bob]", &format!("- {{name: i, {IMAGE}, must: {{const: x}}}}"));
    let bad = job().set("pod/hostNetwork", json!(true)).0;
    let kind = |shapes: &[&Shape], user: &str| {
        let verdict = judged(shapes, "Job", &bad, None, user);
        (verdict.kind, verdict.exempt, verdict.findings.count)
    };
    assert_eq!(kind(&[&exempt, &others], "alice"), (Ungoverned, true, 0));
    assert_eq!(kind(&[&exempt, &others], "bob"), (Deny, false, 2));
    assert_eq!(kind(&[&exempt, &others], "carol"), (Deny, false, 1));
    assert_eq!(kind(&[&exempt, &shape(&job(), "")], "alice"), (Deny, true, 1));
}

#[test]
fn in_an_update_what_was_there_may_stay_and_nothing_becomes_worse() {
    let of_image = guard(&format!("- {{name: i, {IMAGE}, must: {{const: good}}}}"));
    let beside = shape(
        &job().set("worker/image", json!("good")),
        &format!(
            "unpinned: [{{path: $.metadata.labels, reason: r}}, {{path: '$.spec.template.spec.containers[*].image', reason: r}}]\nrules: [{{name: i, {IMAGE}, must: {{const: good}}}}]"
        ),
    );
    for shape in [&of_image, &beside] {
        let old = job().set("worker/image", json!("bad"));
        let kind = |old: &Job, new: &Job| judged(&[shape], "Job", &new.0, Some(&old.0), "bob").kind;
        let labelled = |job: &Job| job.clone().set("metadata/labels", json!({"a": "b"}));
        assert_eq!(kind(&old, &labelled(&old)), Allow);
        assert_eq!(kind(&old, &labelled(&old).set("worker/image", json!("worse"))), Deny);
        assert_eq!(kind(&job().set("worker/image", json!("good")), &old), Deny);
        assert_eq!(kind(&old, &old.clone().set("worker/image", json!("good"))), Allow);
        // It would run again.
        let suspended = old.clone().set("spec/suspend", json!(true));
        assert_eq!(kind(&suspended, &old), Deny);
        // Nothing may keep it from going.
        let kept = old.clone().set("metadata/finalizers", json!(["x/y"]));
        let verdict = judged(&[shape], "Job", &old.0, Some(&kept.0), "bob");
        assert_eq!((verdict.kind, verdict.findings.count), (Allow, 0));
    }
}

#[test]
fn a_cron_job_is_judged_by_the_jobs_that_it_makes_and_by_itself() {
    let cron_job = |spec: Value| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {
            "schedule": "@daily", "suspend": true, "jobTemplate": {"spec": spec}}})
    };
    let of_jobs = guard(
        "- {name: net, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}",
    );
    let of_cron_jobs = guard("- {name: s, select: [$.spec.schedule], must: {pattern: '@.*'}}");
    let bad = job().set("pod/hostNetwork", json!(true)).0["spec"].clone();
    let one = |guard: &Shape, kind: &str, object: &Value| {
        let verdict = judged(&[guard], kind, object, None, "bob");
        verdict.findings.findings.iter().map(|f| f.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        one(&of_jobs, "CronJob", &cron_job(bad)),
        ["spec.jobTemplate.spec.template.spec.hostNetwork"]
    );
    let good = cron_job(job().0["spec"].clone());
    assert_eq!(one(&of_jobs, "CronJob", &good), [""; 0]);
    assert_eq!(one(&of_cron_jobs, "CronJob", &good), [""; 0]);
    let mut hourly = good;
    hourly["spec"]["schedule"] = json!("0 * * * *");
    assert_eq!(one(&of_cron_jobs, "CronJob", &hourly), ["spec.schedule"]);
    assert_eq!(one(&of_cron_jobs, "Job", &job().0), [""; 0]);
    // A suspended Job, and not the CronJob's own suspension.
    let running = guard("- {name: r, select: [$.spec.suspend], must: {const: false}}");
    assert_eq!(one(&running, "CronJob", &hourly), [""; 0]);
}
