//! Putting a webhook configuration into effect, for the namespaces of a test only.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};

use super::cleanup::{Cleanup, LABEL, run, suffix};
use super::{Cluster, Failure, Identity, Namespace, Refusal, Session};

const PATIENCE: Duration = Duration::from_secs(30);

const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A Job that must be refused once the webhook is in effect, and would be admitted without it. It
/// is only ever sent as a dry run.
#[derive(Debug, Clone)]
pub struct Probe<'a> {
    /// Who sends it.
    pub identity: &'a Identity,
    /// Where to.
    pub namespace: &'a str,
    /// The Job.
    pub job: &'a Value,
}

/// A webhook configuration that goes when this is dropped.
pub struct InstalledWebhook {
    /// Its name in the cluster: the one asked for and a suffix, so that tests do not collide.
    pub name: String,
    /// The refusal that showed it in effect: the webhook's own, or the failed call of one that the
    /// server does not reach.
    pub first_refusal: Refusal,
    cleanup: Cleanup,
}

impl Cluster {
    /// Installs a `ValidatingWebhookConfiguration` and waits until it is in effect, which takes
    /// the server up to a second. Each of its webhooks is narrowed to the given namespaces, so
    /// that neither a parallel test nor anything else in the cluster is ever asked about.
    pub async fn install_webhook(
        &self,
        configuration: &Value,
        namespaces: &[&Namespace<'_>],
        probe: &Probe<'_>,
    ) -> Result<InstalledWebhook, Failure> {
        let admin = self.session(&Identity::Admin).await?;
        let configuration = narrowed(configuration, namespaces)?;
        let name = configuration["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let created = admin.submit(Method::POST, CONFIGURATIONS, &configuration).await;
        created.map_err(Failure::during(format!("installing the webhook {name}")))?;
        let kubeconfig = self.kubeconfig(&Identity::Admin)?;
        let cleanup = Cleanup::new(kubeconfig, format!("{CONFIGURATIONS}/{name}"));

        let session = self.session(probe.identity).await?;
        let first_refusal = wait_until_refused(&session, probe, &name).await?;
        Ok(InstalledWebhook { name, first_refusal, cleanup })
    }
}

impl Cluster {
    /// Installs a configuration exactly as it is printed, through kubectl, and waits until it is in
    /// effect. Only for one that names no namespace but those of the test.
    pub async fn install_verbatim(
        &self,
        printed: &str,
        probe: &Probe<'_>,
    ) -> Result<InstalledWebhook, Failure> {
        let admin = self.session(&Identity::Admin).await?;
        // Not `apply`: what somebody else gave this name is neither changed nor removed afterwards.
        let created = self.kubectl_with(&["create", "-o", "name", "-f", "-"], printed)?;
        let name = created.trim().rsplit('/').next().unwrap_or_default().to_owned();
        let path = format!("{CONFIGURATIONS}/{name}");
        let cleanup = Cleanup::new(self.kubeconfig(&Identity::Admin)?, path.clone());
        // For whoever has to clean up after a test that was killed.
        let label = json!({"metadata": {"labels": {LABEL: run()}}});
        let labelled = admin.submit(Method::PATCH, &path, &label).await;
        labelled.map_err(Failure::during(format!("labelling the webhook {name}")))?;

        let session = self.session(probe.identity).await?;
        let first_refusal = wait_until_refused(&session, probe, &name).await?;
        Ok(InstalledWebhook { name, first_refusal, cleanup })
    }

    /// What kubectl prints, as the administrator, with this on its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String, Failure> {
        let doing = format!("running kubectl {}", arguments.join(" "));
        let mut kubectl = Command::new(self.kubectl()?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig_for(&Identity::Admin)?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Failure::during(&doing))?;
        if let Some(mut stdin) = kubectl.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(Failure::during(&doing))?;
        }
        let output = kubectl.wait_with_output().map_err(Failure::during(&doing))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(format!("{doing}: {}", said.trim())))
    }
}

impl InstalledWebhook {
    /// Removes it and waits until the probe is admitted again.
    pub async fn remove(self, cluster: &Cluster, probe: &Probe<'_>) -> Result<(), Failure> {
        drop(self.cleanup);
        let session = cluster.session(probe.identity).await?;
        let began = Instant::now();
        loop {
            match session.dry_run_job(probe.namespace, probe.job).await {
                Ok(_) => return Ok(()),
                Err(refusal) if began.elapsed() > PATIENCE => {
                    return Err(Failure::new(format!(
                        "{} is removed, and yet the probe is refused: {refusal}",
                        self.name
                    )));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

/// Behind one address there may be several API servers, each with its own idea of what is in
/// effect, so one refusal is not enough.
async fn wait_until_refused(
    session: &Session,
    probe: &Probe<'_>,
    name: &str,
) -> Result<Refusal, Failure> {
    const IN_A_ROW: usize = 3;
    let began = Instant::now();
    let mut refusals = Vec::new();
    loop {
        match session.dry_run_job(probe.namespace, probe.job).await {
            Err(refusal) if refusal.is_by_webhook() || refusal.is_failed_call() => {
                refusals.push(refusal);
                if refusals.len() == IN_A_ROW {
                    return Ok(refusals.swap_remove(0));
                }
            }
            Err(refusal) => {
                return Err(Failure::new(format!(
                    "The probe of the webhook {name} was refused, but by no webhook: {refusal}"
                )));
            }
            Ok(_) => {
                refusals.clear();
                if began.elapsed() > PATIENCE {
                    return Err(Failure::new(format!(
                        "The webhook {name} is still not in effect: its probe is admitted."
                    )));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// The configuration under a unique name, labelled, and for these namespaces only.
fn narrowed(configuration: &Value, namespaces: &[&Namespace<'_>]) -> Result<Value, Failure> {
    let mut configuration = configuration.clone();
    let name = configuration["metadata"]["name"].as_str().unwrap_or("jobshape").to_owned();
    configuration["metadata"]["name"] = json!(format!("{name}-{}", suffix(6)));
    configuration["metadata"]["labels"][LABEL] = json!(run());
    let names: Vec<&str> = namespaces.iter().map(|namespace| namespace.name.as_str()).collect();
    let here = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": names});
    let webhooks = configuration["webhooks"].as_array_mut().ok_or_else(|| {
        Failure::new(format!("The webhook configuration {name} has no list of webhooks."))
    })?;
    for webhook in webhooks {
        let expressions = &mut webhook["namespaceSelector"]["matchExpressions"];
        match expressions.as_array_mut() {
            Some(list) => list.push(here.clone()),
            None => *expressions = json!([here]),
        }
    }
    Ok(configuration)
}
