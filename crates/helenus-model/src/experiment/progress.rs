//! How far an experiment is: what has run, what comes next, how long it will take.
//! Refuses to run anything twice that has ended, and to forget what was cut off.

use super::order::Planned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What became of a planned run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Not started.
    Planned,
    /// Started; cut off if nothing writes it any more.
    Running,
    /// It ended, valid or not.
    Done,
    /// Its nodes did not start, or did not stay up.
    Died,
    /// A person or a signal ended it.
    Interrupted,
    /// Its combination does not fit the machine.
    DoesNotFit,
}

impl RunState {
    /// Whether it is still to be run.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Running | Self::Interrupted)
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "begun",
            Self::Done => "done",
            Self::Died => "died",
            Self::Interrupted => "cut off",
            Self::DoesNotFit => "does not fit",
        }
    }
}

/// What became of a planned run, and why where it came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate<'a> {
    /// Its place in the plan.
    pub planned: Planned,
    /// What became of it.
    pub state: RunState,
    /// Why it died, or does not fit; its first line.
    pub why: Option<&'a str>,
}

/// How long things take.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// What a restart takes besides its runs: up, putting the dataset back, removal.
    pub restart: Duration,
    /// By combination: warm-up and measurement window, and what is around them.
    pub runs: Vec<Duration>,
    /// By combination: what is there before, where anything is.
    pub datasets: Vec<Option<Making>>,
}

/// How long a dataset takes to make, once for all that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// Combinations of equal number share a dataset.
    pub dataset: usize,
    /// Writing, settling and saving it.
    pub takes: Duration,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Runs of the plan.
    pub planned: usize,
    /// Of these, ended.
    pub done: usize,
    /// Of these, of nodes that died.
    pub died: usize,
    /// Of these, of combinations that do not fit the machine.
    pub does_not_fit: usize,
    /// Of these, still to be run.
    pub left: usize,
    /// Restarts still to come.
    pub restarts_left: usize,
}

impl Progress {
    /// Of these runs, each with its state.
    pub fn of(runs: &[(Planned, RunState)]) -> Self {
        let count = |state: RunState| runs.iter().filter(|(_, s)| *s == state).count();
        let open = || runs.iter().filter(|(_, state)| state.is_open());
        let mut restarts: Vec<usize> = open().map(|(planned, _)| planned.restart).collect();
        restarts.dedup();
        Self {
            planned: runs.len(),
            done: count(RunState::Done),
            died: count(RunState::Died),
            does_not_fit: count(RunState::DoesNotFit),
            left: open().count(),
            restarts_left: restarts.len(),
        }
    }

    /// Place of the run that comes next; none where all have ended.
    pub fn next(runs: &[(Planned, RunState)]) -> Option<usize> {
        runs.iter().position(|(_, state)| state.is_open())
    }
}

impl Timing {
    /// How long the open ones of these runs take. A dataset of one that has ended is there.
    pub fn left(&self, runs: &[(Planned, RunState)]) -> Duration {
        let making = |of: &Planned| self.datasets.get(of.combination).copied().flatten();
        let ran = |state: RunState| matches!(state, RunState::Done | RunState::Died);
        let ended = runs.iter().filter(|(_, state)| ran(*state));
        let mut made: Vec<usize> = ended
            .filter_map(|(planned, _)| Some(making(planned)?.dataset))
            .collect();
        let mut sum = Duration::ZERO;
        let mut last = None;
        for (planned, _) in runs.iter().filter(|(_, state)| state.is_open()) {
            if last != Some(planned.restart) {
                sum += self.restart;
                last = Some(planned.restart);
            }
            if let Some(making) = making(planned)
                && !made.contains(&making.dataset)
            {
                sum += making.takes;
                made.push(making.dataset);
            }
            sum += self
                .runs
                .get(planned.combination)
                .copied()
                .unwrap_or_default();
        }
        sum
    }
}
