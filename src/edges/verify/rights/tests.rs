use serde_json::{Value, json};

use super::*;
use crate::core::testing::{job, shape};
use crate::formats::report::verified::Status;

const OWN: &str = "jobshape-system";

/// A grant to a subject (`Kind/name`, `ServiceAccount/namespace/name`) of verbs on a resource.
fn grant(subject: &str, namespace: Option<&str>, rule: [&str; 3]) -> Grant {
    let [verb, group, resource] = rule;
    let roles = json!([{"verbs": [verb], "apiGroups": [group], "resources": [resource]}]);
    let subject = match subject.split('/').collect::<Vec<_>>()[..] {
        [kind, name] => json!({"kind": kind, "name": name}),
        [kind, of, name] => json!({"kind": kind, "namespace": of, "name": name}),
        _ => panic!("{subject}"),
    };
    let bindings = json!({"items": [{
        "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [subject],
    }]});
    grants::read(&bindings, namespace, &BTreeMap::from([("r", &roles)]), &BTreeMap::new()).remove(0)
}

/// What is said about grants, with a shape of a Job in the namespace `ns` and `User/ci`, who submits.
fn judged(spec: &str, by_labels: bool, trusted: &[&str], grants: &[Grant]) -> Vec<Line> {
    let shapes = Shapes::new(vec![shape(&job(), spec)]).unwrap();
    let (names, ci) = (Names::default(), Named::new("ci", &[]));
    let trusted: Vec<String> = trusted.iter().map(|name| (*name).to_owned()).collect();
    let asked = Asked {
        shapes: &shapes,
        names: &names,
        governed: vec!["ns"],
        submitters: vec![&ci],
        trusted: &trusted,
        by_labels,
    };
    judge(&asked, grants)
}

fn failures(grants: &[Grant]) -> Vec<String> {
    let lines = judged("", false, &[], grants);
    lines.into_iter().filter(Line::is_failed).flat_map(|line| line.details).collect()
}

/// What one grant to a person who does not submit makes a failure.
fn of_bob(namespace: Option<&str>, rule: [&str; 3]) -> Vec<String> {
    failures(&[grant("User/bob", namespace, rule)])
}

#[test]
fn acting_as_an_account_changes_the_boundary_where_that_account_is() {
    let act = ["impersonate", "", "serviceaccounts"];
    let said = of_bob(None, act);
    assert_eq!(
        said,
        [
            "User/bob may act as service accounts in jobshape-system: ClusterRoleBinding b",
            "User/bob may act as service accounts in kube-system: ClusterRoleBinding b",
        ]
    );
    assert_eq!(of_bob(Some(OWN), act).len(), 1);
    assert_eq!(of_bob(Some("kube-system"), act).len(), 1);
    assert_eq!(of_bob(Some("ns"), act).len(), 0);
    assert_eq!(of_bob(None, ["impersonate", "authentication.k8s.io", "uids"]).len(), 0);
    for (verb, resource) in [
        ("impersonate:user-info", "users"),
        ("impersonate:user-info", "groups"),
        ("impersonate:arbitrary-node", "nodes"),
        ("impersonate:serviceaccount", "serviceaccounts"),
    ] {
        let said = of_bob(None, [verb, "authentication.k8s.io", resource]);
        assert!(!said.is_empty() && said[0].contains("may act in part as"), "{resource}: {said:?}");
    }
}

#[test]
fn the_own_namespace_is_for_administrators() {
    for rule in [
        ["create", "batch", "jobs"],
        ["create", "batch", "cronjobs"],
        ["get", "", "secrets"],
        ["watch", "", "secrets"],
        ["delete", "", "pods"],
        ["deletecollection", "", "secrets"],
        ["delete", "", "configmaps"],
        ["delete", "", "services"],
        ["delete", "apps", "deployments"],
        ["delete", "discovery.k8s.io", "endpointslices"],
        ["delete", "coordination.k8s.io", "leases"],
        ["patch", "", "pods/status"],
        ["patch", "apps", "deployments/scale"],
        ["get", "", "pods/attach"],
        ["get", "", "pods/exec"],
        ["patch", "", "pods/ephemeralcontainers"],
        ["create", "", "replicationcontrollers"],
        ["create", "apps", "statefulsets"],
        ["create", "apps", "daemonsets"],
        ["create", "apps", "replicasets"],
        ["create", "", "serviceaccounts/token"],
    ] {
        assert_eq!(of_bob(Some(OWN), rule).len(), 1, "{rule:?}");
    }
    assert_eq!(of_bob(Some(OWN), ["get", "", "pods"]), Vec::<String>::new());
}

#[test]
fn everybody_is_no_administrator() {
    let all = ["*", "*", "*"];
    for who in [
        "Group/system:authenticated",
        "Group/system:unauthenticated",
        "User/system:anonymous",
        "Group/system:serviceaccounts",
        "Group/system:serviceaccounts:dev",
    ] {
        let said = failures(&[grant(who, None, all)]);
        let wanted = format!("{who} may do everything: ClusterRoleBinding b");
        assert!(said.contains(&wanted), "{said:?}");
    }
    assert_eq!(failures(&[grant("Group/admins", None, all)]), Vec::<String>::new());
}

#[test]
fn nobody_is_passed_over_for_a_name() {
    let write = ["patch", "", "configmaps"];
    for who in
        ["User/system:bob", "ServiceAccount/kube-system/x", "ServiceAccount/jobshape-system/x"]
    {
        assert_eq!(failures(&[grant(who, Some(OWN), write)]).len(), 1, "{who}");
    }
    let scheduler = grant("User/system:kube-scheduler", None, ["delete", "", "pods"]);
    assert_eq!(failures(&[scheduler]).len(), 0);
    let rotator = "ServiceAccount/jobshape-system/jobshape-certificates";
    assert_eq!(failures(&[grant(rotator, Some(OWN), ["create", "", "secrets"])]).len(), 0);
    assert_eq!(failures(&[grant(rotator, Some(OWN), write)]).len(), 1);
    assert_eq!(failures(&[grant(rotator, None, ["*", "*", "*"])]).len(), 1);
}

#[test]
fn whoever_can_act_as_an_administrator_changes_the_boundary() {
    let pods = || grant("User/bob", Some("flux"), ["create", "", "pods"]);
    assert_eq!(failures(&[pods()]).len(), 0);
    let flux = grant("ServiceAccount/flux/x", None, ["*", "*", "*"]);
    assert_eq!(failures(&[pods(), flux]), ["User/bob may create Pods in flux: RoleBinding flux/b"]);
    let lines = judged("", false, &["ServiceAccount/flux/x"], &[pods()]);
    assert!(lines.iter().any(Line::is_failed));
}

#[test]
fn whoever_submits_has_no_way_into_pods_or_accounts() {
    let of_ci = |rules: &[[&str; 3]]| {
        failures(&rules.iter().map(|rule| grant("User/ci", Some("ns"), *rule)).collect::<Vec<_>>())
    };
    assert_eq!(
        of_ci(&[["get", "", "pods/exec"]]),
        ["ci may run commands in Pods in ns: RoleBinding ns/b"]
    );
    assert_eq!(of_ci(&[["get", "", "pods/attach"]]).len(), 1);
    assert_eq!(of_ci(&[["create", "", "secrets"]]).len(), 0);
    assert_eq!(of_ci(&[["create", "", "secrets"], ["get", "", "secrets"]]).len(), 1);
    let kubelets = failures(&[grant("User/ci", None, ["get", "", "nodes/proxy"])]);
    assert!(kubelets.iter().any(|said| said.starts_with("ci may reach")), "{kubelets:?}");
}

#[test]
fn a_right_to_cron_jobs_is_no_way_round_where_they_are_refused() {
    let cron_jobs = || [grant("User/ci", Some("ns"), ["create", "batch", "cronjobs"])];
    let status = |spec: &str| {
        let lines = judged(spec, false, &[], &cron_jobs());
        lines.iter().find(|line| !line.details.is_empty()).map(|line| line.status)
    };
    assert_eq!(status(""), Some(Status::Note));
    assert_eq!(status("rules: [{name: rest, action: Audit}]"), Some(Status::Failed));
    assert_eq!(status("match: {namespaces: [ns], users: [bob]}"), Some(Status::Failed));
}

#[test]
fn what_changes_jobs_on_their_way_and_who_anybody_is_are_in_the_boundary() {
    for resource in [
        "mutatingwebhookconfigurations",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ] {
        let rule = ["create", "admissionregistration.k8s.io", resource];
        assert_eq!(of_bob(None, rule).len(), 1, "{resource}");
    }
    let csr = |rule: [&str; 2]| grant("User/bob", None, [rule[0], "certificates.k8s.io", rule[1]]);
    let approve = || csr(["approve", "signers"]);
    assert_eq!(failures(&[approve()]).len(), 0);
    assert_eq!(
        failures(&[approve(), csr(["update", "certificatesigningrequests/approval"])]).len(),
        1
    );
}

#[test]
fn labels_of_namespaces_matter_where_a_selector_looks_at_them() {
    let label = || [grant("User/bob", Some("ns"), ["patch", "", "namespaces"])];
    let fails = |by_labels| judged("", by_labels, &[], &label()).iter().any(Line::is_failed);
    assert!(fails(true) && !fails(false));
    let selector = |key: &str| -> Value {
        json!({"webhooks": [{"namespaceSelector": {"matchExpressions": [{"key": key}]}}]})
    };
    assert!(looks_at_labels(&selector("control-plane")));
    assert!(!looks_at_labels(&selector("kubernetes.io/metadata.name")));
}
