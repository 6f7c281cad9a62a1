//! Places in a JSON text, found by descending into it when one is asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
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
            Err(error) => {
                let found = syntax(whole, &error);
                let at = usize::try_from(found.at).unwrap_or_default();
                let begins =
                    text.get(..=at).unwrap_or_default().rfind('\n').map_or(0, |end| end + 1);
                let found = match text.get(begins..) {
                    Some(rest) if rest.starts_with("---") => Mistake {
                        at: whole.offset(begins),
                        message: "a `---` stands behind JSON, and is none".to_owned(),
                        ..found
                    },
                    _ => found,
                };
                parts.push(Err(found.help(
                    "a text that begins with `{` is read as JSON; to have it read as YAML, put a \
                     line `---` before it",
                )));
            }
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
    Descent::new(text).to(pointer)
}

/// A JSON text that is descended into several times: each list and map on the ways is read once,
/// so that a hundred findings in one large list cost what one costs.
#[derive(Debug)]
pub(crate) struct Descent<'a> {
    text: &'a str,
    /// The children of each list and map that was met, by where it begins.
    known: HashMap<usize, Children<'a>>,
}

#[derive(Debug, Default)]
enum Children<'a> {
    #[default]
    None,
    Items(Vec<&'a str>),
    Fields(HashMap<Cow<'a, str>, &'a str>),
}

impl<'a> Descent<'a> {
    /// A descent that has not begun.
    pub(crate) fn new(text: &'a str) -> Self {
        Descent { text: text.trim_start(), known: HashMap::new() }
    }

    /// Byte offset in `whole`, which the text is a part of, of the value at a pointer or of the
    /// innermost value on the way there.
    pub(crate) fn nearest(&mut self, whole: &str, pointer: &str) -> Option<u32> {
        let (value, _) = self.to(pointer)?;
        Part::whole(whole).place_of(value).map(offset)
    }

    fn to(&mut self, pointer: &str) -> Option<(&'a str, bool)> {
        let mut value = self.text;
        if value.is_empty() {
            return None;
        }
        if pointer.is_empty() {
            return Some((value, true));
        }
        let Some(tokens) = pointer.strip_prefix('/') else { return Some((value, false)) };
        for token in tokens.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            match self.child(value, &token) {
                Some(next) => value = next,
                None => return Some((value, false)),
            }
        }
        Some((value, true))
    }

    fn child(&mut self, value: &'a str, token: &str) -> Option<&'a str> {
        let place = Part::whole(self.text).place_of(value)?;
        match self.known.entry(place).or_insert_with(|| children(value)) {
            Children::None => None,
            Children::Items(items) => items.get(index(token)?).copied(),
            Children::Fields(fields) => fields.get(token).copied(),
        }
    }
}

fn children(value: &str) -> Children<'_> {
    serde_json::from_str::<Collected<'_>>(value).map(|collected| collected.0).unwrap_or_default()
}

struct Collected<'a>(Children<'a>);

impl<'a> serde::Deserialize<'a> for Collected<'a> {
    fn deserialize<D: serde::Deserializer<'a>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Collect)
    }
}

struct Collect;

impl<'a> Visitor<'a> for Collect {
    type Value = Collected<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<&RawValue>()? {
            items.push(item.get());
        }
        Ok(Collected(Children::Items(items)))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = HashMap::new();
        while let Some(key) = map.next_key::<Key<'a>>()? {
            // Of several keys of the same name the first counts.
            fields.entry(key.0).or_insert(map.next_value::<&RawValue>()?.get());
        }
        Ok(Collected(Children::Fields(fields)))
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
