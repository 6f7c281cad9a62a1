//! Guards: shapes without a template. All that govern a request apply to it, whatever else does.

use std::sync::Arc;

use crate::core::judge::finding::Findings;
use crate::core::judge::musts::{Whole, findings};
use crate::core::judge::update::{Difference, only_removes, start};
use crate::core::judge::verdict::{Request, Verdict, VerdictKind};
use crate::core::kubernetes::api::Api;
use crate::core::shape::Shape;
use crate::core::shape::must::Reading;

/// What the guards say about a request.
pub(super) struct Said<'s> {
    /// Those that govern it and what each found, old findings of an update left out.
    found: Vec<(&'s Arc<Shape>, Findings)>,
    /// Whether it is an update that at most takes finalizers and owners away.
    only_removes: bool,
    start: Option<start::Start>,
}

/// Asks them.
pub(super) fn ask<'s>(guards: &[&'s Arc<Shape>], request: &Request<'_>) -> Said<'s> {
    let reading = if request.kind == "CronJob" { Reading::OfCronJob } else { Reading::OfJob };
    let whole = Whole::new(Api::get(), request.kind, request.object, request.namespace);
    let all = |before: Option<&Whole<'_>>| -> Vec<(&'s Arc<Shape>, Findings)> {
        let one = |guard: &&'s Arc<Shape>| {
            (*guard, findings(guard, reading, &whole, before, request.pointers))
        };
        guards.iter().map(one).collect()
    };
    let found = all(None);
    let mut said = Said { found, only_removes: false, start: None };
    let clean = said.found.iter().all(|(_, findings)| findings.count == 0);
    let Some(old) = request.old.filter(|_| !clean).and_then(|old| old.get()) else {
        return said;
    };
    let difference = Difference::between(whole.kind(), old, request.object);
    said.only_removes = only_removes(&difference, old, request.object);
    said.start = start::of(old, request.object);
    // What starts Pods is judged like a new object.
    if !said.only_removes && said.start.is_none() {
        said.found = all(Some(&Whole::new(Api::get(), request.kind, old, request.namespace)));
    }
    said
}

impl Said<'_> {
    /// The verdict when no shape has a template to compare with: what no guard refuses is admitted.
    pub(super) fn alone(self) -> Verdict {
        let allow = Verdict {
            shape: self.found.first().map(|(guard, _)| Arc::clone(guard)),
            reason: None,
            ..Verdict::without_shape(VerdictKind::Allow, String::new())
        };
        self.beside(allow)
    }

    /// The verdict together with what the templates say. Of several guards that refuse, and of a
    /// template's shape that does, the first speaks.
    pub(super) fn beside(self, mut verdict: Verdict) -> Verdict {
        if self.only_removes {
            return Verdict::only_removes();
        }
        for (guard, findings) in self.found {
            verdict.findings.old += findings.old;
            if findings.count == 0 {
                continue;
            }
            verdict.start = verdict.start.or(self.start);
            if findings.enforced > 0 && verdict.kind != VerdictKind::Deny {
                verdict.refused_by(guard);
            }
            verdict.add(guard, findings);
        }
        verdict
    }
}
