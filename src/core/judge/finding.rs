//! Findings: deviations attributed to rules.

use std::borrow::Cow;

use crate::core::shape::rule::{Action, RuleId};

/// Most findings that are described; the true count is kept beside them.
pub const MAX_FINDINGS: usize = 100;

/// A deviation attributed to a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whose rule it is: nothing for the shape that speaks, or which of the verdict's other shapes.
    pub other: Option<usize>,
    /// The rule that speaks.
    pub rule: RuleId,
    /// The action that decides.
    pub action: Action,
    /// The rule inside an extra or missing entry that raised the action.
    pub raised_by: Option<RuleId>,
    /// The place, as people read it.
    pub path: String,
    /// The place as a JSON pointer into the Job: its nearest existing parent if it is missing.
    /// Empty when the request wants none.
    pub pointer: String,
    /// What the template expects there, if that is one thing.
    pub expected: Option<String>,
    /// What is wrong, in a sentence without a full stop; never a value from the Job.
    pub message: Cow<'static, str>,
    /// The fix, as an order without a full stop; never a value from the Job either.
    pub help: Option<Cow<'static, str>>,
    /// Where in the Job's string the difference is: line and column, from 1.
    pub part: Option<(usize, usize)>,
    /// Whether the Job lacks what the template has: `pointer` then names where it belongs.
    pub missing: bool,
    /// Whether the Job has what the template lacks.
    pub extra: bool,
    /// Where the template says otherwise: offset in its text.
    pub template_at: Option<u32>,
}

/// All findings of one Job against one shape.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// At most [`MAX_FINDINGS`], ordered by place.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub count: usize,
    /// How many of them are decided by Enforce.
    pub enforced: usize,
    /// How many more an update leaves as they were: they are not among the others.
    pub old: usize,
}

impl Finding {
    /// An object of a kind that no governing shape has a template for.
    #[must_use]
    pub fn of_another_kind(rule: RuleId, action: Action, kind: &str) -> Finding {
        Finding {
            other: None,
            rule,
            action,
            raised_by: None,
            path: String::new(),
            pointer: String::new(),
            expected: None,
            message: Cow::Owned(format!(
                "no template here is a {kind}, so every {kind} in this namespace is refused"
            )),
            help: Some(Cow::Owned(format!(
                "have a {kind} committed as a template, or take it away"
            ))),
            part: None,
            missing: false,
            extra: false,
            template_at: None,
        }
    }
}

impl Findings {
    /// One finding and no other.
    #[must_use]
    pub fn of_one(finding: Finding) -> Findings {
        let enforced = usize::from(finding.action == Action::Enforce);
        Findings { findings: vec![finding], count: 1, enforced, old: 0 }
    }
}
