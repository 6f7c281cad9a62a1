//! The text of a refusal, a warning and an audit annotation: what the API server passes on.
//!
//! The same deviation always gives the same bytes: no Job name, uid or time, so that clients and
//! Events fold equal texts.

use crate::core::judge::{Finding, Verdict};
use crate::core::shape::Shape;
use crate::core::shape::rule::{Action, RuleId};

/// Most findings in one text.
const MAX_LINES: usize = 20;
/// Longest text, in bytes.
const MAX_TEXT: usize = 4096;
/// Longest last line, in bytes: two names of at most 65 characters and the words around them.
const MAX_ADVICE: usize = 512;
/// Longest warning, in characters: the API server cuts longer ones once there are many.
const MAX_WARNING: usize = 256;

/// `RULE PATH: text`: one finding, on one line.
#[must_use]
pub fn finding_line(shape: &Shape, finding: &Finding) -> String {
    format!("{} {}", shape.rule(finding.rule).name, place_and_message(shape, finding))
}

/// What the shape's author wrote for whoever meets a rule, behind the first finding of each rule.
#[derive(Default)]
struct Said(Vec<RuleId>);

impl Said {
    /// ` (the rule's message)`, the first time.
    fn once(&mut self, shape: &Shape, rule: RuleId) -> String {
        match &shape.rule(rule).message {
            Some(message) if !self.0.contains(&rule) => {
                self.0.push(rule);
                format!(" ({})", message.trim_end_matches('.'))
            }
            _ => String::new(),
        }
    }
}

/// The same with its rule's message, unless that was said before.
fn lines_of<'f>(
    shape: &'f Shape,
    findings: impl Iterator<Item = &'f Finding> + 'f,
) -> impl Iterator<Item = String> + 'f {
    let mut said = Said::default();
    findings.map(move |finding| {
        format!("{}{}", finding_line(shape, finding), said.once(shape, finding.rule))
    })
}

/// What to do about any finding, for somebody who never heard of shapes.
#[must_use]
pub fn advice(shape: &Shape) -> String {
    format!(
        "A Job here must equal {} in everything but its variables: change the Job, or have the template changed.",
        shape.template_name()
    )
}

/// `PATH: text`, for formats that show the rule in a way of their own.
#[must_use]
pub fn place_and_message(shape: &Shape, finding: &Finding) -> String {
    let raised = match finding.raised_by {
        Some(rule) => format!(" (raised by {})", shape.rule(rule).name),
        None => String::new(),
    };
    let path = if finding.path.is_empty() { "(the whole object)" } else { &finding.path };
    format!("{path}: {}{raised}", finding.message)
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
    let mut text = lines(
        head,
        count,
        lines_of(shape, enforced.into_iter()).map(|line| format!("- {line}")),
    );
    text.push('\n');
    text.push_str(&advice(shape));
    text
}

/// The findings of one action, one a line.
#[must_use]
pub fn findings_of(verdict: &Verdict, action: Action) -> Option<String> {
    let shape = verdict.shape.as_ref()?;
    let of_action: Vec<&Finding> =
        verdict.findings.findings.iter().filter(|f| f.action == action).collect();
    let count = of_action.len();
    let mut of_action = lines_of(shape, of_action.into_iter());
    let first = of_action.next()?;
    Some(lines(first, count - 1, of_action))
}

/// The warnings of the findings that warn: single lines, each once.
#[must_use]
pub fn warnings(verdict: &Verdict) -> Vec<String> {
    let Some(shape) = &verdict.shape else { return vec![] };
    let mut warnings: Vec<String> = vec![];
    let mut total = 0;
    let warned = verdict.findings.findings.iter().filter(|f| f.action == Action::Warn);
    for line in lines_of(shape, warned) {
        let text = format!("jobshape: {} ({}): {line}", shape.name, shape.short_digest());
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

/// `head` and at most [`MAX_LINES`] lines within [`MAX_TEXT`] bytes, then how many more there are.
fn lines(head: String, count: usize, lines: impl Iterator<Item = String>) -> String {
    let mut text = head;
    let mut shown = 0;
    for line in lines.take(MAX_LINES) {
        // Room for the last lines is kept.
        if text.len() + line.len() > MAX_TEXT - MAX_ADVICE {
            break;
        }
        text.push('\n');
        text.push_str(&line);
        shown += 1;
    }
    if shown < count {
        text.push_str(&format!("\nand {} more", count - shown));
    }
    text
}
