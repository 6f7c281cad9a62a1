//! Looking at everything, and taking the one step that follows from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::calls::{Calls, Trouble};
use super::lease::Held as Lease;
use super::metrics::Metrics;
use super::state::{
    Authority, Configuration, Held, Rest, Seen, Serving, Since, Step, Watched, next,
};
use super::{AUTHORITY, MANAGER, Options, authority, stored};
use crate::edges::cluster::replica::{ANNOTATION, LABEL, LABEL_VALUE, Report};

/// After so long, replicas that do not take up a new certificate are said in the log.
const LONG: Duration = Duration::from_secs(600);

/// What one pass came to.
pub enum Pass {
    /// Another process writes.
    Standby,
    /// Something was written.
    Took,
    /// There was nothing to write.
    Rested,
}

/// Everything that outlives a pass. None of it is needed by the next process.
pub struct Rotator {
    options: Options,
    calls: Calls,
    /// Who may write.
    lease: Lease,
    metrics: Arc<Metrics>,
    /// The names that the certificate has to be for.
    names: Vec<String>,
    began: Instant,
    watched: Watched,
    /// Since when replicas show another certificate than this one.
    waiting: Since,
    rested: Option<Rest>,
    is_said: bool,
}

/// The objects as they were read.
struct Objects {
    authority: Option<Value>,
    serving: Option<Value>,
    configuration: Option<Value>,
    /// Which replica shows what.
    shown: Vec<(String, String)>,
}

impl Rotator {
    /// Nothing is looked at yet.
    pub fn new(options: Options, calls: Calls, metrics: Arc<Metrics>) -> Self {
        let mut names = authority::service_names(&options.names);
        names.extend(options.also_for.iter().cloned());
        let lease = Lease::new(options.identity.clone(), options.names.namespace.clone());
        Self {
            options,
            calls,
            lease,
            metrics,
            names,
            began: Instant::now(),
            watched: Watched::default(),
            waiting: Since::default(),
            rested: None,
            is_said: false,
        }
    }

    /// Looks, and does what is next. What could not be done, and does not keep the rest from being
    /// done, goes to `troubles`.
    ///
    /// # Errors
    /// What keeps everything from being done.
    pub async fn pass(&mut self, troubles: &mut Vec<Trouble>) -> Result<Pass, Trouble> {
        let holds = self.lease.hold(&self.calls).await;
        // An API server that could not be asked just now may be reached a moment later.
        if !holds.or_else(|trouble| if self.lease.is_held() { Ok(true) } else { Err(trouble) })? {
            self.metrics.writes.set(0);
            self.forget_the_past();
            return Ok(Pass::Standby);
        }
        self.metrics.writes.set(1);
        let (objects, mut seen) = self.look(troubles).await?;
        let held = self.watched.look(&seen, self.began.elapsed());
        self.measure(&seen, &objects);
        let mut step = self.next(&seen, held);
        if step == Step::Publish {
            match self.take(step, &objects, &seen).await {
                Ok(()) => return Ok(Pass::Took),
                Err(trouble) => troubles.push(trouble),
            }
            // A right that is missing there must not let the certificate expire.
            seen.configuration = Configuration::Unknown;
            step = self.next(&seen, Held { trusted: None, ..held });
        }
        if let Step::Rest(rest) = step {
            self.say(rest);
            return Ok(Pass::Rested);
        }
        self.take(step, &objects, &seen).await?;
        Ok(Pass::Took)
    }

    /// Lets the next one begin at once.
    pub async fn end(&mut self) {
        self.lease.release(&self.calls).await;
    }

    fn next(&self, seen: &Seen, held: Held) -> Step {
        next(seen, held, self.calls.now(), self.options.settle)
    }

    /// While another process writes, this one sees nothing without a break.
    fn forget_the_past(&mut self) {
        self.watched = Watched::default();
        self.waiting = Since::default();
        self.rested = None;
    }

    async fn look(&self, troubles: &mut Vec<Trouble>) -> Result<(Objects, Seen), Trouble> {
        let calls = &self.calls;
        let certificate = &self.options.names.certificate;
        let authority = calls.get(&secret(AUTHORITY), &self.secrets(AUTHORITY)).await?;
        let serving = calls.get(&secret(certificate), &self.secrets(certificate)).await?;
        let mut or_trouble = |trouble| troubles.push(trouble);
        let what = self.configuration();
        let configuration = calls.get(&what, &self.configurations()).await;
        let configuration = configuration.map_err(&mut or_trouble).ok();
        let shown = self.replicas().await.map_err(&mut or_trouble).ok();

        let known = authority.as_ref().and_then(stored::authority);
        let seen = Seen {
            serving: serving.as_ref().map_or_else(Serving::default, |secret| {
                stored::serving(secret, &self.names, known.as_ref())
            }),
            authority: known,
            configuration: match &configuration {
                Some(object) => stored::configuration(object.as_ref()),
                None => Configuration::Unknown,
            },
            shown: shown
                .as_ref()
                .map(|shown| shown.iter().map(|(_, certificate)| certificate.clone()).collect()),
        };
        let configuration = configuration.flatten();
        let shown = shown.unwrap_or_default();
        Ok((Objects { authority, serving, configuration, shown }, seen))
    }

    /// Which replica says that it shows what. One that has no certificate shows none.
    async fn replicas(&self) -> Result<Vec<(String, String)>, Trouble> {
        let namespace = &self.options.names.namespace;
        let label = LABEL.replace('/', "%2F");
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?labelSelector={label}%3D{LABEL_VALUE}"
        );
        let list = self.calls.get("the Leases of the replicas", &path).await?.unwrap_or_default();
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

    fn measure(&mut self, seen: &Seen, objects: &Objects) {
        let metrics = &self.metrics;
        metrics.ahead.set(self.calls.ahead());
        let authority = seen.authority.as_ref();
        let signer = authority.and_then(|authority| authority.signer.as_ref());
        metrics.authority_not_after.set(signer.map_or(0, |signer| signer.certificate.to));
        metrics.certificate_not_after.set(seen.serving.leaf.as_ref().map_or(0, |leaf| leaf.to));
        let count = authority.map_or(0, |authority| authority.trusted().count());
        metrics.authorities.set(i64::try_from(count).unwrap_or(i64::MAX));

        // Only while somebody has to be forgotten does it matter what they show.
        let leaf = seen.serving.leaf.as_ref().filter(|leaf| {
            let is_by_signer =
                signer.map(|signer| &signer.certificate.fingerprint) == leaf.by.as_ref();
            let is_over = authority.is_none_or(|authority| authority.previous.is_empty());
            is_by_signer && !is_over && !seen.is_shown()
        });
        let waited =
            self.waiting.look(leaf.map(|leaf| leaf.fingerprint.clone()), self.began.elapsed());
        let waited = waited.unwrap_or_default();
        self.metrics.waiting.set(i64::try_from(waited.as_secs()).unwrap_or(i64::MAX));
        if waited < LONG {
            self.is_said = false;
        } else if !self.is_said {
            self.is_said = true;
            let others = objects
                .shown
                .iter()
                .filter(|(_, shown)| Some(shown) != leaf.map(|l| &l.fingerprint));
            let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
            tracing::warn!(
                replicas = others.join(", "),
                "the old authority stays trusted: these replicas do not show the new certificate, or none says what it shows (--publish)"
            );
        }
    }

    fn say(&mut self, rest: Rest) {
        if self.rested.replace(rest) == Some(rest) {
            return;
        }
        let name = &self.options.names.configuration;
        match rest {
            Rest::Done => {
                tracing::info!("certificate, authority and configuration are as they should be")
            }
            Rest::Configuration => tracing::warn!(
                configuration = name,
                "there is no webhook configuration, or none with an entry: the authority is written into it as soon as there is"
            ),
            Rest::Trust => {
                tracing::info!("waiting until every API server trusts the new authority")
            }
            Rest::Replicas => {
                tracing::info!("waiting until every replica shows the new certificate")
            }
        }
    }

    /// Writes one thing.
    async fn take(&mut self, step: Step, objects: &Objects, seen: &Seen) -> Result<(), Trouble> {
        // Whoever cannot be sure to be alone writes nothing.
        if !self.lease.is_held() {
            let doing = format!("the step {}", step.word());
            let said = "the Lease could not be renewed in time".to_owned();
            return Err(Trouble { doing, said, status: 0 });
        }
        let now = self.calls.now();
        let stored = || seen.authority.clone().unwrap_or_default();
        let make = || {
            let made = authority::authority(now, self.options.authority_life);
            made.map_err(|error| cannot(&error))
        };
        match step {
            Step::Begin => {
                let previous = known(objects, seen, now);
                self.write_authority(objects, &Authority::begin(make()?, previous)).await?;
            }
            Step::Announce => self.write_authority(objects, &stored().announce(make()?)).await?,
            Step::Promote => self.write_authority(objects, &stored().promote()).await?,
            Step::Forget => self.write_authority(objects, &stored().forget()).await?,
            Step::Publish => {
                let Some(object) = &objects.configuration else { return Ok(()) };
                let patch = stored::publish(object, &stored().bundle());
                let path = format!("{}?fieldManager={MANAGER}", self.configurations());
                self.calls.patch(&self.configuration(), &path, &patch).await?;
            }
            Step::Issue => {
                let authority = stored();
                let Some(signer) = &authority.signer else { return Ok(()) };
                let life = self.options.certificate_life;
                let made = authority::leaf(signer, &self.names, now, life);
                let made = made.map_err(|error| cannot(&error))?;
                if objects.serving.is_some() && seen.serving.leaf.is_none() {
                    tracing::warn!(
                        secret = self.options.names.certificate,
                        "the Secret holds no certificate with its key: it is replaced"
                    );
                }
                let data = stored::serving_data(made, authority.bundle());
                self.write_serving(objects, &data).await?;
            }
            Step::Show => {
                let Some(secret) = &objects.serving else { return Ok(()) };
                let data = stored::with_bundle(secret, stored().bundle());
                self.write_serving(objects, &data).await?;
            }
            Step::Rest(_) => return Ok(()),
        }
        self.metrics.took(step);
        self.rested = None;
        tracing::info!(step = step.word(), "{}", step.sentence());
        Ok(())
    }

    async fn write_authority(
        &self,
        objects: &Objects,
        authority: &Authority,
    ) -> Result<(), Trouble> {
        if objects.authority.as_ref().is_some_and(|secret| stored::authority(secret).is_none()) {
            tracing::warn!(
                secret = AUTHORITY,
                "the Secret holds no authority with its key: it is replaced"
            );
        }
        let data = stored::authority_data(authority);
        self.write(objects.authority.as_ref(), AUTHORITY, "Opaque", &data).await
    }

    async fn write_serving(
        &self,
        objects: &Objects,
        data: &[(&str, String)],
    ) -> Result<(), Trouble> {
        let name = &self.options.names.certificate;
        self.write(objects.serving.as_ref(), name, "kubernetes.io/tls", data).await
    }

    async fn write(
        &self,
        before: Option<&Value>,
        name: &str,
        kind: &str,
        data: &[(&str, String)],
    ) -> Result<(), Trouble> {
        let namespace = &self.options.names.namespace;
        let (what, path) = (secret(name), self.secrets(name));
        if let Some(before) = before {
            if before["immutable"] != true {
                let object = stored::with_data(before.clone(), data);
                let path = format!("{path}?fieldManager={MANAGER}");
                return self.calls.replace(&what, &path, &object).await.map(|_| ());
            }
            // Nothing else helps.
            let metadata = &before["metadata"];
            let options = json!({"preconditions": {
                "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
            }});
            self.calls.delete(&what, &path, &options).await?;
        }
        let object = stored::secret(namespace, name, kind, data);
        let path = format!("{}?fieldManager={MANAGER}", self.secrets(""));
        self.calls.create(&what, path.as_str(), &object).await.map(|_| ())
    }

    fn secrets(&self, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{}/secrets/{name}", self.options.names.namespace);
        path.trim_end_matches('/').to_owned()
    }

    fn configuration(&self) -> String {
        format!("the ValidatingWebhookConfiguration {}", self.options.names.configuration)
    }

    fn configurations(&self) -> String {
        let name = &self.options.names.configuration;
        format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}")
    }
}

fn secret(name: &str) -> String {
    format!("the Secret {name}")
}

fn cannot(error: &authority::CannotMake) -> Trouble {
    Trouble { doing: "making a certificate".to_owned(), said: error.to_string(), status: 0 }
}

/// Whoever may have signed what is shown now, where nothing else says so.
fn known(objects: &Objects, seen: &Seen, now: i64) -> Vec<super::state::Trusted> {
    let mut text = seen.serving.bundle.clone();
    if let Configuration::Entries(bundles) = stored::configuration(objects.configuration.as_ref()) {
        // Each begins on a line of its own.
        text.extend(bundles.into_iter().map(|bundle| format!("\n{bundle}")));
    }
    let mut known = authority::trusted(&text);
    known.retain(|trusted| trusted.to > now);
    known
}
