//! Which violations of an UPDATE the old object had already.
//!
//! One is old when the old object has it at the same place, with the same value there. What is
//! missing has no value: inside of an item of a list the struct that it is missing from counts,
//! because a `secretRef` in place of a `configMapRef` is something else that lacks a `configMapRef`.
//! Items of a list without keys have no place of their own, so that their whole value is it.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::holds::Violation;
use crate::core::path::Step;

/// The violations of an old object. Each excuses one of the new object.
pub struct Had {
    counts: HashMap<String, usize>,
}

impl Had {
    /// Of these.
    #[must_use]
    pub fn of(violations: &[Violation<'_, '_>]) -> Had {
        let mut counts = HashMap::with_capacity(violations.len());
        for violation in violations {
            *counts.entry(identity(violation)).or_insert(0) += 1;
        }
        Had { counts }
    }

    /// Whether the old object had this one.
    pub fn takes(&mut self, violation: &Violation<'_, '_>) -> bool {
        match self.counts.get_mut(&identity(violation)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Everything that makes a violation the same, as a text: as long as what it is about, so that all
/// of them are compared in the time that it takes to read the objects.
fn identity(violation: &Violation<'_, '_>) -> String {
    let mut identity = String::new();
    let mut is_inside = false;
    let mut is_keyless = false;
    for step in &violation.path {
        // A length before each text: no text can be made to look like two.
        let _ = match step {
            Step::Key(key) => write!(identity, ".{}:{key}", key.len()),
            Step::Item { key: Some(key), .. } => {
                is_inside = true;
                write!(identity, "[{}:{key}", key.len())
            }
            Step::Item { key: None, index } if is_keyless => write!(identity, "[#{index:?}"),
            Step::Item { key: None, .. } => {
                (is_inside, is_keyless) = (true, true);
                let item = violation.item.map(|item| item.to_json().to_string());
                let item = item.unwrap_or_default();
                write!(identity, "[={}:{item}", item.len())
            }
        };
    }
    let _ = write!(identity, " {} {}", violation.missing, violation.message);
    if !is_keyless && (is_inside || !violation.missing) {
        let _ = write!(identity, " {}", violation.value.to_json());
    }
    identity
}
