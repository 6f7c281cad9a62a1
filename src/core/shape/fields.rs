//! Reading a map whose keys are known: unknown keys, wrong types and missing ones are all
//! collected, so that a person sees every mistake at once. A key that is there and null is one too: what
//! somebody began to write would count as absent, and so open what it should close.

use crate::core::mistake::{Mistake, nearest, suggestion};
use crate::core::tree::{Node, Value};

/// A map being read.
pub struct Fields<'n, 'm> {
    node: &'n Node<'n>,
    what: &'static str,
    unknown: Vec<&'n str>,
    mistakes: &'m mut Vec<Mistake>,
}

impl<'n, 'm> Fields<'n, 'm> {
    /// Begins to read `node` as a map (`what` names it in messages) that may hold `known` keys.
    /// `None`, with a mistake, when it is no map.
    pub fn of(
        node: &'n Node<'n>,
        what: &'static str,
        known: &[&str],
        mistakes: &'m mut Vec<Mistake>,
    ) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            mistakes.push(Mistake::new(node.at, format!("{what} is a map, not {}", node.kind())));
            return None;
        };
        let mut unknown = vec![];
        for entry in entries {
            if !known.contains(&&*entry.key) {
                unknown.push(&*entry.key);
                mistakes.push(
                    Mistake::new(entry.key_at, format!("{what} has no key `{}`", entry.key))
                        .help(suggestion(&entry.key, known)),
                );
            } else if entry.node.value == Value::Null {
                let message =
                    format!("`{}` of {what} is null, which is the same as absent", entry.key);
                mistakes.push(
                    Mistake::new(entry.key_at, message).help("give it a value, or leave it out"),
                );
            }
        }
        Some(Fields { node, what, unknown, mistakes })
    }

    /// Where the map begins.
    #[must_use]
    pub fn at(&self) -> u32 {
        self.node.at
    }

    /// The collected mistakes, to add to.
    pub fn mistakes(&mut self) -> &mut Vec<Mistake> {
        self.mistakes
    }

    /// Adds a mistake at `at`.
    pub fn mistake(&mut self, at: u32, message: impl Into<String>) {
        self.mistakes.push(Mistake::new(at, message));
    }

    /// Whether a key is there. Null is a mistake already, and what follows from it being absent is
    /// none.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// The value of a key; null counts as absent.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'n Node<'n>> {
        self.node.get(key).filter(|n| n.value != Value::Null)
    }

    /// Where a key stands, or the map if it is missing.
    #[must_use]
    pub fn key_at(&self, key: &str) -> u32 {
        self.node.entries().iter().find(|e| e.key == key).map_or(self.node.at, |e| e.key_at)
    }

    /// A value that must be there.
    pub fn required(&mut self, key: &str) -> Option<&'n Node<'n>> {
        let found = self.get(key);
        // A misspelled key was reported already, with this one as its suggestion.
        let misspelled = self.unknown.iter().any(|typed| nearest(typed, [key]).is_some());
        if !self.has(key) && !misspelled {
            let message = format!("{} needs `{key}`", self.what);
            self.mistakes.push(Mistake::new(self.key_at(key), message));
        }
        found
    }

    /// A string.
    pub fn text(&mut self, key: &str) -> Option<&'n str> {
        let node = self.get(key)?;
        let text = node.as_str();
        if text.is_none() {
            self.wrong_type(node, key, "a string");
        }
        text
    }

    /// A string that must be there and not be empty.
    pub fn required_text(&mut self, key: &str) -> Option<&'n str> {
        self.required(key)?;
        let text = self.text(key)?;
        if text.is_empty() {
            self.mistake(self.key_at(key), format!("`{key}` of {} is empty", self.what));
            return None;
        }
        Some(text)
    }

    /// A boolean, false when absent.
    pub fn flag(&mut self, key: &str) -> bool {
        let Some(node) = self.get(key) else { return false };
        node.as_bool().unwrap_or_else(|| {
            self.wrong_type(node, key, "true or false");
            false
        })
    }

    /// A number of things, at least 0.
    pub fn count(&mut self, key: &str) -> Option<usize> {
        let node = self.get(key)?;
        let count = node.as_int().and_then(|i| usize::try_from(i).ok());
        if count.is_none() {
            self.wrong_type(node, key, "an integer of at least 0");
        }
        count
    }

    /// A list; empty when absent.
    pub fn list(&mut self, key: &str) -> &'n [Node<'n>] {
        let Some(node) = self.get(key) else { return &[] };
        if !matches!(node.value, Value::List(_)) {
            self.wrong_type(node, key, "a list");
        }
        node.items()
    }

    /// A list of strings, each with its place.
    pub fn texts(&mut self, key: &str) -> Vec<(&'n str, u32)> {
        let mut texts = vec![];
        for item in self.list(key) {
            match item.as_str() {
                Some(text) => texts.push((text, item.at)),
                None => self.wrong_type(item, key, "a list of strings"),
            }
        }
        texts
    }

    fn wrong_type(&mut self, node: &Node<'_>, key: &str, expected: &str) {
        let mut mistake = Mistake::new(
            node.at,
            format!("`{key}` of {} is {expected}, not {}", self.what, node.kind()),
        );
        if expected.ends_with("string") || expected.ends_with("strings") {
            mistake = mistake.help("put it in quotes");
        }
        self.mistakes.push(mistake);
    }
}
