//! The walk of the compiled template and the Job, together.

use std::borrow::Cow;

use crate::core::judge::bindings::Bindings;
use crate::core::judge::children::Origin;
use crate::core::judge::explain::Deviation;
use crate::core::judge::finding::Finding;
use crate::core::judge::record::WhatFor;
use crate::core::judge::seen::Seen;
use crate::core::kubernetes::absent::{is_absent, is_zero};
use crate::core::kubernetes::api::{Api, Field, FieldDefault, Kind};
use crate::core::path::Step;
use crate::core::shape::Shape;
use crate::core::shape::compiled::{Compiled, CompiledNode, Name, NodeId, Want};
use crate::core::shape::template::Template;
use crate::core::tree::{Node, Number, Value};

// The zeros of the kinds: what a null inside a list is stored as, and what an absent field means.
pub(super) static EMPTY_TEXT: Node<'static> =
    Node { value: Value::String(Cow::Borrowed("")), at: u32::MAX };
pub(super) static ZERO: Node<'static> = Node { value: Value::Number(Number::Int(0)), at: u32::MAX };
static FALSE: Node<'static> = Node { value: Value::Bool(false), at: u32::MAX };
pub(super) static EMPTY_MAP: Node<'static> = Node { value: Value::Map(Vec::new()), at: u32::MAX };
pub(super) static EMPTY_LIST: Node<'static> = Node { value: Value::List(Vec::new()), at: u32::MAX };

/// What the server generates from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity<'j> {
    pub(super) name: Option<&'j str>,
    pub(super) uid: Option<&'j str>,
}

impl<'j> Identity<'j> {
    fn of(job: &'j Node<'j>) -> Self {
        let metadata = job.get("metadata");
        let text = |key: &str| {
            metadata.and_then(|m| m.get(key)).and_then(Node::as_str).filter(|t| !t.is_empty())
        };
        Identity { name: text("name"), uid: text("uid") }
    }
}

/// One walk.
pub struct Walk<'s, 'j> {
    pub(super) api: &'static Api,
    pub(super) shape: &'s Shape,
    pub(super) template: &'s Template,
    pub(super) tree: &'s Compiled,
    /// The whole Job.
    pub(super) job: &'j Node<'j>,
    /// The Job's name and uid, which generated labels hold; looked up once, because metadata may be
    /// long.
    pub(super) identity: Identity<'j>,
    /// The request's namespace.
    pub(super) namespace: &'j str,
    /// What a Job may say about the CronJob that it is of.
    pub(super) origin: Origin,
    /// Where the walk is.
    pub(super) path: Vec<Step<'j>>,
    /// Values of variables found so far.
    pub(super) bindings: Bindings,
    /// What was found so far.
    pub(super) findings: Vec<Finding>,
    pub(super) count: usize,
    pub(super) enforced: usize,
    pub(super) old: usize,
    /// Whether findings tell their JSON pointers.
    pub(super) pointers: bool,
    /// What becomes of it.
    pub(super) what_for: WhatFor<'j>,
}

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// A walk that has not begun.
    #[must_use]
    pub fn new(
        shape: &'s Shape,
        template: &'s Template,
        job: &'j Node<'j>,
        namespace: &'j str,
    ) -> Self {
        Walk {
            api: template.api,
            shape,
            template,
            tree: &template.tree,
            job,
            identity: Identity::of(job),
            namespace,
            origin: Origin::Nobody,
            // Deeper than the deepest field of an ordinary Job.
            path: Vec::with_capacity(16),
            bindings: Bindings::default(),
            findings: vec![],
            count: 0,
            enforced: 0,
            old: 0,
            pointers: true,
            what_for: WhatFor::default(),
        }
    }

    /// Walks the whole Job.
    pub fn job(&mut self) {
        if matches!(self.job.value, Value::Map(_)) {
            self.structure(Compiled::ROOT, self.job);
        } else {
            self.deviation(Compiled::ROOT, &Deviation::WrongType(self.job.kind()));
        }
        self.compare_bindings();
    }

    /// What a walk that reports nothing fixes of the variables, if it accepts what it tries.
    fn tried(&self, try_it: impl FnOnce(&mut Walk<'s, 'j>)) -> Option<Bindings> {
        let mut walk = Walk {
            job: self.job,
            identity: self.identity,
            what_for: WhatFor::Try,
            ..Walk::new(self.shape, self.template, &EMPTY_MAP, self.namespace)
        };
        try_it(&mut walk);
        (walk.count == 0).then_some(walk.bindings)
    }

    /// The same for a value of another life than the Job's: one that the server would fill in.
    fn tried_value(&self, id: NodeId, node: &Node<'_>) -> Option<Bindings> {
        let mut walk = Walk {
            what_for: WhatFor::Try,
            ..Walk::new(self.shape, self.template, node, self.namespace)
        };
        walk.value(id, node);
        (walk.count == 0).then_some(walk.bindings)
    }

    /// Whether something is accepted, tried in a walk that reports nothing.
    pub(super) fn is_accepted(&self, try_it: impl FnOnce(&mut Walk<'s, 'j>)) -> bool {
        self.tried(try_it).is_some()
    }

    /// Whether a value that the server would fill in is accepted at `id`.
    pub(super) fn accepts(&self, id: NodeId, filled: &Node<'_>) -> bool {
        self.tried_value(id, filled).is_some()
    }

    /// The same, and the variables that it fixes are noted.
    pub(super) fn takes(&mut self, id: NodeId, filled: &Node<'_>) -> bool {
        let tried = self.tried_value(id, filled);
        self.note(tried)
    }

    /// Notes what was accepted; whether it was.
    fn note(&mut self, tried: Option<Bindings>) -> bool {
        let accepted = tried.is_some();
        self.bindings.extend(tried.unwrap_or_default());
        accepted
    }

    /// A struct: every field of the Job and every field of the template.
    pub(super) fn structure(&mut self, id: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        let skips = self.skips_fields(id);
        let mut seen = Seen::default();
        let mut next = 0;
        for entry in job.entries() {
            if skips && self.is_skipped(id, &entry.key) {
                continue;
            }
            self.path.push(Step::Key(&entry.key));
            match position(&node.children, &entry.key, next) {
                Some(index) if seen.contains(index) => {
                    self.deviation(node.children[index].1, &Deviation::Duplicate)
                }
                Some(index) => {
                    seen.insert(index);
                    next = index + 1;
                    self.field(node.children[index].1, Some(&entry.node), job);
                }
                None => self.unknown_field(id, &entry.key, &entry.node),
            }
            self.path.pop();
        }
        for (index, (key, child)) in node.children.iter().enumerate() {
            if !(seen.contains(index) || skips && self.is_skipped(id, key)) {
                self.path.push(Step::Key(key));
                self.field(*child, None, job);
                self.path.pop();
            }
        }
        self.after_structure(id, job);
    }

    /// A field that the compiled tree does not have.
    fn unknown_field(&mut self, parent: NodeId, key: &str, job: &Node<'_>) {
        let field = self.api.field(self.tree.node(parent).kind, key);
        let absent = match field {
            Some(field) => is_absent(self.api, field, job),
            None => matches!(job.value, Value::Null),
        };
        if !absent {
            let rule = self.tree.node(parent).claims.value;
            let means_absent = means_absent(field, job);
            let extra = Deviation::Extra { means_absent, parent, field: Some(key) };
            self.report_without_node(rule, parent, &extra);
        }
    }

    /// A field of a struct: present, absent, or as good as absent.
    pub(super) fn field(&mut self, id: NodeId, job: Option<&'j Node<'j>>, parent: &'j Node<'j>) {
        let node = self.tree.node(id);
        if node.unpinned {
            return;
        }
        if self.is_special(id, job, parent) {
            return;
        }
        let job = job.filter(|job| !is_as_good_as_absent(self.api, node, job));
        if job.is_some_and(|job| self.takes_alternative(node, job)) {
            return;
        }
        if let FieldDefault::Sibling(rule) = node.default {
            self.sibling(id, *rule, job, parent);
            return;
        }
        match job {
            Some(job) => self.value(id, job),
            None => self.missing(id),
        }
    }

    /// Takes another subtree that the shape accepts here, if the Job has that.
    pub(super) fn takes_alternative(&mut self, node: &CompiledNode, job: &'j Node<'j>) -> bool {
        let Some(alternative) = node.alternative else { return false };
        let tried = self.tried(|walk| walk.value(alternative, job));
        self.note(tried)
    }

    /// A field of the template that the Job leaves out.
    fn missing(&mut self, id: NodeId) {
        let node = self.tree.node(id);
        if matches!(node.want, Want::Nothing) || node.optional {
            return;
        }
        if let FieldDefault::Fixed(json) = node.default {
            let filled = Node::from_json(json);
            if node.filled || self.takes(id, &filled) {
                return;
            }
            self.deviation(id, &Deviation::Missing { filled: Some(json.to_string()) });
            return;
        }
        // The zero of a field that is no pointer is the same as none.
        if !node.pointer
            && let Some(zero) = zero(node.kind)
            && self.takes(id, zero)
        {
            return;
        }
        self.deviation(id, &Deviation::Missing { filled: None });
    }

    /// The value of a place that the compiled tree has.
    pub(super) fn value(&mut self, id: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        if node.unpinned {
            return;
        }
        match (&node.want, &job.value) {
            (Want::Nothing, _) => self.extra(id, job),
            (Want::Struct, Value::Map(_)) if node.held && !self.holds_anything(node, job) => {
                self.extra(id, job);
            }
            (Want::Struct, Value::Map(_)) => self.structure(id, job),
            (Want::Map, Value::Map(_)) => self.map(id, job),
            (Want::List, Value::List(_)) => self.list(id, job),
            _ => self.scalar(id, job),
        }
    }

    /// Whether a struct that is only held open for something inside has any of that.
    fn holds_anything(&self, node: &CompiledNode, job: &Node<'_>) -> bool {
        job.entries().iter().any(|entry| {
            node.children.iter().any(|(key, child)| {
                let child = self.tree.node(*child);
                *key == entry.key
                    && !child.filled
                    && !is_as_good_as_absent(self.api, child, &entry.node)
            })
        })
    }

    /// Something that the template does not have, at a place the compiled tree knows.
    pub(super) fn extra(&mut self, id: NodeId, job: &Node<'_>) {
        let node = self.tree.node(id);
        let rule = match (&node.name, node.kind) {
            (Name::Key(_), Kind::List(_) | Kind::Map(_)) => node.claims.list,
            (Name::Key(_), _) if !self.is_in_map(node) => node.claims.value,
            _ => node.claims.entry,
        };
        let means_absent = self.means_absent(node, job);
        let raised = self.raised_by_extra(rule, id, job);
        let field = match &node.name {
            Name::Key(key) if !self.is_in_map(node) => Some(key.as_str()),
            _ => None,
        };
        let extra = Deviation::Extra { means_absent, parent: node.parent, field };
        self.report(id, rule, raised, &extra);
    }

    pub(super) fn is_in_map(&self, node: &CompiledNode) -> bool {
        !matches!(self.tree.node(node.parent).kind, Kind::Struct(_))
    }

    fn means_absent(&self, node: &CompiledNode, job: &Node<'_>) -> bool {
        let Name::Key(key) = &node.name else { return false };
        means_absent(self.api.field(self.tree.node(node.parent).kind, key), job)
    }
}

/// Whether a value only spells out what its absence means too.
fn means_absent(field: Option<&Field>, job: &Node<'_>) -> bool {
    field
        .and_then(|f| f.means_absent.as_ref())
        .is_some_and(|json| Node::from_json(json).value == job.value)
}

/// Where `key` stands among the children, looked for from `next` on: the API server keeps one
/// order, so the first look is mostly right.
pub(super) fn position(children: &[(String, NodeId)], key: &str, next: usize) -> Option<usize> {
    if children.get(next).is_some_and(|(name, _)| name == key) {
        return Some(next);
    }
    let (before, from) = children.split_at(next.min(children.len()));
    from.iter()
        .position(|(name, _)| name == key)
        .map(|index| index + before.len())
        .or_else(|| before.iter().position(|(name, _)| name == key))
}

/// Whether the server would store this value of a field the same as none.
fn is_as_good_as_absent(api: &Api, node: &CompiledNode, job: &Node<'_>) -> bool {
    match &job.value {
        Value::Null => true,
        _ if node.pointer && !matches!(node.kind, Kind::List(_) | Kind::Map(_)) => false,
        _ => is_zero(api, node.kind, job),
    }
}

/// The zero of a kind.
fn zero(kind: Kind) -> Option<&'static Node<'static>> {
    Some(match kind {
        Kind::String => &EMPTY_TEXT,
        Kind::Boolean => &FALSE,
        Kind::Integer => &ZERO,
        Kind::Struct(_) | Kind::Map(_) => &EMPTY_MAP,
        Kind::List(_) => &EMPTY_LIST,
        Kind::Unknown | Kind::Quantity { .. } | Kind::IntOrString => return None,
    })
}
