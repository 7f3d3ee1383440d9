//! A change of level: Pettitt's test on batch means, with the level taken from permutations of the batches.
//! Refuses to name a change by its significance alone: it has to be large enough to matter, too.

use super::{Draw, mean, median};
use crate::seed::Seed;

/// Level of the test: how often one level may be called two.
pub const LEVEL: f64 = 0.01;

/// Points below which nothing is decided: the fewest batches with the fewest points.
pub const FEWEST_FOR_CHANGE: usize = FEWEST_BATCHES * FEWEST_POINTS;

/// Batches that are made where there are points for them.
pub const MOST_BATCHES: usize = 24;

/// Batches below which no split can be significant at [`LEVEL`] with room to spare.
pub const FEWEST_BATCHES: usize = 12;

/// Points in a batch where they allow as many: longer batches leave less of what neighbouring points share.
const POINTS_IN_BATCH: usize = 8;

/// Points in a batch at least.
const FEWEST_POINTS: usize = 6;

/// Orders of the batches that are drawn.
const ORDERS: usize = 1_000;

/// The largest change of level in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first point after it, counted from 0.
    pub at: usize,
    /// Level after over level before: medians of the batches.
    pub ratio: f64,
    /// How often one level shows as large a change, in batches that could stand in any order.
    pub p: f64,
}

impl Change {
    /// True where the change is significant at [`LEVEL`] and larger than the share `floor`, up or down.
    pub fn counts(&self, floor: f64) -> bool {
        self.p <= LEVEL && self.ratio.ln().abs() > (1.0 + floor).ln()
    }
}

/// The largest change of level; none below [`FEWEST_FOR_CHANGE`] points.
///
/// Ranks make one batch with a stall count for one batch; medians do the same for the size of the change.
pub fn change_point(points: &[f64]) -> Option<Change> {
    if points.len() < FEWEST_FOR_CHANGE {
        return None;
    }
    let count = (points.len() / POINTS_IN_BATCH).clamp(FEWEST_BATCHES, MOST_BATCHES);
    // Batches of nearly equal length: the first point of each.
    let first = |batch: usize| batch * points.len() / count;
    let batches: Vec<f64> = (0..count)
        .filter_map(|batch| mean(&points[first(batch)..first(batch + 1)]))
        .collect();
    let ranks = ranks(&batches);
    let (split, found) = pettitt(&ranks);
    let (before, after) = batches.split_at(split);
    Some(Change {
        at: first(split),
        ratio: median(after)? / median(before)?,
        p: p_of(&ranks, found),
    })
}

/// Ranks from 1 on; equal values share the mean of theirs.
#[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let same = values.iter().filter(|other| *other == value).count();
        below as f64 + (same as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// The split (the first place after it) with the largest departure of the ranks' sum from what one level expects, and
/// that departure.
#[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
fn pettitt(ranks: &[f64]) -> (usize, f64) {
    let expected = (ranks.len() as f64 + 1.0) / 2.0;
    let mut sum = 0.0;
    let mut best = (1, 0.0);
    for (place, rank) in ranks[..ranks.len() - 1].iter().enumerate() {
        sum += rank - expected;
        let departure: f64 = sum;
        if departure.abs() > best.1 {
            best = (place + 1, departure.abs());
        }
    }
    best
}

/// The share of random orders of these ranks that depart at least as far.
#[expect(clippy::cast_precision_loss, reason = "a thousand")]
fn p_of(ranks: &[f64], found: f64) -> f64 {
    // A fixed seed: the same points always get the same answer.
    let mut draw = Draw::new(Seed(0).derive("orders of batches"));
    let mut order = ranks.to_vec();
    let as_far = (0..ORDERS)
        .filter(|_| {
            draw.shuffle(&mut order);
            pettitt(&order).1 >= found - 1e-9
        })
        .count();
    (as_far + 1) as f64 / (ORDERS + 1) as f64
}
