//! Does a schema hold of a value? By value, as the server understands it: `1` is the quantity
//! `1000m`.

use crate::core::kubernetes::api::{Api, Kind};
use crate::core::kubernetes::quantity::Quantity;
use crate::core::path::{Step, cut};
use crate::core::shape::constraint::{Setting, ValueType};
use crate::core::shape::must::schema::{Additional, Schema, Sort, Type, number_of};
use crate::core::tree::{Node, Number, Value};

use super::{child_kind, is_keyless, item_step, member};

/// A place where a schema does not hold.
#[derive(Debug)]
pub struct Violation<'w, 'j> {
    /// The place.
    pub path: Vec<Step<'w>>,
    /// What is wrong there; never a value of the object.
    pub message: String,
    /// Whether nothing stands there.
    pub missing: bool,
    /// What stands there, or in what it is missing.
    pub value: &'w Node<'j>,
    /// The outermost item of a list without keys that it is in.
    pub item: Option<&'w Node<'j>>,
}

/// Looks at values and keeps where schemas do not hold.
pub struct Holding<'a, 'w, 'j> {
    api: &'static Api,
    path: &'a mut Vec<Step<'w>>,
    item: Option<&'w Node<'j>>,
    violations: &'a mut Vec<Violation<'w, 'j>>,
}

impl<'a, 'w, 'j> Holding<'a, 'w, 'j> {
    /// At a place, perhaps inside of an item of a list without keys.
    pub fn new(
        api: &'static Api,
        path: &'a mut Vec<Step<'w>>,
        item: Option<&'w Node<'j>>,
        violations: &'a mut Vec<Violation<'w, 'j>>,
    ) -> Self {
        Holding { api, path, item, violations }
    }

    fn say(&mut self, value: &'w Node<'j>, message: String) {
        let path = self.path.clone();
        self.violations.push(Violation { path, message, missing: false, value, item: self.item });
    }

    /// Nothing stands at the place, inside `parent`.
    pub fn missing(&mut self, schema: &Schema, parent: &'w Node<'j>) {
        let message = match describe(schema) {
            Some(wanted) => format!("missing; it must be there, and be {wanted}"),
            None => "missing; it must be there".to_owned(),
        };
        let path = self.path.clone();
        self.violations.push(Violation {
            path,
            message,
            missing: true,
            value: parent,
            item: self.item,
        });
    }

    /// Keeps every place below the value where the schema does not hold.
    pub fn holds(&mut self, schema: &'w Schema, kind: Kind, node: &'w Node<'j>) {
        if !is_scalar_ok(schema, kind, node) {
            let wanted = describe(schema).unwrap_or_else(|| "something else".to_owned());
            self.say(node, format!("must be {wanted}"));
            return;
        }
        self.map(schema, kind, node);
        self.list(schema, kind, node);
        if let Some(not) = &schema.not
            && self.is_so(not, kind, node)
        {
            let message = match describe(not) {
                Some(what) => format!("must not be {what}"),
                None => "must not be like this: see `not` of the rule".to_owned(),
            };
            self.say(node, message);
        }
        if !schema.any_of.is_empty() && !schema.any_of.iter().any(|one| self.is_so(one, kind, node))
        {
            let all: Option<Vec<String>> = schema.any_of.iter().map(describe).collect();
            let message = match all {
                Some(all) => format!("must be {}", all.join(", or ")),
                None => "none of the alternatives in `anyOf` of the rule holds".to_owned(),
            };
            self.say(node, message);
        }
    }

    fn is_so(&self, schema: &'w Schema, kind: Kind, node: &'w Node<'j>) -> bool {
        let (mut path, mut violations) = (vec![], vec![]);
        Holding::new(self.api, &mut path, None, &mut violations).holds(schema, kind, node);
        violations.is_empty()
    }

    fn map(&mut self, schema: &'w Schema, kind: Kind, node: &'w Node<'j>) {
        for (name, _) in &schema.required {
            if member(self.api, kind, node, name).is_none() {
                let below = schema.properties.iter().find(|(of, ..)| of == name);
                self.path.push(Step::Key(name));
                let nothing = Schema::default();
                self.missing(below.map_or(&nothing, |(.., below)| below), node);
                self.path.pop();
            }
        }
        for (name, _, below) in &schema.properties {
            if let Some(found) = member(self.api, kind, node, name) {
                self.path.push(Step::Key(name));
                self.holds(below, child_kind(self.api, kind, name), found);
                self.path.pop();
            }
        }
        if matches!(schema.additional, Additional::Any) {
            return;
        }
        let is_named = |key: &str| schema.properties.iter().any(|(name, ..)| name == key);
        for entry in node.entries().iter().filter(|entry| !is_named(&entry.key)) {
            self.path.push(Step::Key(&entry.key));
            match &schema.additional {
                Additional::Schema(below) => {
                    self.holds(below, child_kind(self.api, kind, &entry.key), &entry.node);
                }
                _ => self.say(&entry.node, format!("`{}` must not be there", cut(&entry.key))),
            }
            self.path.pop();
        }
    }

    fn list(&mut self, schema: &'w Schema, kind: Kind, node: &'w Node<'j>) {
        let items = node.items();
        if let Some(max) = schema.max_items.filter(|max| items.len() > *max) {
            let message = match max {
                0 => "must have no items".to_owned(),
                1 => "must have at most 1 item".to_owned(),
                max => format!("must have at most {max} items"),
            };
            self.say(node, message);
        }
        let (Some(below), Kind::List(list)) = (&schema.items, kind) else { return };
        let list = self.api.list(list);
        for (index, item) in items.iter().enumerate() {
            let outside = self.item;
            let step = item_step(self.api, list, index, item);
            if is_keyless(&step) {
                self.item = outside.or(Some(item));
            }
            self.path.push(step);
            self.holds(below, list.item, item);
            self.path.pop();
            self.item = outside;
        }
    }
}

/// Whether what the words say about a value by itself holds: its type, its text, its size, and the
/// values that it may be.
fn is_scalar_ok(schema: &Schema, kind: Kind, node: &Node<'_>) -> bool {
    let number = || number(kind, node);
    let within = || {
        let low = schema.minimum.as_ref().and_then(number_of);
        let high = schema.maximum.as_ref().and_then(number_of);
        number().is_some_and(|found| {
            low.is_none_or(|low| low <= found) && high.is_none_or(|high| found <= high)
        })
    };
    let text = &schema.text;
    let says_text =
        text.pattern.is_some() || text.min_length.is_some() || text.max_length.is_some();
    let says_number = schema.minimum.is_some() || schema.maximum.is_some();
    schema.of_type.is_none_or(|of_type| is_type(of_type, kind, node))
        && (!says_text || node.as_str().is_some_and(|found| text.accepts(found)))
        && (!says_number || within())
        && (schema.one_of.is_empty()
            || schema.one_of.iter().any(|wanted| is_equal(kind, wanted, node)))
        && match schema.sort() {
            Some(Sort::Map) => {
                matches!(node.value, Value::Map(_))
            }
            Some(Sort::List) => {
                matches!(node.value, Value::List(_))
            }
            _ => true,
        }
}

fn is_type(of_type: Type, kind: Kind, node: &Node<'_>) -> bool {
    match of_type {
        Type::Scalar(ValueType::Text) => node.as_str().is_some(),
        Type::Scalar(ValueType::Integer) => {
            matches!(node.value, Value::Number(Number::Int(_) | Number::Unsigned(_)))
        }
        Type::Scalar(ValueType::Boolean) => node.as_bool().is_some(),
        Type::Scalar(ValueType::Quantity) => number(kind, node).is_some(),
        Type::Object => matches!(node.value, Value::Map(_)),
        Type::Array => matches!(node.value, Value::List(_)),
    }
}

/// A number or a quantity as an exact decimal, rounded as the server does where it stands.
fn number(kind: Kind, node: &Node<'_>) -> Option<Quantity> {
    let number = match &node.value {
        Value::Number(Number::Int(int)) => Quantity::from_int(*int),
        Value::Number(Number::Unsigned(int)) => Quantity::parse(&int.to_string())?,
        // What YAML reads as a float reaches the server as its shortest digits.
        Value::Number(Number::Float(float)) => Quantity::parse(&float.to_string())?,
        Value::String(text) => Quantity::parse(text)?,
        _ => return None,
    };
    let is_rounded = matches!(kind, Kind::Quantity { rounded: true });
    Some(if is_rounded { number.rounded_to_milli() } else { number })
}

fn is_equal(kind: Kind, wanted: &Node<'_>, found: &Node<'_>) -> bool {
    match kind {
        Kind::Quantity { .. } => {
            let wanted = number(kind, wanted);
            wanted.is_some() && wanted == number(kind, found)
        }
        // By value: where it was read does not count.
        _ => wanted.to_json() == found.to_json(),
    }
}

/// What a value must be, in words; nothing where the words are about what is inside it.
fn describe(schema: &Schema) -> Option<String> {
    let mut all: Vec<String> = vec![];
    if !schema.one_of.is_empty() {
        let words: Vec<String> =
            schema.one_of.iter().map(|value| format!("`{}`", plain(value))).collect();
        all.push(match &words[..] {
            [only] => only.clone(),
            words => format!("one of {}", words.join(", ")),
        });
    } else if let Some(of_type) = schema.of_type {
        all.push(of_type.describe().to_owned());
    }
    let text = &schema.text;
    if text.pattern.is_some() || text.min_length.is_some() || text.max_length.is_some() {
        all = vec![text.describe()];
    }
    let shown = |bound: &Setting| bound.to_text();
    match (&schema.minimum, &schema.maximum) {
        (Some(low), Some(high)) => all.push(format!("from {} to {}", shown(low), shown(high))),
        (Some(low), None) => all.push(format!("at least {}", shown(low))),
        (None, Some(high)) => all.push(format!("at most {}", shown(high))),
        (None, None) => {}
    }
    (!all.is_empty()).then(|| all.join(" "))
}

fn plain(value: &Node<'_>) -> String {
    value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned)
}
