//! The difference between a level and the reference, in milliseconds, repeat by repeat, beside the one that was predicted.
//! Refuses an interval from one repeat.

use crate::comparison::{ALPHA, LEAST_PAIRS, shared};
use crate::levels::Prediction;
use crate::stats::{Interval, interval, mean};
use serde::Serialize;

/// A level's median less the reference's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Of each repeat in which both are known, in milliseconds.
    pub by_repeat_ms: Vec<f64>,
    /// Their mean, in milliseconds.
    pub mean_ms: f64,
    /// Its interval, by Student's t over the repeats, in milliseconds: with a Holm p value of 95 % for all of those together
    /// (Bonferroni), else its own of 95 %. None from one repeat.
    pub interval_ms: Option<[f64; 2]>,
    /// The p value of *no difference*, adjusted by Holm over all that the table may call different; none of what is
    /// exploratory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
    /// What the model says, from the least to the most, in milliseconds.
    pub predicted_ms: Option<[f64; 2]>,
    /// How far the mean lies outside of that, in milliseconds: 0 within, below 0 where less was measured.
    pub parts_by_ms: Option<f64>,
}

impl Difference {
    /// Whether it is claimed: after correction, and as the interval beside it says.
    pub fn is_claim(&self) -> bool {
        let excludes = self
            .interval_ms
            .is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        self.p_holm.is_some_and(|p| p <= ALPHA) && excludes
    }
}

/// A difference with what its interval is made from.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    pub(super) difference: Difference,
    /// By what was recorded, the least and the most that the differences may be: apart where the generator was late in a run.
    intervals: Vec<Interval>,
    /// Whether the nodes fell behind the schedule as often at this level as at the reference: else the repeats that are left
    /// are those in which one of them had luck.
    fair: bool,
}

impl Computed {
    /// From the medians' ends in each repeat, the level's and the reference's: from the least to the most that they may be.
    /// None of none.
    pub(super) fn of(
        repeats: &[[[f64; 2]; 2]],
        fair: bool,
        predicted_ms: Option<[f64; 2]>,
    ) -> Option<Self> {
        let by = |own: usize, other: usize| -> Vec<f64> {
            let each = repeats.iter();
            each.map(|[level, reference]| level[own] - reference[other])
                .collect()
        };
        let by_repeat_ms = by(1, 1);
        let mean_ms = mean(&by_repeat_ms)?;
        let parts = |[low, high]: [f64; 2]| mean_ms - mean_ms.clamp(low, high);
        let ends = [by_repeat_ms.clone(), by(0, 1), by(1, 0)];
        let mut computed = Self {
            intervals: ends.iter().filter_map(|each| interval(each)).collect(),
            fair,
            difference: Difference {
                mean_ms,
                interval_ms: None,
                p_holm: None,
                parts_by_ms: predicted_ms.map(parts),
                predicted_ms,
                by_repeat_ms,
            },
        };
        computed.difference.interval_ms = computed.ends(ALPHA);
        Some(computed)
    }

    fn ends(&self, alpha: f64) -> Option<[f64; 2]> {
        let each = self.intervals.iter().map(|one| one.ends(alpha));
        each.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }

    /// Whether a difference may be claimed of it.
    pub(super) fn may_claim(&self) -> bool {
        self.fair && self.difference.by_repeat_ms.len() >= LEAST_PAIRS
    }

    /// The largest p; 1 where what lateness hides leaves the sign open.
    pub(super) fn p(&self) -> f64 {
        let longer = |one: &Interval| one.mean > 0.0;
        let apart = self.intervals.iter().any(longer) != self.intervals.iter().all(longer);
        let p = self.intervals.iter().map(|one| one.p(0.0));
        if apart { 1.0 } else { p.fold(0.0, f64::max) }
    }

    /// As one of so many that may be claims.
    pub(super) fn judge(&mut self, family: usize, p_holm: f64) {
        self.difference.interval_ms = self.ends(shared(ALPHA, family));
        self.difference.p_holm = Some(p_holm);
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
