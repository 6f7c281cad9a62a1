//! The decision log: one line for each decision that somebody may have to explain.
//!
//! It names who, what and which rules, and never a value from the submitted object: logs travel
//! further than Secrets may.

use std::fmt::Write as _;

use tracing::{debug, info, warn};

use super::metrics::word;
use crate::formats::review::{Entrance, Record};

/// Where names that the requester chose are cut.
const NAME: usize = 64;

/// A user name is not from the Job and must stay whole to be of use, within reason.
const USER: usize = 256;

/// Where everything else is cut; a path may hold several names.
const TEXT: usize = 512;

/// At most so many rules a line; the count of findings is always the true one.
const RULES: usize = 20;

/// Writes the line. Refusals, errors, requests nothing governs and admissions with findings
/// always show; a clean admission only at debug level.
pub fn write(entrance: Entrance, record: &Record) {
    let entrance = word(entrance);
    let uid = clean(&record.uid, NAME);
    let operation = clean(&record.operation, NAME);
    let kind = clean(&record.kind, NAME);
    let namespace = clean(&record.namespace, NAME);
    let name = clean(&record.name, NAME);
    let user = clean(&record.user, USER);
    let rules = rules(record);
    let reason = record.reason.as_deref().map(|reason| clean(reason, TEXT));
    // The level is part of tracing's static metadata, so each needs a macro of its own.
    macro_rules! line {
        ($level:ident) => {
            $level!(
                target: "jobshape::decision",
                uid, entrance, verdict = record.verdict, allowed = record.allowed, operation,
                kind, namespace, name, user, dry_run = record.dry_run,
                shape = record.shape, digest = record.digest, findings = record.findings,
                old_findings = record.old_findings, rules, reason, "decision"
            )
        };
    }
    match record.verdict {
        "allow" if record.findings == 0 && record.old_findings == 0 => line!(debug),
        "error" => line!(warn),
        _ => line!(info),
    }
}

/// `RULE ACTION PATH; …`
fn rules(record: &Record) -> Option<String> {
    let mut text = String::new();
    for (rule, action, path) in record.rules.iter().take(RULES) {
        let separator = if text.is_empty() { "" } else { "; " };
        // Writing into a String cannot fail.
        let _ = write!(text, "{separator}{rule} {action} {}", clean(path, TEXT));
    }
    (!text.is_empty()).then_some(text)
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
pub(super) mod tests {
    use super::*;
    use crate::formats::review::undecided;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::fmt::MakeWriter;

    /// Where log lines of a test go.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    /// What `work` logs, as lines of JSON.
    pub fn log_of(work: impl FnOnce()) -> String {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt().json().with_writer(lines.clone()).finish();
        tracing::subscriber::with_default(subscriber, work);
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    fn logged(record: &Record) -> String {
        log_of(|| write(Entrance::Enforce, record))
    }

    fn denied() -> Record {
        let mut record = undecided(Entrance::Enforce, Some("u-1"), 403, "no").record;
        record.verdict = "deny";
        record.name = format!("{}\u{202e}\n", "x".repeat(70));
        record.user = format!("system:serviceaccount:{}", "n".repeat(80));
        record.findings = 1;
        record.rules = vec![("image".to_owned(), "Enforce", "spec.a[\u{1b}]".to_owned())];
        record
    }

    #[test]
    fn a_refusal_is_one_json_line_with_names_cut() {
        let text = logged(&denied());
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        let fields = &line["fields"];
        assert_eq!(fields["name"], format!("{}…", "x".repeat(64)));
        assert_eq!(fields["user"].as_str().unwrap().len(), 102);
        assert_eq!(fields["rules"], "image Enforce spec.a[\\u{1b}]");
        assert_eq!(fields["verdict"], "deny");
        assert_eq!(fields["findings"], 1);
        assert_eq!(fields["allowed"], false);
        assert!(fields.get("shape").is_none());
    }

    #[test]
    fn what_turns_the_writing_direction_is_escaped() {
        assert_eq!(clean("a\u{202e}b\nc", 64), "a\\u{202e}b\\u{a}c");
    }

    #[test]
    fn a_clean_admission_is_silent_and_one_with_findings_is_not() {
        let mut record = denied();
        record.verdict = "allow";
        assert!(logged(&record).contains("\"verdict\":\"allow\""));
        record.findings = 0;
        assert_eq!(logged(&record), "");
    }
}
