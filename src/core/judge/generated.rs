//! Server-owned places: subtracted only after their values are checked, and only at the Job's own
//! metadata, selector and status.

use crate::core::judge::explain::Deviation;
use crate::core::judge::walk::{EMPTY_MAP, Walk};
use crate::core::path::Step;
use crate::core::shape::compiled::{Compiled, Name, NodeId, Want};
use crate::core::shape::job_rules::{GENERATED_LABELS, SELECTOR_LABEL, is_generated_name};
use crate::core::tree::{Entry, Node, Value};

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// Whether a struct is one of the few that have fields which are skipped.
    pub(super) fn skips_fields(&self, id: NodeId) -> bool {
        let generated = &self.template.generated;
        [Compiled::ROOT, generated.metadata, generated.pod_spec, generated.spec].contains(&id)
    }

    /// Whether a field or key is not compared where it is, because the server alone writes it or
    /// because it is looked at elsewhere.
    pub(super) fn is_skipped(&self, id: NodeId, key: &str) -> bool {
        let generated = &self.template.generated;
        if id == Compiled::ROOT {
            return self.api.is_server_owned("Job", key);
        }
        if id == generated.metadata {
            return self.api.is_server_owned("Job.metadata", key)
                || ((generated.name || self.is_child()) && key == "name")
                || (self.is_child() && key == "ownerReferences")
                || (!generated.namespace && key == "namespace");
        }
        if id == generated.pod_spec {
            return key == "serviceAccount";
        }
        if id == generated.spec {
            return generated.labels && key == "selector";
        }
        false
    }

    /// Fields that are more than a comparison; whether `id` was one of them.
    pub(super) fn is_special(
        &mut self,
        id: NodeId,
        job: Option<&'j Node<'j>>,
        parent: &'j Node<'j>,
    ) -> bool {
        let generated = &self.template.generated;
        let node = self.tree.node(id);
        let Name::Key(key) = &node.name else { return false };
        if node.parent == generated.metadata {
            match key.as_str() {
                "labels" => self.job_labels(id, job),
                "namespace" => self.namespace_field(id, job),
                "annotations" if self.is_child() => self.child_annotations(id, job),
                _ => return false,
            }
            return true;
        }
        if node.parent == generated.pod_metadata && key == "labels" && generated.labels {
            self.pod_labels(id, job);
            return true;
        }
        if node.parent == generated.pod_spec && key == "serviceAccountName" {
            return self.service_account(id, job, parent);
        }
        false
    }

    /// What is looked at once a struct has been compared.
    pub(super) fn after_structure(&mut self, id: NodeId, job: &'j Node<'j>) {
        let generated = &self.template.generated;
        if id == generated.metadata && id != Compiled::ROOT {
            self.extra_metadata(id, job);
        } else if id == generated.spec && generated.labels && id != Compiled::ROOT {
            self.selector(id, job);
        } else if id == generated.pod_spec
            && id != Compiled::ROOT
            && self.tree.child(id, "serviceAccountName").is_none()
        {
            // The template has no service account; the deprecated spelling is one too.
            let named =
                job.get("serviceAccountName").and_then(Node::as_str).is_some_and(|t| !t.is_empty());
            if !named && job.get("serviceAccount").is_some_and(says_something) {
                self.path.push(Step::Key("serviceAccount"));
                let extra = Deviation::Extra {
                    means_absent: false,
                    parent: id,
                    field: Some("serviceAccount"),
                };
                self.report_without_node(self.tree.node(id).claims.value, id, &extra);
                self.path.pop();
            }
        }
    }

    /// Whether a label is one that the server generates, with the value it generates.
    fn is_generated_label(&self, entry: &Entry<'_>) -> bool {
        if !self.template.generated.labels {
            return false;
        }
        let expected = match &*entry.key {
            "job-name" | "batch.kubernetes.io/job-name" => self.identity.name,
            "controller-uid" | SELECTOR_LABEL => self.identity.uid,
            _ => return false,
        };
        expected.is_some() && entry.node.as_str() == expected
    }

    /// The labels of the Pod template: the generated ones are checked and taken away; in an object
    /// that has a uid none of them may be missing.
    fn pod_labels(&mut self, id: NodeId, job: Option<&'j Node<'j>>) {
        let found: &'j [Entry<'j>] = job.map(Node::entries).unwrap_or_default();
        self.labels(id, job, found);
        if self.identity.uid.is_none() {
            return;
        }
        for key in GENERATED_LABELS {
            if !found.iter().any(|e| e.key == key) {
                self.path.push(Step::Key(key));
                self.report(id, self.tree.node(id).claims.list, None, &Deviation::GeneratedMissing);
                self.path.pop();
            }
        }
    }

    /// The Job's own labels. A Job without any gets a copy of its Pod template's.
    fn job_labels(&mut self, id: NodeId, job: Option<&'j Node<'j>>) {
        let pod_labels = self
            .job
            .get("spec")
            .and_then(|s| s.get("template"))
            .and_then(|t| t.get("metadata"))
            .and_then(|m| m.get("labels"));
        let own: &'j [Entry<'j>] = job.map(Node::entries).unwrap_or_default();
        let in_pod: &'j [Entry<'j>] = pod_labels.map(Node::entries).unwrap_or_default();
        let is_map = job.is_none_or(|j| matches!(j.value, Value::Map(_) | Value::Null));
        let is_copy = || is_map && (own.is_empty() || self.same_labels(own, in_pod));
        if self.template.generated.labels_copied && is_copy() {
            // The Pod labels are compared where they stand.
            return;
        }
        let found = if own.is_empty() { in_pod } else { own };
        self.labels(id, job, found);
    }

    /// Labels without the generated ones, sorted.
    fn own_labels<'n>(&self, labels: &'n [Entry<'_>]) -> Vec<(&'n str, &'n str)> {
        let own = labels.iter().filter(|e| !self.is_generated_label(e));
        let mut own: Vec<_> = own.map(|e| (&*e.key, e.node.as_str().unwrap_or_default())).collect();
        own.sort_unstable();
        own
    }

    fn same_labels(&self, own: &[Entry<'_>], in_pod: &[Entry<'_>]) -> bool {
        self.own_labels(own) == self.own_labels(in_pod)
    }

    /// Compares labels without the generated ones.
    fn labels(&mut self, id: NodeId, job: Option<&'j Node<'j>>, found: &'j [Entry<'j>]) {
        let node = self.tree.node(id);
        let copied = self.template.generated.labels_copied
            && node.parent == self.template.generated.metadata;
        let others = found.iter().filter(|e| !self.is_generated_label(e)).collect();
        self.map_of(id, job, others, copied);
    }

    /// Compares these entries of a map with the template's; `copied`: a Job may also have none.
    pub(super) fn map_of(
        &mut self,
        id: NodeId,
        job: Option<&'j Node<'j>>,
        others: Vec<&'j Entry<'j>>,
        copied: bool,
    ) {
        if let Some(job) = job
            && !matches!(job.value, Value::Map(_) | Value::Null)
        {
            self.deviation(id, &Deviation::WrongType(job.kind()));
            return;
        }
        let node = self.tree.node(id);
        match (&node.want, others.is_empty()) {
            (Want::Nothing, true) => {}
            // One finding a label: the keys say what tried to get in.
            (Want::Nothing, false) => self.entries(id, others.iter().copied(), false),
            (_, true) if node.optional || copied || self.accepts(id, &EMPTY_MAP) => {}
            (_, true) => self.deviation(id, &Deviation::Missing { filled: None }),
            // A template without Job labels accepts none of the copied ones, or all of them.
            (_, false) => {
                let any_copied = others.iter().any(|e| {
                    node.children.iter().any(|(key, child)| {
                        *key == e.key && !matches!(self.tree.node(*child).want, Want::Nothing)
                    })
                });
                self.entries(id, others.iter().copied(), !copied || any_copied);
            }
        }
    }

    /// The selector must be exactly the generated one; before the server has seen the Job, none.
    fn selector(&mut self, spec: NodeId, job: &'j Node<'j>) {
        let selector = job.get("selector");
        let is_empty = selector.is_none_or(|node| match &node.value {
            Value::Map(entries) => entries.iter().all(|e| is_nothing(&e.node)),
            _ => is_nothing(node),
        });
        let accepted = match self.identity.uid {
            None => is_empty,
            Some(uid) => selector.is_some_and(|node| {
                let entries: Vec<&Entry<'_>> =
                    node.entries().iter().filter(|e| !is_nothing(&e.node)).collect();
                match entries[..] {
                    [only] if only.key == "matchLabels" => match only.node.entries() {
                        [label] => label.key == SELECTOR_LABEL && label.node.as_str() == Some(uid),
                        _ => false,
                    },
                    _ => false,
                }
            }),
        };
        if !accepted {
            self.field_deviation(spec, "selector", &Deviation::Selector);
        }
    }

    /// What only the metadata of the Job itself has: a generated name.
    fn extra_metadata(&mut self, metadata: NodeId, job: &'j Node<'j>) {
        if self.is_child() {
            self.child_metadata(metadata, job);
            return;
        }
        if !self.template.generated.name {
            return;
        }
        let prefix = job.get("generateName").and_then(Node::as_str);
        let accepted = match (self.identity.name, prefix) {
            (None, _) => true,
            (Some(name), Some(prefix)) => is_generated_name(name, prefix),
            (Some(_), None) => false,
        };
        if !accepted {
            self.field_deviation(metadata, "name", &Deviation::GeneratedName);
        }
    }

    /// A deviation of a field that the compiled tree may have no node for.
    fn field_deviation(&mut self, parent: NodeId, key: &'static str, deviation: &Deviation<'_>) {
        self.path.push(Step::Key(key));
        match self.tree.child(parent, key) {
            Some(node) => self.deviation(node, deviation),
            None => self.report(parent, self.tree.node(parent).claims.value, None, deviation),
        }
        self.path.pop();
    }

    /// A Job that names no namespace has the request's.
    fn namespace_field(&mut self, id: NodeId, job: Option<&'j Node<'j>>) {
        match job {
            Some(job) if says_something(job) => self.value(id, job),
            _ => {
                let namespace = Node::new(Value::String(self.namespace.into()));
                if !self.takes(id, &namespace) {
                    self.deviation(id, &Deviation::Differs);
                }
            }
        }
    }

    /// Both spellings of the service account are one value; `serviceAccountName` wins.
    fn service_account(
        &mut self,
        id: NodeId,
        job: Option<&'j Node<'j>>,
        parent: &'j Node<'j>,
    ) -> bool {
        let named = job.is_some_and(says_something);
        match parent.get("serviceAccount") {
            Some(twin) if !named && says_something(twin) => {
                self.value(id, twin);
                true
            }
            _ => false,
        }
    }
}

/// Neither null nor an empty string: what a string field must hold to be there.
fn says_something(node: &Node<'_>) -> bool {
    node.value != Value::Null && node.as_str() != Some("")
}

/// Null, or an empty list or map.
fn is_nothing(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Map(entries) => entries.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}
