//! `must` rules and guards as they are written.

use crate::core::shape::Shape;
use crate::core::testing::{document, job, load, read};

/// What is said of a guard with this rule.
fn said(rule: &str) -> Vec<String> {
    let text =
        document(&format!("templates: []\nrules:\n- {rule}")).replace("  templates: []\n", "");
    match Shape::load(&read(&text), &[]) {
        Ok(_) => vec![],
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
    }
}

fn says(rule: &str, parts: &[&str]) {
    let said = said(rule);
    assert!(!said.is_empty(), "nothing is said of {rule}");
    for part in parts {
        assert!(said.iter().any(|said| said.contains(part)), "{part}: {said:#?}");
    }
}

const NETWORK: &str = "select: [$.spec.template.spec.hostNetwork]";

#[test]
fn a_guard_is_a_shape_without_a_template() {
    assert_eq!(
        said(&format!("{{name: a, {NETWORK}, must: {{const: false}}, absent: true}}")),
        [""; 0]
    );
    let whole = |spec: &str| {
        let text = document(&format!("templates: []\n{spec}")).replace("  templates: []\n", "");
        let mistakes = Shape::load(&read(&text), &[]).map(|_| ()).unwrap_err();
        mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let rule = format!("rules: [{{name: a, {NETWORK}, must: {{const: false}}, absent: true}}");
    assert!(whole("").contains("it would judge nothing"));
    let text = whole(&format!("{rule}, {{name: b, select: [$.spec]}}, {{name: c}}]"));
    assert!(text.contains("the rule `b` of a guard has no `must`"), "{text}");
    assert!(text.contains("the rule `c` of a guard has no `must`"), "{text}");
    for key in ["variables: {a: {pattern: b, example: b}}", "optional: []", "literals: []"] {
        let text = whole(&format!("{key}\n{rule}]"));
        assert!(text.contains("a guard has none"), "{text}");
    }
}

#[test]
fn a_must_has_places_and_a_schema_that_says_something() {
    says("{name: a, must: {const: 1}}", &["`must` of a rule needs `select` beside it"]);
    says(
        "{name: a, entries: [$.spec.template.spec.containers], must: {maxItems: 1}}",
        &["`entries` or `must`, not both", "needs `select`"],
    );
    says(&format!("{{name: a, {NETWORK}, absent: true}}"), &["only beside `must`"]);
    says(&format!("{{name: a, {NETWORK}, must: {{}}}}"), &["can never speak"]);
    says(&format!("{{name: a, {NETWORK}, must: []}}"), &["is a map, not"]);
    says(&format!("{{name: a, {NETWORK}, must: {{cnst: false}}}}"), &["did you mean `const`"]);
    says(&format!("{{name: a, {NETWORK}, must: {{oneOf: []}}}}"), &["has no key `oneOf`"]);
    says(&format!("{{name: a, {NETWORK}, must: {{const: null}}}}"), &["null"]);
    says(
        "{name: a, select: ['$.spec.template.spec.containers[*].image'], must: {pattern: '('}}",
        &["no regular expression"],
    );
    says(
        "{name: a, select: [$.spec.backoffLimit], must: {maximum: 1}}",
        &["`maximum` of", "needs a `minimum`"],
    );
    says(
        "{name: a, select: [$.spec.backoffLimit], must: {minimum: 2, maximum: 1}}",
        &["`maximum` is below `minimum`"],
    );
}

#[test]
fn a_typo_opens_nothing() {
    says(
        "{name: a, select: [$.spec.template.spec.hostNetwrk], must: {const: true}}",
        &["can select nothing", "did you mean `hostNetwork`"],
    );
    says(
        "{name: a, select: [$.spec.template.spec.securityContext], must: {required: [runAsNonroot]}}",
        &["has no field `runAsNonroot`", "did you mean `runAsNonRoot`"],
    );
    says(
        "{name: a, select: [$.spec.template.spec.securityContext], must: {properties: {runAsNonroot: {const: true}}}}",
        &["did you mean `runAsNonRoot`"],
    );
    says(
        &format!("{{name: a, {NETWORK}, must: {{const: 'false'}}, absent: true}}"),
        &["a boolean at this place, not"],
    );
    says(&format!("{{name: a, {NETWORK}, must: {{type: string}}}}"), &["can hold of nothing here"]);
    says(&format!("{{name: a, {NETWORK}, must: {{maxItems: 1}}}}"), &["about lists"]);
    // It is stored as nothing, so it could never be there.
    says(&format!("{{name: a, {NETWORK}, must: {{const: false}}}}"), &["say `absent: true`"]);
    says(
        "{name: a, select: ['$.spec.template.spec.containers[*].resources.limits.memory'], must: {pattern: '1Gi'}}",
        &["many spellings"],
    );
    says(
        "{name: a, select: [$.spec.template.spec.containers], must: {const: []}}",
        &["do not compare"],
    );
    says("{name: a, select: [$.metadata.uid], must: {const: a}}", &["the server alone writes"]);
    says(
        "{name: a, select: ['$.spec.template.spec.containers[*]'], must: {type: object}, absent: true}",
        &["`absent: true` says nothing"],
    );
}

#[test]
fn beside_a_template_it_has_to_be_about_it_and_the_template_satisfies_it() {
    let rule = |select: &str, must: &str| {
        load(&job(), &format!("rules: [{{name: a, select: ['{select}'], must: {must}}}]"))
            .map(|shape| shape.rules.len())
            .map_err(|mistakes| {
                mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            })
    };
    let image = "$.spec.template.spec.containers[*].image";
    // The catch-all is there too.
    assert_eq!(rule(image, "{pattern: 'registry.example/.*'}"), Ok(2));
    let refused = rule(image, "{pattern: 'other/.*'}").unwrap_err();
    assert!(refused.contains("the shape refuses its own template"), "{refused}");
    let silent = rule("$.spec.schedule", "{const: '@daily'}").unwrap_err();
    assert!(silent.contains("about no template"), "{silent}");
}

#[test]
fn what_a_rule_passes_over_is_a_warning() {
    let warned = |rule: &str| {
        let text =
            document(&format!("templates: []\nrules:\n- {rule}")).replace("  templates: []\n", "");
        let guard = Shape::load(&read(&text), &[]).unwrap();
        guard.warnings().into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let image = |of: &str| {
        format!(
            "{{name: a, select: [\"$.spec.template.spec.containers[{of}].image\"], must: {{const: x}}}}"
        )
    };
    assert_eq!(warned(&image("*")), [""; 0]);
    assert!(warned(&image("?@.name=='w'"))[0].contains("says nothing of a list that has no `w`"));
    let privileged = "{name: a, select: ['$.spec.template.spec.containers[*].securityContext.privileged'], must: {const: true}}";
    assert!(warned(privileged)[0].contains("without `securityContext`"));
    // Where nothing ends in a name, nothing can be missing.
    says(
        "{name: a, select: [\"$.spec.template.spec.containers[?@.name=='w']\"], must: {required: [image]}, absent: true}",
        &["says nothing: no selector of the rule ends in a name"],
    );
}
