//! Eight ways in which a boundary is not what its shapes say, and how each is mended.

use std::pin::Pin;
use std::time::Duration;

use serde_json::json;

use crate::apiserver::{Failure, Method};
use crate::installation::{GOVERNED, Installation, NAME, SHAPES, submitter};
use crate::kubelet;

type Done<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// One of them.
pub struct Break {
    /// In words.
    pub title: &'static str,
    /// The check that has to fail,
    pub check: &'static str,
    /// with this in what it says.
    pub said: &'static str,
    /// Breaks it.
    pub make: for<'a> fn(&'a mut Installation) -> Done<'a>,
    /// Mends it.
    pub mend: for<'a> fn(&'a mut Installation) -> Done<'a>,
}

/// The configuration in the API.
pub const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/jobshape";

macro_rules! breaks {
    ($($title:literal: $check:literal, $said:literal, $make:ident, $mend:ident;)*) => {
        [$(Break {
            title: $title,
            check: $check,
            said: $said,
            make: |installation| Box::pin($make(installation)),
            mend: |installation| Box::pin($mend(installation)),
        }),*]
    };
}

/// All of them.
pub const ALL: &[Break] = &breaks! {
    "the configuration was never applied": "configuration", "there is no", delete_configuration, apply;
    "a governed namespace is missing from the selector": "namespaces", "does not send pm-agent", other_namespace, apply;
    "one replica serves an old digest": "replicas", "is served as", old_digest, let_go;
    "the certificate has expired": "replicas", "the certificate has expired", expire, renew;
    "RBAC is too wide": "rights", "may create Pods", widen, narrow;
    "the failurePolicy was changed": "configuration", "failurePolicy", ignore, apply;
    "a shape was never shipped": "replicas", "is not served", expect_more, expect_what_is;
    "the last shape of a namespace was deleted": "namespaces", "no shape given here governs", expect_less, expect_what_is;
};

async fn apply(installation: &mut Installation) -> Result<(), Failure> {
    installation.apply_again()
}

async fn delete_configuration(installation: &mut Installation) -> Result<(), Failure> {
    let deleted = installation.session.submit(Method::DELETE, CONFIGURATION, &json!({})).await;
    deleted.map(|_| ()).map_err(Failure::during("deleting the configuration"))
}

/// An entry of the configuration changed by a JSON patch.
async fn change(
    installation: &Installation,
    path: &str,
    value: serde_json::Value,
) -> Result<(), Failure> {
    let patch = json!([{"op": "replace", "path": path, "value": value}]).to_string();
    let arguments =
        ["patch", "validatingwebhookconfiguration", NAME, "--type=json", "--patch", &patch];
    installation.cluster.kubectl_with(&arguments, "").map(|_| ())
}

async fn other_namespace(installation: &mut Installation) -> Result<(), Failure> {
    let path = "/webhooks/0/namespaceSelector/matchExpressions/0/values";
    change(installation, path, json!(["another"])).await
}

async fn ignore(installation: &mut Installation) -> Result<(), Failure> {
    change(installation, "/webhooks/0/failurePolicy", json!("Ignore")).await
}

async fn old_digest(installation: &mut Installation) -> Result<(), Failure> {
    let mount = &mut installation.nodes[0].shapes;
    let object = installation.session.get(&mount.path).await?.body;
    let old = kubelet::files(&object).into_iter().map(|(name, text)| {
        // A digest is over what a shape means: another bound of a variable is another digest.
        (name, text.replace("{8,16}", "{8,17}"))
    });
    mount.show(old.collect())?;
    mount.held = true;
    Ok(())
}

async fn let_go(installation: &mut Installation) -> Result<(), Failure> {
    installation.nodes[0].shapes.held = false;
    Ok(())
}

async fn expire(installation: &mut Installation) -> Result<(), Failure> {
    let authority = crate::outside::authority::Authority::new("expired")?;
    // One that has ended already is not taken up, as long as there is a good one.
    let leaf = authority.leaf(Duration::from_secs(5))?;
    for node in &mut installation.nodes {
        node.certificate.held = true;
        let files = [("tls.crt", leaf.certificate.clone()), ("tls.key", leaf.key.clone())];
        node.certificate.show(files.map(|(name, text)| (name.to_owned(), text)).into())?;
    }
    Ok(())
}

async fn renew(installation: &mut Installation) -> Result<(), Failure> {
    for node in &mut installation.nodes {
        node.certificate.held = false;
    }
    Ok(())
}

/// The binding that is too wide.
fn binding() -> (String, serde_json::Value) {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{GOVERNED}");
    let user = submitter().user_name().unwrap_or_default().to_owned();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "too-wide", "namespace": GOVERNED},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:controller:job-controller"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
    });
    (path, role)
}

async fn widen(installation: &mut Installation) -> Result<(), Failure> {
    let (path, binding) = binding();
    let path = format!("{path}/rolebindings");
    let created = installation.session.submit(Method::POST, &path, &binding).await;
    created.map(|_| ()).map_err(Failure::during("binding a role"))
}

async fn narrow(installation: &mut Installation) -> Result<(), Failure> {
    let path = format!("{}/rolebindings/too-wide", binding().0);
    let deleted = installation.session.submit(Method::DELETE, &path, &json!({})).await;
    deleted.map(|_| ()).map_err(Failure::during("unbinding a role"))
}

async fn expect_more(installation: &mut Installation) -> Result<(), Failure> {
    installation.shapes.push("docs/examples/first-shape".to_owned());
    Ok(())
}

async fn expect_less(installation: &mut Installation) -> Result<(), Failure> {
    installation.shapes = vec!["docs/examples/first-shape".to_owned()];
    Ok(())
}

async fn expect_what_is(installation: &mut Installation) -> Result<(), Failure> {
    installation.shapes = vec![SHAPES.to_owned()];
    Ok(())
}
