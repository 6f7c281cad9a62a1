//! Is there somebody behind the Service that the configuration names?

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
    match ready_pods(verification).await {
        Err(error) => vec![unknown(CHECK, "the endpoints of the Service", &error)],
        Ok(ready) => vec![match ready.len() {
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

/// The names of the Pods that are ready behind the Service; of an endpoint without a Pod its address.
pub(super) async fn ready_pods(
    verification: &Verification<'_>,
) -> Result<Vec<String>, kube::Error> {
    let (namespace, name) = (&verification.names.namespace, &verification.names.service);
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let slices = verification.get(&path).await?;
    let endpoints = items(&slices).iter().flat_map(|slice| slice["endpoints"].as_array()).flatten();
    // Not said is ready (discovery/v1 EndpointConditions).
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let mut names: Vec<String> = ready
        .filter_map(|endpoint| {
            let pod = endpoint["targetRef"]["name"].as_str();
            pod.or_else(|| endpoint["addresses"][0].as_str()).map(str::to_owned)
        })
        .collect();
    // A Pod of two address families is in two slices.
    names.sort();
    names.dedup();
    Ok(names)
}
