//! Who is granted what. Source: `pkg/registry/rbac/validation/rule.go` and
//! `pkg/apis/rbac/v1/evaluation_helpers.go` of Kubernetes 1.36: verbs, groups, resources and names
//! each match by `*` or the text itself, a subresource also by `*/name`, and no names means all.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::table::Right;
use crate::edges::verify::items;

/// Who is bound to a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// By name.
    User(String),
    /// A member of a group.
    Group(String),
    /// Namespace and name.
    ServiceAccount(String, String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::User(name) => write!(f, "User/{name}"),
            Subject::Group(name) => write!(f, "Group/{name}"),
            Subject::ServiceAccount(namespace, name) => {
                write!(f, "ServiceAccount/{namespace}/{name}")
            }
        }
    }
}

impl Subject {
    /// As a binding names it; a service account without a namespace is that of the binding.
    fn read(subject: &Value, namespace: Option<&str>) -> Option<Subject> {
        let name = subject["name"].as_str()?.to_owned();
        match subject["kind"].as_str()? {
            "User" => Some(Subject::User(name)),
            "Group" => Some(Subject::Group(name)),
            "ServiceAccount" => {
                let of = subject["namespace"].as_str().or(namespace)?;
                Some(Subject::ServiceAccount(of.to_owned(), name))
            }
            _ => None,
        }
    }

    /// Whether an authenticated user is meant.
    #[must_use]
    pub fn is(&self, user: &str, groups: &[String]) -> bool {
        match self {
            Subject::User(name) => name == user,
            Subject::Group(name) => groups.contains(name),
            Subject::ServiceAccount(namespace, name) => user
                .strip_prefix("system:serviceaccount:")
                .and_then(|rest| rest.split_once(':'))
                .is_some_and(|found| found == (namespace.as_str(), name.as_str())),
        }
    }

    /// Whether it is a part of the control plane, which can do as it likes anyway.
    #[must_use]
    pub fn is_of_the_control_plane(&self) -> bool {
        match self {
            Subject::User(name) => {
                name.starts_with("system:")
                    && !name.starts_with("system:serviceaccount:")
                    && name != "system:anonymous"
            }
            Subject::Group(name) => ["system:masters", "system:nodes"].contains(&name.as_str()),
            Subject::ServiceAccount(namespace, _) => namespace == "kube-system",
        }
    }

    /// Whether it is a service account of this namespace.
    #[must_use]
    pub fn is_in(&self, namespace: &str) -> bool {
        matches!(self, Subject::ServiceAccount(of, _) if of == namespace)
    }
}

/// The rules of a role that somebody is bound to.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Who.
    pub subject: Subject,
    /// Where; nothing: everywhere.
    pub namespace: Option<String>,
    /// By which binding.
    pub through: String,
    rules: Value,
}

/// The grants of a list of bindings.
#[must_use]
pub fn read(
    bindings: &Value,
    namespace: Option<&str>,
    cluster_roles: &BTreeMap<&str, &Value>,
    roles: &BTreeMap<&str, &Value>,
) -> Vec<Grant> {
    let mut grants = vec![];
    for binding in items(bindings) {
        let name = binding["roleRef"]["name"].as_str().unwrap_or_default();
        let of = match binding["roleRef"]["kind"].as_str() {
            Some("ClusterRole") => cluster_roles,
            _ => roles,
        };
        let Some(rules) = of.get(name) else { continue };
        let called = binding["metadata"]["name"].as_str().unwrap_or_default();
        let through = match namespace {
            Some(namespace) => format!("RoleBinding {namespace}/{called}"),
            None => format!("ClusterRoleBinding {called}"),
        };
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        grants.extend(subjects.filter_map(|subject| {
            Some(Grant {
                subject: Subject::read(subject, namespace)?,
                namespace: namespace.map(str::to_owned),
                through: through.clone(),
                rules: (*rules).clone(),
            })
        }));
    }
    grants
}

impl Grant {
    /// Whether it is every right there is, everywhere.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.namespace.is_none()
            && self.rules.as_array().into_iter().flatten().any(|rule| {
                ["verbs", "apiGroups", "resources"].iter().all(|key| has(&rule[key], "*"))
                    && no_names(rule)
            })
    }

    /// Whether it allows any verb of a right, in a namespace or, without one, in the cluster.
    #[must_use]
    pub fn allows(&self, right: &Right, namespace: Option<&str>) -> bool {
        if self.namespace.is_some() && self.namespace.as_deref() != namespace {
            return false;
        }
        self.rules.as_array().into_iter().flatten().any(|rule| {
            right.verbs.iter().any(|verb| any(&rule["verbs"], verb))
                && any(&rule["apiGroups"], right.group)
                && is_about(&rule["resources"], right.resource)
                && (no_names(rule) || right.name.as_deref().is_none_or(|name| has(&rule["resourceNames"], name)))
                // Nobody can be told by name which object may be created.
                && (no_names(rule) || right.verbs != ["create"])
        })
    }
}

fn has(list: &Value, wanted: &str) -> bool {
    list.as_array().into_iter().flatten().any(|value| value == wanted)
}

fn any(list: &Value, wanted: &str) -> bool {
    has(list, "*") || has(list, wanted)
}

fn is_about(resources: &Value, wanted: &str) -> bool {
    let subresource = wanted.split_once('/').map(|(_, sub)| format!("*/{sub}"));
    any(resources, wanted) || subresource.is_some_and(|sub| has(resources, &sub))
}

fn no_names(rule: &Value) -> bool {
    rule["resourceNames"].as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::super::table::Where;
    use super::*;
    use serde_json::json;

    fn grant(rule: Value, namespace: Option<&str>) -> Grant {
        let roles = json!([rule]);
        let bindings = json!({"items": [{
            "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "ci", "name": "x"}],
        }]});
        let found = read(&bindings, namespace, &BTreeMap::from([("r", &roles)]), &BTreeMap::new());
        found.into_iter().next().unwrap()
    }

    fn right(verb: &'static str, group: &'static str, resource: &'static str) -> Right {
        let verbs = match verb {
            "create" => &["create"][..],
            _ => &["patch"][..],
        };
        Right { verbs, group, resource, name: None, place: Where::Namespace, says: "" }
    }

    #[test]
    fn rules_match_as_the_authorizer_matches() {
        let one = |verbs: Value, groups: Value, resources: Value, right: Right| {
            let rule = json!({"verbs": verbs, "apiGroups": groups, "resources": resources});
            grant(rule, Some("a")).allows(&right, Some("a"))
        };
        let pods = || right("create", "", "pods");
        assert!(one(json!(["create"]), json!([""]), json!(["pods"]), pods()));
        assert!(one(json!(["*"]), json!(["*"]), json!(["*"]), pods()));
        assert!(!one(json!(["get"]), json!([""]), json!(["pods"]), pods()));
        assert!(!one(json!(["create"]), json!(["apps"]), json!(["pods"]), pods()));
        assert!(!one(json!(["create"]), json!([""]), json!(["pods/exec"]), pods()));
        let exec = || right("create", "", "pods/exec");
        assert!(one(json!(["create"]), json!([""]), json!(["*/exec"]), exec()));
        assert!(one(json!(["create"]), json!([""]), json!(["*"]), exec()));
        assert!(!one(json!(["create"]), json!([""]), json!(["pods"]), exec()));
    }

    #[test]
    fn a_binding_in_a_namespace_reaches_no_other() {
        let rule = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        let here = grant(rule.clone(), Some("a"));
        assert!(!here.allows(&right("create", "", "pods"), Some("b")) && !here.is_everything());
        let everywhere = grant(rule, None);
        assert!(everywhere.allows(&right("create", "", "pods"), Some("b")));
        assert!(everywhere.is_everything());
    }

    #[test]
    fn names_limit_what_is_there_and_never_what_is_created() {
        let rule = |name: &str| json!({"verbs": ["create", "patch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name]});
        let named =
            Right { name: Some("jobshape-shapes".to_owned()), ..right("patch", "", "configmaps") };
        assert!(grant(rule("jobshape-shapes"), Some("a")).allows(&named, Some("a")));
        assert!(!grant(rule("other"), Some("a")).allows(&named, Some("a")));
        let create = right("create", "", "configmaps");
        assert!(!grant(rule("jobshape-shapes"), Some("a")).allows(&create, Some("a")));
    }

    #[test]
    fn a_subject_is_who_it_names() {
        let account = "system:serviceaccount:ci:x";
        let groups = ["system:serviceaccounts:ci".to_owned()];
        assert!(Subject::ServiceAccount("ci".into(), "x".into()).is(account, &[]));
        assert!(!Subject::ServiceAccount("ci".into(), "y".into()).is(account, &[]));
        assert!(Subject::Group(groups[0].clone()).is(account, &groups));
        assert!(Subject::User(account.into()).is(account, &[]));
        assert!(!Subject::User("x".into()).is(account, &groups));
    }
}
