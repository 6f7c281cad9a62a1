//! Who is granted what. Source: `pkg/registry/rbac/validation/rule.go` and
//! `pkg/apis/rbac/v1/evaluation_helpers.go` of Kubernetes 1.36: verbs, groups, resources and names
//! each match by `*` or the text itself, a subresource also by `*/name`, and no names means all.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::table::Right;
use crate::edges::verify::items;

/// Who the parts of the control plane are. Source: `staging/src/k8s.io/apiserver/pkg/authentication/user/user.go`.
const CONTROL_PLANE: [&str; 4] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:kube-proxy",
];

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

    /// Whether it is a part of the control plane by its name. Its service accounts are not: what these
    /// may is told by the bindings that the API server itself makes.
    #[must_use]
    pub fn is_of_the_control_plane(&self) -> bool {
        let (names, name) = match self {
            Subject::User(name) => (&CONTROL_PLANE[..], name),
            Subject::Group(name) => (&["system:nodes"][..], name),
            Subject::ServiceAccount(..) => return false,
        };
        names.contains(&name.as_str())
    }

    /// Whether everybody is meant, or every service account of some namespace.
    #[must_use]
    pub fn is_everybody(&self) -> bool {
        match self {
            Subject::User(name) => name == "system:anonymous",
            Subject::Group(name) => {
                ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"]
                    .contains(&name.as_str())
                    || name.starts_with("system:serviceaccounts:")
            }
            Subject::ServiceAccount(..) => false,
        }
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
    /// Whether the API server itself binds a part of the control plane so.
    pub is_built_in: bool,
    pub(super) rules: Value,
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
        // Everybody who may write a binding may label it: it counts for kube-system only.
        let label = &binding["metadata"]["labels"]["kubernetes.io/bootstrapping"];
        let is_in_kube_system = |subject: &Subject| matches!(subject, Subject::ServiceAccount(of, _) if of == "kube-system");
        let is_built_in = |subject: &Subject| {
            label == "rbac-defaults" && called.starts_with("system:") && is_in_kube_system(subject)
        };
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        grants.extend(subjects.filter_map(|subject| {
            let subject = Subject::read(subject, namespace)?;
            Some(Grant {
                is_built_in: is_built_in(&subject),
                subject,
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
        self.permits(right.verbs, right.group, right.resource, &right.names, namespace)
    }

    /// Whether it allows that without which the right is worth nothing.
    #[must_use]
    pub fn allows_also(&self, right: &Right, namespace: Option<&str>) -> bool {
        right.also.is_none_or(|(verbs, resource)| {
            self.permits(verbs, right.group, resource, &[], namespace)
        })
    }

    fn permits(
        &self,
        verbs: &[&str],
        group: &str,
        resource: &str,
        names: &[String],
        namespace: Option<&str>,
    ) -> bool {
        if self.namespace.is_some() && self.namespace.as_deref() != namespace {
            return false;
        }
        self.rules.as_array().into_iter().flatten().any(|rule| {
            // What is created has no name yet, and what is deleted together has none.
            let has_no_name = |verb: &str| {
                verb == "deletecollection" || (verb == "create" && !resource.contains('/'))
            };
            let is_named = |name: &String| has(&rule["resourceNames"], name);
            verbs
                .iter()
                .any(|verb| is_done(&rule["verbs"], verb) && (no_names(rule) || !has_no_name(verb)))
                && any(&rule["apiGroups"], group)
                && is_about(&rule["resources"], resource)
                && (no_names(rule) || names.is_empty() || names.iter().any(is_named))
        })
    }
}

/// Whether a verb is among those of a rule.
fn is_done(verbs: &Value, wanted: &str) -> bool {
    let begins = |verb: &Value| verb.as_str().is_some_and(|verb| verb.starts_with(wanted));
    any(verbs, wanted)
        || (wanted.ends_with(':') && verbs.as_array().into_iter().flatten().any(begins))
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
        Right {
            verbs,
            group,
            resource,
            names: vec![],
            also: None,
            place: Where::Namespace,
            says: "",
        }
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
            Right { names: vec!["jobshape-shapes".to_owned()], ..right("patch", "", "configmaps") };
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

    #[test]
    fn a_name_limits_no_subresource_and_every_deletion_of_many() {
        let rule = |verb: &str, resource: &str| json!({"verbs": [verb], "apiGroups": [""], "resources": [resource], "resourceNames": ["x"]});
        let token = right("create", "", "serviceaccounts/token");
        assert!(grant(rule("create", "serviceaccounts/token"), None).allows(&token, Some("a")));
        let all = Right { verbs: &["deletecollection"], ..right("patch", "", "pods") };
        assert!(!grant(rule("deletecollection", "pods"), None).allows(&all, Some("a")));
    }

    #[test]
    fn a_verb_with_a_colon_stands_for_all_that_begin_with_it() {
        let rule = |verb: &str| json!({"verbs": [verb], "apiGroups": ["authentication.k8s.io"], "resources": ["users"]});
        let act =
            Right { verbs: &["impersonate:"], ..right("patch", "authentication.k8s.io", "users") };
        assert!(grant(rule("impersonate:user-info"), None).allows(&act, None));
        assert!(grant(rule("*"), None).allows(&act, None));
        assert!(!grant(rule("impersonate-on:user-info:get"), None).allows(&act, None));
        assert!(!grant(rule("impersonate"), None).allows(&act, None));
    }

    #[test]
    fn only_the_bindings_of_the_api_server_make_an_account_built_in() {
        let built_in = |name: &str, label: &str, of: &str| {
            let roles = json!([]);
            let bindings = json!({"items": [{
                "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": label}},
                "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "namespace": of, "name": "x"}],
            }]});
            read(&bindings, None, &BTreeMap::from([("r", &roles)]), &BTreeMap::new())[0].is_built_in
        };
        assert!(built_in("system:controller:x", "rbac-defaults", "kube-system"));
        assert!(!built_in("system:controller:x", "", "kube-system"));
        assert!(!built_in("system:controller:x", "rbac-defaults", "ci"));
        assert!(!built_in("x", "rbac-defaults", "kube-system"));
        assert!(Subject::User("system:kube-scheduler".into()).is_of_the_control_plane());
        assert!(!Subject::User("system:somebody".into()).is_of_the_control_plane());
    }
}
