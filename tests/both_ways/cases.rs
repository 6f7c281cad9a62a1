//! Every case of every committed test file, both ways.

use std::collections::BTreeMap;
use std::sync::Arc;

use jobshape::core::judge::{Shapes, VerdictKind};
use jobshape::core::shape::Shape;
use jobshape::core::shape::document::Operation;
use jobshape::core::shape::rule::Action;
use jobshape::edges::suites::{self, LoadedSuite};
use jobshape::formats::report::snippet::Style;
use jobshape::formats::suite::{Built, Outcome, Ready, Suite};

use super::refusal::Spoken;
use super::webhook::{changed, serve};
use crate::apiserver::{self, Cluster, Identity, Namespace, Probe, Session};

/// Where the committed test files are.
const COMMITTED: [&str; 2] = ["rules", "docs/examples"];

/// The system that the README is about.
const NAMESPACE: &str = "pm-agent";

#[tokio::test]
async fn a_real_server_says_of_every_case_what_the_offline_test_says() {
    let loaded = suites::load(&COMMITTED.map(str::to_owned), None, Style::Plain);
    let loaded = loaded.map_err(|reports| reports.join("\n")).unwrap();
    let cluster = apiserver::shared().await;
    let shapes = enforced(&loaded);
    let webhook = serve(cluster, shapes.clone());
    let mut namespaces = BTreeMap::new();
    for shape in shapes.all() {
        for name in &shape.namespaces {
            namespaces.insert(name.clone(), cluster.exact_namespace(name).await.unwrap());
        }
    }
    let governed = &namespaces[NAMESPACE];
    let dispatcher = Identity::service_account(NAMESPACE, NAMESPACE);
    governed.allow_jobs(&dispatcher).await.unwrap();
    let template = template(&shapes);
    let tampered = changed(template.clone(), "/spec/template/spec/hostNetwork", true.into());
    let probe = Probe { identity: &dispatcher, namespace: NAMESPACE, job: &tampered };
    let printed = webhook.configuration.as_deref().unwrap();
    let installed = cluster.install_verbatim(printed, &probe).await.unwrap();
    let shape = shapes.of_namespace(NAMESPACE).unwrap();
    Spoken::read(&installed.first_refusal, shape).unwrap();

    let mut mismatches = vec![];
    let mut compared = 0;
    for one in &loaded {
        let session = requester(cluster, &one.suite, &one.shapes, &namespaces).await;
        let ready = Ready::new(&one.suite, &one.shapes, one.base.clone()).unwrap();
        let mut compare = async |name: &str, built: &Built| {
            compared += 1;
            let offline = ready.judge(built, false);
            if let Err(why) = agree(&session, built, &offline, &shapes).await {
                mismatches.push(format!("{}, {name}: {why}", one.source.name));
            }
        };
        compare("the base", &ready.base()).await;
        for case in &one.suite.cases {
            assert!(!case.as_written || all_enforce(one), "{}: serve it as written", case.name);
            assert_eq!(case.operation, Operation::Create, "{}: send it as a PUT", case.name);
            compare(&case.name, &ready.build(case).unwrap()).await;
        }
    }
    assert!(compared > 30 + loaded.len(), "only {compared} cases are committed");
    assert!(
        mismatches.is_empty(),
        "{} of {compared} cases differ between offline and server:\n\n{}",
        mismatches.len(),
        mismatches.join("\n\n")
    );

    // The one Job that may be, for real; last, because a second of its name is none.
    let session = cluster.session(&dispatcher).await.unwrap();
    let created = session.create_job(NAMESPACE, &template).await.unwrap();
    assert_eq!(created.warnings, Vec::<String>::new());
    let pods = governed.wait_for("v1", "pods", |pods| !pods.is_empty()).await.unwrap();
    let owner = &pods[0]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], created.object["metadata"]["uid"]);
}

/// The shapes of all test files together, every rule as Enforce, as the offline test has them.
fn enforced(loaded: &[LoadedSuite]) -> Shapes {
    let mut all: BTreeMap<String, Shape> = BTreeMap::new();
    for shape in loaded.iter().flat_map(|one| &one.shapes) {
        let mut shape = shape.clone();
        shape.rules.iter_mut().for_each(|rule| rule.action = Action::Enforce);
        // Two test files may be about the same shape.
        all.insert(shape.digest.clone(), shape);
    }
    Shapes::new(all.into_values().collect()).unwrap()
}

fn all_enforce(one: &LoadedSuite) -> bool {
    one.shapes.iter().flat_map(|shape| &shape.rules).all(|rule| rule.action == Action::Enforce)
}

fn template(shapes: &Shapes) -> serde_json::Value {
    shapes.of_namespace(NAMESPACE).unwrap().fill(&[]).unwrap().to_json()
}

/// Whoever the test file says that it is, with permission to create Jobs there and nothing else.
async fn requester(
    cluster: &Cluster,
    suite: &Suite,
    shapes: &[Shape],
    namespaces: &BTreeMap<String, Namespace<'_>>,
) -> Session {
    let user = suite.request.user.as_deref().unwrap_or("dispatcher");
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let identity = match account {
        Some((namespace, name)) => Identity::service_account(namespace, name),
        None => {
            let groups: Vec<&str> = suite.request.groups.iter().map(String::as_str).collect();
            Identity::user(user, &groups)
        }
    };
    for name in shapes.iter().flat_map(|shape| &shape.namespaces) {
        namespaces[name].allow_jobs(&identity).await.unwrap();
    }
    cluster.session(&identity).await.unwrap()
}

/// Whether the server says the same, and if not, how it differs.
async fn agree(
    session: &Session,
    built: &Built,
    offline: &Outcome,
    shapes: &Shapes,
) -> Result<(), String> {
    let shape: &Arc<Shape> = shapes.of_namespace(&built.namespace).ok_or("no shape governs it")?;
    let answer = session.dry_run_job(&built.namespace, &built.job).await;
    match (offline.verdict, answer) {
        (VerdictKind::Allow, Ok(_)) => Ok(()),
        (VerdictKind::Deny, Err(refusal)) => {
            let spoken = Spoken::read(&refusal, shape)?;
            let rules = spoken.rules();
            // Only as many findings as fit are sent.
            if spoken.more == 0 && rules != offline.rules {
                return Err(format!("offline {:?}, server {rules:?}", offline.rules));
            }
            places(&spoken, offline)
        }
        (verdict, Ok(_)) => Err(format!("offline {}, the server admits it", verdict.word())),
        (verdict, Err(refusal)) => Err(format!("offline {}, server: {refusal}", verdict.word())),
    }
}

/// What an absent field says offline that the server fills in before the webhook is asked.
const FILLED_IN: &str = ", and the server fills in ";

/// What is looked for only in a Job that has a uid, so in none that stands in a file.
const GENERATED: &str = ": the label that the server generates is missing";

/// The findings, in order, to the last letter; apart from what a Job in a file cannot have. There a
/// default that is missing is one finding, and on the server what it lacks is.
fn places(spoken: &Spoken, offline: &Outcome) -> Result<(), String> {
    let mut server = spoken.findings.iter().map(|(_, text)| text.as_str()).peekable();
    let differs = || {
        Err(format!(
            "the places or texts differ\n  offline {:#?}\n  server {:#?}\n  and {} more",
            offline.findings, spoken.findings, spoken.more
        ))
    };
    for (path, message) in &offline.findings {
        if server.next_if(|text| **text == *format!("{path}: {message}")).is_some() {
            continue;
        }
        let below = |text: &&str| {
            let rest = text.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.starts_with([':', '.', '[']))
        };
        let filled_in = message.contains(FILLED_IN) && server.next_if(below).is_some();
        while filled_in && server.next_if(below).is_some() {}
        // Only as many as fit are sent.
        let not_sent = spoken.more > 0 && server.peek().is_none();
        if !filled_in && !not_sent {
            return differs();
        }
    }
    if server.all(|text| text.contains(GENERATED)) { Ok(()) } else { differs() }
}
