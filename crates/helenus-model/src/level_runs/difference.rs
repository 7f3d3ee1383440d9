//! The difference between a level and the reference, in milliseconds, repeat by repeat, beside the one that was predicted.
//! Refuses an interval from one repeat.

use crate::levels::Prediction;
use crate::stats::{interval, mean};
use serde::Serialize;

/// Share of intervals that miss the true difference.
const ALPHA: f64 = 0.05;

/// A level's median less the reference's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Of each repeat in which both are known, in milliseconds.
    pub by_repeat_ms: Vec<f64>,
    /// Their mean, in milliseconds.
    pub mean_ms: f64,
    /// Its interval of 95 %, by Student's t over the repeats, in milliseconds; none from one repeat.
    pub interval_ms: Option<[f64; 2]>,
    /// What the model says, from the least to the most, in milliseconds.
    pub predicted_ms: Option<[f64; 2]>,
    /// How far the mean lies outside of that, in milliseconds: 0 within, below 0 where less was measured.
    pub parts_by_ms: Option<f64>,
}

impl Difference {
    /// From the differences of the repeats; none of none.
    pub(super) fn of(by_repeat_ms: Vec<f64>, predicted_ms: Option<[f64; 2]>) -> Option<Self> {
        let mean_ms = mean(&by_repeat_ms)?;
        let parts = |[low, high]: [f64; 2]| mean_ms - mean_ms.clamp(low, high);
        Some(Self {
            mean_ms,
            interval_ms: interval(&by_repeat_ms).map(|known| known.ends(ALPHA)),
            parts_by_ms: predicted_ms.map(parts),
            predicted_ms,
            by_repeat_ms,
        })
    }
}

/// What a level is expected to wait longer than the reference, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "at most minutes")]
pub(super) fn expected_ms(level: &Prediction, reference: &Prediction) -> [f64; 2] {
    let ms = |a: u64, b: u64| (a as f64 - b as f64) / 1e3;
    let (low, high) = (
        ms(level.low_us, reference.high_us),
        ms(level.high_us, reference.low_us),
    );
    [low, high]
}
