//! A template string with placeholders in it: literal pieces and variables, and how a Job's
//! string splits into them in one way only.

use std::ops::Range;

use super::constraint::Extent;
use super::variable::{VariableId, Variables};

/// A template string that holds at least one placeholder.
#[derive(Debug, Clone)]
pub struct TextPattern {
    /// Literals and variables, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a template string.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text that stands there as it is.
    Literal(String),
    /// A variable's value, and how its end is found.
    Variable(VariableId, End),
}

/// How the end of a variable's value is found in a Job's string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// After this many characters.
    After(usize),
    /// After whichever of these words stands there; none is the beginning of another.
    Words(Vec<String>),
    /// Before the first of this character, which no value holds.
    Before(char),
    /// At the end of the string, less the literal text that still follows.
    Last,
}

/// Where a Job's string stops following the template's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Byte offset in the Job's string.
    pub at: usize,
    /// Index of the piece that did not fit.
    pub piece: usize,
    /// How many bytes of that piece did, if it is a literal.
    pub into: usize,
}

/// Splits a template string at the placeholders in it.
#[must_use]
pub fn split(text: &str, variables: &Variables) -> Vec<Result<String, VariableId>> {
    let mut pieces = vec![];
    let mut literal = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((id, placeholder)) = variables.placeholder_at(rest) {
            if !literal.is_empty() {
                pieces.push(Ok(std::mem::take(&mut literal)));
            }
            pieces.push(Err(id));
            rest = &rest[placeholder.len()..];
        } else if let Some(c) = rest.chars().next() {
            literal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !literal.is_empty() {
        pieces.push(Ok(literal));
    }
    pieces
}

impl TextPattern {
    /// Compiles the pieces.
    ///
    /// # Errors
    /// The variable whose end cannot be told: several variables in one string must split every
    /// accepted string in one way only.
    pub fn compile(
        split: Vec<Result<String, VariableId>>,
        variables: &Variables,
    ) -> Result<TextPattern, VariableId> {
        let last = split.iter().rposition(Result::is_err);
        let firsts: Vec<Option<char>> = split
            .iter()
            .skip(1)
            .map(|piece| piece.as_ref().ok().and_then(|text| text.chars().next()))
            .chain([None])
            .collect();
        let mut pieces = vec![];
        for (index, (piece, next)) in split.into_iter().zip(firsts).enumerate() {
            pieces.push(match piece {
                Ok(literal) => Piece::Literal(literal),
                Err(id) if Some(index) == last => Piece::Variable(id, End::Last),
                Err(id) => Piece::Variable(
                    id,
                    end_of(&variables.get(id).constraint.extent(), next).ok_or(id)?,
                ),
            });
        }
        Ok(TextPattern { pieces })
    }

    /// The single variable that is the whole string.
    #[must_use]
    pub fn whole(&self) -> Option<VariableId> {
        match self.pieces[..] {
            [Piece::Variable(id, _)] => Some(id),
            _ => None,
        }
    }

    /// The variables' places in `text`.
    ///
    /// # Errors
    /// Where `text` stops following the template. A value that its constraint refuses is no
    /// mismatch: the caller checks values.
    pub fn apply(&self, text: &str) -> Result<Vec<(VariableId, Range<usize>)>, Mismatch> {
        let mut found = vec![];
        let mut at = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let mismatch = |at| Mismatch { at, piece: index, into: 0 };
            let rest = &text[at..];
            match piece {
                Piece::Literal(literal) => {
                    if !rest.starts_with(literal.as_str()) {
                        let into = common_prefix(rest, literal);
                        return Err(Mismatch { at: at + into, piece: index, into });
                    }
                    at += literal.len();
                }
                Piece::Variable(id, end) => {
                    let length = match end {
                        End::After(n) => match rest.char_indices().nth(*n) {
                            Some((length, _)) => length,
                            None if rest.chars().count() == *n => rest.len(),
                            None => return Err(mismatch(text.len())),
                        },
                        End::Words(words) => {
                            match words.iter().find(|w| rest.starts_with(w.as_str())) {
                                Some(word) => word.len(),
                                None => return Err(mismatch(at)),
                            }
                        }
                        End::Before(c) => rest.find(*c).unwrap_or(rest.len()),
                        End::Last => {
                            let tail: usize =
                                self.pieces[index + 1..].iter().map(literal_len).sum();
                            match rest.len().checked_sub(tail) {
                                Some(length) if rest.is_char_boundary(length) => length,
                                _ => {
                                    let at = text.len();
                                    return Err(Mismatch { at, piece: index + 1, into: 0 });
                                }
                            }
                        }
                    };
                    found.push((*id, at..at + length));
                    at += length;
                }
            }
        }
        if at < text.len() {
            return Err(Mismatch { at, piece: self.pieces.len(), into: 0 });
        }
        Ok(found)
    }

    /// The string with these values.
    #[must_use]
    pub fn fill(&self, value: impl Fn(VariableId) -> String) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.clone(),
                Piece::Variable(id, _) => value(*id),
            })
            .collect()
    }
}

fn literal_len(piece: &Piece) -> usize {
    match piece {
        Piece::Literal(text) => text.len(),
        Piece::Variable(..) => 0,
    }
}

/// Length of the common beginning of two strings, in bytes of whole characters.
#[must_use]
pub fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

fn end_of(extent: &Extent, next: Option<char>) -> Option<End> {
    if let (Some(next), false) = (next, next.is_some_and(|c| extent.may_hold(c))) {
        return Some(End::Before(next));
    }
    match extent {
        Extent::Fixed(length, _) => Some(End::After(*length)),
        Extent::Words(words) if is_prefix_free(words) => Some(End::Words(words.clone())),
        _ => None,
    }
}

fn is_prefix_free(words: &[String]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(i, a)| words.iter().enumerate().all(|(j, b)| i == j || !b.starts_with(a.as_str())))
}

/// Whether the kubelet would expand something in `text` that a variable's value has a part in:
/// a `$(` that overlaps a value, the `$`s right before it, or anything up to its `)`.
///
/// `values` are the places of variables that may not take part in an expansion.
#[must_use]
pub fn expands_a_value(text: &str, values: &[Range<usize>]) -> bool {
    // The first `)` at or after the last place that was looked at: asked for once, not per `$(`.
    let mut close = text.find(')');
    text.match_indices("$(").any(|(at, _)| {
        let before = at - text[..at].trim_end_matches('$').len();
        if close.is_some_and(|close| close < at) {
            close = text[at..].find(')').map(|found| at + found);
        }
        let end = close.map_or(text.len(), |close| close + 1);
        values.iter().any(|v| v.start < end && v.end > at - before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_no_part_in_an_expansion() {
        for (text, value, expands) in [
            ("$(GITEA_TOKEN)", 1..14, true),
            ("a $(X) b", 7..8, false),
            ("$(X_abc)", 4..7, true),
            ("abc$(X)", 0..3, false),
            ("ab$$(X)", 2..3, true),
            ("$(FOO x", 6..7, true),
            ("price: $5", 8..9, false),
        ] {
            assert_eq!(expands_a_value(text, &[value]), expands, "{text}");
        }
    }

    #[test]
    fn prefix_free_words_are_told_apart() {
        let words = |w: &[&str]| w.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_prefix_free(&words(&["home/infra", "home/apps"])));
        assert!(!is_prefix_free(&words(&["home", "home/apps"])));
        assert!(!is_prefix_free(&words(&["a", "a"])));
    }
}
