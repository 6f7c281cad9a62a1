//! A built case, what it got, and whether that is what it must get.

use crate::core::judge::{Verdict, VerdictKind};
use crate::core::shape::document::Operation;
use crate::formats::suite::{Case, rules_of};

/// A case with its Job.
#[derive(Debug, Clone)]
pub struct Built {
    /// The Job.
    pub job: serde_json::Value,
    /// The request's namespace.
    pub namespace: String,
    /// What it replaces, in an update.
    pub old: Option<serde_json::Value>,
}

impl Built {
    /// Create or update.
    #[must_use]
    pub fn operation(&self) -> Operation {
        if self.old.is_some() { Operation::Update } else { Operation::Create }
    }
}

/// What a case got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: VerdictKind,
    /// The rules that have findings, each once, sorted.
    pub rules: Vec<String>,
    /// Place and message of each finding.
    pub findings: Vec<(String, String)>,
    /// Why it could not be judged, or was refused without findings.
    pub reason: Option<String>,
}

impl Outcome {
    /// What a verdict says.
    #[must_use]
    pub fn of(verdict: &Verdict) -> Outcome {
        let findings = &verdict.findings.findings;
        Outcome {
            verdict: verdict.kind,
            rules: rules_of(verdict),
            findings: findings.iter().map(|f| (f.path.clone(), f.message.to_string())).collect(),
            reason: verdict.reason.clone(),
        }
    }
}

impl Case {
    /// What is wrong with an outcome; nothing when the case passes.
    #[must_use]
    pub fn complaints(&self, outcome: &Outcome) -> Vec<String> {
        let mut complaints = vec![];
        if outcome.verdict != self.expect {
            let by = match &outcome.rules[..] {
                [] => String::new(),
                rules => format!(" by {}", rules.join(", ")),
            };
            let reason = outcome.reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default();
            complaints.push(format!(
                "expected {}, got {}{by}{reason}",
                self.expect.word(),
                outcome.verdict.word()
            ));
        } else if !self.any_rule {
            let mut expected: Vec<&str> =
                self.rules.iter().map(|(rule, _)| rule.as_str()).collect();
            expected.sort_unstable();
            if expected != outcome.rules {
                complaints.push(format!(
                    "expected findings of {}, got {}",
                    list(&expected),
                    list(&outcome.rules)
                ));
            }
        }
        for path in &self.paths {
            if !outcome.findings.iter().any(|(found, _)| found == path) {
                complaints.push(format!("expected a finding at {path}"));
            }
        }
        if let Some(text) = &self.message
            && !outcome.findings.iter().any(|(_, message)| message.contains(text.as_str()))
            && !outcome.reason.as_deref().is_some_and(|r| r.contains(text.as_str()))
        {
            complaints.push(format!("expected a message that holds `{text}`"));
        }
        if !complaints.is_empty() {
            complaints.extend(
                outcome.findings.iter().map(|(path, message)| format!("found {path}: {message}")),
            );
        }
        complaints
    }
}

fn list<T: AsRef<str>>(rules: &[T]) -> String {
    if rules.is_empty() {
        return "no rule".to_owned();
    }
    rules.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// The complaints about case 0: the base is admitted, and without findings.
#[must_use]
pub fn complaints_about_base(outcome: &Outcome) -> Vec<String> {
    if outcome.verdict == VerdictKind::Allow && outcome.findings.is_empty() {
        return vec![];
    }
    let mut complaints = vec![format!(
        "the base must be admitted without findings, got {}{}",
        outcome.verdict.word(),
        outcome.reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default()
    )];
    complaints
        .extend(outcome.findings.iter().map(|(path, message)| format!("found {path}: {message}")));
    complaints
}
