//! One variable has one value everywhere in one Job.

use crate::core::judge::explain::Deviation;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::api::Kind;
use crate::core::kubernetes::keys::item_key;
use crate::core::path::Step;
use crate::core::shape::compiled::{Name, NodeId};
use crate::core::shape::constraint::Setting;
use crate::core::shape::variable::VariableId;
use crate::core::tree::Node;

/// The values of variables found in one Job, and where.
#[derive(Debug, Default)]
pub struct Bindings {
    found: Vec<(VariableId, NodeId, Setting)>,
}

impl Bindings {
    /// Notes a value.
    pub fn add(&mut self, variable: VariableId, at: NodeId, setting: Setting) {
        self.found.push((variable, at, setting));
    }

    /// Notes what another walk found.
    pub fn extend(&mut self, other: Bindings) {
        self.found.extend(other.found);
    }
}

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// The first place in the template's order fixes a variable's value; every other place that
    /// disagrees is a deviation that names both.
    pub(super) fn compare_bindings(&mut self) {
        let mut found = std::mem::take(&mut self.bindings.found);
        // Nodes are numbered in the template's order.
        found.sort_by_key(|(variable, node, _)| (*variable, *node));
        let mut first: Option<&(VariableId, NodeId, Setting)> = None;
        let mut said: Option<(VariableId, NodeId)> = None;
        for binding in &found {
            let (variable, node, setting) = binding;
            match first {
                Some((of, at, fixed)) if of == variable => {
                    // Once a string, however often the variable stands in it.
                    if !fixed.same(setting) && said != Some((*variable, *node)) {
                        said = Some((*variable, *node));
                        let first_path = self.tree.path(*at);
                        self.walk_to(*node);
                        self.deviation(
                            *node,
                            &Deviation::Disagrees { variable: *variable, first: &first_path },
                        );
                        self.path.clear();
                    }
                }
                _ => first = Some(binding),
            }
        }
    }

    /// Sets the path to a node of the compiled tree that the Job has.
    fn walk_to(&mut self, id: NodeId) {
        let mut chain = vec![];
        let mut at = id;
        while self.tree.node(at).name != Name::Root {
            chain.push(at);
            at = self.tree.node(at).parent;
        }
        self.path.clear();
        let mut job: Option<&'j Node<'j>> = Some(self.job);
        for at in chain.into_iter().rev() {
            let node = self.tree.node(at);
            let step = match &node.name {
                Name::Root | Name::Any => continue,
                Name::Key(key) => {
                    job = job.and_then(|j| j.get(key));
                    Step::Key(key)
                }
                Name::Index(index) => {
                    job = job.and_then(|j| j.items().get(*index));
                    Step::Item { index: Some(*index), key: None }
                }
                Name::Item(key) => {
                    let index = self.index_of(node.parent, key, job);
                    job = job.zip(index).and_then(|(j, index)| j.items().get(index));
                    Step::Item { index, key: Some(key.into()) }
                }
            };
            self.path.push(step);
        }
    }

    fn index_of(&self, list: NodeId, key: &str, job: Option<&Node<'_>>) -> Option<usize> {
        let Kind::List(list) = self.tree.node(list).kind else { return None };
        let list = self.api.list(list);
        job?.items()
            .iter()
            .position(|item| item_key(self.api, list, item).is_some_and(|k| k == key))
    }
}
