//! Defaults that depend on siblings, filled in on both sides.

use std::borrow::Cow;

use crate::core::judge::explain::Deviation;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::absent::is_absent;
use crate::core::kubernetes::api::{Api, FieldDefault, Kind};
use crate::core::kubernetes::defaults::{Filled, SiblingRule, Siblings};
use crate::core::kubernetes::stored::node_of;
use crate::core::shape::compiled::{Compiled, CompiledNode, NodeId, Want};
use crate::core::tree::{Node, Number, Value};

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// A field whose default depends on its siblings. The template's default follows the values
    /// that the Job has in variable, optional and unpinned places; if a neighbour itself
    /// deviates, only that is reported.
    pub(super) fn sibling(
        &mut self,
        id: NodeId,
        rule: SiblingRule,
        job: Option<&'j Node<'j>>,
        parent: &'j Node<'j>,
    ) {
        let node = self.tree.node(id);
        // As a server sends it, and as the template says it: nothing to fill in.
        if let Some(job) = job
            && is_plainly(&node.want, job)
        {
            return;
        }
        let of_job = OfJob { api: self.api, kind: self.tree.node(node.parent).kind, job: parent };
        let of_template = OfTemplate {
            tree: self.tree,
            parent: node.parent,
            job: &of_job,
            default_counts: false,
        };
        let mut in_template = rule.fill(&of_template);
        let in_job = rule.fill(&of_job);
        // Where an unpinned neighbour has its default, it may have been written or not: either
        // reading of the template will do.
        let other = rule.fill(&OfTemplate { default_counts: true, ..of_template });
        let is_other = job.map_or(other == in_job, |job| is_filled(&other, job));
        if other != in_template && is_other {
            in_template = other;
        }
        let left_out = matches!(node.want, Want::Sibling(_));
        let accepted = match (left_out, job) {
            (true, Some(job)) => is_filled(&in_template, job),
            (true, None) => in_template == in_job,
            (false, Some(job)) => {
                self.value_beside(id, rule, job, &in_template, &in_job, parent);
                return;
            }
            (false, None) => match (&node.want, node_of(&in_job)) {
                (Want::Nothing, filled) => filled.is_none() || in_job == in_template,
                (_, Some(filled)) => self.takes(id, &filled),
                (_, None) => node.optional,
            },
        };
        if accepted {
            return;
        }
        let follows = match job {
            Some(job) => is_filled(&in_job, job),
            None => true,
        };
        let expected_default =
            left_out || node_of(&in_template).is_some_and(|filled| self.accepts(id, &filled));
        if follows && expected_default && self.neighbour_deviates(node, rule, parent) {
            return;
        }
        let deviation = match (job, left_out) {
            (Some(_), _) => Deviation::NotTheDefault { default: &in_template },
            (None, true) => Deviation::OtherDefault { template: &in_template, job: &in_job },
            (None, false) => {
                Deviation::Missing { filled: node_of(&in_job).map(|n| n.to_json().to_string()) }
            }
        };
        self.deviation(id, &deviation);
    }

    /// The template says what stands here, and the Job does too.
    fn value_beside(
        &mut self,
        id: NodeId,
        rule: SiblingRule,
        job: &'j Node<'j>,
        in_template: &Filled,
        in_job: &Filled,
        parent: &'j Node<'j>,
    ) {
        let node = self.tree.node(id);
        let only_follows = is_filled(in_job, job)
            && in_job != in_template
            && node_of(in_template).is_some_and(|filled| self.accepts(id, &filled));
        if only_follows && !self.accepts(id, job) && self.neighbour_deviates(node, rule, parent) {
            return;
        }
        self.value(id, job);
    }

    /// Whether one of the siblings that the rule looks at deviates by itself.
    fn neighbour_deviates(
        &self,
        node: &CompiledNode,
        rule: SiblingRule,
        parent: &'j Node<'j>,
    ) -> bool {
        let siblings = &self.tree.node(node.parent).children;
        if rule.looks_at().is_empty() {
            // Any field may be the neighbour: one that only the Job has, or only the template.
            let in_job = parent.entries().iter().any(|e| {
                e.key != "name"
                    && e.node.value != Value::Null
                    && !siblings.iter().any(|(key, _)| *key == e.key)
            });
            return in_job
                || siblings.iter().any(|(key, id)| {
                    let sibling = self.tree.node(*id);
                    let stands = !sibling.filled
                        && !matches!(sibling.want, Want::Nothing | Want::Sibling(_));
                    stands
                        && key != "name"
                        && !self.is_accepted(|walk| walk.field(*id, parent.get(key), parent))
                });
        }
        rule.looks_at().iter().any(|name| match siblings.iter().find(|(key, _)| key == name) {
            Some((_, id)) => !self.is_accepted(|walk| walk.field(*id, parent.get(name), parent)),
            None => parent.get(name).is_some_and(|n| n.value != Value::Null),
        })
    }
}

/// Whether the template says exactly this.
fn is_plainly(want: &Want, job: &Node<'_>) -> bool {
    match (want, &job.value) {
        (Want::Text(want), Value::String(found)) => want == found,
        (Want::Number(want), Value::Number(found)) => want == found,
        _ => false,
    }
}

/// Whether `job` is what was filled in.
fn is_filled(filled: &Filled, job: &Node<'_>) -> bool {
    match (filled, &job.value) {
        (Filled::Int(int), Value::Number(Number::Int(found))) => int == found,
        (Filled::Text(text), Value::String(found)) => text == found,
        (Filled::EmptyStruct, Value::Map(entries)) => entries.iter().all(|e| match &e.node.value {
            Value::Null => true,
            Value::String(text) => text.is_empty() && e.key == "medium",
            _ => false,
        }),
        _ => false,
    }
}

/// The siblings as the Job has them.
struct OfJob<'j> {
    api: &'static Api,
    kind: Kind,
    job: &'j Node<'j>,
}

impl OfJob<'_> {
    fn stands(&self, name: &str, node: &Node<'_>) -> bool {
        match self.api.field(self.kind, name) {
            Some(field) => !is_absent(self.api, field, node),
            None => node.value != Value::Null,
        }
    }
}

impl Siblings for OfJob<'_> {
    fn is_set(&self, name: &str) -> bool {
        self.job.get(name).is_some_and(|node| self.stands(name, node))
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.job.get(name).and_then(Node::as_str).map(Cow::Borrowed)
    }

    fn any_but(&self, name: &str) -> bool {
        self.job
            .entries()
            .iter()
            .any(|e| e.key != name && e.key != "emptyDir" && self.stands(&e.key, &e.node))
    }
}

/// The siblings as the template has them, and as the Job has them where they may differ.
struct OfTemplate<'a, 'j> {
    tree: &'a Compiled,
    parent: NodeId,
    job: &'a OfJob<'j>,
    /// Whether an unpinned sibling counts as set although it has its default.
    default_counts: bool,
}

impl OfTemplate<'_, '_> {
    fn sibling(&self, name: &str) -> Option<&CompiledNode> {
        Some(self.tree.node(self.tree.child(self.parent, name)?))
    }
}

impl Siblings for OfTemplate<'_, '_> {
    fn is_set(&self, name: &str) -> bool {
        let Some(node) = self.sibling(name) else { return false };
        let stands = !node.filled && !matches!(node.want, Want::Nothing | Want::Sibling(_));
        // A variable's place is set whatever its value is; only these may be there or not.
        let may_lack = node.unpinned || node.optional || (node.alternative.is_some() && !stands);
        if !may_lack {
            return stands;
        }
        let has_default = match (node.default, self.job.job.get(name)) {
            (FieldDefault::Fixed(json), Some(found)) => Node::from_json(json).value == found.value,
            _ => false,
        };
        // The template left it out, and so may the Job have done.
        let left_out = node.filled && has_default && !(node.unpinned && self.default_counts);
        self.job.is_set(name) && !left_out
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let node = self.sibling(name)?;
        match &node.want {
            _ if node.unpinned || node.optional || node.alternative.is_some() => {
                self.job.text(name)
            }
            Want::Pattern(_) | Want::Variable(_) => self.job.text(name),
            Want::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn any_but(&self, name: &str) -> bool {
        self.tree
            .node(self.parent)
            .children
            .iter()
            .any(|(key, _)| key != name && key != "emptyDir" && self.is_set(key))
    }
}
