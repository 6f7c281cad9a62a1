//! What `verify` prints: a line for each thing that was looked at.

use anstyle::{AnsiColor, Color, Style as Ansi};
use serde::Serialize;

use crate::formats::report::snippet::Style;

/// What became of looking at one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// To be known; no failure.
    Note,
    /// Not as it should be.
    Failed,
    /// It could not be looked at.
    Unknown,
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What was looked at: a word that stays the same.
    pub check: &'static str,
    /// What became of it.
    pub status: Status,
    /// A sentence.
    pub message: String,
    /// What it is about in particular, one each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Line {
    /// One that says no more than this.
    #[must_use]
    pub fn new(check: &'static str, status: Status, message: impl Into<String>) -> Line {
        Line { check, status, message: message.into(), details: vec![], fix: None }
    }

    /// As it should be.
    #[must_use]
    pub fn ok(check: &'static str, message: impl Into<String>) -> Line {
        Line::new(check, Status::Ok, message)
    }

    /// To be known.
    #[must_use]
    pub fn note(check: &'static str, message: impl Into<String>) -> Line {
        Line::new(check, Status::Note, message)
    }

    /// Not as it should be, and what to do.
    #[must_use]
    pub fn failed(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Line {
        Line { fix: Some(fix.into()), ..Line::new(check, Status::Failed, message) }
    }

    /// Whether it is not as it should be.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.status == Status::Failed
    }

    /// The same about these in particular.
    #[must_use]
    pub fn with(mut self, details: Vec<String>) -> Line {
        self.details = details;
        self
    }
}

/// 2 if anything could not be looked at, 1 if anything is not as it should be, 0 otherwise.
#[must_use]
pub fn exit_status(lines: &[Line]) -> u8 {
    let has = |status: Status| lines.iter().any(|line| line.status == status);
    match (has(Status::Unknown), has(Status::Failed)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

/// A line for people.
#[must_use]
pub fn human(line: &Line, style: Style) -> String {
    let (word, colour) = match line.status {
        Status::Ok => ("ok", AnsiColor::Green),
        Status::Note => ("note", AnsiColor::Cyan),
        Status::Failed => ("FAILED", AnsiColor::Red),
        Status::Unknown => ("UNKNOWN", AnsiColor::Yellow),
    };
    let word = match style {
        Style::Plain => format!("{word:<7}"),
        Style::Coloured => {
            let ansi = Ansi::new().fg_color(Some(Color::Ansi(colour)));
            format!("{ansi}{word:<7}{ansi:#}")
        }
    };
    let mut text = format!("{word} {:<13} {}\n", line.check, line.message);
    let below = " ".repeat(22);
    for detail in &line.details {
        text.push_str(&format!("{below}- {detail}\n"));
    }
    if let Some(fix) = &line.fix {
        text.push_str(&format!("{below}fix: {fix}\n"));
    }
    text
}

/// What stands below all lines. `enforced`: whether these shapes refuse anything.
#[must_use]
pub fn summary(lines: &[Line], enforced: bool, style: Style) -> String {
    let count = |status: Status| lines.iter().filter(|line| line.status == status).count();
    let text = match (count(Status::Failed), count(Status::Unknown)) {
        (0, 0) if enforced => "the boundary is live",
        (0, 0) => "all is as these shapes say, and nothing is enforced",
        (_, 0) => "the boundary is not what these shapes say",
        (_, _) => "not everything could be looked at: this proves nothing",
    };
    let text = match style {
        Style::Plain => text.to_owned(),
        Style::Coloured => {
            let bold = Ansi::new().bold();
            format!("{bold}{text}{bold:#}")
        }
    };
    let [ok, note, failed, unknown] =
        [Status::Ok, Status::Note, Status::Failed, Status::Unknown].map(count);
    format!("\n{text}: {ok} ok, {note} to be known, {failed} failed, {unknown} unknown\n")
}

/// All of it for programs. `enforced`: as in [`summary`]. What refuses nothing is no live boundary.
///
/// # Errors
/// None that could happen to these types.
pub fn json(lines: &[Line], enforced: bool) -> Result<String, serde_json::Error> {
    let status = exit_status(lines);
    let whole =
        serde_json::json!({"lines": lines, "live": status == 0 && enforced, "enforced": enforced});
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_refuses_nothing_is_not_live() {
        let lines = [Line::ok("canary", "a")];
        let said = |enforced| {
            let whole: serde_json::Value =
                serde_json::from_str(&json(&lines, enforced).unwrap()).unwrap();
            (summary(&lines, enforced, Style::Plain), whole["live"].clone())
        };
        let (text, live) = said(false);
        assert!(text.contains("nothing is enforced: 1 ok") && !text.contains("live"), "{text}");
        assert_eq!(live, false);
        let (text, live) = said(true);
        assert!(text.contains("the boundary is live: 1 ok"), "{text}");
        assert_eq!(live, true);
    }
}
