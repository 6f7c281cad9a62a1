//! Placeholders in template strings: declared ones become variables, and what only looks like one
//! is a mistake rather than a literal that nobody meant.

use crate::core::kubernetes::api::Kind;
use crate::core::mistake::nearest;
use crate::core::shape::compiled::Want;
use crate::core::shape::constraint::ValueType;
use crate::core::shape::text::{TextPattern, split};
use crate::core::shape::variable::{VariableId, Variables};

type Found = Result<Option<(Want, Vec<VariableId>)>, (String, Option<String>)>;

/// What a template string wants: `None` when no placeholder stands in it.
///
/// # Errors
/// A message and a fix: an undeclared placeholder, a variable of a type that the API does not
/// have here, or several variables whose ends cannot be told.
pub fn read(text: &str, kind: Kind, variables: &Variables, literals: &[String]) -> Found {
    if literals.iter().any(|literal| literal == text) {
        return Ok(None);
    }
    check_undeclared(text, variables, literals)?;
    let pieces = split(text, variables);
    let used: Vec<VariableId> = pieces.iter().filter_map(|p| p.as_ref().err().copied()).collect();
    let Some(first) = used.first().copied() else { return Ok(None) };
    if let [Err(id)] = pieces[..] {
        return whole(id, kind, variables).map(|want| Some((want, used)));
    }
    if !matches!(kind, Kind::String | Kind::Unknown | Kind::IntOrString) {
        let name = &variables.get(first).name;
        return Err((
            format!("`{name}` stands inside a longer string where the API has no string"),
            Some("make the placeholder the whole value".to_owned()),
        ));
    }
    if let Some(id) =
        used.iter().find(|id| variables.get(**id).constraint.value_type() == ValueType::Quantity)
    {
        return Err((
            format!("the quantity `{}` stands inside a longer string", variables.get(*id).name),
            Some(
                "a quantity is always a whole value: the same one can be written in many ways"
                    .to_owned(),
            ),
        ));
    }
    let pattern = TextPattern::compile(pieces, variables).map_err(|id| {
        let variable = variables.get(id);
        (
            format!("where `{}` ends in this string cannot be told", variable.name),
            Some(
                "give it a fixed length or an enum in which no word begins another, or let it be followed by a \
                 character that no value of it can hold"
                    .to_owned(),
            ),
        )
    })?;
    Ok(Some((Want::Pattern(pattern), used)))
}

/// What a place wants whose whole value is a variable.
///
/// # Errors
/// When the API has another type there.
pub fn whole(
    id: VariableId,
    kind: Kind,
    variables: &Variables,
) -> Result<Want, (String, Option<String>)> {
    let variable = variables.get(id);
    let value_type = variable.constraint.value_type();
    match (kind, value_type) {
        _ if variable.broken => Ok(Want::Variable(id)),
        // Any variable but a quantity has one text, so it may be a whole string.
        (Kind::String, ValueType::Text | ValueType::Integer | ValueType::Boolean) => {
            match TextPattern::compile(vec![Err(id)], variables) {
                Ok(pattern) => Ok(Want::Pattern(pattern)),
                Err(_) => Ok(Want::Variable(id)),
            }
        }
        (Kind::Integer | Kind::IntOrString, ValueType::Integer)
        | (Kind::Boolean, ValueType::Boolean)
        | (Kind::Quantity { .. }, ValueType::Quantity)
        | (Kind::IntOrString | Kind::Unknown, ValueType::Text)
        | (Kind::Unknown, _) => Ok(Want::Variable(id)),
        _ => Err((
            format!(
                "the variable `{}` is of type {}, and the API has {} here",
                variable.name,
                value_type.word(),
                super::compile::word(kind)
            ),
            expected_type(kind).map(|word| format!("give it `type: {word}`")),
        )),
    }
}

fn expected_type(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Integer => Some("integer"),
        Kind::Boolean => Some("boolean"),
        Kind::Quantity { .. } => Some("quantity"),
        Kind::String => Some("string"),
        _ => None,
    }
}

/// Something in the form of a placeholder that no variable declares.
fn check_undeclared(
    text: &str,
    variables: &Variables,
    literals: &[String],
) -> Result<(), (String, Option<String>)> {
    let trimmed = text.trim();
    let is_whole = |open: &str, close: &str| {
        trimmed.starts_with(open) && trimmed.ends_with(close) && trimmed.matches(open).count() == 1
    };
    let declared = variables.iter().any(|(_, v)| text.contains(&v.placeholder));
    if !declared && is_whole("${", "}") {
        return Err((
            format!("the value is nothing but `{trimmed}`: something is expected to fill it in before the server sees it"),
            Some("fill it in with `--substitute FILE`, name its place in a variable's `at`, or list the text in `literals`".to_owned()),
        ));
    }
    if !declared && is_whole("{{", "}}") {
        return Err((
            format!("the value is nothing but `{trimmed}`, and no variable has this placeholder"),
            Some(format!(
                "declare a variable with `placeholder: \"{trimmed}\"`, or list the text in `literals`"
            )),
        ));
    }
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        rest = &rest[open..];
        if let Some((_, placeholder)) = variables.placeholder_at(rest) {
            rest = &rest[placeholder.len()..];
            continue;
        }
        if let Some(literal) =
            literals.iter().find(|l| !l.is_empty() && rest.starts_with(l.as_str()))
        {
            rest = &rest[literal.len()..];
            continue;
        }
        let inner = rest[1..].find('>').map(|close| &rest[1..=close]);
        if let Some(name) = inner
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            let declared = variables.iter().map(|(_, v)| v.name.as_str());
            let near =
                nearest(name, declared).map(|near| format!("did you mean `<{near}>`? Otherwise "));
            return Err((
                format!(
                    "`<{name}>` looks like a placeholder, and no variable `{name}` is declared"
                ),
                Some(format!(
                    "{}declare the variable, or say `literals: [\"<{name}>\"]` in spec",
                    near.unwrap_or_default()
                )),
            ));
        }
        rest = &rest[1..];
    }
    Ok(())
}
