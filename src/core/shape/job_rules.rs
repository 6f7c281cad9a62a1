//! What the server generates for a Job of this template, and the places where that is looked at:
//! labels, selector, name, and the two spellings of the service account.
//!
//! Source: `pkg/registry/batch/job/strategy.go` (generated labels and selector),
//! `staging/src/k8s.io/apiserver/pkg/storage/names/generate.go` (names),
//! `pkg/apis/core/v1/conversion.go` (serviceAccount), all v1.36.3.

use std::borrow::Cow;

use crate::core::kubernetes::api::Api;
use crate::core::mistake::Mistake;
use crate::core::shape::compile::{Compiler, Place};
use crate::core::shape::compiled::{Compiled, Name, NodeId, Want};
use crate::core::shape::cron_job::{self, LONGEST_NAME};
use crate::core::shape::template::Of;
use crate::core::tree::{Node, Value};

/// The labels that the server generates in the Pod template, and copies nowhere else by itself.
/// The first two hold the Job's name, the others its uid.
pub const GENERATED_LABELS: [&str; 4] = [
    "job-name",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
];

/// The key of the generated selector.
pub const SELECTOR_LABEL: &str = "batch.kubernetes.io/controller-uid";

/// Nodes of the compiled tree that need more than a comparison.
#[derive(Debug, Clone, Default)]
pub struct Generated {
    /// Whether the server generates labels and selector: not with `manualSelector: true`.
    pub labels: bool,
    /// Whether the template has `generateName` and no name.
    pub name: bool,
    /// Whether the template names a namespace; one without takes the request's.
    pub namespace: bool,
    /// Whether the template has no Job labels: the compiled ones are a copy of its Pod labels.
    pub labels_copied: bool,
    /// `metadata`.
    pub metadata: NodeId,
    /// `spec`.
    pub spec: NodeId,
    /// `spec.template.metadata`.
    pub pod_metadata: NodeId,
    /// `spec.template.spec`.
    pub pod_spec: NodeId,
}

impl Default for NodeId {
    fn default() -> Self {
        Compiled::ROOT
    }
}

/// The template as it is compiled: without what only the server writes, and with the service
/// account under its one name.
#[must_use]
pub fn canonical_template(of: Of, template: Node<'static>) -> Node<'static> {
    let mut template = if of == Of::Child { cron_job::child(&template) } else { template };
    remove(&mut template, |key| Api::get().is_server_owned("Job", key));
    if let Some(metadata) = child_mut(&mut template, "metadata") {
        remove(metadata, |key| Api::get().is_server_owned("Job.metadata", key));
    }
    let pod = to_pod_template(of).iter().try_fold(&mut template, |at, key| child_mut(at, key));
    if let Some(pod) = pod.and_then(|pod| child_mut(pod, "spec")) {
        let named =
            pod.get("serviceAccountName").and_then(Node::as_str).is_some_and(|t| !t.is_empty());
        if named {
            remove(pod, |key| key == "serviceAccount");
        } else {
            remove(pod, |key| key == "serviceAccountName");
            if let Value::Map(entries) = &mut pod.value
                && let Some(entry) = entries.iter_mut().find(|e| e.key == "serviceAccount")
            {
                entry.key = Cow::Borrowed("serviceAccountName");
            }
        }
    }
    template
}

/// The way to the Pod template.
fn to_pod_template(of: Of) -> &'static [&'static str] {
    match of {
        Of::Job | Of::Child => &["spec", "template"],
        Of::CronJob => &["spec", "jobTemplate", "spec", "template"],
    }
}

fn child_mut<'n>(node: &'n mut Node<'static>, key: &str) -> Option<&'n mut Node<'static>> {
    match &mut node.value {
        Value::Map(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
        _ => None,
    }
}

fn remove(node: &mut Node<'static>, unwanted: impl Fn(&str) -> bool) {
    if let Value::Map(entries) = &mut node.value {
        entries.retain(|e| !unwanted(&e.key));
    }
}

impl Compiler<'_> {
    /// Finds the special places of the compiled template, and gives it the labels that the server
    /// would copy.
    pub fn generated(&mut self, of: Of, template: &Node<'_>) -> Generated {
        let spec = template.get("spec");
        let manual =
            spec.and_then(|s| s.get("manualSelector")).and_then(Node::as_bool) == Some(true);
        // The server generates nothing for a CronJob, and nothing inside of it.
        let labels = of != Of::CronJob && !manual;
        let pod_labels = spec
            .and_then(|s| s.get("template"))
            .and_then(|t| t.get("metadata"))
            .and_then(|m| m.get("labels"));
        let metadata_node = template.get("metadata");
        let job_labels = metadata_node.and_then(|m| m.get("labels"));
        if labels {
            self.refuse_generated(spec, pod_labels, job_labels);
        }
        let metadata = self.hold(Compiled::ROOT, "metadata");
        let spec_id = self.hold(Compiled::ROOT, "spec");
        let pod = to_pod_template(of).iter().fold(Compiled::ROOT, |at, key| self.hold(at, key));
        let pod_metadata = self.hold(pod, "metadata");
        let pod_spec = self.hold(pod, "spec");
        let has_none = job_labels.is_none_or(|l| l.entries().is_empty());
        let labels_copied = of != Of::CronJob && has_none;
        if labels_copied
            && let Some(pod_labels) = pod_labels
            && let Some(field) = self.api.field(self.tree.node(metadata).kind, "labels")
        {
            let copy = self.node(pod_labels, Place::field(metadata, field));
            self.tree.node_mut(metadata).children.push(("labels".to_owned(), copy));
        }
        // Looked at whether the template has labels or not: the server generates some.
        self.hold_map(metadata, "labels");
        self.hold_map(pod_metadata, "labels");
        if of == Of::Child {
            self.hold_map(metadata, "annotations");
        }
        let has = |key: &str| {
            metadata_node
                .and_then(|m| m.get(key))
                .and_then(Node::as_str)
                .is_some_and(|t| !t.is_empty())
        };
        if of == Of::CronJob {
            self.check_name(template, has("name"));
        }
        Generated {
            labels,
            name: has("generateName") && !has("name"),
            namespace: has("namespace"),
            labels_copied,
            metadata,
            spec: spec_id,
            pod_metadata,
            pod_spec,
        }
    }

    /// The names of a CronJob's Jobs are made from its own.
    fn check_name(&mut self, template: &Node<'_>, has_name: bool) {
        let metadata = template.get("metadata");
        let name = metadata.and_then(|m| m.get("name"));
        let at = name.or(metadata).map_or(template.at, |node| node.at);
        let mistake = if !has_name {
            Mistake::new(at, "a CronJob template has a name: those of its Jobs are made from it")
                .help("write `metadata.name`; `generateName` makes another CronJob each time")
        } else if name.and_then(Node::as_str).is_some_and(|name| name.len() > LONGEST_NAME) {
            Mistake::new(at, format!("the name of a CronJob has at most {LONGEST_NAME} characters"))
                .help("the controller adds eleven for each of its Jobs")
        } else {
            return;
        };
        self.mistakes.push(mistake.source(self.source));
    }

    /// The child of a struct that the template may lack, made as an empty struct if so.
    fn hold(&mut self, parent: NodeId, key: &str) -> NodeId {
        if let Some(child) = self.tree.child(parent, key) {
            return child;
        }
        let place = match self.api.field(self.tree.node(parent).kind, key) {
            Some(field) => Place::field(parent, field),
            None => Place::entry(
                parent,
                Name::Key(key.to_owned()),
                crate::core::kubernetes::api::Kind::Unknown,
                false,
            ),
        };
        let child = self.empty(&place, Want::Struct, crate::core::tree::NOWHERE);
        self.tree.node_mut(parent).children.push((key.to_owned(), child));
        child
    }

    fn hold_map(&mut self, metadata: NodeId, key: &str) {
        if self.tree.child(metadata, key).is_none()
            && let Some(field) = self.api.field(self.tree.node(metadata).kind, key)
        {
            let map = self.empty(
                &Place::field(metadata, field),
                Want::Nothing,
                crate::core::tree::NOWHERE,
            );
            self.tree.node_mut(metadata).children.push((key.to_owned(), map));
        }
    }

    fn refuse_generated(
        &mut self,
        spec: Option<&Node<'_>>,
        pod: Option<&Node<'_>>,
        job: Option<&Node<'_>>,
    ) {
        let source = self.source;
        if let Some(selector) = spec.and_then(|s| s.get("selector"))
            && !matches!(selector.value, Value::Null)
        {
            self.mistakes.push(
                Mistake::new(selector.at, "the server generates the selector of a Job")
                    .help("leave it out, or set `manualSelector: true`")
                    .source(source),
            );
        }
        for entry in [pod, job].into_iter().flatten().flat_map(|labels| labels.entries()) {
            if GENERATED_LABELS.contains(&&*entry.key) {
                self.mistakes.push(
                    Mistake::new(
                        entry.key_at,
                        format!("the server generates the label `{}`", entry.key),
                    )
                    .help("leave it out: it is checked by itself")
                    .source(source),
                );
            }
        }
    }
}

/// Whether `name` is what the server makes of a `generateName`: the prefix cut to 58 bytes, then
/// five characters.
#[must_use]
pub fn is_generated_name(name: &str, prefix: &str) -> bool {
    let mut end = prefix.len().min(58);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    name.strip_prefix(&prefix[..end]).is_some_and(|suffix| {
        suffix.len() == 5 && suffix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}
