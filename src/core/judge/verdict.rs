//! What is asked, and what a request gets.

use std::sync::Arc;

use crate::core::judge::finding::{Finding, Findings};
use crate::core::judge::update::{Old, Start};
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::shape::identities::Requester;
use crate::core::shape::rule::Rule;
use crate::core::tree::Node;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'j> {
    /// `Job` or `CronJob`.
    pub kind: &'j str,
    /// The request's namespace.
    pub namespace: &'j str,
    /// Create or update.
    pub operation: Operation,
    /// Who asks. Nobody named is somebody whom every shape is for and whom none exempts: a file has
    /// no identity.
    pub requester: Option<Requester<'j>>,
    /// The object.
    pub object: &'j Node<'j>,
    /// What an UPDATE replaces; without it the object is judged like a new one.
    pub old: Option<Old<'j>>,
    /// Whether findings tell their places as JSON pointers too: what finds the line in a file.
    pub pointers: bool,
}

/// What a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictKind {
    /// Admitted.
    Allow,
    /// Refused.
    Deny,
    /// Could not be decided.
    Error,
    /// No shape governs it.
    Ungoverned,
}

impl VerdictKind {
    /// The word in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            VerdictKind::Allow => "allow",
            VerdictKind::Deny => "deny",
            VerdictKind::Error => "error",
            VerdictKind::Ungoverned => "ungoverned",
        }
    }
}

/// A verdict with what it rests on.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Allow, deny, error or ungoverned.
    pub kind: VerdictKind,
    /// The shape that speaks: that of the template which the object fits or comes closest to, or of
    /// the guard that refuses.
    pub shape: Option<Arc<Shape>>,
    /// Which of its templates: an index. Nothing when no template was compared.
    pub template: Option<usize>,
    /// The other shapes whose findings are among these, as findings count them.
    pub others: Vec<Arc<Shape>>,
    /// The shapes of the other templates that a refused object does not fit either.
    pub alternatives: Vec<Arc<Shape>>,
    /// What was found.
    pub findings: Findings,
    /// Whether a shape was taken away because the identity is exempt from it.
    pub exempt: bool,
    /// Why it could not be decided, why nothing governs it, or why it was decided without a look at
    /// any shape.
    pub reason: Option<String>,
    /// What in an UPDATE lets Pods start, so that it was judged like a new Job.
    pub start: Option<Start>,
}

impl Verdict {
    /// A verdict of this kind that rests on no shape.
    #[must_use]
    pub fn without_shape(kind: VerdictKind, reason: String) -> Verdict {
        Verdict {
            kind,
            shape: None,
            template: None,
            others: vec![],
            alternatives: vec![],
            findings: Findings::default(),
            exempt: false,
            reason: Some(reason),
            start: None,
        }
    }

    /// An update that at most takes finalizers and owner references away: no shape is asked.
    #[must_use]
    pub fn only_removes() -> Verdict {
        Verdict::without_shape(
            VerdictKind::Allow,
            "it at most takes finalizers or owner references away".to_owned(),
        )
    }

    /// The shape whose finding it is.
    #[must_use]
    pub fn shape_of(&self, finding: &Finding) -> Option<&Arc<Shape>> {
        match finding.other {
            None => self.shape.as_ref(),
            Some(index) => self.others.get(index),
        }
    }

    /// The rule that speaks in a finding.
    #[must_use]
    pub fn rule_of(&self, finding: &Finding) -> Option<&Rule> {
        self.shape_of(finding).map(|shape| shape.rule(finding.rule))
    }
}
