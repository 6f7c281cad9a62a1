//! A CronJob template yields a second one: that of the Jobs which the CronJob controller makes of it.
//!
//! Source: `getJobFromTemplate2` in `pkg/controller/cronjob/utils.go`, v1.36.3: of
//! `jobTemplate.metadata` only labels and annotations reach the Job.

use std::borrow::Cow;

use crate::core::kubernetes::cron_job::{SCHEDULED, child_name};
use crate::core::shape::document::{Document, Optional, Placed, RuleDocument, Unpinned};
use crate::core::shape::selector::{Selector, SelectorStep};
use crate::core::tree::{Entry, NOWHERE, Node, Value};

/// Longest name of a CronJob, in bytes: the controller adds eleven to it. Source:
/// `ValidateCronJobCreate` in `pkg/apis/batch/validation/validation.go`.
pub const LONGEST_NAME: usize = 52;

/// The Job of a CronJob template, as far as the template says it; its name is the CronJob's.
#[must_use]
pub fn child(cron_job: &Node<'static>) -> Node<'static> {
    let mut metadata = vec![];
    let mut copy = |from: Option<&Node<'static>>, keys: &[&str]| {
        for entry in from.map(Node::entries).unwrap_or_default() {
            if keys.contains(&&*entry.key) {
                metadata.push(entry.clone());
            }
        }
    };
    let template = cron_job.get("spec").and_then(|spec| spec.get("jobTemplate"));
    copy(cron_job.get("metadata"), &["name", "namespace"]);
    copy(template.and_then(|template| template.get("metadata")), &["labels", "annotations"]);
    let mut job = vec![];
    for entry in cron_job.entries() {
        match &*entry.key {
            "apiVersion" => job.push(entry.clone()),
            "kind" => job.push(Entry { node: text("Job", entry.node.at), ..entry.clone() }),
            "metadata" => job.push(Entry {
                node: Node { value: Value::Map(std::mem::take(&mut metadata)), at: entry.node.at },
                ..entry.clone()
            }),
            _ => {}
        }
    }
    if let Some(template) = template {
        job.extend(template.entries().iter().filter(|entry| entry.key == "spec").cloned());
    }
    Node { value: Value::Map(job), at: cron_job.at }
}

/// Completes the filled template of a child with what the controller adds: a name, an owner and the
/// time that it was scheduled for.
pub fn complete(job: &mut Node<'_>) {
    const AT: &str = "2020-01-01T00:00:00Z";
    const UID: &str = "00000000-0000-0000-0000-000000000000";
    let Value::Map(entries) = &mut job.value else { return };
    let Some(metadata) = entries.iter_mut().find(|entry| entry.key == "metadata") else { return };
    let Value::Map(metadata) = &mut metadata.node.value else { return };
    let mut owner = String::new();
    if let Some(name) = metadata.iter_mut().find(|entry| entry.key == "name") {
        owner = name.node.as_str().unwrap_or_default().to_owned();
        if let Some(name_of_child) = child_name(&owner, AT) {
            name.node.value = Value::String(Cow::Owned(name_of_child));
        }
    }
    let reference = [
        ("apiVersion", text("batch/v1", NOWHERE)),
        ("kind", text("CronJob", NOWHERE)),
        ("name", Node::new(Value::String(Cow::Owned(owner)))),
        ("uid", text(UID, NOWHERE)),
        ("controller", Node::new(Value::Bool(true))),
        ("blockOwnerDeletion", Node::new(Value::Bool(true))),
    ];
    let reference = Value::Map(reference.into_iter().map(|(key, node)| entry(key, node)).collect());
    metadata.push(entry("ownerReferences", Node::new(Value::List(vec![Node::new(reference)]))));
    let scheduled = entry(SCHEDULED, text(AT, NOWHERE));
    match metadata.iter_mut().find(|entry| entry.key == "annotations") {
        Some(Entry { node: Node { value: Value::Map(annotations), .. }, .. }) => {
            annotations.push(scheduled);
        }
        _ => metadata.push(entry("annotations", Node::new(Value::Map(vec![scheduled])))),
    }
}

fn text(text: &'static str, at: u32) -> Node<'static> {
    Node { value: Value::String(Cow::Borrowed(text)), at }
}

fn entry<'n>(key: &'static str, node: Node<'n>) -> Entry<'n> {
    Entry { key: Cow::Borrowed(key), key_at: NOWHERE, node }
}

/// What a document about a CronJob says about its Jobs: the selectors that lead into its
/// `jobTemplate`, as they read in a Job.
#[must_use]
pub fn document_of_child(document: &Document) -> Document {
    let many = |places: &[Placed]| places.iter().filter_map(place_in_child).collect();
    let optional = |optional: &Optional| {
        Some(Optional { place: place_in_child(&optional.place)?, value: optional.value.clone() })
    };
    let unpinned = |unpinned: &Unpinned| {
        Some(Unpinned { place: place_in_child(&unpinned.place)?, reason: unpinned.reason.clone() })
    };
    let rule = |rule: &RuleDocument| RuleDocument {
        select: many(&rule.select),
        entries: many(&rule.entries),
        ..rule.clone()
    };
    let at = document.at.iter();
    Document {
        at: at.filter_map(|(id, place)| Some((*id, place_in_child(place)?))).collect(),
        optional: document.optional.iter().filter_map(optional).collect(),
        unpinned: document.unpinned.iter().filter_map(unpinned).collect(),
        rules: document.rules.iter().map(rule).collect(),
        ..document.clone()
    }
}

/// A place of a CronJob in its Jobs; nothing for what does not reach them.
fn place_in_child(place: &Placed) -> Option<Placed> {
    let name = |index: usize| match place.selector.steps.get(index) {
        Some(SelectorStep::Name(name)) => Some(name.as_str()),
        _ => None,
    };
    let steps = &place.selector.steps;
    let rest = match (name(0), name(1), name(2), name(3)) {
        // All of the Job, and more.
        _ if steps.is_empty() => &steps[..],
        (Some("spec"), None, ..) if steps.len() == 1 => &steps[1..],
        (Some("spec"), Some("jobTemplate"), None, _) if steps.len() == 2 => &steps[2..],
        (Some("spec"), Some("jobTemplate"), Some("spec"), _) => &steps[2..],
        (Some("spec"), Some("jobTemplate"), Some("metadata"), None) if steps.len() == 3 => {
            &steps[2..]
        }
        (Some("spec"), Some("jobTemplate"), Some("metadata"), Some("labels" | "annotations")) => {
            &steps[2..]
        }
        _ => return None,
    };
    let text = place.selector.text.clone();
    Some(Placed { selector: Selector { text, steps: rest.to_vec() }, at: place.at })
}
