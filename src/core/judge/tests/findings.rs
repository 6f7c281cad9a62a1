//! Findings: how many are described, their order, and what each of them carries.

use serde_json::{Value, json};

use crate::core::judge::finding::MAX_FINDINGS;
use crate::core::testing::{job, judge, refuses, shape};

#[test]
fn a_hundred_are_described_and_all_are_counted() {
    assert_eq!(MAX_FINDINGS, 100);
    let of = shape(&job(), "rules: [{name: pods, select: [$.spec.template], action: Warn}]");
    let env = |n: usize| -> Value { (0..n).map(|i| json!({"name": format!("E{i}")})).collect() };
    let template = job().set("worker/env", env(1));
    let of_env = shape(&template, "");
    for n in [MAX_FINDINGS, MAX_FINDINGS + 1, 5 * MAX_FINDINGS] {
        let findings = judge(&of_env, &job().set("worker/env", env(n + 1)));
        assert_eq!(findings.findings.len(), MAX_FINDINGS);
        assert_eq!((findings.count, findings.enforced), (n, n));
    }
    let few = judge(&of, &job().set("worker/tty", json!(true)).set("/spec/suspend", json!(true)));
    assert_eq!((few.findings.len(), few.count, few.enforced), (2, 2, 1));
}

#[test]
fn one_that_enforces_is_counted_behind_a_hundred_that_do_not() {
    let of = shape(
        &job().set("worker/env", json!([{"name": "A"}])),
        "action: Audit\nrules: [{name: kind, select: [$.spec.template.spec.hostNetwork]}]\n"
            .replace(
                "[$.spec.template.spec.hostNetwork]",
                "[$.spec.template.spec.hostNetwork], action: Enforce",
            )
            .as_str(),
    );
    let env: Value = (0..300).map(|i| json!({"name": format!("E{i}")})).collect();
    let findings = judge(&of, &job().set("worker/env", env).set("pod/hostNetwork", json!(true)));
    assert_eq!((findings.count, findings.enforced), (302, 1));
}

#[test]
fn findings_are_ordered_by_place() {
    let of = shape(&job(), "");
    let changed = job()
        .set("worker/tty", json!(true))
        .set("pod/hostPID", json!(true))
        .set("/metadata/name", json!("x"))
        .set("/kind", json!("Jab"))
        .set("pod/hostIPC", json!(true));
    let paths: Vec<String> = judge(&of, &changed).findings.into_iter().map(|f| f.path).collect();
    assert_eq!(
        paths,
        [
            "kind",
            "metadata.name",
            "spec.template.spec.containers[worker].tty",
            "spec.template.spec.hostIPC",
            "spec.template.spec.hostPID",
        ]
    );
}

#[test]
fn a_finding_points_into_job_and_template() {
    let template =
        job().set("worker/args", json!(["a"])).set("/metadata/annotations", json!({"a.b/c": "1"}));
    let text = template.text();
    let of = shape(&template, "");
    let only = |changed: &crate::core::testing::Job| {
        let mut findings = judge(&of, changed).findings;
        assert_eq!(findings.len(), 1);
        findings.remove(0)
    };
    let differs = only(&template.clone().set("worker/args/0", json!("b")));
    assert_eq!(differs.pointer, "/spec/template/spec/containers/0/args/0");
    assert_eq!(differs.expected.as_deref(), Some("`a`"));
    assert!(!differs.missing);
    assert!(text[differs.template_at.unwrap() as usize..].starts_with("\"a\""));

    let missing = only(&template.clone().remove("worker/args/0").set("worker/args", json!([])));
    assert_eq!(missing.pointer, "/spec/template/spec/containers/0/args");
    assert!(missing.missing);

    let key = only(&template.clone().set("/metadata/annotations/a.b~1c", json!("2")));
    assert_eq!(key.pointer, "/metadata/annotations/a.b~1c");
    assert_eq!(key.path, "metadata.annotations[a.b/c]");

    // Of what the template leaves out there is no place in it.
    let filled = only(&template.clone().set("/spec/backoffLimit", json!(1)));
    assert_eq!(filled.template_at, None);
    let extra = only(&template.set("pod/hostNetwork", json!(true)));
    assert_eq!((extra.template_at, extra.expected, extra.missing), (None, None, false));
}

#[test]
fn a_pointer_holds_no_key_of_any_length() {
    let pointer = |length: usize| {
        let key = "k".repeat(length);
        let changed = job().set("/metadata/annotations", json!({"a": "1"}));
        let template = shape(&changed, "");
        let found =
            judge(&template, &changed.set(&format!("/metadata/annotations/{key}"), json!("x")));
        found.findings[0].pointer.clone()
    };
    assert_eq!(pointer(200).len(), "/metadata/annotations/".len() + 200);
    assert_eq!(pointer(5000), "/metadata/annotations");
}

#[test]
fn what_is_no_job_is_one_finding() {
    use crate::core::tree::{Node, Value};
    let of = shape(&job(), "");
    for value in [Value::Null, Value::List(vec![]), Value::String("Job".into())] {
        let findings = crate::core::judge::judge_one(&of, of.first(), &Node::new(value), "ns");
        assert_eq!((findings.count, findings.enforced), (1, 1));
        assert!(findings.findings[0].message.contains("a map is expected here"));
    }
    let empty =
        crate::core::judge::judge_one(&of, of.first(), &Node::new(Value::Map(vec![])), "ns");
    assert!(empty.count >= 4, "{empty:?}");
}

#[test]
fn long_texts_are_told_apart_by_line_and_column() {
    let script = "set -eu\ncd /work\nmake test\n".repeat(5);
    let template = job().set("worker/args", json!([script]));
    let of = shape(&template, "");
    let says = |text: &str, said: &str| {
        refuses(&of, &job().set("worker/args", json!([text])), &[("worker.args[0]", said)]);
    };
    says(
        &script.replacen("make test", "make all", 1),
        "at line 3, column 6 of the text: the template has `make test` there",
    );
    says(script.trim_end(), "only differs by the newline at the end, which the template has");
    says(&format!("{script}\n"), "only differs by a newline at the end");
    says(&format!("{script}x"), "the template's text ends there");
    says(
        &script.replacen("cd", "c\u{200b}d", 1),
        "holds the invisible character U+200B at line 2, column 2",
    );
    says("", "at column 1 of the text: the template has `set -eu` there");
}

#[test]
fn long_texts_with_variables_say_where_they_stop_fitting() {
    let script = format!("{}run <id>\nend <id>\n", "# a line of no interest\n".repeat(5));
    let of = shape(
        &job().set("worker/args", json!([script])),
        "variables: {id: {pattern: '[a-z]+', example: x}}",
    );
    let says = |text: &str, said: &str| {
        refuses(&of, &job().set("worker/args", json!([text])), &[("worker.args[0]", said)]);
    };
    let filled = script.replace("<id>", "b");
    says(
        &filled.replace("end b", "END b"),
        "at line 7, column 1 of the text: the template has `end <id>` there",
    );
    says(&format!("{filled}\n"), "a newline");
    says(&filled.replace("run b", "ran b"), "at line 6, column 2");
}
