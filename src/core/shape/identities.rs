//! Names of authenticated identities: whom a shape is for, and whom it is taken away from.
//!
//! Source of the forms: `staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go` and
//! `pkg/authentication/user/user.go` there, v1.36.3.

use std::fmt;

use crate::core::shape::fields::Fields;
use crate::core::tree::{Node, Value};

/// Users and groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identities {
    /// User names.
    pub users: Vec<String>,
    /// Group names.
    pub groups: Vec<String>,
}

/// Who asks, as the API server authenticated them.
#[derive(Clone, Copy)]
pub struct Requester<'j> {
    /// The user name.
    pub user: &'j str,
    /// The groups.
    pub groups: &'j dyn Groups,
}

/// The groups of a requester, however they are kept.
pub trait Groups {
    /// Whether this is one of them.
    fn hold(&self, group: &str) -> bool;
}

impl Groups for Vec<String> {
    fn hold(&self, group: &str) -> bool {
        self.iter().any(|of| of == group)
    }
}

/// A requester as somebody names them: `--as`, or `request` of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    user: String,
    groups: Vec<String>,
}

impl Named {
    /// A user and the groups that are said, with those that the API server adds: all authenticated
    /// ones, and for a service account of which no group is said its own. Source: `WithImpersonation` in
    /// `staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation`.
    #[must_use]
    pub fn new(user: &str, groups: &[String]) -> Named {
        let mut all = groups.to_vec();
        if groups.is_empty()
            && let Some((namespace, _)) = user.strip_prefix(ACCOUNT).and_then(|r| r.split_once(':'))
        {
            all.push(ACCOUNTS.to_owned());
            all.push(format!("{ACCOUNTS}:{namespace}"));
        }
        if user != ANONYMOUS {
            all.push("system:authenticated".to_owned());
        }
        Named { user: user.to_owned(), groups: all }
    }

    /// All their groups, those included that the API server adds.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// As a request has it.
    #[must_use]
    pub fn requester(&self) -> Requester<'_> {
        Requester { user: &self.user, groups: &self.groups }
    }
}

impl fmt::Debug for Requester<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requester").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Requester<'_> {
    /// Whether it is the CronJob controller, with its own service account's credentials or with those
    /// of the controller manager (`--use-service-account-credentials=false`).
    #[must_use]
    pub fn is_cron_job_controller(&self) -> bool {
        CRON_JOB_CONTROLLER.contains(&self.user)
    }
}

/// The names that the CronJob controller has. Source: `cmd/kube-controller-manager/app/batch.go`,
/// `pkg/controlplane/.../controller_manager`: bootstrap policy, v1.36.3.
pub const CRON_JOB_CONTROLLER: [&str; 2] =
    ["system:serviceaccount:kube-system:cronjob-controller", "system:kube-controller-manager"];

/// Groups that the CronJob controller is in, besides those of everybody. The second is what some
/// certificates of the controller manager have as their organization.
const CRON_JOB_CONTROLLER_GROUPS: [&str; 2] =
    ["system:serviceaccounts:kube-system", "system:kube-controller-manager"];

impl Identities {
    /// Whether nobody is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }

    /// Whether the requester is one of them.
    #[must_use]
    pub fn hold(&self, requester: &Requester<'_>) -> bool {
        self.users.iter().any(|user| user == requester.user)
            || self.groups.iter().any(|group| requester.groups.hold(group))
    }

    /// Reads `users` and `groups`. A name that no request can have is a mistake: a typo would leave
    /// the shape to nobody, or take it away from nobody.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Identities {
        let mut read = |key: &str, wrong: fn(&str) -> Option<String>| {
            let mut names: Vec<String> = vec![];
            let given = fields.texts(key);
            let empty =
                |node: &Node<'_>| matches!(&node.value, Value::List(items) if items.is_empty());
            if fields.get(key).is_some_and(empty) {
                fields.mistake(fields.key_at(key), format!("`{key}` is empty: it names nobody"));
            }
            for (name, at) in given {
                if let Some(why) = wrong(name) {
                    fields.mistake(at, why);
                } else if names.iter().any(|known| known == name) {
                    fields.mistake(at, format!("`{name}` is named twice in `{key}`"));
                } else {
                    names.push(name.to_owned());
                }
            }
            names
        };
        let users = read("users", wrong_user);
        let groups = read("groups", wrong_group);
        Identities { users, groups }
    }
}

const ACCOUNT: &str = "system:serviceaccount:";
const ACCOUNTS: &str = "system:serviceaccounts";

/// The groups that Kubernetes itself gives. Roles and clouds have more that begin with `system:`.
const GROUPS: [&str; 7] = [
    "system:authenticated",
    "system:unauthenticated",
    "system:masters",
    "system:nodes",
    "system:monitoring",
    "system:bootstrappers",
    ACCOUNTS,
];

/// The users that Kubernetes itself has.
const USERS: [&str; 5] = [
    ANONYMOUS,
    "system:apiserver",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:kube-proxy",
];

const ANONYMOUS: &str = "system:anonymous";

/// Why no request can have this user name.
fn wrong_user(name: &str) -> Option<String> {
    if let Some(why) = wrong_text(name) {
        return Some(why);
    }
    if GROUPS.contains(&name) || name.starts_with("system:bootstrappers:") {
        return Some(format!("`{name}` is a group: name it in `groups`"));
    }
    if name.starts_with(ACCOUNTS) {
        return Some(match name.strip_prefix("system:serviceaccounts:") {
            Some(rest) if rest.contains(':') => format!(
                "no user is named `{name}`: a service account is `{ACCOUNT}{rest}`, without the `s`"
            ),
            _ => format!("`{name}` is a group: name it in `groups`"),
        });
    }
    if let Some(rest) = name.strip_prefix(ACCOUNT) {
        let valid = rest.split_once(':').is_some_and(|(namespace, account)| {
            is_name(namespace) && !namespace.contains('.') && is_name(account)
        });
        return (!valid).then(|| {
            format!("no user is named `{name}`: a service account is `{ACCOUNT}NAMESPACE:NAME`")
        });
    }
    if near(name, ACCOUNT) {
        return Some(format!(
            "no user is named `{name}`: a service account is `{ACCOUNT}NAMESPACE:NAME`"
        ));
    }
    if let Some(group) = misspelled(name, &GROUPS) {
        return Some(format!(
            "no user is named `{name}`: `{group}` is a group, to name in `groups`"
        ));
    }
    misspelled(name, &USERS)
        .map(|user| format!("no user is named `{name}`: did you mean `{user}`?"))
}

/// Why no request can have this group.
fn wrong_group(name: &str) -> Option<String> {
    if let Some(why) = wrong_text(name) {
        return Some(why);
    }
    let of_users = [ACCOUNT, "system:node:", "system:bootstrap:"];
    if name == ANONYMOUS || of_users.iter().any(|form| name.starts_with(form)) {
        return Some(format!("`{name}` is a user: name it in `users`"));
    }
    if let Some(rest) = name.strip_prefix(ACCOUNTS) {
        let valid = rest.is_empty()
            || rest
                .strip_prefix(':')
                .is_some_and(|namespace| is_name(namespace) && !namespace.contains('.'));
        return (!valid).then(|| {
            format!(
                "no group is named `{name}`: all accounts of a namespace are `{ACCOUNTS}:NAMESPACE`"
            )
        });
    }
    if near(name, ACCOUNTS) {
        return Some(format!(
            "no group is named `{name}`: all accounts of a namespace are `{ACCOUNTS}:NAMESPACE`"
        ));
    }
    misspelled(name, &GROUPS)
        .map(|group| format!("no group is named `{name}`: did you mean `{group}`?"))
}

/// The one of `known` that differs by a letter or two. More would take the groups of others for typos.
fn misspelled(name: &str, known: &[&'static str]) -> Option<&'static str> {
    const LETTERS: usize = 2;
    if known.contains(&name) {
        return None;
    }
    // A name of another form, as `alice` or `system:node:a`, may be like one of them by chance.
    let colons = |text: &str| text.matches(':').count();
    let lower = name.to_ascii_lowercase();
    known.iter().copied().find(|word| {
        colons(word) == colons(&lower)
            && word.len().abs_diff(lower.len()) <= LETTERS
            && strsim::damerau_levenshtein(&lower, word) <= LETTERS
    })
}

fn wrong_text(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("an empty name is nobody's".to_owned());
    }
    if name.trim() != name || name.chars().any(char::is_control) {
        return Some(
            "the name begins or ends with a space, or holds a control character".to_owned(),
        );
    }
    if name.contains(['*', '?']) {
        return Some(format!(
            "`{name}` is nobody's name: names are compared whole, and `*` and `?` stand for nothing else"
        ));
    }
    if name.contains("${") {
        return Some(format!(
            "`{name}` is nobody's name: fill it in with --substitute, or before the file is read"
        ));
    }
    None
}

/// Whether a name begins like the name of a service account and is none.
fn near(name: &str, form: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let squeezed: String = lower.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    squeezed.starts_with("system:serviceaccount") && !name.starts_with(form)
}

/// Lower-case letters, digits, dashes and dots, as a namespace or an account is named.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Why an identity may not be exempt from a shape: it is everybody's, or one that no shape may lose.
pub(super) fn too_wide(namespaces: &[String], exempt: &Identities) -> Vec<(String, String)> {
    const EVERYBODY: [&str; 4] =
        ["system:authenticated", "system:unauthenticated", ACCOUNTS, "system:nodes"];
    let mut wrong = vec![];
    for group in &exempt.groups {
        let of_own = group
            .strip_prefix("system:serviceaccounts:")
            .is_some_and(|namespace| namespaces.iter().any(|own| own == namespace));
        if CRON_JOB_CONTROLLER_GROUPS.contains(&group.as_str()) {
            let why = format!(
                "`{group}` cannot be exempt: the CronJob controller is in it, and every Job of every CronJob would be exempt with it; name the users"
            );
            wrong.push((group.clone(), why));
        } else if EVERYBODY.contains(&group.as_str()) || of_own {
            let why = format!(
                "`{group}` cannot be exempt: whoever creates the Jobs would be exempt with it"
            );
            wrong.push((group.clone(), why));
        }
    }
    for user in &exempt.users {
        let why = if user == ANONYMOUS {
            format!("`{user}` cannot be exempt: it is everybody who does not say who they are")
        } else if CRON_JOB_CONTROLLER.contains(&user.as_str()) {
            format!("`{user}` cannot be exempt: every Job of every CronJob would be exempt with it")
        } else {
            continue;
        };
        wrong.push((user.clone(), why));
    }
    wrong
}
