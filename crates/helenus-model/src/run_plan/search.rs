//! The search for the highest rate, as a part of a plan: phases come one by one, each found from those before it.
//! Refuses to decide which: that is `crate::search`'s.

use serde::{Deserialize, Serialize};

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
