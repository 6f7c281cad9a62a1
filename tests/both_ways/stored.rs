//! Objects that are in the cluster whatever the webhook thinks of them, and the patch that makes
//! one written Job of another.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::asked::SEEDER;
use crate::apiserver::{Cluster, Identity, Method, Namespace, Session};

const PATIENCE: Duration = Duration::from_secs(60);

/// Puts objects into the cluster, past the webhook.
pub struct Seeder {
    session: Session,
    stored: Option<(String, Value)>,
}

impl Seeder {
    /// One that may do all this in a namespace.
    pub async fn new(cluster: &Cluster, namespaces: &[&Namespace<'_>]) -> Seeder {
        let identity = Identity::user(SEEDER, &[]);
        for namespace in namespaces {
            for resource in ["jobs", "cronjobs"] {
                for verb in ["create", "get", "patch", "delete"] {
                    namespace.allow(&identity, verb, "batch", resource).await.unwrap();
                }
            }
        }
        Seeder { session: cluster.session(&identity).await.unwrap(), stored: None }
    }

    /// Its connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Makes sure that this object is stored, and the last one is not; its path.
    pub async fn store(&mut self, namespace: &str, object: &Value) -> String {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", collection(namespace, object));
        if self.stored.as_ref() != Some(&(path.clone(), object.clone())) {
            self.clear().await;
            let created =
                self.session.submit(Method::POST, &collection(namespace, object), object).await;
            created.unwrap_or_else(|refusal| panic!("{path} cannot be stored: {refusal}"));
            self.stored = Some((path.clone(), object.clone()));
        }
        path
    }

    /// Takes over what somebody else has stored.
    pub fn adopt(&mut self, namespace: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}/{name}", collection(namespace, object));
        self.stored = Some((path, object.clone()));
    }

    /// Removes the last one, and waits until it is gone.
    pub async fn clear(&mut self) {
        let Some((path, _)) = self.stored.take() else { return };
        let free = json!({"metadata": {"finalizers": null}});
        self.session.submit(Method::PATCH, &path, &free).await.unwrap();
        let delete = format!("{path}?propagationPolicy=Background");
        self.session.submit(Method::DELETE, &delete, &Value::Null).await.unwrap();
        let began = Instant::now();
        while self.session.get(&path).await.unwrap().status != 404 {
            assert!(began.elapsed() < PATIENCE, "{path} does not go");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The path of the objects of this one's kind.
pub fn collection(namespace: &str, object: &Value) -> String {
    let resource = if object["kind"] == "CronJob" { "cronjobs" } else { "jobs" };
    format!("/apis/batch/v1/namespaces/{namespace}/{resource}")
}

/// The merge patch (RFC 7386) that makes `new` of `old`.
pub fn merge_patch(old: &Value, new: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (old, new) else { return new.clone() };
    let mut patch = Map::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in after {
        match before.get(key) {
            Some(same) if same == value => {}
            Some(other) => {
                patch.insert(key.clone(), merge_patch(other, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

#[test]
fn a_merge_patch_makes_one_of_the_other() {
    let old = json!({"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"d": 1}});
    let new = json!({"a": {"x": 1, "y": [2]}, "c": {"d": 2, "e": {"f": 1}}});
    let patch = merge_patch(&old, &new);
    assert_eq!(patch, json!({"a": {"y": [2]}, "b": null, "c": {"d": 2, "e": {"f": 1}}}));
    let mut made = old;
    json_patch::merge(&mut made, &patch);
    assert_eq!(made, new);
}
