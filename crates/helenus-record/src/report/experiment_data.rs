//! What the report of an experiment is made from. Refuses to hold what can be computed from it.

use crate::planned::{PlannedRun, StoredExperiment};
use helenus_model::experiment::{Analysis, Bar, Experiment, Fact, Progress};

/// What an experiment's report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentReport<'a> {
    /// It, as it is stored.
    pub stored: &'a StoredExperiment,
    /// Its file.
    pub experiment: &'a Experiment,
    /// The file's own thresholds, where others are asked for instead.
    pub own_bars: Option<&'a [Bar]>,
    /// How far it is.
    pub progress: Progress,
    /// Its planned runs.
    pub runs: &'a [PlannedRun],
    /// What is known of those that ended.
    pub facts: &'a [Fact],
    /// The analysis of them; none where no run counts.
    pub analysis: Option<&'a Analysis>,
    /// Machine and software of its runs; empty where none has started.
    pub measured_on: &'a [String],
}
