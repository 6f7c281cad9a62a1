//! Messages never hold a value of the Job: denials land in the logs of API servers.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::core::shape::Shape;
use crate::core::testing::{Job, job, judge, shape};

fn template() -> Job {
    job()
        .set(
            "worker/env",
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "b-<id>-<num>"}]),
        )
        .set(
            "worker/args",
            json!(["plain", "<id>", "--n=<num>", "<kind>", "line\nline\n".repeat(20)]),
        )
        .set("worker/command", json!(["sh", "-c", "x"]))
        .set("/metadata/annotations", json!({"a": "1", "b": "<id>"}))
        .set("/metadata/namespace", json!("ns"))
        .set("/metadata/labels", json!({"a": "1"}))
        .set("/spec/activeDeadlineSeconds", json!("<num>"))
        .set("worker/resources/limits", json!({"memory": "<m>", "cpu": "1"}))
}

const VARIABLES: &str = "variables:\n  id: {pattern: '[a-f]{4}', example: abcd}\n  num: {type: integer, minimum: 1, maximum: 9, example: 1}\n  kind: {enum: [a, b]}\n  m: {type: quantity, minimum: 1Mi, maximum: 1Gi, example: 1Mi}\nunpinned: [{path: $.metadata.annotations.c, reason: r}]";

static SHAPE: LazyLock<Shape> = LazyLock::new(|| shape(&template(), VARIABLES));

/// Every place of the Job that holds a string that is no key.
const PLACES: [&str; 22] = [
    "/kind",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/generateName",
    "/metadata/annotations/a",
    "/metadata/annotations/b",
    "/metadata/annotations/new",
    "/metadata/labels/a",
    "/metadata/labels/job-name",
    "/spec/template/metadata/labels/controller-uid",
    "/spec/activeDeadlineSeconds",
    "pod/serviceAccountName",
    "worker/image",
    "worker/args/0",
    "worker/args/1",
    "worker/args/2",
    "worker/args/3",
    "worker/args/4",
    "worker/command/2",
    "worker/env/0/value",
    "worker/env/1/value",
    "worker/resources/limits/memory",
];

/// Five characters in a row of a secret that stand in something said.
fn leak(secret: &str, said: &str) -> Option<String> {
    let secret: Vec<char> = secret.chars().collect();
    secret.windows(5).map(|part| part.iter().collect::<String>()).find(|part| said.contains(part))
}

fn said(shape: &Shape, job: &Job) -> Vec<String> {
    let findings = judge(shape, job);
    assert!(findings.count > 0);
    findings
        .findings
        .into_iter()
        .map(|f| {
            let expected = f.expected.unwrap_or_default();
            format!("{} {} {expected} {}", f.message, f.path, f.help.unwrap_or_default())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_value_is_repeated(secret in "[A-Z0-9+=]{8,24}|[A-Z]{6}\n[A-Z]{6}|abcd[A-Z]{8}|b-abcd-[0-9]{8}|\\$\\([A-Z]{9}\\)") {
        let of = &*SHAPE;
        let filled = Job(of.first().fill(&[]).unwrap().to_json());
        for place in PLACES {
            for line in said(of, &filled.clone().set(place, json!(secret))) {
                let clean = secret.trim_start_matches("b-").trim_start_matches("abcd");
                prop_assert_eq!(leak(clean, &line), None, "{}: {}", place, line);
            }
        }
        // The same secret everywhere, in values of keyed and of other entries that are extra.
        let added = filled
            .set("worker/env/-", json!({"name": "NEW", "value": secret}))
            .set("pod/tolerations", json!([{"key": secret, "value": secret}]))
            .set("worker/args/-", json!(secret))
            .set("/spec/brandNew", json!({"deep": [secret]}));
        for line in said(of, &added) {
            prop_assert_eq!(leak(&secret, &line), None, "{}", line);
        }
    }
}

#[test]
fn keys_are_named_cut_and_escaped() {
    let of = &*SHAPE;
    let long = "K".repeat(200);
    let added = Job(of.first().fill(&[]).unwrap().to_json())
        .set("worker/env/-", json!({"name": long, "value": "x"}))
        .set("/metadata/annotations/esc\u{1b}[2J", Value::from("x"));
    let paths: Vec<String> = judge(of, &added).findings.into_iter().map(|f| f.path).collect();
    assert_eq!(
        paths,
        [
            "metadata.annotations[esc\\u{1b}[2J]".to_owned(),
            format!("spec.template.spec.containers[worker].env[{}…]", "K".repeat(64)),
        ]
    );
}
