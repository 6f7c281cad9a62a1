//! From a request to a verdict.

use serde_json::json;

use crate::core::judge::{Request, Shapes, Verdict, VerdictKind};
use crate::core::shape::document::Operation;
use crate::core::testing::{Job, document, job, read, shape};
use crate::core::tree::Node;

fn named(name: &str, spec: &str) -> crate::core::shape::Shape {
    let text =
        document(spec).replace("metadata: {name: worker}", &format!("metadata: {{name: {name}}}"));
    crate::core::shape::Shape::load(&read(&text), &[read(&job().text())]).unwrap()
}

fn verdict(
    shapes: &Shapes,
    job: &Job,
    kind: &str,
    namespace: &str,
    operation: Operation,
) -> Verdict {
    let object = Node::from_json(&job.0);
    shapes.judge(&Request {
        kind,
        namespace,
        operation,
        requester: None,
        object: &object,
        old: None,
        pointers: false,
    })
}

#[test]
fn only_an_enforced_finding_denies() {
    let spec = "action: Audit\nrules: [{name: images, select: ['$.spec.template.spec.containers[*].image'], action: Enforce}, {name: args, select: ['$.spec.template.spec.containers[*].args'], action: Warn}]";
    let shapes = Shapes::new(vec![shape(&job(), spec)]).unwrap();
    let of = |job: &Job| {
        let verdict = verdict(&shapes, job, "Job", "ns", Operation::Create);
        assert_eq!(verdict.shape.unwrap().name, "worker");
        assert_eq!(verdict.reason, None);
        (verdict.kind, verdict.findings.count)
    };
    assert_eq!(of(&job()), (VerdictKind::Allow, 0));
    assert_eq!(of(&job().set("pod/hostNetwork", json!(true))), (VerdictKind::Allow, 1));
    assert_eq!(of(&job().set("worker/args", json!(["a"]))), (VerdictKind::Allow, 1));
    let image = job().set("worker/image", json!("x")).set("pod/hostNetwork", json!(true));
    assert_eq!(of(&image), (VerdictKind::Deny, 2));
}

#[test]
fn what_no_shape_governs_is_ungoverned() {
    let shapes =
        Shapes::new(vec![named("a", "match: {namespaces: [a], operations: [CREATE]}")]).unwrap();
    let other = verdict(&shapes, &job(), "Job", "b", Operation::Create);
    assert_eq!(other.kind, VerdictKind::Ungoverned);
    assert_eq!(other.reason.unwrap(), "no shape governs namespace `b`");
    assert!(other.shape.is_none());
    let update = verdict(&shapes, &job(), "Job", "a", Operation::Update);
    assert_eq!(update.kind, VerdictKind::Ungoverned);
    assert_eq!(update.reason.unwrap(), "the shape `a` does not judge UPDATE");
    assert!(update.shape.is_none());
    let create = verdict(&shapes, &job(), "Job", "a", Operation::Create);
    assert_eq!(create.kind, VerdictKind::Allow);
    // A cron job too, when the operation is none of the shape's.
    let cron = verdict(&shapes, &job(), "CronJob", "a", Operation::Update);
    assert_eq!(cron.kind, VerdictKind::Ungoverned);
}

#[test]
fn both_operations_are_judged_unless_the_shape_says_otherwise() {
    let shapes = Shapes::new(vec![shape(&job(), "")]).unwrap();
    let other = job().set("worker/image", json!("x"));
    for operation in [Operation::Create, Operation::Update] {
        assert_eq!(verdict(&shapes, &job(), "Job", "ns", operation).kind, VerdictKind::Allow);
        assert_eq!(verdict(&shapes, &other, "Job", "ns", operation).kind, VerdictKind::Deny);
    }
}

#[test]
fn with_a_job_template_every_cron_job_is_refused() {
    let shapes = Shapes::new(vec![shape(&job(), "")]).unwrap();
    let cron = verdict(&shapes, &job(), "CronJob", "ns", Operation::Create);
    assert_eq!(cron.kind, VerdictKind::Deny);
    let said = &cron.findings.findings[0].message;
    assert!(said.contains("every CronJob in this namespace is refused"), "{said}");
    let audit = Shapes::new(vec![shape(&job(), "action: Audit")]).unwrap();
    let cron_in_audit = verdict(&audit, &job(), "CronJob", "ns", Operation::Create);
    assert_eq!((cron_in_audit.kind, cron_in_audit.findings.count), (VerdictKind::Allow, 1));
    assert_eq!(cron.shape.unwrap().name, "worker");
}

#[test]
fn a_shape_governs_every_namespace_that_it_names() {
    let shapes = Shapes::new(vec![
        named("a", "match: {namespaces: [a1, a2]}"),
        named("b", "match: {namespaces: [b1]}"),
    ])
    .unwrap();
    let name = |namespace| shapes.of_namespace(namespace).first().map(|shape| shape.name.as_str());
    assert_eq!(
        (name("a1"), name("a2"), name("b1"), name("a")),
        (Some("a"), Some("a"), Some("b"), None)
    );
    assert_eq!(shapes.all().len(), 2);
}

#[test]
fn shapes_that_cannot_be_told_apart_are_an_error() {
    let error =
        |second| Shapes::new(vec![named("a", "match: {namespaces: [c, d]}"), second]).unwrap_err();
    let (index, message) = error(named("a", "match: {namespaces: [e]}"));
    assert_eq!((index, message.as_str()), (1, "two shapes are named `a`"));
}
