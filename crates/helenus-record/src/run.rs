//! What the history is given about a run, and what it gives back.
//! Refuses secrets: the plan refers to them, and the command line comes without them.

use crate::id::{ExperimentId, RunId};
use helenus_model::doubt::Verdict;
use helenus_model::result::RunResult;
use helenus_model::run_plan::RunPlan;
use helenus_model::sample::Header;
use helenus_model::seed::Seed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The key of the machine's facts that says where a run was, where generators and nodes were not on this machine.
pub const ON_KEY: &str = "on";

/// Where in an experiment a run shall be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlace {
    /// The experiment, from [`crate::History::plan_experiment`].
    pub experiment: ExperimentId,
    /// Place of its trial, from zero, in the order in which they were named.
    pub trial: u32,
    /// Place of its restart in the trial, from zero: restarts of equal place in two trials are a pair.
    pub restart: u32,
}

/// The place of a stored run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunPlacement {
    /// Its experiment.
    pub experiment: ExperimentId,
    /// The experiment's name; none where it was made for a single run.
    pub experiment_name: Option<String>,
    /// Place of its trial, from zero.
    pub trial: u32,
    /// The trial's name; none where there is only one.
    pub trial_name: Option<String>,
    /// The restart's number in this history: runs of one restart share it, and are no repetitions of each other.
    pub restart_id: i64,
    /// Place of the restart in its trial, from zero: the number of its pair.
    pub restart: u32,
    /// Whether the restart is known to be a life of the nodes' processes of its own.
    pub restart_known: bool,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is still under way, or its process was killed.
    Broken,
    /// It ended, and its numbers may be read.
    Complete,
    /// A person stopped it.
    Interrupted,
    /// It ended, but its numbers are not valid.
    Invalid,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its result is valid.
    Complete,
    /// Stopped by a person.
    Interrupted,
    /// With numbers that are not valid.
    Invalid,
}

impl Ending {
    /// The ending of a run with this verdict. A stopped run is interrupted, whatever its verdict.
    pub fn of(verdict: Verdict, interrupted: bool) -> Self {
        match verdict {
            _ if interrupted => Self::Interrupted,
            Verdict::Valid | Verdict::Caution => Self::Complete,
            Verdict::Invalid => Self::Invalid,
        }
    }
}

impl From<Ending> for RunState {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Complete => Self::Complete,
            Ending::Interrupted => Self::Interrupted,
            Ending::Invalid => Self::Invalid,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Broken => "broken",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Invalid => "invalid",
        })
    }
}

/// What is known of a run before its first operation. Hash, seed, workload and phases come from the plan.
#[derive(Debug, Clone, Copy)]
pub struct RunBeginning<'a> {
    /// What is run.
    pub plan: &'a RunPlan,
    /// Cassandra's version, where known.
    pub release: Option<&'a str>,
    /// The preset that the nodes were started with, where known.
    pub preset: Option<&'a str>,
    /// The nodes' Java, with its full version, where known.
    pub jvm: Option<&'a str>,
    /// Facts of the host, and limits that really held.
    pub host: &'a serde_json::Value,
    /// The cluster's plan; none for a cluster that Helenus did not bring up.
    pub cluster_plan: Option<&'a serde_json::Value>,
    /// What distinguishes this life of the nodes' processes from every other, such as their pids and start times. Runs of
    /// one life share a restart and are no repetitions of each other. None where it is not known: the run then
    /// gets a restart of its own, which proves nothing.
    pub life: Option<&'a str>,
    /// This program's version.
    pub helenus_version: &'a str,
    /// The command, already free of secrets.
    pub command: &'a str,
    /// The wall clock, in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// A name that the person gave it.
    pub tag: Option<&'a str>,
    /// Its place in an experiment of several trials; none for a single run.
    pub place: Option<RunPlace>,
}

/// Which runs are asked for; the default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only in this state.
    pub state: Option<RunState>,
    /// Only of this release.
    pub release: Option<String>,
    /// Only of this workload.
    pub workload: Option<String>,
    /// Only those whose writer is alive, or (`Some(false)`) only those that no process writes any more.
    pub running: Option<bool>,
    /// Only with the plan of this hash.
    pub plan_hash: Option<String>,
    /// Only those with a smaller number.
    pub before: Option<RunId>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// What became of it.
    pub state: RunState,
    /// True where it is broken only because it is still under way: the process that writes it is alive.
    pub running: bool,
    /// The worst of its phases' verdicts; none while it is broken.
    pub verdict: Option<Verdict>,
    /// The wall clock at its beginning, in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// It came from another history, by [`crate::History::sync`].
    pub received: bool,
    /// Cassandra's version, where known.
    pub release: Option<String>,
    /// The nodes' preset, where known.
    pub preset: Option<String>,
    /// The nodes' Java, where known.
    pub jvm: Option<String>,
    /// The workload's name.
    pub workload: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Root seed.
    pub seed: Seed,
    /// Names that persons gave it, sorted.
    pub tags: Vec<String>,
    /// Its restart, trial and experiment.
    pub place: RunPlacement,
    /// By phase, in the plan's order.
    pub phases: Vec<PhaseSummary>,
}

/// A phase in the list of runs; over all of its operations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSummary {
    /// Its name.
    pub name: String,
    /// Operations a second that were asked for; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Most operations in flight at once.
    pub in_flight: u32,
    /// Operations a second that ended well; none without a result.
    pub achieved_per_s: Option<f64>,
    /// Service time p99 in microseconds; none where too few samples lie above it.
    pub service_p99_us: Option<f64>,
    /// Response time p99 in microseconds; none in a closed loop or where too few samples lie above it.
    pub response_p99_us: Option<f64>,
    /// Its verdict; none without a result.
    pub verdict: Option<Verdict>,
}

/// Everything the history holds of a run but its intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Its line in the list.
    pub summary: RunSummary,
    /// Its plan as JSON: the very text that was hashed.
    pub plan_json: String,
    /// Facts of the host.
    pub host: serde_json::Value,
    /// The cluster's plan; none for a cluster that Helenus did not bring up.
    pub cluster_plan: Option<serde_json::Value>,
    /// The life of the processes it belongs to, where known.
    pub life: Option<String>,
    /// Version of the Helenus that ran it.
    pub helenus_version: String,
    /// The command.
    pub command: String,
    /// What the generator reported when it was ready; none when it did not get that far.
    pub header: Option<Header>,
    /// Its result; none while it is broken.
    pub result: Option<RunResult>,
}

impl StoredRun {
    /// Why the limits that were asked of its nodes did not hold; none where they did, or none were.
    pub fn limits_failed(&self) -> Option<String> {
        let why = self.host.get("limits")?["not_enforced"].as_str()?;
        Some(why.to_owned())
    }
}
