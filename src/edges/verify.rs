//! Is the boundary live? One line for each thing that has to be so, found out at a running cluster:
//! by reading, and by Jobs that are sent as dry runs.
//!
//! Whatever could not be looked at is said, and is no success.

use kube::client::Body;
use kube::{Client, Config};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::core::judge::Shapes;
use crate::core::shape::identities::Named;
use crate::formats::manifest::Names;
use crate::formats::report::verified::{Line, Status};

pub mod authority;
pub mod canary;
pub mod configuration;
pub mod namespaces;
pub mod neighbours;
pub mod releases;
pub mod replicas;
pub mod rights;
pub mod service;

/// It could not be looked at: `what` completes "cannot look at".
fn unknown(check: &'static str, what: &str, error: &kube::Error) -> Line {
    let (said, fix) = match error {
        kube::Error::Api(status) if status.code == 403 => {
            (status.message.clone(), "let whoever verifies read it, or verify as somebody else")
        }
        other => (other.to_string(), "see whether the cluster answers: kubectl get --raw /readyz"),
    };
    let message = format!("cannot look at {what}: {said}");
    Line { fix: Some(fix.to_owned()), ..Line::new(check, Status::Unknown, message) }
}

/// What is to be so, and where.
pub struct Verification<'a> {
    /// How the cluster is reached.
    pub config: &'a Config,
    /// Whoever looks.
    pub client: Client,
    /// What should be in force.
    pub shapes: &'a Shapes,
    /// What things are called.
    pub names: &'a Names,
    /// Who submits the objects of each shape, by its place among the shapes; nobody known has none.
    pub submitters: Vec<Option<Named>>,
    /// Who may do what would be a failure: `User/NAME`, `Group/NAME`, `ServiceAccount/NAMESPACE/NAME`.
    pub trusted: &'a [String],
    /// Whether terms that AKS adds to selectors are no difference.
    pub allow_aks_terms: bool,
}

impl Verification<'_> {
    /// Looks at everything, in the order in which one thing needs the other; `said` hears each line
    /// as it is found.
    pub async fn run(&self, mut said: impl FnMut(&Line)) -> Vec<Line> {
        let mut lines: Vec<Line> = vec![];
        let mut say = |found: Vec<Line>| {
            found.iter().for_each(&mut said);
            lines.extend(found);
        };
        let (found, minors) = releases::look(self).await;
        say(found);
        let (found, live) = configuration::look(self).await;
        say(found);
        say(namespaces::look(self, live.as_ref()).await);
        say(service::look(self).await);
        let (found, reports) = replicas::look(self).await;
        say(found);
        say(releases::served(&minors, &reports));
        say(authority::look(self, live.as_ref(), &reports));
        say(neighbours::look(self).await);
        say(rights::look(self).await);
        say(canary::look(self).await);
        lines
    }

    /// The namespaces that the shapes govern, sorted.
    fn governed(&self) -> Vec<&str> {
        let all = self.shapes.all().iter().flat_map(|shape| &shape.namespaces);
        let mut all: Vec<&str> = all.map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// An object or a list as the API server writes it, with whatever a newer server has in it.
    async fn get(&self, path: &str) -> Result<serde_json::Value, kube::Error> {
        let request = axum::http::Request::get(path).body(vec![]);
        let request = request.map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }

    /// The same, and nothing where there is none.
    async fn find(&self, path: &str) -> Result<Option<serde_json::Value>, kube::Error> {
        match self.get(path).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            found => found.map(Some),
        }
    }

    /// What time it is where the API server is, by its `Date`; nothing if it does not say.
    async fn date(&self) -> Option<OffsetDateTime> {
        let request = axum::http::Request::get("/version").body(Body::from(vec![])).ok()?;
        let response = self.client.send(request).await.ok()?;
        let date = response.headers().get("date")?.to_str().ok()?;
        OffsetDateTime::parse(date, &Rfc2822).ok()
    }
}

/// Names in one sentence, at most a few of them.
fn listed(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(SHOWN);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The items of a list, or the object at a key.
fn items(list: &serde_json::Value) -> &[serde_json::Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}
