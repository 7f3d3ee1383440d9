//! The highest rate under a latency threshold: which rate is tried next, and what the trials show.
//! Refuses to call one good trial an answer: a rate holds with a probability, which is estimated from all of them.

mod curve;
mod estimate;
mod life;
mod lives;
mod report;
mod slo;
#[cfg(test)]
mod tests;

pub use curve::{Point, curve, knee};
pub use estimate::{Estimate, Lives, estimate, rates_at};
pub use life::{LEAST as LEAST_TRIALS, Next, next, phase_after};
pub use lives::{Spent, next_life};
pub use report::{Life, LifeReport, Report, VERSION, over};
pub use slo::{Held, Slo, SloError};

use crate::result::{PhaseResult, RunResult};
use crate::run_plan::Search;
use life::any_held;
use serde::{Deserialize, Serialize};

/// A phase that tried a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Operations a second that were offered.
    pub rate_per_s: f64,
    /// Whether the threshold held; none where the phase cannot say.
    pub held: Option<bool>,
}

/// The trials of a run that searched: its phases with a rate.
///
/// # Errors
/// The threshold of its plan is none.
pub fn trials(search: &Search, phases: &[PhaseResult]) -> Result<Vec<Trial>, SloError> {
    let slo = search.slo.as_deref().map(Slo::parse).transpose()?;
    let tried = phases.iter().filter_map(|phase| {
        Some(Trial {
            rate_per_s: phase.rate_per_s?,
            held: slo.as_ref().and_then(|slo| slo.held_by(phase).known()),
        })
    });
    Ok(tried.collect())
}

/// Operations a second that the closed loop before the trials reached; none where nothing ended.
pub fn capacity(phases: &[PhaseResult]) -> Option<f64> {
    let mut closed = phases.iter().filter(|phase| phase.rate_per_s.is_none());
    let reached = closed.next_back().map(|phase| phase.achieved_per_s);
    reached.filter(|rate| *rate > 0.0)
}

/// The highest rate that holds the threshold in one life of the nodes, in operations a second; none where no rate was
/// seen to hold.
pub fn found(search: &Search, result: &RunResult) -> Option<Estimate> {
    let trials = trials(search, &result.phases).ok();
    // Trials that all failed leave a posterior, too: an extrapolation.
    let trials = trials.filter(|all| any_held(all))?;
    estimate(&[trials], capacity(&result.phases)?)
}
