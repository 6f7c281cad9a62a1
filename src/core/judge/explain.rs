//! Deviations in words: what the template expects and how the Job differs, and never a value that
//! the Job has.

use crate::core::kubernetes::defaults::Filled;
use crate::core::path::is_invisible;
use crate::core::shape::Shape;
use crate::core::shape::compile::word;
use crate::core::shape::compiled::{CompiledNode, NodeId, Want};
use crate::core::shape::text::{Mismatch, Piece, TextPattern, common_prefix};
use crate::core::shape::variable::VariableId;
use crate::core::tree::Number;

/// Longest text of the template that a message shows whole, in characters.
const SHOWN: usize = 80;

/// One place where a Job differs from what the shape accepts. Strings of the Job are here to be
/// compared with, not to be shown.
#[derive(Debug)]
pub enum Deviation<'a> {
    /// The template has nothing here.
    Extra {
        /// The value only spells out what absence means too.
        means_absent: bool,
    },
    /// The template has something here, and the Job nothing.
    Missing {
        /// What the server fills in instead.
        filled: Option<String>,
    },
    /// A second entry of the same key.
    Duplicate,
    /// The entries are the template's in another order.
    Order {
        /// The order counts because a value holds `$(`.
        by_expansion: bool,
    },
    /// Another scalar.
    Differs,
    /// Another string.
    Text {
        /// The Job's.
        found: &'a str,
    },
    /// A string that does not follow the template's text around its variables.
    Pattern {
        /// The Job's.
        found: &'a str,
        /// Where it stops following.
        mismatch: Mismatch,
    },
    /// A value of another JSON type.
    WrongType(&'static str),
    /// A value that its variable's constraint refuses.
    Constraint {
        /// The variable.
        variable: VariableId,
        /// The Job's value, if it is a string.
        value: Option<&'a str>,
    },
    /// A value that is none of the variable's type.
    NotOfType {
        /// The variable.
        variable: VariableId,
        /// What it is.
        found: &'static str,
    },
    /// A variable with two values.
    Disagrees {
        /// The variable.
        variable: VariableId,
        /// Where its value is fixed.
        first: &'a str,
    },
    /// The kubelet would expand something in a variable's value.
    Expansion,
    /// Another value than the default that the template's siblings give.
    NotTheDefault {
        /// The default.
        default: &'a Filled,
    },
    /// The server fills in something else than beside the template's fields.
    OtherDefault {
        /// For the template.
        template: &'a Filled,
        /// For the Job.
        job: &'a Filled,
    },
    /// A label that the server generates is missing.
    GeneratedMissing,
    /// The selector is not the generated one.
    Selector,
    /// The name is not made from the template's `generateName`.
    GeneratedName,
}

impl Deviation<'_> {
    /// Whether the Job lacks what the template has.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Deviation::Missing { .. }
                | Deviation::OtherDefault { .. }
                | Deviation::GeneratedMissing
        )
    }

    /// The sentence, and what the template expects if that is one thing.
    #[must_use]
    pub fn explain(&self, shape: &Shape, id: NodeId) -> (String, Option<String>) {
        let node = shape.tree.node(id);
        let expected = expected(shape, node);
        let message = match self {
            Deviation::Missing { filled } => {
                let mut text = match &expected {
                    Some(expected) => format!("missing: the template has {expected} here"),
                    None => "missing: the template has this".to_owned(),
                };
                if let Some(filled) = filled {
                    text.push_str(&format!(", and the server fills in {filled}"));
                }
                text
            }
            Deviation::Differs => differs(expected.as_deref()),
            Deviation::Text { found } => match &node.want {
                Want::Text(want) => text_differs(want, found),
                _ => differs(expected.as_deref()),
            },
            Deviation::Pattern { found, mismatch } => match &node.want {
                Want::Pattern(pattern) => pattern_differs(shape, pattern, found, *mismatch),
                _ => differs(expected.as_deref()),
            },
            Deviation::WrongType(found) => {
                let expected = kind_word(node);
                let unquoted = expected == "a string"
                    && matches!(*found, "an integer" | "a number" | "a boolean");
                let fix = if unquoted { ": put it in quotes" } else { "" };
                format!("{expected} is expected here, not {found}{fix}")
            }
            Deviation::Constraint { variable, value } => {
                let variable = shape.variables.get(*variable);
                let mut text = format!(
                    "the value of `{}` is not {}",
                    variable.name,
                    variable.constraint.describe()
                );
                if let Some(note) = value.and_then(note_on) {
                    text.push_str(&format!("; it {note}"));
                }
                text
            }
            Deviation::NotOfType { variable, found } => {
                let variable = shape.variables.get(*variable);
                format!(
                    "the value of `{}` is {found}, not {}",
                    variable.name,
                    variable.constraint.describe()
                )
            }
            Deviation::Disagrees { variable, first } => {
                format!(
                    "`{}` has another value here than at {first}",
                    shape.variables.get(*variable).name
                )
            }
            Deviation::Expansion => {
                "a variable's value takes part in `$(…)`, which the kubelet would expand".to_owned()
            }
            Deviation::Selector => {
                "the selector is not exactly the one that the server generates for this Job"
                    .to_owned()
            }
            Deviation::GeneratedName => {
                "the name is not the template's generateName followed by five characters".to_owned()
            }
            _ => self.explain_alone().0,
        };
        (message, expected)
    }

    /// The sentence where the template has nothing to show.
    #[must_use]
    pub fn explain_alone(&self) -> (String, Option<String>) {
        let message = match self {
            Deviation::Extra { means_absent: true } => "spelled-out default: the template leaves it out".to_owned(),
            Deviation::Extra { means_absent: false } => "the template has nothing here".to_owned(),
            Deviation::Duplicate => "a second entry with the same key".to_owned(),
            Deviation::Order { by_expansion: true } => {
                "the order is not the template's, and a value holds `$(`, which sees only earlier entries".to_owned()
            }
            Deviation::Order { by_expansion: false } => "the order is not the template's".to_owned(),
            Deviation::NotTheDefault { default } => match default {
                Filled::Nothing => "the template leaves it out, and the server fills in nothing beside its other fields".to_owned(),
                default => format!("the template leaves it out, and the server fills in {}", filled(default)),
            },
            Deviation::OtherDefault { template, job } => {
                format!("left out, the server fills in {} here, and {} beside the template's fields", filled(job), filled(template))
            }
            Deviation::GeneratedMissing => "the label that the server generates is missing".to_owned(),
            Deviation::Selector => "the selector is not exactly the one that the server generates".to_owned(),
            Deviation::GeneratedName => "the name is not made from the template's generateName".to_owned(),
            _ => "differs from the template".to_owned(),
        };
        (message, None)
    }
}

fn filled(filled: &Filled) -> String {
    match filled {
        Filled::Nothing => "nothing".to_owned(),
        Filled::Int(int) => int.to_string(),
        Filled::Text(text) => format!("`{text}`"),
        Filled::EmptyStruct => "`{}`".to_owned(),
    }
}

fn differs(expected: Option<&str>) -> String {
    match expected {
        Some(expected) => format!("the template has {expected} here"),
        None => "differs from the template".to_owned(),
    }
}

fn kind_word(node: &CompiledNode) -> &'static str {
    match node.want {
        Want::Bool(_) => "a boolean",
        Want::Number(_) => "an integer",
        Want::Text(_) | Want::Pattern(_) => "a string",
        Want::Quantity(..) => "a quantity",
        Want::Struct | Want::Map => "a map",
        Want::List => "a list",
        _ => word(node.kind),
    }
}

/// What the template has at a node, quoted; nothing for maps, lists and long texts.
fn expected(shape: &Shape, node: &CompiledNode) -> Option<String> {
    let text = match &node.want {
        Want::Bool(value) => value.to_string(),
        Want::Number(Number::Int(int)) => int.to_string(),
        Want::Number(Number::Unsigned(int)) => int.to_string(),
        Want::Number(Number::Float(float)) => float.to_string(),
        Want::Text(text) | Want::Quantity(_, text) => quoted(text)?,
        Want::Pattern(pattern) => quoted(&with_names(shape, pattern))?,
        Want::Variable(id) => format!("`<{}>`", shape.variables.get(*id).name),
        _ => return None,
    };
    Some(text)
}

fn quoted(text: &str) -> Option<String> {
    let short =
        text.chars().count() <= SHOWN && !text.contains(|c: char| c.is_control() || c == '`');
    short.then(|| format!("`{text}`"))
}

fn with_names(shape: &Shape, pattern: &TextPattern) -> String {
    pattern.fill(|id| format!("<{}>", shape.variables.get(id).name))
}

/// What can be said about a string without showing it.
fn note_on(value: &str) -> Option<String> {
    if let Some(c) = value.chars().find(|c| is_invisible(*c)) {
        return Some(format!("holds the invisible character U+{:04X}", u32::from(c)));
    }
    if value.ends_with('\n') {
        return Some("ends in a newline".to_owned());
    }
    if value.is_empty() {
        return Some("is empty".to_owned());
    }
    if value != value.trim() {
        return Some("has space around it".to_owned());
    }
    None
}

/// Two strings that differ: the template's whole if it is short, or its text where they part.
fn text_differs(want: &str, found: &str) -> String {
    if found.strip_suffix('\n') == Some(want) {
        return format!(
            "only differs by a newline at the end{}, which the template has not",
            place(found, want.len())
        );
    }
    if want.strip_suffix('\n') == Some(found) {
        return "only differs by the newline at the end, which the template has".to_owned();
    }
    let at = common_prefix(want, found);
    let invisible = found[at..].chars().next().filter(|c| is_invisible(*c));
    if let Some(c) = invisible {
        return format!("holds the invisible character U+{:04X}{}", u32::from(c), place(found, at));
    }
    match quoted(want) {
        Some(want) => format!("the template has {want} here"),
        None => format!("differs from the template{}: {}", place(found, at), text_at(want, at)),
    }
}

/// ` at line 3, column 7`, or the column alone in a single line.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    if text.contains('\n') {
        format!(" at line {line}, column {column}")
    } else {
        format!(" at column {column}")
    }
}

/// The template's text from `at`, at most to the end of its line.
fn text_at(want: &str, at: usize) -> String {
    let rest: String = want[at..].lines().next().unwrap_or("").chars().take(40).collect();
    if rest.is_empty() {
        let ends = if at >= want.len() {
            "the template's text ends there"
        } else {
            "the template's line ends there"
        };
        return ends.to_owned();
    }
    let mut line = String::new();
    for c in rest.chars() {
        if c.is_control() { line.extend(c.escape_unicode()) } else { line.push(c) }
    }
    format!("the template has `{line}` there")
}

fn pattern_differs(
    shape: &Shape,
    pattern: &TextPattern,
    found: &str,
    mismatch: Mismatch,
) -> String {
    let whole = with_names(shape, pattern);
    if mismatch.piece == pattern.pieces.len() && found[mismatch.at..] == *"\n" {
        return "only differs by a newline at the end, which the template has not".to_owned();
    }
    if let Some(quoted) = quoted(&whole) {
        return format!("the template has {quoted} here");
    }
    let there = match pattern.pieces.get(mismatch.piece) {
        Some(Piece::Variable(id, _)) => {
            format!("`{}` is expected there", shape.variables.get(*id).name)
        }
        Some(Piece::Literal(literal)) => {
            let shown: String = literal.lines().next().unwrap_or("").chars().take(40).collect();
            format!("the template's text there is `{shown}`")
        }
        None => "the template's text ends there".to_owned(),
    };
    format!("differs from the template{}: {there}", place(found, mismatch.at))
}
