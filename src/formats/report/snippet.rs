//! The offending line of a text with a marker under it.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::core::mistake::Mistake;
use crate::core::path::is_invisible;
use crate::core::tree::NOWHERE;
use crate::formats::text::Source;

/// Longest line that is shown, in bytes: a minified file is one line.
const MAX_LINE: usize = 400;

/// How a report is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without colour.
    Plain,
    /// With the terminal's colours.
    Coloured,
}

/// What heads a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Refused, or could not be read.
    Error,
    /// Admitted, and the requester is told.
    Warning,
    /// Admitted and recorded.
    Note,
}

/// A place to be shown: a text and an offset in it.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    /// The text.
    pub source: &'a Source,
    /// The offset.
    pub at: u32,
    /// What is said beside the marker.
    pub label: &'a str,
}

/// What stands below the marked places.
#[derive(Debug, Clone, Copy, Default)]
pub struct Below<'a> {
    /// The fix.
    pub help: Option<&'a str>,
    /// What else is to be known.
    pub note: Option<&'a str>,
}

/// A headed report with at most two marked places and what stands below them; `rule` stands in
/// brackets behind the first word.
#[must_use]
pub fn report(
    severity: Severity,
    rule: Option<&str>,
    title: &str,
    marks: &[Mark<'_>],
    below: Below<'_>,
    style: Style,
) -> String {
    let lines: Vec<MarkedLine<'_>> = marks.iter().filter_map(MarkedLine::of).collect();
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut heading = level.primary_title(title);
    if let Some(rule) = rule {
        heading = heading.id(rule);
    }
    let mut group = Group::with_title(heading);
    for (index, line) in lines.iter().enumerate() {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let mut annotation = kind.span(line.span.clone());
        if !line.label.is_empty() {
            annotation = annotation.label(line.label);
        }
        group = group.element(
            Snippet::source(line.text.as_str())
                .line_start(line.number)
                .path(line.path)
                .annotation(annotation),
        );
    }
    if let Some(help) = below.help {
        group = group.element(Level::HELP.message(help));
    }
    if let Some(note) = below.note {
        group = group.element(Level::NOTE.message(note));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut text = renderer.render(&[group]).to_string();
    text.push('\n');
    text
}

/// A mistake in one of `sources`, drawn.
#[must_use]
pub fn mistake(sources: &[&Source], mistake: &Mistake, style: Style) -> String {
    let mut marks = vec![];
    if let Some(source) = sources.get(mistake.source) {
        if mistake.at != NOWHERE {
            marks.push(Mark { source, at: mistake.at, label: "" });
        }
        if let Some(at) = mistake.also {
            marks.push(Mark { source, at, label: "the first one" });
        }
    }
    let title = match (marks.is_empty(), sources.get(mistake.source)) {
        (true, Some(source)) => format!("{}: {}", source.name, mistake.message),
        _ => mistake.message.clone(),
    };
    let below = Below { help: mistake.help.as_deref(), note: None };
    report(Severity::Error, None, &title, &marks, below, style)
}

/// `file:line:column`.
#[must_use]
pub fn place(source: &Source, at: u32) -> String {
    if at == NOWHERE {
        return source.name.clone();
    }
    let position = source.position(at);
    format!("{}:{}:{}", source.name, position.line, position.column)
}

struct MarkedLine<'a> {
    path: &'a str,
    number: usize,
    text: String,
    span: std::ops::Range<usize>,
    label: &'a str,
}

impl<'a> MarkedLine<'a> {
    fn of(mark: &Mark<'a>) -> Option<Self> {
        let position = mark.source.position(mark.at);
        let line = mark.source.line_text(position.line)?;
        let start: usize = line.chars().take(position.column - 1).map(char::len_utf8).sum();
        if line.len() > MAX_LINE {
            let text = "(a line too long to be shown)".to_owned();
            let span = 0..text.len();
            return Some(MarkedLine {
                path: &mark.source.name,
                number: position.line,
                text,
                span,
                label: mark.label,
            });
        }
        let end = token_end(line, start);
        let (before, token, after) =
            (visible(&line[..start]), visible(&line[start..end]), visible(&line[end..]));
        let span = before.len()..before.len() + token.len();
        let text = format!("{before}{token}{after}");
        Some(MarkedLine {
            path: &mark.source.name,
            number: position.line,
            text,
            span,
            label: mark.label,
        })
    }
}

/// A text in which nothing can draw on the terminal or hide from the eye.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() && c != '\t') || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Where the key or value that begins at `start` ends: before a comment, and before the colon of
/// a key.
fn token_end(line: &str, start: usize) -> usize {
    let rest = &line[start..];
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'');
    if let Some(quote) = quote
        && let Some(close) = rest[1..].find(quote)
    {
        return start + close + 2;
    }
    let end = [": ", " #"].iter().filter_map(|stop| rest.find(stop)).min().unwrap_or(rest.len());
    let token = rest[..end].trim_end().trim_end_matches(':');
    start + token.len().max(usize::from(!rest.is_empty()))
}
