//! A right that is missing is named, and does not keep the rest from being done.

use serde_json::{Value, json};

use super::stage::{AUTHORITY, LEASE, Rotator, Stage, TLS, cluster};
use crate::apiserver::{Identity, Method};

/// A right: group, resource, verb, name.
type Right = [&'static str; 4];

const CONFIGURATIONS: &str = "validatingwebhookconfigurations";

/// All that the rotator has, as its manifests say.
const ALL: [Right; 14] = [
    ["", "secrets", "create", ""],
    ["", "secrets", "get", TLS],
    ["", "secrets", "update", TLS],
    ["", "secrets", "delete", TLS],
    ["", "secrets", "get", AUTHORITY],
    ["", "secrets", "update", AUTHORITY],
    ["", "secrets", "delete", AUTHORITY],
    ["coordination.k8s.io", "leases", "create", ""],
    ["coordination.k8s.io", "leases", "get", LEASE],
    ["coordination.k8s.io", "leases", "update", LEASE],
    ["coordination.k8s.io", "leases", "list", ""],
    ["admissionregistration.k8s.io", CONFIGURATIONS, "get", "*"],
    ["admissionregistration.k8s.io", CONFIGURATIONS, "patch", "*"],
    ["admissionregistration.k8s.io", CONFIGURATIONS, "watch", "*"],
];

/// Gives exactly these rights to the account of the stage.
async fn allow(stage: &Stage<'_>, account: &Identity, rights: &[Right]) {
    let rules = rights.iter().map(|[group, resource, verb, name]| {
        let name = if *name == "*" { &stage.name } else { *name };
        let names: Vec<&str> = Some(name).filter(|name| !name.is_empty()).into_iter().collect();
        json!({"apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names})
    });
    // A ClusterRole for both: what matters is the verb.
    let path = "/apis/rbac.authorization.k8s.io/v1";
    let rules: Vec<Value> = rules.collect();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                      "metadata": {"name": stage.name}, "rules": rules});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": stage.name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": stage.name},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": account.user_name()}],
    });
    for (kind, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("{path}/{kind}/{}?fieldManager=test&force=true", stage.name);
        stage.admin.apply(&path, &object).await.unwrap();
    }
}

async fn begin(missing: Right) -> (Stage<'static>, Identity, Rotator) {
    let stage = Stage::new(cluster().await, "rights").await;
    stage.apply(&stage.configuration(&[1]), &[]);
    let mut rotator = stage.rotator("before", &[]);
    let is_good = async || stage.trusts(1).await && !stage.certificate().await.is_empty();
    stage.until("a certificate", &rotator, is_good).await;
    rotator.stop().await;
    let account = Identity::service_account(&stage.name, "rotator");
    let rights: Vec<Right> = ALL.into_iter().filter(|right| *right != missing).collect();
    assert_eq!(rights.len(), ALL.len() - 1, "{missing:?}");
    allow(&stage, &account, &rights).await;
    (stage, account, rotator)
}

async fn reset(stage: &Stage<'_>) {
    let patch = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    let (kind, body) = ("application/json-patch+json", patch.to_string().into_bytes());
    let sent = stage.admin.send(Method::PATCH, &stage.configured(), kind, body).await.unwrap();
    assert_eq!(sent.status, 200, "{}", sent.body);
}

/// What is missing is named everywhere; once it is given, all is well.
async fn named_until_given(stage: &Stage<'_>, account: &Identity, rotator: &Rotator, right: Right) {
    let [_, resource, verb, _] = right;
    let said = format!("cannot {verb} resource \"{resource}\"");
    let is_said = async || rotator.get("/readyz").await.contains(&said);
    stage.until(&said, rotator, is_said).await;
    assert!(rotator.log().contains(&said.replace('"', "\\\"")), "{}", rotator.log());
    assert!(rotator.metric("jobshape_rotation_failures_total").await > 0.0);
    allow(stage, account, &ALL).await;
    stage.until("all to be well", rotator, async || rotator.is_ready().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_the_configuration_still_renews_the_certificate() {
    for verb in ["patch", "get"] {
        let missing = ["admissionregistration.k8s.io", CONFIGURATIONS, verb, "*"];
        let (stage, account, _before) = begin(missing).await;
        reset(&stage).await;
        stage.delete(&stage.secret_path(TLS)).await;
        let rotator = stage.rotator_as(&account, verb, &[]);
        stage
            .until("a certificate", &rotator, async || !stage.certificate().await.is_empty())
            .await;
        assert!(!stage.trusts(1).await);
        named_until_given(&stage, &account, &rotator, missing).await;
        stage.until("trust", &rotator, async || stage.trusts(1).await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_the_certificate_still_has_the_authority_trusted() {
    let missing = ["", "secrets", "get", TLS];
    let (stage, account, _before) = begin(missing).await;
    let before = stage.certificate().await;
    reset(&stage).await;
    let rotator = stage.rotator_as(&account, "one", &[]);
    stage.until("trust", &rotator, async || stage.trusts(1).await).await;
    named_until_given(&stage, &account, &rotator, missing).await;
    assert_eq!(stage.certificate().await, before, "nobody knew that it was fine");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_watch_sees_changes_later() {
    let missing = ["admissionregistration.k8s.io", CONFIGURATIONS, "watch", "*"];
    let (stage, account, _before) = begin(missing).await;
    let rotator = stage.rotator_as(&account, "one", &[]);
    let said = "changes of the configuration are only seen some seconds later";
    stage.until(said, &rotator, async || rotator.log().contains(said)).await;
    assert!(rotator.is_ready().await, "nothing depends on it");
    reset(&stage).await;
    stage.until("trust", &rotator, async || stage.trusts(1).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_reset_is_mended_at_once() {
    let stage = Stage::new(cluster().await, "rights").await;
    stage.apply(&stage.configuration(&[1]), &[]);
    let account = Identity::service_account(&stage.name, "rotator");
    allow(&stage, &account, &ALL).await;
    // Whoever only looked again after an hour would not be in time.
    let rotator = stage.rotator_as(&account, "one", &["--poll=1h"]);
    stage.until("trust", &rotator, async || stage.trusts(1).await).await;
    let rests = async || rotator.log().contains("are as they should be");
    stage.until("rest", &rotator, rests).await;
    reset(&stage).await;
    stage.until("trust again", &rotator, async || stage.trusts(1).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_list_replicas_does_everything_but_forget() {
    let missing = ["coordination.k8s.io", "leases", "list", ""];
    let (stage, account, _before) = begin(missing).await;
    stage.delete(&stage.secret_path(AUTHORITY)).await;
    let rotator = stage.rotator_as(&account, "one", &[]);
    stage.until("a second authority", &rotator, async || stage.trusts(2).await).await;
    named_until_given(&stage, &account, &rotator, missing).await;
}
