//! What the old object of an UPDATE had.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::mem::discriminant;
use std::sync::OnceLock;

use crate::core::judge::explain::Deviation;
use crate::core::judge::update::difference::Difference;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::api::FieldDefault;
use crate::core::path::Step;
use crate::core::shape::compiled::{Compiled, Name, NodeId};
use crate::core::shape::variable::VariableId;
use crate::core::tree::Node;

/// What the old object had, and where the new one differs from it.
#[derive(Debug)]
pub struct Before<'a> {
    /// The identities of its deviations.
    pub had: HashSet<u64>,
    /// Where the objects differ.
    pub difference: &'a Difference<'a>,
    /// Whether the new object has labels of its own; looked up once, because metadata may be long.
    pub own_labels: bool,
}

impl<'a> Before<'a> {
    /// These deviations of the old object, seen from `job`, which differs from it there.
    #[must_use]
    pub fn new(had: HashSet<u64>, difference: &'a Difference<'a>, job: &Node<'_>) -> Self {
        let labels = job.get("metadata").and_then(|metadata| metadata.get("labels"));
        Before {
            had,
            difference,
            own_labels: labels.is_some_and(|labels| !labels.entries().is_empty()),
        }
    }
}

impl Walk<'_, '_> {
    /// Whether the old object has the deviation that the walk stands at, of the same value. A value
    /// is the whole subtree there, and whatever else the deviation depends on.
    pub(in crate::core::judge) fn is_old(
        &self,
        before: &Before<'_>,
        id: Option<NodeId>,
        deviation: &Deviation<'_>,
    ) -> bool {
        before.had.contains(&identity(deviation, &self.path))
            && before.difference.is_none_at(&self.path)
            && self.siblings(id, deviation).iter().all(|name| {
                let mut path = self.path.clone();
                path.pop();
                path.extend(name.map(Step::Key));
                before.difference.is_none_at(&path)
            })
            && self.labels_are_its_own(before)
            && match deviation {
                Deviation::Disagrees { variable, .. } => self.is_none_at_all(before, *variable),
                _ => true,
            }
    }

    /// The siblings that decide with a field; nothing in place of a name stands for all of them.
    fn siblings(&self, id: Option<NodeId>, deviation: &Deviation<'_>) -> Vec<Option<&'static str>> {
        match deviation {
            Deviation::GeneratedName => return vec![Some("generateName")],
            Deviation::ChildName => return vec![Some("annotations"), Some("ownerReferences")],
            Deviation::Owner { .. } => return vec![Some("annotations"), Some("name")],
            _ => {}
        }
        let Some(id) = id else { return vec![] };
        let node = self.tree.node(id);
        if node.parent == self.template.generated.pod_spec
            && node.name == Name::Key("serviceAccountName".to_owned())
        {
            return vec![Some("serviceAccount")];
        }
        match node.default {
            FieldDefault::Sibling(rule) if rule.looks_at().is_empty() => vec![None],
            FieldDefault::Sibling(rule) => rule.looks_at().iter().copied().map(Some).collect(),
            _ => vec![],
        }
    }

    /// A Job without labels of its own has those of its Pod template, so a deviation there is one of
    /// theirs.
    fn labels_are_its_own(&self, before: &Before<'_>) -> bool {
        const LABELS: [Step<'_>; 2] = [Step::Key("metadata"), Step::Key("labels")];
        !self.path.starts_with(&LABELS)
            || before.own_labels
            || before
                .difference
                .is_none_at(&["spec", "template", "metadata", "labels"].map(Step::Key))
    }

    /// Whether nothing differs at any place of a variable.
    fn is_none_at_all(&self, before: &Before<'_>, variable: VariableId) -> bool {
        let places =
            self.tree.iter().filter(|(_, node)| node.want.variables().any(|id| id == variable));
        places.map(|(id, _)| id).all(|id| {
            let steps = self.tree.steps(id);
            !steps.contains(&Compiled::ANY) && before.difference.is_none_at(&steps)
        })
    }
}

/// A deviation's identity: its kind and its place, entries by their keys. A hash with keys that are
/// this process's own, so that no Job can be made to collide.
#[must_use]
pub fn identity(deviation: &Deviation<'_>, path: &[Step<'_>]) -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = STATE.get_or_init(RandomState::new).build_hasher();
    discriminant(deviation).hash(&mut hasher);
    match deviation {
        Deviation::Constraint { variable, .. }
        | Deviation::NotOfType { variable, .. }
        | Deviation::Disagrees { variable, .. } => variable.hash(&mut hasher),
        _ => {}
    }
    for step in path {
        match step {
            Step::Key(key) => (0u8, *key).hash(&mut hasher),
            Step::Item { key: Some(key), .. } => (1u8, &**key).hash(&mut hasher),
            Step::Item { key: None, index } => (2u8, index).hash(&mut hasher),
        }
    }
    hasher.finish()
}
