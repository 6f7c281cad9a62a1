//! The ordinary request read in one pass: its object becomes the tree while the envelope is read.
//!
//! The API server writes kind, namespace and operation before the object, so whether anybody wants
//! the object is known when it comes; one that nobody wants stays raw. Whatever is not ordinary
//! (broken JSON, an object too large) is nothing here: the envelope is then read again, slowly and
//! with its reason.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::core::tree::Node;
use crate::formats::json::job_seed;
use crate::formats::review::envelope::{API_VERSION, Incoming, Text};

/// A request, and its object as a tree if `wants` says so of the fields that stand before it, raw
/// otherwise; nothing when the body is not as the API server writes it.
pub fn read<'a>(
    body: &'a [u8],
    wants: impl Fn(&Incoming<'a>) -> bool,
) -> Option<(Incoming<'a>, Option<Node<'a>>)> {
    // Looked at once as a whole, the strings need not be looked at one by one.
    match std::str::from_utf8(body) {
        Ok(text) => read_json(serde_json::Deserializer::from_str(text), wants),
        Err(_) => read_json(serde_json::Deserializer::from_slice(body), wants),
    }
}

fn read_json<'a>(
    mut json: serde_json::Deserializer<impl serde_json::de::Read<'a>>,
    wants: impl Fn(&Incoming<'a>) -> bool,
) -> Option<(Incoming<'a>, Option<Node<'a>>)> {
    let found = json.deserialize_map(Outer { wants }).ok()?;
    json.end().ok()?;
    found
}

#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum OuterField {
    ApiVersion,
    Kind,
    Request,
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    Uid,
    Kind,
    SubResource,
    Name,
    Namespace,
    Operation,
    UserInfo,
    Object,
    OldObject,
    DryRun,
    #[serde(other)]
    Other,
}

struct Outer<W> {
    wants: W,
}

impl<'a, W: Fn(&Incoming<'a>) -> bool> Visitor<'a> for Outer<W> {
    type Value = Option<(Incoming<'a>, Option<Node<'a>>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AdmissionReview")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut known, mut request, mut once) = (0, None, Once::default());
        while let Some(field) = map.next_key::<OuterField>()? {
            once.check(field as u32, matches!(field, OuterField::Other))?;
            match field {
                OuterField::ApiVersion => {
                    known += u8::from(map.next_value::<Text<'_>>()?.0 == API_VERSION)
                }
                OuterField::Kind => {
                    known += u8::from(map.next_value::<Text<'_>>()?.0 == "AdmissionReview")
                }
                OuterField::Request => {
                    request = map.next_value_seed(Request { wants: &self.wants })?
                }
                OuterField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(request.filter(|_| known == 2))
    }
}

struct Request<'w, W> {
    wants: &'w W,
}

impl<'a, W: Fn(&Incoming<'a>) -> bool> DeserializeSeed<'a> for Request<'_, W> {
    type Value = Option<(Incoming<'a>, Option<Node<'a>>)>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'a, W: Fn(&Incoming<'a>) -> bool> Visitor<'a> for Request<'_, W> {
    type Value = Option<(Incoming<'a>, Option<Node<'a>>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request of an AdmissionReview")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut incoming, mut object, mut once) = (Incoming::default(), None, Once::default());
        while let Some(field) = map.next_key::<Field>()? {
            once.check(field as u32, matches!(field, Field::Other))?;
            match field {
                Field::Uid => incoming.uid = map.next_value::<Text<'a>>()?.0,
                Field::Kind => incoming.kind = map.next_value()?,
                Field::SubResource => incoming.sub_resource = map.next_value::<Text<'a>>()?.0,
                Field::Name => incoming.name = map.next_value::<Text<'a>>()?.0,
                Field::Namespace => incoming.namespace = map.next_value::<Text<'a>>()?.0,
                Field::Operation => incoming.operation = map.next_value::<Text<'a>>()?.0,
                Field::UserInfo => incoming.user_info = map.next_value()?,
                Field::DryRun => incoming.dry_run = map.next_value()?,
                Field::Object if (self.wants)(&incoming) => {
                    object = map.next_value_seed(job_seed())?
                }
                Field::Object => incoming.object = map.next_value()?,
                // Raw: most updates conform, and nobody looks at what they replace.
                Field::OldObject => incoming.old_object = map.next_value()?,
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok((!incoming.uid.is_empty()).then_some((incoming, object)))
    }
}

/// Fields that may stand once.
#[derive(Default)]
struct Once(u32);

impl Once {
    fn check<E: Error>(&mut self, field: u32, any_number: bool) -> Result<(), E> {
        let bit = 1 << field;
        if self.0 & bit != 0 && !any_number {
            return Err(E::custom("a field stands twice"));
        }
        self.0 |= bit;
        Ok(())
    }
}
