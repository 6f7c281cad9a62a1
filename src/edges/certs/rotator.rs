//! Looking at everything, and taking the one step that follows from it.

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::authority::Made;
use super::calls::{Calls, Change, Trouble};
use super::lease::Held as Lease;
use super::metrics::Metrics;
use super::objects::{Objects, Places, the_secret};
use super::state::seen::{Authority, Configuration, Seen, Signer, Trusted};
use super::state::watched::Watched;
use super::state::{Step, next};
use super::told::Told;
use super::{AUTHORITY, MANAGER, Options, authority, stored};

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
    places: Places,
    calls: Calls,
    /// Who may write.
    lease: Lease,
    metrics: Arc<Metrics>,
    /// The names that the certificate has to be for.
    names: Vec<String>,
    began: Instant,
    watched: Watched,
    told: Told,
    /// The version of the configuration that was read last; empty if there was none.
    version: String,
    /// What tells of a later one than this.
    change: Option<(String, Change)>,
}

impl Rotator {
    /// Nothing is looked at yet.
    pub fn new(options: Options, calls: Calls, metrics: Arc<Metrics>) -> Self {
        let mut names = authority::service_names(&options.names);
        names.extend(options.also_for.iter().cloned());
        let lease = Lease::new(options.identity.clone(), options.names.namespace.clone());
        Self {
            places: Places::of(&options.names),
            options,
            calls,
            lease,
            metrics,
            names,
            began: Instant::now(),
            watched: Watched::default(),
            told: Told::default(),
            version: String::new(),
            change: None,
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
        let holds = holds.or_else(|said| if self.lease.is_held() { Ok(true) } else { Err(said) });
        if !matches!(holds, Ok(true)) {
            self.metrics.writes.set(0);
            self.forget_the_past();
            return holds.map(|_| Pass::Standby);
        }
        self.metrics.writes.set(1);
        let (objects, seen) = self.places.look(&self.calls, &self.names, troubles).await?;
        let version = objects.configuration.as_ref().map(|o| &o["metadata"]["resourceVersion"]);
        version.and_then(Value::as_str).unwrap_or_default().clone_into(&mut self.version);
        let settle = self.options.settle;
        let held = self.watched.look(&seen, self.began.elapsed(), settle);
        self.told.measure(&self.metrics, self.calls.ahead(), &seen, &objects);
        let mut failed = vec![];
        if objects.serving.is_err() {
            // What is shown is not known: all that can be done is to have it trusted still.
            failed.extend([Step::Announce, Step::Promote]);
        }
        loop {
            let step = next(&seen, held, self.calls.now(), settle, &failed);
            match step {
                Step::Rest(rest) => {
                    self.told.say(rest, &seen, &self.options.names.configuration, troubles);
                    return Ok(Pass::Rested);
                }
                Step::Publish => {}
                _ if objects.serving.is_err() => return Ok(Pass::Rested),
                _ => {}
            }
            match self.take(step, &objects, &seen).await {
                Ok(()) => return Ok(Pass::Took),
                Err(trouble) if Step::DISPENSABLE.contains(&step) => {
                    troubles.push(trouble);
                    failed.push(step);
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Waits until the configuration is another one than was read. What cannot be known is never said
    /// to be so: whoever waits looks again some time.
    pub async fn change(&mut self) {
        if self.change.as_ref().is_none_or(|(version, _)| *version != self.version) {
            let path = self.places.changes(&self.version);
            let change = self.calls.watch(&self.places.the_configuration(), &path);
            self.change = Some((self.version.clone(), change));
        }
        let Some((_, change)) = &mut self.change else { return };
        let came = change.await;
        self.change = None;
        if let Err(trouble) = came {
            self.told.cannot_watch(&trouble);
            pending::<()>().await;
        }
    }

    /// Lets the next one begin at once.
    pub async fn end(&mut self) {
        self.lease.release(&self.calls).await;
    }

    /// While another process writes, this one sees nothing without a break.
    fn forget_the_past(&mut self) {
        self.watched = Watched::default();
        self.told = Told::default();
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
                let previous = known(objects, seen);
                self.write_authority(objects, &Authority::begin(make()?, previous)).await?;
            }
            Step::Adopt => {
                let Some(stranger) = seen.stranger.clone() else { return Ok(()) };
                self.write_authority(objects, &stored().adopt(stranger)).await?;
            }
            Step::Announce => self.write_authority(objects, &stored().announce(make()?)).await?,
            Step::Promote => self.write_authority(objects, &stored().promote()).await?,
            Step::Forget => self.write_authority(objects, &stored().forget()).await?,
            Step::Publish => {
                let Some(object) = &objects.configuration else { return Ok(()) };
                let patch = stored::publish(object, &stored().bundle());
                let path = format!("{}?fieldManager={MANAGER}", self.places.configuration());
                self.calls.patch(&self.places.the_configuration(), &path, &patch).await?;
            }
            Step::Issue => {
                let authority = stored();
                let Some(signer) = &authority.signer else { return Ok(()) };
                let life = self.options.certificate_life;
                let made = authority::leaf(signer, &self.names, now, life);
                let made = made.map_err(|error| cannot(&error))?;
                // What would be replaced at once is not written.
                if !is_of_use(&made, signer, &self.names, now) {
                    let said = "what was made is not for every name, or already over".to_owned();
                    return Err(Trouble { doing: MAKING.to_owned(), said, status: 0 });
                }
                if matches!(objects.serving, Ok(Some(_))) && seen.serving.leaf.is_none() {
                    tracing::warn!(
                        secret = self.options.names.certificate,
                        "the Secret holds no certificate with its key: it is replaced"
                    );
                }
                let data = stored::serving_data(made, authority.bundle());
                self.write_serving(objects, &data).await?;
            }
            Step::Show => {
                let Ok(Some(secret)) = &objects.serving else { return Ok(()) };
                let data = stored::with_bundle(secret, stored().bundle());
                self.write_serving(objects, &data).await?;
            }
            Step::Rest(_) => return Ok(()),
        }
        self.metrics.took(step);
        self.told.took();
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
        let before = objects.serving.as_ref().ok().and_then(Option::as_ref);
        self.write(before, name, "kubernetes.io/tls", data).await
    }

    async fn write(
        &self,
        before: Option<&Value>,
        name: &str,
        kind: &str,
        data: &[(&str, String)],
    ) -> Result<(), Trouble> {
        let namespace = &self.options.names.namespace;
        let (what, path) = (the_secret(name), self.places.secret(name));
        if let Some(before) = before {
            let is_fitting = before["type"] == kind || before["type"] == "Opaque";
            if before["immutable"] != true && is_fitting {
                let object = stored::with_data(before.clone(), data);
                let path = format!("{path}?fieldManager={MANAGER}");
                return self.calls.replace(&what, &path, &object).await.map(|_| ());
            }
            // Nobody can change that, and another type wants other keys.
            let metadata = &before["metadata"];
            let options = json!({"preconditions": {
                "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
            }});
            self.calls.delete(&what, &path, &options).await?;
        }
        let object = stored::secret(namespace, name, kind, data);
        let path = format!("{}?fieldManager={MANAGER}", self.places.secret(""));
        self.calls.create(&what, &path, &object).await.map(|_| ())
    }
}

const MAKING: &str = "making a certificate";

fn is_of_use(made: &Made, signer: &Signer, names: &[String], now: i64) -> bool {
    let by = std::iter::once(&signer.certificate);
    let read = authority::served(&made.certificate, &made.key, names, by);
    read.is_some_and(|read| read.by.is_some() && read.names && read.to > now)
}

fn cannot(error: &authority::CannotMake) -> Trouble {
    Trouble { doing: MAKING.to_owned(), said: error.to_string(), status: 0 }
}

/// Whoever may have signed what is shown now, where nothing else says so.
fn known(objects: &Objects, seen: &Seen) -> Vec<Trusted> {
    let mut text = seen.serving.bundle.clone() + "\n";
    text += &objects.authority.as_ref().map(stored::traces).unwrap_or_default();
    if let Configuration::Entries(bundles) = stored::configuration(objects.configuration.as_ref()) {
        // Each begins on a line of its own.
        text.extend(bundles.into_iter().map(|bundle| format!("\n{bundle}")));
    }
    authority::trusted(&text)
}
