//! Two or more things measured side by side: in blocks, in each of which every one has its turn, in
//! an order that is drawn, so that a busy machine slows all of them. The time is what the thread had
//! of its core, not what passed on the wall.

use rustix::time::{ClockId, clock_gettime};

/// How many blocks a table rests on.
pub const BLOCKS: usize = 40;
/// The fewest that give an interval.
pub const FEWEST: usize = 20;

/// How long one turn lasts at least, in seconds.
const TURN: f64 = 0.01;

/// A median, and an interval that holds the true one with 95 %.
#[derive(Clone, Copy)]
pub struct Median {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// The times of one call of each arm, a row a block.
pub struct Times(Vec<Vec<f64>>);

/// Measures the arms.
pub fn measure(blocks: usize, arms: &mut [&mut dyn FnMut()]) -> Times {
    let calls: Vec<u32> = arms.iter_mut().map(|arm| calls_in_a_turn(arm)).collect();
    let mut random = Random(0x5eed);
    let mut order: Vec<usize> = (0..arms.len()).collect();
    let rows = (0..blocks).map(|_| {
        random.shuffle(&mut order);
        let mut row = vec![0.0; arms.len()];
        for &arm in &order {
            row[arm] = time(calls[arm], arms[arm]);
        }
        row
    });
    Times(rows.collect())
}

impl Times {
    /// The median time of an arm, in seconds.
    pub fn of(&self, arm: usize) -> f64 {
        median(self.0.iter().map(|row| row[arm]).collect()).value
    }

    /// The median of the blocks' ratios of two arms.
    pub fn ratio(&self, arm: usize, of: usize) -> Median {
        median(self.0.iter().map(|row| row[arm] / row[of]).collect())
    }
}

/// The interval goes by rank: however the values are distributed, the number of them below the true
/// median is binomial.
fn median(mut values: Vec<f64>) -> Median {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a few dozen"
    )]
    let rank = ((count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor() as usize).max(1) - 1;
    Median { value: values[count / 2], low: values[rank], high: values[count - 1 - rank] }
}

fn calls_in_a_turn(arm: &mut dyn FnMut()) -> u32 {
    let mut calls = 1;
    loop {
        let taken = time(calls, arm) * f64::from(calls);
        if taken >= TURN || calls > 1 << 20 {
            return calls;
        }
        calls *= 2;
    }
}

/// Seconds a call.
fn time(calls: u32, arm: &mut dyn FnMut()) -> f64 {
    let start = now();
    for _ in 0..calls {
        arm();
    }
    (now() - start) / f64::from(calls)
}

#[expect(clippy::cast_precision_loss, reason = "a thread does not live for months")]
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Marsaglia's xorshift, seeded: the same order in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or(0)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
