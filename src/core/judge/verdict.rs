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

    /// A guard refuses what nobody else does: it speaks, and what was found before is another's.
    pub(super) fn refused_by(&mut self, guard: &Arc<Shape>) {
        self.kind = VerdictKind::Deny;
        self.reason = None;
        self.template = None;
        let before = self.shape.replace(Arc::clone(guard));
        let Some(before) = before.filter(|before| !Arc::ptr_eq(before, guard)) else { return };
        if self.findings.findings.iter().any(|finding| finding.other.is_none()) {
            let index = self.other(&before);
            for finding in &mut self.findings.findings {
                finding.other.get_or_insert(index);
            }
        }
    }

    /// Adds what another shape found, or the one that speaks.
    pub(super) fn add(&mut self, shape: &Arc<Shape>, found: Findings) {
        let speaks = self.shape.as_ref().is_some_and(|speaker| Arc::ptr_eq(speaker, shape));
        let other = if speaks { None } else { Some(self.other(shape)) };
        let mut found = found;
        found.findings.iter_mut().for_each(|finding| finding.other = other);
        found.old = 0;
        self.findings = std::mem::take(&mut self.findings).and(found);
    }

    /// Which of the others a shape is.
    fn other(&mut self, shape: &Arc<Shape>) -> usize {
        let known = self.others.iter().position(|other| Arc::ptr_eq(other, shape));
        known.unwrap_or_else(|| {
            self.others.push(Arc::clone(shape));
            self.others.len() - 1
        })
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
