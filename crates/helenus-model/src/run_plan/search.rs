//! The search for the highest rate, as a part of a plan: phases come one by one, each found from those before it.
//! Refuses to decide which: that is `crate::search`'s.

use super::{Extent, Phase};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest closed loop before the trials, in milliseconds; a tenth of the time where that is less.
const WARM_MOST_MS: u64 = 20_000;

/// The shortest, in milliseconds.
const WARM_LEAST_MS: u64 = 1_000;

/// How phases are found that try rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The latency threshold that is to hold, such as `p99<10ms`; none tries a fixed set of rates, for their curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
    /// Time for the trials of one life of the nodes, in milliseconds.
    pub within_ms: u64,
    /// Measurement window of a trial, in milliseconds; longer where a percentile needs more operations.
    pub step_ms: u64,
    /// Its warm-up, in milliseconds.
    pub warmup_ms: u64,
    /// Width of the rate's interval of 90 % at which a life is over, as a share.
    pub precision: f64,
    /// Around which rate it is looked for, in operations a second; none where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_per_s: Option<f64>,
}

impl Search {
    /// The shortest trial that shows whether the nodes fall behind, in milliseconds: it has as many tenths of a second as
    /// are judged.
    pub const STEP_LEAST_MS: u64 = 2_000;

    /// For a threshold, or for a curve without one, within so many milliseconds: trials of 5 s after 1 s of warm-up.
    pub fn new(slo: Option<String>, within_ms: u64) -> Self {
        Self {
            slo,
            within_ms,
            step_ms: 5_000,
            warmup_ms: 1_000,
            precision: 0.08,
            around_per_s: None,
        }
    }

    /// How long a trial takes at least.
    pub fn trial(&self) -> Duration {
        Duration::from_millis(self.step_ms + self.warmup_ms)
    }

    /// The phase before the trials, of the same mix: a closed loop that warms the nodes and says roughly where to look.
    #[must_use]
    pub fn closed_loop(&self, of: &Phase) -> Phase {
        let ms = (self.within_ms / 10).clamp(WARM_LEAST_MS, WARM_MOST_MS);
        Phase {
            rate_per_s: None,
            ramp: None,
            extent: Extent::DurationMs(ms),
            warmup_ms: 0,
            settle: false,
            ..of.clone()
        }
    }
}
