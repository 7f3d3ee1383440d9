//! Arrival schedules: when each operation was meant to start, as a pure function of its index.
//! Refuses to drift: nothing that happened before moves an intended start.

use crate::seed::Seed;
use serde::{Deserialize, Serialize};

/// How arrivals are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly: one operation every 1/rate seconds.
    #[default]
    Constant,
    /// As independent users come: a Poisson process, given its count. In every block of
    /// [`POISSON_BLOCK`] arrivals the block's span is exact and the order inside is random.
    Poisson,
}

/// Arrivals in one block of the Poisson table.
pub const POISSON_BLOCK: u64 = 1024;

/// An arrival table: `total` operations at `rate` a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rate_per_s: f64,
    total: u64,
    arrivals: Arrivals,
    seed: Seed,
    block: Option<(u64, Vec<u64>)>,
}

impl Schedule {
    /// The table of `total` operations at `rate_per_s`, its randomness from `seed`.
    pub fn new(rate_per_s: f64, total: u64, arrivals: Arrivals, seed: Seed) -> Self {
        Self {
            rate_per_s,
            total,
            arrivals,
            seed,
            block: None,
        }
    }

    /// How many operations a stretch of `duration_ns` offers at `rate_per_s`: rate × time, rounded.
    pub fn offered_in(rate_per_s: f64, duration_ns: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts and nanoseconds below 2^53; negative rates become zero"
        )]
        let offered = (rate_per_s * duration_ns as f64 / 1e9).round() as u64;
        offered
    }

    /// Operations a second.
    pub fn rate_per_s(&self) -> f64 {
        self.rate_per_s
    }

    /// Operations in the table.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The end of the table in nanoseconds after its start: total ÷ rate.
    pub fn end_ns(&self) -> u64 {
        self.even_ns(self.total)
    }

    /// Intended start of operation `index` in nanoseconds after the table's start; never decreasing.
    /// A pure function of the index (a block of the Poisson table is kept only to save time).
    pub fn intended_ns(&mut self, index: u64) -> u64 {
        match self.arrivals {
            Arrivals::Constant => self.even_ns(index),
            Arrivals::Poisson => self.poisson_ns(index),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "indexes and nanoseconds below 2^53"
    )]
    fn even_ns(&self, index: u64) -> u64 {
        (index as f64 * 1e9 / self.rate_per_s) as u64
    }

    fn poisson_ns(&mut self, index: u64) -> u64 {
        let wanted = index / POISSON_BLOCK;
        if self.block.as_ref().is_none_or(|(have, _)| *have != wanted) {
            self.block = Some((wanted, self.poisson_block(wanted)));
        }
        let offset = usize::try_from(index % POISSON_BLOCK).unwrap_or(0);
        self.block
            .as_ref()
            .and_then(|(_, starts)| starts.get(offset))
            .copied()
            .unwrap_or_else(|| self.even_ns(index))
    }

    /// The starts of one block: uniform order statistics, made from normalised exponential gaps.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a block's span is far below 2^53 ns"
    )]
    fn poisson_block(&self, block: u64) -> Vec<u64> {
        let first = block * POISSON_BLOCK;
        let after = (first + POISSON_BLOCK).min(self.total.max(first + 1));
        let (from, to) = (self.even_ns(first), self.even_ns(after));
        let mut sum = 0.0_f64;
        let sums: Vec<f64> = (first..=after)
            .map(|i| {
                let uniform = ((self.seed.at(i) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
                sum -= uniform.ln();
                sum
            })
            .collect();
        let span = (to - from) as f64 / sum;
        // The last gap closes the block: its sum belongs to no arrival.
        sums[..sums.len() - 1]
            .iter()
            .map(|s| from + (s * span) as u64)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constant_arrivals_are_even() {
        let mut s = Schedule::new(2000.0, 10, Arrivals::Constant, Seed(1));
        assert_eq!(s.intended_ns(0), 0);
        assert_eq!(s.intended_ns(1), 500_000);
        assert_eq!(s.intended_ns(9), 4_500_000);
        assert_eq!(s.end_ns(), 5_000_000);
        assert_eq!(Schedule::offered_in(2000.0, 30_000_000_000), 60_000);
        assert_eq!(Schedule::offered_in(0.5, 10_000_000_000), 5);
    }

    #[test]
    fn poisson_gaps_look_exponential() {
        let mut s = Schedule::new(1000.0, 100_000, Arrivals::Poisson, Seed(3));
        let starts: Vec<u64> = (0..100_000).map(|i| s.intended_ns(i)).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let longer = gaps.iter().filter(|g| **g > mean).count() as f64 / gaps.len() as f64;
        assert!((mean - 1e6).abs() < 1e4, "mean gap {mean}");
        // An exponential gap is longer than its mean with probability 1/e.
        assert!((longer - (-1.0_f64).exp()).abs() < 0.01, "{longer}");
    }

    proptest! {
        #[test]
        fn starts_never_decrease_and_stay_inside_and_are_pure(
            rate in 1.0_f64..100_000.0, total in 1_u64..5000, poisson: bool, seed: u64
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut s = Schedule::new(rate, total, arrivals, Seed(seed));
            let starts: Vec<u64> = (0..total).map(|i| s.intended_ns(i)).collect();
            prop_assert!(starts.windows(2).all(|w| w[0] <= w[1]));
            prop_assert!(starts.iter().all(|at| *at <= s.end_ns()));
            let mut again = Schedule::new(rate, total, arrivals, Seed(seed));
            for i in [total - 1, 0, total / 2] {
                prop_assert_eq!(again.intended_ns(i), starts[usize::try_from(i).expect("small")]);
            }
        }
    }
}
