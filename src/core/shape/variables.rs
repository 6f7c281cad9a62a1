//! Reading `spec.variables`: names, placeholders, constraints and examples.

use crate::core::kubernetes::quantity::Quantity;
use crate::core::mistake::{Mistake, suggestion};
use crate::core::shape::constraint::{Constraint, Setting, TextConstraint, ValueType};
use crate::core::shape::document::{Placed, read_selector};
use crate::core::shape::fields::Fields;
use crate::core::shape::pattern::whole_match;
use crate::core::shape::variable::{Variable, VariableId, Variables};
use crate::core::tree::{Node, Number, Value};

const KEYS: [&str; 12] = [
    "type",
    "pattern",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "example",
    "placeholder",
    "at",
    "expansion",
];

/// Reads the variables of a shape, and their places.
pub fn read_variables(
    node: &Node<'_>,
    mistakes: &mut Vec<Mistake>,
) -> (Variables, Vec<(VariableId, Placed)>) {
    let mut variables = Variables::default();
    let mut places = vec![];
    if !matches!(node.value, Value::Map(_)) {
        mistakes.push(Mistake::new(
            node.at,
            format!("`variables` of spec is a map, not {}", node.kind()),
        ));
    }
    for entry in node.entries() {
        if !is_name(&entry.key) || matches!(&*entry.key, "true" | "false") {
            mistakes.push(
                Mistake::new(entry.key_at, format!("`{}` is no variable name", entry.key)).help(
                    if matches!(&*entry.key, "true" | "false") {
                        "YAML reads this name as true or false: put it in quotes"
                    } else {
                        "a letter, then letters, digits, `_` or `-`"
                    },
                ),
            );
        }
        let Some(mut fields) = Fields::of(&entry.node, "a variable", &KEYS, mistakes) else {
            continue;
        };
        let constraint = read_constraint(&mut fields);
        let example = read_example(&mut fields, constraint.as_ref());
        let at = fields.texts("at");
        let placeholder = match fields.text("placeholder") {
            Some("") => {
                fields.mistake(
                    fields.key_at("placeholder"),
                    "the placeholder of a variable is empty",
                );
                format!("<{}>", entry.key)
            }
            Some(text) => text.to_owned(),
            None => format!("<{}>", entry.key),
        };
        let id = VariableId(u16::try_from(variables.iter().count()).unwrap_or(u16::MAX));
        for (text, at) in at {
            if let Some(place) = read_selector(text, at, fields.mistakes()) {
                places.push((id, place));
            }
        }
        let expansion = fields.flag("expansion");
        let broken = constraint.is_none();
        variables.push(Variable {
            broken,
            name: entry.key.to_string(),
            placeholder,
            constraint: constraint.unwrap_or(Constraint::Text(TextConstraint::default())),
            example,
            expansion,
            written_at: entry.key_at,
        });
    }
    check_placeholders(&variables, mistakes);
    (variables, places)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 63
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn check_placeholders(variables: &Variables, mistakes: &mut Vec<Mistake>) {
    for (id, variable) in variables.iter() {
        for (other_id, other) in variables.iter() {
            let contains = other.placeholder.contains(&variable.placeholder);
            if id != other_id
                && contains
                && (id < other_id || other.placeholder != variable.placeholder)
            {
                mistakes.push(Mistake::new(
                    other.written_at,
                    format!(
                        "the placeholder `{}` of `{}` contains `{}`, the one of `{}`",
                        other.placeholder, other.name, variable.placeholder, variable.name
                    ),
                ));
            }
        }
    }
}

fn read_type(fields: &mut Fields<'_, '_>) -> Option<ValueType> {
    const TYPES: [ValueType; 4] =
        [ValueType::Text, ValueType::Integer, ValueType::Boolean, ValueType::Quantity];
    let word = fields.text("type")?;
    let found = TYPES.into_iter().find(|t| t.word() == word);
    if found.is_none() {
        let at = fields.get("type").map_or(fields.at(), |n| n.at);
        let help = suggestion(word, &TYPES.map(ValueType::word));
        fields.mistakes().push(Mistake::new(at, format!("no type `{word}`")).help(help));
    }
    found
}

fn read_constraint(fields: &mut Fields<'_, '_>) -> Option<Constraint> {
    let said = read_type(fields);
    if fields.get("type").is_some() && said.is_none() {
        return None;
    }
    let fixed: Vec<&Node<'_>> = match (fields.get("const"), fields.get("enum")) {
        (Some(_), Some(_)) => {
            fields.mistake(fields.key_at("enum"), "a variable has `const` or `enum`, not both");
            return None;
        }
        (Some(node), None) => vec![node],
        (None, Some(_)) => fields.list("enum").iter().collect(),
        (None, None) => vec![],
    };
    if fields.get("enum").is_some_and(|n| n.items().is_empty()) {
        fields.mistake(
            fields.key_at("enum"),
            "`enum` of a variable is empty: no value could ever pass",
        );
        return None;
    }
    let kind = said.or_else(|| fixed.first().map(|n| natural_type(n))).unwrap_or(ValueType::Text);
    let allowed: &[&str] = match (fixed.is_empty(), kind) {
        (false, _) => &[],
        (true, ValueType::Text) => &["pattern", "minLength", "maxLength"],
        (true, ValueType::Integer | ValueType::Quantity) => &["minimum", "maximum"],
        (true, ValueType::Boolean) => &[],
    };
    for word in ["pattern", "minLength", "maxLength", "minimum", "maximum"] {
        if fields.get(word).is_some() && !allowed.contains(&word) {
            let beside = if fixed.is_empty() {
                format!("a {}", kind.word())
            } else {
                "const or enum".to_owned()
            };
            fields.mistake(fields.key_at(word), format!("`{word}` says nothing about {beside}"));
        }
    }
    if !fixed.is_empty() {
        let values: Vec<Option<Setting>> =
            fixed.iter().map(|n| read_setting(n, kind, fields)).collect();
        return Some(Constraint::OneOf(values.into_iter().collect::<Option<_>>()?));
    }
    match kind {
        ValueType::Text => read_text_constraint(fields),
        ValueType::Boolean => Some(Constraint::Boolean),
        ValueType::Integer | ValueType::Quantity => read_bounds(fields, kind),
    }
}

fn natural_type(node: &Node<'_>) -> ValueType {
    match node.value {
        Value::Bool(_) => ValueType::Boolean,
        Value::Number(_) => ValueType::Integer,
        _ => ValueType::Text,
    }
}

fn read_text_constraint(fields: &mut Fields<'_, '_>) -> Option<Constraint> {
    let pattern = match fields.text("pattern") {
        None => None,
        Some(text) => match whole_match(text) {
            Ok(regex) => Some((text.to_owned(), regex)),
            Err(why) => {
                let at = fields.get("pattern").map_or(fields.at(), |n| n.at);
                fields.mistake(at, format!("the pattern is no regular expression: {why}"));
                return None;
            }
        },
    };
    let constraint = TextConstraint {
        pattern,
        min_length: fields.count("minLength"),
        max_length: fields.count("maxLength"),
    };
    if constraint.pattern.is_none() && constraint.max_length.is_none() {
        let at = fields.at();
        fields.mistakes().push(
            Mistake::new(at, "a variable needs a constraint: any string would pass")
                .help("say `pattern`, `enum`, `const`, `maxLength`, or another `type`"),
        );
    }
    Some(Constraint::Text(constraint))
}

fn read_bounds(fields: &mut Fields<'_, '_>, kind: ValueType) -> Option<Constraint> {
    let mut bound = |key: &str| -> Option<Setting> {
        let Some(node) = fields.get(key) else {
            let at = fields.at();
            fields.mistakes().push(
                Mistake::new(at, format!("a variable of type {} needs `{key}`", kind.word())).help(
                    "0 means \"no limit\" in many places of Kubernetes, so both bounds are said",
                ),
            );
            return None;
        };
        read_setting(node, kind, fields)
    };
    let (minimum, maximum) = (bound("minimum"), bound("maximum"));
    let constraint = match (minimum?, maximum?) {
        (Setting::Int(minimum), Setting::Int(maximum)) => Constraint::Integer { minimum, maximum },
        (Setting::Quantity(low, low_text), Setting::Quantity(high, high_text)) => {
            Constraint::Quantity { minimum: (low, low_text), maximum: (high, high_text) }
        }
        _ => return None,
    };
    let empty = match &constraint {
        Constraint::Integer { minimum, maximum } => minimum > maximum,
        Constraint::Quantity { minimum, maximum } => minimum.0 > maximum.0,
        _ => false,
    };
    if empty {
        fields.mistake(fields.key_at("maximum"), "`maximum` of a variable is below its `minimum`");
        return None;
    }
    Some(constraint)
}

/// A value written in the shape, in the variable's type.
fn read_setting(node: &Node<'_>, kind: ValueType, fields: &mut Fields<'_, '_>) -> Option<Setting> {
    let setting = setting_of(node, kind);
    if setting.is_none() {
        fields.mistakes().push(
            Mistake::new(
                node.at,
                format!("a value of type {} is expected, not {}", kind.word(), node.kind()),
            )
            .help(match kind {
                ValueType::Text => "put it in quotes",
                ValueType::Quantity => "a quantity is written like `64Mi` or `500m`",
                ValueType::Integer => "an integer is written without quotes",
                ValueType::Boolean => "write true or false",
            }),
        );
    }
    setting
}

/// The value that a scalar is, in a type; nothing is coerced but an integer to a quantity.
#[must_use]
pub fn setting_of(node: &Node<'_>, kind: ValueType) -> Option<Setting> {
    match kind {
        ValueType::Text => node.as_str().map(|t| Setting::Text(t.to_owned())),
        ValueType::Integer => node.as_int().map(Setting::Int),
        ValueType::Boolean => node.as_bool().map(Setting::Bool),
        ValueType::Quantity => {
            let text = match &node.value {
                Value::String(text) => text.to_string(),
                Value::Number(Number::Int(int)) => int.to_string(),
                Value::Number(Number::Unsigned(int)) => int.to_string(),
                Value::Number(Number::Float(float)) => float.to_string(),
                _ => return None,
            };
            Quantity::parse(&text).map(|q| Setting::Quantity(q, text))
        }
    }
}

fn read_example(fields: &mut Fields<'_, '_>, constraint: Option<&Constraint>) -> Option<Setting> {
    let constraint = constraint?;
    if let Some(node) = fields.get("example") {
        // An example of an integer may be written as the string it becomes inside one.
        let setting = setting_of(node, constraint.value_type())
            .or_else(|| node.as_str().and_then(|text| constraint.read_text(text)));
        let Some(setting) = setting else {
            return read_setting(node, constraint.value_type(), fields);
        };
        if !constraint.accepts(&setting) {
            fields.mistake(
                node.at,
                format!("the example does not satisfy its own variable: {}", constraint.describe()),
            );
        }
        return Some(setting);
    }
    match constraint {
        Constraint::OneOf(values) => values.first().cloned(),
        Constraint::Text(_)
        | Constraint::Integer { .. }
        | Constraint::Boolean
        | Constraint::Quantity { .. } => {
            if fields.get("at").is_none() {
                let at = fields.at();
                fields.mistakes().push(
                    Mistake::new(at, "a variable needs an `example`")
                        .help("`fill`, the tests and the canary use it; an enum, a const or a sample at `at` has one"),
                );
            }
            None
        }
    }
}
