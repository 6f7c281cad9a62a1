//! No input breaks it: what must hold whatever comes in, as functions of bytes.
//!
//! libFuzzer calls them through `targets/` (`make fuzz`), and the ordinary tests with the committed
//! seeds, among them every input that once broke something.
#![cfg_attr(not(test), allow(dead_code, reason = "each target calls one of them"))]

pub mod edits;
pub mod job;
#[cfg(not(test))]
#[path = "../matrix/normal.rs"]
pub mod normal;
#[cfg(test)]
mod replay;
pub mod review;
pub mod same;
pub mod shape;
pub mod yaml;

#[cfg(test)]
use crate::matrix::normal;
use jobshape::core::judge::Shapes;
use jobshape::core::mistake::Mistake;
use jobshape::core::shape::Shape;
use jobshape::core::shape::document::{KIND, template_files};
use jobshape::core::shape::template::Template;
use jobshape::core::tree::Node;
use jobshape::formats::documents::documents;
use jobshape::formats::review::{Answer, Entrance, answer};
use serde_json::{Value, json};

/// A uid of a request.
pub const UID: &str = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";

/// Who sends every request.
pub const USER: &str = "somebody";

/// The first shape of a text; what its `templateFrom` names are the documents after it. Nothing if
/// the text holds no shape, or less than it names.
pub fn load(text: &str) -> Option<Result<Shape, Vec<Mistake>>> {
    let mut roots = documents(text).filter_map(|document| Some(document.ok()?.root));
    let root = roots.find(|root| root.get("kind").and_then(Node::as_str) == Some(KIND))?;
    let files = template_files(&root).len();
    let templates: Vec<Node<'_>> = roots.take(files).collect();
    // A file that cannot be read is the caller's mistake to report.
    (templates.len() == files).then(|| Shape::load(&root, &templates))
}

/// The object that a template has to admit, with the examples of its variables.
pub fn filled(template: &Template) -> Option<Value> {
    Some(template.fill(&[]).ok()?.to_json())
}

/// These shapes and no others.
pub fn together(shapes: Vec<Shape>) -> Shapes {
    Shapes::new(shapes).expect("they go together")
}

/// What the API server sends when this object is created or updated, as text.
pub fn review_of(operation: &str, namespace: &str, kind: &Value, object: &str) -> String {
    let [operation, namespace] = [operation, namespace].map(|word| json!(word));
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{UID}",
"kind":{{"group":"batch","version":"v1","kind":{kind}}},"name":"x","namespace":{namespace},"operation":{operation},
"userInfo":{{"username":"{USER}","groups":["system:authenticated"]}},"object":{object},"oldObject":null}}}}"#
    )
}

/// The answer at the entrance that refuses what cannot be decided.
pub fn ask(shapes: &Shapes, review: &str) -> Answer {
    answer(shapes, Entrance::Enforce, review.as_bytes())
}
