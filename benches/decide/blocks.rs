//! Two or more things measured side by side: in blocks, in each of which every one has its turn, in
//! an order that is drawn, so that a busy machine slows all of them. The time is what the thread had
//! of its core, not what passed on the wall.

use jobshape::core::changes::Random;
use rustix::time::{ClockId, clock_gettime};

use crate::side_by_side::{Median, shuffle};

/// How many blocks a table rests on.
pub const BLOCKS: usize = 40;
/// The fewest that give an interval.
pub const FEWEST: usize = 20;

/// How long one turn lasts at least, in seconds.
const TURN: f64 = 0.01;

/// The times of one call of each arm, a row a block.
pub struct Times(Vec<Vec<f64>>);

/// Measures the arms.
pub fn measure(blocks: usize, arms: &mut [&mut dyn FnMut()]) -> Times {
    let calls: Vec<u32> = arms.iter_mut().map(|arm| calls_in_a_turn(arm)).collect();
    let mut random = Random::new(0x5eed);
    let mut order: Vec<usize> = (0..arms.len()).collect();
    let rows = (0..blocks).map(|_| {
        shuffle(&mut order, &mut random);
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
        Median::of(self.0.iter().map(|row| row[arm])).value
    }

    /// The median of the blocks' ratios of two arms.
    pub fn ratio(&self, arm: usize, of: usize) -> Median {
        Median::of(self.0.iter().map(|row| row[arm] / row[of]))
    }
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
