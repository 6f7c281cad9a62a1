//! What a node does for a Pod, as far as it matters here: ConfigMaps and Secrets become files, and
//! whoever is ready is an endpoint. There is no node: the Pods and their endpoints are written by
//! hand, and the processes run beside the API server.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::apiserver::{Failure, Method, Session};
use crate::outside::authority::Volume;

/// The files of a mounted ConfigMap or Secret.
pub type Files = BTreeMap<String, String>;

/// A directory that follows an object, unless it is held.
pub struct Mount {
    /// Where the object is in the API.
    pub path: String,
    /// The directory.
    pub volume: Volume,
    /// Nothing changes in it while this is set.
    pub held: bool,
    shown: Files,
}

impl Mount {
    /// Of an object, in a directory.
    pub fn new(path: String, volume: Volume) -> Self {
        Mount { path, volume, held: false, shown: Files::new() }
    }

    /// Shows what the object holds now. One that is not there leaves what was.
    pub async fn follow(&mut self, session: &Session) -> Result<(), Failure> {
        if self.held {
            return Ok(());
        }
        let answer = session.get(&self.path).await?;
        if answer.status != 200 {
            return Ok(());
        }
        self.show(files(&answer.body))
    }

    /// Shows these files.
    pub fn show(&mut self, files: Files) -> Result<(), Failure> {
        if files != self.shown {
            let all: Vec<(&str, &str)> =
                files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
            self.volume.publish(&all)?;
            self.shown = files;
        }
        Ok(())
    }
}

/// The files that an object is mounted as.
pub fn files(object: &Value) -> Files {
    let is_secret = object["kind"] == "Secret";
    let data = object["data"].as_object().into_iter().flatten();
    data.map(|(name, value)| {
        let text = value.as_str().unwrap_or_default();
        let content = match is_secret {
            true => {
                let bytes = STANDARD.decode(text).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            false => text.to_owned(),
        };
        (name.clone(), content)
    })
    .collect()
}

/// Writes a Pod of a Deployment's template, and answers its uid.
pub async fn pod(session: &Session, deployment: &Value, name: &str) -> Result<String, Failure> {
    let template = &deployment["spec"]["template"];
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap_or_default();
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    });
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let created = session.submit(Method::POST, &path, &pod).await;
    let created = created.map_err(Failure::during(format!("writing the Pod {name}")))?;
    Ok(created.object["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
}

/// The endpoints of a Service: each Pod, its uid, and whether it is ready. The addresses are made up, because
/// none may be a loopback address; haproxy stands where kube-proxy would.
pub async fn endpoints(
    session: &Session,
    (namespace, service): (&str, &str),
    pods: &[(&str, &str, bool)],
) -> Result<(), Failure> {
    let endpoints: Vec<Value> = pods
        .iter()
        .enumerate()
        .map(|(number, (pod, uid, ready))| {
            json!({
                "addresses": [format!("10.255.0.{}", number + 1)],
                "conditions": {"ready": ready},
                "targetRef": {"kind": "Pod", "namespace": namespace, "name": pod, "uid": uid},
            })
        })
        .collect();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{service}-by-hand"),
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "ports": [{"name": "webhook", "port": 8443, "protocol": "TCP"}],
        "endpoints": endpoints,
    });
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{service}-by-hand?fieldManager=kubelet&force=true"
    );
    let applied = session.apply(&path, &slice).await;
    applied.map_err(Failure::during("writing endpoints")).map(|_| ())
}
