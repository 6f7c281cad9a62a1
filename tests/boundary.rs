//! Ways round the boundary that were tried once and must stay closed: each test is one attack or
//! one shape that would have opened it.

use jobshape::core::judge::{Findings, judge_one};
use jobshape::core::mistake::Mistake;
use jobshape::core::shape::Shape;
use jobshape::core::shape::rule::Action;
use jobshape::core::tree::Node;
use jobshape::formats::documents::documents;
use serde_json::{Value, json};

const TEMPLATE: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: main-<tag>, namespace: builds}
spec:
  template:
    metadata: {labels: {app: main}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: 'r.example/main:1'}]
";

/// A shape of this `spec` text (indented by two) around a template.
fn load(spec: &str, template: &str) -> Result<Shape, Vec<Mistake>> {
    let text = format!(
        "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\nmetadata: {{name: s}}\nspec:\n  match: {{namespaces: [builds]}}\n  \
         templateFrom: [{{file: t}}]\n{spec}"
    );
    let read = |text: &str| documents(text).next().unwrap().unwrap().root.into_owned();
    Shape::load(&read(&text), &[read(template)])
}

const TAG: &str = "  variables:\n    tag: {pattern: '[a-z]{1,8}', example: a}\n";

fn shape(spec: &str) -> Shape {
    load(&format!("{TAG}{spec}"), TEMPLATE).unwrap_or_else(|m| panic!("{m:#?}"))
}

fn mistakes(spec: &str) -> String {
    let found = load(&format!("{TAG}{spec}"), TEMPLATE).err().unwrap_or_default();
    found.iter().map(|m| format!("{m}\n")).collect()
}

/// The findings of the filled template with `merge` merged in.
fn judge(shape: &Shape, merge: &Value) -> Findings {
    let mut job = shape.first().fill(&[]).unwrap().to_json();
    json_patch::merge(&mut job, merge);
    judge_one(shape, shape.first(), &Node::from_json(&job), "builds")
}

fn pod(fields: Value) -> Value {
    json!({"spec": {"template": {"spec": fields}}})
}

#[test]
fn a_rule_about_one_entry_takes_nothing_from_the_rule_about_every_entry() {
    let every = "    - {name: every, select: ['$.spec.template.spec.initContainers[*]'], action: Enforce}\n";
    let one = "    - {name: one, select: [\"$.spec.template.spec.initContainers[?@.name=='x'].args\"], action: Audit}\n";
    let job = pod(json!({"initContainers": [{"name": "x", "image": "evil"}]}));
    for rules in [every.to_owned(), format!("{every}{one}"), format!("{one}{every}")] {
        let shape = shape(&format!("  action: Audit\n  rules:\n{rules}"));
        assert_eq!(judge(&shape, &job).enforced, 1, "{rules}");
    }
    // At the same depth the earlier rule has it, so the later one could never speak.
    let found = mistakes(
        "  action: Audit\n  rules:\n    - {name: every, select: ['$.metadata.annotations[*]'], action: Enforce}\n    \
         - {name: one, select: [\"$.metadata.annotations['k']\"], action: Audit}\n",
    );
    assert!(found.contains("the rule `one` can never speak"), "{found}");
}

#[test]
fn an_added_entry_is_raised_by_any_explicit_claim_inside_it() {
    let rules = "  action: Audit\n  rules:\n    \
         - {name: list, entries: [$.spec.template.spec.containers]}\n    \
         - {name: env, select: ['$.spec.template.spec.containers[*].env']}\n    \
         - {name: names, entries: ['$.spec.template.spec.containers[*].env'], action: Enforce}\n";
    let shape = shape(rules);
    let side = |fields: Value| {
        let mut container = json!({"name": "side", "image": "r.example/side:1"});
        json_patch::merge(&mut container, &fields);
        pod(json!({"containers": [{"name": "main", "image": "r.example/main:1"}, container]}))
    };
    let found = judge(&shape, &side(json!({"env": [{"name": "A", "value": "1"}]})));
    assert_eq!((found.count, found.enforced), (1, 1));
    let finding = &found.findings[0];
    assert_eq!(shape.rule(finding.rule).name, "list");
    assert_eq!(finding.raised_by.map(|r| shape.rule(r).name.as_str()), Some("names"));
    assert_eq!(finding.action, Action::Enforce);
    // Nothing inside that an explicit rule claims: the catch-all never raises.
    let found = judge(&shape, &side(json!({})));
    assert_eq!((found.count, found.enforced), (1, 0));
}

#[test]
fn what_could_never_speak_or_never_count_is_refused() {
    for (spec, sentence) in [
        (
            "  rules: [{name: r, select: [$.spec.template.spec.serviceAccount]}]\n",
            "say `serviceAccountName`",
        ),
        ("  rules: [{name: r, select: [$.spec.selector.matchLabels]}]\n", "compared as a whole"),
        ("  rules: [{name: r, select: [$.metadata.uid]}]\n", "the server alone writes `uid`"),
        ("  rules: [{name: r, select: [$.status]}]\n", "the server alone writes `status`"),
        ("  unpinned: [{path: $.status, reason: x}]\n", "the server alone writes `status`"),
        (
            "  unpinned: [{path: $.metadata.annotations, reason: x}]\n  \
             rules: [{name: r, select: [\"$.metadata.annotations['a']\"]}]\n",
            "can never speak",
        ),
        ("  unpinned: [{path: $, reason: x}]\n", "nothing would be pinned"),
        ("  unpinned: [{path: $.spec.template.spec, reason: x}]\n", "nothing would be pinned"),
        (
            "  unpinned: [{path: '$.spec.template.spec.containers[*].name', reason: x}]\n",
            "keys never vary",
        ),
        (
            "  rules: [{name: r, select: ['$.spec.template.spec.contaners[*].args']}]\n",
            "did you mean `containers`?",
        ),
    ] {
        let found = mistakes(spec);
        assert!(found.contains(sentence), "{spec}\n{found}");
    }
}

#[test]
fn a_place_held_open_holds_nothing_else() {
    let shape = shape(
        "  optional: [{path: $.spec.template.spec.dnsConfig.nameservers, value: [10.0.0.53]}]\n",
    );
    let with = |dns: Value| judge(&shape, &pod(json!({"dnsConfig": dns}))).count;
    assert_eq!(with(json!({"nameservers": ["10.0.0.53"]})), 0);
    assert_eq!(with(json!({"nameservers": ["10.0.0.54"]})), 1);
    assert_eq!(with(json!({"nameservers": ["10.0.0.53"], "searches": ["evil.example"]})), 1);
    // An empty pointer is stored, and the template has none.
    assert_eq!(with(json!({})), 1);
    assert_eq!(with(Value::Null), 0);
}

#[test]
fn a_work_queue_is_another_job() {
    let judged = |spec: &str, merge: Value| judge(&shape(spec), &json!({"spec": merge})).count;
    assert_eq!(judged("", json!({"parallelism": 1})), 1);
    assert_eq!(judged("", json!({"parallelism": 1, "completions": 1})), 0);
    let two = "  optional: [{path: $.spec.parallelism, value: 2}]\n";
    assert_eq!(judged(two, json!({"parallelism": 1, "completions": 1})), 0);
    assert_eq!(judged(two, json!({"parallelism": 1})), 1);
    assert_eq!(judged(two, json!({"parallelism": 2})), 0);
    let any = "  unpinned: [{path: $.spec.parallelism, reason: x}]\n";
    assert_eq!(judged(any, json!({"parallelism": 1, "completions": 1})), 0);
    assert_eq!(judged(any, json!({"parallelism": 7})), 0);
    assert_eq!(judged(any, json!({"parallelism": 7, "completions": 7})), 1);
}

#[test]
fn a_variable_is_fixed_by_what_the_server_fills_in() {
    let template = TEMPLATE.replace("namespace: builds", "namespace: <ns>").replace(
        "image: 'r.example/main:1'",
        "image: 'r.example/main:1', env: [{name: NS, value: <ns>}]",
    );
    let spec = format!("{TAG}    ns: {{enum: [builds, other], example: builds}}\n");
    let shape = load(&spec, &template).unwrap_or_else(|m| panic!("{m:#?}"));
    let mut job = shape.first().fill(&[]).unwrap().to_json();
    job["metadata"].as_object_mut().unwrap().remove("namespace");
    assert_eq!(judge_one(&shape, shape.first(), &Node::from_json(&job), "builds").count, 0);
    job["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = json!("other");
    assert_eq!(judge_one(&shape, shape.first(), &Node::from_json(&job), "builds").count, 1);
}

#[test]
fn pointers_of_the_pod_templates_metadata_keep_their_zero() {
    let merge = json!({"spec": {"template": {"metadata": {"deletionGracePeriodSeconds": 0}}}});
    assert_eq!(judge(&shape(""), &merge).count, 1);
    // At the Job itself it is the server's.
    assert_eq!(judge(&shape(""), &json!({"metadata": {"deletionGracePeriodSeconds": 0}})).count, 0);
}

#[test]
fn a_probe_expands_no_value() {
    let template = TEMPLATE.replace(
        "image: 'r.example/main:1'",
        "image: 'r.example/main:1', livenessProbe: {exec: {command: [sh, -c, 'curl <url>']}}",
    );
    let spec = format!("{TAG}    url: {{pattern: '.{{1,40}}', example: x}}\n");
    let shape = load(&spec, &template).unwrap_or_else(|m| panic!("{m:#?}"));
    let mut job = shape.first().fill(&[]).unwrap().to_json();
    let command = "/spec/template/spec/containers/0/livenessProbe/exec/command/2";
    for (value, findings) in [("curl a", 0), ("curl $(TOKEN)", 1), ("curl $TOKEN", 0)] {
        *job.pointer_mut(command).unwrap() = json!(value);
        assert_eq!(
            judge_one(&shape, shape.first(), &Node::from_json(&job), "builds").count,
            findings,
            "{value}"
        );
    }
}

#[test]
fn optional_places_that_the_server_writes_into_are_refused() {
    for spec in [
        "  optional: [{path: $.metadata.labels, value: {a: b}}]\n",
        "  optional: [{path: $.spec.template.metadata.labels, value: {a: b}}]\n",
        "  optional: [$.metadata.namespace]\n",
    ] {
        assert!(mistakes(spec).contains("cannot be optional"), "{spec}");
    }
}
