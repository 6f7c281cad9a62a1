//! What is wrong with a text that was handed to the program, and where.

use std::fmt;

use crate::core::tree::NOWHERE;

/// Something a reader could not accept. It carries a byte offset and no file name: whoever holds
/// the text turns the offset into file, line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Which of several texts; 0 unless the caller says otherwise.
    pub source: usize,
    /// Byte offset into that text, or [`NOWHERE`].
    pub at: u32,
    /// What is wrong, and what was expected.
    pub message: String,
    /// How to put it right, when there is more to say.
    pub help: Option<String>,
}

impl Mistake {
    /// A mistake at a byte offset of the first text.
    #[must_use]
    pub fn new(at: u32, message: impl Into<String>) -> Self {
        Mistake { source: 0, at, message: message.into(), help: None }
    }

    /// A mistake that no place in a text stands for.
    #[must_use]
    pub fn nowhere(message: impl Into<String>) -> Self {
        Mistake::new(NOWHERE, message)
    }

    /// The same mistake with a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

// `source` is the number of a text here, not a cause: there never is one.
impl std::error::Error for Mistake {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_message_and_then_the_help() {
        let bare = Mistake::new(3, "`a` stands here twice");
        assert_eq!(bare.to_string(), "`a` stands here twice");
        assert_eq!(bare.help("remove one").to_string(), "`a` stands here twice; remove one");
    }
}
