//! `must` rules: what stands at a place in the object, compared with what a rule says, whatever a
//! template has there.

use std::borrow::Cow;

use crate::core::judge::finding::{Finding, Findings, MAX_FINDINGS};
use crate::core::judge::walk::EMPTY_MAP;
use crate::core::kubernetes::api::{Api, Field, Kind};
use crate::core::kubernetes::keys::item_key;
use crate::core::kubernetes::stored::with_defaults;
use crate::core::path::{Step, pointer_in, render};
use crate::core::shape::Shape;
use crate::core::shape::must::{Must, Reading, Taken};
use crate::core::shape::rule::{Action, RuleId};
use crate::core::shape::selector::SelectorStep;
use crate::core::tree::{Node, Number, Value};

pub mod holds;

use holds::{Holding, Violation};

/// An object as `must` rules see it: with everything filled in that the server fills in.
#[derive(Debug)]
pub struct Whole<'j> {
    api: &'static Api,
    kind: Kind,
    filled: Node<'j>,
    /// Of a CronJob: the Job that it makes, as far as its `jobTemplate` says. In the CronJob the server
    /// fills in only what is inside the Pod template.
    its_job: Option<Node<'j>>,
    /// As it came.
    written: &'j Node<'j>,
}

impl<'j> Whole<'j> {
    /// The kind of the object.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// An object of a kind, `Job` or `CronJob`.
    #[must_use]
    pub fn new(api: &'static Api, kind: &str, object: &'j Node<'j>) -> Whole<'j> {
        let is_cron_job = kind == "CronJob";
        let kind = if is_cron_job { api.cron_job() } else { api.job() };
        let template = object.get("spec").and_then(|spec| spec.get("jobTemplate"));
        let template = template.filter(|_| is_cron_job);
        Whole {
            api,
            kind,
            filled: with_defaults(api, kind, object),
            its_job: template.map(|template| with_defaults(api, api.job(), template)),
            written: object,
        }
    }
}

/// What an UPDATE replaces, as `must` rules see it.
pub type Before<'a, 'j> = Option<&'a Whole<'j>>;

/// The findings of a shape's `must` rules. Of an update those count that `before` did not have, or
/// that it had with another value.
#[must_use]
pub fn findings(
    shape: &Shape,
    reading: Reading,
    object: &Whole<'_>,
    before: Before<'_, '_>,
    pointers: bool,
) -> Findings {
    let mut found = Findings::default();
    for (index, rule) in shape.rules.iter().enumerate() {
        let Some(must) = &rule.must else { continue };
        let violations = violations(must, reading, object);
        if violations.is_empty() {
            continue;
        }
        let had = before.map(|before| self::violations(must, reading, before));
        for violation in violations {
            let is_old = had.iter().flatten().any(|old| old.is(&violation));
            if is_old {
                found.old += 1;
                continue;
            }
            found.count += 1;
            found.enforced += usize::from(rule.action == Action::Enforce);
            if found.findings.len() < MAX_FINDINGS {
                let id = RuleId(u16::try_from(index).unwrap_or(u16::MAX));
                found.findings.push(finding(id, rule.action, violation, object, pointers));
            }
        }
    }
    found
}

fn finding(
    rule: RuleId,
    action: Action,
    violation: Violation<'_, '_>,
    object: &Whole<'_>,
    pointers: bool,
) -> Finding {
    Finding {
        other: None,
        rule,
        action,
        raised_by: None,
        path: render(&violation.path),
        pointer: if pointers { pointer_in(&violation.path, object.written) } else { String::new() },
        expected: None,
        message: Cow::Owned(violation.message),
        help: None,
        part: None,
        missing: violation.missing,
        extra: false,
        template_at: None,
    }
}

/// Where a rule does not hold.
fn violations<'w, 'j>(
    must: &'w Must,
    reading: Reading,
    object: &'w Whole<'j>,
) -> Vec<Violation<'w, 'j>> {
    let mut violations = vec![];
    for selected in &must.selected {
        let Some((steps, taken)) = selected.steps(reading) else { continue };
        let (root, kind, path) = match taken {
            Taken::Itself => (Some(&object.filled), object.kind, vec![]),
            Taken::InItsJob => {
                let path = ["spec", "jobTemplate"].map(Step::Key).to_vec();
                (object.its_job.as_ref(), object.api.job(), path)
            }
        };
        let Some(root) = root else { continue };
        let mut search = Search { api: object.api, must, path, violations: &mut violations };
        search.below(root, kind, steps);
    }
    violations
}

/// The walk along the steps of a selector.
struct Search<'w, 'j, 'v> {
    api: &'static Api,
    must: &'w Must,
    path: Vec<Step<'w>>,
    violations: &'v mut Vec<Violation<'w, 'j>>,
}

impl<'w, 'j> Search<'w, 'j, '_> {
    fn below(&mut self, node: &'w Node<'j>, kind: Kind, steps: &'w [SelectorStep]) {
        let Some((step, rest)) = steps.split_first() else {
            let mut holding = Holding::new(self.api, &mut self.path, self.violations);
            holding.holds(&self.must.schema, kind, node);
            return;
        };
        match step {
            SelectorStep::Name(name) => {
                self.path.push(Step::Key(name));
                let found = member(self.api, kind, node, name);
                // A map that nobody wrote is an empty one to whoever reads it, labels for example: what
                // is asked of it is missing.
                let found = found.or_else(|| {
                    let is_map = matches!(child_kind(self.api, kind, name), Kind::Map(_));
                    (is_map && !rest.is_empty()).then_some(&EMPTY_MAP)
                });
                match found {
                    Some(below) => {
                        let kind = child_kind(self.api, kind, name);
                        self.below(below, kind, rest);
                    }
                    // One place for each parent that is there.
                    None if rest.is_empty() && !self.must.absent => {
                        let mut holding = Holding::new(self.api, &mut self.path, self.violations);
                        holding.missing(&self.must.schema, node);
                    }
                    None => {}
                }
                self.path.pop();
            }
            SelectorStep::All if !node.entries().is_empty() => {
                for entry in node.entries() {
                    let kind = child_kind(self.api, kind, &entry.key);
                    self.path.push(Step::Key(&entry.key));
                    self.below(&entry.node, kind, rest);
                    self.path.pop();
                }
            }
            SelectorStep::All | SelectorStep::Key(_) | SelectorStep::Value(_) => {
                let Kind::List(list) = kind else { return };
                let list = self.api.list(list);
                for (index, item) in node.items().iter().enumerate() {
                    if is_selected(step, item) {
                        let key = item_key(self.api, list, item);
                        self.path.push(Step::Item { index: Some(index), key });
                        self.below(item, list.item, rest);
                        self.path.pop();
                    }
                }
            }
        }
    }
}

fn is_selected(step: &SelectorStep, item: &Node<'_>) -> bool {
    match step {
        SelectorStep::Key(pairs) => pairs.iter().all(|(key, value)| {
            item.get(key).is_some_and(|found| match &found.value {
                Value::String(text) => text == value,
                Value::Number(Number::Int(int)) => value.parse() == Ok(*int),
                _ => false,
            })
        }),
        SelectorStep::Value(value) => item.as_str() == Some(value),
        SelectorStep::All | SelectorStep::Name(_) => true,
    }
}

/// What stands at a field or a key. A struct that is no pointer is always there, if only as `{}`: the
/// server stores it so.
fn member<'w, 'j>(api: &Api, kind: Kind, node: &'w Node<'j>, name: &str) -> Option<&'w Node<'j>> {
    let found = node.get(name).filter(|found| found.value != Value::Null);
    let is_there = |field: &&Field| !field.pointer && matches!(field.kind, Kind::Struct(_));
    found.or_else(|| {
        let is_struct = matches!(kind, Kind::Struct(_));
        api.field(kind, name).filter(is_there).filter(|_| is_struct).map(|_| &EMPTY_MAP)
    })
}

/// The kind of a field or an entry.
fn child_kind(api: &Api, kind: Kind, name: &str) -> Kind {
    match kind {
        Kind::Struct(_) => api.field(kind, name).map_or(Kind::Unknown, |field| field.kind),
        Kind::Map(id) => api.list(id).item,
        _ => Kind::Unknown,
    }
}
