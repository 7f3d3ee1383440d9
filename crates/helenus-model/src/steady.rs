//! Whether a phase was steady: where its warm-up ended, and whether what came after stayed on one level.
//! Refuses to call unsteady what too few points cannot show: then it is *not told*.

use serde::{Deserialize, Serialize};

/// What was found of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The answer.
    pub state: SteadyState,
    /// Warm-up that was asked for, in seconds.
    pub warmup_asked_s: f64,
    /// Where MSER-5 ends the warm-up, in seconds from the phase's start; none where it finds no end.
    pub warmup_found_s: Option<f64>,
    /// What was cut from the measured stretch because of it, in seconds.
    pub cut_s: f64,
    /// The level's largest change in the rest: mean after over mean before.
    pub change: Option<f64>,
    /// Where it lies, in seconds from the phase's start.
    pub change_at_s: Option<f64>,
    /// Points (of a tenth of a second) that were looked at.
    pub points: usize,
}

/// Answers about steadiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyState {
    /// One level from the cut to the end.
    Steady,
    /// There is no such stretch.
    NotSteady,
    /// Too few points to tell.
    NotTold,
}
