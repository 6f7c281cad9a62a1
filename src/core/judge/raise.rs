//! An extra or missing entry belongs whole to one rule; an explicit claim of another rule deeper
//! inside can raise its action.

use crate::core::judge::walk::Walk;
use crate::core::kubernetes::api::Kind;
use crate::core::kubernetes::keys::item_key;
use crate::core::shape::compiled::{NodeId, Want};
use crate::core::shape::rule::RuleId;
use crate::core::tree::{Node, Value};

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// The strongest rule that claims something which `job`, extra at `id`, holds.
    pub(super) fn raised_by_extra(
        &self,
        rule: RuleId,
        id: NodeId,
        job: &Node<'_>,
    ) -> Option<RuleId> {
        let mut strongest = rule;
        self.claimed_in_job(id, job, &mut strongest);
        (strongest != rule).then_some(strongest)
    }

    /// The strongest rule that claims something which the template has below `id`, missing in the
    /// Job.
    pub(super) fn raised_by_missing(&self, rule: RuleId, id: NodeId) -> Option<RuleId> {
        let mut strongest = rule;
        self.claimed_in_template(id, &mut strongest);
        (strongest != rule).then_some(strongest)
    }

    fn consider(&self, id: NodeId, strongest: &mut RuleId) {
        let claims = self.tree.node(id).claims;
        for own in [claims.own_select, claims.own_entries].into_iter().flatten() {
            if self.shape.rule(own).action > self.shape.rule(*strongest).action {
                *strongest = own;
            }
        }
    }

    fn claimed_in_job(&self, id: NodeId, job: &Node<'_>, strongest: &mut RuleId) {
        if matches!(job.value, Value::Null) {
            return;
        }
        self.consider(id, strongest);
        let node = self.tree.node(id);
        for entry in job.entries() {
            let child = node
                .children
                .iter()
                .find(|(key, _)| *key == entry.key)
                .map(|(_, id)| *id)
                .or(node.any);
            if let Some(child) = child {
                self.claimed_in_job(child, &entry.node, strongest);
            }
        }
        for (index, item) in job.items().iter().enumerate() {
            let key = match node.kind {
                Kind::List(list) if self.api.list(list).is_keyed() => {
                    item_key(self.api, self.api.list(list), item)
                }
                _ => None,
            };
            let child = match key {
                Some(key) => node.items.iter().find(|(k, _)| *k == key).map(|(_, id)| *id),
                None => node.items.get(index).map(|(_, id)| *id),
            };
            if let Some(child) = child.or(node.any) {
                self.claimed_in_job(child, item, strongest);
            }
        }
    }

    fn claimed_in_template(&self, id: NodeId, strongest: &mut RuleId) {
        let node = self.tree.node(id);
        if matches!(node.want, Want::Nothing | Want::Sibling(_)) || node.filled {
            return;
        }
        self.consider(id, strongest);
        for (_, child) in node.children.iter().chain(&node.items) {
            self.claimed_in_template(*child, strongest);
        }
    }
}
