//! Who may go round the boundary: RBAC, read as the API server's authorizer reads it.
//!
//! Whoever submits Jobs may do that and nothing that runs a Pod another way. Nobody but those who
//! administer the cluster may change the boundary itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::configuration::{PATH, webhooks};
use super::{Verification, items, unknown};
use crate::core::judge::Shapes;
use crate::core::shape::identities::Named;
use crate::formats::manifest::Names;
use crate::formats::report::verified::Line;

pub mod grants;
pub mod own;
pub mod table;
#[cfg(test)]
mod tests;

use grants::{Grant, Subject};
use table::{CronJobs, Right, Where};

const CHECK: &str = "rights";

/// What a role grants.
const API: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Where the accounts of the control plane are.
const KUBE_SYSTEM: &str = "kube-system";

/// What the rights are held against.
struct Asked<'a> {
    shapes: &'a Shapes,
    names: &'a Names,
    governed: Vec<&'a str>,
    submitters: Vec<&'a Named>,
    trusted: &'a [String],
    /// Whether the live selectors look at labels of namespaces that can be changed.
    by_labels: bool,
}

impl Asked<'_> {
    fn trusts(&self, subject: &Subject) -> bool {
        self.trusted.contains(&subject.to_string())
    }

    fn is_submitter(&self, subject: &Subject) -> bool {
        self.submitters.iter().any(|s| subject.is(s.requester().user, s.groups()))
    }
}

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let asked = Asked {
        shapes: verification.shapes,
        names: verification.names,
        governed: verification.governed(),
        submitters: verification.submitters.iter().flatten().collect(),
        trusted: verification.trusted,
        by_labels: match is_by_labels(verification).await {
            Ok(by_labels) => by_labels,
            Err(error) => {
                return vec![unknown(CHECK, "the selectors of the configuration", &error)];
            }
        },
    };
    match grants(verification, &asked).await {
        Ok(grants) => judge(&asked, &grants),
        Err(error) => vec![unknown(CHECK, "roles and their bindings", &error)],
    }
}

fn judge(asked: &Asked<'_>, grants: &[Grant]) -> Vec<Line> {
    let mut lines = submitting(asked, grants);
    lines.push(changing(asked, grants));
    lines.extend(others(asked, grants));
    lines
}

/// Whoever submits.
fn submitting(asked: &Asked<'_>, grants: &[Grant]) -> Vec<Line> {
    let (mut wrong, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for submitter in &asked.submitters {
        let requester = submitter.requester();
        let of: Vec<&Grant> = grants
            .iter()
            .filter(|grant| grant.subject.is(requester.user, submitter.groups()))
            .filter(|grant| !asked.trusts(&grant.subject))
            .collect();
        let mut rights: Vec<Right> = table::other_ways();
        rights.push(table::cron_jobs());
        for namespace in &asked.governed {
            let shapes = asked.shapes.of_namespace(namespace).iter().map(AsRef::as_ref);
            let cron_jobs = CronJobs::of(shapes, &requester);
            for right in &rights {
                let is_cron_jobs = *right == table::cron_jobs();
                let Some((place, through)) = given(right, &of, &[*namespace]) else { continue };
                let said = format!("{} {}{place}: {through}", requester.user, right.says);
                match cron_jobs {
                    CronJobs::Pinned if is_cron_jobs => false,
                    CronJobs::Refused if is_cron_jobs => refused.insert(said),
                    _ => wrong.insert(said),
                };
            }
        }
    }
    let mut lines = vec![];
    if !wrong.is_empty() {
        let message = "whoever submits Jobs can go round the boundary";
        let fix = "take these rights away: creating Jobs (and CronJobs, with a template for them) is all it needs";
        lines.push(Line::failed(CHECK, message, fix).with(wrong.into_iter().collect()));
    } else if !asked.submitters.is_empty() {
        lines.push(Line::ok(CHECK, "whoever submits Jobs has no other way to run a Pod"));
    }
    if !refused.is_empty() {
        let message =
            "whoever submits Jobs has a right to CronJobs, all of which the shapes refuse";
        lines.push(Line::note(CHECK, message).with(refused.into_iter().collect()));
    }
    lines
}

/// Whoever could change the boundary.
fn changing(asked: &Asked<'_>, grants: &[Grant]) -> Line {
    let administrators = administrators(asked, grants);
    let is_wanted = |grant: &Grant| {
        !grant.is_built_in
            && !administrators.contains(&grant.subject)
            && !grant.subject.is_of_the_control_plane()
            && !own::is_own(&grant.subject, asked.names)
    };
    let own = asked.names.namespace.as_str();
    let keys = keys(asked, grants);
    let mut found = Found::new();
    holders(&table::boundary(asked.names), grants, &[own], is_wanted, &mut found);
    holders(&table::own_namespace(), grants, &[own], is_wanted, &mut found);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    holders(&table::taking_over(), grants, &keys, is_wanted, &mut found);
    if asked.by_labels {
        holders(&table::labelling(), grants, &asked.governed, is_wanted, &mut found);
    }
    for grant in grants.iter().filter(|grant| own::is_own(&grant.subject, asked.names)) {
        let beyond = own::beyond(grant, asked.names);
        if !beyond.is_empty() {
            found.entry(&grant.subject).or_default().extend(beyond);
        }
    }
    let (trusted, others): (Found<'_>, Found<'_>) =
        found.into_iter().partition(|(subject, _)| asked.trusts(subject));
    if others.is_empty() {
        let count = administrators.len();
        let message =
            format!("only administrators can change the boundary: {count} have every right");
        let mut details: Vec<String> = administrators.iter().map(ToString::to_string).collect();
        details.extend(trusted.keys().map(|subject| format!("{subject}, which is trusted")));
        Line::ok(CHECK, message).with(details)
    } else {
        let message = "others than administrators can change the boundary";
        let fix = "take these rights away, or say --trust KIND/NAME for whom that is right";
        Line::failed(CHECK, message, fix).with(said(&others))
    }
}

/// Everybody else who gets Pods to run there.
fn others(asked: &Asked<'_>, grants: &[Grant]) -> Option<Line> {
    let administrators = administrators(asked, grants);
    let is_wanted = |grant: &Grant| {
        !grant.is_built_in
            && !administrators.contains(&grant.subject)
            && !grant.subject.is_of_the_control_plane()
            && !asked.is_submitter(&grant.subject)
    };
    let mut ways = table::other_ways();
    ways.extend(table::submitting());
    let mut found = Found::new();
    holders(&ways, grants, &asked.governed, is_wanted, &mut found);
    let message = "others who can run something in the governed namespaces";
    (!found.is_empty()).then(|| Line::note(CHECK, message).with(said(&found)))
}

/// Who has every right there is: persons, groups of them, and accounts; never everybody, and none of
/// jobshape's own accounts.
fn administrators<'g>(asked: &Asked<'_>, grants: &'g [Grant]) -> BTreeSet<&'g Subject> {
    let all = grants.iter().filter(|grant| grant.is_everything()).map(|grant| &grant.subject);
    all.filter(|subject| !subject.is_everybody() && !own::is_own(subject, asked.names)).collect()
}

/// The namespaces whose accounts may change the boundary and are let: whoever can act as one of them
/// may as much. In a governed one the shapes say what an account is used for.
fn keys(asked: &Asked<'_>, grants: &[Grant]) -> BTreeSet<String> {
    let mut keys = BTreeSet::from([KUBE_SYSTEM.to_owned()]);
    for subject in administrators(asked, grants) {
        if let Subject::ServiceAccount(namespace, _) = subject {
            keys.insert(namespace.clone());
        }
    }
    let accounts = asked.trusted.iter().filter_map(|said| said.strip_prefix("ServiceAccount/"));
    keys.extend(accounts.filter_map(|said| Some(said.split_once('/')?.0.to_owned())));
    keys.remove(&asked.names.namespace);
    keys.retain(|namespace| !asked.governed.contains(&namespace.as_str()));
    keys
}

/// Who has which rights.
type Found<'g> = BTreeMap<&'g Subject, BTreeSet<String>>;

/// Adds who has any of the rights, and which. A right that is one of all is not told apart.
fn holders<'g>(
    rights: &[Right],
    grants: &'g [Grant],
    namespaces: &[&str],
    wanted: impl Fn(&Grant) -> bool,
    found: &mut Found<'g>,
) {
    let mut of: BTreeMap<&Subject, Vec<&Grant>> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| wanted(grant)) {
        of.entry(&grant.subject).or_default().push(grant);
    }
    for (subject, grants) in of {
        if let Some(grant) = grants.iter().find(|grant| grant.is_everything()) {
            let says = format!("may do everything: {}", grant.through);
            found.insert(subject, BTreeSet::from([says]));
            continue;
        }
        for right in rights {
            if let Some((place, through)) = given(right, &grants, namespaces) {
                let says = format!("{}{place}: {through}", right.says);
                found.entry(subject).or_default().insert(says);
            }
        }
    }
}

/// Where grants together give a right (" in a, b"), and through which bindings.
fn given(right: &Right, grants: &[&Grant], namespaces: &[&str]) -> Option<(String, String)> {
    let in_one = |namespace: Option<&str>| {
        let first = grants.iter().find(|grant| grant.allows(right, namespace))?;
        let second = match right.also {
            Some(_) => grants.iter().find(|grant| grant.allows_also(right, namespace))?,
            None => first,
        };
        let mut through = BTreeSet::new();
        through.extend([first.through.as_str(), second.through.as_str()]);
        Some(through)
    };
    let (place, through) = match right.place {
        Where::Cluster => (String::new(), in_one(None)?),
        Where::Namespace => {
            let places: Vec<(&str, BTreeSet<&str>)> = namespaces
                .iter()
                .filter_map(|namespace| Some((*namespace, in_one(Some(namespace))?)))
                .collect();
            let names: Vec<&str> = places.iter().map(|(namespace, _)| *namespace).collect();
            let through: BTreeSet<&str> = places.iter().flat_map(|(_, t)| t.clone()).collect();
            (format!(" in {}", names.join(", ")), through)
        }
    };
    let through: Vec<&str> = through.into_iter().collect();
    (!through.is_empty()).then(|| (place, through.join(" and ")))
}

fn said(found: &Found<'_>) -> Vec<String> {
    let lines = found
        .iter()
        .flat_map(|(subject, rights)| rights.iter().map(move |right| format!("{subject} {right}")));
    lines.collect()
}

/// Whether a live selector looks at a label that somebody can change; the API server sets the name.
async fn is_by_labels(verification: &Verification<'_>) -> Result<bool, kube::Error> {
    let path = format!("{PATH}/{}", verification.names.configuration);
    Ok(verification.find(&path).await?.is_some_and(|live| looks_at_labels(&live)))
}

fn looks_at_labels(configuration: &Value) -> bool {
    const NAME: &str = "kubernetes.io/metadata.name";
    webhooks(configuration).iter().any(|webhook| {
        let selector = &webhook["namespaceSelector"];
        let terms = selector["matchExpressions"].as_array().into_iter().flatten();
        let labels = selector["matchLabels"].as_object().into_iter().flatten();
        terms.filter_map(|term| term["key"].as_str()).any(|key| key != NAME)
            || labels.into_iter().any(|(key, _)| key != NAME)
    })
}

/// Every grant that reaches the cluster, the governed namespaces, the own one, or one whose accounts
/// could change the boundary.
async fn grants(
    verification: &Verification<'_>,
    asked: &Asked<'_>,
) -> Result<Vec<Grant>, kube::Error> {
    let cluster_roles = verification.get(&format!("{API}/clusterroles")).await?;
    let cluster_bindings = verification.get(&format!("{API}/clusterrolebindings")).await?;
    let of_cluster = by_name(&cluster_roles);
    let mut grants = grants::read(&cluster_bindings, None, &of_cluster, &BTreeMap::new());
    let mut namespaces = keys(asked, &grants);
    namespaces.extend(asked.governed.iter().map(|namespace| (*namespace).to_owned()));
    namespaces.insert(asked.names.namespace.clone());
    for namespace in &namespaces {
        let roles = verification.get(&format!("{API}/namespaces/{namespace}/roles")).await?;
        let path = format!("{API}/namespaces/{namespace}/rolebindings");
        let bindings = verification.get(&path).await?;
        grants.extend(grants::read(&bindings, Some(namespace), &of_cluster, &by_name(&roles)));
    }
    Ok(grants)
}

/// The rules of roles, by their names.
fn by_name(roles: &Value) -> BTreeMap<&str, &Value> {
    items(roles)
        .iter()
        .filter_map(|role| Some((role["metadata"]["name"].as_str()?, &role["rules"])))
        .collect()
}
