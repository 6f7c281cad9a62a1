//! Lists and maps: which entries they have, which stand twice, and their order where it counts.

use std::borrow::Cow;

use crate::core::judge::explain::Deviation;
use crate::core::judge::seen::Seen;
use crate::core::judge::walk::{EMPTY_MAP, EMPTY_TEXT, Walk, ZERO, position};
use crate::core::kubernetes::api::{Api, Kind, ListType};
use crate::core::kubernetes::keys::{item_key, refer};
use crate::core::path::Step;
use crate::core::shape::compiled::{CompiledNode, NodeId, Want};
use crate::core::tree::{Entry, Node, Value};

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// A map with free keys.
    pub(super) fn map(&mut self, id: NodeId, job: &'j Node<'j>) {
        self.entries(id, job.entries().iter(), true);
    }

    /// The entries of a map; `all`: and those of the template that are not among them.
    pub(super) fn entries(
        &mut self,
        id: NodeId,
        entries: impl Iterator<Item = &'j Entry<'j>>,
        all: bool,
    ) {
        let node = self.tree.node(id);
        let mut seen = Seen::default();
        let mut next = 0;
        for entry in entries {
            self.path.push(Step::Key(&entry.key));
            match position(&node.children, &entry.key, next) {
                Some(index) if seen.contains(index) => {
                    self.deviation(node.children[index].1, &Deviation::Duplicate)
                }
                Some(index) => {
                    seen.insert(index);
                    next = index + 1;
                    self.entry(node.children[index].1, stored(self.api, node, &entry.node));
                }
                None if entry.node.value == Value::Null && node.kind == Kind::Unknown => {}
                None => self.extra_entry(id, &entry.node),
            }
            self.path.pop();
        }
        for (index, (key, child)) in node.children.iter().enumerate() {
            if all && !seen.contains(index) {
                self.path.push(Step::Key(key));
                self.missing_entry(*child);
                self.path.pop();
            }
        }
    }

    /// An entry of a map or an item of a list that stands there.
    fn entry(&mut self, id: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        if !self.takes_alternative(node, job) {
            self.value(id, job);
        }
    }

    fn missing_entry(&mut self, id: NodeId) {
        let node = self.tree.node(id);
        if !node.optional && !node.unpinned && !matches!(node.want, Want::Nothing) {
            self.deviation(id, &Deviation::Missing { filled: None });
        }
    }

    /// An entry that the compiled tree has no node for.
    fn extra_entry(&mut self, parent: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(parent);
        match node.any {
            Some(any) if self.tree.node(any).unpinned => {}
            Some(any) => self.extra(any, job),
            None => {
                let extra = Deviation::Extra { means_absent: false, parent, field: None };
                self.report_without_node(node.claims.list, parent, &extra);
            }
        }
    }

    /// A list.
    pub(super) fn list(&mut self, id: NodeId, job: &'j Node<'j>) {
        match self.tree.node(id).kind {
            Kind::List(list) if self.api.list(list).is_keyed() => {
                self.keyed(id, self.api.list(list), job)
            }
            _ => self.ordered(id, job),
        }
    }

    fn ordered(&mut self, id: NodeId, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        for (index, item) in job.items().iter().enumerate() {
            self.path.push(Step::Item { index: Some(index), key: None });
            match node.items.get(index) {
                Some((_, child)) => self.entry(*child, stored(self.api, node, item)),
                None => self.extra_entry(id, item),
            }
            self.path.pop();
        }
        for (index, (_, child)) in node.items.iter().enumerate().skip(job.items().len()) {
            self.path.push(Step::Item { index: Some(index), key: None });
            self.missing_entry(*child);
            self.path.pop();
        }
    }

    fn keyed(&mut self, id: NodeId, list: &'static ListType, job: &'j Node<'j>) {
        let node = self.tree.node(id);
        let mut seen = Seen::default();
        let mut next = 0;
        let (mut last, mut in_order) = (0, true);
        let mut extra_keys = Vec::new();
        for (index, item) in job.items().iter().enumerate() {
            let Some(key) = item_key(self.api, list, item) else {
                self.path.push(Step::Item { index: Some(index), key: None });
                self.extra_entry(id, item);
                self.path.pop();
                continue;
            };
            match position(&node.items, &key, next) {
                Some(found) => {
                    let (name, child) = &node.items[found];
                    self.path
                        .push(Step::Item { index: Some(index), key: Some(Cow::Borrowed(name)) });
                    if seen.contains(found) {
                        self.deviation(*child, &Deviation::Duplicate);
                    } else {
                        self.entry(*child, item);
                        in_order &= found >= last;
                        last = found;
                    }
                    seen.insert(found);
                    next = found + 1;
                    self.path.pop();
                }
                None => extra_keys.push((index, key, item)),
            }
        }
        for (index, key, item) in extra_keys {
            self.path.push(Step::Item { index: Some(index), key: Some(key) });
            self.extra_entry(id, item);
            self.path.pop();
        }
        for (index, (key, child)) in node.items.iter().enumerate() {
            if !seen.contains(index) {
                self.path.push(Step::Item { index: None, key: Some(Cow::Borrowed(key)) });
                self.missing_entry(*child);
                self.path.pop();
            }
        }
        if !in_order
            && (list.ordered || (list.ordered_by_expansion && self.holds_expansion(node, job)))
        {
            self.deviation(id, &Deviation::Order { by_expansion: !list.ordered });
        }
    }

    /// Whether any value of the list, in the template or in the Job, holds `$(`.
    fn holds_expansion(&self, node: &CompiledNode, job: &Node<'_>) -> bool {
        refer(job.items())
            || node.items.iter().any(|(_, id)| {
                self.tree.child(*id, "value").is_some_and(|value| {
                    match &self.tree.node(value).want {
                        Want::Text(text) => text.contains("$("),
                        Want::Pattern(pattern) => pattern.fill(|_| String::new()).contains("$("),
                        _ => false,
                    }
                })
            })
    }
}

/// What the server stores for an item: null becomes the zero of the list's items.
fn stored<'j>(api: &Api, parent: &CompiledNode, item: &'j Node<'j>) -> &'j Node<'j> {
    match (&item.value, parent.kind) {
        (Value::Null, Kind::List(id) | Kind::Map(id)) => match api.list(id).item {
            Kind::Struct(_) => &EMPTY_MAP,
            Kind::Quantity { .. } | Kind::Integer => &ZERO,
            _ => &EMPTY_TEXT,
        },
        _ => item,
    }
}
