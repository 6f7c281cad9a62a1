//! The objects of the corpus on a real API server: each is admitted by its own shape, so is what the
//! server stores of it, and a change of one place gets the same verdict here and there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jobshape::core::changes::{Change, Random, single};
use jobshape::core::judge::{Findings, Shapes, judge_one};
use jobshape::core::kubernetes::api::Api;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use jobshape::formats::review::{Answer, Entrance, answer};
use serde_json::{Value, json};

use super::objects::{Corpus, Object, corpus, known};
use super::said;
use super::table::Agreement;
use crate::apiserver::{
    self, Cluster, ControlPlane, Identity, Namespace, Probe, Session, versions,
};
use crate::both_ways::asked::unseen;
use crate::both_ways::refusal::Spoken;
use crate::both_ways::webhook::{configuration, job, shape};
use crate::matrix::measure::{Sending, for_each, holds_dropped, sample};
use crate::matrix::normal::{difference, normal};
use crate::matrix::{number, server_api};
use crate::serve::start;

/// How many accepted changes of an object are compared, and of how many objects the ordinary run
/// does so.
const CHANGES: usize = 20;
const QUICK: (usize, usize) = (90, 3);

/// A change that hardly any object takes is not looked for without end.
const TRIES: usize = 5;

/// The shapes of the objects. Which of them a request is for, its field manager says: one webhook
/// serves all of them in one namespace.
static SHAPES: Mutex<Option<HashMap<String, Shapes>>> = Mutex::new(None);

/// Decides by the shape that the request names. Who names none is asking what the server makes of
/// an object, and is not judged.
fn decide(shapes: &Shapes, entrance: Entrance, body: &[u8]) -> Answer {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    let request = &review["request"];
    let manager = request["options"]["fieldManager"].as_str().unwrap_or_default();
    if manager == "unseen" {
        return unseen(request);
    }
    let all = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    answer(all.as_ref().and_then(|all| all.get(manager)).unwrap_or(shapes), entrance, body)
}

/// Has requests of this field manager decided by these shapes.
fn serve(manager: &str, shapes: Shapes) {
    let mut all = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default().insert(manager.to_owned(), shapes);
}

struct Trial<'t> {
    namespace: &'t Namespace<'t>,
    session: Session,
    api: &'static Api,
    changes: usize,
    tally: Mutex<Agreement>,
}

/// Compares so many changes of each of these objects.
async fn agreement(
    cluster: &Cluster,
    corpus: &Corpus,
    objects: &[Object],
    changes: usize,
) -> Agreement {
    let namespace = cluster.namespace("corpus").await.unwrap();
    let other = shape(&namespace.name, "  - {name: everything}");
    let webhook = start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        decide,
        ..Options::new(served(Shapes::new(vec![other]).unwrap()))
    });
    let refused = job("refused");
    let probe = Probe { identity: &Identity::Admin, namespace: &namespace.name, job: &refused };
    let configuration = configuration(&webhook);
    let _installed = cluster.install_webhook(&configuration, &[&namespace], &probe).await.unwrap();
    let trial = Trial {
        namespace: &namespace,
        session: cluster.session(&Identity::Admin).await.unwrap(),
        api: server_api(cluster).await,
        changes,
        tally: Mutex::new(Agreement::of(corpus, cluster.version().await.unwrap())),
    };
    let numbered: Vec<(usize, &Object)> = objects.iter().enumerate().collect();
    for_each(&numbered, async |(index, object)| trial.object(*index, object).await).await;
    trial.tally.into_inner().unwrap()
}

impl Trial<'_> {
    fn note(&self, note: impl FnOnce(&mut Agreement)) {
        note(&mut self.tally.lock().unwrap());
    }

    /// The way to ask for an object of this kind and version, under a field manager.
    fn sending(&self, object: &Value, manager: &str) -> Sending {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let kind = if object["kind"] == "CronJob" { "cronjobs" } else { "jobs" };
        let path = self.namespace.path(version, kind);
        let path = format!("{path}?dryRun=All&fieldManager={manager}");
        Sending { session: self.session.clone(), path }
    }

    async fn object(&self, index: usize, object: &Object) {
        let place = object.place();
        // In whichever namespace it says; here it is another.
        let mut object = object.clone();
        if object.value["metadata"]["namespace"].is_string() {
            object.value["metadata"]["namespace"] = json!(self.namespace.name);
        }
        // What this server takes out no Job can have there: the template is made without it.
        let known = known(self.api, &object.value);
        let dropped = known != object.value;
        object.value = known;
        let manager = format!("{}-{index}", self.namespace.name);
        let unseen = self.sending(&object.value, "unseen");
        let judged = self.sending(&object.value, &manager);
        let stored = match unseen.send(&object.value).await {
            Ok(accepted) => accepted.object,
            Err(refusal) => return self.note(|tally| tally.rejected(&object, &refusal.message)),
        };
        if dropped {
            self.note(|tally| tally.dropped(&object));
        }
        let shape = match object.shape(&self.namespace.name) {
            Ok(shape) => shape,
            Err(mistakes) => {
                let said = mistakes[0].to_string();
                return self.note(|tally| tally.wrong(&place, &format!("no template: {said}")));
            }
        };
        serve(&manager, Shapes::new(vec![shape.clone()]).unwrap());

        let offline = self.judge(&shape, &object.value);
        let again = self.judge(&shape, &stored);
        let online = judged.send(&object.value).await;
        if let Err(refusal) = &online {
            self.note(|tally| tally.wrong(&place, &format!("itself: {refusal}")));
        }
        for (what, judged) in [("itself, offline", &offline), ("as it is stored", &again)] {
            if judged.count > 0 {
                self.note(|tally| tally.wrong(&place, &format!("{what}: {}", said(judged))));
            }
        }
        if online.is_ok() && offline.count + again.count == 0 {
            self.note(|tally| tally.agreed(&object));
        }

        let seed = number("JOBSHAPE_SEED").unwrap_or(1) * 1_000_003 + index;
        let mut random = Random::new(seed as u64);
        // A seed that differs little gives numbers that do, at first.
        (0..8).for_each(|_| _ = random.below(2));
        let all = sample(single(self.api, &object.value), self.changes * TRIES, &mut random);
        let stored = normal(&stored);
        let mut accepted = 0;
        for change in all {
            if accepted == self.changes {
                break;
            }
            let changed = change.apply(&object.value);
            let Ok(answer) = unseen.send(&changed).await else {
                self.note(|tally| tally.invalid += 1);
                continue;
            };
            accepted += 1;
            let now = normal(&answer.object);
            let differs = (now != stored).then(|| difference(&stored, &now));
            let online = match judged.send(&changed).await {
                Ok(_) => None,
                Err(refusal) => match Spoken::read(&refusal, &shape) {
                    Ok(_) => Some(refusal.message),
                    Err(why) => {
                        let what = format!("{}: {why}", change.describe());
                        self.note(|tally| tally.wrong(&place, &what));
                        continue;
                    }
                },
            };
            let offline = self.judge(&shape, &changed);
            self.note(|tally| {
                self.compare(tally, &place, &change, &changed, differs, online, &offline);
            });
        }
    }

    fn judge(&self, shape: &Shape, object: &Value) -> Findings {
        judge_one(shape, shape.first(), &Node::from_json(object), &self.namespace.name)
    }

    #[allow(clippy::too_many_arguments, reason = "one sentence")]
    fn compare(
        &self,
        tally: &mut Agreement,
        place: &str,
        change: &Change,
        changed: &Value,
        differs: Option<String>,
        online: Option<String>,
        offline: &Findings,
    ) {
        let what = change.describe();
        match (&differs, &online) {
            (Some(difference), None) => {
                return tally
                    .wrong(place, &format!("{what}: ADMITTED with an effect: {difference}"));
            }
            (None, Some(said)) => {
                return tally.wrong(place, &format!("{what}: REFUSED without an effect: {said}"));
            }
            (Some(_), Some(_)) => tally.effective += 1,
            (None, None) => tally.ineffective += 1,
        }
        let admitted = online.is_none();
        if admitted == (offline.count == 0) {
        } else if admitted && holds_dropped(self.api, change, changed) {
            // What the server takes out before anybody is asked stands in the file all the same.
            tally.only_offline += 1;
        } else {
            tally.wrong(
                place,
                &format!("{what}: admitted online: {admitted}, offline: {}", said(offline)),
            );
        }
    }
}

/// Some objects, some changes of each.
#[tokio::test]
async fn some_objects_get_the_same_verdict_on_and_offline() {
    let Some(corpus) = corpus() else { return };
    let cluster = apiserver::shared().await;
    let mut random = Random::new(number("JOBSHAPE_SEED").unwrap_or(1) as u64);
    let some = sample(corpus.objects.clone(), QUICK.0, &mut random);
    let measured = agreement(cluster, &corpus, &some, QUICK.1).await;
    measured.print();
    measured.check();
    assert!(measured.effective > QUICK.0 && measured.ineffective > 10, "worth something");
}

/// All of them, on every release: `make matrix`.
#[tokio::test]
#[ignore = "takes minutes: make matrix"]
async fn on_every_release() {
    let Some(corpus) = corpus() else { return };
    let mut all = vec![];
    for version in versions() {
        let options = apiserver::Options { version, controllers: false, ..Default::default() };
        let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
        let measured = agreement(&cluster, &corpus, &corpus.objects, CHANGES).await;
        measured.print();
        all.push(measured);
    }
    eprintln!("{}", super::table::readings());
    all.iter().for_each(Agreement::check);
    if versions() == apiserver::VERSIONS {
        super::table::write(&all);
    }
}
