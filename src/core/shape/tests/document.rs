//! The document itself: its keys, its match, its actions and its rules.

use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::rule::Action;
use crate::core::testing::{document, job, mistaken, read, shape};

/// Loads a whole text; the messages.
fn load(text: &str) -> Vec<String> {
    let loaded = Shape::load(&read(text), &[read(&job().text())]);
    loaded.map(|_| vec![]).unwrap_or_else(|all| all.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    let said = load(text);
    let fits =
        said.len() == expected.len() && said.iter().zip(expected).all(|(s, e)| s.contains(e));
    assert!(fits, "expected {expected:#?}\nfound {said:#?}");
}

#[test]
fn the_envelope_is_checked() {
    let good = document("");
    says(&good, &[]);
    says(
        "a: 1",
        &["a JobShape has no key `a`", "needs `apiVersion`", "needs `metadata`", "needs `spec`"],
    );
    says("[]", &["a JobShape is a map, not a list"]);
    says(
        &good.replace("v1alpha1", "v1"),
        &["apiVersion is `jobshape.dev/v1alpha1`, not `jobshape.dev/v1`"],
    );
    says(&good.replace("metadata: {name: worker}", "metadata: {}"), &["metadata needs `name`"]);
    says(
        &good.replace("metadata: {name: worker}", "metadata: {nam: w}"),
        &["metadata has no key `nam`; did you mean `name`?"],
    );
    says(
        &good.replace("{name: worker}", "{name: 1}"),
        &["`name` of metadata is a string, not an integer; put it in quotes"],
    );
    says(&good.replace("{name: worker}", "{name: ''}"), &["`name` of metadata is empty"]);
    for name in ["Worker", "a_b", "-a", "a-", "a.b"] {
        says(
            &good.replace("{name: worker}", &format!("{{name: {name}}}")),
            &["is no name: lower-case letters"],
        );
    }
    says(
        &good.replace("spec:\n", "spec: x\n").lines().take(4).collect::<Vec<_>>().join("\n"),
        &["spec is a map, not a string"],
    );
}

#[test]
fn unknown_keys_are_mistakes_everywhere() {
    mistaken(
        &job(),
        "variable: {}",
        &[("variable:", "spec has no key `variable`; did you mean `variables`?")],
    );
    mistaken(
        &job(),
        "match: {namespaces: [ns], verbs: [a]}",
        &[("verbs:", "match has no key `verbs`; one of `namespaces`")],
    );
    mistaken(&job(), "rules: [{name: a, path: $.spec}]", &[("path:", "a rule has no key `path`")]);
    mistaken(
        &job(),
        "templateFrom: [{file: a, path: b}]",
        &[("path:", "an entry of templateFrom has no key `path`")],
    );
    mistaken(
        &job(),
        "unpinned: [{path: $.spec.suspend, reason: r, since: x}]",
        &[("since:", "an entry of unpinned has no key `since`")],
    );
    mistaken(
        &job(),
        "optional: [{path: $.spec.suspend, value: true, why: x}]",
        &[("why:", "an entry of optional has no key `why`")],
    );
    mistaken(
        &job().set("worker/args", serde_json::json!(["<v>"])),
        "variables: {v: {patern: 'a', maxLength: 3, example: a}}",
        &[("patern:", "a variable has no key `patern`; did you mean `pattern`?")],
    );
}

#[test]
fn a_misspelled_key_is_not_missing_too() {
    mistaken(&job(), "match: {namespace: [ns]}", &[("namespace:", "did you mean `namespaces`?")]);
    mistaken(&job(), "rules: [{nme: a}]", &[("nme:", "did you mean `name`?")]);
}

#[test]
fn the_match_is_exact() {
    mistaken(&job(), "match: {}", &[("{}", "match needs `namespaces`")]);
    mistaken(
        &job(),
        "match: {namespaces: []}",
        &[("namespaces:", "is empty: no Job would be judged")],
    );
    mistaken(
        &job(),
        "match: {namespaces: ['*']}",
        &[("'*'", "`*` is no namespace: match takes exact names")],
    );
    mistaken(&job(), "match: {namespaces: [a, a]}", &[("a]", "namespace `a` is named twice")]);
    mistaken(&job(), "match: {namespaces: a}", &[("a}", "is a list, not a string")]);
    mistaken(&job(), "match: {namespaces: [1]}", &[("1]", "a list of strings, not an integer")]);
    mistaken(&job(), "match: {namespaces: [a], operations: []}", &[("operations:", "is empty")]);
    mistaken(
        &job(),
        "match: {namespaces: [a], operations: [create]}",
        &[("create]", "no operation `create`; did you mean `CREATE`?")],
    );
    mistaken(
        &job(),
        "match: {namespaces: [a], operations: [DELETE]}",
        &[("DELETE]", "no operation `DELETE`")],
    );
    mistaken(
        &job(),
        "match: {namespaces: [a], operations: [CREATE, CREATE]}",
        &[("CREATE]", "named twice")],
    );
    let of = shape(&job(), "match: {namespaces: [a, b]}");
    assert_eq!(of.namespaces, ["a", "b"]);
    assert_eq!(of.operations, [Operation::Create, Operation::Update]);
    let of = shape(&job(), "match: {namespaces: [a], operations: [UPDATE]}");
    assert_eq!(of.operations, [Operation::Update]);
}

#[test]
fn an_action_is_one_of_three_words() {
    for (word, help) in [
        ("enforce", "did you mean `Enforce`?"),
        ("Deny", "did you mean `Enforce`?"),
        ("dryrun", "did you mean `Audit`?"),
        ("Warning", "one of `Enforce`, `Warn` or `Audit`"),
    ] {
        let said = format!("no action `{word}`; ");
        mistaken(&job(), &format!("action: {word}"), &[(word, &said)]);
        mistaken(&job(), &format!("rules: [{{name: a, action: {word}}}]"), &[(word, &said)]);
        if help.starts_with("did") {
            mistaken(&job(), &format!("action: {word}"), &[(word, help)]);
        }
    }
    let of = shape(
        &job(),
        "action: Warn\nrules: [{name: a, select: [$.spec], action: Audit}, {name: b}]",
    );
    let actions: Vec<Action> = of.rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [Action::Audit, Action::Warn]);
}

#[test]
fn rules_have_names_of_their_own() {
    mistaken(&job(), "rules: [{select: [$.spec]}]", &[("{select", "a rule needs `name`")]);
    mistaken(
        &job(),
        "rules: [{name: a, select: [$.spec]}, {name: a, select: [$.metadata]}]",
        &[("a, select: [$.metadata]", "two rules are named `a`")],
    );
    mistaken(
        &job(),
        "rules: [{name: 'a b', select: [$.spec]}]",
        &[("'a b'", "the name of a rule is letters")],
    );
    mistaken(
        &job(),
        "rules: [{name: everything-else, select: [$.spec]}]",
        &[("everything-else", "is the name of the rule without select and entries")],
    );
    mistaken(
        &job(),
        "rules: [{name: a}, {name: b}]",
        &[("b}", "two rules without select and entries, `a` or `b`")],
    );
    mistaken(&job(), "rules: [a]", &[("a]", "a rule is a map, not a string")]);
    assert_eq!(shape(&job(), "rules: [{name: everything-else, action: Audit}]").rules.len(), 1);
}

#[test]
fn selectors_of_rules_are_not_empty() {
    mistaken(
        &job(),
        "rules: [{name: a, select: []}]",
        &[("select:", "`select` of a rule is empty")],
    );
    mistaken(
        &job(),
        "rules: [{name: a, entries: []}]",
        &[("entries:", "`entries` of a rule is empty")],
    );
    mistaken(
        &job(),
        "rules: [{name: a, select: $.spec}]",
        &[("$.spec", "`select` of a rule is a list, not a string")],
    );
}

/// What somebody began to write and left empty would count as absent: `templates:` makes a guard of a
/// closed shape, `users:` one for everybody of one for somebody.
#[test]
fn what_is_there_and_null_is_a_mistake_everywhere() {
    let header = "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\nmetadata: {name: w}\nspec:\n  match: {namespaces: [ns]}\n  rules: [{name: a, select: [$.spec.suspend], must: {const: true}}]\n";
    for key in ["templates", "templateFrom"] {
        let said = format!("`{key}` of spec is null, which is the same as absent; give it a value");
        for null in ["", " ~", " null"] {
            says(&format!("{header}  {key}:{null}\n"), &[&said]);
        }
    }
    let good = document("");
    says(
        &good.replace("metadata: {name: worker}", "metadata:"),
        &["`metadata` of a JobShape is null"],
    );
    says(&good.replace("{name: worker}", "{name: ~}"), &["`name` of metadata is null"]);
    says(&good.replace("{namespaces: [ns]}", "~"), &["`match` of spec is null"]);
    let rule = "{name: a, select: [$.spec.suspend], must: {const: true}, absent: true}";
    for (spec, key) in [
        ("match: {namespaces: ~}", "namespaces: ~"),
        ("match: {namespaces: [ns], operations: ~}", "operations: ~"),
        ("match: {namespaces: [ns], users: ~}", "users: ~"),
        ("match: {namespaces: [ns], groups: ~}", "groups: ~"),
        ("match: {namespaces: [ns], exempt: ~}", "exempt: ~"),
        ("match: {namespaces: [ns], exempt: {users: ~}}", "users: ~"),
        ("match: {namespaces: [ns], manualRuns: ~}", "manualRuns: ~"),
        ("action: ~", "action: ~"),
        ("variables: ~", "variables: ~"),
        ("optional: ~", "optional: ~"),
        ("unpinned: ~", "unpinned: ~"),
        ("literals: ~", "literals: ~"),
        ("rules: ~", "rules: ~"),
        ("rules: [{name: a, select: ~, message: x}]", "select: ~"),
        ("rules: [{name: a, entries: ~}]", "entries: ~"),
        ("rules: [{name: a, must: ~}]", "must: ~"),
        ("rules: [{name: a, select: [$.spec.suspend], message: ~}]", "message: ~"),
        ("rules: [{name: a, select: [$.spec.suspend], action: ~}]", "action: ~"),
        ("rules: [{name: a, select: [$.spec.suspend], auditUntil: ~}]", "auditUntil: ~"),
        (&format!("rules: [{}]", rule.replace("absent: true", "absent: ~")), "absent: ~"),
    ] {
        let expected =
            [(key, "is null, which is the same as absent; give it a value, or leave it out")];
        mistaken(&job(), spec, &expected);
    }
    let of_variable = "variables: {v: {maxLength: 3, example: a, pattern: ~}}";
    mistaken(
        &job().set("worker/args", serde_json::json!(["<v>"])),
        of_variable,
        &[("pattern: ~", "`pattern` of a variable is null")],
    );
}

#[test]
fn a_date_is_a_date_and_only_where_it_helps() {
    for date in [
        "2027-13-01",
        "2027-01-32",
        "2027-1-1",
        "soon",
        "2027-02-31",
        "2027-02-29",
        "2100-02-29",
        "2027-04-31",
        "2027-00-01",
        "2027-01-00",
        "+027-01-01",
        "2027-01-+1",
    ] {
        mistaken(
            &job(),
            &format!("rules: [{{name: a, action: Audit, auditUntil: '{date}'}}]"),
            &[(&format!("'{date}'"), "is a day of the calendar, like 2027-01-31")],
        );
    }
    mistaken(
        &job(),
        "rules: [{name: a, auditUntil: '2027-01-31'}]",
        &[("auditUntil:", "whose action is Enforce already")],
    );
    let of =
        shape(&job(), "rules: [{name: a, action: Audit, auditUntil: '2027-01-31', message: m}]");
    assert_eq!(of.rules[0].audit_until.as_deref(), Some("2027-01-31"));
    assert_eq!(of.rules[0].message.as_deref(), Some("m"));
    for date in ["2028-02-29", "2000-02-29", "2027-12-31"] {
        shape(&job(), &format!("rules: [{{name: a, action: Audit, auditUntil: '{date}'}}]"));
    }
}

#[test]
fn a_shape_has_one_template() {
    let header = "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\nmetadata: {name: w}\nspec:\n  match: {namespaces: [ns]}\n";
    says(header, &["spec has no template and no rule with `must`"]);
    says(&format!("{header}  templates: []\n"), &["`templates` of spec holds no template"]);
    says(&format!("{header}  templateFrom: []\n"), &["`templateFrom` of spec holds no template"]);
    says(&format!("{header}  templateFrom: [{{}}]\n"), &["needs `file`", "holds no template"]);
    says(&format!("{header}  templateFrom: [{{file: a}}]\n  templates: [{{}}]\n"), &["not both"]);
}

#[test]
fn every_mistake_is_said_at_once_and_in_its_place() {
    mistaken(
        &job()
            .set("worker/args", serde_json::json!(["<gone>", "<v>"]))
            .set("/spec/backoffLimit", serde_json::json!("3")),
        "action: Refuse\nvariables:\n  v: {pattern: '(', example: a}\n  unused: {maxLength: 3, example: a}\noptional: [$.spec.backofLimit]\nunpinned: [$.spec.suspend]\nrules:\n- {name: a, select: [$..x]}\n- {name: a, select: [$.spec]}",
        &[
            ("Refuse", "no action `Refuse`; did you mean `Enforce`?"),
            ("$.spec.suspend]", "an entry of unpinned needs a reason"),
            ("'('", "the pattern is no regular expression"),
            ("$..x", "`..` in `$..x`"),
            ("a, select: [$.spec]}", "two rules are named `a`"),
            ("\"3\"", "the API has an integer here, not a string"),
            ("\"<gone>\"", "no variable `gone` is declared"),
            ("$.spec.backofLimit", "did you mean `backoffLimit`?"),
            ("unused:", "the variable `unused` is never used"),
        ],
    );
}
