//! The words of JSON Schema that `must` may use, read and checked by themselves.

use super::schema::{Additional, Schema, Sort, Type, is_of_type, number_of};
use crate::core::mistake::{Mistake, list_words, suggestion};
use crate::core::shape::constraint::{Setting, TextConstraint, ValueType};
use crate::core::shape::fields::Fields;
use crate::core::shape::pattern::whole_match;
use crate::core::shape::variables::setting_of;
use crate::core::tree::{Node, Value};

/// All the words.
pub const WORDS: [&str; 15] = [
    "type",
    "pattern",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "maxItems",
    "not",
    "anyOf",
];

/// Deepest nesting of schemas in one rule.
const MAX_DEPTH: usize = 16;
/// Most schemas in one rule.
const MAX_SCHEMAS: usize = 500;

/// The words that are about values of one sort only.
const SORTED: [(&str, Sort); 10] = [
    ("pattern", Sort::Text),
    ("minLength", Sort::Text),
    ("maxLength", Sort::Text),
    ("minimum", Sort::Number),
    ("maximum", Sort::Number),
    ("required", Sort::Map),
    ("properties", Sort::Map),
    ("additionalProperties", Sort::Map),
    ("items", Sort::List),
    ("maxItems", Sort::List),
];

impl Schema {
    /// Reads `must` of a rule; nothing when it is no schema at all.
    pub fn read(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Schema> {
        let known = mistakes.len();
        let mut reader = Reader { left: MAX_SCHEMAS, mistakes };
        let schema = reader.schema(node, 0, "`must` of a rule")?;
        if mistakes.len() == known && !schema.speaks() {
            let message = "`must` of a rule can never speak: everything satisfies it";
            let help = format!("say {}", list_words(&WORDS));
            mistakes.push(Mistake::new(node.at, message).help(help));
        }
        Some(schema)
    }
}

struct Reader<'m> {
    /// How many more schemas there may be.
    left: usize,
    mistakes: &'m mut Vec<Mistake>,
}

impl Reader<'_> {
    fn schema(&mut self, node: &Node<'_>, depth: usize, what: &'static str) -> Option<Schema> {
        if depth == MAX_DEPTH || self.left == 0 {
            if self.left > 0 || depth < MAX_DEPTH {
                let message = format!(
                    "`must` of a rule is too large: at most {MAX_DEPTH} levels and {MAX_SCHEMAS} schemas"
                );
                let mistake = Mistake::new(node.at, message);
                if !self.mistakes.iter().any(|m| m.message == mistake.message) {
                    self.mistakes.push(mistake);
                }
            }
            return None;
        }
        self.left -= 1;
        let known = &WORDS;
        let mut fields = Fields::of(node, what, known, self.mistakes)?;
        let of_type = read_type(&mut fields);
        check_words(&mut fields, of_type, what);
        let one_of = read_values(&mut fields, of_type, what);
        let text = read_text(&mut fields);
        let (minimum, maximum) = read_bounds(&mut fields, of_type, what);
        let required = fields.texts("required").into_iter();
        let required: Vec<(String, u32)> =
            required.map(|(text, at)| (text.to_owned(), at)).collect();
        let max_items = fields.count("maxItems");
        let any_of = fields.list("anyOf");
        for (word, is_empty) in [
            ("required", fields.get("required").is_some_and(|n| n.items().is_empty())),
            ("anyOf", fields.get("anyOf").is_some_and(|n| n.items().is_empty())),
            ("properties", fields.get("properties").is_some_and(|n| n.is_empty())),
        ] {
            if is_empty {
                fields.mistake(fields.key_at(word), format!("`{word}` of {what} is empty"));
            }
        }
        let get = |word: &str| node.get(word).filter(|n| n.value != Value::Null);
        let (properties, additional) = (get("properties"), get("additionalProperties"));
        let (items, not) = (get("items"), get("not"));
        let mut below = vec![];
        if let Some(properties) = properties {
            if !matches!(properties.value, Value::Map(_)) {
                let kind = properties.kind();
                let message = format!("`properties` of {what} is a map, not {kind}");
                self.mistakes.push(Mistake::new(properties.at, message));
            }
            for entry in properties.entries() {
                let schema = self.schema(&entry.node, depth + 1, "a schema in `properties`");
                below.push((entry.key.to_string(), entry.key_at, schema.unwrap_or_default()));
            }
        }
        let additional = match additional.map(|node| (node, &node.value)) {
            None | Some((_, Value::Bool(true))) => Additional::Any,
            Some((_, Value::Bool(false))) => Additional::Nothing,
            Some((node, _)) => self
                .speaking(node, depth, "`additionalProperties`")
                .map_or(Additional::Any, |s| Additional::Schema(Box::new(s))),
        };
        let items = items.and_then(|node| self.speaking(node, depth, "`items`")).map(Box::new);
        let not = not.and_then(|node| self.speaking(node, depth, "`not`")).map(Box::new);
        let any_of = any_of.iter();
        let any_of =
            any_of.filter_map(|node| self.speaking(node, depth, "a schema in `anyOf`")).collect();
        Some(Schema {
            of_type,
            text,
            minimum,
            maximum,
            one_of,
            required,
            properties: below,
            additional,
            items,
            max_items,
            not,
            any_of,
            at: node.at,
        })
    }

    /// A schema that is there to say something.
    fn speaking(&mut self, node: &Node<'_>, depth: usize, what: &'static str) -> Option<Schema> {
        let known = self.mistakes.len();
        let schema = self.schema(node, depth + 1, what)?;
        if self.mistakes.len() == known && !schema.speaks() {
            let message = format!("{what} says nothing: everything satisfies it");
            self.mistakes.push(Mistake::new(node.at, message));
        }
        Some(schema)
    }
}

fn read_type(fields: &mut Fields<'_, '_>) -> Option<Type> {
    let word = fields.text("type")?;
    let found = Type::ALL.into_iter().find(|t| t.word() == word);
    if found.is_none() {
        let at = fields.get("type").map_or(fields.at(), |n| n.at);
        let help = suggestion(word, &Type::ALL.map(Type::word));
        fields.mistakes().push(Mistake::new(at, format!("no type `{word}`")).help(help));
    }
    found
}

/// Words that say nothing beside each other.
fn check_words(fields: &mut Fields<'_, '_>, of_type: Option<Type>, what: &str) {
    let fixed = ["const", "enum"].into_iter().find(|word| fields.get(word).is_some());
    let allowed = match of_type {
        None => None,
        Some(Type::Scalar(ValueType::Text)) => Some(Some(Sort::Text)),
        Some(Type::Scalar(ValueType::Integer | ValueType::Quantity)) => Some(Some(Sort::Number)),
        Some(Type::Scalar(ValueType::Boolean)) => Some(None),
        Some(Type::Object) => Some(Some(Sort::Map)),
        Some(Type::Array) => Some(Some(Sort::List)),
    };
    let mut first: Option<(&str, Sort)> = None;
    for (word, sort) in SORTED {
        if fields.get(word).is_none() {
            continue;
        }
        let at = fields.key_at(word);
        if let Some(fixed) = fixed {
            fields.mistake(at, format!("`{word}` of {what} says nothing beside `{fixed}`"));
        } else if let (Some(of_type), Some(allowed)) = (of_type, allowed) {
            if allowed != Some(sort) {
                let word_of_type = of_type.word();
                fields.mistake(at, format!("`{word}` says nothing about type `{word_of_type}`"));
            }
        } else if let Some((other, _)) = first.filter(|(_, of_first)| *of_first != sort) {
            let message =
                format!("`{other}` and `{word}` of {what} are about values of different types");
            fields.mistake(at, message);
        }
        first = first.or(Some((word, sort)));
    }
}

/// `const` and `enum`.
fn read_values(
    fields: &mut Fields<'_, '_>,
    of_type: Option<Type>,
    what: &str,
) -> Vec<Node<'static>> {
    let values: Vec<&Node<'_>> = match (fields.get("const"), fields.get("enum")) {
        (Some(_), Some(_)) => {
            let message = format!("{what} has `const` or `enum`, not both");
            fields.mistake(fields.key_at("enum"), message);
            return vec![];
        }
        (Some(node), None) => vec![node],
        (None, Some(node)) => {
            let values = fields.list("enum");
            if values.is_empty() && matches!(node.value, Value::List(_)) {
                let message = format!("`enum` of {what} is empty: no value could ever pass");
                fields.mistake(fields.key_at("enum"), message);
            }
            values.iter().collect()
        }
        (None, None) => return vec![],
    };
    for value in &values {
        if holds_null(value) {
            let message = "null is the same as absent, and no value";
            fields.mistakes().push(
                Mistake::new(value.at, message).help("`absent: true` admits that it is missing"),
            );
        } else if let Some(of_type) = of_type
            && !is_of_type(of_type, value)
        {
            let message =
                format!("a value of type {} is expected, not {}", of_type.word(), value.kind());
            fields.mistake(value.at, message);
        }
    }
    values.into_iter().map(|node| node.clone().into_owned()).collect()
}

fn holds_null(node: &Node<'_>) -> bool {
    node.value == Value::Null
        || node.items().iter().any(holds_null)
        || node.entries().iter().any(|entry| holds_null(&entry.node))
}

fn read_text(fields: &mut Fields<'_, '_>) -> TextConstraint {
    let pattern = fields.text("pattern").and_then(|text| match whole_match(text) {
        Ok(regex) => Some((text.to_owned(), regex)),
        Err(why) => {
            let at = fields.get("pattern").map_or(fields.at(), |n| n.at);
            fields.mistake(at, format!("the pattern is no regular expression: {why}"));
            None
        }
    });
    let (min_length, max_length) = (fields.count("minLength"), fields.count("maxLength"));
    if let (Some(min), Some(max)) = (min_length, max_length)
        && min > max
    {
        fields.mistake(fields.key_at("maxLength"), "`maxLength` is below `minLength`");
    }
    TextConstraint { pattern, min_length, max_length }
}

fn read_bounds(
    fields: &mut Fields<'_, '_>,
    of_type: Option<Type>,
    what: &str,
) -> (Option<Setting>, Option<Setting>) {
    let mut bound = |key: &str| -> Option<Setting> {
        let node = fields.get(key)?;
        let scalar = match of_type {
            Some(Type::Scalar(scalar)) => scalar,
            _ if node.as_str().is_some() => ValueType::Quantity,
            _ => ValueType::Integer,
        };
        let setting = setting_of(node, scalar)
            .filter(|setting| matches!(setting, Setting::Int(_) | Setting::Quantity(..)));
        if setting.is_none() {
            let (wanted, found) = (scalar.word(), node.kind());
            let message = format!("`{key}` of {what} is a value of type {wanted}, not {found}");
            fields.mistake(node.at, message);
        }
        setting
    };
    let (minimum, maximum) = (bound("minimum"), bound("maximum"));
    if fields.get("maximum").is_some() && fields.get("minimum").is_none() {
        let at = fields.key_at("maximum");
        fields.mistakes().push(
            Mistake::new(at, format!("`maximum` of {what} needs a `minimum` beside it"))
                .help("0 means \"no limit\" in many places of Kubernetes, so both bounds are said"),
        );
    }
    if let (Some(low), Some(high)) = (&minimum, &maximum)
        && number_of(low) > number_of(high)
    {
        fields.mistake(fields.key_at("maximum"), "`maximum` is below `minimum`");
    }
    (minimum, maximum)
}
