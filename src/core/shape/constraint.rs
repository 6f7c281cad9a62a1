//! What a variable's value may be: the JSON Schema words, compiled.

use std::sync::Arc;

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::core::kubernetes::quantity::Quantity;

/// A value that a variable has somewhere, in the type it has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A string.
    Text(String),
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
    /// A quantity, and the text it was written as.
    Quantity(Quantity, String),
}

impl Setting {
    /// Whether both are the same value of the variable; quantities compare by number.
    #[must_use]
    pub fn same(&self, other: &Setting) -> bool {
        match (self, other) {
            (Setting::Quantity(a, _), Setting::Quantity(b, _)) => a == b,
            _ => self == other,
        }
    }

    /// The value as text, as it stands inside a string.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Setting::Text(text) | Setting::Quantity(_, text) => text.clone(),
            Setting::Int(int) => int.to_string(),
            Setting::Bool(value) => value.to_string(),
        }
    }
}

/// What a variable's value may be.
#[derive(Debug, Clone)]
pub enum Constraint {
    /// A string.
    Text(TextConstraint),
    /// An integer between two bounds, inclusive.
    Integer {
        /// Smallest value.
        minimum: i64,
        /// Largest value.
        maximum: i64,
    },
    /// A boolean.
    Boolean,
    /// A quantity between two bounds, inclusive.
    Quantity {
        /// Smallest value, and its text.
        minimum: (Quantity, String),
        /// Largest value, and its text.
        maximum: (Quantity, String),
    },
    /// One of these values, of one type.
    OneOf(Vec<Setting>),
}

/// The words that constrain a string.
#[derive(Debug, Clone, Default)]
pub struct TextConstraint {
    /// The pattern as written, and compiled to match the whole value.
    pub pattern: Option<(String, Arc<Regex>)>,
    /// Fewest characters.
    pub min_length: Option<usize>,
    /// Most characters.
    pub max_length: Option<usize>,
}

/// The type a variable's values have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// `string`
    Text,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `quantity`
    Quantity,
}

impl ValueType {
    /// The word in a shape.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ValueType::Text => "string",
            ValueType::Integer => "integer",
            ValueType::Boolean => "boolean",
            ValueType::Quantity => "quantity",
        }
    }
}

impl Constraint {
    /// The type of the values.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        match self {
            Constraint::Text(_) => ValueType::Text,
            Constraint::Integer { .. } => ValueType::Integer,
            Constraint::Boolean => ValueType::Boolean,
            Constraint::Quantity { .. } => ValueType::Quantity,
            Constraint::OneOf(values) => match values.first() {
                Some(Setting::Int(_)) => ValueType::Integer,
                Some(Setting::Bool(_)) => ValueType::Boolean,
                Some(Setting::Quantity(..)) => ValueType::Quantity,
                Some(Setting::Text(_)) | None => ValueType::Text,
            },
        }
    }

    /// Whether the value may be this one.
    #[must_use]
    pub fn accepts(&self, value: &Setting) -> bool {
        match (self, value) {
            (Constraint::Text(text), Setting::Text(value)) => text.accepts(value),
            (Constraint::Integer { minimum, maximum }, Setting::Int(value)) => {
                minimum <= value && value <= maximum
            }
            (Constraint::Boolean, Setting::Bool(_)) => true,
            (Constraint::Quantity { minimum, maximum }, Setting::Quantity(value, _)) => {
                minimum.0 <= *value && *value <= maximum.0
            }
            (Constraint::OneOf(values), value) => values.iter().any(|v| v.same(value)),
            _ => false,
        }
    }

    /// The value that a text inside a longer string is, if its form allows it: an integer is
    /// `0|-?[1-9][0-9]*`.
    #[must_use]
    pub fn read_text(&self, text: &str) -> Option<Setting> {
        match self.value_type() {
            ValueType::Text => Some(Setting::Text(text.to_owned())),
            ValueType::Integer => {
                let int: i64 = text.parse().ok()?;
                (int.to_string() == text).then_some(Setting::Int(int))
            }
            ValueType::Boolean => match text {
                "true" => Some(Setting::Bool(true)),
                "false" => Some(Setting::Bool(false)),
                _ => None,
            },
            ValueType::Quantity => {
                Quantity::parse(text).map(|q| Setting::Quantity(q, text.to_owned()))
            }
        }
    }

    /// What the value may be, for a message.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Constraint::Text(text) => text.describe(),
            Constraint::Integer { minimum, maximum } => {
                format!("an integer from {minimum} to {maximum}")
            }
            Constraint::Boolean => "true or false".to_owned(),
            Constraint::Quantity { minimum, maximum } => {
                format!("a quantity from {} to {}", minimum.1, maximum.1)
            }
            Constraint::OneOf(values) => match &values[..] {
                [only] => format!("`{}`", only.to_text()),
                values => {
                    let words: Vec<String> =
                        values.iter().map(|v| format!("`{}`", v.to_text())).collect();
                    format!("one of {}", words.join(", "))
                }
            },
        }
    }

    /// How the end of a value can be told inside a string, before looking at what follows it.
    #[must_use]
    pub fn extent(&self) -> Extent {
        match self {
            Constraint::Text(text) => text.extent(),
            Constraint::Integer { minimum, .. } => {
                let mut characters: Vec<(char, char)> = vec![('0', '9')];
                if *minimum < 0 {
                    characters.push(('-', '-'));
                }
                Extent::Characters(characters)
            }
            Constraint::Boolean => Extent::Words(vec!["true".to_owned(), "false".to_owned()]),
            Constraint::Quantity { .. } => Extent::Unknown,
            Constraint::OneOf(values) => {
                Extent::Words(values.iter().map(Setting::to_text).collect())
            }
        }
    }
}

/// How the end of a variable's value can be told inside a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// Always this many characters, of these ranges.
    Fixed(usize, Vec<(char, char)>),
    /// One of these words.
    Words(Vec<String>),
    /// Any number of characters of these ranges.
    Characters(Vec<(char, char)>),
    /// Nothing is known.
    Unknown,
}

impl Extent {
    /// Whether a value can hold this character.
    #[must_use]
    pub fn may_hold(&self, c: char) -> bool {
        match self {
            Extent::Fixed(_, ranges) | Extent::Characters(ranges) => {
                ranges.iter().any(|(low, high)| *low <= c && c <= *high)
            }
            Extent::Words(words) => words.iter().any(|w| w.contains(c)),
            Extent::Unknown => true,
        }
    }
}

impl TextConstraint {
    pub(in crate::core) fn accepts(&self, value: &str) -> bool {
        if self.min_length.is_some() || self.max_length.is_some() {
            let length = value.chars().count();
            if self.min_length.is_some_and(|min| length < min)
                || self.max_length.is_some_and(|max| length > max)
            {
                return false;
            }
        }
        self.pattern.as_ref().is_none_or(|(_, regex)| regex.is_match(value))
    }

    pub(in crate::core) fn describe(&self) -> String {
        let mut text = match &self.pattern {
            Some((pattern, _)) => format!("a string that matches `{pattern}`"),
            None => "a string".to_owned(),
        };
        match (self.min_length, self.max_length) {
            (None, None) => {}
            (Some(min), None) => text.push_str(&format!(" of at least {min} characters")),
            (None, Some(max)) => text.push_str(&format!(" of at most {max} characters")),
            (Some(min), Some(max)) => text.push_str(&format!(" of {min} to {max} characters")),
        }
        text
    }

    fn extent(&self) -> Extent {
        let Some((pattern, _)) = &self.pattern else { return Extent::Unknown };
        let Ok(hir) = regex_syntax::Parser::new().parse(pattern) else { return Extent::Unknown };
        let Some(ranges) = characters(&hir) else { return Extent::Unknown };
        match length(&hir) {
            (min, Some(max)) if min == max => Extent::Fixed(min, ranges),
            _ => Extent::Characters(ranges),
        }
    }
}

/// The ranges of all characters that can stand in a match; `None` when they cannot be listed.
fn characters(hir: &Hir) -> Option<Vec<(char, char)>> {
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![],
        HirKind::Literal(literal) => {
            std::str::from_utf8(&literal.0).ok()?.chars().map(|c| (c, c)).collect()
        }
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|r| (r.start(), r.end())).collect()
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().map(|r| (char::from(r.start()), char::from(r.end()))).collect()
        }
        HirKind::Repetition(repetition) => characters(&repetition.sub)?,
        HirKind::Capture(capture) => characters(&capture.sub)?,
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let mut all = vec![];
            for part in parts {
                all.extend(characters(part)?);
            }
            all
        }
    })
}

/// Fewest and most characters of a match.
fn length(hir: &Hir) -> (usize, Option<usize>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, Some(0)),
        HirKind::Literal(literal) => {
            let n = String::from_utf8_lossy(&literal.0).chars().count();
            (n, Some(n))
        }
        HirKind::Class(_) => (1, Some(1)),
        HirKind::Repetition(r) => {
            let (min, max) = length(&r.sub);
            let times =
                |n: usize, t: u32| n.saturating_mul(usize::try_from(t).unwrap_or(usize::MAX));
            (times(min, r.min), max.and_then(|max| r.max.map(|t| times(max, t))))
        }
        HirKind::Capture(capture) => length(&capture.sub),
        HirKind::Concat(parts) => {
            parts.iter().map(length).fold((0, Some(0)), |(a, b), (min, max)| {
                (a.saturating_add(min), b.zip(max).map(|(b, max)| b.saturating_add(max)))
            })
        }
        HirKind::Alternation(parts) => {
            let lengths: Vec<_> = parts.iter().map(length).collect();
            let min = lengths.iter().map(|l| l.0).min().unwrap_or(0);
            let max = lengths.iter().map(|l| l.1).try_fold(0, |a, m| m.map(|m| a.max(m)));
            (min, max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::shape::pattern::whole_match;

    fn text(pattern: &str) -> Constraint {
        Constraint::Text(TextConstraint {
            pattern: Some((pattern.to_owned(), whole_match(pattern).expect("compiles"))),
            ..TextConstraint::default()
        })
    }

    #[test]
    fn a_pattern_matches_the_whole_value() {
        for (pattern, value, ok) in [
            ("[a-z]+", "abc", true),
            ("[a-z]+", "abc\n", false),
            ("[a-z]+$", "abc\n", false),
            ("(?m)^[a-z]+$", "abc\nEVIL", false),
            ("a|b", "ab", false),
            ("a|b", "xb", false),
            ("(?i)abc", "ABC", true),
        ] {
            assert_eq!(
                text(pattern).accepts(&Setting::Text(value.to_owned())),
                ok,
                "{pattern} {value:?}"
            );
        }
    }

    #[test]
    fn the_extent_of_a_value_is_known_from_its_pattern() {
        assert!(matches!(text("[a-f0-9]{8}").extent(), Extent::Fixed(8, _)));
        assert!(matches!(text("ab|cd").extent(), Extent::Fixed(2, _)));
        let some = text("[a-z0-9]{8,16}").extent();
        assert!(matches!(some, Extent::Characters(_)));
        assert!(some.may_hold('a') && !some.may_hold('-'));
        assert!(text(".*").extent().may_hold('-'));
    }

    #[test]
    fn an_integer_inside_a_string_is_canonical() {
        let int = Constraint::Integer { minimum: -5, maximum: 500 };
        assert_eq!(int.read_text("42"), Some(Setting::Int(42)));
        for wrong in ["042", "+42", "42 ", "", "-0", "4_2", "4.0"] {
            assert_eq!(int.read_text(wrong), None, "{wrong:?}");
        }
    }
}
