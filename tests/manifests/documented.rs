//! docs/install.md, followed literally: every `sh` block is run and every file written, in their
//! order, in a folder that looks like a clone. There are no nodes, so no replica ever runs: what
//! that means for Jobs is seen too.

use std::path::{Path, PathBuf};
use std::process::Command;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::built::build;
use super::{read, root};
use crate::apiserver::{Cluster, ControlPlane, Identity, Options, Refusal, Session, kubectl};

const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/jobshape";

/// A step of the document, and the heading it stands under.
struct Step {
    under: String,
    what: What,
}

enum What {
    Run(String),
    Write(PathBuf, String),
}

fn steps(document: &str) -> Vec<Step> {
    let (mut steps, mut under) = (vec![], String::new());
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut under);
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        let what = match (language, block.strip_prefix("# ").and_then(|b| b.split_once('\n'))) {
            ("sh", _) => What::Run(block),
            ("yaml", Some((path, text))) => What::Write(path.into(), text.to_owned()),
            _ => continue,
        };
        steps.push(Step { under: under.clone(), what });
    }
    steps
}

/// A folder that holds what a clone holds.
fn clone() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["manifests", "rules"] {
        let copied =
            Command::new("cp").arg("-r").arg(root().join(name)).arg(folder.path()).status();
        assert!(copied.unwrap().success());
    }
    folder
}

struct Desk {
    folder: TempDir,
    cluster: Cluster,
    admin: Session,
}

impl Desk {
    /// Runs a block as it stands, `jobshape` and `kubectl` being those under test.
    fn run(&self, script: &str) -> String {
        let programs = [Path::new(env!("CARGO_BIN_EXE_jobshape")).to_owned(), kubectl().unwrap()];
        let folders = programs.iter().filter_map(|program| program.parent().map(Path::to_owned));
        let before = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&before))).unwrap();
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("KUBECONFIG", self.cluster.kubeconfig_for(&Identity::Admin).unwrap())
            .output()
            .unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}{said}");
        said.into_owned()
    }

    /// The entries of the configuration; none when it is not there.
    async fn entries(&self) -> Vec<String> {
        let configuration = self.admin.get(CONFIGURATION).await.unwrap().body;
        let webhooks = configuration["webhooks"].as_array().cloned().unwrap_or_default();
        webhooks.iter().map(|webhook| webhook["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What becomes of a Job in the namespace, whatever it is; the server gets a moment to know of a
    /// new configuration.
    async fn until_a_job(&self, namespace: &str, holds: impl Fn(&Result<(), Refusal>) -> bool) {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "any"}, "spec": {"template":
            {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "r.example/a"}]}}}});
        let mut seen = Ok(());
        for _ in 0..120 {
            seen = self.admin.dry_run_job(namespace, &job).await.map(|_| ());
            if holds(&seen) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        }
        panic!("{namespace}: {seen:?}");
    }

    /// The image of a Deployment's container.
    async fn image(&self, deployment: &str) -> String {
        let path = format!("/apis/apps/v1/namespaces/jobshape-system/deployments/{deployment}");
        let deployment = self.admin.get(&path).await.unwrap().body;
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        image.as_str().unwrap_or_else(|| panic!("{path}: {deployment}")).to_owned()
    }

    async fn gone(&self, path: &str) -> bool {
        self.admin.get(path).await.unwrap().status == 404
    }
}

async fn desk() -> Desk {
    let cluster = Cluster::Own(ControlPlane::start(&Options::default()).await.unwrap());
    let admin = cluster.session(&Identity::Admin).await.unwrap();
    let desk = Desk { folder: clone(), cluster, admin };
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pm-agent"}});
    desk.admin.submit(Method::POST, "/api/v1/namespaces", &namespace).await.unwrap();
    desk
}

#[tokio::test]
async fn every_command_of_the_page_does_what_it_says() {
    let desk = desk().await;
    let mut followed = vec![];
    for Step { under, what } in steps(&read("docs/install.md")) {
        let said = match what {
            What::Run(script) => desk.run(&script),
            What::Write(path, text) => {
                std::fs::write(desk.folder.path().join(path), text).unwrap();
                continue;
            }
        };
        let entries = desk.entries().await;
        let applied = said.contains("serverside-applied");
        match &*under {
            "Your shapes" if applied => {
                assert_eq!(entries, ["audit.jobshape.dev"]);
                // No replica runs, and nothing is refused.
                desk.until_a_job("pm-agent", Result::is_ok).await;
                for deployment in ["jobshape", "jobshape-certificates"] {
                    let image = desk.image(deployment).await;
                    assert!(
                        image.starts_with("registry.example.net/platform/jobshape@sha256:"),
                        "{image}"
                    );
                }
            }
            "Watch first, then enforce" => {
                // The diff shows what is about to change.
                assert!(applied && said.contains("enforce.jobshape.dev"), "{said}");
                assert_eq!(entries, ["enforce.jobshape.dev"]);
                let failed = |seen: &Result<(), Refusal>| {
                    seen.as_ref().is_err_and(|refusal| {
                        refusal.is_failed_call() && refusal.message.contains("enforce.jobshape.dev")
                    })
                };
                desk.until_a_job("pm-agent", failed).await;
                // Elsewhere, and everything else, goes on.
                desk.until_a_job("default", Result::is_ok).await;
                let config_map =
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
                let made = desk
                    .admin
                    .submit(Method::POST, "/api/v1/namespaces/pm-agent/configmaps", &config_map)
                    .await;
                made.unwrap();
            }
            "When Jobs must run and jobshape does not" => {
                assert!(desk.gone(CONFIGURATION).await);
                desk.until_a_job("pm-agent", Result::is_ok).await;
            }
            "Uninstall" => {
                for path in [
                    "/api/v1/namespaces/jobshape-system",
                    CONFIGURATION,
                    "/apis/scheduling.k8s.io/v1/priorityclasses/jobshape",
                    "/apis/rbac.authorization.k8s.io/v1/clusterroles/jobshape-certificates",
                ] {
                    assert!(desk.gone(path).await, "{path}");
                }
            }
            "Your shapes" | "Monitoring" => {}
            other => panic!("a command under `{other}`, and no test of what it does"),
        }
        followed.push(under);
    }
    assert_eq!(followed.len(), 7, "{followed:?}");
    any_order(&desk).await;
}

/// Whatever comes first, in the end all of it is there. GitOps tries again what could not be applied.
async fn any_order(desk: &Desk) {
    let mut objects = build("built-in/enforce", &[]).objects;
    let count = objects.len();
    for round in 0..3 {
        // Backwards, the namespace last; then two orders that are drawn.
        match round {
            0 => objects.reverse(),
            _ => fastrand::shuffle(&mut objects),
        }
        let mut waiting: Vec<&Value> = objects.iter().collect();
        let mut tries = 0;
        while !waiting.is_empty() {
            tries += 1;
            assert!(tries <= 3, "{} of {count} cannot be applied", waiting.len());
            let mut again = vec![];
            for object in waiting {
                let file = desk.folder.path().join("one.json");
                std::fs::write(&file, object.to_string()).unwrap();
                let applied = Command::new(kubectl().unwrap())
                    .arg("--kubeconfig")
                    .arg(desk.cluster.kubeconfig_for(&Identity::Admin).unwrap())
                    .args(["apply", "--server-side", "-f"])
                    .arg(&file)
                    .output()
                    .unwrap();
                if !applied.status.success() {
                    again.push(object);
                }
            }
            waiting = again;
        }
        // The first order cannot have been right at once, or nothing was tried.
        assert!(round > 0 || tries > 1);
        assert_eq!(desk.entries().await, ["enforce.jobshape.dev"]);
        desk.run("kubectl delete -k manifests/overlays/built-in/enforce --ignore-not-found");
        assert!(desk.gone("/api/v1/namespaces/jobshape-system").await);
    }
}
