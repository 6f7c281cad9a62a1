//! All loaded shapes, and which of them govern a request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::core::judge::alternatives::Alternatives;
use crate::core::judge::update::{Difference, only_removes};
use crate::core::judge::verdict::{Request, Verdict, VerdictKind};
use crate::core::path::cut;
use crate::core::shape::Shape;
use crate::core::shape::document::Operation;

/// All loaded shapes.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    all: Vec<Arc<Shape>>,
    by_namespace: HashMap<String, Vec<Arc<Shape>>>,
}

impl Shapes {
    /// Loaded shapes together.
    ///
    /// # Errors
    /// Two shapes of one name (the index of the second, a sentence).
    pub fn new(shapes: Vec<Shape>) -> Result<Shapes, (usize, String)> {
        let (mut together, mut names) = (Shapes::default(), HashSet::new());
        for (index, shape) in shapes.into_iter().enumerate() {
            if !names.insert(shape.name.clone()) {
                return Err((index, format!("two shapes are named `{}`", shape.name)));
            }
            let shape = Arc::new(shape);
            for namespace in &shape.namespaces {
                let there = together.by_namespace.entry(namespace.clone()).or_default();
                there.push(Arc::clone(&shape));
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

    /// The shapes that name a namespace.
    #[must_use]
    pub fn of_namespace(&self, namespace: &str) -> &[Arc<Shape>] {
        self.by_namespace.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// The verdict on a request.
    #[must_use]
    pub fn judge(&self, request: &Request<'_>) -> Verdict {
        let named = self.of_namespace(request.namespace);
        let requester = request.requester.as_ref();
        let mut exempt = false;
        let governing: Vec<&Arc<Shape>> = named
            .iter()
            .filter(|shape| {
                if !shape.operations.contains(&request.operation) || !shape.is_for(requester) {
                    return false;
                }
                let is_exempt = shape.exempts(requester);
                exempt |= is_exempt;
                !is_exempt
            })
            .collect();
        let old = request.old.filter(|_| request.operation == Operation::Update);
        let verdict = if governing.is_empty() {
            match old.and_then(|old| old.get()) {
                Some(old)
                    if only_removes(
                        &Difference::of_jobs(old, request.object),
                        old,
                        request.object,
                    ) =>
                {
                    Verdict::only_removes()
                }
                _ => {
                    let reason = ungoverned(request, named, exempt);
                    Verdict::without_shape(VerdictKind::Ungoverned, reason)
                }
            }
        } else {
            let alternatives = Alternatives::new(&governing, request);
            let verdict = alternatives.judge();
            let clean = verdict.kind == VerdictKind::Allow && verdict.findings.count == 0;
            // Most updates conform, and nobody looks at what they replace.
            match old.filter(|_| !clean).and_then(|old| old.get()) {
                Some(old) => alternatives.judge_update(old, verdict),
                None => verdict,
            }
        };
        Verdict { exempt, ..verdict }
    }
}

/// Why nothing governs a request.
fn ungoverned(request: &Request<'_>, named: &[Arc<Shape>], exempt: bool) -> String {
    let namespace = cut(request.namespace);
    if named.is_empty() {
        return format!("no shape governs namespace `{namespace}`");
    }
    if exempt {
        return "whoever asks is exempt from every shape that would govern it".to_owned();
    }
    let word = request.operation.word();
    match named {
        [only] if !only.operations.contains(&request.operation) => {
            format!("the shape `{}` does not judge {word}", only.name)
        }
        _ if named.iter().all(|shape| !shape.operations.contains(&request.operation)) => {
            format!("no shape of namespace `{namespace}` judges {word}")
        }
        _ => format!("no shape of namespace `{namespace}` is for whoever asks"),
    }
}
