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

/// One of several generator processes that share a run: of all operations it takes every so-many-th, from its place on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its place, from 0.
    pub place: u32,
    /// Processes in all.
    pub of: u32,
}

impl Process {
    /// The number, among all operations, of its own operation `index`.
    pub fn number(self, index: u64) -> u64 {
        index * u64::from(self.of) + u64::from(self.place)
    }

    /// How many of the operations 0 … whole − 1 are its own.
    pub fn part(self, whole: u64) -> u64 {
        let behind = whole.saturating_sub(u64::from(self.place));
        behind.div_ceil(u64::from(self.of.max(1)))
    }
}

/// Arrivals in one block of the Poisson table.
pub const POISSON_BLOCK: u64 = 1024;

/// A rate that goes along a straight line from one to another, and stays there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampedPace {
    /// Time at the first rate before the line begins, in nanoseconds.
    pub before_ns: u64,
    /// The first rate, in operations a second.
    pub from_per_s: f64,
    /// Length of the line, in nanoseconds.
    pub over_ns: u64,
    /// The rate at its end, and from there on.
    pub to_per_s: f64,
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indexes and nanoseconds below 2^53"
)]
impl RampedPace {
    /// Seconds before the line and of the line, and operations up to its beginning and its end.
    fn corners(&self) -> (f64, f64, f64, f64) {
        let (before, over) = (self.before_ns as f64 / 1e9, self.over_ns as f64 / 1e9);
        let first = self.from_per_s * before;
        let middle = f64::midpoint(self.from_per_s, self.to_per_s);
        (before, over, first, first + middle * over)
    }

    /// Operations that are due within this time from its start.
    pub fn offered_in(&self, ns: u64) -> u64 {
        let (before, over, first, second) = self.corners();
        let at = ns as f64 / 1e9;
        let offered = if at <= before {
            self.from_per_s * at
        } else if at < before + over {
            let t = at - before;
            let slope = (self.to_per_s - self.from_per_s) / over;
            first + self.from_per_s * t + slope * t * t / 2.0
        } else {
            second + self.to_per_s * (at - before - over)
        };
        offered.round() as u64
    }

    /// When operation `number` is due, in nanoseconds from its start.
    fn at_ns(&self, number: f64) -> u64 {
        let (before, over, first, second) = self.corners();
        let seconds = if number <= first {
            number / self.from_per_s
        } else if number < second {
            // The root of first + from × t + slope × t² ÷ 2 = number, in the form that does not cancel.
            let (n, a) = (number - first, self.from_per_s);
            let slope = (self.to_per_s - self.from_per_s) / over;
            before + 2.0 * n / (a + (a * a + 2.0 * slope * n).max(0.0).sqrt())
        } else {
            before + over + (number - second) / self.to_per_s
        };
        (seconds * 1e9) as u64
    }
}

/// An arrival table: `total` operations at `rate` a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rate_per_s: f64,
    ramp: Option<RampedPace>,
    total: u64,
    arrivals: Arrivals,
    seed: Seed,
    block: Option<(u64, Vec<u64>)>,
    /// Only the operations of this process, and most of them.
    own: Option<(Process, u64)>,
}

impl Schedule {
    /// The table of `total` operations at `rate_per_s`, its randomness from `seed`.
    pub fn new(rate_per_s: f64, total: u64, arrivals: Arrivals, seed: Seed) -> Self {
        Self {
            rate_per_s,
            ramp: None,
            total,
            arrivals,
            seed,
            block: None,
            own: None,
        }
    }

    /// The table of `total` operations at a rate that changes, its randomness from `seed`.
    pub fn ramped(pace: RampedPace, total: u64, arrivals: Arrivals, seed: Seed) -> Self {
        Self {
            ramp: Some(pace),
            ..Self::new(pace.to_per_s, total, arrivals, seed)
        }
    }

    /// The same table with at most so many operations.
    pub fn at_most(mut self, operations: u64) -> Self {
        match &mut self.own {
            None => self.total = self.total.min(operations),
            Some((_, most)) => *most = operations.min(*most),
        }
        self
    }

    /// Those operations of the same table that one of several processes takes, each at its time.
    #[must_use]
    pub fn of_process(self, process: Process) -> Self {
        let own = Some((process, process.part(self.total)));
        Self { own, ..self }
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

    /// Operations a second, at the end of a ramp.
    pub fn rate_per_s(&self) -> f64 {
        self.rate_per_s
    }

    /// Operations in the table; of one of several processes, its own.
    pub fn total(&self) -> u64 {
        self.own.map_or(self.total, |(_, most)| most)
    }

    /// The end of the table in nanoseconds after its start: total ÷ rate, where the rate stays one; the same for all of
    /// several processes.
    pub fn end_ns(&self) -> u64 {
        self.even_ns(self.total)
    }

    /// Intended start of operation `index` in nanoseconds after the table's start; never decreasing.
    /// A pure function of the index (a block of the Poisson table is kept only to save time).
    pub fn intended_ns(&mut self, index: u64) -> u64 {
        let index = self.own.map_or(index, |(process, _)| process.number(index));
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
        match &self.ramp {
            None => (index as f64 * 1e9 / self.rate_per_s) as u64,
            Some(ramp) => ramp.at_ns(index as f64),
        }
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
        // The last gap closes the block: its sum belongs to no arrival.
        let arrived = &sums[..sums.len() - 1];
        if let Some(ramp) = &self.ramp {
            // Random in numbers, then brought to time: the rate inside a block is that of its moment.
            let span = (after - first) as f64 / sum;
            let at = |s: &f64| ramp.at_ns(first as f64 + s * span).clamp(from, to);
            return arrived.iter().map(at).collect();
        }
        let span = (to - from) as f64 / sum;
        arrived.iter().map(|s| from + (s * span) as u64).collect()
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

    #[test]
    fn a_ramp_offers_the_area_below_its_line() {
        let pace = RampedPace {
            before_ns: 1_000_000_000,
            from_per_s: 1000.0,
            over_ns: 4_000_000_000,
            to_per_s: 5000.0,
        };
        // 1 s at 1000, 4 s at 3000 in the mean, then 5000.
        assert_eq!(pace.offered_in(1_000_000_000), 1000);
        assert_eq!(pace.offered_in(5_000_000_000), 13_000);
        assert_eq!(pace.offered_in(6_000_000_000), 18_000);
        let mut even = Schedule::ramped(pace, 18_000, Arrivals::Constant, Seed(1));
        assert_eq!(even.intended_ns(1000), 1_000_000_000);
        assert_eq!(even.intended_ns(13_000), 5_000_000_000);
        assert_eq!(even.end_ns(), 6_000_000_000);
        // Half way along the line the rate is 3000: a second after its beginning 1000 + 1000 + 500 were due.
        assert_eq!(even.intended_ns(2500), 2_000_000_000);
    }

    proptest! {
        #[test]
        fn ramps_never_go_back_and_are_pure(
            from in 1.0_f64..5000.0, to in 1.0_f64..5000.0, over_ms in 0_u64..5000, poisson: bool, seed: u64
        ) {
            let pace = RampedPace {
                before_ns: 300_000_000, from_per_s: from, over_ns: over_ms * 1_000_000, to_per_s: to,
            };
            let total = pace.offered_in(2_000_000_000);
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut s = Schedule::ramped(pace, total, arrivals, Seed(seed));
            let starts: Vec<u64> = (0..total).map(|i| s.intended_ns(i)).collect();
            prop_assert!(starts.windows(2).all(|w| w[0] <= w[1]));
            prop_assert!(starts.iter().all(|at| *at <= s.end_ns()));
            if let Some(last) = total.checked_sub(1) {
                let mut again = Schedule::ramped(pace, total, arrivals, Seed(seed));
                prop_assert_eq!(Some(again.intended_ns(last)), starts.last().copied());
            }
        }

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
