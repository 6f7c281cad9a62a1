//! User names in the decision log: as they are, or as hashes that only the key's owner can tie to
//! a name.
//!
//! A hash without a key hides nothing: the names of service accounts are known or can be guessed,
//! and hashing a list of them gives them all away.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ring::hmac::{self, HMAC_SHA256, Key};
use ring::rand::SystemRandom;

use crate::edges::serve::journal::JournalError;

/// A key shorter than this many bytes can be guessed.
pub const SHORTEST_KEY: usize = 16;

/// Bytes of the hash that are written: no two users of a cluster share so many by chance.
const SHOWN: usize = 16;

/// What becomes of a user name.
#[derive(Debug, Clone, Default)]
pub enum Users {
    /// It stays.
    #[default]
    Plain,
    /// Its HMAC-SHA256, the first half.
    Hashed(Key),
}

impl Users {
    /// A key that nobody knows and that ends with the process.
    pub fn random() -> Result<Self, JournalError> {
        let key = Key::generate(HMAC_SHA256, &SystemRandom::new());
        key.map(Self::Hashed).map_err(|_| JournalError::NoRandomKey)
    }

    /// The key that a file holds. White space around it is not part of it: some editors end every
    /// file with a line break.
    pub fn keyed(file: PathBuf) -> Result<Self, JournalError> {
        match fs::read(&file) {
            Err(source) => Err(JournalError::Key { file, source }),
            Ok(bytes) => match bytes.trim_ascii() {
                key if key.len() < SHORTEST_KEY => {
                    Err(JournalError::ShortKey { file, bytes: key.len() })
                }
                key => Ok(Self::Hashed(Key::new(HMAC_SHA256, key))),
            },
        }
    }

    /// What is written instead of the name; nothing if it stays. Nobody is nobody in either case.
    pub fn token(&self, name: &str) -> Option<String> {
        let Self::Hashed(key) = self else { return None };
        let mut text = String::new();
        if !name.is_empty() {
            text.push_str("hmac:");
            for byte in hmac::sign(key, name.as_bytes()).as_ref().iter().take(SHOWN) {
                // Writing into a String cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(text: &str) -> Result<Users, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Users::keyed(file.path().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_key_gives_one_hash_for_a_name_and_another_key_another() {
        let name = "system:serviceaccount:pm-agent:pm-agent";
        let first = keyed("0123456789abcdef").unwrap().token(name);
        // By `printf %s NAME | openssl dgst -sha256 -hmac 0123456789abcdef`.
        assert_eq!(first.as_deref(), Some("hmac:c4ab7afa3d7f04ad9596bdd9c1a56092"));
        assert_eq!(keyed(" 0123456789abcdef\n").unwrap().token(name), first);
        assert_ne!(keyed("0123456789abcdeg").unwrap().token(name), first);
        assert_ne!(Users::random().unwrap().token(name), Users::random().unwrap().token(name));
        assert_eq!(Users::Plain.token(name), None);
        assert_eq!(keyed("0123456789abcdef").unwrap().token("").as_deref(), Some(""));
    }

    #[test]
    fn a_key_that_can_be_guessed_is_none() {
        let error = keyed("0123456789abcde\n").err().unwrap();
        assert!(error.contains("15 bytes are too few") && error.contains("at least 16"), "{error}");
    }
}
