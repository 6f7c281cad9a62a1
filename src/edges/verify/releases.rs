//! Does this program know the Job API of every API server?

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;

use super::{Verification, items, listed, unknown};
use crate::core::kubernetes::api::VERSIONS;
use crate::edges::cluster::replica::Report;
use crate::formats::report::verified::Line;

const CHECK: &str = "releases";

/// Behind one address there may be several API servers, of two releases during an upgrade. Each new
/// connection may reach another one.
const CONNECTIONS: usize = 8;

/// Each of them has one (kube-apiserver's `APIServerIdentity`, on since 1.26).
const IDENTITIES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver";

/// Also the minors of the API servers that answered.
pub(super) async fn look(verification: &Verification<'_>) -> (Vec<Line>, BTreeSet<String>) {
    let mut minors = BTreeSet::new();
    for _ in 0..CONNECTIONS {
        let asked = async {
            let client = Client::try_from(verification.config.clone())?;
            client.apiserver_version().await
        };
        match asked.await {
            Ok(version) => minors.insert(minor(&version.major, &version.minor)),
            Err(error) => {
                return (vec![unknown(CHECK, "the API server's version", &error)], minors);
            }
        };
    }
    let seen: Vec<&String> = minors.iter().collect();
    let unknown: Vec<&str> =
        minors.iter().map(String::as_str).filter(|minor| !VERSIONS.contains(minor)).collect();
    // Whoever may not read them learns less, and that is all.
    let servers = verification.get(IDENTITIES).await.map_or(0, |leases| items(&leases).len());
    let servers = match servers {
        0 | 1 => String::new(),
        many => format!(" ({many} API servers; asked over {CONNECTIONS} connections)"),
    };
    if unknown.is_empty() {
        let message = format!("Kubernetes {}{servers}: the Job API is known", listed(&seen));
        return (vec![Line::ok(CHECK, message)], minors);
    }
    let known = format!("{} to {}", VERSIONS[0], VERSIONS[VERSIONS.len() - 1]);
    let message = format!(
        "Kubernetes {}{servers}: this program knows the Job API of {known} only, and may refuse what that release fills in",
        listed(&unknown)
    );
    let fix = "use a jobshape that knows the release, before the API server is upgraded";
    (vec![Line::failed(CHECK, message, fix)], minors)
}

/// Do the replicas, which may be of another version than this program?
pub(super) fn served(minors: &BTreeSet<String>, reports: &BTreeMap<String, Report>) -> Vec<Line> {
    let one = |(pod, report): (&String, &Report)| {
        let unknown: Vec<&String> =
            minors.iter().filter(|minor| !report.releases.contains(minor)).collect();
        let known = match &report.releases[..] {
            [] => "none".to_owned(),
            [only] => only.clone(),
            [first, .., last] => format!("{first} to {last}"),
        };
        (!unknown.is_empty()).then(|| {
            let message = format!(
                "{pod} does not know the Job API of Kubernetes {} (it knows {known}), and may refuse what that release fills in",
                listed(&unknown)
            );
            let fix = "run a jobshape there that knows the release";
            Line::failed(CHECK, message, fix)
        })
    };
    reports.iter().filter_map(one).collect()
}

/// Some providers write `36+`.
fn minor(major: &str, minor: &str) -> String {
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    format!("{major}.{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_does_not_know_an_api_servers_release_is_named() {
        let report = |releases: &[&str]| Report {
            releases: releases.iter().map(|&r| r.to_owned()).collect(),
            ..Report::default()
        };
        let reports = BTreeMap::from([
            ("new".to_owned(), report(&["1.35", "1.36", "1.37"])),
            ("old".to_owned(), report(&["1.34", "1.35", "1.36"])),
            ("silent".to_owned(), report(&[])),
        ]);
        let lines = served(&BTreeSet::from(["1.36".to_owned(), "1.37".to_owned()]), &reports);
        assert!(lines.iter().all(Line::is_failed));
        let expected = [
            "old does not know the Job API of Kubernetes 1.37 (it knows 1.34 to 1.36)",
            "silent does not know the Job API of Kubernetes 1.36, 1.37 (it knows none)",
        ];
        assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.message.starts_with(expected), "{}", line.message);
        }
    }

    #[test]
    fn a_providers_plus_is_left_out() {
        assert_eq!(super::minor("1", "36+"), "1.36");
        assert_eq!(super::minor("1", "37"), "1.37");
    }
}
