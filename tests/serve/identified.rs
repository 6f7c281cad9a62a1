//! With `--client-ca`, in front of a real API server that shows a certificate.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Running;
use super::clients::Authority;
use crate::apiserver::{Cluster, ControlPlane, Identity, Options as PlaneOptions, Probe};
use crate::both_ways::webhook::{changed, configuration, job, shape};
use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{ClientCa, Options, Tls};

/// What docs/serving.md says to give the API server; returns its argument.
fn admission_configuration(folder: &Path, (cert, key): &(String, String)) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("client.crt"), cert).unwrap();
    fs::write(at("client.key"), key).unwrap();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "*", "user": {
            "client-certificate": at("client.crt"), "client-key": at("client.key"),
        }}],
    });
    fs::write(at("webhooks.kubeconfig"), kubeconfig.to_string()).unwrap();
    let admission = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ValidatingAdmissionWebhook", "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": at("webhooks.kubeconfig"),
        }}],
    });
    fs::write(at("admission.yaml"), admission.to_string()).unwrap();
    format!("--admission-control-config-file={}", at("admission.yaml"))
}

fn serve(cluster: &Cluster, namespace: &str, ca: &Path, name: &str) -> Running {
    let shapes = Shapes::new(vec![shape(namespace, "  - {name: everything}")]).unwrap();
    super::start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        clients: Some(ClientCa { file: ca.to_owned(), names: vec![name.to_owned()] }),
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        ..Options::new(served(shapes))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_shows_its_certificate_and_is_let_in_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let argument = admission_configuration(folder.path(), &authority.client("kube-apiserver", &[]));
    let ca = folder.path().join("ca.crt");
    fs::write(&ca, &authority.pem).unwrap();
    let options = PlaneOptions {
        controllers: false,
        apiserver_arguments: vec![argument],
        ..PlaneOptions::default()
    };
    let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
    let namespace = cluster.namespace("identified").await.unwrap();
    let refused = changed(job("main-probe"), "/spec/backoffLimit", json!(1));
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };

    let webhook = serve(&cluster, &namespace.name, &ca, "kube-apiserver");
    let installed =
        cluster.install_webhook(&configuration(&webhook), &[&namespace], &probe).await.unwrap();
    assert!(installed.first_refusal.is_by_webhook(), "{}", installed.first_refusal);
    let session = cluster.session(&Identity::Admin).await.unwrap();
    session.create_job(&namespace.name, &job("main-x")).await.unwrap();
    installed.remove(&cluster, &probe).await.unwrap();

    let webhook = serve(&cluster, &namespace.name, &ca, "somebody-else");
    let installed =
        cluster.install_webhook(&configuration(&webhook), &[&namespace], &probe).await.unwrap();
    assert!(installed.first_refusal.is_failed_call(), "{}", installed.first_refusal);
    let series = "jobshape_handshake_errors_total{reason=\"client_certificate\"}";
    assert!(webhook.metric(series).await.unwrap() >= 1.0);
    installed.remove(&cluster, &probe).await.unwrap();
}
