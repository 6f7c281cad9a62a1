//! The envelope of an AdmissionReview: only what a decision needs; the objects stay raw.
//!
//! Own structs rather than a library's: a typed Job would drop fields newer than the library, and
//! an error must keep the uid.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::core::shape::identities::{Groups, Requester};

/// An AdmissionReview as sent.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// Its request.
    pub request: Incoming<'a>,
}

/// The request of an AdmissionReview. Unknown fields are ignored, repeated ones are an error.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incoming<'a> {
    /// The uid that the answer has to carry.
    #[serde(borrow, default)]
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
    /// What an update replaces.
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
    pub groups: Vec<Text<'a>>,
}

/// A text that is borrowed wherever it can be: serde alone would copy one that stands in a list.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Groups for Vec<Text<'_>> {
    fn hold(&self, group: &str) -> bool {
        self.iter().any(|of| of.0 == group)
    }
}

impl UserInfo<'_> {
    /// As it is judged.
    #[must_use]
    pub fn requester(&self) -> Requester<'_> {
        Requester { user: &self.username, groups: &self.groups }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outer<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    request: Option<Incoming<'a>>,
}

/// What is left of a review whose request cannot be read.
#[derive(Deserialize)]
struct OnlyUid<'a> {
    #[serde(borrow)]
    request: UidOf<'a>,
}

#[derive(Deserialize)]
struct UidOf<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
}

/// The version of AdmissionReview that is spoken.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";

impl<'a> Envelope<'a> {
    /// Reads a request body, in one pass.
    ///
    /// # Errors
    /// The uid, if one could be read, and a sentence.
    pub fn read(body: &'a [u8]) -> Result<Envelope<'a>, (Option<String>, String)> {
        let outer: Outer<'a> = serde_json::from_slice(body).map_err(|error| {
            let only: Option<OnlyUid<'_>> = serde_json::from_slice(body).ok();
            let uid = only.map(|only| only.request.uid.into_owned()).filter(|uid| !uid.is_empty());
            (uid, format!("the body is no AdmissionReview: {}", safe(&error)))
        })?;
        let Some(request) = outer.request else {
            return Err((None, "the body is no AdmissionReview with a request".to_owned()));
        };
        if request.uid.is_empty() {
            return Err((None, "the request has no uid".to_owned()));
        }
        if outer.kind != "AdmissionReview" || outer.api_version != API_VERSION {
            let uid = Some(request.uid.into_owned());
            return Err((uid, format!("the body is no AdmissionReview of {API_VERSION}")));
        }
        Ok(Envelope { request })
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

/// The response of an AdmissionReview.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response<'a> {
    /// The request's uid.
    pub uid: &'a str,
    /// Whether the object is admitted.
    pub allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status<'a>>,
    /// Shown to whoever asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Written into the API server's audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<&'static str, String>,
}

/// Why a request is refused.
#[derive(Debug, Serialize)]
pub struct Status<'a> {
    /// The HTTP status that the client gets.
    pub code: u16,
    /// The reason, a word of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The text.
    pub message: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: &'a Response<'a>,
}

impl Response<'_> {
    /// The whole AdmissionReview.
    #[must_use]
    pub fn to_body(&self) -> Vec<u8> {
        let review = Answered { api_version: API_VERSION, kind: "AdmissionReview", response: self };
        let message = self.status.as_ref().map_or(0, |status| status.message.len());
        let mut body = Vec::with_capacity(512 + message);
        // Strings and numbers always become JSON.
        match serde_json::to_writer(&mut body, &review) {
            Ok(()) => body,
            Err(_) => Vec::new(),
        }
    }
}
