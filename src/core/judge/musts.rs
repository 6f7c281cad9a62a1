//! `must` rules: what stands at a place in the object, compared with what a rule says, whatever a
//! template has there.

use std::borrow::Cow;

use crate::core::judge::finding::{Finding, Findings, MAX_FINDINGS};
use crate::core::judge::walk::{EMPTY_LIST, EMPTY_MAP};
use crate::core::kubernetes::api::{Api, Field, Kind, ListType};
use crate::core::kubernetes::keys::item_key;
use crate::core::path::{Step, pointer_in, render};
use crate::core::shape::Shape;
use crate::core::shape::must::{Must, Reading, Taken};
use crate::core::shape::rule::{Action, RuleId};
use crate::core::shape::selector::SelectorStep;
use crate::core::tree::{Node, Number, Value};

pub mod holds;
mod ratchet;
mod whole;

use holds::{Holding, Violation};
use ratchet::Had;
pub use whole::Whole;

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
        let mut had = had.map(|had| Had::of(&had));
        for violation in violations {
            if had.as_mut().is_some_and(|had| had.takes(&violation)) {
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
        let mut search =
            Search { api: object.api, must, path, item: None, violations: &mut violations };
        search.below(root, kind, steps);
    }
    violations
}

/// The walk along the steps of a selector.
struct Search<'w, 'j, 'v> {
    api: &'static Api,
    must: &'w Must,
    path: Vec<Step<'w>>,
    /// The outermost item of a list without keys that the walk is in.
    item: Option<&'w Node<'j>>,
    violations: &'v mut Vec<Violation<'w, 'j>>,
}

impl<'w, 'j> Search<'w, 'j, '_> {
    fn holding(&mut self) -> Holding<'_, 'w, 'j> {
        Holding::new(self.api, &mut self.path, self.item, self.violations)
    }

    fn below(&mut self, node: &'w Node<'j>, kind: Kind, steps: &'w [SelectorStep]) {
        let Some((step, rest)) = steps.split_first() else {
            let must = self.must;
            self.holding().holds(&must.schema, kind, node);
            return;
        };
        match step {
            SelectorStep::Name(name) => {
                self.path.push(Step::Key(name));
                let found = member(self.api, kind, node, name);
                // A map or a list that nobody wrote is an empty one to whoever reads it, labels for
                // example: what is asked of it is missing.
                let may_be_missing = rest.is_empty() && self.must.absent;
                let found = found.or_else(|| match child_kind(self.api, kind, name) {
                    _ if may_be_missing => None,
                    Kind::Map(_) => Some(&EMPTY_MAP),
                    Kind::List(_) => Some(&EMPTY_LIST),
                    _ => None,
                });
                match found {
                    Some(below) => {
                        let kind = child_kind(self.api, kind, name);
                        self.below(below, kind, rest);
                    }
                    // One place for each parent that is there.
                    None if rest.is_empty() && !self.must.absent => {
                        let must = self.must;
                        self.holding().missing(&must.schema, node);
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
                        let outside = self.item;
                        let step = item_step(self.api, list, index, item);
                        if is_keyless(&step) {
                            self.item = outside.or(Some(item));
                        }
                        self.path.push(step);
                        self.below(item, list.item, rest);
                        self.path.pop();
                        self.item = outside;
                    }
                }
            }
        }
    }
}

/// The step to an item of a list; one without keys has only its index.
fn item_step<'n>(api: &Api, list: &ListType, index: usize, item: &'n Node<'_>) -> Step<'n> {
    let key = if list.is_keyed() { item_key(api, list, item) } else { None };
    Step::Item { index: Some(index), key }
}

fn is_keyless(step: &Step<'_>) -> bool {
    matches!(step, Step::Item { key: None, .. })
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
