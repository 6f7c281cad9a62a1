//! What both benchmarks measure side by side with: an order that is drawn, and a median that says how
//! far it can be trusted.

use jobshape::core::changes::Random;

/// Puts things into an order that is the same in every run.
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// A median, and an interval that holds the true one with 95 %.
#[derive(Debug, Clone, Copy)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Median {
    /// Of these values. The interval goes by rank: however they are distributed, the number of them
    /// below the true median is binomial.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a few dozen"
        )]
        let rank =
            ((count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor() as usize).max(1) - 1;
        Self { value: values[count / 2], low: values[rank], high: values[count - 1 - rank] }
    }
}
