//! How kubectl cuts a text into documents: by its lines, before any YAML is parsed.

use crate::core::mistake::Mistake;
use crate::formats::text::{Part, line_ends, offset};

const SEPARATOR: &str = "---";

/// The documents of a YAML stream, empty ones included.
///
/// A line that begins with `---` ends a document wherever it stands, in a block scalar too. One
/// that has more on it than a comment is a mistake, and so is the document it would begin: kubectl
/// stops there.
#[must_use]
pub fn split(text: &str) -> Vec<Result<Part<'_>, Mistake>> {
    let mut parts = Vec::new();
    let mut cutter = Cutter { text, start: 0, line: 1, broken: None };
    // Lines that a lone CR ends are rare, and no line of kubectl's splitter.
    let lone = text.contains('\r');
    let (mut at, mut line) = (0, 1);
    for content in text.split_inclusive('\n') {
        let end = at + content.len();
        line += if lone { line_ends(content).count() } else { 1 };
        if let Some(rest) = content.strip_prefix(SEPARATOR) {
            let broken = junk(rest, at);
            if cutter.start == at && cutter.broken.is_none() {
                // With nothing before it, the line belongs to the document: in `---`, `...`, `a`
                // the dots end an empty document, and nobody reads the `a`.
                cutter.broken = broken;
            } else {
                parts.extend(cutter.cut(at));
                cutter = Cutter { text, start: end, line, broken };
            }
        }
        at = end;
    }
    parts.extend(cutter.cut(text.len()));
    parts
}

struct Cutter<'a> {
    text: &'a str,
    start: usize,
    line: usize,
    broken: Option<Mistake>,
}

impl<'a> Cutter<'a> {
    fn cut(self, end: usize) -> Option<Result<Part<'a>, Mistake>> {
        if let Some(mistake) = self.broken {
            return Some(Err(mistake));
        }
        let text = self.text.get(self.start..end).filter(|text| !text.is_empty())?;
        Some(Ok(Part { text, at: offset(self.start), line: self.line }))
    }
}

fn junk(rest: &str, at: usize) -> Option<Mistake> {
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return None;
    }
    Some(
        Mistake::new(offset(at), "a line that begins with `---` may hold only a comment after it")
            .help(
                "kubectl stops at such a line; begin the document on the next line, or indent \
                 the line if it belongs to a block of text",
            ),
    )
}
