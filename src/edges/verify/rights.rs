//! Who may go round the boundary: RBAC, read as the API server's authorizer reads it.
//!
//! Whoever submits Jobs may do that and nothing that runs a Pod another way. Nobody but those who
//! administer the cluster may change the boundary itself.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Verification, items, unknown};
use crate::formats::report::verified::Line;

pub mod grants;
pub mod table;

use grants::{Grant, Subject};
use table::{Right, Where, boundary, other_ways};

const CHECK: &str = "rights";

/// What a role grants.
const API: &str = "/apis/rbac.authorization.k8s.io/v1";

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let grants = match grants(verification).await {
        Ok(grants) => grants,
        Err(error) => return vec![unknown(CHECK, "roles and their bindings", &error)],
    };
    let mut administrators: Vec<&Subject> =
        grants.iter().filter(|grant| grant.is_everything()).map(|grant| &grant.subject).collect();
    administrators.sort();
    administrators.dedup();
    let own = &verification.names.namespace;
    let is_of_the_cluster =
        |subject: &Subject| administrators.contains(&subject) || subject.is_of_the_control_plane();
    let is_trusted = |subject: &Subject| {
        let said = subject.to_string();
        verification.trusted.contains(&said)
    };
    let submitters: Vec<_> = verification.submitters.iter().flatten().collect();

    let mut lines = vec![];
    // Whoever submits.
    let mut wrong = vec![];
    for right in other_ways(verification.shapes) {
        for namespace in verification.governed() {
            for submitter in &submitters {
                let requester = submitter.requester();
                let grant = grants.iter().find(|grant| {
                    grant.subject.is(requester.user, submitter.groups())
                        && !is_trusted(&grant.subject)
                        && grant.allows(&right, Some(namespace))
                });
                if let Some(grant) = grant {
                    wrong.push(format!(
                        "{} {} in {namespace}: {}",
                        requester.user, right.says, grant.through
                    ));
                }
            }
        }
    }
    if !wrong.is_empty() {
        wrong.sort();
        wrong.dedup();
        let message = "whoever submits Jobs can go round the boundary";
        let fix = "take these rights away: creating Jobs (and CronJobs, with a template for them) is all it needs";
        lines.push(Line::failed(CHECK, message, fix).with(wrong));
    } else if !submitters.is_empty() {
        lines.push(Line::ok(CHECK, "whoever submits Jobs has no other way to run a Pod"));
    }

    // Whoever could change the boundary.
    let found = holders(&boundary(verification.names), &grants, &[own], |subject| {
        !is_of_the_cluster(subject) && !subject.is_in(own)
    });
    let (trusted, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(subject, _)| is_trusted(subject));
    if others.is_empty() {
        let count = administrators.len();
        let message =
            format!("only administrators can change the boundary: {count} have every right");
        let mut details: Vec<String> = administrators.iter().map(ToString::to_string).collect();
        details.extend(trusted.iter().map(|(subject, _)| format!("{subject}, which is trusted")));
        lines.push(Line::ok(CHECK, message).with(details));
    } else {
        let message = "others than administrators can change the boundary";
        let fix = "take these rights away, or say --trust KIND/NAME for whom that is right";
        lines.push(Line::failed(CHECK, message, fix).with(said(&others)));
    }

    // Everybody else who gets Pods to run there.
    let mut ways = other_ways(verification.shapes);
    ways.extend(table::submitting());
    let governed = verification.governed();
    let is_submitter =
        |subject: &Subject| submitters.iter().any(|s| subject.is(s.requester().user, s.groups()));
    let found = holders(&ways, &grants, &governed, |subject| {
        !is_of_the_cluster(subject) && !is_submitter(subject)
    });
    if !found.is_empty() {
        let message = "others who can run something in the governed namespaces";
        let found: Vec<_> = found.into_iter().collect();
        lines.push(Line::note(CHECK, message).with(said(&found)));
    }
    lines
}

/// Who has any of the rights, and which.
fn holders<'g>(
    rights: &[Right],
    grants: &'g [Grant],
    namespaces: &[impl AsRef<str>],
    wanted: impl Fn(&Subject) -> bool,
) -> BTreeMap<&'g Subject, Vec<String>> {
    let mut found: BTreeMap<&Subject, Vec<String>> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| wanted(&grant.subject)) {
        for right in rights {
            let mut places = namespaces.iter().map(|namespace| Some(namespace.as_ref()));
            let allowed = match right.place {
                Where::Cluster => grant.allows(right, None),
                Where::Namespace => places.any(|namespace| grant.allows(right, namespace)),
            };
            if allowed {
                let says = format!("{}: {}", right.says, grant.through);
                let of = found.entry(&grant.subject).or_default();
                if !of.contains(&says) {
                    of.push(says);
                }
            }
        }
    }
    found
}

fn said(found: &[(&Subject, Vec<String>)]) -> Vec<String> {
    let lines = found
        .iter()
        .flat_map(|(subject, rights)| rights.iter().map(move |right| format!("{subject} {right}")));
    lines.collect()
}

/// Every grant that reaches the governed namespaces, the own one, or the cluster.
async fn grants(verification: &Verification<'_>) -> Result<Vec<Grant>, kube::Error> {
    let cluster_roles = verification.get(&format!("{API}/clusterroles")).await?;
    let cluster_bindings = verification.get(&format!("{API}/clusterrolebindings")).await?;
    let of_cluster = by_name(&cluster_roles);
    let mut grants = grants::read(&cluster_bindings, None, &of_cluster, &BTreeMap::new());
    let mut namespaces = verification.governed();
    namespaces.push(&verification.names.namespace);
    namespaces.sort_unstable();
    namespaces.dedup();
    for namespace in namespaces {
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
