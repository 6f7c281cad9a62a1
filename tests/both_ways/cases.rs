//! Every case of every committed test file, both ways.

use std::collections::BTreeMap;
use std::io::Write as _;

use jobshape::core::judge::Shapes;
use jobshape::core::shape::Shape;
use jobshape::core::shape::rule::Action;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use jobshape::edges::suites::{self, LoadedSuite};
use jobshape::formats::report::snippet::Style;
use jobshape::formats::suite::{Built, Case, Outcome, Ready, Server, Suite};
use serde_json::Value;

use super::asked;
use super::comparison::{agree, is_dropped, is_invalid, send};
use super::refusal::Spoken;
use super::stored::Seeder;
use super::webhook::changed;
use crate::apiserver::{self, Cluster, Identity, Namespace, Probe, Session};
use crate::serve::start;

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
    let webhook = start(Options {
        tls: Tls::Dev { host: cluster.webhook_host().to_owned() },
        listen: (cluster.webhook_bind_address(), 0).into(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        decide: asked::decide,
        ..Options::new(served(shapes.clone()))
    });
    let mut namespaces = BTreeMap::new();
    for shape in shapes.all() {
        for name in &shape.namespaces {
            namespaces.insert(name.clone(), cluster.exact_namespace(name).await.unwrap());
        }
    }
    let mut seeder = Seeder::new(cluster, &namespaces.values().collect::<Vec<_>>()).await;
    let governed = &namespaces[NAMESPACE];
    let dispatcher = Identity::service_account(NAMESPACE, NAMESPACE);
    governed.allow_jobs(&dispatcher).await.unwrap();
    let template = template(&shapes);
    let tampered = changed(template.clone(), "/spec/template/spec/hostNetwork", true.into());
    let probe = Probe { identity: &dispatcher, namespace: NAMESPACE, job: &tampered };
    let printed = webhook.configuration.as_deref().unwrap();
    let installed = cluster.install_verbatim(printed, &probe).await.unwrap();
    let shape = shapes.of_namespace(NAMESPACE).first().unwrap();
    Spoken::read(&installed.first_refusal, shape).unwrap();

    // The one Job that may be, for real, by an identity that may create Jobs and do nothing else.
    let session = cluster.session(&dispatcher).await.unwrap();
    let created = session.create_job(NAMESPACE, &template).await.unwrap();
    assert_eq!(created.warnings, Vec::<String>::new());
    let pods = governed.wait_for("v1", "pods", |pods| !pods.is_empty()).await.unwrap();
    let owner = &pods[0]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], created.object["metadata"]["uid"]);
    // Whoever is to come has the same name.
    seeder.adopt(NAMESPACE, &template);
    seeder.clear().await;

    let mut run = Run { cluster, shapes: &shapes, namespaces: &namespaces, seeder };
    let mut tables = vec![];
    let mut mismatches = vec![];
    for one in &loaded {
        let (table, found) = run.suite(one).await;
        tables.push(table);
        mismatches.extend(found);
    }
    print(&tables);
    let compared: usize = tables.iter().map(|table| table.cases).sum();
    assert!(compared > 400, "only {compared} cases are committed");
    assert!(
        mismatches.is_empty(),
        "{} of {compared} cases differ between offline and server:\n\n{}",
        mismatches.len(),
        mismatches.join("\n\n")
    );
    let committed = tables.iter().find(|table| table.file == "rules/pm-agent/tests.yaml").unwrap();
    assert!(committed.allowed + committed.denied >= 270, "{committed:?}");

    // What shows all this is the webhook: without its configuration no case passes.
    installed.remove(cluster, &probe).await.unwrap();
    for one in &loaded {
        let passed = run.passed_without_webhook(one).await;
        assert_eq!(passed, Vec::<String>::new(), "these pass and nobody asked the webhook");
    }
    run.seeder.clear().await;
}

/// What one test file holds.
#[derive(Debug, Default)]
struct Table {
    file: String,
    cases: usize,
    allowed: usize,
    denied: usize,
    invalid: usize,
    dropped: usize,
    differ: usize,
}

/// The table, past the capture of the test harness: it is what `make test` is run for.
fn print(tables: &[Table]) {
    let width = tables.iter().map(|table| table.file.len()).max().unwrap_or_default();
    let head = ["cases", "allowed", "denied", "server-invalid", "server-drops", "differ"];
    let mut text =
        format!("\n{:width$}  {}\n", "offline and on a real API server", head.join("  "));
    for table in tables {
        let numbers =
            [table.cases, table.allowed, table.denied, table.invalid, table.dropped, table.differ];
        let cells: Vec<String> = head
            .iter()
            .zip(numbers)
            .map(|(head, number)| format!("{number:>width$}", width = head.len()))
            .collect();
        text.push_str(&format!("{:width$}  {}\n", table.file, cells.join("  ")));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

struct Run<'r> {
    cluster: &'r Cluster,
    shapes: &'r Shapes,
    namespaces: &'r BTreeMap<String, Namespace<'r>>,
    seeder: Seeder,
}

impl Run<'_> {
    async fn suite(&mut self, one: &LoadedSuite) -> (Table, Vec<String>) {
        let session = requester(self.cluster, &one.suite, &one.shapes, self.namespaces).await;
        let ready = Ready::new(&one.suite, &one.shapes, &one.files).unwrap();
        let mut table = Table { file: one.source.name.clone(), ..Table::default() };
        let mut mismatches = vec![];
        for (name, built, case) in in_order(one, &ready) {
            let offline = ready.judge(&built, false);
            table.cases += 1;
            let compared = match case.and_then(|case| Some((case, case.server?))) {
                Some((case, server)) => {
                    *(match server {
                        Server::Invalid => &mut table.invalid,
                        Server::Drops => &mut table.dropped,
                    }) += 1;
                    self.unseen(&ready, case, server, &built).await
                }
                None => {
                    let denied = offline.verdict == jobshape::core::judge::VerdictKind::Deny;
                    *(if denied { &mut table.denied } else { &mut table.allowed }) += 1;
                    self.compare(&session, &built, &offline).await
                }
            };
            if let Err(why) = compared {
                table.differ += 1;
                mismatches.push(format!("{}, {name}: {why}", one.source.name));
            }
        }
        (table, mismatches)
    }

    /// Sends a case and compares what is said. The server takes it of its own accord: a case that it
    /// refuses by itself says nothing about us.
    async fn compare(
        &mut self,
        session: &Session,
        built: &Built,
        offline: &Outcome,
    ) -> Result<(), String> {
        let path = self.store(built).await;
        let unasked = send(self.seeder.session(), built, &path).await;
        if let Err(refusal) = unasked {
            return Err(format!("without the webhook the server says: {refusal}"));
        }
        agree(session, built, &path, offline, self.shapes).await
    }

    /// A case that no webhook sees as it is.
    async fn unseen(
        &mut self,
        ready: &Ready<'_>,
        case: &Case,
        server: Server,
        built: &Built,
    ) -> Result<(), String> {
        let Some(reason) = case.server_reason.as_deref() else {
            return Err("it has no `serverReason`".to_owned());
        };
        let path = self.store(built).await;
        let unasked = send(self.seeder.session(), built, &path).await;
        match server {
            Server::Invalid => is_invalid(unasked, reason),
            Server::Drops => {
                let plain = match &built.old {
                    None => ready.base(),
                    Some(old) => Built { job: old.clone(), ..built.clone() },
                };
                let plain = send(self.seeder.session(), &plain, &path).await;
                is_dropped(unasked, plain, reason)
            }
        }
    }

    /// Stores what an update replaces.
    async fn store(&mut self, built: &Built) -> String {
        match &built.old {
            Some(old) => self.seeder.store(&built.namespace, old).await,
            None => String::new(),
        }
    }

    async fn passed_without_webhook(&mut self, one: &LoadedSuite) -> Vec<String> {
        let session = requester(self.cluster, &one.suite, &one.shapes, self.namespaces).await;
        let ready = Ready::new(&one.suite, &one.shapes, &one.files).unwrap();
        let mut passed = vec![];
        for (name, built, case) in in_order(one, &ready) {
            let offline = ready.judge(&built, false);
            if case.is_none_or(|case| case.server.is_none())
                && self.compare(&session, &built, &offline).await.is_ok()
            {
                passed.push(name);
            }
        }
        passed
    }
}

/// The base and all cases; creations first, and updates of one object together.
fn in_order<'c>(one: &'c LoadedSuite, ready: &Ready<'_>) -> Vec<(String, Built, Option<&'c Case>)> {
    let mut all = vec![("the base".to_owned(), ready.base(), None)];
    for case in &one.suite.cases {
        assert!(!case.as_written || all_enforce(one), "{}: serve it as written", case.name);
        all.push((case.name.clone(), ready.build(case).unwrap(), Some(case)));
    }
    all.sort_by_key(|(_, built, _)| built.old.as_ref().map(Value::to_string));
    all
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

fn template(shapes: &Shapes) -> Value {
    shapes.of_namespace(NAMESPACE).first().unwrap().first().fill(&[]).unwrap().to_json()
}

/// Whoever the test file says that it is, with the permissions that its cases need and no others.
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
        for (verb, resource) in
            [("create", "jobs"), ("patch", "jobs"), ("create", "cronjobs"), ("patch", "cronjobs")]
        {
            namespaces[name].allow(&identity, verb, "batch", resource).await.unwrap();
        }
    }
    cluster.session(&identity).await.unwrap()
}
