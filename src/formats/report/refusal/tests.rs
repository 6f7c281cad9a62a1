//! What fits into a refusal, and what is said once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{MAX_TEXT, MAX_WARNING, refusal, warnings};
use crate::core::judge::{Verdict, VerdictKind};
use crate::core::shape::Shape;
use crate::core::testing::{Job, job, judge, shape};

fn verdict(shape: &Shape, job: &Job) -> Verdict {
    Verdict {
        shape: Some(Arc::new(shape.clone())),
        template: Some(0),
        findings: judge(shape, job),
        reason: None,
        ..Verdict::without_shape(VerdictKind::Deny, String::new())
    }
}

fn env(names: impl Iterator<Item = String>) -> Value {
    names.map(|name| json!({"name": name, "value": "x"})).collect()
}

#[test]
fn a_refusal_has_at_most_20_findings_and_4_kib() {
    let message = "Because. ".repeat(40);
    let spec = format!(
        "variables: {{id: {{pattern: '[a-z]+', example: x}}}}\n\
         rules: [{{name: env, entries: ['$.spec.template.spec.containers[*].env'], message: '{message}'}}]"
    );
    let of = shape(&job().set("/metadata/name", json!("worker-<id>")), &spec);
    let filled = Job(of.first().fill(&[]).unwrap().to_json());
    for (count, length) in [(3, 20), (30, 10), (30, 64), (300, 300)] {
        let extra = env((0..count).map(|n| format!("{n:0length$}")));
        let text = refusal(&verdict(&of, &filled.clone().set("worker/env", extra.clone())), "Job");
        assert!(text.len() <= MAX_TEXT, "{count} of {length}: {}", text.len());
        // The whole list is one finding where the template has none.
        assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 1);
        let with_env = filled.clone().set("worker/env", env(std::iter::once("A".to_owned())));
        let of = shape(&with_env.clone().set("/metadata/name", json!("worker-<id>")), &spec);
        let text = refusal(&verdict(&of, &filled.clone().set("worker/env", extra)), "Job");
        assert!(text.len() <= MAX_TEXT, "{count} of {length}: {}", text.len());
        let shown = text.lines().filter(|line| line.starts_with("- ")).count();
        assert!((3..=20).contains(&shown), "{text}");
        let more = count + 1 - shown;
        assert_eq!(text.contains(&format!("\nand {more} more\n")), more > 0, "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.contains("except for the value of `id`. Take out"), "{last}");
    }
}

#[test]
fn what_a_rule_says_is_said_once() {
    let of = shape(
        &job(),
        "rules:\n- {name: pods, select: [$.spec.template], message: \"Ask\\n  us\"}\n- {name: rest}",
    );
    let changed = job()
        .set("worker/tty", json!(true))
        .set("worker/stdin", json!(true))
        .set("/spec/suspend", json!(true));
    let text = refusal(&verdict(&of, &changed), "Job");
    let after: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("pods")).collect();
    assert_eq!(after.len(), 2, "{text}");
    assert_eq!(after[0], "pods: Ask us.");
    assert_eq!(text.matches("Ask").count(), 1, "{text}");
    assert!(
        after[1].starts_with("Every Job in this namespace must equal the template job.yaml. Take")
    );
}

#[test]
fn a_warning_stands_alone() {
    let of = shape(
        &job(),
        "rules: [{name: pods, select: [$.spec.template], action: Warn, message: From May on an error.}]",
    );
    let changed = job().set("worker/tty", json!(true)).set("worker/stdin", json!(true));
    let said = warnings(&verdict(&of, &changed));
    assert_eq!(said.len(), 2);
    for warning in said {
        assert!(warning.ends_with(" (From May on an error)"), "{warning}");
        assert!(warning.chars().count() <= MAX_WARNING);
    }
}
