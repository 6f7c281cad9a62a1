//! What jobshape's own accounts may do: what the manifests give them, and nothing else.

use serde_json::{Value, json};

use super::grants::{Grant, Subject};
use crate::edges::certs::{AUTHORITY, LEASE};
use crate::formats::manifest::Names;

/// The account that serves, and the one that makes certificates.
const SERVING: &str = "jobshape";
const CERTIFICATES: &str = "jobshape-certificates";

const LEASES: &str = "coordination.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Whether it is one of jobshape's own accounts.
#[must_use]
pub fn is_own(subject: &Subject, names: &Names) -> bool {
    matches!(subject, Subject::ServiceAccount(of, name)
        if *of == names.namespace && [SERVING, CERTIFICATES].contains(&name.as_str()))
}

/// The rules that the manifests give an own account in a namespace or, without one, in the cluster.
fn shipped(subject: &Subject, namespace: Option<&str>, names: &Names) -> Value {
    let Subject::ServiceAccount(_, account) = subject else { return json!([]) };
    let is_here = namespace == Some(names.namespace.as_str());
    match account.as_str() {
        SERVING if is_here => json!([
            {"apiGroups": [LEASES], "resources": ["leases"], "verbs": ["create", "get", "update", "patch"]},
        ]),
        CERTIFICATES if is_here => json!([
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update", "delete"],
             "resourceNames": [names.certificate, AUTHORITY]},
            {"apiGroups": [LEASES], "resources": ["leases"], "verbs": ["create"]},
            {"apiGroups": [LEASES], "resources": ["leases"], "verbs": ["get", "update"],
             "resourceNames": [LEASE]},
            {"apiGroups": [LEASES], "resources": ["leases"], "verbs": ["list"]},
        ]),
        CERTIFICATES if namespace.is_none() => json!([
            {"apiGroups": [ADMISSION], "resources": ["validatingwebhookconfigurations"],
             "verbs": ["get", "patch", "watch"], "resourceNames": [names.configuration]},
        ]),
        _ => json!([]),
    }
}

/// What a grant gives an own account beyond that, in sentences without the account.
#[must_use]
pub fn beyond(grant: &Grant, names: &Names) -> Vec<String> {
    let shipped = shipped(&grant.subject, grant.namespace.as_deref(), names);
    let place = match &grant.namespace {
        Some(namespace) => format!("in {namespace}"),
        None => "in the cluster".to_owned(),
    };
    let rules = grant.rules.as_array().into_iter().flatten();
    let further = rules.filter(|rule| !is_shipped(rule, &shipped));
    let said = further.map(|rule| {
        let what =
            ["resources", "nonResourceURLs"].map(|key| texts(&rule[key]).join(", ")).concat();
        let verbs = texts(&rule["verbs"]).join(", ");
        format!("may {verbs} {what} {place}: {}", grant.through)
    });
    said.collect()
}

/// Whether one of the shipped rules has all of a rule, for each of its verbs.
fn is_shipped(rule: &Value, shipped: &Value) -> bool {
    let names = texts(&rule["resourceNames"]);
    texts(&rule["nonResourceURLs"]).is_empty()
        && texts(&rule["verbs"]).iter().all(|verb| {
            shipped.as_array().into_iter().flatten().any(|of| {
                let given = texts(&of["resourceNames"]);
                let has = |key: &str| texts(&rule[key]).iter().all(|t| texts(&of[key]).contains(t));
                texts(&of["verbs"]).contains(verb)
                    && has("apiGroups")
                    && has("resources")
                    && (given.is_empty()
                        || (!names.is_empty() && names.iter().all(|n| given.contains(n))))
            })
        })
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::grants;
    use super::*;
    use crate::formats::documents::documents;

    fn beyond_of(account: &str, rules: &Value, namespace: Option<&str>) -> Vec<String> {
        let bindings = json!({"items": [{
            "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "jobshape-system", "name": account}],
        }]});
        let read =
            grants::read(&bindings, namespace, &BTreeMap::from([("r", rules)]), &BTreeMap::new());
        assert!(is_own(&read[0].subject, &Names::default()));
        beyond(&read[0], &Names::default())
    }

    #[test]
    fn the_roles_of_the_manifests_are_what_is_shipped() {
        let here = Some("jobshape-system");
        let text = [
            include_str!("../../../../manifests/base/role.yaml"),
            "\n---\n",
            include_str!("../../../../manifests/components/built-in-certificates/role.yaml"),
        ]
        .concat();
        let roles: Vec<Value> = documents(&text)
            .map(|d| d.unwrap().root.to_json())
            .filter(|d| d["rules"].is_array())
            .collect();
        assert_eq!(roles.len(), 3);
        for role in roles {
            let name = role["metadata"]["name"].as_str().unwrap();
            let namespace = here.filter(|_| role["kind"] == "Role");
            assert_eq!(beyond_of(name, &role["rules"], namespace), Vec::<String>::new());
        }
    }

    #[test]
    fn anything_else_is_beyond() {
        let here = Some("jobshape-system");
        let rule = |group: &str, resource: &str, verb: &str, names: &[&str]| json!([{"apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names}]);
        let get = rule("", "secrets", "get", &[]);
        assert_eq!(
            beyond_of("jobshape", &get, here),
            ["may get secrets in jobshape-system: RoleBinding jobshape-system/b"]
        );
        assert_eq!(beyond_of("jobshape-certificates", &get, here).len(), 1);
        let named = rule("", "secrets", "get", &["jobshape-tls"]);
        assert_eq!(beyond_of("jobshape-certificates", &named, here).len(), 0);
        assert_eq!(beyond_of("jobshape-certificates", &named, None).len(), 1);
        assert_eq!(beyond_of("jobshape", &rule("*", "*", "*", &[]), None).len(), 1);
        let url = json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
        assert_eq!(beyond_of("jobshape", &url, None).len(), 1);
    }
}
