//! What `check` prints for people: each finding with the offending line, then a line a Job, then
//! the counts.

use crate::core::judge::VerdictKind;
use crate::core::path::cut;
use crate::core::shape::Shape;
use crate::core::shape::rule::{Action, RuleId};
use crate::core::shape::template::Template;
use crate::formats::report::judged::{JudgedJob, Summary};
use crate::formats::report::refusal::{advice, notes, place_and_message, sentence};
use crate::formats::report::snippet::{Below, Mark, Severity, Style, report};
use crate::formats::text::Source;

/// The whole output.
#[must_use]
pub fn output(jobs: &[JudgedJob], sources: &[Source], style: Style) -> String {
    let mut text = String::new();
    let mut refused_by: Vec<(&Shape, &Template)> = vec![];
    for job in jobs {
        findings(job, sources, style, &mut text);
        text.push_str(&line(job));
        text.push('\n');
        if let Some(shape) = &job.verdict.shape
            && job.verdict.findings.enforced > 0
            && let Some(template) = job.verdict.template.map(|index| &shape.templates[index])
            && !refused_by
                .iter()
                .any(|(known, of)| known.name == shape.name && of.called() == template.called())
        {
            refused_by.push((shape, template));
        }
    }
    for (shape, template) in refused_by {
        text.push_str(&format!("{}: {}\n", shape.name, advice(shape, template)));
    }
    text.push_str(&counts(&Summary::of(jobs)));
    text.push('\n');
    text
}

fn findings(job: &JudgedJob, sources: &[Source], style: Style, text: &mut String) {
    let Some(source) = sources.get(job.text) else { return };
    let mut heard: Vec<(Option<usize>, RuleId)> = vec![];
    for (finding, offset) in job.verdict.findings.findings.iter().zip(&job.offsets) {
        let severity = match finding.action {
            Action::Enforce => Severity::Error,
            Action::Warn => Severity::Warning,
            Action::Audit => Severity::Note,
        };
        // What is missing has no place of its own: the marker stands at what it is missing from.
        let label = if finding.missing { "in here" } else { "" };
        let part = |at: u32| finding.part.and_then(|part| inside(source, at, part)).unwrap_or(at);
        let marks: Vec<Mark<'_>> =
            offset.iter().map(|at| Mark { source, at: part(*at), label }).collect();
        let Some(shape) = job.verdict.shape_of(finding) else { continue };
        let title = place_and_message(shape, finding);
        // Once a rule and Job: the same sentence below each of many findings would hide them.
        let rule = shape.rule(finding.rule);
        let note = rule.message.as_deref().map(sentence);
        let note = note.filter(|_| !heard.contains(&(finding.other, finding.rule)));
        heard.push((finding.other, finding.rule));
        let below = Below { help: finding.help.as_deref(), note: note.as_deref() };
        text.push_str(&report(severity, Some(&rule.name), &title, &marks, below, style));
        text.push('\n');
    }
    for note in notes(&job.verdict) {
        text.push_str(&format!("{note}\n\n"));
    }
    let hidden = job.verdict.findings.count - job.verdict.findings.findings.len();
    if hidden > 0 {
        text.push_str(&format!("and {hidden} more findings in {}\n\n", job.source));
    }
}

/// Where a line and column of a string stand in the file, if it is written there as it is: a
/// block text (`|`), or one line without quotes.
fn inside(source: &Source, at: u32, (line, column): (usize, usize)) -> Option<u32> {
    let start = source.position(at);
    let text = source.line_text(start.line)?;
    let is_block = start.line > 1
        && source
            .line_text(start.line - 1)?
            .trim_end()
            .trim_end_matches(['-', '+'])
            .ends_with(" |");
    let quoted = text.chars().nth(start.column - 1).is_some_and(|c| c == '"' || c == '\'');
    match (is_block, line) {
        (true, _) => source.offset_of(start.line + line - 1, start.column + column - 1),
        (false, 1) if !quoted => source.offset_of(start.line, start.column + column - 1),
        _ => None,
    }
}

/// One Job on one line.
fn line(job: &JudgedJob) -> String {
    let mut what = job.kind.clone();
    if !job.namespace.is_empty() || !job.name.is_empty() {
        let separator = if job.namespace.is_empty() { "" } else { "/" };
        what.push_str(&format!(" {}{separator}{}", cut(&job.namespace), cut(&job.name)));
    }
    let by = job
        .verdict
        .shape
        .as_ref()
        .map(|s| format!("{} ({})", s.name, s.short_digest()))
        .unwrap_or_default();
    let reason = job.verdict.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
    let count = job.verdict.findings.count;
    let findings = match (count, job.verdict.findings.enforced) {
        (0, _) => String::new(),
        (1, _) => ", 1 finding".to_owned(),
        (count, _) => format!(", {count} findings"),
    };
    let verdict = match job.verdict.kind {
        VerdictKind::Allow if job.verdict.shape.is_none() => format!("admitted{reason}"),
        VerdictKind::Allow => format!("admitted by {by}{findings}"),
        VerdictKind::Deny => format!("refused by {by}{findings}{reason}"),
        VerdictKind::Error => format!("could not be judged{reason}"),
        VerdictKind::Ungoverned if job.verdict.exempt => format!("exempt{reason}"),
        VerdictKind::Ungoverned => format!("ungoverned{reason}"),
    };
    format!("{}: {what}: {verdict}", job.source)
}

fn counts(summary: &Summary) -> String {
    let mut parts =
        vec![format!("{} admitted", summary.allow), format!("{} refused", summary.deny)];
    if summary.error > 0 {
        parts.push(format!("{} could not be judged", summary.error));
    }
    if summary.exempt > 0 {
        parts.push(format!("{} exempt", summary.exempt));
    }
    if summary.ungoverned > 0 {
        parts.push(format!("{} ungoverned", summary.ungoverned));
    }
    parts.join(", ")
}
