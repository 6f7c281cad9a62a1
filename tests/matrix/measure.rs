//! One base, changed in every way, against one server.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use jobshape::core::changes::{Change, Random, combinations, single};
use jobshape::core::judge::{Shapes, judge_one};
use jobshape::core::kubernetes::api::Api;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use serde_json::Value;

use super::bases::Base;
use super::coverage::Coverage;
use super::normal::{difference, normal};
use super::number;
use super::table::Measured;
use crate::apiserver::{Accepted, Cluster, Identity, Method, Namespace, Probe, Refusal, Session};
use crate::both_ways::refusal::Spoken;
use crate::both_ways::webhook::{changed, configuration, serve};

/// How many requests are under way at once.
const CLIENTS: usize = 24;

/// How many changes are tried.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Of single places; all of them if nothing is said.
    pub single: Option<usize>,
    /// Of several.
    pub combined: usize,
}

/// A change that the server accepts, and whether it stores something else then.
struct Taken {
    change: Change,
    combined: bool,
    effective: bool,
    /// Where the stored forms differ, for a failure.
    difference: String,
}

/// Measures one base.
pub async fn measure(
    cluster: &Cluster,
    api: &'static Api,
    base: &Base,
    amount: Amount,
    coverage: &mut Coverage,
) -> Measured {
    let (namespace, sending) = prepare(cluster, base).await;
    let shape = (base.shape)(&namespace.name);

    // What the server makes of it, when nobody is asked.
    let stored = sending.send(&base.job).await;
    let stored = normal(&stored.unwrap_or_else(|r| panic!("{}: {r}", base.name)).object);
    let seed = u64::try_from(number("JOBSHAPE_SEED").unwrap_or(1)).unwrap();
    let mut random = Random::new(seed);
    let mut all = single(api, &base.job);
    all.extend(base.more.iter().map(|(at, value)| Change::at(at, Some(value.clone()))));
    if let Some(count) = amount.single {
        all = sample(all, count, &mut random);
    }
    let sent = all.len();
    let mut taken = learn(&sending, base, &stored, all, false, coverage, api).await;
    // Of changes that are accepted alone: of others hardly any two are.
    let accepted: Vec<Change> = taken.iter().map(|taken| taken.change.clone()).collect();
    let together = combinations(&accepted, &mut random, amount.combined);
    let sent_combined = together.len();
    let without_effect: HashSet<String> =
        taken.iter().filter(|t| !t.effective).map(|t| t.change.describe()).collect();
    taken.extend(learn(&sending, base, &stored, together, true, coverage, api).await);

    // The same once more, and now the webhook is asked.
    let webhook = serve(cluster, Shapes::new(vec![shape.clone()]).unwrap());
    let tampered = changed(base.job.clone(), "/spec/activeDeadlineSeconds", 77_777.into());
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &tampered };
    let configuration = configuration(&webhook);
    let installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    sending.send(&base.job).await.unwrap_or_else(|r| panic!("{} itself: {r}", base.name));
    let tally = Mutex::new(Measured {
        version: cluster.version().await.unwrap(),
        base: base.name,
        sent,
        combinations: sent_combined,
        ..Measured::default()
    });
    for_each(&taken, async |taken| {
        let job = taken.change.apply(&base.job);
        let answer = sending.send(&job).await;
        let seen =
            Seen { shape: &shape, namespace: &namespace.name, api, base, without: &without_effect };
        seen.count(taken, &job, answer, &mut tally.lock().unwrap());
    })
    .await;
    drop(installed);
    let mut tally = tally.into_inner().unwrap();
    if amount.single.is_none() {
        let unused = base.exceptions.iter().filter(|(place, _)| !tally.exceptions.contains(*place));
        tally.wrong.extend(unused.map(|(place, _)| format!("nothing was admitted at {place}")));
    }
    tally
}

/// Sends the single changes of a base, and notes which facts that puts to the server.
pub async fn put(cluster: &Cluster, api: &'static Api, base: &Base, coverage: &mut Coverage) {
    let (_namespace, sending) = prepare(cluster, base).await;
    let all = single(api, &base.job);
    learn(&sending, base, &Value::Null, all, false, coverage, api).await;
}

/// A namespace for a base, and the way to send Jobs there.
async fn prepare<'c>(cluster: &'c Cluster, base: &Base) -> (Namespace<'c>, Sending) {
    let namespace = match base.namespace {
        Some(name) => cluster.exact_namespace(name).await.unwrap(),
        None => cluster.namespace("matrix").await.unwrap(),
    };
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let path = format!("{}?dryRun=All", namespace.path("batch/v1", "jobs"));
    (namespace, Sending { session, path })
}

/// A way to send objects as dry runs.
pub struct Sending {
    /// Whose.
    pub session: Session,
    /// Where to.
    pub path: String,
}

impl Sending {
    /// Where a busy machine kept the webhook from being heard, nothing was said: it is asked again.
    pub async fn send(&self, job: &Value) -> Result<Accepted, Refusal> {
        let mut again = 3;
        loop {
            match self.session.submit(Method::POST, &self.path, job).await {
                Err(refusal) if again > 0 && refusal.is_failed_call() => again -= 1,
                answer => return answer,
            }
        }
    }
}

/// A sample that is the same for the same numbers.
pub fn sample<T>(mut all: Vec<T>, count: usize, random: &mut Random) -> Vec<T> {
    let count = count.min(all.len());
    for index in 0..count {
        let other = index + random.below(all.len() - index);
        all.swap(index, other);
    }
    all.truncate(count);
    all
}

/// Which of the changes the server accepts, and which of those have an effect.
async fn learn(
    sending: &Sending,
    base: &Base,
    stored: &Value,
    changes: Vec<Change>,
    combined: bool,
    coverage: &mut Coverage,
    api: &Api,
) -> Vec<Taken> {
    let taken = Mutex::new(vec![]);
    for_each(&changes, async |change| {
        let job = change.apply(&base.job);
        match sending.send(&job).await {
            Ok(accepted) => {
                let found = normal(&accepted.object);
                let effective = found != *stored;
                let difference = if effective { difference(stored, &found) } else { String::new() };
                let change = change.clone();
                taken.lock().unwrap().push(Taken { change, combined, effective, difference });
            }
            Err(refusal) => assert!(refusal.code != 429 && refusal.code != 401, "{refusal}"),
        }
    })
    .await;
    let mut taken = taken.into_inner().unwrap();
    // In the order of the changes, whoever answered first.
    taken.sort_by_key(|taken| taken.change.describe());
    if !combined {
        let accepted: HashSet<String> = taken.iter().map(|t| t.change.describe()).collect();
        for change in &changes {
            coverage.add(api, change, &base.job, accepted.contains(&change.describe()));
        }
    }
    taken
}

/// What there is to compare an answer with.
struct Seen<'a> {
    shape: &'a Shape,
    namespace: &'a str,
    api: &'a Api,
    base: &'a Base,
    /// The single changes without an effect.
    without: &'a HashSet<String>,
}

impl Seen<'_> {
    fn count(
        &self,
        taken: &Taken,
        job: &Value,
        answer: Result<Accepted, Refusal>,
        tally: &mut Measured,
    ) {
        let online = match answer {
            Ok(_) => true,
            Err(refusal) => match Spoken::read(&refusal, self.shape) {
                Ok(_) => false,
                Err(why) => {
                    tally.wrong.insert(format!("{}: {why}", taken.change.describe()));
                    return;
                }
            },
        };
        let judged =
            judge_one(self.shape, self.shape.first(), &Node::from_json(job), self.namespace);
        let offline = judged.count == 0;
        let (effective, ineffective) = if taken.combined {
            (&mut tally.combined_effective, &mut tally.combined_ineffective)
        } else {
            (&mut tally.effective, &mut tally.ineffective)
        };
        *(if taken.effective { effective } else { ineffective }) += 1;
        let exception = self.exception(&taken.change);
        match (taken.effective, online) {
            (true, true) => match exception {
                Some(place) => {
                    tally.admitted_exceptions += 1;
                    tally.exceptions.insert(place);
                }
                None => tally.admitted(&taken.change, &taken.difference),
            },
            (false, false) => tally.refused(&taken.change, &judged),
            (true, false) | (false, true) => {}
        }
        if online != offline {
            // What the server takes out before anybody is asked stands in the file all the same.
            let allowed = !taken.effective || exception.is_some();
            if online && allowed && holds_dropped(self.api, &taken.change, job) {
                tally.only_offline += 1;
            } else {
                let words = |admitted| if admitted { "admitted" } else { "refused" };
                tally.wrong.insert(format!(
                    "{}: {} offline, {} online",
                    taken.change.describe(),
                    words(offline),
                    words(online)
                ));
            }
        }
    }

    /// The exception that all of a change is within, as far as it has an effect.
    fn exception(&self, change: &Change) -> Option<&'static str> {
        let place = |place: &str| {
            self.base.exceptions.iter().map(|(at, _)| *at).find(|at| place.starts_with(at))
        };
        let parts: Vec<Change> =
            change.parts().filter(|part| !self.without.contains(&part.describe())).collect();
        let places = parts.iter().flat_map(Change::places).map(place);
        places.collect::<Option<Vec<_>>>()?.into_iter().next()
    }
}

/// Whether a change writes something that the server takes out, or that it writes itself: what a
/// client says the uid is, kind and version, which the path says too, and an owner that stands there
/// twice to the letter.
pub fn holds_dropped(api: &Api, change: &Change, job: &Value) -> bool {
    change.places().any(|place| {
        matches!(place, "/apiVersion" | "/kind" | "/metadata/uid" | "/metadata/ownerReferences")
            || super::coverage::gated_within(api, job, place)
    })
}

/// Does something for each, several at once.
pub async fn for_each<T>(all: &[T], work: impl AsyncFn(&T)) {
    let next = AtomicUsize::new(0);
    let worker = || async {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(one).await;
        }
    };
    let mut workers: Vec<_> = (0..CLIENTS).map(|_| Box::pin(worker())).collect();
    std::future::poll_fn(|context| {
        workers.retain_mut(|worker| worker.as_mut().poll(context).is_pending());
        if workers.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
