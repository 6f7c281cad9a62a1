//! Overlays and components as kustomize builds them.

use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use jobshape::edges::parallel;
use jobshape::formats::documents::documents;
use serde_json::Value;
use tempfile::TempDir;

use super::root;
use crate::apiserver::kubectl;

/// Where certificates come from, and with it the component.
pub const CERTIFICATES: [&str; 2] = ["built-in", "cert-manager"];

/// What is rendered.
pub const ROLLOUTS: [&str; 2] = ["enforce", "audit-first"];

/// What may be added to every overlay; of the last two one, because both choose a port.
const OPTIONAL: [&str; 7] =
    ["prometheus", "grafana", "aks", "openshift", "mesh", "gke-private", "eks-overlay"];

/// One of the overlays with components.
pub struct Built {
    /// The overlay, such as `built-in/enforce`, and the components.
    pub of: String,
    /// What kustomize prints.
    pub text: String,
    /// The objects in it.
    pub objects: Vec<Value>,
}

impl Built {
    /// Whether a component is in it.
    pub fn has(&self, component: &str) -> bool {
        self.of.split(' ').any(|word| word == component)
    }
}

/// The way from one folder to another: kustomize takes no absolute one.
fn way(from: &Path, to: &Path) -> PathBuf {
    let (from, to) = (from.canonicalize().unwrap(), to.canonicalize().unwrap());
    let depth =
        |path: &Path| path.components().filter(|c| matches!(c, Component::Normal(_))).count();
    let mut way: PathBuf = std::iter::repeat_n("..", depth(&from)).collect();
    way.extend(to.components().filter(|c| matches!(c, Component::Normal(_))));
    way
}

/// An overlay with components, as a user's own kustomization would have them.
pub fn build(overlay: &str, components: &[&str]) -> Built {
    let folder = TempDir::new().unwrap();
    let manifests = way(folder.path(), &root().join("manifests"));
    let manifests = manifests.display();
    let mut kustomization = format!("resources:\n- {manifests}/overlays/{overlay}\n");
    if !components.is_empty() {
        kustomization.push_str("components:\n");
    }
    for component in components {
        kustomization.push_str(&format!("- {manifests}/components/{component}\n"));
    }
    std::fs::write(folder.path().join("kustomization.yaml"), kustomization).unwrap();
    let text = kustomize(folder.path());
    let of = [&[overlay], components].concat().join(" ");
    Built { of, objects: objects(&text), text }
}

/// What `kubectl kustomize` prints for a folder.
pub fn kustomize(folder: &Path) -> String {
    let output = Command::new(kubectl().unwrap()).arg("kustomize").arg(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // A deprecated field is a warning, and a release later an error.
    assert!(output.status.success() && said.is_empty(), "{}: {said}", folder.display());
    String::from_utf8(output.stdout).unwrap()
}

pub fn objects(text: &str) -> Vec<Value> {
    documents(text).map(|document| document.unwrap().root.to_json()).collect()
}

/// Every overlay with every set of components that go together; built once.
pub fn all() -> &'static [Built] {
    static ALL: LazyLock<Vec<Built>> = LazyLock::new(|| {
        let overlays = CERTIFICATES.iter().flat_map(|c| ROLLOUTS.map(|r| (format!("{c}/{r}"), r)));
        let combinations: Vec<(String, Vec<&str>)> = overlays
            .flat_map(|(overlay, rollout)| {
                let sets = if rollout == "enforce" { sets() } else { vec![vec![]] };
                sets.into_iter().map(move |set| (overlay.clone(), set))
            })
            .collect();
        parallel::map(&combinations, 1, |(overlay, set)| build(overlay, set))
    });
    &ALL
}

/// Every set of components that go together.
fn sets() -> Vec<Vec<&'static str>> {
    let of = |bits: usize| -> Vec<&str> {
        OPTIONAL.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, c)| *c).collect()
    };
    let sets = (0..1 << OPTIONAL.len()).map(of);
    sets.filter(|set| !(set.contains(&"gke-private") && set.contains(&"eks-overlay"))).collect()
}

#[test]
fn every_combination_builds() {
    let all = all();
    assert_eq!(all.len(), 2 * (96 + 1));
    for built in all {
        let count = |kind: &str| super::of_kind(&built.objects, kind).len();
        assert_eq!(count("ValidatingWebhookConfiguration"), 1, "{}", built.of);
        assert_eq!(count("Namespace"), 1, "{}", built.of);
        assert_eq!(count("Issuer") > 0, built.of.starts_with("cert-manager"), "{}", built.of);
        assert_eq!(count("ServiceMonitor"), usize::from(built.has("prometheus")), "{}", built.of);
    }
}

/// Every folder of components is among those that are tried.
#[test]
fn every_component_is_tried() {
    let mut there: Vec<String> = std::fs::read_dir(root().join("manifests/components"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    let mut tried = [&OPTIONAL[..], &["built-in-certificates", "cert-manager"]].concat();
    tried.sort_unstable();
    assert_eq!(there, tried);
}

/// As a user's own kustomization in another namespace, with what docs/install.md adds to it.
#[test]
fn in_another_namespace_no_word_of_ours_is_left() {
    let page = super::read("docs/install.md");
    let of_page = page.split("```yaml\n").find(|block| block.starts_with("namespace: ")).unwrap();
    let of_page = of_page.split("```").next().unwrap();
    for overlay in ["built-in/enforce", "cert-manager/enforce"] {
        let folder = TempDir::new().unwrap();
        let manifests = way(folder.path(), &root().join("manifests"));
        let kustomization =
            format!("resources:\n- {}/overlays/{overlay}\n{of_page}", manifests.display());
        std::fs::write(folder.path().join("kustomization.yaml"), &kustomization).unwrap();
        if overlay.starts_with("built-in") {
            // There are none of cert-manager's objects in it to tell.
            let own = kustomization.split("replacements:").next().unwrap();
            std::fs::write(folder.path().join("kustomization.yaml"), own).unwrap();
        }
        let text = kustomize(folder.path());
        let left: Vec<&str> =
            text.lines().filter(|line| line.contains("jobshape-system")).collect();
        assert_eq!(left, [""; 0], "{overlay}");
        let has_names = text.contains("jobshape.platform-policy.svc")
            && text.contains("inject-ca-from: platform-policy/jobshape-tls");
        assert_eq!(has_names, overlay.starts_with("cert-manager"), "{overlay}");
    }
}
