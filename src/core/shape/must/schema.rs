//! What must hold of a value: the words of JSON Schema that `must` may use.

use crate::core::kubernetes::quantity::Quantity;
use crate::core::shape::constraint::{Setting, TextConstraint, ValueType};
use crate::core::shape::variables::setting_of;
use crate::core::tree::{Node, Value};

/// What must hold of a value.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `type`.
    pub of_type: Option<Type>,
    /// `pattern`, `minLength`, `maxLength`.
    pub text: TextConstraint,
    /// `minimum`.
    pub minimum: Option<Setting>,
    /// `maximum`.
    pub maximum: Option<Setting>,
    /// `enum`, or `const` as the only one.
    pub one_of: Vec<Node<'static>>,
    /// `required`, and where each stands.
    pub required: Vec<(String, u32)>,
    /// `properties`, and where each key stands.
    pub properties: Vec<(String, u32, Schema)>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `items`.
    pub items: Option<Box<Schema>>,
    /// `maxItems`.
    pub max_items: Option<usize>,
    /// `not`.
    pub not: Option<Box<Schema>>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// Where it is written.
    pub at: u32,
}

/// What other properties there may be.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Any.
    #[default]
    Any,
    /// None.
    Nothing,
    /// Those of which this holds.
    Schema(Box<Schema>),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A scalar.
    Scalar(ValueType),
    /// `object`
    Object,
    /// `array`
    Array,
}

impl Type {
    pub(super) const ALL: [Type; 6] = [
        Type::Scalar(ValueType::Text),
        Type::Scalar(ValueType::Integer),
        Type::Scalar(ValueType::Boolean),
        Type::Object,
        Type::Array,
        Type::Scalar(ValueType::Quantity),
    ];

    /// The word in a shape.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Type::Scalar(scalar) => scalar.word(),
            Type::Object => "object",
            Type::Array => "array",
        }
    }

    /// What a value of the type is, in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Type::Scalar(ValueType::Text) => "a string",
            Type::Scalar(ValueType::Integer) => "an integer",
            Type::Scalar(ValueType::Boolean) => "true or false",
            Type::Scalar(ValueType::Quantity) => "a quantity",
            Type::Object => "a map",
            Type::Array => "a list",
        }
    }
}

/// What sort of value the words of a schema are about, whether it says a type or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A string.
    Text,
    /// An integer or a quantity.
    Number,
    /// A map.
    Map,
    /// A list.
    List,
}

impl Schema {
    /// Whether there is any value that does not satisfy it, as far as its words tell.
    #[must_use]
    pub fn speaks(&self) -> bool {
        self.of_type.is_some()
            || self.text.pattern.is_some()
            || self.text.min_length.is_some_and(|min| min > 0)
            || self.text.max_length.is_some()
            || self.minimum.is_some()
            || self.maximum.is_some()
            || !self.one_of.is_empty()
            || !self.required.is_empty()
            || self.properties.iter().any(|(_, _, schema)| schema.speaks())
            || match &self.additional {
                Additional::Any => false,
                Additional::Nothing => true,
                Additional::Schema(schema) => schema.speaks(),
            }
            || self.items.as_ref().is_some_and(|items| items.speaks())
            || self.max_items.is_some()
            || self.not.is_some()
            || (!self.any_of.is_empty() && self.any_of.iter().all(Schema::speaks))
    }

    /// The sort of value that its words are about.
    #[must_use]
    pub fn sort(&self) -> Option<Sort> {
        let text = &self.text;
        if text.pattern.is_some() || text.min_length.is_some() || text.max_length.is_some() {
            Some(Sort::Text)
        } else if self.minimum.is_some() || self.maximum.is_some() {
            Some(Sort::Number)
        } else if !self.required.is_empty()
            || !self.properties.is_empty()
            || !matches!(self.additional, Additional::Any)
        {
            Some(Sort::Map)
        } else if self.items.is_some() || self.max_items.is_some() {
            Some(Sort::List)
        } else {
            None
        }
    }
}

/// Whether a value is of a type.
#[must_use]
pub fn is_of_type(of_type: Type, node: &Node<'_>) -> bool {
    match of_type {
        Type::Scalar(ValueType::Integer) => matches!(
            node.value,
            Value::Number(
                crate::core::tree::Number::Int(_) | crate::core::tree::Number::Unsigned(_)
            )
        ),
        Type::Scalar(scalar) => setting_of(node, scalar).is_some(),
        Type::Object => matches!(node.value, Value::Map(_)),
        Type::Array => matches!(node.value, Value::List(_)),
    }
}

/// A bound as an exact decimal.
#[must_use]
pub fn number_of(bound: &Setting) -> Option<Quantity> {
    match bound {
        Setting::Int(int) => Some(Quantity::from_int(*int)),
        Setting::Quantity(quantity, _) => Some(quantity.clone()),
        Setting::Text(_) | Setting::Bool(_) => None,
    }
}
