//! Several changes of one Job together.

use serde_json::Value;

use crate::core::changes::Change;

/// Numbers that are the same for the same seed, on every machine: a linear congruential generator
/// with Knuth's constants (MMIX). For choosing test inputs, and for nothing else.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Those of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below a bound, 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The high bits are the random ones.
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }
}

/// So many changes of 2 to 5 places, none within another.
#[must_use]
pub fn combinations(all: &[Change], random: &mut Random, count: usize) -> Vec<Change> {
    let mut made = vec![];
    // Few places to choose from may not come apart.
    for _ in 0..count.saturating_mul(20) {
        if made.len() == count || all.is_empty() {
            break;
        }
        let mut together: Vec<(String, Option<Value>)> = vec![];
        for _ in 0..2 + random.below(4) {
            let Change(places) = &all[random.below(all.len())];
            for (pointer, value) in places {
                let fits = together.iter().all(|(other, removed)| {
                    if value.is_none() || removed.is_none() {
                        apart(pointer, other)
                    } else {
                        beside(pointer, other)
                    }
                });
                if fits {
                    together.push((pointer.clone(), value.clone()));
                }
            }
        }
        if together.len() > 1 {
            made.push(Change(together));
        }
    }
    made
}

/// Whether neither place is within the other.
fn beside(a: &str, b: &str) -> bool {
    !a.starts_with(b) && !b.starts_with(a)
}

/// Whether neither is in a list or map that holds the other: an index after an entry that was taken
/// away would be another's.
fn apart(a: &str, b: &str) -> bool {
    let parent = |place: &str| place.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    !a.starts_with(&parent(b).unwrap_or_default()) && !b.starts_with(&parent(a).unwrap_or_default())
}
