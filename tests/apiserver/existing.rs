//! A cluster that somebody already has. Only what the harness made there is ever touched, and
//! everybody but its own user is impersonated.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use super::supervisor::Folder;
use super::{Failure, Identity};

/// A cluster reached by a kubeconfig.
pub struct Existing {
    kubeconfig: Value,
    webhook_host: String,
    folder: Folder,
}

impl Existing {
    /// The cluster of the kubeconfig's current context, whose API server reaches a webhook on this
    /// machine as `webhook_host`.
    pub fn new(path: &Path, webhook_host: &str) -> Result<Self, Failure> {
        let doing = format!("reading the kubeconfig {}", path.display());
        // Reading makes the paths in it absolute: what is written for kubectl lies elsewhere.
        let read = Kubeconfig::read_from(path).map_err(Failure::during(&doing))?;
        let kubeconfig = serde_json::to_value(read).map_err(Failure::during(&doing))?;
        let webhook_host = webhook_host.to_owned();
        Ok(Existing { kubeconfig, webhook_host, folder: Folder::new()? })
    }

    /// The host of this machine as the API server sees it.
    pub fn webhook_host(&self) -> &str {
        &self.webhook_host
    }

    /// How an identity reaches it.
    pub fn kubeconfig(&self, identity: &Identity) -> Result<Value, Failure> {
        let mut kubeconfig = self.kubeconfig.clone();
        if let Identity::As { user, groups } = identity {
            let current = current_user(&mut kubeconfig).ok_or_else(|| {
                Failure::new("JOBSHAPE_TEST_KUBECONFIG has no user for its current context.")
            })?;
            current["as"] = json!(user);
            current["as-groups"] = json!(groups);
        }
        Ok(kubeconfig)
    }

    /// Writes a file into a folder that is gone when this is dropped.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, Failure> {
        self.folder.write(name, content)
    }
}

/// The entry of `users` that the current context names.
fn current_user(kubeconfig: &mut Value) -> Option<&mut Value> {
    let current = kubeconfig["current-context"].as_str()?.to_owned();
    let context = named(&mut kubeconfig["contexts"], &current)?;
    let user = context["context"]["user"].as_str()?.to_owned();
    Some(&mut named(&mut kubeconfig["users"], &user)?["user"])
}

fn named<'a>(list: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    list.as_array_mut()?.iter_mut().find(|item| item["name"] == name)
}
