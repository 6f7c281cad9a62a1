//! A named text, and where its lines begin.

use std::sync::OnceLock;

use crate::core::tree::NOWHERE;

/// Largest text that is read, in bytes: 64 MiB, many times what a repository of Jobs holds. It
/// also keeps every byte offset within a `u32`.
pub const MAX_TEXT: usize = 64 << 20;

/// A text and the name the user knows it by.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file name as the user typed it, or `-` for standard input.
    pub name: String,
    /// The text, without a leading byte order mark.
    pub text: String,
    /// Byte offset of the start of each line; built when a position is first asked for, because
    /// most texts have nothing to report.
    lines: OnceLock<Vec<u32>>,
}

/// A place in a text, as people and editors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A part of a text, and where in the text it begins: what the readers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The part itself.
    pub text: &'a str,
    /// Byte offset of its first character in the whole text.
    pub at: u32,
    /// The line, from 1, that this is on.
    pub line: usize,
}

/// Why bytes are not a text that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The bytes are not UTF-8.
    #[error("byte {at} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Offset of the first byte that is not.
        at: usize,
    },
    /// The bytes begin with the byte order mark of UTF-16.
    #[error("the text is UTF-16 (it begins with that byte order mark); save the file as UTF-8")]
    Utf16,
    /// There are more than [`MAX_TEXT`] bytes.
    #[error(
        "the text has {size} bytes, and at most {MAX_TEXT} (64 MiB) are read; split it into \
         several files"
    )]
    TooLarge {
        /// How many there are.
        size: usize,
    },
}

impl Source {
    /// A source from the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] when the bytes are no UTF-8 or too many. kubectl would put U+FFFD for what
    /// is not UTF-8, that is, silently change the Job.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Unreadable> {
        if bytes.len() > MAX_TEXT {
            return Err(Unreadable::TooLarge { size: bytes.len() });
        }
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(Unreadable::Utf16);
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| Unreadable::NotUtf8 { at: error.utf8_error().valid_up_to() })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Ok(Source { name: name.into(), text, lines: OnceLock::new() })
    }

    /// A source from a text that is already in memory.
    ///
    /// # Errors
    ///
    /// [`Unreadable::TooLarge`].
    pub fn from_text(name: impl Into<String>, text: impl Into<String>) -> Result<Self, Unreadable> {
        Source::from_bytes(name, text.into().into_bytes())
    }

    /// Line and column of a byte offset; the end of the text for an offset beyond it.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let lines = self.lines();
        let line = lines.partition_point(|&start| start <= offset).max(1);
        let start = lines.get(line - 1).map_or(0, |&start| start as usize);
        let end = self.text.floor_char_boundary((offset as usize).min(self.text.len()));
        let column = self.text.get(start..end).map_or(0, |before| before.chars().count()) + 1;
        Position { line, column }
    }

    /// The text of a line (from 1) without its line end; nothing when there is no such line.
    #[must_use]
    pub fn line_text(&self, line: usize) -> Option<&str> {
        let lines = self.lines();
        let start = *lines.get(line.checked_sub(1)?)? as usize;
        let end = lines.get(line).map_or(self.text.len(), |&next| next as usize);
        Some(self.text.get(start..end)?.trim_end_matches(['\r', '\n']))
    }

    /// The offset of a character of a line (both from 1); nothing when the line is shorter.
    #[must_use]
    pub fn offset_of(&self, line: usize, column: usize) -> Option<u32> {
        let start = *self.lines().get(line.checked_sub(1)?)?;
        let (within, _) = self.line_text(line)?.char_indices().nth(column.checked_sub(1)?)?;
        Some(start + offset(within))
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let mut lines = vec![0];
            lines.extend(line_ends(&self.text).map(offset));
            lines
        })
    }
}

impl<'a> Part<'a> {
    /// A whole text as its only part.
    #[must_use]
    pub fn whole(text: &'a str) -> Self {
        Part { text, at: 0, line: 1 }
    }

    /// The offset in the whole text of an offset in this part.
    pub(crate) fn offset(&self, within: usize) -> u32 {
        offset((self.at as usize).saturating_add(within))
    }

    /// The line in the whole text of an offset in this part.
    pub(crate) fn line_at(&self, within: usize) -> usize {
        self.line + line_ends(self.text).take_while(|&end| end <= within).count()
    }

    /// Where a slice of this part's text begins in the part; nothing for any other string.
    pub(crate) fn place_of(&self, slice: &str) -> Option<usize> {
        let within = (slice.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (within.checked_add(slice.len())? <= self.text.len()).then_some(within)
    }
}

/// The offsets just after each line end. A lone CR ends a line, as it does in YAML.
pub(crate) fn line_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter_map(move |(at, byte)| match byte {
        b'\n' => Some(at + 1),
        b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
        _ => None,
    })
}

/// An offset as trees and mistakes carry it. Nothing in a text of [`MAX_TEXT`] is out of reach.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NOWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::from_text("a.yaml", text).unwrap()
    }

    fn at(text: &str, offset: u32) -> (usize, usize) {
        let position = source(text).position(offset);
        (position.line, position.column)
    }

    #[test]
    fn counts_lines_whatever_ends_them() {
        assert_eq!(at("ab\ncd", 0), (1, 1));
        assert_eq!(at("ab\ncd", 2), (1, 3));
        assert_eq!(at("ab\ncd", 3), (2, 1));
        assert_eq!(at("ab\r\ncd", 4), (2, 1));
        assert_eq!(at("ab\rcd", 4), (2, 2));
        assert_eq!(at("", 0), (1, 1));
        assert_eq!(at("a\n", 2), (2, 1));
    }

    #[test]
    fn counts_columns_in_characters() {
        assert_eq!(at("é🚀x", 6), (1, 3));
        // An offset inside a character is that character's.
        assert_eq!(at("é🚀x", 4), (1, 2));
    }

    #[test]
    fn takes_an_offset_beyond_the_end_as_the_end() {
        assert_eq!(at("ab\nc", 99), (2, 2));
        assert_eq!(at("ab\nc", NOWHERE), (2, 2));
    }

    #[test]
    fn gives_the_line_without_its_end() {
        let source = source("one\r\ntwo\n\nfour");
        assert_eq!(source.line_text(1), Some("one"));
        assert_eq!(source.line_text(2), Some("two"));
        assert_eq!(source.line_text(3), Some(""));
        assert_eq!(source.line_text(4), Some("four"));
        assert_eq!(source.line_text(5), None);
        assert_eq!(source.line_text(0), None);
    }

    #[test]
    fn leaves_the_byte_order_mark_out() {
        assert_eq!(source("\u{feff}a: 1").text, "a: 1");
        assert_eq!(source("a: \u{feff}").text, "a: \u{feff}");
    }

    #[test]
    fn refuses_what_is_not_utf8() {
        let read = |bytes: &[u8]| Source::from_bytes("-", bytes.to_vec()).unwrap_err();
        assert_eq!(read(b"ab\xffc"), Unreadable::NotUtf8 { at: 2 });
        assert_eq!(read(b"\xff\xfea\0"), Unreadable::Utf16);
        assert_eq!(read(b"\xfe\xff\0a"), Unreadable::Utf16);
        assert_eq!(read(&vec![b' '; MAX_TEXT + 1]), Unreadable::TooLarge { size: MAX_TEXT + 1 });
    }
}
