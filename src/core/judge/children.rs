//! Jobs of a CronJob: the owner, the annotation and the form of the name, which say that the CronJob
//! controller made the Job. Anybody can write them, so they are believed when the controller's own
//! identity asks, or in an update that leaves them as they were.
//!
//! The owner's uid is any: a decision asks nobody which CronJobs there are.

use std::borrow::Cow;

use crate::core::judge::explain::Deviation;
use crate::core::judge::verdict::Request;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::cron_job::{INSTANTIATE, SCHEDULED, owner_of};
use crate::core::path::Step;
use crate::core::shape::compiled::NodeId;
use crate::core::shape::template::Of;
use crate::core::tree::{Entry, Node, Value};

/// Who says whose child a Job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Somebody.
    Nobody,
    /// The CronJob controller.
    Controller,
    /// An update that leaves it as it was.
    Kept,
}

impl Origin {
    /// By the identity of whoever asks.
    #[must_use]
    pub fn of(request: &Request<'_>) -> Origin {
        match request.requester {
            Some(requester) if requester.is_cron_job_controller() => Origin::Controller,
            _ => Origin::Nobody,
        }
    }

    /// In the update of `old` to `new`.
    #[must_use]
    pub fn kept(self, old: &Node<'_>, new: &Node<'_>) -> Origin {
        let is_same = |key: &str| value(old, key) == value(new, key);
        let annotation = |job: &Node<'_>, key: &str| annotation(job, key).map(str::to_owned);
        let same = is_same("name")
            && is_same("ownerReferences")
            && [SCHEDULED, INSTANTIATE]
                .iter()
                .all(|key| annotation(old, key) == annotation(new, key));
        if self == Origin::Nobody && same { Origin::Kept } else { self }
    }
}

fn value<'n>(job: &'n Node<'n>, key: &str) -> Option<&'n Value<'n>> {
    job.get("metadata")?.get(key).map(|node| &node.value)
}

fn annotation<'n>(job: &'n Node<'n>, key: &str) -> Option<&'n str> {
    job.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// Whether the template is that of a CronJob's Jobs.
    pub(super) fn is_child(&self) -> bool {
        self.template.of == Of::Child
    }

    /// Whether the Job is one that `kubectl create job --from` makes, and may.
    fn is_manual_run(&self) -> bool {
        self.shape.manual_runs && annotation(self.job, INSTANTIATE) == Some("manual")
    }

    /// The annotations of a child: the controller adds one to those of the template.
    pub(super) fn child_annotations(&mut self, id: NodeId, job: Option<&'j Node<'j>>) {
        let found: &'j [Entry<'j>] = job.map(Node::entries).unwrap_or_default();
        let manual = self.is_manual_run();
        let believed = self.origin != Origin::Nobody && !manual;
        let others = found.iter().filter(|entry| {
            !(entry.key == SCHEDULED && believed || entry.key == INSTANTIATE && manual)
        });
        let others: Vec<&'j Entry<'j>> = others.collect();
        self.map_of(id, job, others, false);
    }

    /// Name and owner of a child, once its metadata has been compared.
    pub(super) fn child_metadata(&mut self, metadata: NodeId, job: &'j Node<'j>) {
        let manual = self.is_manual_run();
        let references = job.get("ownerReferences").map(Node::items).unwrap_or_default();
        if self.origin == Origin::Nobody && !manual {
            self.child_deviation(metadata, "ownerReferences", &Deviation::NotTheController);
            return;
        }
        // The owner of a child whose CronJob was deleted without it is taken away.
        let orphan = self.origin == Origin::Kept && references.is_empty();
        let owner = match references {
            [reference] => self.owner(reference, manual),
            _ => None,
        };
        if owner.is_none() && !orphan {
            self.child_deviation(metadata, "ownerReferences", &Deviation::Owner { manual });
            return;
        }
        if manual {
            self.child_owner_name(metadata, owner.unwrap_or_default(), "ownerReferences", true);
            return;
        }
        let name = job.get("name").and_then(Node::as_str).unwrap_or_default();
        let scheduled = annotation(self.job, SCHEDULED);
        let by_name = scheduled.and_then(|scheduled| owner_of(name, scheduled));
        match (by_name, owner) {
            (Some(named), None) => self.child_owner_name(metadata, named, "name", manual),
            (Some(named), Some(owner)) if named == owner => {
                self.child_owner_name(metadata, owner, "ownerReferences", manual);
            }
            _ => self.child_deviation(metadata, "name", &Deviation::ChildName),
        }
    }

    /// The name of the CronJob that a reference is to, if it is as the controller writes it, or
    /// `kubectl` does.
    fn owner(&self, reference: &'j Node<'j>, manual: bool) -> Option<&'j str> {
        let text = |key: &str| reference.get(key).and_then(Node::as_str);
        let blocks = match reference.get("blockOwnerDeletion").map(|node| &node.value) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(_) => return None,
        };
        let blocks_as_written = match (self.origin, manual) {
            // The garbage collector sets it to false.
            (Origin::Kept, _) => true,
            (_, manual) => blocks != manual,
        };
        const KEYS: [&str; 6] =
            ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
        let is_whole = text("apiVersion") == Some("batch/v1")
            && text("kind") == Some("CronJob")
            && text("uid").is_some_and(|uid| !uid.is_empty())
            && reference.get("controller").and_then(Node::as_bool) == Some(true)
            && blocks_as_written
            && reference.entries().iter().all(|entry| KEYS.contains(&&*entry.key));
        text("name").filter(|name| is_whole && !name.is_empty())
    }

    /// The CronJob's name must be the template's.
    fn child_owner_name(
        &mut self,
        metadata: NodeId,
        name: &'j str,
        at: &'static str,
        manual: bool,
    ) {
        let Some(id) = self.tree.child(metadata, "name") else { return };
        let name = Node::new(Value::String(Cow::Borrowed(name)));
        if !self.takes(id, &name) {
            self.child_deviation(metadata, at, &Deviation::Owner { manual });
        }
    }

    /// A deviation of name or owner: none of the template's own nodes speaks for them.
    fn child_deviation(&mut self, metadata: NodeId, key: &'static str, deviation: &Deviation<'_>) {
        self.path.push(Step::Key(key));
        let rule = self.tree.node(metadata).claims.value;
        self.report(metadata, rule, None, deviation);
        self.path.pop();
    }
}
