//! What a plain scalar means to kubectl: go-yaml v2's `resolve`, that is YAML 1.1 with Go's
//! number syntax, and how Go then prints a number as JSON.

use std::borrow::Cow;

use crate::core::tree::{Number, Value};

/// A plain scalar as go-yaml types it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text,
}

/// The value of a plain scalar; nothing for an infinity or NaN, which JSON cannot hold.
pub(super) fn value(plain: Cow<'_, str>) -> Option<Value<'_>> {
    Some(match meaning(&plain) {
        Meaning::Null => Value::Null,
        Meaning::Bool(bool) => Value::Bool(bool),
        Meaning::Int(int) => Value::Number(Number::Int(int)),
        // The JSON that kubectl makes of it is read back into a double before it is sent.
        #[expect(clippy::cast_precision_loss, reason = "kubectl loses it too")]
        Meaning::Unsigned(int) => Value::Number(Number::from_f64(int as f64)),
        Meaning::Float(float) if float.is_finite() => Value::Number(Number::from_f64(float)),
        Meaning::Float(_) => return None,
        Meaning::Text => Value::String(plain),
    })
}

/// The key kubectl makes of a plain scalar; nothing where it has none: for null, and for integers
/// beyond an `i64`.
pub(super) fn key(plain: Cow<'_, str>) -> Option<Cow<'_, str>> {
    Some(match meaning(&plain) {
        Meaning::Null | Meaning::Unsigned(_) => return None,
        Meaning::Bool(bool) => Cow::Borrowed(if bool { "true" } else { "false" }),
        Meaning::Int(int) => Cow::Owned(int.to_string()),
        Meaning::Float(float) => Cow::Owned(float_key(float)),
        Meaning::Text => plain,
    })
}

fn meaning(plain: &str) -> Meaning {
    // Only these first characters make anything but a string; most scalars end here.
    let Some(first) = plain.bytes().next() else { return Meaning::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(plain),
        b'.' => match plain {
            ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Meaning::Float(f64::INFINITY),
            _ if underscores_stand_between_digits(plain) => float(&plain.replace('_', "")),
            _ => Meaning::Text,
        },
        b'+' | b'-' | b'0'..=b'9' => match plain {
            "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ if plain.contains('_') => number(&plain.replace('_', "")),
            _ => number(plain),
        },
        _ => Meaning::Text,
    }
}

fn word(plain: &str) -> Meaning {
    match plain {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Meaning::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        _ => Meaning::Text,
    }
}

/// A number in Go's syntax, underscores already gone. Timestamps need no rule: go-yaml leaves
/// them strings, and none is also a number.
fn number(text: &str) -> Meaning {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    if let Some(magnitude) = integer(digits) {
        if let Some(int) = signed(negative, magnitude) {
            return Meaning::Int(int);
        }
        // Go tries an unsigned integer next, and that one takes no sign.
        if digits.len() == text.len() {
            return Meaning::Unsigned(magnitude);
        }
    }
    match float(text) {
        Meaning::Text => {}
        found => return found,
    }
    // go-yaml's own binary syntax comes last and lets a second sign through after `0b`.
    let Some(digits) = text.strip_prefix("0b") else { return Meaning::Text };
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    match radix(digits, 2).filter(|_| !digits.is_empty()).and_then(|it| signed(negative, it)) {
        Some(int) => Meaning::Int(int),
        None => Meaning::Text,
    }
}

fn signed(negative: bool, magnitude: u64) -> Option<i64> {
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// `strconv.ParseUint` with base 0: the base is in the prefix, and a bare leading 0 means octal.
fn integer(digits: &str) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let prefixed = |prefix: char| {
        let rest = digits.strip_prefix('0')?;
        let rest = rest.strip_prefix([prefix, prefix.to_ascii_uppercase()])?;
        (!rest.is_empty()).then_some(rest)
    };
    if let Some(rest) = prefixed('x') {
        radix(rest, 16)
    } else if let Some(rest) = prefixed('b') {
        radix(rest, 2)
    } else if let Some(rest) = prefixed('o') {
        radix(rest, 8)
    } else if let Some(rest) = digits.strip_prefix('0') {
        radix(rest, 8)
    } else {
        radix(digits, 10)
    }
}

/// Digits only (Rust would take a sign), and none at all are 0, as after the 0 of an octal.
fn radix(digits: &str, base: u32) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// go-yaml's `yamlStyleFloat`, and text again where it does not match or does not fit a double.
fn float(text: &str) -> Meaning {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Besides these, Rust's syntax has only words (`inf`, `nan`), which begin with a letter.
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(float) if begins && float.is_finite() => Meaning::Float(float),
        _ => Meaning::Text,
    }
}

/// Go's rule for a float that begins with a point, where go-yaml does not strip underscores.
fn underscores_stand_between_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    bytes
        .iter()
        .enumerate()
        .all(|(at, &byte)| byte != b'_' || (digit(at.checked_sub(1)) && digit(at.checked_add(1))))
}

/// `strconv.FormatFloat(f, 'g', -1, 32)`, which is how kubectl writes a float that is a key.
fn float_key(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "kubectl narrows it too")]
    let narrow = float as f32;
    if narrow.is_infinite() {
        return if narrow > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{narrow:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return narrow.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
