//! Parts of an installation, in whatever order somebody or something brings them: in the end it is
//! live. Every permutation with `JOBSHAPE_INSTALL=full`, else some that are drawn.
//!
//! The namespace is there all along; tests/manifests takes that away too, and applies object by object.

use std::time::Instant;

use serde_json::json;

use crate::apiserver::{Failure, Method};
use crate::breaks::CONFIGURATION;
use crate::installation::{Installation, NAME, OVERLAY, OWN};
use crate::situations::{tampered, worker};

/// What comes in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Who may do what.
    Rights,
    /// The ConfigMap.
    Shapes,
    /// Whom the API server asks about what.
    Configuration,
    /// What makes certificates.
    Rotator,
    /// What serves.
    Replicas,
}

const ALL: [Part; 5] =
    [Part::Rights, Part::Shapes, Part::Configuration, Part::Rotator, Part::Replicas];

/// The kinds of which a part consists; nothing for what is a process here.
fn kinds(part: Part) -> &'static [&'static str] {
    match part {
        Part::Rights => &["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"],
        Part::Shapes => &["ConfigMap"],
        Part::Configuration => &["ValidatingWebhookConfiguration"],
        Part::Rotator | Part::Replicas => &[],
    }
}

fn permutations(parts: &[Part]) -> Vec<Vec<Part>> {
    if parts.is_empty() {
        return vec![vec![]];
    }
    let mut all = vec![];
    for &first in parts {
        let rest: Vec<Part> = parts.iter().copied().filter(|part| *part != first).collect();
        for mut order in permutations(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// Everything away but the namespace, the Service and the accounts.
async fn clear(installation: &mut Installation) -> Result<(), Failure> {
    installation.stop_rotator();
    for number in 0..2 {
        installation.stop_replica(number).await?;
    }
    let mut paths = vec![
        CONFIGURATION.to_owned(),
        format!("/api/v1/namespaces/{OWN}/configmaps/jobshape-shapes"),
        format!("/api/v1/namespaces/{OWN}/secrets/jobshape-tls"),
        format!("/api/v1/namespaces/{OWN}/secrets/jobshape-certificate-authority"),
        format!("/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/jobshape-certificates"),
    ];
    for name in [NAME, "jobshape-certificates"] {
        let namespaced = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{OWN}");
        paths.push(format!("{namespaced}/roles/{name}"));
        paths.push(format!("{namespaced}/rolebindings/{name}"));
        let everywhere = "/apis/rbac.authorization.k8s.io/v1";
        paths.push(format!("{everywhere}/clusterroles/{name}"));
        paths.push(format!("{everywhere}/clusterrolebindings/{name}"));
    }
    for node in &mut installation.nodes {
        let lease = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/jobshape-replica-{}",
            node.pod
        );
        paths.push(lease);
        node.shapes.show([].into())?;
        node.certificate.show([].into())?;
    }
    for path in paths {
        match installation.session.submit(Method::DELETE, &path, &json!({})).await {
            Err(refusal) if refusal.code != 404 => {
                return Err(Failure::new(format!("deleting {path}: {refusal}")));
            }
            _ => {}
        }
    }
    Ok(())
}

async fn bring(installation: &mut Installation, part: Part) -> Result<(), Failure> {
    match part {
        Part::Rotator => return installation.start_rotator(),
        Part::Replicas => {
            installation.start_replica(0)?;
            installation.start_replica(1)?;
            return Ok(());
        }
        _ => {}
    }
    let overlay = format!("{}/{OVERLAY}", env!("CARGO_MANIFEST_DIR"));
    let built = installation.cluster.kubectl_with(&["kustomize", &overlay], "")?;
    let of_this_part = built.split("\n---\n").filter(|object| {
        kinds(part).iter().any(|kind| object.lines().any(|line| line == format!("kind: {kind}")))
    });
    let objects: Vec<&str> = of_this_part.collect();
    installation.cluster.kubectl_with(&["apply", "-f", "-"], &objects.join("\n---\n"))?;
    Ok(())
}

/// Whatever comes first, it is live in the end.
pub async fn any() -> Result<(), Failure> {
    let mut installation = Installation::new().await?;
    installation.until_live().await?;
    let (worker, tampered) = (worker(&installation)?, tampered(&installation)?);
    let mut orders = permutations(&ALL);
    let all = orders.len();
    if std::env::var("JOBSHAPE_INSTALL").as_deref() != Ok("full") {
        fastrand::shuffle(&mut orders);
        orders.truncate(2);
    }
    let began = Instant::now();
    for order in &orders {
        let during = |failure| Failure::during(format!("{order:?}"))(failure);
        clear(&mut installation).await.map_err(during)?;
        for part in order {
            bring(&mut installation, *part).await.map_err(during)?;
            // Nodes look now and then, also in between.
            installation.tick().await.map_err(during)?;
            // From the moment that the API server knows whom to ask, nothing else passes.
            let asked = installation.asks_for_jobs().await?;
            let passed = installation.passes(&tampered).await?;
            if asked && passed {
                return Err(Failure::new(format!("{order:?}: a tampered Job passed at {part:?}")));
            }
        }
        installation.until_live().await.map_err(during)?;
        if !installation.passes(&worker).await? {
            return Err(Failure::new(format!("{order:?}: the committed Job does not pass")));
        }
    }
    println!(
        "{} of {all} orders, each live in the end, in {} s",
        orders.len(),
        began.elapsed().as_secs()
    );
    Ok(())
}
