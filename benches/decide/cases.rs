//! Requests, most as a real API server sent them (`tests/reviews`), and the shapes that judge them.

use std::hint::black_box;

use jobshape::core::judge::Shapes;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::edges::shapes;
use jobshape::formats::json::{Duplicates, Skip, read};
use jobshape::formats::report::snippet::Style;
use jobshape::formats::review::{Entrance, answer};
use serde_json::{Value, json};

const CREATE: &str = include_str!("../../tests/reviews/1.36.3/job-create.json");
const REFUSED: &str = include_str!("../../tests/reviews/1.36.3/job-create-refused.json");
const UPDATE: &str = include_str!("../../tests/reviews/1.36.3/job-update-annotation.json");

/// What the committed shape leaves to kubectl.
pub const UNPINNED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A request and what becomes of it.
pub struct Case {
    pub title: &'static str,
    pub body: String,
    pub verdict: &'static str,
    pub findings: usize,
    /// How many findings an update leaves as they were.
    pub old: usize,
}

/// The cases whose share is bounded, by the names that `--run` knows.
pub const NAMES: [&str; 5] = ["create", "update", "ratchet", "refused", "ungoverned"];

/// One of [`NAMES`].
pub fn case(name: &str) -> Case {
    // An update that conforms: an annotation that nobody compares.
    // Made only where it is wanted: the counts depend on what is free in the heap.
    let update = || UPDATE.replace("example.net/note", UNPINNED);
    let of = |title, body, verdict, findings, old| Case { title, body, verdict, findings, old };
    match name {
        "create" => of("CREATE admitted", CREATE.to_owned(), "allow", 0, 0),
        "update" => of("conforming UPDATE", update(), "allow", 0, 0),
        "ratchet" => {
            let body = update().replace("\"ClusterFirst\"", "\"Default\"");
            of("UPDATE that only the ratchet admits", body, "allow", 0, 1)
        }
        "refused" => {
            // The server was sent 25.
            let smuggled = |n| format!(",{{\"name\":\"EXTRA_{n}\",\"value\":\"smuggled\"}}");
            let body = (20..25).fold(REFUSED.to_owned(), |body, n| body.replace(&smuggled(n), ""));
            of("refused with 20 findings", body, "deny", 20, 0)
        }
        "ungoverned" => {
            let body = CREATE.replace("\"namespace\":\"pm-agent\"", "\"namespace\":\"elsewhere\"");
            of("ungoverned", body, "ungoverned", 0, 0)
        }
        other => panic!("no case {other}: one of {NAMES:?}"),
    }
}

impl Case {
    /// Panics unless the case is what it says.
    pub fn assert(&self, shapes: &Shapes) {
        let record = answer(shapes, Entrance::Enforce, self.body.as_bytes()).record;
        let found = (record.verdict, record.findings, record.old_findings);
        assert_eq!(found, (self.verdict, self.findings, self.old), "{}: {record:?}", self.title);
    }
}

/// The shape that is committed in `rules`.
pub fn committed() -> Shape {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml").to_owned();
    let loaded = shapes::load(&[path], None, Style::Plain);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{}", errors.reports.concat()));
    loaded.into_iter().next().expect("one shape").shape
}

/// The committed shape and as many of the same for other namespaces that it takes.
pub fn committed_among(count: usize) -> Shapes {
    let committed = committed();
    let others = (1..count).map(|n| {
        let name = format!("other-{n}");
        Shape { namespaces: vec![name.clone()], name, ..committed.clone() }
    });
    let mut all: Vec<Shape> = others.collect();
    all.insert(count / 2, committed);
    Shapes::new(all).expect("each has a name and a namespace of its own")
}

/// The created Job, its template and its request, with so many more entries of `env`, each with a
/// value of this length.
pub fn with_env(count: usize, length: usize) -> (Shapes, String) {
    let entry = |n| json!({"name": format!("MORE_{n:06}"), "value": "x".repeat(length)});
    let more: Vec<Value> = (0..count).map(entry).collect();
    let mut template = committed().first().fill(&[]).expect("the examples fill it").to_json();
    let env = template.pointer_mut("/spec/template/spec/containers/0/env");
    env.and_then(Value::as_array_mut).expect("it has env").extend(more.iter().cloned());
    let shape = json!({
        "apiVersion": "jobshape.dev/v1alpha1", "kind": "JobShape", "metadata": {"name": "large"},
        "spec": {"match": {"namespaces": ["pm-agent"]}, "action": "Enforce", "templates": [template]},
    })
    .to_string();
    let root: Node<'_> = read(&shape, Skip::Nothing, Duplicates::Refuse).expect("it is JSON");
    let shape = Shape::load(&root, &[]).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    (Shapes::new(vec![shape]).expect("one shape"), create_with_env(&more))
}

/// The created Job with these entries behind the last of its `env`.
pub fn create_with_env(more: &[Value]) -> String {
    let last = "{\"name\":\"TMPDIR\",\"value\":\"/tmp\"}";
    let more: String = more.iter().map(|entry| format!(",{entry}")).collect();
    replaced(last, &format!("{last}{more}"))
}

/// The created Job with something replaced that stands in it.
pub fn replaced(from: &str, to: &str) -> String {
    assert!(CREATE.contains(from), "{from}");
    CREATE.replace(from, to)
}

/// A decision.
pub fn decide(shapes: &Shapes, body: &str) {
    black_box(answer(shapes, Entrance::Enforce, black_box(body.as_bytes())));
}

/// The yardstick.
pub fn parse(body: &str) {
    black_box(serde_json::from_slice::<Value>(black_box(body.as_bytes())).expect("JSON"));
}

/// The yardstick of what nobody wants.
pub fn scan(body: &str) {
    // From text, so that it shares no code with `parse`: what is called twice is not inlined.
    let scanned = serde_json::from_str::<serde::de::IgnoredAny>(black_box(body));
    black_box(scanned.expect("JSON"));
}
