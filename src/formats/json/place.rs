//! Places in a JSON text, found by descending into it when one is asked for.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::syntax;
use crate::core::mistake::Mistake;
use crate::formats::text::{Part, offset};

/// Byte offset of the value at a JSON pointer (RFC 6901) in a JSON text; nothing when the text
/// has no such value. Of several keys of the same name the first counts.
#[must_use]
pub fn locate(text: &str, pointer: &str) -> Option<u32> {
    let (value, whole) = descend(text, pointer)?;
    if !whole {
        return None;
    }
    Part::whole(text).place_of(value).map(offset)
}

/// The same, or the place of the innermost value on the way there.
pub(crate) fn nearest(text: &str, pointer: &str) -> Option<u32> {
    let (value, _) = descend(text, pointer)?;
    Part::whole(text).place_of(value).map(offset)
}

/// The items of the list under the key `items`, each as a part of the text.
pub(crate) fn items(part: Part<'_>) -> Vec<Part<'_>> {
    let Some((list, true)) = descend(part.text, "/items") else { return Vec::new() };
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(list) else { return Vec::new() };
    items.iter().filter_map(|item| within(part, item.get(), part.line)).collect()
}

pub(super) fn split(text: &str) -> Vec<Result<Part<'_>, Mistake>> {
    let whole = Part::whole(text);
    let (mut line, mut counted) = (1, 0);
    let mut parts = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value {
            Ok(value) => {
                let start = whole.place_of(value.get()).unwrap_or_default();
                let between = text.get(counted..start).unwrap_or_default();
                line += Part::whole(between).line_at(between.len()) - 1;
                counted = start;
                parts.extend(within(whole, value.get(), line).map(Ok));
            }
            Err(error) => parts.push(Err(syntax(whole, &error).help(
                "a text that begins with `{` is read as JSON; to have it read as YAML, put a line \
                 `---` before it",
            ))),
        }
    }
    parts
}

/// The offset of a serde error, which knows line and column, both from 1 and in bytes.
pub(super) fn of_error(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.trim_end().len();
    }
    let start = match error.line().checked_sub(2) {
        None => 0,
        // serde_json counts LF alone as the end of a line.
        Some(ends) => text.match_indices('\n').nth(ends).map_or(text.len(), |(at, _)| at + 1),
    };
    text.floor_char_boundary((start + error.column().saturating_sub(1)).min(text.len()))
}

fn within<'a>(part: Part<'a>, text: &'a str, line: usize) -> Option<Part<'a>> {
    let at = part.offset(part.place_of(text)?);
    Some(Part { text, at, line })
}

/// The text of the innermost value on the way, and whether that is where the pointer leads.
fn descend<'a>(text: &'a str, pointer: &str) -> Option<(&'a str, bool)> {
    let mut value = text.trim_start();
    if value.is_empty() {
        return None;
    }
    if pointer.is_empty() {
        return Some((value, true));
    }
    let Some(tokens) = pointer.strip_prefix('/') else { return Some((value, false)) };
    for token in tokens.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        match child(value, &token) {
            Some(next) => value = next,
            None => return Some((value, false)),
        }
    }
    Some((value, true))
}

fn child<'a>(text: &'a str, token: &str) -> Option<&'a str> {
    let mut found = None;
    let mut json = serde_json::Deserializer::from_str(text);
    // The error that stops the search once it has succeeded means nothing.
    let _ = Search { token, found: &mut found }.deserialize(&mut json);
    found
}

struct Search<'s, 'a> {
    token: &'s str,
    found: &'s mut Option<&'a str>,
}

impl<'a> DeserializeSeed<'a> for Search<'_, 'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Search<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        let wanted = index(self.token).ok_or_else(|| A::Error::custom("no such item"))?;
        for _ in 0..wanted {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        *self.found = list.next_element::<&RawValue>()?.map(RawValue::get);
        Err(A::Error::custom("found"))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Key<'a>>()? {
            if key.0 == self.token {
                *self.found = Some(map.next_value::<&RawValue>()?.get());
                return Err(A::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// An index as RFC 6901 writes it: no sign and no leading zeros.
pub(crate) fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit());
    let zeros = token.len() > 1 && token.starts_with('0');
    if plain && !zeros { token.parse().ok() } else { None }
}

#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
