//! How sure the distributions of a phase are: intervals by resampling the parts of its measured stretch.
//! Refuses to be drawn twice alike: each distribution has a seed of its own.

use super::{Confidence, Distribution, OperationResult};
use crate::histogram::Histogram;
use crate::sample::OperationInterval;
use crate::seed::Seed;

/// Puts intervals around the percentiles of an operation that consists of these consecutive parts.
pub(super) fn with_confidence(
    mut result: OperationResult,
    parts: &[&OperationInterval],
    seed: Seed,
) -> OperationResult {
    let around = |distribution: &mut Option<Distribution>,
                  of: fn(&OperationInterval) -> &Histogram,
                  name: &str| {
        if let Some(distribution) = distribution {
            let parts: Vec<&Histogram> = parts.iter().map(|part| of(part)).collect();
            distribution.confidence = Confidence::of(&parts, seed.derive(name));
        }
    };
    around(&mut result.service, |part| &part.service, "service");
    around(&mut result.response, |part| &part.response, "response");
    result
}

/// Half the width of the interval around p99, as a share of p99.
pub(super) fn p99_half_width(distribution: Option<&Distribution>) -> Option<f64> {
    let distribution = distribution?;
    let [low, high] = distribution.confidence?.p99_us?;
    let p99 = distribution.p99_us.filter(|p99| *p99 > 0.0)?;
    Some((high - low) / 2.0 / p99)
}
