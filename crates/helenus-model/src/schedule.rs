//! Arrival schedules: when each operation was meant to start, as a pure function of its index.
//! Refuses to drift: nothing that happened before moves an intended start.

use crate::seed::Seed;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// How arrivals are spread.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Arrivals {
        /// Evenly: one operation every 1/rate seconds.
        #[default]
        Constant = "constant",
        /// As independent users come: a Poisson process, given the counts of the warm-up and of the measurement window. The starts
        /// are uniform order statistics over each, so the counts of any part of it scatter as those of independent users do.
        Poisson = "poisson",
    }
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

/// Arrivals of the Poisson table that are drawn together: few, so that drawing them delays nothing.
const POISSON_BLOCK: u64 = 64;

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
    /// Operations before the measurement window.
    warmup: u64,
    total: u64,
    arrivals: Arrivals,
    seed: Seed,
    block: Option<(u64, Vec<u64>)>,
    /// Only the operations of this process.
    own: Option<Process>,
}

impl Schedule {
    /// The table of `total` operations at `rate_per_s`, its randomness from `seed`.
    pub fn new(rate_per_s: f64, total: u64, arrivals: Arrivals, seed: Seed) -> Self {
        Self {
            rate_per_s,
            ramp: None,
            warmup: 0,
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

    /// The same table with so many operations before the measurement window, which begins on time: both stretches have
    /// as many operations as their length says.
    #[must_use]
    pub fn warmed_by(self, operations: u64) -> Self {
        Self {
            warmup: operations,
            ..self
        }
    }

    /// The end of the warm-up in nanoseconds after the table's start.
    pub fn measured_from_ns(&self) -> u64 {
        self.even_ns(self.warmup.min(self.total))
    }

    /// The same table with at most so many operations, of all processes together.
    #[must_use]
    pub fn at_most(self, operations: u64) -> Self {
        let total = self.total.min(operations);
        Self { total, ..self }
    }

    /// Those operations of the same table that one of several processes takes, each at its time.
    #[must_use]
    pub fn of_process(self, process: Process) -> Self {
        let own = Some(process);
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
        self.own
            .map_or(self.total, |process| process.part(self.total))
    }

    /// The end of the table in nanoseconds after its start: total ÷ rate, where the rate stays one; the same for all of
    /// several processes.
    pub fn end_ns(&self) -> u64 {
        self.even_ns(self.total)
    }

    /// Intended start of operation `index` in nanoseconds after the table's start; never decreasing.
    /// A pure function of the index (a block of the Poisson table is kept only to save time).
    pub fn intended_ns(&mut self, index: u64) -> u64 {
        let index = self.own.map_or(index, |process| process.number(index));
        match self.arrivals {
            Arrivals::Constant => self.even_ns(index),
            Arrivals::Poisson => self.poisson_ns(index),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "indexes below 2^53")]
    fn even_ns(&self, index: u64) -> u64 {
        self.at_ns(index as f64)
    }

    /// When so many operations are due, in nanoseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds below 2^53"
    )]
    fn at_ns(&self, number: f64) -> u64 {
        match &self.ramp {
            None => (number * 1e9 / self.rate_per_s) as u64,
            Some(ramp) => ramp.at_ns(number),
        }
    }

    fn poisson_ns(&mut self, index: u64) -> u64 {
        let (stretch, offset) = if index < self.warmup {
            (
                Arrived::new(self.seed, 0, self.warmup.min(self.total)),
                index,
            )
        } else {
            let after = self.total.saturating_sub(self.warmup);
            let seed = self.seed.derive_at(u64::MAX);
            (Arrived::new(seed, self.warmup, after), index - self.warmup)
        };
        let first = offset - offset % POISSON_BLOCK;
        let wanted = stretch.before + first;
        if self.block.as_ref().is_none_or(|(have, _)| *have != wanted) {
            let shares = stretch.block(first);
            let starts = shares.iter().map(|share| self.at_ns(*share)).collect();
            self.block = Some((wanted, starts));
        }
        let offset = usize::try_from(offset - first).unwrap_or(0);
        self.block
            .as_ref()
            .and_then(|(_, starts)| starts.get(offset))
            .copied()
            .unwrap_or_else(|| self.even_ns(index))
    }
}

/// Poisson arrivals of a stretch with a given count.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    seed: Seed,
    /// Operations before the stretch.
    before: u64,
    /// Operations in it.
    count: u64,
}

impl Arrived {
    fn new(seed: Seed, before: u64, count: u64) -> Self {
        Self {
            seed,
            before,
            count,
        }
    }

    /// The places of a block's arrivals, from the one behind `first` on, as numbers of evenly spaced operations. Arrival
    /// number `n` (from 1) stands at the `n`-th of `count` uniform order statistics.
    #[expect(clippy::cast_precision_loss, reason = "indexes below 2^53")]
    fn block(&self, first: u64) -> Vec<f64> {
        let behind = (first + POISSON_BLOCK).min(self.count + 1);
        let (from, to) = (self.share_of(first), self.share_of(behind));
        let mut sum = 0.0_f64;
        let sums: Vec<f64> = (first..behind)
            .map(|i| {
                sum -= uniform(self.seed, i).ln();
                sum
            })
            .collect();
        let (before, count) = (self.before as f64, self.count as f64);
        let at = |gaps: &f64| before + (from + (to - from) * gaps / sum) * count;
        sums.iter().map(at).collect()
    }

    /// Where arrival number `n` stands, as a share of the stretch: 0 before the first, 1 behind the last. Found by
    /// halving, in multiples of a block: between two that are known, the middle one has a beta distribution.
    #[expect(clippy::cast_precision_loss, reason = "indexes below 2^53")]
    fn share_of(&self, n: u64) -> f64 {
        let (mut low, mut high) = ((0, 0.0), (self.count + 1, 1.0));
        if n == 0 {
            return low.1;
        }
        while n < high.0 {
            let blocks = (high.0 - low.0).div_ceil(POISSON_BLOCK);
            let middle = low.0 + blocks.div_ceil(2) * POISSON_BLOCK;
            let draws = self.seed.derive_at(middle);
            let left = gamma((middle - low.0) as f64, draws, 0);
            let right = gamma((high.0 - middle) as f64, draws, 1 << 32);
            let share = low.1 + (high.1 - low.1) * left / (left + right);
            match n.cmp(&middle) {
                std::cmp::Ordering::Less => high = (middle, share),
                std::cmp::Ordering::Equal => return share,
                std::cmp::Ordering::Greater => low = (middle, share),
            }
        }
        high.1
    }
}

/// The random number at a position, above 0 and up to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn uniform(seed: Seed, position: u64) -> f64 {
    ((seed.at(position) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
}

/// A number with a gamma distribution of this shape (at least 1) and scale 1, from the seed's numbers from `position` on:
/// Marsaglia and Tsang, *A simple method for generating gamma variables*, 2000.
fn gamma(shape: f64, seed: Seed, mut position: u64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let radius = (-2.0 * uniform(seed, position).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * uniform(seed, position + 1)).cos();
        let v = (1.0 + c * normal).powi(3);
        let limit = 0.5 * normal * normal + d - d * v + d * v.ln();
        if v > 0.0 && uniform(seed, position + 2).ln() < limit {
            return d * v;
        }
        position += 3;
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

    /// Variance of the counts in stretches of `each` arrivals over their mean: 1 where they are independent.
    fn dispersion(each: u64, schedule: impl Fn(u64) -> Schedule) -> f64 {
        let (seeds, total) = (100_u64, each * 10);
        let counts: Vec<f64> = (0..seeds)
            .flat_map(|seed| {
                let mut s = schedule(seed);
                let mut counts = [0.0; 10];
                for i in 0..total {
                    let stretch = s.intended_ns(i) * 10 / s.end_ns();
                    counts[usize::try_from(stretch.min(9)).expect("small")] += 1.0;
                }
                counts
            })
            .collect();
        let mean = each as f64;
        let sum: f64 = counts.iter().map(|n| (n - mean).powi(2)).sum();
        // Given the count of all ten, each stretch varies by nine tenths of its mean.
        sum / counts.len() as f64 / mean / 0.9
    }

    #[test]
    fn the_measured_stretch_begins_on_time_and_has_its_count() {
        let mut s = Schedule::new(100.0, 1300, Arrivals::Poisson, Seed(5)).warmed_by(300);
        assert_eq!(s.measured_from_ns(), 3_000_000_000);
        assert!(s.intended_ns(299) < 3_000_000_000);
        assert!(s.intended_ns(300) >= 3_000_000_000);
        assert!(s.intended_ns(1299) <= s.end_ns());
    }

    #[test]
    fn counts_of_long_stretches_scatter_as_those_of_independent_users() {
        for each in [30, 3000] {
            let even = |seed| Schedule::new(1000.0, each * 10, Arrivals::Poisson, Seed(seed));
            let found = dispersion(each, even);
            assert!((found - 1.0).abs() < 0.15, "{each}: {found}");
        }
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
            rate in 1.0_f64..100_000.0, total in 1_u64..5000, warmup in 0_u64..6000, poisson: bool, seed: u64
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut s = Schedule::new(rate, total, arrivals, Seed(seed)).warmed_by(warmup);
            let starts: Vec<u64> = (0..total).map(|i| s.intended_ns(i)).collect();
            prop_assert!(starts.windows(2).all(|w| w[0] <= w[1]));
            prop_assert!(starts.iter().all(|at| *at <= s.end_ns()));
            let mut again = Schedule::new(rate, total, arrivals, Seed(seed)).warmed_by(warmup);
            for i in [total - 1, 0, total / 2] {
                prop_assert_eq!(again.intended_ns(i), starts[usize::try_from(i).expect("small")]);
            }
        }
    }
}
