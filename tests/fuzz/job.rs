//! Whatever is done to a Job that a shape admits: the verdict does not depend on the order of its
//! keys, and what would be stored as another Job is refused.

use std::sync::OnceLock;

use jobshape::core::judge::Shapes;
use jobshape::core::kubernetes::api::Api;
use jobshape::core::kubernetes::stored::with_defaults;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use serde_json::Value;

use super::edits::edited;
use super::normal::normal;
use super::same::{self, Order};
use super::{ask, filled, load, review_of, together};

/// A shape with variables of every type, `optional`, `unpinned` and rules of every action.
const OPEN: &str = include_str!("open.yaml");
/// A Job of everything, of which nothing may differ.
const CLOSED: &str = concat!(include_str!("closed.yaml"), include_str!("../matrix/sink.yaml"));

/// Both shapes; each governs the namespace of its name.
pub fn shapes() -> Vec<Shape> {
    [OPEN, CLOSED]
        .map(|text| load(text).expect("a shape").unwrap_or_else(|all| panic!("{all:#?}")))
        .into()
}

struct Bases {
    shapes: Shapes,
    open: Value,
    closed: Value,
    /// The second as it is stored, in the form in which Jobs are compared.
    normal: Value,
}

fn bases() -> &'static Bases {
    static BASES: OnceLock<Bases> = OnceLock::new();
    BASES.get_or_init(|| {
        let shapes = shapes();
        let [open, closed] = [0, 1].map(|index| filled(shapes[index].first()).expect("examples"));
        let normal = normal(&stored(&closed));
        Bases { shapes: together(shapes), open, closed, normal }
    })
}

/// Checks the edits of [`edited`], made to both Jobs.
///
/// # Panics
/// If a verdict is wrong.
pub fn check(data: &[u8]) {
    let script = String::from_utf8_lossy(data);
    let bases = bases();
    steady(&bases.shapes, "open", &edited(bases.open.clone(), &script));
    let job = edited(bases.closed.clone(), &script);
    let admitted = steady(&bases.shapes, "closed", &job);
    if let Some(differs) = differs(&bases.normal, &job) {
        assert_eq!(admitted, !differs, "it differs: {differs}\n{script}\n{job}");
    }
}

/// Whether it is admitted, which must not depend on how it is written.
fn steady(shapes: &Shapes, namespace: &str, job: &Value) -> bool {
    let tree = Node::from_json(job);
    let [kept, reversed] = [Order::Kept, Order::Reversed]
        .map(|order| review_of("CREATE", namespace, &"Job".into(), &same::json(&tree, order)));
    let answers = [&kept, &reversed, &kept].map(|review| {
        let record = ask(shapes, review).record;
        (record.verdict, record.findings, record.allowed)
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}\n{job}");
    answers[0].2
}

/// Whether the server would store another Job; nothing where that is not known.
fn differs(base: &Value, job: &Value) -> Option<bool> {
    let maps = ["/metadata", "/spec", "/spec/template", "/spec/template/metadata"];
    if !maps.iter().all(|place| job.pointer(place).is_some_and(Value::is_object)) {
        return None;
    }
    // An object with a uid has been stored before, and what was generated then may stand in it.
    if !job["metadata"].get("uid").is_none_or(Value::is_null) {
        return None;
    }
    let job = stored(job);
    // A null that is no absent field is the zero of its type, which depends on what it is in.
    (!job.to_string().contains("null")).then(|| *base != normal(&job))
}

fn stored(job: &Value) -> Value {
    let api = Api::get();
    let mut job = with_defaults(api, api.job(), &Node::from_json(job)).to_json();
    // The server has put the request's there before it asks.
    if let Some(metadata) = job["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    // An empty selector is none: the generated one takes its place.
    if let Some(spec) = job["spec"].as_object_mut() {
        spec.retain(|key, value| key != "selector" || value != &serde_json::json!({}));
    }
    // Two spellings of one field, and the newer wins.
    if let Some(Value::Object(pod)) = job.pointer_mut("/spec/template/spec")
        && let Some(account) = pod.remove("serviceAccount")
        && account.is_string()
    {
        pod.entry("serviceAccountName").or_insert(account);
    }
    job
}
