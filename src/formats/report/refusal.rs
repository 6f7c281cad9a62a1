//! The text of a refusal, a warning and an audit annotation: what the API server passes on.
//!
//! The same deviation always gives the same bytes: no Job name, uid or time, so that clients and
//! Events fold equal texts.

use crate::core::judge::{Finding, Verdict};
use crate::core::shape::Shape;
use crate::core::shape::rule::{Action, RuleId};
use crate::core::shape::template::{Of, Template};

/// Most findings in one text.
const MAX_LINES: usize = 20;
/// Longest text, in bytes.
const MAX_TEXT: usize = 4096;
/// Longest list of variables that is shown, in bytes.
const MAX_NAMES: usize = 160;
/// Longest that the count of the others is, in bytes.
const LAST_LINE: usize = 32;
/// Longest warning, in characters: the API server cuts longer ones once there are many.
const MAX_WARNING: usize = 256;

/// `RULE PATH: text`: one finding, on one line.
#[must_use]
pub fn finding_line(verdict: &Verdict, finding: &Finding) -> String {
    let mut line = String::new();
    push_finding_line(verdict, finding, &mut line);
    line
}

fn push_finding_line(verdict: &Verdict, finding: &Finding, line: &mut String) {
    let Some(shape) = verdict.shape_of(finding) else { return };
    line.push_str(&shape.rule(finding.rule).name);
    line.push(' ');
    push_place_and_message(shape, finding, line);
}

/// What to do about any finding, for somebody who never heard of shapes.
#[must_use]
pub fn advice(shape: &Shape, template: &Template) -> String {
    let names: Vec<String> =
        template.variables.iter().map(|(_, v)| format!("`{}`", v.name)).collect();
    let names = match names.split_last() {
        None => String::new(),
        Some((last, most)) if names.concat().len() <= MAX_NAMES => match most {
            [] => format!(", except for the value of {last}"),
            most => format!(", except for the values of {} and {last}", most.join(", ")),
        },
        Some(_) => ", except for its variables".to_owned(),
    };
    let alike = shape.templates.iter().filter(|other| other.of == template.of).count();
    let another = if alike > 1 { " or another template of the shape" } else { "" };
    let called = template.called();
    let what = match template.of {
        Of::Job => format!("Every Job in this namespace must equal {called}{another}{names}."),
        Of::CronJob => {
            format!("Every CronJob in this namespace must equal {called}{another}{names}.")
        }
        Of::Child => {
            format!(
                "A Job in this namespace must be one that the CronJob of {called} makes{another}{names}."
            )
        }
    };
    format!(
        "{what} Take out what it has not and add what is missing, or have the template changed."
    )
}

/// `PATH: text`, for formats that show the rule in a way of their own.
#[must_use]
pub fn place_and_message(shape: &Shape, finding: &Finding) -> String {
    let mut text = String::new();
    push_place_and_message(shape, finding, &mut text);
    text
}

fn push_place_and_message(shape: &Shape, finding: &Finding, text: &mut String) {
    let path = if finding.path.is_empty() { "(the whole object)" } else { &finding.path };
    for part in [path, ": ", &finding.message] {
        text.push_str(part);
    }
    if let Some(rule) = finding.raised_by {
        for part in [" (raised by ", &shape.rule(rule).name, ")"] {
            text.push_str(part);
        }
    }
}

/// The whole refusal. `kind` is `Job` or `CronJob`.
#[must_use]
pub fn refusal(verdict: &Verdict, kind: &str) -> String {
    let speaker = match &verdict.shape {
        Some(shape) => format!("jobshape: {} ({})", shape.name, shape.short_digest()),
        None => "jobshape".to_owned(),
    };
    let Some(shape) = &verdict.shape else {
        return format!("{speaker}: {}", verdict.reason.as_deref().unwrap_or("cannot decide"));
    };
    if let Some(reason) = &verdict.reason {
        return format!("{speaker} refused this {kind}: {reason}");
    }
    let enforced: Vec<&Finding> =
        verdict.findings.findings.iter().filter(|f| f.action == Action::Enforce).collect();
    let count = verdict.findings.enforced;
    let head = format!(
        "{speaker} refused this {kind}: {count} finding{}",
        if count == 1 { "" } else { "s" }
    );
    let template = verdict.template.map(|index| &shape.templates[index]);
    let last = notes(verdict).into_iter().chain(template.map(|template| advice(shape, template)));
    let last: String = last.map(|line| format!("\n{line}")).collect();
    let mut text = String::with_capacity(MAX_TEXT);
    text.push_str(&head);
    push_lines(&mut text, &enforced, count, last.len(), |finding, text| {
        text.push_str("- ");
        push_finding_line(verdict, finding, text);
    });
    for line in explanations(verdict, enforced.iter().take(MAX_LINES).copied()) {
        if text.len() + line.len() + last.len() >= MAX_TEXT {
            break;
        }
        text.push('\n');
        text.push_str(&line);
    }
    text + &last
}

/// What the shapes say about rules, a line each, and once: below twenty findings of one rule the
/// same sentence twenty times would hide them.
fn explanations<'f>(verdict: &Verdict, findings: impl Iterator<Item = &'f Finding>) -> Vec<String> {
    let mut said: Vec<(Option<usize>, RuleId)> = vec![];
    let mut lines = vec![];
    for finding in findings {
        let id = (finding.other, finding.rule);
        if let Some(rule) = verdict.rule_of(finding)
            && let Some(message) = rule.message.as_deref().filter(|_| !said.contains(&id))
        {
            lines.push(format!("{}: {}", rule.name, sentence(message)));
        }
        said.push(id);
    }
    lines
}

/// What somebody wrote, on one line and with a full stop.
#[must_use]
pub fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

/// How an update was judged, where that is not plain from its findings: sentences.
#[must_use]
pub fn notes(verdict: &Verdict) -> Vec<String> {
    let started = verdict.start.map(|start| {
        format!(
            "The update lets Pods start ({}), so the whole Job is judged as a new one.",
            start.describe()
        )
    });
    let old = match verdict.findings.old {
        0 => None,
        1 => Some("One finding is as it was before the update, and does not count.".to_owned()),
        old => {
            Some(format!("{old} findings are as they were before the update, and do not count."))
        }
    };
    let names: Vec<&str> = verdict.alternatives.iter().map(|shape| shape.name.as_str()).collect();
    let others = (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("Of the templates here this is the closest; it fits those of {names} no better.")
    });
    started.into_iter().chain(old).chain(others).collect()
}

/// The findings of one action, one a line.
#[must_use]
pub fn findings_of(verdict: &Verdict, action: Action) -> Option<String> {
    let of_action: Vec<&Finding> =
        verdict.findings.findings.iter().filter(|f| f.action == action).collect();
    let (first, others) = of_action.split_first()?;
    let mut text = finding_line(verdict, first);
    push_lines(&mut text, others, others.len(), 0, |finding, text| {
        push_finding_line(verdict, finding, text);
    });
    Some(text)
}

/// The warnings of the findings that warn: single lines, each once.
#[must_use]
pub fn warnings(verdict: &Verdict) -> Vec<String> {
    let mut warnings: Vec<String> = vec![];
    let mut total = 0;
    for finding in verdict.findings.findings.iter().filter(|f| f.action == Action::Warn) {
        let Some(shape) = verdict.shape_of(finding) else { continue };
        // Each stands alone, so each has what the shape says about its rule.
        let message = &shape.rule(finding.rule).message;
        let said = message.as_deref().map(|m| format!(" ({})", m.trim_end_matches('.')));
        let text = format!(
            "jobshape: {} ({}): {}{}",
            shape.name,
            shape.short_digest(),
            finding_line(verdict, finding),
            said.unwrap_or_default()
        );
        let text: String = text.chars().filter(|c| !c.is_control()).take(MAX_WARNING).collect();
        total += text.len();
        if total > MAX_TEXT || warnings.len() == MAX_LINES {
            break;
        }
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }
    warnings
}

/// Adds at most [`MAX_LINES`] lines within [`MAX_TEXT`] bytes less those that are `taken`, then how
/// many more there are.
fn push_lines(
    text: &mut String,
    findings: &[&Finding],
    count: usize,
    taken: usize,
    push_line: impl Fn(&Finding, &mut String),
) {
    let mut shown = 0;
    for finding in findings.iter().take(MAX_LINES) {
        let before = text.len();
        text.push('\n');
        push_line(finding, text);
        // Room for the last line is kept.
        if text.len() > MAX_TEXT - taken - LAST_LINE + 1 {
            text.truncate(before);
            break;
        }
        shown += 1;
    }
    if shown < count {
        text.push_str(&format!("\nand {} more", count - shown));
    }
}

#[cfg(test)]
mod tests;
