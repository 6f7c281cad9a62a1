//! The envelope of an AdmissionReview: only what a decision needs; the objects stay raw.
//!
//! Own structs rather than a library's: a typed Job would drop fields newer than the library, and
//! an error must keep the uid.

use std::borrow::Cow;

use serde::{Deserialize, Serialize as _};
use serde_json::value::RawValue;

/// An AdmissionReview as sent.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// Its request.
    pub request: Incoming<'a>,
}

/// The request of an AdmissionReview. Unknown fields are ignored, repeated ones are an error.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incoming<'a> {
    /// The uid that the answer has to carry.
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    /// What the rule of the configuration matched.
    #[serde(borrow, default)]
    pub kind: GroupVersionKind<'a>,
    /// `status`, `scale` …; empty for the object itself.
    #[serde(borrow, default)]
    pub sub_resource: Cow<'a, str>,
    /// The object's name; empty in a request that has none yet.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// The namespace.
    #[serde(borrow, default)]
    pub namespace: Cow<'a, str>,
    /// CREATE, UPDATE, DELETE or CONNECT.
    #[serde(borrow, default)]
    pub operation: Cow<'a, str>,
    /// Who asks.
    #[serde(borrow, default)]
    pub user_info: UserInfo<'a>,
    /// The new object.
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
    /// The object before the change.
    #[serde(borrow, default)]
    pub old_object: Option<&'a RawValue>,
    /// Whether nothing will be stored.
    #[serde(default)]
    pub dry_run: bool,
}

/// A group, version and kind.
#[derive(Debug, Default, Deserialize)]
pub struct GroupVersionKind<'a> {
    /// The API group.
    #[serde(borrow, default)]
    pub group: Cow<'a, str>,
    /// The version.
    #[serde(borrow, default)]
    pub version: Cow<'a, str>,
    /// The kind.
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
}

/// Who asks.
#[derive(Debug, Default, Deserialize)]
pub struct UserInfo<'a> {
    /// The user name, the impersonated one if there is one.
    #[serde(borrow, default)]
    pub username: Cow<'a, str>,
    /// The groups.
    #[serde(borrow, default)]
    pub groups: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outer<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlyUid<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
}

/// The version of AdmissionReview that is spoken.
const API_VERSION: &str = "admission.k8s.io/v1";

impl<'a> Envelope<'a> {
    /// Reads a request body.
    ///
    /// # Errors
    /// The uid, if one could be read, and a sentence.
    pub fn read(body: &'a [u8]) -> Result<Envelope<'a>, (Option<String>, String)> {
        let outer: Outer<'a> = serde_json::from_slice(body)
            .map_err(|error| (None, format!("the body is no AdmissionReview: {}", safe(&error))))?;
        let Some(request) = outer.request else {
            return Err((None, "the body is no AdmissionReview with a request".to_owned()));
        };
        let uid = || {
            serde_json::from_str::<OnlyUid<'_>>(request.get())
                .ok()
                .map(|only| only.uid.into_owned())
                .filter(|u| !u.is_empty())
        };
        if outer.kind != "AdmissionReview" || outer.api_version != API_VERSION {
            return Err((uid(), format!("the body is no AdmissionReview of {API_VERSION}")));
        }
        match serde_json::from_str::<Incoming<'a>>(request.get()) {
            Ok(request) if request.uid.is_empty() => {
                Err((None, "the request has no uid".to_owned()))
            }
            Ok(request) => Ok(Envelope { request }),
            Err(error) => Err((uid(), format!("the request cannot be read: {}", safe(&error)))),
        }
    }
}

/// What is wrong with JSON, without the part of the message that may quote it.
fn safe(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Io => "it cannot be read",
        Category::Syntax => "it is no valid JSON",
        Category::Data => "a field is of another type, or stands twice",
        Category::Eof => "it ends too early",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// A whole AdmissionReview around a response.
#[must_use]
pub fn response(response: serde_json::Value) -> Vec<u8> {
    let review = serde_json::json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response});
    let mut bytes = Vec::with_capacity(512);
    // Writing JSON into memory does not fail.
    let _ = review.serialize(&mut serde_json::Serializer::new(&mut bytes));
    bytes
}
