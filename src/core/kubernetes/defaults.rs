//! Defaults that depend on siblings. Fixed ones are rows of the table; these are its rules.
//!
//! A rule sees its siblings through [`Siblings`], so that the same rule serves the Job as it is
//! and the template with the values that the Job has in its variable places.

use std::borrow::Cow;
use std::str::FromStr;

/// A rule that computes an absent field's default from its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiblingRule {
    /// `completions`: 1, unless `parallelism` is set (a work queue keeps it absent).
    Completions,
    /// `backoffLimit`: 6, or the largest 32-bit integer beside `backoffLimitPerIndex`.
    BackoffLimit,
    /// `podReplacementPolicy`: `Failed` beside a `podFailurePolicy`.
    PodReplacementPolicy,
    /// `imagePullPolicy`: by the tag of `image`.
    ImagePullPolicy,
    /// `pullPolicy` of an image volume: by the tag of `reference`.
    ImageVolumePullPolicy,
    /// `emptyDir: {}` for a volume without any source.
    VolumeSource,
}

/// What a default is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    /// The field stays absent.
    Nothing,
    /// An integer.
    Int(i64),
    /// A string.
    Text(&'static str),
    /// An empty struct.
    EmptyStruct,
}

/// The siblings of a field.
pub trait Siblings {
    /// Whether the sibling is set: not absent, not null.
    fn is_set(&self, name: &str) -> bool;
    /// The text of a sibling that is a string.
    fn text(&self, name: &str) -> Option<Cow<'_, str>>;
    /// Whether any sibling but `name` is set.
    fn any_but(&self, name: &str) -> bool;
}

impl FromStr for SiblingRule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "completions" => SiblingRule::Completions,
            "backoff-limit" => SiblingRule::BackoffLimit,
            "pod-replacement-policy" => SiblingRule::PodReplacementPolicy,
            "image-pull-policy" => SiblingRule::ImagePullPolicy,
            "image-volume-pull-policy" => SiblingRule::ImageVolumePullPolicy,
            "volume-source" => SiblingRule::VolumeSource,
            other => return Err(format!("no sibling rule `{other}`")),
        })
    }
}

impl SiblingRule {
    /// The siblings this rule looks at; empty for "all of them".
    #[must_use]
    pub fn looks_at(self) -> &'static [&'static str] {
        match self {
            SiblingRule::Completions => &["parallelism"],
            SiblingRule::BackoffLimit => &["backoffLimitPerIndex"],
            SiblingRule::PodReplacementPolicy => &["podFailurePolicy"],
            SiblingRule::ImagePullPolicy => &["image"],
            SiblingRule::ImageVolumePullPolicy => &["reference"],
            SiblingRule::VolumeSource => &[],
        }
    }

    /// The default beside these siblings.
    #[must_use]
    pub fn fill(self, siblings: &dyn Siblings) -> Filled {
        match self {
            SiblingRule::Completions if siblings.is_set("parallelism") => Filled::Nothing,
            SiblingRule::Completions => Filled::Int(1),
            SiblingRule::BackoffLimit if siblings.is_set("backoffLimitPerIndex") => {
                Filled::Int(i64::from(i32::MAX))
            }
            SiblingRule::BackoffLimit => Filled::Int(6),
            SiblingRule::PodReplacementPolicy if siblings.is_set("podFailurePolicy") => {
                Filled::Text("Failed")
            }
            SiblingRule::PodReplacementPolicy => Filled::Text("TerminatingOrFailed"),
            SiblingRule::ImagePullPolicy => pull_policy(siblings.text("image")),
            SiblingRule::ImageVolumePullPolicy => pull_policy(siblings.text("reference")),
            SiblingRule::VolumeSource if siblings.any_but("name") => Filled::Nothing,
            SiblingRule::VolumeSource => Filled::EmptyStruct,
        }
    }
}

/// `Always` for the tag `latest`, or without tag and digest; `IfNotPresent` otherwise, also for
/// an image that cannot be parsed (`SetDefaults_Container`, `parsers.ParseImageName`; measured
/// on 1.36.3 for each form in the test).
fn pull_policy(image: Option<Cow<'_, str>>) -> Filled {
    const ALWAYS: Filled = Filled::Text("Always");
    const IF_NOT_PRESENT: Filled = Filled::Text("IfNotPresent");
    let Some(image) = image else { return IF_NOT_PRESENT };
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image.as_ref(), None),
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let path_is_valid = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-/:[]".contains(&b))
    };
    // Only the first component, a registry host, may hold upper-case letters.
    let (host, path) = match name.split_once('/') {
        Some((host, path))
            if host.contains(['.', ':'])
                || host == "localhost"
                || host.chars().any(char::is_uppercase) =>
        {
            (Some(host), path)
        }
        _ => (None, name),
    };
    let path = match tag {
        Some(tag) => path.strip_suffix(tag).unwrap_or(path).strip_suffix(':').unwrap_or(path),
        None => path,
    };
    let host_is_valid = host.is_none_or(|h| {
        !h.is_empty() && h.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
    });
    let digest_is_valid = digest.is_none_or(|d| {
        d.split_once(':')
            .is_some_and(|(_, hex)| hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    if !path_is_valid(path) || !host_is_valid || !digest_is_valid {
        return IF_NOT_PRESENT;
    }
    match (tag, digest) {
        (Some("latest"), _) | (None, None) => ALWAYS,
        _ => IF_NOT_PRESENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_image_as_measured() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (image, policy) in [
            ("x", "Always"),
            ("x:latest", "Always"),
            ("r:5000/x", "Always"),
            (&format!("x:latest@{digest}"), "Always"),
            ("x:1", "IfNotPresent"),
            ("r:5000/x:1", "IfNotPresent"),
            (&format!("x@{digest}"), "IfNotPresent"),
            ("x:LATEST", "IfNotPresent"),
            ("x:", "IfNotPresent"),
            ("X/UPPER", "IfNotPresent"),
            (" x:1", "IfNotPresent"),
            ("gitea.example.net/a/b", "Always"),
        ] {
            assert_eq!(pull_policy(Some(Cow::Borrowed(image))), Filled::Text(policy), "{image}");
        }
    }
}
