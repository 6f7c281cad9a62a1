//! Whatever bytes come: an answer, that is JSON under the request's uid whenever it has one.

use std::sync::OnceLock;

use jobshape::core::judge::Shapes;
use jobshape::core::tree::{Node, Value};
use jobshape::formats::json::{Duplicates, Skip, read};
use jobshape::formats::review::{Answer, Entrance, answer};

use super::same::{self, Order};
use super::{job, together};

/// The shape of the target `job`: the requests of the seeds are for it.
fn shapes() -> &'static Shapes {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    SHAPES.get_or_init(|| together(job::shapes()))
}

/// Checks one body.
///
/// # Panics
/// If an answer is wrong.
pub fn check(data: &[u8]) {
    let tree = std::str::from_utf8(data)
        .ok()
        .and_then(|text| read(text, Skip::Nothing, Duplicates::Refuse).ok());
    let uid = tree.as_ref().and_then(uid_of);
    for entrance in [Entrance::Enforce, Entrance::Audit] {
        let first = answer(shapes(), entrance, data);
        valid(&first, entrance, uid);
        let again = answer(shapes(), entrance, data);
        assert_eq!((first.http, &first.body), (again.http, &again.body), "the same bytes");
        let Some(tree) = tree.as_ref().filter(|tree| matches!(tree.value, Value::Map(_))) else {
            continue;
        };
        for order in [Order::Kept, Order::Reversed, Order::Turned] {
            let other = answer(shapes(), entrance, same::json(tree, order).as_bytes());
            assert_eq!(said(&first), said(&other), "keys {order:?}");
        }
    }
}

/// The uid of a body in which no key stands twice.
fn uid_of<'t>(tree: &'t Node<'_>) -> Option<&'t str> {
    tree.get("request")?.get("uid")?.as_str().filter(|uid| !uid.is_empty())
}

/// What does not depend on the order of keys.
fn said(answer: &Answer) -> (u16, &str, &str, bool, usize) {
    let record = &answer.record;
    (answer.http, &record.uid, record.verdict, record.allowed, record.findings)
}

fn valid(answer: &Answer, entrance: Entrance, uid: Option<&str>) {
    if let Some(uid) = uid {
        assert_eq!((answer.http, answer.record.uid.as_str()), (200, uid));
    }
    if answer.http != 200 {
        assert_eq!((answer.http, answer.record.allowed), (400, false));
        assert!(answer.record.uid.is_empty(), "a request that has a uid gets its answer");
        return;
    }
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    let response = &body["response"];
    assert_eq!(body["kind"], "AdmissionReview");
    assert_eq!(response["uid"], answer.record.uid.as_str());
    assert!(!answer.record.uid.is_empty());
    assert_eq!(response["allowed"], answer.record.allowed);
    let undecided = answer.record.verdict == "error";
    assert!(!undecided || answer.record.allowed == (entrance == Entrance::Audit));
    assert!(response["allowed"] == true || response["status"]["code"].is_u64());
}
