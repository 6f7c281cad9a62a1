//! A mistake in something a person wrote: what is wrong, where it stands, and the fix.
//!
//! The core knows no file names: a mistake says in which of the texts it was given, and at which
//! byte. Whoever read the texts turns that into `file:line:column`.

use std::fmt;

/// One mistake in a shape, a template, a test file or a Job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Which of the texts that were read together (0 = the shape, 1 = its first template file).
    pub source: usize,
    /// Byte offset into that text, or [`crate::core::tree::NOWHERE`].
    pub at: u32,
    /// What is wrong and what was expected, one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Another place in the same text that the message speaks of (the first of two equal keys).
    pub also: Option<u32>,
}

impl Mistake {
    /// A mistake in the first text.
    pub fn new(at: u32, message: impl Into<String>) -> Self {
        Mistake { source: 0, at, message: message.into(), help: None, also: None }
    }

    /// A mistake that no place in a text stands for.
    #[must_use]
    pub fn nowhere(message: impl Into<String>) -> Self {
        Mistake::new(crate::core::tree::NOWHERE, message)
    }

    /// The same with a fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with the other place it speaks of.
    #[must_use]
    pub fn also(mut self, at: u32) -> Self {
        self.also = Some(at);
        self
    }

    /// The same in another text.
    #[must_use]
    pub fn source(mut self, source: usize) -> Self {
        self.source = source;
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

impl std::error::Error for Mistake {}

/// The word of `known` that `typed` was probably meant to be.
#[must_use]
pub fn nearest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let folded = typed.to_lowercase();
    let farthest = |word: &str| word.len().max(3) / 3;
    known
        .into_iter()
        // Words of another length are not near, and comparing them takes long.
        .filter(|word| word.len().abs_diff(typed.len()) <= farthest(word))
        .map(|word| (strsim::damerau_levenshtein(&folded, &word.to_lowercase()), word))
        .filter(|(distance, word)| *distance <= farthest(word))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// `help` text for a word that is not one of `known`: the nearest one, or all of them.
#[must_use]
pub fn suggestion(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("one of {}", list_words(known)),
    }
}

/// `` `a`, `b` or `c` ``
#[must_use]
pub fn list_words(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => format!("`{only}`"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(|w| format!("`{w}`")).collect();
            format!("{} or `{last}`", most.join(", "))
        }
    }
}
