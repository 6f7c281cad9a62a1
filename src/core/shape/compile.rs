//! From the template to the compiled tree: types from the API's table, placeholders to variables,
//! defaults filled in.

use std::collections::HashMap;

use crate::core::kubernetes::absent::is_absent;
use crate::core::kubernetes::api::{Api, Field, FieldDefault, Kind, ListType, TypeId};
use crate::core::kubernetes::keys::item_key;
use crate::core::kubernetes::quantity::Quantity;
use crate::core::mistake::Mistake;
use crate::core::shape::compiled::{
    Claims, Compiled, CompiledNode, NO_DEFAULT, Name, NodeId, Want,
};
use crate::core::shape::constraint::Setting;
use crate::core::shape::job_rules::Generated;
use crate::core::shape::placeholder;
use crate::core::shape::rule::RuleId;
use crate::core::shape::variable::{VariableId, Variables};
use crate::core::tree::{NOWHERE, Node, Value};

/// Builds the compiled tree of one template.
pub struct Compiler<'a> {
    /// The API's table.
    pub api: &'static Api,
    /// The shape's variables.
    pub variables: &'a mut Variables,
    /// Texts that are no placeholders.
    pub literals: &'a [String],
    /// Which text positions belong to.
    pub source: usize,
    /// The tree so far.
    pub tree: Compiled,
    /// Which variables the template uses.
    pub used: Vec<VariableId>,
    /// The template's own values at the places of `at`, and where they stand.
    pub samples: Vec<(VariableId, Setting, u32)>,
    /// Places that need more than a comparison.
    pub special: Generated,
    /// What is wrong.
    pub mistakes: Vec<Mistake>,
}

/// Where a node is about to be placed.
#[derive(Clone)]
pub struct Place {
    /// How it is reached.
    pub name: Name,
    /// Its parent.
    pub parent: NodeId,
    /// The API's type.
    pub kind: Kind,
    /// The field of the parent that it is, if any.
    pub field: Option<&'static Field>,
    /// Whether a placeholder may stand here; keys of keyed lists never vary.
    pub may_vary: bool,
    /// Whether the kubelet expands `$(NAME)` here.
    pub expands: bool,
}

impl Place {
    /// The place of a field.
    #[must_use]
    pub fn field(parent: NodeId, field: &'static Field) -> Place {
        Place {
            name: Name::Key(field.name.to_owned()),
            parent,
            kind: field.kind,
            field: Some(field),
            may_vary: true,
            expands: field.expands,
        }
    }

    /// A place of some kind that is no field of a struct.
    #[must_use]
    pub fn entry(parent: NodeId, name: Name, kind: Kind, expands: bool) -> Place {
        Place { name, parent, kind, field: None, may_vary: true, expands }
    }
}

impl Compiler<'_> {
    /// Compiles the whole template.
    pub fn template(&mut self, root: &Node<'_>, kind: Kind) {
        let place = Place::entry(NodeId(0), Name::Root, kind, false);
        self.node(root, place);
    }

    /// Adds an empty node at a place.
    pub fn empty(&mut self, place: &Place, want: Want, at: u32) -> NodeId {
        let depth = match place.name {
            Name::Root => 0,
            _ => self.tree.node(place.parent).depth + 1,
        };
        let none = RuleId(0);
        self.tree.add(CompiledNode {
            name: place.name.clone(),
            parent: place.parent,
            depth,
            kind: place.kind,
            pointer: place.field.is_some_and(|f| f.pointer),
            default: place.field.map_or(&NO_DEFAULT, |f| &f.default),
            want,
            filled: false,
            held: false,
            source: self.source,
            at,
            optional: false,
            unpinned: false,
            alternative: None,
            expands: place.expands,
            children: vec![],
            items: vec![],
            any: None,
            claims: Claims {
                value: none,
                entry: none,
                list: none,
                own_select: None,
                own_entries: None,
            },
        })
    }

    /// Compiles `node` at a place.
    pub fn node(&mut self, node: &Node<'_>, place: Place) -> NodeId {
        let kind = place.kind;
        match (kind, &node.value) {
            (Kind::Struct(_), Value::Map(_)) => self.structure(node, &place),
            (Kind::Map(id), Value::Map(_)) => {
                let item = self.api.list(id).item;
                self.map(node, &place, item, Want::Map)
            }
            (Kind::Unknown, Value::Map(_)) => self.map(node, &place, Kind::Unknown, Want::Map),
            (Kind::List(id), Value::List(items)) => {
                self.list(node.at, items, &place, self.api.list(id))
            }
            (Kind::Unknown, Value::List(items)) => {
                let parent = self.empty(&place, Want::List, node.at);
                self.ordered_items(parent, items, Kind::Unknown, place.expands);
                parent
            }
            _ => {
                let want = self.scalar(node, &place);
                self.empty(&place, want, node.at)
            }
        }
    }

    fn structure(&mut self, node: &Node<'_>, place: &Place) -> NodeId {
        let Kind::Struct(id) = place.kind else { return Compiled::ROOT };
        let structure = self.api.structure(id);
        let parent = self.empty(place, Want::Struct, node.at);
        let keys = self.keys_of(place);
        for entry in node.entries() {
            let place = match structure.field(&entry.key) {
                Some(field) if is_absent(self.api, field, &entry.node) => continue,
                Some(field) => {
                    let mut place = Place::field(parent, field);
                    place.may_vary = !keys.contains(&field.name);
                    place
                }
                None if entry.node.value == Value::Null => continue,
                None => {
                    Place::entry(parent, Name::Key(entry.key.to_string()), Kind::Unknown, false)
                }
            };
            let child = self.node(&entry.node, place);
            self.tree.node_mut(parent).children.push((entry.key.to_string(), child));
        }
        self.fill(parent, id);
        parent
    }

    /// The key fields of the list that this place is an item of.
    fn keys_of(&self, place: &Place) -> &'static [&'static str] {
        match (&place.name, self.tree.node(place.parent).kind) {
            (Name::Item(_), Kind::List(id)) => &self.api.list(id).keys,
            _ => &[],
        }
    }

    /// Fills in what the server would, for fields that the template leaves out.
    pub fn fill(&mut self, parent: NodeId, id: TypeId) {
        for field in &self.api.structure(id).fields {
            if self.tree.child(parent, field.name).is_some() {
                continue;
            }
            let place = Place::field(parent, field);
            let child = match &field.default {
                FieldDefault::None => continue,
                FieldDefault::Fixed(json) => self.node(&Node::from_json(json), place),
                FieldDefault::Sibling(rule) => self.empty(&place, Want::Sibling(*rule), NOWHERE),
            };
            self.tree.node_mut(child).filled = true;
            self.tree.node_mut(parent).children.push((field.name.to_owned(), child));
        }
    }

    fn map(&mut self, node: &Node<'_>, place: &Place, item: Kind, want: Want) -> NodeId {
        let parent = self.empty(place, want, node.at);
        let empty_text = Node { value: Value::String("".into()), at: node.at };
        for entry in node.entries() {
            self.check_key(&entry.key, entry.key_at);
            // A null in a map of strings is stored as "".
            let value = match (&entry.node.value, item) {
                (Value::Null, Kind::String) => &empty_text,
                (Value::Null, Kind::Unknown) => continue,
                _ => &entry.node,
            };
            let child = self
                .node(value, Place::entry(parent, Name::Key(entry.key.to_string()), item, false));
            self.tree.node_mut(parent).children.push((entry.key.to_string(), child));
        }
        parent
    }

    fn list(
        &mut self,
        at: u32,
        items: &[Node<'_>],
        place: &Place,
        list: &'static ListType,
    ) -> NodeId {
        let parent = self.empty(place, Want::List, at);
        if !list.is_keyed() {
            self.ordered_items(parent, items, list.item, place.expands);
            return parent;
        }
        let mut seen: HashMap<String, u32> = HashMap::new();
        for item in items {
            let Some(key) = item_key(self.api, list, item) else {
                self.mistakes.push(
                    Mistake::new(item.at, format!("an item of this list is not {}", item.kind()))
                        .source(self.source),
                );
                continue;
            };
            self.check_key(&key, item.at);
            let key = key.into_owned();
            if let Some(first) = seen.insert(key.clone(), item.at) {
                self.duplicate(&key, first, item.at);
                continue;
            }
            let mut place = Place::entry(parent, Name::Item(key.clone()), list.item, place.expands);
            place.may_vary = list.keys != ["="];
            let child = self.node(item, place);
            self.tree.node_mut(parent).items.push((key, child));
        }
        parent
    }

    fn ordered_items(&mut self, parent: NodeId, items: &[Node<'_>], kind: Kind, expands: bool) {
        for (index, item) in items.iter().enumerate() {
            let zero;
            // A null in a list becomes a zero element.
            let item = match (&item.value, kind) {
                (Value::Null, Kind::String) => {
                    zero = Node { value: Value::String("".into()), at: item.at };
                    &zero
                }
                (Value::Null, Kind::Struct(_)) => {
                    zero = Node { value: Value::Map(vec![]), at: item.at };
                    &zero
                }
                _ => item,
            };
            let child = self.node(item, Place::entry(parent, Name::Index(index), kind, expands));
            self.tree.node_mut(parent).items.push((String::new(), child));
        }
    }

    fn duplicate(&mut self, key: &str, first: u32, second: u32) {
        self.mistakes.push(
            Mistake::new(
                second,
                format!("`{key}` stands twice in this list: the server keeps both, and the last one wins"),
            )
            .help("take one of them out")
            .also(first)
            .source(self.source),
        );
    }

    /// Keys never vary: a placeholder in one is a mistake, unless it reads as an ordinary name.
    fn check_key(&mut self, key: &str, at: u32) {
        for (_, variable) in self.variables.iter() {
            let placeholder = &variable.placeholder;
            let looks_like_a_name =
                placeholder.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !looks_like_a_name && key.contains(placeholder.as_str()) {
                self.mistakes.push(
                    Mistake::new(
                        at,
                        format!(
                            "the placeholder `{placeholder}` stands in a key, and keys never vary"
                        ),
                    )
                    .source(self.source),
                );
            }
        }
    }

    fn scalar(&mut self, node: &Node<'_>, place: &Place) -> Want {
        if let Value::String(text) = &node.value
            && place.may_vary
            && let Some(want) = self.placeholders(text, node.at, place)
        {
            return want;
        }
        let want = plain(node, place.kind);
        want.unwrap_or_else(|| {
            let expected = word(place.kind);
            let mut mistake =
                Mistake::new(node.at, format!("the API has {expected} here, not {}", node.kind()))
                    .source(self.source);
            if place.kind == Kind::String {
                mistake = mistake.help("put it in quotes");
            } else if matches!(node.value, Value::String(_)) {
                mistake = mistake
                    .help("take the quotes away, or declare the text as a variable's placeholder");
            }
            self.mistakes.push(mistake);
            Want::Nothing
        })
    }

    fn placeholders(&mut self, text: &str, at: u32, place: &Place) -> Option<Want> {
        let found = placeholder::read(text, place.kind, self.variables, self.literals);
        match found {
            Ok(None) => None,
            Ok(Some((want, used))) => {
                self.used.extend(used);
                Some(want)
            }
            Err((message, help)) => {
                // Used all the same: "never used" would only confuse.
                let pieces = crate::core::shape::text::split(text, self.variables);
                self.used.extend(pieces.into_iter().filter_map(Result::err));
                self.mistakes
                    .push(Mistake { help, ..Mistake::new(at, message).source(self.source) });
                Some(Want::Nothing)
            }
        }
    }
}

/// What a scalar without placeholders wants, if the API has that type there.
fn plain(node: &Node<'_>, kind: Kind) -> Option<Want> {
    Some(match (kind, &node.value) {
        (Kind::String | Kind::Unknown | Kind::IntOrString, Value::String(text)) => {
            Want::Text(text.to_string())
        }
        (Kind::Boolean | Kind::Unknown, Value::Bool(value)) => Want::Bool(*value),
        (
            Kind::Integer | Kind::IntOrString,
            Value::Number(number @ crate::core::tree::Number::Int(_)),
        )
        | (Kind::Unknown, Value::Number(number)) => Want::Number(*number),
        (Kind::Quantity { rounded }, Value::String(text)) => {
            let quantity = Quantity::parse(text)?;
            Want::Quantity(
                if rounded { quantity.rounded_to_milli() } else { quantity },
                text.to_string(),
            )
        }
        (Kind::Quantity { .. }, Value::Number(crate::core::tree::Number::Int(int))) => {
            Want::Quantity(Quantity::from_int(*int), int.to_string())
        }
        (Kind::Quantity { rounded }, Value::Number(crate::core::tree::Number::Float(float))) => {
            let text = float.to_string();
            let quantity = Quantity::parse(&text)?;
            Want::Quantity(if rounded { quantity.rounded_to_milli() } else { quantity }, text)
        }
        (Kind::Quantity { .. }, Value::Null) => {
            Want::Quantity(Quantity::from_int(0), "0".to_owned())
        }
        (Kind::Unknown, Value::Null) => Want::Null,
        _ => return None,
    })
}

/// What the API has at a place, in words.
#[must_use]
pub fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Unknown => "any value",
        Kind::String => "a string",
        Kind::Boolean => "a boolean",
        Kind::Integer => "an integer",
        Kind::Quantity { .. } => "a quantity",
        Kind::IntOrString => "an integer or a string",
        Kind::Struct(_) | Kind::Map(_) => "a map",
        Kind::List(_) => "a list",
    }
}
