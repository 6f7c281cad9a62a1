//! Templates are alternatives: an object has to fit one of them.
//!
//! It fits a template that has no Enforce finding against it. Beside a template whose shape enforces
//! more, it fits only without findings: a shape in Audit widens what another one refuses by exactly
//! its template, and by nothing that only looks like it. A single rule in Enforce does not change that,
//! as long as it is not the one for everything that no other claims.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::sync::Arc;

use crate::core::judge::children::Origin;
use crate::core::judge::finding::{Finding, Findings};
use crate::core::judge::musts::{self, Whole};
use crate::core::judge::update::{Before, Difference, only_removes, start};
use crate::core::judge::verdict::{Request, Verdict, VerdictKind};
use crate::core::judge::walk::Walk;
use crate::core::shape::must::Reading;
use crate::core::shape::rule::RuleId;
use crate::core::shape::template::{Of, Template};
use crate::core::shape::{Shape, Strictness};
use crate::core::tree::Node;

/// A template that an object may fit.
#[derive(Clone, Copy)]
struct Candidate<'s> {
    shape: &'s Arc<Shape>,
    index: usize,
    template: &'s Template,
    /// How much its shape enforces.
    strictness: Strictness,
}

/// The templates of the governing shapes, and what they are asked about.
pub(super) struct Alternatives<'a> {
    governing: &'a [&'a Arc<Shape>],
    candidates: Vec<Candidate<'a>>,
    /// How much the strictest of the governing shapes enforces, of those that have templates.
    strictest: Strictness,
    kind: &'a str,
    namespace: &'a str,
    object: &'a Node<'a>,
    pointers: bool,
    /// Who says whose child a Job is, by the identity that asks.
    origin: Origin,
    /// The object as `must` rules see it, once one looks.
    whole: OnceCell<Whole<'a>>,
}

/// A candidate and what was found against it.
struct Judged<'s> {
    candidate: Candidate<'s>,
    findings: Findings,
}

impl<'a> Alternatives<'a> {
    pub(super) fn new(governing: &'a [&'a Arc<Shape>], request: &'a Request<'_>) -> Self {
        let mut candidates = Vec::with_capacity(governing.len());
        let mut strictest = Strictness::Nothing;
        for shape in governing {
            let strictness = shape.strictness();
            if !shape.templates.is_empty() {
                strictest = strictest.max(strictness);
            }
            let of_kind = shape.templates.iter().enumerate();
            let of_kind = of_kind.filter(|(_, template)| template.of.kind() == request.kind);
            candidates.extend(of_kind.map(|(index, template)| Candidate {
                shape,
                index,
                template,
                strictness,
            }));
        }
        Alternatives {
            governing,
            candidates,
            strictest,
            kind: request.kind,
            namespace: request.namespace,
            object: request.object,
            pointers: request.pointers,
            origin: Origin::of(request),
            whole: OnceCell::new(),
        }
    }

    /// The verdict on the object, whatever it replaces.
    pub(super) fn judge(&self) -> Verdict {
        self.judge_as_new(self.origin)
    }

    /// The verdict on an update of `old` that would not pass as a new object without a finding:
    /// `whole` is what it gets as one.
    pub(super) fn judge_update(&self, old: &Node<'_>, mut whole: Verdict) -> Verdict {
        let (new, origin) = (self.object, self.origin);
        let kind = self.candidates.first().map(|candidate| candidate.template.kind());
        let difference = match kind {
            Some(kind) => Difference::between(kind, old, new),
            None => Difference::of_jobs(old, new),
        };
        if only_removes(&difference, old, new) {
            return Verdict::only_removes();
        }
        // What says whose child a Job is may stay, whoever asks.
        let children = self.candidates.iter().any(|candidate| candidate.template.of == Of::Child);
        let kept = if children { origin.kept(old, new) } else { origin };
        if kept != origin {
            whole = self.judge_as_new(kept);
        }
        if whole.findings.count == 0 || self.candidates.is_empty() {
            return whole;
        }
        whole.start = start::of(old, new);
        if whole.start.is_some() {
            return whole;
        }
        let mut fitted = false;
        let old_whole = OnceCell::new();
        let mut of_update = Vec::with_capacity(self.candidates.len());
        for candidate in &self.candidates {
            let mut walk = self.walk(*candidate, old, kept);
            walk.collect();
            walk.job();
            let (had, found) = walk.collected();
            let musts = candidate.shape.has_musts();
            let before = musts.then(|| {
                old_whole.get_or_init(|| {
                    Whole::new(candidate.template.api, self.kind, old, self.namespace)
                })
            });
            let found = match before {
                Some(before) => found.and(self.musts(*candidate, before, None)),
                None => found,
            };
            fitted |=
                self.fits(candidate, &found) || self.fitted_as_child(*candidate, old, before, kept);
            let mut walk = self.walk(*candidate, new, kept);
            let was_there = Before::new(had, &difference, new);
            if !was_there.had.is_empty() {
                walk.compare_with(&was_there);
            }
            walk.job();
            let findings = walk.finish();
            let findings = match before {
                Some(before) => {
                    findings.and(self.musts(*candidate, self.whole(*candidate), Some(before)))
                }
                None => findings,
            };
            of_update.push(Judged { candidate: *candidate, findings });
        }
        if fitted {
            // What fitted has to fit again, not only to be no worse than it was.
            return match whole.kind {
                VerdictKind::Allow => self
                    .among(
                        of_update.into_iter().filter(|judged| {
                            let whole = self.found(judged.candidate, kept);
                            self.fits(&judged.candidate, &whole)
                        }),
                        true,
                    )
                    .unwrap_or(whole),
                _ => self
                    .among(
                        of_update.into_iter().filter(|judged| judged.findings.enforced > 0),
                        false,
                    )
                    .unwrap_or(whole),
            };
        }
        let fits = |judged: &Judged<'a>| self.fits(&judged.candidate, &judged.findings);
        if of_update.iter().any(fits) {
            let fitting = of_update.into_iter().filter(fits);
            return self.among(fitting, true).unwrap_or(whole);
        }
        let refusing = of_update.into_iter().filter(|judged| judged.findings.enforced > 0);
        self.among(refusing, false).unwrap_or(whole)
    }

    /// Whether the old object fits as a Job that stands there as the CronJob controller made it.
    /// Whoever takes away what says so has not made it a Job that never fitted.
    fn fitted_as_child(
        &self,
        candidate: Candidate<'_>,
        old: &Node<'_>,
        before: Option<&Whole<'_>>,
        kept: Origin,
    ) -> bool {
        if candidate.template.of != Of::Child || kept == Origin::Kept {
            return false;
        }
        let mut walk = self.walk(candidate, old, Origin::Kept);
        walk.job();
        let found = walk.finish();
        let found = match before {
            Some(before) => found.and(self.musts(candidate, before, None)),
            None => found,
        };
        self.fits(&candidate, &found)
    }

    fn judge_as_new(&self, origin: Origin) -> Verdict {
        if self.candidates.is_empty() {
            return self.of_another_kind();
        }
        let mut judged = Vec::with_capacity(self.candidates.len());
        for candidate in &self.candidates {
            let findings = self.found(*candidate, origin);
            let is_equal = findings.count == 0;
            judged.push(Judged { candidate: *candidate, findings });
            if is_equal {
                let equal = judged.into_iter().rev().take(1);
                return self.among(equal, true).unwrap_or_else(|| self.of_another_kind());
            }
        }
        let fits = |judged: &Judged<'a>| self.fits(&judged.candidate, &judged.findings);
        let allowed = judged.iter().any(fits);
        let chosen = judged
            .into_iter()
            .filter(|judged| if allowed { fits(judged) } else { judged.findings.enforced > 0 });
        self.among(chosen, allowed).unwrap_or_else(|| self.of_another_kind())
    }

    fn walk<'n>(
        &'n self,
        candidate: Candidate<'n>,
        object: &'n Node<'n>,
        origin: Origin,
    ) -> Walk<'n, 'n> {
        let mut walk = Walk::new(candidate.shape, candidate.template, object, self.namespace);
        walk.pointers = self.pointers;
        walk.origin = origin;
        walk
    }

    fn found(&self, candidate: Candidate<'a>, origin: Origin) -> Findings {
        let mut walk = self.walk(candidate, self.object, origin);
        walk.job();
        let found = walk.finish();
        if !candidate.shape.has_musts() {
            return found;
        }
        found.and(self.musts(candidate, self.whole(candidate), None))
    }

    /// The object as `must` rules see it.
    fn whole(&self, candidate: Candidate<'a>) -> &Whole<'a> {
        self.whole.get_or_init(|| {
            Whole::new(candidate.template.api, self.kind, self.object, self.namespace)
        })
    }

    fn musts(
        &self,
        candidate: Candidate<'_>,
        object: &Whole<'_>,
        before: Option<&Whole<'_>>,
    ) -> Findings {
        let reading = Reading::Beside(candidate.template.of);
        musts::findings(candidate.shape, reading, object, before, self.pointers)
    }

    fn fits(&self, candidate: &Candidate<'_>, findings: &Findings) -> bool {
        if candidate.strictness < self.strictest {
            findings.count == 0
        } else {
            findings.enforced == 0
        }
    }

    /// The verdict by the closest of these: that with the fewest findings, the first of equals.
    fn among(&self, judged: impl Iterator<Item = Judged<'a>>, allowed: bool) -> Option<Verdict> {
        // `max_by_key` would take the last of equals.
        let closest = judged.min_by_key(|judged| judged.findings.count)?;
        let alternatives = if allowed { vec![] } else { self.others_than(closest.candidate.shape) };
        Some(Verdict {
            kind: if allowed { VerdictKind::Allow } else { VerdictKind::Deny },
            shape: Some(Arc::clone(closest.candidate.shape)),
            template: Some(closest.candidate.index),
            others: vec![],
            alternatives,
            findings: closest.findings,
            exempt: false,
            reason: None,
            start: None,
        })
    }

    /// The other shapes that have a template for the object.
    fn others_than(&self, shape: &Arc<Shape>) -> Vec<Arc<Shape>> {
        let mut others: Vec<Arc<Shape>> = vec![];
        for candidate in &self.candidates {
            let is_new = |other: &Arc<Shape>| !Arc::ptr_eq(other, candidate.shape);
            if is_new(shape) && others.iter().all(is_new) {
                others.push(Arc::clone(candidate.shape));
            }
        }
        others
    }

    /// The governing shapes have templates, and none for an object of this kind.
    fn of_another_kind(&self) -> Verdict {
        // The strictest speaks.
        let speaker = self.governing.iter().copied().max_by_key(|shape| {
            let catch_all = shape.rules.iter().find(|rule| rule.catch_all);
            (catch_all.map(|rule| rule.action), Reverse(&shape.name))
        });
        let Some(shape) = speaker else {
            return Verdict::without_shape(VerdictKind::Error, "no shape governs it".to_owned());
        };
        let rule = shape.rules.iter().position(|rule| rule.catch_all).unwrap_or_default();
        let rule = RuleId(u16::try_from(rule).unwrap_or_default());
        let finding = Finding::of_another_kind(rule, shape.rule(rule).action, self.kind);
        let findings = Findings::of_one(finding);
        Verdict {
            kind: if findings.enforced > 0 { VerdictKind::Deny } else { VerdictKind::Allow },
            shape: Some(Arc::clone(shape)),
            template: None,
            others: vec![],
            alternatives: vec![],
            findings,
            exempt: false,
            reason: None,
            start: None,
        }
    }
}
