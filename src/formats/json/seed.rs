//! One pass of serde over the text, into the tree.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Duplicates, Skip, place, syntax};
use crate::core::mistake::Mistake;
use crate::core::tree::{Entry, MAX_NODES, NOWHERE, Node, Number, Value};
use crate::formats::refused;
use crate::formats::text::Part;

pub(super) fn read(
    part: Part<'_>,
    skip: Skip,
    duplicates: Duplicates,
) -> Result<Node<'_>, Mistake> {
    let mut reader = Reader::new(part, skip, duplicates);
    let mut json = serde_json::Deserializer::from_str(part.text);
    let root = Seed { reader: &mut reader, place: Place::Root }.deserialize(&mut json);
    let error = match root.and_then(|root| json.end().map(|()| root)) {
        Ok(root) => return Ok(root),
        Err(error) => error,
    };
    let Some(mut mistake) = reader.mistake else { return Err(syntax(part, &error)) };
    if mistake.at == NOWHERE {
        mistake.at = part.offset(place::of_error(part.text, &error));
    }
    Err(mistake)
}

/// A Job inside a larger JSON text, read as [`Skip::Job`] and [`Duplicates::Keep`] say; nothing for
/// null.
pub(crate) fn job_seed<'a>() -> impl DeserializeSeed<'a, Value = Option<Node<'a>>> {
    JobSeed
}

struct JobSeed;

impl<'a> DeserializeSeed<'a> for JobSeed {
    type Value = Option<Node<'a>>;

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        // Only a key that may not stand twice asks where it stands in the text.
        let mut reader = Reader::new(Part::whole(""), Skip::Job, Duplicates::Keep);
        let node = Seed { reader: &mut reader, place: Place::Root }.deserialize(json)?;
        Ok(Some(node).filter(|node| node.value != Value::Null))
    }
}

struct Reader<'a> {
    part: Part<'a>,
    skip: Skip,
    duplicates: Duplicates,
    nodes: usize,
    /// Our own mistake; serde's errors are made of text alone.
    mistake: Option<Mistake>,
    entries: Pile<Entry<'a>>,
    items: Pile<Node<'a>>,
}

/// The last children of all maps, or of all lists, that are being read: most have few, and so get
/// a vector of their length at once instead of one that grows.
struct Pile<T>(Vec<T>);

/// From so many children on, a map or list gets a vector that grows: what is read would else be in
/// memory twice.
const FEW: usize = 32;

impl<T> Pile<T> {
    /// Adds a child to the map or list whose children begin at `start`, or are in `own` already.
    fn add(&mut self, start: usize, own: &mut Vec<T>, child: T) {
        self.0.push(child);
        if self.0.len() - start == FEW {
            own.extend(self.0.drain(start..));
        }
    }

    /// All children of that map or list.
    fn take(&mut self, start: usize, mut own: Vec<T>) -> Vec<T> {
        let mut rest = self.0.split_off(start);
        if own.is_empty() {
            return rest;
        }
        own.append(&mut rest);
        own
    }
}

/// Where in the object a value stands, as far as skipping asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Metadata,
    Deeper,
}

impl<'a> Reader<'a> {
    fn new(part: Part<'a>, skip: Skip, duplicates: Duplicates) -> Self {
        // As many as lie there at a time while an ordinary Job is read.
        let entries = Pile(Vec::with_capacity(32));
        let items = Pile(Vec::with_capacity(16));
        Reader { part, skip, duplicates, nodes: 0, mistake: None, entries, items }
    }

    fn fail<E: Error>(&mut self, mistake: Mistake) -> E {
        self.mistake = Some(mistake);
        E::custom("refused")
    }

    fn count<E: Error>(&mut self) -> Result<(), E> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.fail(refused::too_many(NOWHERE)));
        }
        Ok(())
    }

    fn skips(&self, place: Place, key: &str) -> bool {
        self.skip == Skip::Job
            && match place {
                Place::Root => key == "status",
                Place::Metadata => key == "managedFields",
                Place::Deeper => false,
            }
    }

    fn duplicate(&self, key: &str, first: &str) -> Mistake {
        // A key without escapes is borrowed from the text, and so knows where; its quote is before
        // it. One with escapes is a copy, which stands nowhere in the text.
        let place = |key: &str| self.part.place_of(key).map(|at| at.saturating_sub(1));
        let at = place(key).map_or(NOWHERE, |at| self.part.offset(at));
        let line = place(first).map_or(self.part.line, |at| self.part.line_at(at));
        refused::duplicate(key, at, line)
    }
}

struct Seed<'r, 'a> {
    reader: &'r mut Reader<'a>,
    place: Place,
}

impl<'a> DeserializeSeed<'a> for Seed<'_, 'a> {
    type Value = Node<'a>;

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<Node<'a>, D::Error> {
        self.reader.count()?;
        json.deserialize_any(self).map(Node::new)
    }
}

impl<'a> Visitor<'a> for Seed<'_, 'a> {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'a>, E> {
        Ok(Value::Number(Number::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'a>, E> {
        Ok(Value::Number(match i64::try_from(value) {
            Ok(int) => Number::Int(int),
            // kubectl has no integer that large: what it sends is the nearest double.
            #[expect(clippy::cast_precision_loss, reason = "as kubectl does")]
            Err(_) if self.reader.duplicates == Duplicates::Refuse => {
                Number::from_f64(value as f64)
            }
            Err(_) => Number::Unsigned(value),
        }))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'a>, E> {
        Ok(Value::Number(Number::from_f64(value)))
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Value<'a>, A::Error> {
        let reader = self.reader;
        let (start, mut own) = (reader.items.0.len(), Vec::new());
        while let Some(item) = list.next_element_seed(Seed { reader, place: Place::Deeper })? {
            reader.items.add(start, &mut own, item);
        }
        Ok(Value::List(reader.items.take(start, own)))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Value<'a>, A::Error> {
        let reader = self.reader;
        let (start, mut own) = (reader.entries.0.len(), Vec::new());
        let mut seen = Keys::default();
        while let Some(key) = map.next_key_seed(Key)? {
            if reader.skips(self.place, &key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if reader.duplicates == Duplicates::Refuse
                && let Some(first) = seen.repeated(&own, &reader.entries.0[start..], key.clone())
            {
                let mistake = reader.duplicate(&key, first);
                return Err(reader.fail(mistake));
            }
            let place = match self.place {
                Place::Root if key == "metadata" => Place::Metadata,
                _ => Place::Deeper,
            };
            let node = map.next_value_seed(Seed { reader, place })?;
            reader.entries.add(start, &mut own, Entry { key, key_at: NOWHERE, node });
        }
        Ok(Value::Map(reader.entries.take(start, own)))
    }
}

/// The keys of one map, once they are many.
#[derive(Default)]
struct Keys<'a>(Option<HashSet<Cow<'a, str>>>);

impl<'a> Keys<'a> {
    /// The key among these entries that `key` repeats.
    fn repeated<'e>(
        &mut self,
        before: &'e [Entry<'a>],
        last: &'e [Entry<'a>],
        key: Cow<'a, str>,
    ) -> Option<&'e str> {
        let mut entries = before.iter().chain(last);
        if before.len() + last.len() >= refused::MANY_KEYS {
            let all = entries.clone().map(|entry| entry.key.clone());
            if self.0.get_or_insert_with(|| all.collect()).insert(key.clone()) {
                return None;
            }
        }
        entries.find(|entry| entry.key == key).map(|entry| &*entry.key)
    }
}

struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<Cow<'a, str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
