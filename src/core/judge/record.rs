//! What becomes of a deviation once it is found: counted, described, compared with what was there
//! before, or only noticed.

use std::collections::HashSet;

use crate::core::judge::explain::Deviation;
use crate::core::judge::finding::{Finding, Findings, MAX_FINDINGS};
use crate::core::judge::misspelled;
use crate::core::judge::update::Before;
use crate::core::judge::update::before::identity;
use crate::core::judge::walk::Walk;
use crate::core::kubernetes::api::Kind;
use crate::core::path;
use crate::core::shape::compiled::NodeId;
use crate::core::shape::rule::{Action, RuleId};

/// What becomes of the deviations.
#[derive(Debug, Default)]
pub(super) enum WhatFor<'j> {
    /// Findings.
    #[default]
    Report,
    /// Findings of an update: those that the old object had are only counted.
    Update(&'j Before<'j>),
    /// The identities of an old object's deviations.
    Collect(HashSet<u64>),
    /// A count: something is tried.
    Try,
}

impl<'s: 'j, 'j> Walk<'s, 'j> {
    /// Keeps the identities of all deviations and describes none.
    pub(super) fn collect(&mut self) {
        self.what_for = WhatFor::Collect(HashSet::new());
    }

    /// The identities that were kept, and how many deviations there are of each kind.
    pub(super) fn collected(self) -> (HashSet<u64>, Findings) {
        let Walk { count, enforced, what_for, .. } = self;
        let identities = match what_for {
            WhatFor::Collect(identities) => identities,
            _ => HashSet::new(),
        };
        (identities, Findings { count, enforced, ..Findings::default() })
    }

    /// Leaves out what the old object had too.
    pub(super) fn compare_with(&mut self, before: &'j Before<'j>) {
        self.what_for = WhatFor::Update(before);
    }

    /// What was found, ordered by place.
    #[must_use]
    pub fn finish(mut self) -> Findings {
        self.findings.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        misspelled::name_each_other(&mut self.findings);
        Findings {
            findings: self.findings,
            count: self.count,
            enforced: self.enforced,
            old: self.old,
        }
    }

    /// A deviation at a node, attributed by its kind.
    pub(super) fn deviation(&mut self, id: NodeId, deviation: &Deviation<'_>) {
        let node = self.tree.node(id);
        let (rule, raised) = match deviation {
            Deviation::Missing { .. } => {
                let rule = match node.kind {
                    Kind::List(_) | Kind::Map(_) if !self.is_in_map(node) => node.claims.list,
                    _ if self.is_in_map(node) => node.claims.entry,
                    _ => node.claims.value,
                };
                (rule, self.raised_by_missing(rule, id))
            }
            Deviation::Duplicate if self.is_in_map(node) => (node.claims.entry, None),
            Deviation::Order { .. } => (node.claims.list, None),
            _ => (node.claims.value, None),
        };
        self.report(id, rule, raised, deviation);
    }

    pub(super) fn report(
        &mut self,
        id: NodeId,
        rule: RuleId,
        raised: Option<RuleId>,
        deviation: &Deviation<'_>,
    ) {
        if self.counted(Some(id), rule, raised, deviation) {
            let node = self.tree.node(id);
            let at = (node.at != u32::MAX && !node.filled).then_some(node.at);
            self.push(rule, raised, id, deviation, at);
        }
    }

    /// A deviation where the compiled tree has no node, only one that would hold it.
    pub(super) fn report_without_node(
        &mut self,
        rule: RuleId,
        parent: NodeId,
        deviation: &Deviation<'_>,
    ) {
        if self.counted(None, rule, None, deviation) {
            self.push(rule, None, parent, deviation, None);
        }
    }

    /// Counts a deviation; whether it is to be described too.
    fn counted(
        &mut self,
        id: Option<NodeId>,
        rule: RuleId,
        raised: Option<RuleId>,
        deviation: &Deviation<'_>,
    ) -> bool {
        match &mut self.what_for {
            WhatFor::Report => {}
            &mut WhatFor::Update(before) => {
                if self.is_old(before, id, deviation) {
                    self.old += 1;
                    return false;
                }
            }
            WhatFor::Collect(identities) => {
                identities.insert(identity(deviation, &self.path));
            }
            WhatFor::Try => {
                self.count += 1;
                return false;
            }
        }
        self.count += 1;
        if self.action(rule, raised) == Action::Enforce {
            self.enforced += 1;
        }
        matches!(self.what_for, WhatFor::Report | WhatFor::Update(_))
            && self.findings.len() < MAX_FINDINGS
    }

    fn action(&self, rule: RuleId, raised: Option<RuleId>) -> Action {
        self.shape.rule(raised.unwrap_or(rule)).action
    }

    fn push(
        &mut self,
        rule: RuleId,
        raised_by: Option<RuleId>,
        id: NodeId,
        deviation: &Deviation<'_>,
        template_at: Option<u32>,
    ) {
        let said = deviation.explain(self.template, id);
        self.findings.push(Finding {
            other: None,
            rule,
            action: self.action(rule, raised_by),
            raised_by,
            path: path::render(&self.path),
            pointer: if self.pointers {
                path::pointer_in(&self.path, self.job)
            } else {
                String::new()
            },
            expected: said.expected,
            message: said.message,
            help: said.help,
            part: said.part,
            missing: deviation.is_missing(),
            extra: deviation.is_extra(),
            template_at,
        });
    }
}
