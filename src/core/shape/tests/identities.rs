//! Whom a shape is for, and whom it is taken away from.

use crate::core::shape::Shape;
use crate::core::shape::identities::Named;
use crate::core::testing::{document, job, mistaken, read, shape};

fn of(rest: &str) -> String {
    format!("match: {{namespaces: [ns], {rest}}}")
}

#[test]
fn a_name_that_no_request_can_have_is_a_mistake() {
    for (name, said) in [
        (
            "system:serviceaccounts:ci:runner",
            "a service account is `system:serviceaccount:ci:runner`",
        ),
        ("system:serviceaccounts:ci", "is a group: name it in `groups`"),
        ("system:serviceaccount:ci", "a service account is `system:serviceaccount:NAMESPACE:NAME`"),
        ("system:serviceaccount:ci:", "a service account is"),
        ("system:serviceaccount:ci:a:b", "a service account is"),
        ("system:serviceaccount:Ci:a", "a service account is"),
        ("system:service-account:ci:a", "a service account is"),
        ("system:serviceAccount:ci:a", "a service account is"),
        ("System:serviceaccount:ci:a", "a service account is"),
        (" alice", "begins or ends with a space"),
        ("", "an empty name is nobody's"),
        ("*", "`*` and `?` stand for nothing else"),
        ("system:serviceaccount:ci:*", "`*` and `?` stand for nothing else"),
        ("system:node:node-?", "`*` and `?` stand for nothing else"),
        ("${USER}", "fill it in with --substitute"),
        ("system:authenticated", "is a group: name it in `groups`"),
        ("system:unauthenticated", "is a group: name it in `groups`"),
        ("system:masters", "is a group: name it in `groups`"),
        ("system:nodes", "is a group: name it in `groups`"),
        ("system:monitoring", "is a group: name it in `groups`"),
        ("system:bootstrappers", "is a group: name it in `groups`"),
        ("system:bootstrappers:kubeadm", "is a group: name it in `groups`"),
        ("system:serviceaccounts", "is a group: name it in `groups`"),
        ("system:master", "`system:masters` is a group"),
        ("system:kube-controler-manager", "did you mean `system:kube-controller-manager`?"),
        ("System:anonymous", "did you mean `system:anonymous`?"),
    ] {
        let text = format!("'{name}'");
        mistaken(&job(), &of(&format!("users: [{text}]")), &[(&text, said)]);
        mistaken(&job(), &of(&format!("exempt: {{users: [{text}]}}")), &[(&text, said)]);
    }
    for (name, said) in [
        ("system:serviceaccount:ci:runner", "is a user: name it in `users`"),
        ("system:serviceaccounts:ci:runner", "all accounts of a namespace are"),
        ("system:serviceaccountsci", "all accounts of a namespace are"),
        ("system:ServiceAccounts", "all accounts of a namespace are"),
        ("*", "`*` and `?` stand for nothing else"),
        ("system:serviceaccounts:*", "`*` and `?` stand for nothing else"),
        ("${GROUP}", "fill it in with --substitute"),
        ("system:authenticate", "did you mean `system:authenticated`?"),
        ("System:Authenticated", "did you mean `system:authenticated`?"),
        ("system:master", "did you mean `system:masters`?"),
        ("sytem:masters", "did you mean `system:masters`?"),
        ("system:node", "did you mean `system:nodes`?"),
        ("system:node:a", "is a user: name it in `users`"),
        ("system:anonymous", "is a user: name it in `users`"),
    ] {
        let text = format!("'{name}'");
        mistaken(&job(), &of(&format!("groups: [{text}]")), &[(&text, said)]);
        mistaken(&job(), &of(&format!("exempt: {{groups: [{text}]}}")), &[(&text, said)]);
    }
    shape(
        &job(),
        &of("users: ['system:serviceaccount:ci:runner.x', alice, 'oidc:bob@example.org']"),
    );
    // Those of Kubernetes, and those that clouds and certificates have.
    shape(
        &job(),
        &of("users: ['system:node:a', 'system:kube-scheduler', 'system:admin', 'eks:nodewatcher']"),
    );
    shape(
        &job(),
        &of(
            "groups: ['system:authenticated', 'system:masters', 'system:nodes', 'system:node-proxier', \
             'system:cluster-admins', 'system:bootstrappers:kubeadm', 'kubeadm:cluster-admins']",
        ),
    );
    shape(&job(), &of("groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', admins]"));
}

#[test]
fn nobody_named_is_no_restriction_that_somebody_meant() {
    mistaken(&job(), &of("users: []"), &[("users", "`users` is empty: it names nobody")]);
    mistaken(&job(), &of("users: a"), &[("a}", "`users` of match is a list, not a string")]);
    mistaken(&job(), &of("users: [a, a]"), &[("a]", "`a` is named twice")]);
    mistaken(&job(), &of("exempt: {}"), &[("{}", "`exempt` of match names nobody")]);
    mistaken(&job(), &of("exempt: [a]"), &[("[a]", "exempt of match is a map, not a list")]);
    mistaken(
        &job(),
        &of("manualRuns: often"),
        &[("often", "`manualRuns` of match is true or false")],
    );
}

#[test]
fn nobody_is_exempt_who_is_everybody() {
    for group in [
        "system:authenticated",
        "system:unauthenticated",
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        // The CronJob controller's.
        "system:serviceaccounts:kube-system",
        "system:kube-controller-manager",
    ] {
        let text = format!("'{group}'");
        let spec = of(&format!("exempt: {{groups: [{text}]}}"));
        mistaken(&job(), &spec, &[(&text, "cannot be exempt")]);
    }
    for user in [
        "system:anonymous",
        "system:serviceaccount:kube-system:cronjob-controller",
        "system:kube-controller-manager",
    ] {
        let text = format!("'{user}'");
        let spec = of(&format!("exempt: {{users: [{text}]}}"));
        mistaken(&job(), &spec, &[(&text, "cannot be exempt")]);
    }
    shape(
        &job(),
        &of("exempt: {groups: ['system:masters', 'system:serviceaccounts:ci'], users: [alice]}"),
    );
}

#[test]
fn a_service_account_is_in_the_groups_that_the_server_puts_it_in() {
    let shape = shape(&job(), &of("groups: ['system:serviceaccounts:ci']"));
    let is_for = |user: &str, groups: &[&str]| {
        let groups: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
        shape.is_for(Some(&Named::new(user, &groups).requester()))
    };
    assert!(is_for("system:serviceaccount:ci:runner", &[]));
    assert!(!is_for("system:serviceaccount:cd:runner", &[]));
    // Groups that are said are all there are.
    assert!(!is_for("system:serviceaccount:ci:runner", &["others"]));
    assert!(is_for("alice", &["system:serviceaccounts:ci"]));
    assert!(!is_for("alice", &[]));
}

#[test]
fn manual_runs_are_of_a_template_that_is_a_cron_job() {
    let said = "no template is one; leave it out, or name the CronJob as a template";
    mistaken(&job(), &of("manualRuns: true"), &[("manualRuns", said)]);
    shape(&job(), &of("manualRuns: false"));
    let guard = format!(
        "{}\nrules: [{{name: a, select: [$.spec.suspend], must: {{const: true}}}}]",
        of("manualRuns: true")
    );
    let text = document(&guard).replace("  templateFrom: [{file: job.yaml}]\n", "");
    let found = Shape::load(&read(&text), &[]).expect_err("it loads");
    assert!(found.iter().any(|m| m.to_string().contains(said)), "{found:#?}");
}
