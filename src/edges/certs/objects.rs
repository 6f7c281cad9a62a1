//! Where everything is in the API, and what is there.

use serde_json::Value;

use super::calls::{Calls, Trouble};
use super::state::seen::{Configuration, Seen, Serving};
use super::{AUTHORITY, stored};
use crate::edges::cluster::replica::{ANNOTATION, LABEL, LABEL_VALUE, Report};
use crate::formats::manifest::Names;

/// Where the objects are.
pub struct Places {
    names: Names,
}

/// The objects as they were read.
pub struct Objects {
    /// The Secret with the authorities.
    pub authority: Option<Value>,
    /// The Secret with the certificate; an error if nobody knows whether there is one.
    pub serving: Result<Option<Value>, Unknown>,
    /// The webhook configuration.
    pub configuration: Option<Value>,
    /// Which replica shows what.
    pub shown: Vec<(String, String)>,
}

/// It could not be read; why is among the troubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown;

impl Places {
    /// Of an installation that calls its things so.
    pub fn of(names: &Names) -> Self {
        Self { names: names.clone() }
    }

    /// Reads everything. What could not be read goes to `troubles`.
    ///
    /// # Errors
    /// The one thing without which nothing can be done.
    pub async fn look(
        &self,
        calls: &Calls,
        names: &[String],
        troubles: &mut Vec<Trouble>,
    ) -> Result<(Objects, Seen), Trouble> {
        let authority = calls.get(&the_secret(AUTHORITY), &self.secret(AUTHORITY)).await?;
        let mut or_trouble = |trouble| {
            troubles.push(trouble);
            Unknown
        };
        let name = &self.names.certificate;
        let serving = calls.get(&the_secret(name), &self.secret(name)).await;
        let serving = serving.map_err(&mut or_trouble);
        let configuration = calls.get(&self.the_configuration(), &self.configuration()).await;
        let configuration = configuration.map_err(&mut or_trouble);
        let shown = self.replicas(calls).await.map_err(&mut or_trouble);

        let known = authority.as_ref().and_then(stored::authority);
        let secret = serving.as_ref().ok().and_then(Option::as_ref);
        let told = match &configuration {
            Ok(object) => stored::configuration(object.as_ref()),
            Err(Unknown) => Configuration::Unknown,
        };
        let leaf = secret
            .map_or_else(Serving::default, |secret| stored::serving(secret, names, known.as_ref()));
        let is_unknown = known.is_some() && leaf.leaf.as_ref().is_some_and(|l| l.by.is_none());
        let seen = Seen {
            stranger: secret.filter(|_| is_unknown).and_then(|s| stored::stranger(s, &told)),
            authority: known,
            serving: leaf,
            configuration: told,
            shown: shown
                .as_ref()
                .ok()
                .map(|shown| shown.iter().map(|(_, certificate)| certificate.clone()).collect()),
        };
        let configuration = configuration.ok().flatten();
        Ok((Objects { authority, serving, configuration, shown: shown.unwrap_or_default() }, seen))
    }

    /// Which replica says that it shows what. One that has no certificate shows none.
    async fn replicas(&self, calls: &Calls) -> Result<Vec<(String, String)>, Trouble> {
        let namespace = &self.names.namespace;
        let label = LABEL.replace('/', "%2F");
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?labelSelector={label}%3D{LABEL_VALUE}"
        );
        let list = calls.get("the Leases of the replicas", &path).await?.unwrap_or_default();
        let items = list["items"].as_array().into_iter().flatten();
        let shown = items.filter_map(|lease| {
            let name = lease["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let report = lease["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or_default();
            match serde_json::from_str::<Report>(report) {
                Ok(report) => report.certificate.map(|certificate| (name, certificate)),
                // Nobody knows what it shows.
                Err(_) => Some((name, String::new())),
            }
        });
        Ok(shown.collect())
    }

    /// A Secret; all of them without a name.
    pub fn secret(&self, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{}/secrets/{name}", self.names.namespace);
        path.trim_end_matches('/').to_owned()
    }

    /// The configuration.
    pub fn configuration(&self) -> String {
        let name = &self.names.configuration;
        format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}")
    }

    /// What tells of the next change to it, after this one.
    pub fn changes(&self, version: &str) -> String {
        let name = &self.names.configuration;
        let all = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        format!("{all}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={version}")
    }

    /// What people call it.
    pub fn the_configuration(&self) -> String {
        format!("the ValidatingWebhookConfiguration {}", self.names.configuration)
    }
}

/// What people call a Secret.
pub fn the_secret(name: &str) -> String {
    format!("the Secret {name}")
}
