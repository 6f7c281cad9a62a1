//! Is there somebody behind the Service that the configuration names?

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Verification, items, unknown};
use crate::formats::report::verified::Line;

const CHECK: &str = "service";

/// The port that the configuration names.
const PORT: u64 = 443;

pub(super) async fn look(verification: &Verification<'_>) -> Vec<Line> {
    let (namespace, name) = (&verification.names.namespace, &verification.names.service);
    let path = format!("/api/v1/namespaces/{namespace}/services/{name}");
    let service = match verification.find(&path).await {
        Ok(service) => service,
        Err(error) => return vec![unknown(CHECK, &format!("the Service {name}"), &error)],
    };
    let Some(service) = service else {
        let message = format!(
            "there is no Service {name} in {namespace}: what fails closed refuses every Job"
        );
        return vec![Line::failed(CHECK, message, "apply the manifests: docs/install.md")];
    };
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    if !ports.into_iter().any(|port| port["port"] == PORT) {
        let message =
            format!("the Service {name} has no port {PORT}, which the configuration names");
        return vec![Line::failed(CHECK, message, "apply the manifests: docs/install.md")];
    }
    match endpoints(verification).await {
        Err(error) => vec![unknown(CHECK, "the endpoints of the Service", &error)],
        Ok(Endpoints { ready, .. }) => vec![match ready.len() {
            0 => {
                let message = format!(
                    "the Service {name} has no ready endpoint: what fails closed refuses every Job"
                );
                let fix = format!("see why no Pod is ready: kubectl -n {namespace} describe pods");
                Line::failed(CHECK, message, fix)
            }
            1 => {
                let message =
                    format!("the Service {name} has one ready endpoint: nobody stands in for it");
                Line::note(CHECK, message).with(ready)
            }
            many => Line::ok(CHECK, format!("the Service {name} has {many} ready endpoints")),
        }],
    }
}

/// The Pods behind the Service, by name; of an endpoint without a Pod its address.
pub(super) struct Endpoints {
    /// Those that are asked.
    pub ready: Vec<String>,
    /// Those that should be, and are not: neither ready nor about to end.
    pub unready: Vec<String>,
    /// The uid of each Pod, where it is said: one of the same name may have been before it.
    pub uids: BTreeMap<String, String>,
}

/// What the EndpointSlices say.
pub(super) async fn endpoints(verification: &Verification<'_>) -> Result<Endpoints, kube::Error> {
    let (namespace, name) = (&verification.names.namespace, &verification.names.service);
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let slices = verification.get(&path).await?;
    Ok(sorted(items(&slices)))
}

fn sorted(slices: &[Value]) -> Endpoints {
    let endpoints = slices.iter().flat_map(|slice| slice["endpoints"].as_array()).flatten();
    // A Pod of two address families is in two slices.
    let (mut ready, mut unready) = (BTreeSet::new(), BTreeSet::new());
    let mut uids = BTreeMap::new();
    for endpoint in endpoints {
        let pod = endpoint["targetRef"]["name"].as_str();
        let Some(name) = pod.or_else(|| endpoint["addresses"][0].as_str()) else { continue };
        if let Some(uid) = endpoint["targetRef"]["uid"].as_str() {
            uids.insert(name.to_owned(), uid.to_owned());
        }
        let conditions = &endpoint["conditions"];
        // Not said is ready, and not about to end (discovery/v1 EndpointConditions).
        if conditions["ready"] != false {
            ready.insert(name.to_owned());
        } else if conditions["terminating"] != true {
            unready.insert(name.to_owned());
        }
    }
    unready.retain(|name| !ready.contains(name));
    let (ready, unready) = (ready.into_iter().collect(), unready.into_iter().collect());
    Endpoints { ready, unready, uids }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_is_asked_and_who_should_be() {
        let of = |pod: &str, conditions: Value| json!({"addresses": ["10.0.0.1"], "targetRef": {"name": pod}, "conditions": conditions});
        let slices = [
            json!({"endpoints": [
                of("a", json!({})),
                of("b", json!({"ready": true})),
                of("c", json!({"ready": false})),
                of("d", json!({"ready": false, "terminating": true})),
                {"addresses": ["10.0.0.9"], "targetRef": {"name": "a", "uid": "u"}},
                {"addresses": ["10.0.0.9"]},
            ]}),
            json!({"endpoints": [of("b", json!({"ready": true}))]}),
            json!({}),
        ];
        let endpoints = sorted(&slices);
        assert_eq!(endpoints.ready, ["10.0.0.9", "a", "b"]);
        assert_eq!(endpoints.unready, ["c"]);
        assert_eq!(endpoints.uids, BTreeMap::from([("a".to_owned(), "u".to_owned())]));
    }
}
