//! Two strings that differ: the template's whole if it is short, and where they part. The Job's is
//! never shown.

use crate::core::judge::explain::wanted::{quoted, with_names};
use crate::core::judge::explain::{Said, write_it};
use crate::core::path::is_invisible;
use crate::core::shape::compiled::NodeId;
use crate::core::shape::template::Template;
use crate::core::shape::text::{Mismatch, Piece, TextPattern, common_prefix};

/// Longest text in which a difference is seen at once, in bytes.
const AT_A_GLANCE: usize = 40;

/// Longest line of the template that is shown whole, in characters.
const LINE: usize = 80;

/// What a digest begins with in an image.
const DIGEST: &str = "@sha256:";

/// A string without variables.
pub(super) fn text(template: &Template, id: NodeId, want: &str, found: &str) -> Said {
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
    let part = Some(position(found, at));
    let Some(whole) = quoted(want) else {
        let parts = format!("differs from the template{}: {}", place(found, at), text_at(want, at));
        return Said { part, ..Said::new(parts).help(write_it(template, id)) };
    };
    let digests = (want.split_once(DIGEST), found.split_once(DIGEST));
    let (how, part) = match digests {
        _ if want.eq_ignore_ascii_case(found) => ("only upper and lower case differ: ", None),
        (Some((image, _)), Some((other, _))) if image == other => {
            ("the digest is another one: ", part)
        }
        (Some(_), None) if !found.contains('@') => {
            ("an image without the digest that pins it: ", None)
        }
        _ if want.len() <= AT_A_GLANCE => ("", None),
        _ => ("", part),
    };
    let said = format!("{how}the template has {whole} here");
    Said { part, ..Said::new(said).help(write_it(template, id)) }
}

/// A string with variables, which stops following the template's text somewhere.
pub(super) fn pattern(
    template: &Template,
    pattern: &TextPattern,
    found: &str,
    mismatch: Mismatch,
) -> Said {
    let at_end = mismatch.piece == pattern.pieces.len();
    if let Some(said) = ends_in_newline(at_end && found[mismatch.at..] == *"\n") {
        return said;
    }
    if let Some(whole) = quoted(&with_names(template, pattern)) {
        return Said::new(format!("the template has {whole} here"))
            .help("write the template's text, with a value for each `<…>`");
    }
    let there = match pattern.pieces.get(mismatch.piece) {
        Some(Piece::Variable(id, _)) => {
            format!("the variable `{}` is expected there", template.variables.get(*id).name)
        }
        Some(Piece::Literal(_)) => {
            // Where the literal stands in the template's text.
            let before: String = pattern.pieces[..mismatch.piece]
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(text) => text.clone(),
                    Piece::Variable(id, _) => format!("<{}>", template.variables.get(*id).name),
                })
                .collect();
            text_at(&with_names(template, pattern), before.len() + mismatch.into)
        }
        None => "the template's text ends there".to_owned(),
    };
    let said = format!("differs from the template{}: {there}", place(found, mismatch.at));
    Said {
        part: Some(position(found, mismatch.at)),
        ..Said::new(said).help(format!("copy the text from {}", template.called()))
    }
}

fn ends_in_newline(only: bool) -> Option<Said> {
    only.then(|| {
        Said::new("only differs by a newline at the end, which the template has not")
            .help("leave the newline out: begin a block text with `|-` and not with `|`")
    })
}

/// Line and column of an offset, from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (line, column)
}

/// ` at line 3, column 7 of the text`, or the column alone in a single line.
fn place(text: &str, at: usize) -> String {
    let (line, column) = position(text, at);
    if text.contains('\n') {
        format!(" at line {line}, column {column} of the text")
    } else {
        format!(" at column {column} of the text")
    }
}

/// The template's line at `at`: whole if it is short, or from there on.
fn text_at(want: &str, at: usize) -> String {
    if at >= want.len() {
        return "the template's text ends there".to_owned();
    }
    let start = want[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = want[at..].find('\n').map_or(want.len(), |newline| at + newline);
    if at == end {
        return "the template's line ends there".to_owned();
    }
    let line = want[start..end].trim();
    let shown: String = if line.chars().count() <= LINE {
        line.to_owned()
    } else {
        want[at..end].chars().take(LINE / 2).collect()
    };
    let mut visible = String::new();
    for c in shown.chars() {
        if c.is_control() { visible.extend(c.escape_unicode()) } else { visible.push(c) }
    }
    format!("the template has `{visible}` there")
}
