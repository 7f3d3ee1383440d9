//! How far a percentile may be off, by the blocks of time that it was merged from: a circular block bootstrap.
//! Refuses to speak for other runs: between restarts there is noise that no block of this one shows.

use super::{Draw, normal_quantile, t_quantile};
use crate::histogram::{Histogram, SAMPLES_ABOVE};
use crate::seed::Seed;
use std::collections::BTreeMap;

/// Blocks below which nothing is said.
pub const FEWEST_BLOCKS: usize = 5;

/// Blocks that are kept apart; more are merged with their neighbours, so that an hour costs what a minute costs.
pub const MOST_BLOCKS: usize = 64;

/// Resamples.
const RESAMPLES: usize = 1_000;

/// Two-sided level of the intervals.
const ALPHA: f64 = 0.05;

/// Consecutive blocks of one measure, ready to be drawn from.
#[derive(Debug, Clone)]
pub struct Blocks {
    /// Blocks after merging neighbours.
    count: usize,
    /// The largest duration of each bucket, in nanoseconds, from the smallest on.
    tops: Vec<u64>,
    /// By bucket, then by block: samples up to and with this bucket.
    up_to: Vec<u64>,
    /// By block: sum of its samples in nanoseconds.
    sums: Vec<f64>,
    /// By resample: how often each block was drawn.
    draws: Vec<Vec<u32>>,
}

impl Blocks {
    /// Blocks from consecutive histograms; none below [`FEWEST_BLOCKS`] or where there is no sample at all.
    pub fn of(parts: &[&Histogram], seed: Seed) -> Option<Self> {
        if parts.len() < FEWEST_BLOCKS {
            return None;
        }
        let count = parts.len().min(MOST_BLOCKS);
        // Nearly equal numbers of parts in each block.
        let first = |block: usize| block * parts.len() / count;
        let mut buckets: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut sums = vec![0.0; count];
        for (block, sum) in sums.iter_mut().enumerate() {
            let mut merged = Histogram::new();
            let own = &parts[first(block)..first(block + 1)];
            own.iter().for_each(|part| merged.merge(part));
            for bucket in merged.buckets() {
                let counts = buckets.entry(bucket.top_ns);
                counts.or_insert_with(|| vec![0; count])[block] = bucket.count;
                *sum += product(bucket.middle_ns, bucket.count);
            }
        }
        let tops: Vec<u64> = buckets.keys().copied().collect();
        let mut up_to: Vec<u64> = buckets.into_values().flatten().collect();
        for place in count..up_to.len() {
            up_to[place] += up_to[place - count];
        }
        (!tops.is_empty()).then(|| Self {
            draws: draws(count, seed),
            count,
            tops,
            up_to,
            sums,
        })
    }

    /// How many blocks are drawn from.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Samples of a weighted choice of blocks, up to and with a bucket.
    fn up_to(&self, bucket: usize, weights: &[u32]) -> u64 {
        let row = &self.up_to[bucket * self.count..(bucket + 1) * self.count];
        row.iter()
            .zip(weights)
            .map(|(n, w)| n * u64::from(*w))
            .sum()
    }

    fn samples(&self, weights: &[u32]) -> u64 {
        self.up_to(self.tops.len() - 1, weights)
    }

    /// The value at a quantile of a weighted choice of blocks, in nanoseconds, as the histogram would read it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts below 2^53"
    )]
    fn value(&self, quantile: f64, weights: &[u32]) -> f64 {
        let wanted = (quantile * self.samples(weights) as f64).ceil() as u64;
        let (mut low, mut high) = (0, self.tops.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.up_to(middle, weights) >= wanted.max(1) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.tops[low] as f64
    }

    /// The interval of 95 % around a percentile, in nanoseconds; none with fewer than ten samples above it.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn percentile_ns(&self, quantile: f64) -> Option<[f64; 2]> {
        let each_once = vec![1; self.count];
        let above = self.samples(&each_once) as f64 * (1.0 - quantile);
        (above + 1e-6 >= SAMPLES_ABOVE).then(|| self.ends(|weights| self.value(quantile, weights)))
    }

    /// The interval of 95 % around the mean, in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn mean_ns(&self) -> [f64; 2] {
        self.ends(|weights| {
            let sums = self.sums.iter().zip(weights);
            let sum: f64 = sums.map(|(sum, w)| sum * f64::from(*w)).sum();
            // A choice of empty blocks alone has no mean; it is left out below.
            sum / self.samples(weights) as f64
        })
    }

    /// The least and the most that any block alone shows.
    fn extremes(&self, statistic: impl Fn(&[u32]) -> f64) -> [f64; 2] {
        let alone = (0..self.count).map(|block| {
            let mut weights = vec![0; self.count];
            weights[block] = 1;
            weights
        });
        alone
            .filter(|weights| self.samples(weights) > 0)
            .map(|weights| statistic(&weights))
            .fold([f64::INFINITY, 0.0], |[least, most], value| {
                [least.min(value), most.max(value)]
            })
    }

    /// Both ends for a statistic: the resamples' quantiles, stretched away from the statistic on the log scale, but not
    /// beyond what any single block shows: where one block holds a stall, a logarithm would stretch past every sample.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a thousand"
    )]
    fn ends(&self, statistic: impl Fn(&[u32]) -> f64) -> [f64; 2] {
        let middle = statistic(&vec![1; self.count]);
        let drawn = self.draws.iter().filter(|w| self.samples(w) > 0);
        let mut values: Vec<f64> = drawn.map(|weights| statistic(weights)).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1) as f64;
        let at = |share: f64| values.get((share * last).round() as usize).copied();
        let stretch = stretch(self.count);
        let [least, most] = self.extremes(&statistic);
        [ALPHA / 2.0, 1.0 - ALPHA / 2.0].map(|share| {
            let end = at(share).unwrap_or(middle);
            if end > 0.0 && middle > 0.0 {
                let stretched = middle * (end / middle).powf(stretch);
                stretched.clamp(least.min(end), most.max(end))
            } else {
                end
            }
        })
    }
}

/// Blocks that stay together in a draw, so that what neighbours share is kept: the cube root of their number.
fn run_length(count: usize) -> usize {
    (1..=count).find(|l| l * l * l >= count).unwrap_or(1)
}

/// What the quantiles of a plain bootstrap lack with few independent draws: the variance of m draws is too small by
/// (m − 1)/m, and the normal's quantile stands where Student's with m − 1 degrees belongs.
#[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
fn stretch(count: usize) -> f64 {
    let draws = count / run_length(count);
    let m = draws as f64;
    let share = 1.0 - ALPHA / 2.0;
    (m / (m - 1.0)).sqrt() * t_quantile(share, draws - 1) / normal_quantile(share)
}

/// How often each block comes in each resample: runs of neighbours from random places, around the end to the beginning.
fn draws(count: usize, seed: Seed) -> Vec<Vec<u32>> {
    let length = run_length(count);
    let mut draw = Draw::new(seed.derive("blocks"));
    let mut one = || {
        let mut weights = vec![0; count];
        let mut place = 0;
        for taken in 0..count {
            place = match taken % length {
                0 => draw.below(count),
                _ => (place + 1) % count,
            };
            weights[place] += 1;
        }
        weights
    };
    (0..RESAMPLES).map(|_| one()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
fn product(ns: u64, count: u64) -> f64 {
    ns as f64 * count as f64
}
