//! Does this program know the Job API of every API server?

use std::collections::BTreeSet;

use kube::Client;

use super::{Verification, items, listed, unknown};
use crate::core::kubernetes::api::VERSIONS;
use crate::formats::report::verified::Line;

const CHECK: &str = "releases";

/// Behind one address there may be several API servers, of two releases during an upgrade. Each new
/// connection may reach another one.
const CONNECTIONS: usize = 8;

/// Each of them has one (kube-apiserver's `APIServerIdentity`, on since 1.26).
const IDENTITIES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver";

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let mut minors = BTreeSet::new();
    for _ in 0..CONNECTIONS {
        let asked = async {
            let client = Client::try_from(verification.config.clone())?;
            client.apiserver_version().await
        };
        match asked.await {
            Ok(version) => minors.insert(minor(&version.major, &version.minor)),
            Err(error) => return vec![unknown(CHECK, "the API server's version", &error)],
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
        return vec![Line::ok(CHECK, message)];
    }
    let known = format!("{} to {}", VERSIONS[0], VERSIONS[VERSIONS.len() - 1]);
    let message = format!(
        "Kubernetes {}{servers}: this program knows the Job API of {known} only, and may refuse what that release fills in",
        listed(&unknown)
    );
    let fix = "use a jobshape that knows the release, before the API server is upgraded";
    vec![Line::failed(CHECK, message, fix)]
}

/// Some providers write `36+`.
fn minor(major: &str, minor: &str) -> String {
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    format!("{major}.{digits}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_providers_plus_is_left_out() {
        assert_eq!(super::minor("1", "36+"), "1.36");
        assert_eq!(super::minor("1", "37"), "1.37");
    }
}
