//! How well the rate of a phase shall be known before it ends.
//! Refuses to look at what the rates are of.

use serde::{Deserialize, Serialize};

/// How well a rate shall be known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Standard error of the mean of the intervals' rates, as a share of that mean, that is small enough.
    pub error: f64,
    /// Intervals that are measured at least.
    pub least: u32,
    /// Intervals after which it ends whatever the error is.
    pub most: u32,
}

impl Target {
    /// Whether intervals with these rates are enough.
    pub fn is_reached(&self, rates: &[f64]) -> bool {
        let n = rates.len();
        if n >= self.most as usize {
            return true;
        }
        if n < (self.least as usize).max(2) {
            return false;
        }
        let count = n as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / count;
        mean > 0.0 && (variance / count).sqrt() / mean < self.error
    }
}
