//! Several templates, in one shape and in several, for the requests of some and not of others.

use serde_json::json;

use crate::core::judge::update::Old;
use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Named;
use crate::core::testing::{Job, document, job, read};
use crate::core::tree::Node;

/// A shape of these templates.
fn named(name: &str, spec: &str, templates: &[Job]) -> Shape {
    let files: Vec<String> = (0..templates.len()).map(|n| format!("{{file: {n}.yaml}}")).collect();
    let spec = format!("{spec}\ntemplateFrom: [{}]", files.join(", "));
    let text =
        document(&spec).replace("metadata: {name: worker}", &format!("metadata: {{name: {name}}}"));
    let templates: Vec<Node<'static>> = templates.iter().map(|job| read(&job.text())).collect();
    Shape::load(&read(&text), &templates).unwrap_or_else(|mistakes| {
        panic!("{:#?}", mistakes.iter().map(ToString::to_string).collect::<Vec<_>>())
    })
}

fn judged(shapes: &[Shape], job: &Job, old: Option<&Job>, user: Option<&str>) -> Verdict {
    let object = Node::from_json(&job.0);
    let old = old.map(|old| Node::from_json(&old.0));
    let read_old = || old.as_ref();
    let user = user.map(|user| Named::new(user, &[]));
    let shapes = Shapes::new(shapes.to_vec()).unwrap();
    shapes.judge(&Request {
        kind: "Job",
        namespace: "ns",
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        requester: user.as_ref().map(Named::requester),
        object: &object,
        old: old.is_some().then(|| Old::new(&read_old)),
        pointers: false,
    })
}

/// The verdict, whose shape it is and which template, and the places.
fn told(verdict: &Verdict) -> (VerdictKind, String, Option<usize>, Vec<String>) {
    let shape = verdict.shape.as_ref().map(|shape| shape.name.clone()).unwrap_or_default();
    let places = verdict.findings.findings.iter().map(|f| crate::core::testing::short(&f.path));
    (verdict.kind, shape, verdict.template, places.collect())
}

fn image(image: &str) -> Job {
    job().set("worker/image", json!(image))
}

use VerdictKind::{Allow, Deny, Ungoverned};

#[test]
fn a_job_fits_one_template_as_a_whole() {
    let new = image("r/w:2").set("worker/workingDir", json!("/new"));
    let old = image("r/w:1").set("worker/workingDir", json!("/old"));
    for shapes in [
        vec![named("roll", "", &[new.clone(), old.clone()])],
        vec![
            named("new", "", std::slice::from_ref(&new)),
            named("old", "", std::slice::from_ref(&old)),
        ],
    ] {
        let of = |job: &Job| told(&judged(&shapes, job, None, None));
        assert_eq!(of(&new).0, Allow);
        assert_eq!(of(&old).0, Allow);
        // Half of each is none.
        let mixed = new.clone().set("worker/image", json!("r/w:1"));
        let (kind, _, _, places) = of(&mixed);
        assert_eq!((kind, places), (Deny, vec!["worker.image".to_owned()]));
        let mixed =
            new.clone().set("worker/workingDir", json!("/old")).set("pod/hostNetwork", json!(true));
        let (kind, _, _, places) = of(&mixed);
        assert_eq!((kind, places.len()), (Deny, 2));
    }
}

#[test]
fn a_refusal_is_explained_by_the_closest_and_names_the_others() {
    let far = image("r/w:2").set("pod/hostNetwork", json!(true)).set("pod/hostPID", json!(true));
    let shapes = [named("far", "", &[far]), named("near", "", &[image("r/w:1")])];
    let verdict = judged(&shapes, &image("x"), None, None);
    assert_eq!(told(&verdict), (Deny, "near".to_owned(), Some(0), vec!["worker.image".to_owned()]));
    let others: Vec<&str> = verdict.alternatives.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(others, ["far"]);
    // What is admitted names nobody.
    assert!(judged(&shapes, &image("r/w:1"), None, None).alternatives.is_empty());
}

#[test]
fn beside_one_that_enforces_an_audit_shape_widens_by_its_template_and_no_more() {
    let shapes = [
        named("enforced", "", &[image("r/w:1")]),
        named("tried", "action: Audit", &[image("r/w:2")]),
    ];
    assert_eq!(judged(&shapes, &image("r/w:2"), None, None).kind, Allow);
    let almost = image("r/w:2").set("pod/hostNetwork", json!(true));
    let verdict = judged(&shapes, &almost, None, None);
    assert_eq!(told(&verdict).1, "enforced", "who refuses speaks, however close the other is");
    assert_eq!((verdict.kind, verdict.findings.enforced), (Deny, 2));
    // Alone it refuses nothing.
    let verdict = judged(&shapes[1..], &almost, None, None);
    assert_eq!((verdict.kind, verdict.findings.count), (Allow, 1));
}

#[test]
fn beside_one_that_encloses_a_rule_in_enforce_opens_nothing() {
    let enforced = named("enforced", "", &[image("r/w:1")]);
    let evil = image("evil").set("pod/hostPID", json!(true));
    let on_network = image("r/w:2").set("pod/hostNetwork", json!(true));
    for rules in [
        "rules: [{name: s, select: [$.spec.suspend], action: Enforce}, {name: rest}]",
        "rules: [{name: s, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true, action: Enforce}, {name: rest}]",
    ] {
        let mixed = named("mixed", &format!("action: Audit\n{rules}"), &[image("r/w:2")]);
        let shapes = [enforced.clone(), mixed.clone()];
        assert_eq!(judged(&shapes, &image("r/w:2"), None, None).kind, Allow, "{rules}");
        assert_eq!(judged(&shapes, &evil, None, None).kind, Deny, "{rules}");
        assert_eq!(judged(&shapes, &on_network, None, None).kind, Deny, "{rules}");
        // Alone it is what its rules say.
        assert_eq!(judged(&[mixed], &evil, None, None).kind, Allow, "{rules}");
    }
    // Both enclose, and a single rule of one is only watched.
    let watched = named(
        "watched",
        "rules: [{name: net, select: [$.spec.template.spec.hostNetwork], action: Audit}, {name: rest}]",
        &[image("r/w:2")],
    );
    let shapes = [enforced, watched];
    assert_eq!(judged(&shapes, &on_network, None, None).kind, Allow);
    assert_eq!(judged(&shapes, &evil, None, None).kind, Deny);
}

#[test]
fn a_template_that_only_warns_fits_worse_than_one_that_is_equal() {
    let spec = "rules: [{name: net, select: [$.spec.template.spec.hostNetwork], action: Warn}, {name: rest}]";
    let shapes = [
        named("warned", spec, &[image("r/w:1")]),
        named("equal", "", &[image("r/w:1").set("pod/hostNetwork", json!(true))]),
    ];
    let job = image("r/w:1").set("pod/hostNetwork", json!(true));
    assert_eq!(
        told(&judged(&shapes, &job, None, None)),
        (Allow, "equal".to_owned(), Some(0), vec![])
    );
    let verdict = judged(&shapes[..1], &job, None, None);
    assert_eq!((verdict.kind, verdict.findings.count), (Allow, 1));
}

#[test]
fn an_update_keeps_fitting_one_template() {
    let (one, two) = (image("r/w:1"), image("r/w:2"));
    let shapes = [named("roll", "", &[one.clone(), two.clone()])];
    let kind = |old: &Job, new: &Job| judged(&shapes, new, Some(old), None).kind;
    assert_eq!(kind(&one, &two), Allow);
    // Neither had the label, so it is new for both.
    assert_eq!(kind(&one, &two.clone().set("/metadata/labels", json!({"a": "b"}))), Deny);
    // What fitted the first may not come to differ from it where it differs from the second anyway.
    assert_eq!(kind(&one, &image("r/w:3")), Deny);
    // What fitted none may stay as it was.
    let bad = image("x");
    assert_eq!(kind(&bad, &bad.clone().set("/metadata/resourceVersion", json!("2"))), Allow);
    assert_eq!(kind(&bad, &image("y")), Deny);
    assert_eq!(kind(&bad, &one), Allow);
    // A Job that differs from each elsewhere cannot mend one difference by the other's.
    let half = image("r/w:1").set("pod/hostNetwork", json!(true));
    assert_eq!(kind(&half, &image("r/w:3").set("pod/hostNetwork", json!(true))), Deny);
}

#[test]
fn a_shape_is_for_those_that_it_names() {
    let shapes = [
        named(
            "ci",
            "match: {namespaces: [ns], users: ['system:serviceaccount:ci:runner']}",
            &[image("r/ci:1")],
        ),
        named(
            "ops",
            "match: {namespaces: [ns], groups: ['system:serviceaccounts:ops']}",
            &[image("r/ops:1")],
        ),
    ];
    let (ci, ops) = ("system:serviceaccount:ci:runner", "system:serviceaccount:ops:any");
    let kind = |job: &str, user: Option<&str>| judged(&shapes, &image(job), None, user).kind;
    assert_eq!(kind("r/ci:1", Some(ci)), Allow);
    assert_eq!(kind("r/ops:1", Some(ci)), Deny);
    assert_eq!(kind("r/ops:1", Some(ops)), Allow);
    assert_eq!(kind("r/ci:1", Some(ops)), Deny);
    let nobody = judged(&shapes, &image("r/ci:1"), None, Some("alice"));
    assert_eq!((nobody.kind, nobody.exempt), (Ungoverned, false));
    assert_eq!(nobody.reason.unwrap(), "no shape of namespace `ns` is for whoever asks");
    // A file has no identity: every shape is for it.
    assert_eq!(kind("r/ci:1", None), Allow);
    assert_eq!(kind("r/ops:1", None), Allow);
    assert_eq!(kind("x", None), Deny);
}

#[test]
fn who_is_exempt_loses_that_shape_and_no_other() {
    let exempt = "match: {namespaces: [ns], exempt: {users: [alice]}}";
    let one = [named("one", exempt, &[image("r/w:1")])];
    let verdict = judged(&one, &image("x"), None, Some("alice"));
    assert_eq!((verdict.kind, verdict.exempt), (Ungoverned, true));
    let verdict = judged(&one, &image("x"), None, Some("bob"));
    assert_eq!((verdict.kind, verdict.exempt), (Deny, false));
    assert_eq!(judged(&one, &image("x"), None, None).kind, Deny);
    let two = [one[0].clone(), named("two", "", &[image("r/w:2")])];
    let verdict = judged(&two, &image("x"), None, Some("alice"));
    assert_eq!((told(&verdict).1, verdict.kind, verdict.exempt), ("two".to_owned(), Deny, true));
    // What it is exempt from widens nothing either.
    assert_eq!(judged(&two, &image("r/w:1"), None, Some("alice")).kind, Deny);
    assert_eq!(judged(&two, &image("r/w:1"), None, Some("bob")).kind, Allow);
}

#[test]
fn a_place_that_only_one_template_has_is_no_mistake() {
    let both = job().set("/spec/activeDeadlineSeconds", json!(5));
    let spec = "variables: {d: {type: integer, minimum: 1, maximum: 9, at: [$.spec.activeDeadlineSeconds]}}";
    let shape = named("one", spec, &[both.clone(), job()]);
    let of = |job: &Job| judged(std::slice::from_ref(&shape), job, None, None).kind;
    assert_eq!(of(&both.clone().set("/spec/activeDeadlineSeconds", json!(9))), Allow);
    assert_eq!(of(&both.set("/spec/activeDeadlineSeconds", json!(10))), Deny);
    assert_eq!(of(&job()), Allow);
}
