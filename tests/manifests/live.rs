//! The manifests on a real API server, of our own: what they hold has names that every cluster has
//! once.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::built::{Built, all, build};
use super::{named, of_kind, read};
use crate::apiserver::{Cluster, ControlPlane, Identity, Options, Session, kubectl, versions};

const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/jobshape";

/// A cluster with the kinds that it has to know, and what objects must be there before others can
/// be tried: namespace and priority class.
struct Prepared {
    cluster: Cluster,
    admin: Session,
}

impl Prepared {
    async fn new(version: &'static str) -> Self {
        let options = Options { version, controllers: false, ..Options::default() };
        let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
        let admin = cluster.session(&Identity::Admin).await.unwrap();
        let prepared = Prepared { cluster, admin };
        prepared.apply(&[], &read("tests/manifests/crds.yaml"));
        let known = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
        prepared.kubectl(&known, "");
        let first = build("built-in/enforce", &[]);
        let first = ["Namespace", "PriorityClass"].map(|kind| of_kind(&first.objects, kind)[0]);
        prepared.apply(&[], &documents(first));
        prepared
    }

    fn apply(&self, more: &[&str], text: &str) -> String {
        self.kubectl(&[&["apply", "-f", "-"], more].concat(), text)
    }

    /// What kubectl prints; a warning is a failure.
    fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(kubectl().unwrap())
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig_for(&Identity::Admin).unwrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.is_empty(), "kubectl {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Everything that is built anywhere, each object once, and the Pods of the Deployments, in a
    /// namespace as it comes with them.
    async fn takes_everything(&self) {
        let (host, pods): (Vec<&Built>, Vec<&Built>) =
            all().iter().partition(|built| built.has("eks-overlay"));
        assert!(self.takes(&pods).await > 40);
        self.takes(&host).await;
        // As it was.
        self.apply(&[], &documents(of_kind(&pods[0].objects, "Namespace")));
    }

    async fn takes(&self, built: &[&Built]) -> usize {
        let namespace = of_kind(&built[0].objects, "Namespace");
        self.apply(&[], &documents(namespace));
        let objects = built.iter().flat_map(|built| &built.objects);
        let unique: BTreeMap<String, &Value> =
            objects.map(|object| (object.to_string(), object)).collect();
        let said = self.apply(&["--dry-run=server"], &documents(unique.values().copied()));
        assert_eq!(said.lines().count(), unique.len(), "{said}");
        // The namespace refuses a Pod that is not restricted; of a Deployment it would only warn.
        let deployments = unique.values().filter(|object| object["kind"] == "Deployment");
        let pods: Vec<Value> = deployments.map(|deployment| pod(deployment)).collect();
        assert!(pods.len() >= 3, "{}", pods.len());
        for pod in pods {
            let path = "/api/v1/namespaces/jobshape-system/pods?dryRun=All";
            let made = self.admin.submit(Method::POST, path, &pod).await;
            made.unwrap_or_else(|refusal| panic!("{refusal}: {pod}"));
        }
        unique.len()
    }

    async fn configuration(&self) -> Value {
        self.admin.get(CONFIGURATION).await.unwrap().body
    }

    /// Waits until an object is as it should be.
    async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) {
        let mut seen = Value::Null;
        for _ in 0..240 {
            seen = self.admin.get(path).await.unwrap().body;
            if holds(&seen) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("{path}: {seen}");
    }

    /// Whether an account may do this.
    async fn may(
        &self,
        account: &str,
        (verb, group, resource, namespace, name): Asked<'_>,
    ) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": format!("system:serviceaccount:jobshape-system:{account}"),
                "groups": ["system:serviceaccounts", "system:serviceaccounts:jobshape-system", "system:authenticated"],
                "resourceAttributes": {"verb": verb, "group": group, "resource": resource,
                    "subresource": subresource, "namespace": namespace, "name": name},
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.admin.submit(Method::POST, path, &review).await.unwrap();
        answer.object["status"]["allowed"] == true
    }
}

/// Verb, group, resource, namespace, name.
type Asked<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// Objects as a stream of documents: JSON is YAML.
fn documents<'o>(objects: impl IntoIterator<Item = &'o Value>) -> String {
    objects.into_iter().map(|object| format!("---\n{object}\n")).collect()
}

/// A Pod as the Deployment's controllers would make it.
fn pod(deployment: &Value) -> Value {
    let template = &deployment["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    metadata["generateName"] = json!("try-");
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// One for all tests here. They change what each of them makes anew.
async fn prepared() -> &'static Prepared {
    static PREPARED: OnceCell<Prepared> = OnceCell::const_new();
    PREPARED.get_or_init(|| Prepared::new(crate::apiserver::VERSION)).await
}

/// Both in one, because they share the objects of one cluster.
#[tokio::test]
async fn the_api_server_takes_everything_and_gives_no_more_rights_than_needed() {
    let prepared = prepared().await;
    prepared.takes_everything().await;
    let built = build("built-in/enforce", &[]);
    rights(prepared, &built).await;
    suffices(prepared, &built).await;
    bundles(prepared).await;
}

async fn rights(prepared: &Prepared, built: &Built) {
    let kinds = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    let objects = kinds.iter().flat_map(|kind| of_kind(&built.objects, kind));
    prepared.apply(&[], &documents(objects));
    let verbs = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
        "bind",
        "escalate",
        "impersonate",
    ];
    let own = "jobshape-system";
    let places: [(&str, &str, &str, &str); 23] = [
        ("coordination.k8s.io", "leases", own, "jobshape-replica-a"),
        ("coordination.k8s.io", "leases", own, "jobshape-certificates"),
        ("coordination.k8s.io", "leases", "pm-agent", "a"),
        ("", "secrets", own, "jobshape-tls"),
        ("", "secrets", own, "jobshape-certificate-authority"),
        ("", "secrets", own, "another"),
        ("", "secrets", "pm-agent", "jobshape-tls"),
        ("", "configmaps", own, "jobshape-shapes"),
        ("", "pods", own, "a"),
        ("", "pods/exec", own, "a"),
        ("", "serviceaccounts", own, "jobshape"),
        ("", "serviceaccounts/token", own, "jobshape-certificates"),
        ("", "namespaces", "", "pm-agent"),
        ("", "nodes", "", "a"),
        ("apps", "deployments", own, "jobshape"),
        ("batch", "jobs", "pm-agent", "a"),
        ("batch", "cronjobs", "pm-agent", "a"),
        ("rbac.authorization.k8s.io", "roles", own, "jobshape"),
        ("rbac.authorization.k8s.io", "clusterroles", "", "jobshape-certificates"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "jobshape"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "another"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "jobshape"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies", "", "jobshape"),
    ];
    let mut allowed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for account in ["jobshape", "jobshape-certificates", "default"] {
        let found = allowed.entry(account).or_default();
        for (group, resource, namespace, name) in places {
            for verb in verbs {
                // Nobody names what does not exist yet, and RBAC is not told.
                let name = if verb == "create" { "" } else { name };
                if prepared.may(account, (verb, group, resource, namespace, name)).await {
                    found.push(format!("{verb} {resource} {namespace} {name}").trim().to_owned());
                }
            }
        }
        found.sort();
        found.dedup();
    }
    let lease = |verb: &str, name: &str| format!("{verb} leases {own} {name}").trim().to_owned();
    let mut serving = vec![lease("create", "")];
    for verb in ["get", "patch", "update"] {
        // RBAC cannot tell a replica's Lease from the rotator's.
        serving.push(lease(verb, "jobshape-certificates"));
        serving.push(lease(verb, "jobshape-replica-a"));
    }
    assert_eq!(allowed["jobshape"], serving);
    let configuration = |verb| format!("{verb} validatingwebhookconfigurations  jobshape");
    let mut rotating = vec![lease("create", ""), format!("create secrets {own}")];
    rotating.extend(["get", "update"].map(|verb| lease(verb, "jobshape-certificates")));
    let listed = ["jobshape-certificates", "jobshape-replica-a"];
    rotating.extend(listed.map(|name| lease("list", name)));
    for secret in ["jobshape-certificate-authority", "jobshape-tls"] {
        rotating.extend(
            ["delete", "get", "update"].map(|verb| format!("{verb} secrets {own} {secret}")),
        );
    }
    rotating.extend(["get", "patch", "watch"].map(configuration));
    rotating.sort();
    assert_eq!(allowed["jobshape-certificates"], rotating);
    assert_eq!(allowed["default"], Vec::<String>::new());
}

/// A program of the manifests, with the rights of its account. It ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The rights are enough: both programs do all that they are there for, each as its account.
async fn suffices(prepared: &Prepared, built: &Built) {
    prepared.apply(&["--server-side"], &built.text);
    let folder = tempfile::tempdir().unwrap();
    let data = &named(&built.objects, "ConfigMap", "jobshape-shapes")["data"];
    for (key, text) in data.as_object().unwrap() {
        std::fs::write(folder.path().join(key), text.as_str().unwrap()).unwrap();
    }
    let start = |account: &str, arguments: &[&str]| {
        let identity = Identity::service_account("jobshape-system", account);
        let child = Command::new(env!("CARGO_BIN_EXE_jobshape"))
            .args(arguments)
            .arg("--ops-listen=127.0.0.1:0")
            .env("KUBECONFIG", prepared.cluster.kubeconfig_for(&identity).unwrap())
            .envs([("POD_NAME", "a"), ("POD_UID", "b"), ("POD_NAMESPACE", "jobshape-system")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Program(child.unwrap())
    };
    let shapes = format!("--shapes={}", folder.path().display());
    let tls = ["crt", "key"].map(|end| {
        format!("--tls-{}={}", end.replace("crt", "cert"), folder.path().join(end).display())
    });
    let serve = ["serve", &shapes, &tls[0], &tls[1], "--listen=127.0.0.1:0", "--publish"];
    let serving = start("jobshape", &serve);
    let rotating =
        start("jobshape-certificates", &["certs", "rotate", "--settle=1s", "--poll=200ms"]);
    let own = "/api/v1/namespaces/jobshape-system";
    let lease = "/apis/coordination.k8s.io/v1/namespaces/jobshape-system/leases/jobshape-replica-a";
    prepared
        .until(lease, |lease| lease["metadata"]["annotations"]["jobshape.dev/replica"].is_string())
        .await;
    prepared
        .until(&format!("{own}/secrets/jobshape-tls"), |secret| {
            secret["data"]["tls.crt"].is_string()
        })
        .await;
    let told = |configuration: &Value| {
        configuration["webhooks"][0]["clientConfig"]["caBundle"].is_string()
    };
    prepared.until(CONFIGURATION, told).await;
    // Nothing of it is in the way of what comes next.
    drop((serving, rotating));
    for path in [CONFIGURATION, lease, &format!("{own}/secrets/jobshape-tls")] {
        prepared.admin.submit(Method::DELETE, path, &Value::Null).await.unwrap();
    }
}

/// Applying again, either way, takes nothing away that somebody else wrote into `caBundle`.
async fn bundles(prepared: &Prepared) {
    let of = |rollout: &str| {
        let built = build(&format!("built-in/{rollout}"), &[]);
        documents([named(&built.objects, "ValidatingWebhookConfiguration", "jobshape")])
    };
    let (enforce, audit) = (of("enforce"), of("audit-first"));
    let (by_client, by_server) = (&[][..], &["--server-side"][..]);
    for (first, again) in [(by_client, by_client), (by_server, by_server), (by_client, by_server)] {
        prepared.apply(first, &enforce);
        let created = prepared.configuration().await;
        assert_eq!(created["webhooks"][0]["clientConfig"]["caBundle"], Value::Null);
        // As the rotator writes it. A bundle has to be PEM.
        let bundle = base64(&certificate());
        let patch =
            json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]);
        let path = format!("{CONFIGURATION}?fieldManager=rotator");
        let (kind, body) = ("application/json-patch+json", patch.to_string().into_bytes());
        let sent = prepared.admin.send(Method::PATCH, &path, kind, body).await;
        assert_eq!(sent.unwrap().status, 200);
        for _ in 0..2 {
            prepared.apply(again, &enforce);
            let after = prepared.configuration().await;
            let there = &after["webhooks"][0]["clientConfig"]["caBundle"];
            assert_eq!(*there, bundle, "{first:?}, {again:?}");
        }
        // The other entry is another client: it has none until somebody writes it.
        prepared.apply(again, &audit);
        let moved = prepared.configuration().await;
        let webhooks = moved["webhooks"].as_array().unwrap();
        let names: Vec<&Value> = webhooks.iter().map(|webhook| &webhook["name"]).collect();
        assert_eq!(names, ["audit.jobshape.dev"], "{first:?}, {again:?}");
        assert_eq!(webhooks[0]["clientConfig"]["caBundle"], Value::Null);
        prepared.admin.submit(Method::DELETE, CONFIGURATION, &Value::Null).await.unwrap();
    }
}

/// One that vouches for itself.
fn certificate() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let params =
        rcgen::CertificateParams::new(["jobshape.jobshape-system.svc".to_owned()]).unwrap();
    params.self_signed(&key).unwrap().pem()
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// `make matrix` asks for this one.
#[tokio::test]
#[ignore = "make matrix: an API server of each release"]
async fn on_every_release() {
    for version in versions() {
        let prepared = Prepared::new(version).await;
        prepared.takes_everything().await;
        bundles(&prepared).await;
        println!("manifests: {version} ok");
    }
}
