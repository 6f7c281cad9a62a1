//! Two strings that differ: the template's whole if it is short, and where they part. The Job's is
//! never shown.

use crate::core::judge::explain::wanted::{quoted, with_names};
use crate::core::judge::explain::{Said, write_it};
use crate::core::path::is_invisible;
use crate::core::shape::Shape;
use crate::core::shape::compiled::NodeId;
use crate::core::shape::text::{Mismatch, Piece, TextPattern, common_prefix};

/// Longest text in which a difference is seen at once, in bytes.
const AT_A_GLANCE: usize = 40;

/// What a digest begins with in an image.
const DIGEST: &str = "@sha256:";

/// A string without variables.
pub(super) fn text(shape: &Shape, id: NodeId, want: &str, found: &str) -> Said {
    if let Some(said) = ends_in_newline(found.strip_suffix('\n') == Some(want)) {
        return said;
    }
    if want.strip_suffix('\n') == Some(found) {
        return Said::new("only differs by the newline at the end, which the template has")
            .help("write the newline too: a block text that begins with `|` and not with `|-`");
    }
    let at = common_prefix(want, found);
    if let Some(c) = found[at..].chars().next().filter(|c| is_invisible(*c)) {
        return Said::new(format!(
            "holds the invisible character U+{:04X}{}",
            u32::from(c),
            place(found, at)
        ))
        .help("delete that character, or write the text anew");
    }
    let Some(whole) = quoted(want) else {
        let parts = format!("differs from the template{}: {}", place(found, at), text_at(want, at));
        return Said::new(parts).help(write_it(shape, id));
    };
    let how = match (want.split_once(DIGEST), found.split_once(DIGEST)) {
        _ if want.eq_ignore_ascii_case(found) => ": only upper and lower case differ".to_owned(),
        (Some((image, _)), Some((other, _))) if image == other => {
            ": the digest is another one".to_owned()
        }
        (Some(_), None) if !found.contains('@') => {
            ": an image by its digest, not by a tag".to_owned()
        }
        _ if want.len() <= AT_A_GLANCE => String::new(),
        _ => format!("; the first difference is{}", place(found, at)),
    };
    Said::new(format!("the template has {whole} here{how}")).help(write_it(shape, id))
}

/// A string with variables, which stops following the template's text somewhere.
pub(super) fn pattern(
    shape: &Shape,
    pattern: &TextPattern,
    found: &str,
    mismatch: Mismatch,
) -> Said {
    let at_end = mismatch.piece == pattern.pieces.len();
    if let Some(said) = ends_in_newline(at_end && found[mismatch.at..] == *"\n") {
        return said;
    }
    if let Some(whole) = quoted(&with_names(shape, pattern)) {
        return Said::new(format!("the template has {whole} here"))
            .help("write the template's text, with a value for each `<…>`");
    }
    let there = match pattern.pieces.get(mismatch.piece) {
        Some(Piece::Variable(id, _)) => {
            format!("the variable `{}` is expected there", shape.variables.get(*id).name)
        }
        Some(Piece::Literal(literal)) => text_at(literal, mismatch.into),
        None => "the template's text ends there".to_owned(),
    };
    Said::new(format!("differs from the template{}: {there}", place(found, mismatch.at)))
        .help(format!("copy the text from {}", shape.template_name()))
}

fn ends_in_newline(only: bool) -> Option<Said> {
    only.then(|| {
        Said::new("only differs by a newline at the end, which the template has not")
            .help("leave the newline out: begin a block text with `|-` and not with `|`")
    })
}

/// ` at line 3, column 7`, or the column alone in a single line.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    if text.contains('\n') {
        format!(" at line {line}, column {column} of the text")
    } else {
        format!(" at column {column} of the text")
    }
}

/// The template's text from `at`, at most to the end of its line.
fn text_at(want: &str, at: usize) -> String {
    let rest: String = want[at..].lines().next().unwrap_or("").chars().take(40).collect();
    if rest.is_empty() {
        let ends = if at >= want.len() {
            "the template's text ends there"
        } else {
            "the template's line ends there"
        };
        return ends.to_owned();
    }
    let mut line = String::new();
    for c in rest.chars() {
        if c.is_control() { line.extend(c.escape_unicode()) } else { line.push(c) }
    }
    format!("the template has `{line}` there")
}
