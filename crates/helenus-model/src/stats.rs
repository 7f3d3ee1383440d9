//! Statistics: what may be said of few numbers, and how sure.
//! Refuses clocks and global randomness: whoever resamples gives a seed.
//!
//! Why these methods and not others stands in `docs/design/017-numbers-one-can-believe.md`.

mod blocks;
mod change;
mod draw;
mod moderate;
mod mser;
mod pairs;
mod sequence;
mod squares;
#[cfg(test)]
mod tests;

pub use blocks::{Blocks, FEWEST_BLOCKS, MOST_BLOCKS};
pub use change::{Change, FEWEST_BATCHES, FEWEST_FOR_CHANGE, LEVEL, MOST_BATCHES, change_point};
pub use draw::Draw;
pub use moderate::{is_larger, prior_degrees};
pub use mser::{BATCH, FEWEST_FOR_MSER, Truncation, mser5};
pub use pairs::{
    Interval, detectable, holm, interval, pairs_needed, second_stage, two_stage_interval,
};
pub use squares::{LeastSquares, Observation, Sum};

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Standard deviation of a normal distribution over its median absolute deviation.
pub const SCALE: f64 = 1.4826;

/// Student's distribution with `degrees` degrees of freedom; at least one.
fn student(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees.max(1.0)).ok()
}

/// P(T ≤ t) of Student's distribution; fewer than one degree of freedom count as one.
#[expect(clippy::cast_precision_loss, reason = "degrees far below 2^53")]
pub fn t_cdf(t: f64, degrees: usize) -> f64 {
    match student(degrees as f64) {
        Some(_) if t.is_infinite() => f64::from(u8::from(t > 0.0)),
        Some(student) => student.cdf(t),
        None => f64::NAN,
    }
}

/// The t with P(T ≤ t) = `p` of Student's distribution; fewer than one degree of freedom count as one.
/// Infinite at and beyond 0 and 1.
#[expect(clippy::cast_precision_loss, reason = "degrees far below 2^53")]
pub fn t_quantile(p: f64, degrees: usize) -> f64 {
    t_quantile_at(p, degrees as f64)
}

/// The same with degrees of freedom that need not be whole, as Satterthwaite's are.
pub fn t_quantile_at(p: f64, degrees: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    student(degrees).map_or(f64::NAN, |student| student.inverse_cdf(p))
}

/// The z with P(Z ≤ z) = `p` of the standard normal distribution. Infinite at and beyond 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    let standard = Normal::standard();
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else {
        standard.inverse_cdf(p)
    }
}

/// P(Z ≤ z) of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The mean; none of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation with n − 1 in the denominator; none below two values.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The median; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}
