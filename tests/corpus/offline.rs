//! The objects of the corpus as they stand in their files, judged offline.

use std::collections::BTreeMap;

use jobshape::core::judge::judge_one;
use jobshape::core::tree::Node;

use super::objects::corpus;
use super::said;

/// Why a shape with such a template is refused, each with words of its error: no server that is
/// supported could admit the object either.
const NO_TEMPLATE: &[(&str, &str)] = &[
    ("an API version that is gone", "a template is a Job or a CronJob of `batch/v1`"),
    ("a namespace that can have no such name", "is no namespace"),
    ("a list where the API has a map, or the other way round", "the API has a list here"),
];

#[test]
fn every_object_is_admitted_by_its_own_shape() {
    let Some(corpus) = corpus() else { return };
    let (mut refused, mut wrong, mut agreed) = (BTreeMap::new(), vec![], 0);
    for object in &corpus.objects {
        let place = object.place();
        match object.shape(object.namespace()) {
            Ok(shape) => {
                let node = Node::from_json(&object.value);
                let judged = judge_one(&shape, shape.first(), &node, object.namespace());
                // Stored by a server before 1.27, which generated fewer labels; no other takes it.
                let stored_long_ago = judged.findings.iter().all(|found| {
                    found.path == "spec.selector"
                        || found.path.starts_with("spec.template.metadata.labels[batch.")
                });
                match judged.count {
                    0 => agreed += 1,
                    _ if stored_long_ago => {
                        *refused.entry("what an old server generated").or_insert(0) += 1;
                    }
                    _ => wrong.push(format!("{place}: {}", said(&judged))),
                }
            }
            Err(mistakes) => {
                let said = mistakes[0].to_string();
                match NO_TEMPLATE.iter().find(|(_, words)| said.contains(words)) {
                    Some((why, _)) => *refused.entry(*why).or_insert(0) += 1,
                    None => wrong.push(format!("{place}: {said}")),
                }
            }
        }
    }
    println!("{} files, {agreed} objects agreed, not admitted: {refused:?}", corpus.files);
    println!("not read: {:?}", corpus.unread);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(agreed > corpus.files, "most of them can be a template");
}
