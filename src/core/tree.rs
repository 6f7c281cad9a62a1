//! The one tree that JSON bytes and YAML text both become.
//!
//! Strings are borrowed from the input where they stand there unescaped, children keep the order
//! of the document, and every node remembers where it began, so that a finding can show the line.
//! Nothing here knows Kubernetes: a field newer than this program is a node like any other.

use std::borrow::Cow;

/// Most nodes a tree may have; beyond it the reader refuses. No committed template is that large.
pub const MAX_NODES: usize = 200_000;

/// Deepest nesting a tree may have. The API server's own limit is far beyond any Job.
pub const MAX_DEPTH: usize = 128;

/// The offset of a node that was not read from a text with positions.
pub const NOWHERE: u32 = u32::MAX;

/// One value of a document, and where it began.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// What stands there.
    pub value: Value<'a>,
    /// Byte offset into the source text, or [`NOWHERE`].
    pub at: u32,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `null`, or nothing at all in YAML.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, exact as long as it is an integer of 64 bits.
    Number(Number),
    /// A string, byte for byte.
    String(Cow<'a, str>),
    /// A list, in the order of the document.
    List(Vec<Node<'a>>),
    /// A map, in the order of the document. Readers of files refuse duplicate keys; a reader of
    /// requests keeps them, and the judge calls the second one a deviation.
    Map(Vec<Entry<'a>>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Byte offset of the key, or [`NOWHERE`].
    pub key_at: u32,
    /// The value.
    pub node: Node<'a>,
}

/// A JSON number. Integers are never taken through a double: two that differ only beyond 2^53
/// are different Jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that an `i64` holds.
    Int(i64),
    /// An integer above `i64::MAX` that a `u64` holds.
    Unsigned(u64),
    /// Anything else. A float without fraction that an `i64` holds exactly is an [`Number::Int`]:
    /// kubectl sends `5.0` as `5`.
    Float(f64),
}

impl Number {
    /// A number from a float as kubectl's JSON encoder would send it: without fraction, the integer
    /// that its shortest digits spell. Beyond 2^53 that is not the float's exact value: Go prints
    /// the double next to 1234567890123456789 as 1234567890123456800.
    #[must_use]
    pub fn from_f64(float: f64) -> Self {
        // Beyond 2^53 a double has more digits than it means.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        // Beyond 10^21 Go writes an exponent, and nothing there is an integer of 64 bits.
        const PLAIN: f64 = 1e21;
        if float.fract() != 0.0 || !float.is_finite() || float.abs() >= PLAIN {
            return Number::Float(float);
        }
        if float.abs() <= EXACT {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be in range and whole"
            )]
            return Number::Int(float as i64);
        }
        let digits = float.to_string();
        match (digits.parse(), digits.parse()) {
            (Ok(int), _) => Number::Int(int),
            (_, Ok(unsigned)) => Number::Unsigned(unsigned),
            _ => Number::Float(float),
        }
    }
}

impl<'a> Node<'a> {
    /// A node that was not read from any text.
    #[must_use]
    pub fn new(value: Value<'a>) -> Self {
        Node { value, at: NOWHERE }
    }

    /// The child under `key`, if this is a map that has it. Linear: maps of a Job are short.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entries().iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The entries of a map; none for anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry<'a>] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Whether this is a list or map without anything in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.value {
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// The text of a string node.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean node.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The value of an integer node.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self.value {
            Value::Number(Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// What kind of value this is, as a word for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(Number::Float(_)) => "a number",
            Value::Number(_) => "an integer",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The same tree, owning its strings.
    #[must_use]
    pub fn into_owned(self) -> Node<'static> {
        let value = match self.value {
            Value::Null => Value::Null,
            Value::Bool(b) => Value::Bool(b),
            Value::Number(n) => Value::Number(n),
            Value::String(s) => Value::String(Cow::Owned(s.into_owned())),
            Value::List(items) => Value::List(items.into_iter().map(Node::into_owned).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|e| Entry {
                        key: Cow::Owned(e.key.into_owned()),
                        key_at: e.key_at,
                        node: e.node.into_owned(),
                    })
                    .collect(),
            ),
        };
        Node { value, at: self.at }
    }

    /// The same tree with its strings borrowed from this one: a copy that is cheap to change.
    #[must_use]
    pub fn borrowed(&self) -> Node<'_> {
        let value = match &self.value {
            Value::Null => Value::Null,
            Value::Bool(b) => Value::Bool(*b),
            Value::Number(n) => Value::Number(*n),
            Value::String(s) => Value::String(Cow::Borrowed(s)),
            Value::List(items) => Value::List(items.iter().map(Node::borrowed).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|e| Entry {
                        key: Cow::Borrowed(&e.key),
                        key_at: e.key_at,
                        node: e.node.borrowed(),
                    })
                    .collect(),
            ),
        };
        Node { value, at: self.at }
    }

    /// This tree as a `serde_json` value, for patches and for printing; positions are lost and a
    /// float that JSON cannot hold becomes null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(b) => Json::Bool(*b),
            Value::Number(Number::Int(i)) => Json::from(*i),
            Value::Number(Number::Unsigned(u)) => Json::from(*u),
            Value::Number(Number::Float(f)) => Json::from(*f),
            Value::String(s) => Json::String(s.clone().into_owned()),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|e| (e.key.clone().into_owned(), e.node.to_json())).collect(),
            ),
        }
    }

    /// A tree from a `serde_json` value, without positions.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Node<'static> {
        use serde_json::Value as Json;
        Node::new(match json {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => Value::Number(match (n.as_i64(), n.as_u64(), n.as_f64()) {
                (Some(i), _, _) => Number::Int(i),
                (None, Some(u), _) => Number::Unsigned(u),
                (None, None, f) => Number::from_f64(f.unwrap_or(f64::NAN)),
            }),
            Json::String(s) => Value::String(Cow::Owned(s.clone())),
            Json::Array(items) => Value::List(items.iter().map(Node::from_json).collect()),
            Json::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| Entry {
                        key: Cow::Owned(key.clone()),
                        key_at: NOWHERE,
                        node: Node::from_json(value),
                    })
                    .collect(),
            ),
        })
    }
}
