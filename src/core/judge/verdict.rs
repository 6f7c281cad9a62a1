//! From a request to a verdict: which shape governs it, what it finds, and what that means.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::core::judge::finding::Findings;
use crate::core::judge::update::{Difference, Old, Start, only_removes, ratchet};
use crate::core::judge::walk::Walk;
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;
use crate::core::tree::Node;

/// All loaded shapes.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    all: Vec<Arc<Shape>>,
    by_namespace: HashMap<String, Arc<Shape>>,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'j> {
    /// `Job` or `CronJob`.
    pub kind: &'j str,
    /// The request's namespace.
    pub namespace: &'j str,
    /// Create or update.
    pub operation: Operation,
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
    /// The shape that governs.
    pub shape: Option<Arc<Shape>>,
    /// What it found.
    pub findings: Findings,
    /// Why it could not be decided, why nothing governs it, or why it was decided without a look at
    /// any shape.
    pub reason: Option<String>,
    /// What in an UPDATE lets Pods start, so that it was judged like a new Job.
    pub start: Option<Start>,
}

impl Verdict {
    /// An update that at most takes finalizers and owner references away: no shape is asked.
    #[must_use]
    pub fn only_removes() -> Verdict {
        Verdict {
            kind: VerdictKind::Allow,
            shape: None,
            findings: Findings::default(),
            reason: Some("it at most takes finalizers or owner references away".to_owned()),
            start: None,
        }
    }
}

impl Shapes {
    /// Loaded shapes together.
    ///
    /// # Errors
    /// Two shapes of one name, or two for one namespace (the index of the second, a sentence).
    pub fn new(shapes: Vec<Shape>) -> Result<Shapes, (usize, String)> {
        let (mut together, mut names) = (Shapes::default(), HashSet::new());
        for (index, shape) in shapes.into_iter().enumerate() {
            if !names.insert(shape.name.clone()) {
                return Err((index, format!("two shapes are named `{}`", shape.name)));
            }
            let shape = Arc::new(shape);
            for namespace in &shape.namespaces {
                if let Some(other) =
                    together.by_namespace.insert(namespace.clone(), Arc::clone(&shape))
                {
                    return Err((
                        index,
                        format!(
                            "`{}` and `{}` both govern namespace `{namespace}`: several shapes for one namespace are not supported yet",
                            other.name, shape.name
                        ),
                    ));
                }
            }
            together.all.push(shape);
        }
        Ok(together)
    }

    /// The shapes, in the order they were given.
    #[must_use]
    pub fn all(&self) -> &[Arc<Shape>] {
        &self.all
    }

    /// The shape that names a namespace.
    #[must_use]
    pub fn of_namespace(&self, namespace: &str) -> Option<&Arc<Shape>> {
        self.by_namespace.get(namespace)
    }

    /// The verdict on a request.
    #[must_use]
    pub fn judge(&self, request: &Request<'_>) -> Verdict {
        let verdict = self.judge_as_new(request);
        let clean = verdict.kind == VerdictKind::Allow && verdict.findings.count == 0;
        // Most updates conform, and nobody looks at what they replace.
        let old = request.old.filter(|_| request.operation == Operation::Update && !clean);
        match old.and_then(|old| old.get()) {
            Some(old) => self.judge_update(request, old, verdict),
            None => verdict,
        }
    }

    /// The verdict on an update that would not pass as a new object without a finding.
    fn judge_update(&self, request: &Request<'_>, old: &Node<'_>, whole: Verdict) -> Verdict {
        let difference = Difference::of_jobs(old, request.object);
        if only_removes(&difference, old, request.object) {
            return Verdict::only_removes();
        }
        let Some(shape) = whole.shape.as_ref().filter(|_| whole.findings.count > 0) else {
            return whole;
        };
        let update = ratchet(shape, request, old, difference, whole.findings);
        Verdict {
            kind: kind_by(&update.findings),
            findings: update.findings,
            start: update.start,
            ..whole
        }
    }

    /// The verdict on the object, whatever it replaces.
    fn judge_as_new(&self, request: &Request<'_>) -> Verdict {
        let Some(shape) = self.of_namespace(request.namespace) else {
            return Verdict {
                kind: VerdictKind::Ungoverned,
                shape: None,
                findings: Findings::default(),
                reason: Some(format!(
                    "no shape governs namespace `{}`",
                    crate::core::path::cut(request.namespace)
                )),
                start: None,
            };
        };
        let found = |kind, findings, reason| Verdict {
            kind,
            shape: Some(Arc::clone(shape)),
            findings,
            reason,
            start: None,
        };
        if !shape.operations.contains(&request.operation) {
            let reason =
                format!("the shape `{}` does not judge {}", shape.name, request.operation.word());
            return Verdict {
                shape: None,
                ..found(VerdictKind::Ungoverned, Findings::default(), Some(reason))
            };
        }
        if request.kind == "CronJob" {
            let reason =
                "it has a template for Jobs and none for CronJobs, so every CronJob in its namespaces is refused"
                    .to_owned();
            return found(VerdictKind::Deny, Findings::default(), Some(reason));
        }
        let mut walk = Walk::new(shape, request.object, request.namespace);
        walk.pointers = request.pointers;
        walk.job();
        let findings = walk.finish();
        found(kind_by(&findings), findings, None)
    }
}

fn kind_by(findings: &Findings) -> VerdictKind {
    if findings.enforced > 0 { VerdictKind::Deny } else { VerdictKind::Allow }
}
