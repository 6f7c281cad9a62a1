//! Rules: named regions of the Job, with a message and an action.

use std::fmt;

use crate::core::shape::must::Must;

/// What happens to a request that has a finding of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Admitted and recorded.
    Audit,
    /// Admitted with a warning.
    Warn,
    /// Refused.
    Enforce,
}

impl Action {
    /// The words a shape may use.
    pub const WORDS: [&'static str; 3] = ["Enforce", "Warn", "Audit"];

    /// The word in a shape and in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Action::Audit => "Audit",
            Action::Warn => "Warn",
            Action::Enforce => "Enforce",
        }
    }

    /// The action a word names; case counts.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Action> {
        [Action::Audit, Action::Warn, Action::Enforce].into_iter().find(|a| a.word() == word)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Index of a rule in its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u16);

/// A rule of a shape.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its name, unique in the shape.
    pub name: String,
    /// What a person should know when it refuses.
    pub message: Option<String>,
    /// What a finding of it does.
    pub action: Action,
    /// The date after which the server alarms about an action weaker than Enforce.
    pub audit_until: Option<String>,
    /// Whether it takes everything that no other rule claims.
    pub catch_all: bool,
    /// What must stand at its places, whatever a template has there.
    pub must: Option<Must>,
    /// Where it is written down; the shape itself for the rule nobody wrote.
    pub written_at: u32,
}
