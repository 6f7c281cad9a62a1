//! Which rule speaks for which deviation: the deepest claim wins, ties go to the earlier rule.

use std::collections::BTreeMap;

use crate::core::kubernetes::api::Kind;
use crate::core::mistake::Mistake;
use crate::core::shape::compile::Compiler;
use crate::core::shape::compiled::{Claims, Compiled, NodeId};
use crate::core::shape::document::{Document, Placed, RuleDocument};
use crate::core::shape::rule::RuleId;

/// The rules that claim a node itself.
#[derive(Debug, Default)]
struct Marks {
    select: BTreeMap<NodeId, RuleId>,
    entries: BTreeMap<NodeId, RuleId>,
}

impl Compiler<'_> {
    /// Attributes every node of the tree to the rules.
    pub fn claim(&mut self, document: &Document) {
        let mut marks = Marks::default();
        for (index, rule) in document.rules.iter().enumerate() {
            let id = RuleId(u16::try_from(index).unwrap_or(u16::MAX));
            if !rule.rule.catch_all {
                self.claim_rule(id, rule, document, &mut marks);
            }
        }
        let catch_all = document.rules.iter().position(|r| r.rule.catch_all).unwrap_or(0);
        let catch_all = RuleId(u16::try_from(catch_all).unwrap_or(u16::MAX));
        self.attribute(Compiled::ROOT, catch_all, &marks);
    }

    fn claim_rule(
        &mut self,
        id: RuleId,
        rule: &RuleDocument,
        document: &Document,
        marks: &mut Marks,
    ) {
        let mut tied: Option<RuleId> = None;
        let (mut selectors, mut won) = (0, 0);
        let mut place = |marks: &mut BTreeMap<NodeId, RuleId>, nodes: Vec<NodeId>| {
            for node in nodes {
                selectors += 1;
                let holder = *marks.entry(node).or_insert(id);
                if holder == id { won += 1 } else { tied = Some(holder) }
            }
        };
        for placed in &rule.select {
            let nodes = self.resolve(placed);
            self.refuse_unpinned(&nodes, placed);
            place(&mut marks.select, nodes);
        }
        for placed in &rule.entries {
            let nodes = self.resolve(placed);
            self.refuse_unpinned(&nodes, placed);
            if nodes.iter().any(|n| {
                !matches!(self.tree.node(*n).kind, Kind::List(_) | Kind::Map(_) | Kind::Unknown)
            }) {
                self.no_entries(placed);
                continue;
            }
            place(&mut marks.entries, nodes);
        }
        if let (true, 0, Some(earlier)) = (selectors > 0, won, tied) {
            let earlier = &document.rules[usize::from(earlier.0)].rule;
            self.mistakes.push(
                Mistake::new(
                    rule.rule.written_at,
                    format!(
                        "the rule `{}` can never speak: `{}` claims the same places before it",
                        rule.rule.name, earlier.name
                    ),
                )
                .also(earlier.written_at),
            );
        }
    }

    /// A claim on something that nobody compares can never speak.
    fn refuse_unpinned(&mut self, nodes: &[NodeId], placed: &Placed) {
        if !nodes.is_empty() && nodes.iter().all(|node| self.is_unpinned(*node)) {
            let message =
                format!("`{}` is unpinned: a rule about it can never speak", placed.selector.text);
            self.mistakes.push(
                Mistake::new(placed.at, message)
                    .help("take it out of `unpinned`, or out of the rule"),
            );
        }
    }

    fn is_unpinned(&self, node: NodeId) -> bool {
        let mut at = node;
        loop {
            let of = self.tree.node(at);
            if of.unpinned {
                return true;
            }
            if of.parent == at {
                return false;
            }
            at = of.parent;
        }
    }

    fn no_entries(&mut self, placed: &Placed) {
        self.mistakes.push(
            Mistake::new(
                placed.at,
                format!("`{}` in `entries` is no list and no map", placed.selector.text),
            )
            .help("claim a struct or a scalar with `select`"),
        );
    }

    /// Gives `node` and everything below it their rules; `inherited` speaks for its value unless
    /// a claim stands on it.
    fn attribute(&mut self, node: NodeId, inherited: RuleId, marks: &Marks) {
        let own_select = marks.select.get(&node).copied();
        let own_entries = marks.entries.get(&node).copied();
        let value = own_select.unwrap_or(inherited);
        let parent = self.tree.node(node).parent;
        let by_parent = if parent == node { None } else { marks.entries.get(&parent).copied() };
        // Both reach one step below the parent: the earlier rule has it.
        let entry = match (own_select, by_parent) {
            (Some(select), Some(entries)) => select.min(entries),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => inherited,
        };
        let list = own_entries.unwrap_or(value);
        self.tree.node_mut(node).claims = Claims { value, entry, list, own_select, own_entries };
        let of = self.tree.node(node);
        let below: Vec<NodeId> = of
            .children
            .iter()
            .chain(&of.items)
            .map(|(_, id)| *id)
            .chain(of.any)
            .chain(of.alternative)
            .collect();
        for child in below {
            self.attribute(child, value, marks);
        }
    }
}
