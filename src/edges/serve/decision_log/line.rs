//! What a decision looks like in the log.
//!
//! It names who, what and which rules, and never a value from the submitted object: logs travel
//! further than Secrets may.

use std::time::SystemTime;

use serde::Serialize;

use super::users::Users;
use crate::edges::serve::metrics::word;
use crate::formats::review::{self, Entrance, Record};

/// Where names that the requester chose are cut.
const NAME: usize = 64;

/// A user name is not from the Job and must stay whole to be of use, within reason.
const USER: usize = 256;

/// Where everything else is cut; a path may hold several names.
const TEXT: usize = 512;

/// At most so many rules a line; the count of findings is always the true one.
const RULES: usize = 20;

/// A decision to be written.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which one it was.
    pub which: Which,
    /// What it was.
    pub decision: Decision,
}

/// What tells a decision from an equal one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Which {
    /// When it was answered.
    pub time: SystemTime,
    /// The request's uid.
    pub uid: String,
    /// The object's name.
    pub name: String,
}

/// What two equal decisions have in common. The names are those of [`Record`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Decision {
    pub entrance: &'static str,
    pub verdict: &'static str,
    pub allowed: bool,
    pub operation: String,
    pub kind: String,
    pub namespace: String,
    pub user: String,
    pub dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exempt: bool,
    pub findings: usize,
    pub old_findings: usize,
    pub rules: Vec<Spoken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A rule that spoke.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Spoken {
    /// Its name.
    pub rule: String,
    /// The action that decided.
    pub action: &'static str,
    /// Where.
    pub path: String,
    /// Its shape, if that is another than the one that speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

/// Whether somebody may have to explain it: a refusal, a warning, or what would have been refused.
pub fn is_worth_a_line(record: &Record) -> bool {
    !record.allowed
        || record.findings > 0
        || record.verdict == "error"
        || record.unshaped
        || record.exempt
}

impl Entry {
    /// What the log says of an answer, now.
    pub fn new(entrance: Entrance, record: &Record, users: &Users) -> Self {
        let spoken = |spoken: &review::Spoken| Spoken {
            rule: spoken.rule.clone(),
            action: spoken.action,
            path: clean(&spoken.path, TEXT),
            shape: Some(&spoken.shape)
                .filter(|shape| record.shape.as_ref() != Some(shape))
                .cloned(),
        };
        Self {
            which: Which {
                time: SystemTime::now(),
                uid: clean(&record.uid, NAME),
                name: clean(&record.name, NAME),
            },
            decision: Decision {
                entrance: word(entrance),
                verdict: record.verdict,
                allowed: record.allowed,
                operation: clean(&record.operation, NAME),
                kind: clean(&record.kind, NAME),
                namespace: clean(&record.namespace, NAME),
                user: users.token(&record.user).unwrap_or_else(|| clean(&record.user, USER)),
                dry_run: record.dry_run,
                shape: record.shape.clone(),
                digest: record.digest.clone(),
                exempt: record.exempt,
                findings: record.findings,
                old_findings: record.old_findings,
                rules: record.rules.iter().take(RULES).map(spoken).collect(),
                reason: record.reason.as_deref().map(|reason| clean(reason, TEXT)),
            },
        }
    }
}

/// The line of a decision.
#[derive(Serialize)]
pub struct Line<'a> {
    log: &'static str,
    time: String,
    uid: &'a str,
    name: &'a str,
    #[serde(flatten)]
    decision: &'a Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<u64>,
}

impl<'a> Line<'a> {
    /// `repeated`: how many equal decisions it stands for, if it stands for others.
    pub fn new(which: &'a Which, decision: &'a Decision, repeated: Option<u64>) -> Self {
        let Which { time, uid, name } = which;
        Self { log: "decision", time: stamp(*time), uid, name, decision, repeated }
    }
}

/// A time as every line has it.
pub fn stamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// At most `most` characters, none of which can move the cursor or turn the writing direction.
fn clean(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    for (count, c) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        match c {
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{61c}' => out.extend(c.escape_unicode()),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::denied;
    use super::*;
    use serde_json::{Value, json};

    fn line(record: &Record, users: &Users) -> Value {
        let entry = Entry::new(Entrance::Enforce, record, users);
        serde_json::to_value(Line::new(&entry.which, &entry.decision, None)).unwrap()
    }

    #[test]
    fn a_refusal_is_an_object_with_names_cut() {
        let line = line(&denied(), &Users::Plain);
        assert_eq!(line["name"], format!("{}…", "x".repeat(64)));
        assert_eq!(line["user"].as_str().unwrap().len(), 102);
        let rules = json!([{"rule": "image", "action": "Enforce", "path": "spec.a[\\u{1b}]"}]);
        assert_eq!(line["rules"], rules);
        assert_eq!((&line["verdict"], &line["findings"]), (&json!("deny"), &json!(1)));
        assert_eq!(line["allowed"], false);
        assert_eq!(line["shape"], "worker");
        assert!(line.get("exempt").is_none() && line.get("repeated").is_none(), "{line}");
        // A finding of another shape says so.
        let mut record = denied();
        record.shape = Some("other".to_owned());
        record.exempt = true;
        let line = self::line(&record, &Users::Plain);
        assert_eq!((&line["rules"][0]["shape"], &line["exempt"]), (&json!("worker"), &json!(true)));
    }

    #[test]
    fn the_rules_are_cut_and_their_count_is_not() {
        let mut record = denied();
        record.rules = vec![record.rules[0].clone(); 90];
        record.findings = 312;
        let line = line(&record, &Users::Plain);
        assert_eq!((line["rules"].as_array().unwrap().len(), &line["findings"]), (20, &json!(312)));
    }

    #[test]
    fn a_hashed_user_is_nowhere_in_the_line() {
        let line = line(&denied(), &Users::random().unwrap()).to_string();
        assert!(!line.contains("serviceaccount") && line.contains("\"user\":\"hmac:"), "{line}");
    }

    #[test]
    fn what_turns_the_writing_direction_is_escaped() {
        assert_eq!(clean("a\u{202e}b\nc", 64), "a\\u{202e}b\\u{a}c");
    }

    #[test]
    fn what_nobody_has_to_explain_has_no_line() {
        let clean = Record { verdict: "allow", allowed: true, ..Record::default() };
        assert!(!is_worth_a_line(&clean));
        assert!(!is_worth_a_line(&Record { verdict: "ungoverned", ..clean.clone() }));
        assert!(!is_worth_a_line(&Record { old_findings: 1, ..clean.clone() }));
        for worth in [
            Record { allowed: false, ..clean.clone() },
            Record { findings: 1, ..clean.clone() },
            Record { verdict: "error", ..clean.clone() },
            Record { unshaped: true, ..clean.clone() },
            Record { exempt: true, ..clean.clone() },
        ] {
            assert!(is_worth_a_line(&worth), "{worth:?}");
        }
    }
}
