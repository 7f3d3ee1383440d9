//! Which partitions an operation takes: in order, any, a range, or drawn from a distribution.
//! Refuses a memory of what was taken: each answer is a pure function of the operation's number.

use crate::dist::Dist;
use crate::seed::{Seed, mix};
use serde::{Deserialize, Serialize};

/// Which position an operation takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// 0, 1, 2 … and round again.
    Sequential,
    /// Any position, each as likely as any other, independent of what came before.
    Uniform,
    /// From the first to the last in order, each exactly once before any comes again.
    Range {
        /// The first.
        from: u64,
        /// Behind the last: it is not taken itself.
        to: u64,
        /// Round again after the last; without it the phase ends with the last.
        wrap: bool,
    },
    /// Drawn from a distribution; a value below 0 counts as 0.
    Drawn(Dist),
}

impl Positions {
    /// Positions that there are to take, where an end of them ends the phase.
    pub fn most(&self) -> Option<u64> {
        match self {
            Self::Range {
                from,
                to,
                wrap: false,
            } => Some(to.saturating_sub(*from)),
            _ => None,
        }
    }

    /// Whether operations take them one after the other, so that each must know how many were taken before it.
    pub fn in_order(&self) -> bool {
        matches!(self, Self::Sequential | Self::Range { .. })
    }

    /// Place number `place` of those that operation `index` takes, which begin after `taken` others. None behind the
    /// end of a range that does not wrap.
    pub(crate) fn at(
        &self,
        seed: Seed,
        population: u64,
        index: u64,
        taken: u64,
        place: u32,
    ) -> Option<u64> {
        let bits = || match place {
            0 => seed.at(index),
            more => mix(seed.at(index) ^ mix(u64::from(more))),
        };
        let number = taken.wrapping_add(u64::from(place));
        match self {
            Self::Sequential => Some(number % population.max(1)),
            Self::Uniform => Some(below(bits(), population)),
            Self::Range { from, to, wrap } => {
                let width = to.saturating_sub(*from).max(1);
                (*wrap || number < width).then(|| from + number % width)
            }
            Self::Drawn(dist) => Some(u64::try_from(dist.at(number, bits())).unwrap_or(0)),
        }
    }
}

/// 64 random bits scaled to 0 … bound − 1 (the bias is below bound ÷ 2^64).
pub(crate) fn below(random: u64, bound: u64) -> u64 {
    let scaled = (u128::from(random) * u128::from(bound)) >> 64;
    u64::try_from(scaled).unwrap_or(0)
}

/// Operations between two sums that are kept.
const STRIDE: u64 = 1024;

/// How many positions all operations before one take together, where each may take several.
///
/// A pure function of the operation's number; what is kept only saves time, above all where numbers come in order.
#[derive(Debug, Clone)]
pub struct Sums {
    /// Sum before operation number `i × STRIDE`.
    kept: Vec<u64>,
    /// The last answer.
    last: (u64, u64),
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            kept: vec![0],
            last: (0, 0),
        }
    }
}

impl Sums {
    /// Positions that operations 0 … `index` − 1 take; `of` gives how many one of them takes, always the same.
    pub fn before(&mut self, index: u64, of: &impl Fn(u64) -> u32) -> u64 {
        let (mut at, mut sum) = self.start(index);
        while at < index {
            sum += u64::from(of(at));
            at += 1;
            if at.is_multiple_of(STRIDE) && at / STRIDE == self.kept.len() as u64 {
                self.kept.push(sum);
            }
        }
        self.last = (index, sum);
        sum
    }

    /// The nearest known sum at or before an operation.
    fn start(&self, index: u64) -> (u64, u64) {
        let place = usize::try_from(index / STRIDE).unwrap_or(usize::MAX);
        let place = place.min(self.kept.len() - 1);
        let kept = (place as u64 * STRIDE, self.kept[place]);
        if self.last.0 <= index && self.last.0 >= kept.0 {
            self.last
        } else {
            kept
        }
    }

    /// How many operations it takes to take so many positions, the last perhaps fewer than it would.
    pub fn operations_for(positions: u64, of: &impl Fn(u64) -> u32) -> u64 {
        let (mut index, mut sum) = (0, 0_u64);
        while sum < positions {
            // An operation that takes none would never end this.
            sum += u64::from(of(index).max(1));
            index += 1;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(positions: &Positions, of: impl Fn(u64) -> u32, operations: u64) -> Vec<u64> {
        let mut sums = Sums::default();
        let mut taken = Vec::new();
        for index in 0..operations {
            let before = sums.before(index, &of);
            let places = 0..of(index);
            taken.extend(places.filter_map(|p| positions.at(Seed(4), 10, index, before, p)));
        }
        taken
    }

    #[test]
    fn a_range_without_wrap_ends() {
        let range = |wrap| Positions::Range {
            from: 5,
            to: 12,
            wrap,
        };
        assert_eq!(all(&range(false), |_| 3, 4), [5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(all(&range(true), |_| 3, 3), [5, 6, 7, 8, 9, 10, 11, 5, 6]);
        assert_eq!((range(false).most(), range(true).most()), (Some(7), None));
        assert_eq!(Sums::operations_for(7, &|_| 3), 3);
    }

    #[test]
    fn drawn_positions_follow_their_distribution_and_several_of_one_operation_differ() {
        let drawn = Positions::Drawn("uniform(100..199)".parse().expect("a distribution"));
        let taken = all(&drawn, |_| 2, 500);
        assert!(taken.iter().all(|p| (100..200).contains(p)));
        assert!(taken.iter().collect::<BTreeSet<_>>().len() > 90);
        let sequence = Positions::Drawn("seq(1..3)".parse().expect("a distribution"));
        assert_eq!(all(&sequence, |_| 1, 5), [1, 2, 3, 1, 2]);
        let json = serde_json::to_string(&drawn).expect("writes");
        assert_eq!(json, r#"{"drawn":"uniform(100..199)"}"#);
    }

    proptest! {
        /// In order, each is taken exactly once whatever the operations' sizes; and in any order of asking.
        #[test]
        fn sums_are_pure(seed: u64, most in 1_u32..5, asked in proptest::collection::vec(0_u64..5000, 1..20)) {
            let of = |index: u64| u32::try_from(Seed(seed).at(index) % u64::from(most)).unwrap_or(0) + 1;
            let direct = |index: u64| (0..index).map(|i| u64::from(of(i))).sum::<u64>();
            let mut sums = Sums::default();
            for index in asked {
                prop_assert_eq!(sums.before(index, &of), direct(index));
            }
            let range = Positions::Range { from: 0, to: 1000, wrap: false };
            let operations = Sums::operations_for(1000, &of);
            let taken = all(&range, of, operations);
            prop_assert_eq!(taken, (0..1000).collect::<Vec<_>>());
        }
    }
}
