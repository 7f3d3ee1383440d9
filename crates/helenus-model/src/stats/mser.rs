//! MSER-5: where the beginning of a series ends and its level begins.
//! Refuses an end in the second half: too little is left to call it a level.

use super::{SCALE, mean, median};

/// Points in a batch: the 5 of MSER-5 (White 1997; White, Cobb and Spratt 2000).
pub const BATCH: usize = 5;

/// Points below which nothing is looked for: ten batches.
pub const FEWEST_FOR_MSER: usize = 10 * BATCH;

/// Share of the batches in which the point is looked for. A little more than half: a series that never settles has its
/// best point at the end of what is searched, and that is past half.
const SEARCHED: f64 = 0.6;

/// Batches on each side that a batch is compared with before it counts as an outlier.
const NEIGHBOURS: usize = 4;

/// What MSER-5 found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// The level begins at this point, counted from 0.
    At(usize),
    /// The best point lies in the second half: no end of the beginning was found.
    NoEnd,
    /// Fewer than [`FEWEST_FOR_MSER`] points.
    TooFew,
}

/// The truncation point that minimises the marginal standard error of the mean of what is left.
///
/// Outlying batches are first put to the median of their neighbours (Hampel's filter): otherwise one stall moves the
/// point behind itself, and cuts off what should be shown.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn mser5(points: &[f64]) -> Truncation {
    if points.len() < FEWEST_FOR_MSER {
        return Truncation::TooFew;
    }
    let batches: Vec<f64> = points.chunks_exact(BATCH).filter_map(mean).collect();
    let batches = without_outliers(&batches);
    let n = batches.len();
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // Sums of differences from the last level keep the squares small.
    let level = batches[n - 1];
    for cut in (0..n).rev() {
        let value = batches[cut] - level;
        sum += value;
        squares += value * value;
        let left = (n - cut) as f64;
        // Farther back, a few batches that lie together by chance would win.
        if cut as f64 <= n as f64 * SEARCHED {
            let error = (squares - sum * sum / left).max(0.0) / (left * left);
            if error <= best.0 {
                best = (error, cut);
            }
        }
    }
    if best.1 * 2 > n {
        Truncation::NoEnd
    } else {
        Truncation::At(best.1 * BATCH)
    }
}

/// Hampel's filter: a value farther from the median of its neighbourhood than three of its scaled median deviations is
/// put to that median.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let cleaned = values.iter().enumerate().map(|(place, value)| {
        let from = place.saturating_sub(NEIGHBOURS);
        let to = (place + NEIGHBOURS + 1).min(values.len());
        let around = &values[from..to];
        let middle = median(around).unwrap_or(*value);
        let off: Vec<f64> = around.iter().map(|v| (v - middle).abs()).collect();
        let allowed = 3.0 * SCALE * median(&off).unwrap_or(0.0);
        if (value - middle).abs() > allowed {
            middle
        } else {
            *value
        }
    });
    cleaned.collect()
}
