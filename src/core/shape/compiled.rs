//! The compiled tree: the template, plus nodes for places that only the shape names, plus one
//! "any other entry" node per list or map that a selector went through.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::core::kubernetes::api::{FieldDefault, Kind};
use crate::core::kubernetes::defaults::SiblingRule;
use crate::core::kubernetes::quantity::Quantity;
use crate::core::path::{self, Step};
use crate::core::shape::rule::RuleId;
use crate::core::shape::text::{Piece, TextPattern};
use crate::core::shape::variable::VariableId;
use crate::core::tree::Number;

/// Index of a node in a [`Compiled`] tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// What the template has at a place.
#[derive(Debug, Clone)]
pub enum Want {
    /// Nothing: the place is only named by the shape.
    Nothing,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string without placeholders.
    Text(String),
    /// A string with placeholders in it.
    Pattern(TextPattern),
    /// A value that is a variable, in the API's type.
    Variable(VariableId),
    /// A quantity and how the template writes it.
    Quantity(Quantity, String),
    /// A struct.
    Struct,
    /// A list.
    List,
    /// A map with free keys.
    Map,
    /// A default that depends on the siblings: the template leaves the field out.
    Sibling(SiblingRule),
    /// `null` inside a list or map that the table does not know.
    Null,
}

impl Want {
    /// The variables that stand here, as often as they do.
    pub fn variables(&self) -> impl Iterator<Item = VariableId> {
        let (whole, pieces) = match self {
            Want::Variable(id) => (Some(*id), &[][..]),
            Want::Pattern(pattern) => (None, &pattern.pieces[..]),
            _ => (None, &[][..]),
        };
        whole.into_iter().chain(pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(id, _) => Some(*id),
            Piece::Literal(_) => None,
        }))
    }
}

/// The rules that speak for the deviations at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// Its value.
    pub value: RuleId,
    /// It being extra, missing or twice in its list or map.
    pub entry: RuleId,
    /// Which entries it has as a list or map; the whole list absent or added; their order.
    pub list: RuleId,
    /// The rule whose own `select` stands exactly here.
    pub own_select: Option<RuleId>,
    /// The rule whose own `entries` stands exactly here.
    pub own_entries: Option<RuleId>,
}

/// How a node is reached from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// The root.
    Root,
    /// A field or a map key.
    Key(String),
    /// An item by its key in a keyed list.
    Item(String),
    /// An item by its index in the template.
    Index(usize),
    /// Any other entry.
    Any,
}

/// A node of the compiled tree.
#[derive(Debug, Clone)]
pub struct CompiledNode {
    /// How it is reached.
    pub name: Name,
    /// Its parent; the root is its own.
    pub parent: NodeId,
    /// Steps from the root.
    pub depth: u16,
    /// The API's type here.
    pub kind: Kind,
    /// Whether the field is a pointer, whose zero is kept.
    pub pointer: bool,
    /// What the server fills in here.
    pub default: &'static FieldDefault,
    /// What the template has, defaults filled in.
    pub want: Want,
    /// Whether `want` is a default that the template leaves out.
    pub filled: bool,
    /// Whether the template lacks it, and it may only stand there for something below that is
    /// optional or unpinned.
    pub held: bool,
    /// Which text the value stands in (0 = the shape, 1 = the template file).
    pub source: usize,
    /// Where.
    pub at: u32,
    /// A Job may leave it out.
    pub optional: bool,
    /// Not compared.
    pub unpinned: bool,
    /// Another subtree that is accepted here (`optional` with a value).
    pub alternative: Option<NodeId>,
    /// Whether the kubelet expands `$(NAME)` in this string.
    pub expands: bool,
    /// Fields of a struct, entries of a map.
    pub children: Vec<(String, NodeId)>,
    /// Items of a list, in the template's order, then those only the shape names.
    pub items: Vec<(String, NodeId)>,
    /// Any other entry.
    pub any: Option<NodeId>,
    /// Who speaks for it.
    pub claims: Claims,
}

/// The compiled tree of one template.
#[derive(Debug, Clone, Default)]
pub struct Compiled {
    nodes: Vec<CompiledNode>,
    /// Why nobody compares the unpinned nodes.
    pub reasons: HashMap<NodeId, String>,
}

/// No default: what a node has that is no field.
pub static NO_DEFAULT: FieldDefault = FieldDefault::None;

impl Compiled {
    /// The root: the Job.
    pub const ROOT: NodeId = NodeId(0);

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &CompiledNode {
        &self.nodes[id.0 as usize]
    }

    /// A node, to be changed.
    pub fn node_mut(&mut self, id: NodeId) -> &mut CompiledNode {
        &mut self.nodes[id.0 as usize]
    }

    /// All nodes, parents before children.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &CompiledNode)> {
        self.nodes.iter().enumerate().map(|(i, n)| (id(i), n))
    }

    /// Adds a node that nothing points to yet.
    pub fn add(&mut self, node: CompiledNode) -> NodeId {
        self.nodes.push(node);
        id(self.nodes.len() - 1)
    }

    /// Room for as many nodes as most templates make: growing would copy them again and again.
    #[must_use]
    pub fn roomy() -> Compiled {
        Compiled { nodes: Vec::with_capacity(512), ..Compiled::default() }
    }

    /// Gives back the room that was not needed: nothing is added from now on.
    pub fn shrink(&mut self) {
        for node in &mut self.nodes {
            node.children.shrink_to_fit();
            node.items.shrink_to_fit();
        }
        self.nodes.shrink_to_fit();
    }

    /// The child of a struct or map.
    #[must_use]
    pub fn child(&self, parent: NodeId, key: &str) -> Option<NodeId> {
        self.node(parent).children.iter().find(|(k, _)| k == key).map(|(_, id)| *id)
    }

    /// The node that these keys lead to from the root.
    #[must_use]
    pub fn find(&self, keys: &[&str]) -> Option<NodeId> {
        keys.iter().try_fold(Self::ROOT, |at, key| self.child(at, key))
    }

    /// The step to any other entry.
    pub const ANY: Step<'static> = Step::Item { index: None, key: Some(Cow::Borrowed("*")) };

    /// The way to a node from the root.
    #[must_use]
    pub fn steps(&self, node: NodeId) -> Vec<Step<'_>> {
        let mut steps = vec![];
        let mut at = node;
        loop {
            steps.push(match &self.node(at).name {
                Name::Root => break,
                Name::Any => Self::ANY,
                Name::Key(key) => Step::Key(key),
                Name::Item(key) => Step::Item { index: None, key: Some(key.into()) },
                Name::Index(index) => Step::Item { index: Some(*index), key: None },
            });
            at = self.node(at).parent;
        }
        steps.reverse();
        steps
    }

    /// The place of a node, as people read it.
    #[must_use]
    pub fn path(&self, node: NodeId) -> String {
        path::render(&self.steps(node))
    }
}

fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap_or(u32::MAX))
}
