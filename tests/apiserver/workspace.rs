//! A namespace of one test, with the permissions it gives.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};

use super::cleanup::{Cleanup, LABEL, run, suffix};
use super::{Cluster, Failure, Identity, Session};

const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace that was made for a test and goes with it, and all that is in it.
pub struct Namespace<'a> {
    /// Its name.
    pub name: String,
    cluster: &'a Cluster,
    admin: Session,
    _cleanup: Cleanup,
}

impl Cluster {
    /// Makes a namespace `PREFIX-xxxxxx`.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace<'_>, Failure> {
        self.exact_namespace(&format!("{prefix}-{}", suffix(6))).await
    }

    /// Makes a namespace with exactly this name. Another test of this process that has it now is
    /// waited for; a namespace that is not ours is a failure.
    pub async fn exact_namespace(&self, name: &str) -> Result<Namespace<'_>, Failure> {
        let admin = self.session(&Identity::Admin).await?;
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {LABEL: run()}},
        });
        let path = format!("/api/v1/namespaces/{name}");
        let began = Instant::now();
        while let Err(refusal) = admin.submit(Method::POST, "/api/v1/namespaces", &namespace).await
        {
            let there = admin.get(&path).await?;
            let ours = there.body["metadata"]["labels"][LABEL] == run() || there.status == 404;
            if refusal.code != 409 || !ours || began.elapsed() > PATIENCE {
                return Err(Failure::new(format!("making the namespace {name}: {refusal}")));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let cleanup = Cleanup::new(self.kubeconfig(&Identity::Admin)?, path);
        Ok(Namespace { name: name.to_owned(), cluster: self, admin, _cleanup: cleanup })
    }
}

impl Namespace<'_> {
    /// Lets an identity create Jobs here, and nothing else: what a dispatcher has.
    pub async fn allow_jobs(&self, identity: &Identity) -> Result<(), Failure> {
        self.allow(identity, "create", "batch", "jobs").await
    }

    /// Lets an identity do one thing here, and waits until the server knows it.
    pub async fn allow(
        &self,
        identity: &Identity,
        verb: &str,
        group: &str,
        resource: &str,
    ) -> Result<(), Failure> {
        // The administrator may do everything already.
        let Some(user) = identity.user_name() else { return Ok(()) };
        let name = format!("{verb}-{}-{}", resource.replace('/', "-"), suffix(6));
        let rbac = "rbac.authorization.k8s.io";
        let role = json!({
            "metadata": {"name": name},
            "rules": [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}],
        });
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
        });
        for (kind, object) in [("roles", role), ("rolebindings", binding)] {
            let path = self.path(&format!("{rbac}/v1"), kind);
            let created = self.admin.submit(Method::POST, &path, &object).await;
            created.map_err(Failure::during(format!("allowing {user} to {verb} {resource}")))?;
        }
        self.wait_until_allowed(identity, verb, group, resource).await
    }

    /// The authorizer reads RBAC from a cache that lags a little behind.
    async fn wait_until_allowed(
        &self,
        identity: &Identity,
        verb: &str,
        group: &str,
        resource: &str,
    ) -> Result<(), Failure> {
        let session = self.cluster.session(identity).await?;
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let (resource_only, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let review = json!({"spec": {"resourceAttributes": {
            "namespace": self.name, "verb": verb, "group": group,
            "resource": resource_only, "subresource": subresource,
        }}});
        let began = Instant::now();
        loop {
            let answer = session.submit(Method::POST, path, &review).await;
            let answer = answer.map_err(Failure::during("asking what an identity may do"))?;
            if answer.object["status"]["allowed"] == true {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(Failure::new(format!(
                    "{verb} {resource} in {} is still not allowed to {identity:?}.",
                    self.name
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The path of the objects of a kind here, such as `("v1", "pods")` or `("batch/v1", "jobs")`.
    pub fn path(&self, group_version: &str, resource: &str) -> String {
        let root = if group_version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{group_version}/namespaces/{}/{resource}", self.name)
    }

    /// Waits until the objects of a kind here satisfy a condition, and returns them.
    pub async fn wait_for(
        &self,
        group_version: &str,
        resource: &str,
        condition: impl Fn(&[Value]) -> bool,
    ) -> Result<Vec<Value>, Failure> {
        let path = self.path(group_version, resource);
        let began = Instant::now();
        loop {
            let answer = self.admin.get(&path).await?;
            let items = answer.body["items"].as_array().cloned().unwrap_or_default();
            if condition(&items) {
                return Ok(items);
            }
            if began.elapsed() > PATIENCE {
                let log = match self.cluster {
                    Cluster::Own(plane) => plane.controllers_log(),
                    Cluster::Existing(_) => String::new(),
                };
                return Err(Failure::new(format!(
                    "The {resource} of {} are not what was waited for: {}\n{log}",
                    self.name, answer.body
                )));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
