//! The pattern of a variable, compiled: equal patterns of all shapes are one regular expression,
//! since compiling one costs more than reading a whole shape.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use regex::Regex;

/// The patterns of the shapes that are loaded. It keeps none alive.
static KNOWN: LazyLock<Mutex<HashMap<String, Weak<Regex>>>> = LazyLock::new(Mutex::default);

/// Compiles a pattern so that it matches the whole value only.
///
/// # Errors
/// When it is no regular expression, or too large a one.
pub fn whole_match(pattern: &str) -> Result<Arc<Regex>, String> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known().get(pattern).and_then(Weak::upgrade) {
        return Ok(regex);
    }
    let regex = Arc::new(compile(pattern)?);
    let mut known = known();
    // When the map would grow, those go whose shapes are gone.
    if known.len() == known.capacity() {
        known.retain(|_, regex| regex.strong_count() > 0);
    }
    known.insert(pattern.to_owned(), Arc::downgrade(&regex));
    Ok(regex)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    // Alone first: `a)|(b` would be valid only inside our own parentheses.
    regex_syntax::Parser::new().parse(pattern).map_err(|e| last_line(&e.to_string()))?;
    Regex::new(&format!(r"\A(?:{pattern})\z")).map_err(|e| last_line(&e.to_string()))
}

/// A regex error's last line says what is wrong; the lines before draw the pattern.
fn last_line(error: &str) -> String {
    error.lines().last().unwrap_or("it cannot be read").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_valid_only_within_our_own_text_is_refused() {
        assert!(whole_match("a)|(?:b").is_err());
        assert!(whole_match("(?x)a # no end").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        assert_eq!(whole_match("[a-z").unwrap_err(), "unclosed character class");
        let large = whole_match("(?:[a-z]{1000}){1000}").unwrap_err();
        assert!(large.contains("size limit"), "{large}");
    }

    #[test]
    fn equal_patterns_are_one_as_long_as_anybody_has_it() {
        let first = whole_match("only-here[0-9]+").unwrap();
        assert!(Arc::ptr_eq(&first, &whole_match("only-here[0-9]+").unwrap()));
        assert!(!Arc::ptr_eq(&first, &whole_match("only-here[0-9]*").unwrap()));
        let known = Arc::downgrade(&first);
        drop(first);
        assert!(known.upgrade().is_none());
        assert!(whole_match("only-here[0-9]+").unwrap().is_match("only-here1"));
    }
}
