//! When nodes are warm: once their CPU time for an operation is level.
//! Refuses to call level what is only noisy, and to warm for ever.

use crate::comparison::{ALL, Measure};
use crate::result::RunResult;
use std::time::Duration;

/// How long nodes are warmed at most by default.
const DEFAULT_AT_MOST: Duration = Duration::from_secs(180);

/// The last slices that are judged together.
const TOGETHER: usize = 4;

/// A line through them may change by less than this share of their mean from one to the next.
const SLOPE: f64 = 0.02;

/// None of them may be farther than this share from their mean; with more noise a slope of four says nothing.
const SPREAD: f64 = 0.05;

/// Their mean may be above the least of any that followed each other by at most this share.
const ABOVE_BEST: f64 = 0.05;

/// A load in slices that ends when the nodes' CPU time for an operation is level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UntilLevel {
    /// Length of all slices together at most; there is always one.
    pub at_most: Duration,
}

impl Default for UntilLevel {
    fn default() -> Self {
        Self {
            at_most: DEFAULT_AT_MOST,
        }
    }
}

/// One slice of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// How long it took, with what is around its load.
    pub took: Duration,
    /// CPU of the nodes for each operation, in microseconds; none where it could not be read.
    pub node_cpu_us: Option<f64>,
}

/// How warm the nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// Another slice shall follow.
    Another,
    /// They are level.
    Level,
    /// They are not, and there is no time for another slice.
    NotLevel,
    /// Their CPU time cannot be read: more slices would not show it either.
    Unseen,
}

impl Slice {
    /// Of the last phase of a result: the same number as in reports.
    pub fn of(result: &RunResult, took: Duration) -> Self {
        let last = result.phases.last();
        Self {
            took,
            node_cpu_us: last.and_then(|phase| Measure::NodeCpu.value(phase, ALL)),
        }
    }
}

impl UntilLevel {
    /// What follows these slices, the first of which found new nodes.
    pub fn after(&self, slices: &[Slice]) -> Warmth {
        let seen: Vec<Option<f64>> = slices.iter().map(|slice| slice.node_cpu_us).collect();
        if is_level(&seen) {
            return Warmth::Level;
        }
        if seen.len() >= TOGETHER && seen.iter().all(Option::is_none) {
            return Warmth::Unseen;
        }
        let took: Duration = slices.iter().map(|slice| slice.took).sum();
        let next = slices.last().map_or(Duration::ZERO, |slice| slice.took);
        if !slices.is_empty() && took + next > self.at_most {
            return Warmth::NotLevel;
        }
        Warmth::Another
    }
}

/// Whether the last of these are level: each near their mean, no slope, and no better ones before.
fn is_level(slices: &[Option<f64>]) -> bool {
    let four = |four: &[Option<f64>]| four.iter().copied().collect::<Option<Vec<f64>>>();
    let all: Vec<Option<Vec<f64>>> = slices.windows(TOGETHER).map(four).collect();
    let Some(Some(last)) = all.last() else {
        return false;
    };
    let own = mean(last);
    let best = all.iter().flatten().map(|four| mean(four));
    let best = best.fold(f64::INFINITY, f64::min);
    let is_near = |value: &f64| (value - own).abs() <= SPREAD * own;
    last.iter().all(is_near) && slope(last).abs() < SLOPE * own && own <= best * (1.0 + ABOVE_BEST)
}

#[expect(clippy::cast_precision_loss, reason = "a handful of slices")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// From one value to the next, by least squares.
#[expect(clippy::cast_precision_loss, reason = "a handful of slices")]
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let each = || values.iter().enumerate();
    let across: f64 = each().map(|(at, value)| (at as f64 - middle) * value).sum();
    let along: f64 = each().map(|(at, _)| (at as f64 - middle).powi(2)).sum();
    across / along
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::Draw;

    const MINUTES_3: UntilLevel = UntilLevel {
        at_most: DEFAULT_AT_MOST,
    };

    fn slices(values: &[f64]) -> Vec<Slice> {
        let slice = |value: &f64| Slice {
            took: Duration::from_millis(10_500),
            node_cpu_us: Some(*value),
        };
        values.iter().map(slice).collect()
    }

    /// How the warm-up ends, and after how many slices of what would come.
    fn ends(values: &[f64]) -> (Warmth, usize) {
        let all = slices(values);
        let each = (1..=all.len()).map(|n| (MINUTES_3.after(&all[..n]), n));
        let mut each = each.filter(|(warmth, _)| *warmth != Warmth::Another);
        each.next().unwrap_or((Warmth::Another, values.len()))
    }

    /// New nodes whose compilers come closer to the level by a share of the rest each slice.
    fn falling(rest: f64, noise: f64, seed: u64) -> Vec<f64> {
        let mut draw = Draw::new(Seed(seed));
        let level = |at: i32| 100.0 * (1.0 + 2.0 * rest.powi(at));
        (0..20)
            .map(|at| level(at) * (draw.normal() * noise).exp())
            .collect()
    }

    #[test]
    fn what_falls_and_then_stays_is_level_once_it_stays() {
        let values = [310.0, 190.0, 141.0, 118.0, 107.0, 102.0, 101.0, 99.0, 100.0];
        assert_eq!(ends(&values), (Warmth::Level, 9));
        let (warmth, after) = ends(&falling(0.5, 0.0, 0));
        assert_eq!(warmth, Warmth::Level);
        let above = falling(0.5, 0.0, 0)[after - 1] / 100.0;
        assert!((7..=10).contains(&after) && above < 1.02, "{after} {above}");
    }

    #[test]
    fn a_little_noise_does_not_hold_it_up() {
        let mut after = Vec::new();
        for seed in 0..40 {
            let values = falling(0.5, 0.015, seed);
            let (warmth, slices) = ends(&values);
            assert_eq!(warmth, Warmth::Level, "{values:?}");
            after.push(slices);
        }
        after.sort_unstable();
        assert!(after[0] >= 6 && after[20] <= 10, "{after:?}");
    }

    #[test]
    fn much_noise_is_not_called_level() {
        let level = |seed| ends(&falling(0.5, 0.15, seed)).0 == Warmth::Level;
        let called = (0..40).filter(|seed| level(*seed)).count();
        assert!(called <= 12, "{called} of 40");
    }

    #[test]
    fn what_never_stays_ends_with_the_time() {
        let values: Vec<f64> = (0..20).map(|at| 300.0 * 0.95_f64.powi(at)).collect();
        // 17 slices of 10.5 s are 178.5 s.
        assert_eq!(ends(&values), (Warmth::NotLevel, 17));
        // Slower and slower: what a table without compactions does to its reads.
        let values: Vec<f64> = (0..20).map(|at| 100.0 * 1.03_f64.powi(at)).collect();
        assert_eq!(ends(&values), (Warmth::NotLevel, 17));
    }

    #[test]
    fn a_plateau_above_the_best_is_not_the_end() {
        let mut values = vec![
            300.0, 200.0, 100.0, 100.0, 101.0, 140.0, 139.0, 140.0, 141.0,
        ];
        assert_eq!(ends(&values), (Warmth::Another, 9));
        values.extend([101.0, 100.0, 102.0, 100.0]);
        assert_eq!(ends(&values), (Warmth::Level, 13));
    }

    #[test]
    fn what_cannot_be_read_is_no_number() {
        let mut all = slices(&[100.0; 8]);
        all[2].node_cpu_us = None;
        assert_eq!(MINUTES_3.after(&all[..6]), Warmth::Another);
        assert_eq!(MINUTES_3.after(&all[..7]), Warmth::Level);
        all.iter_mut().for_each(|slice| slice.node_cpu_us = None);
        assert_eq!(MINUTES_3.after(&all[..3]), Warmth::Another);
        assert_eq!(MINUTES_3.after(&all[..4]), Warmth::Unseen);
        let short = UntilLevel {
            at_most: Duration::from_secs(15),
        };
        assert_eq!(short.after(&[]), Warmth::Another);
        assert_eq!(short.after(&all[..1]), Warmth::NotLevel);
    }
}
