//! Which children of a node were met: no allocation for nodes of ordinary size.

/// A set of small indexes.
#[derive(Debug, Default)]
pub struct Seen {
    first: u64,
    rest: Vec<bool>,
}

impl Seen {
    /// Adds an index; whether it was there already.
    pub fn insert(&mut self, index: usize) -> bool {
        let was = self.contains(index);
        if index < 64 {
            self.first |= 1 << index;
        } else {
            if self.rest.len() <= index - 64 {
                self.rest.resize(index - 63, false);
            }
            self.rest[index - 64] = true;
        }
        was
    }

    /// Whether an index was added.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        if index < 64 {
            self.first & (1 << index) != 0
        } else {
            self.rest.get(index - 64).copied().unwrap_or(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_of_any_size_are_met_once() {
        let mut seen = Seen::default();
        for index in [0, 63, 64, 200, 1] {
            assert!(!seen.contains(index));
            assert!(!seen.insert(index));
            assert!(seen.insert(index) && seen.contains(index));
        }
        assert!(!seen.contains(65) && !seen.contains(62));
    }
}
