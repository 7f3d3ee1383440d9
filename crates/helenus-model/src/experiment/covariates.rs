//! What may explain the numbers of a run besides its settings: when it was, how old its nodes were, what the host did.
//! Refuses to explain anything by it: the analysis does not read it.

use crate::result::{Around, RunResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Covariates of a run. What was not measured is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Covariates {
    /// When its load began, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// Runs of the same life of the nodes before it; a load that warms them is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_before: Option<usize>,
    /// By phase, share of the host's CPU that the hypervisor took in the measurement window.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub steal_share: BTreeMap<String, f64>,
    /// By phase, share of the measurement window in which the generator's busiest thread waited for a processor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub run_queue_share: BTreeMap<String, f64>,
}

impl Covariates {
    /// What a result holds of them; it does not hold how many runs came before it.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds, needed to the millisecond"
    )]
    pub fn of(result: &RunResult) -> Self {
        let by_phase = |of: fn(&Around) -> Option<f64>| {
            let phases = result.phases.iter();
            let seen = phases.filter_map(|phase| Some((phase.name.clone(), of(&phase.around)?)));
            seen.collect()
        };
        let began = result.began_wall_ns;
        Self {
            began_s: (began > 0).then_some(began as f64 / 1e9),
            runs_before: None,
            steal_share: by_phase(|around| around.steal_share),
            run_queue_share: by_phase(|around| around.generator_run_queue_share),
        }
    }
}
