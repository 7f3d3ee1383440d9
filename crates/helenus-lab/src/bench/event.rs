//! What happens while a run is carried out, and what came of it.
//! Refuses to word it: the command line does.

use crate::faults::Turned;
use helenus_cluster::error::ClusterError;
use helenus_cluster::event::Event;
use helenus_cluster::net::client::NetError;
use helenus_cluster::state::ClusterState;
use helenus_model::agent::GeneratorSeen;
use helenus_model::guard::Sight;
use helenus_model::line::Step;
use helenus_model::machine::Machine;
use helenus_model::plan::ClusterPlan;
use helenus_model::result::{PhaseResult, RunResult};
use helenus_model::run_plan::{Phase, RunPlan};
use helenus_model::sample::{Header, Interval};
use helenus_model::telemetry::{FaultSeen, Reading};
use helenus_record::{HistoryError, RunId};

/// What happens on the way.
#[derive(Debug)]
pub enum LabEvent<'a> {
    /// A step starts.
    Step(Step),
    /// The cluster on its way up.
    Cluster(&'a Event),
    /// A cluster that is not ours is about to be written to, as the person allowed.
    Foreign(&'a Sight),
    /// The generator is connected, and the first phase runs.
    Connected(&'a Header),
    /// What was seen of nodes and host since the last.
    Seen(&'a [Reading]),
    /// A fault of the time line, in its words, and what became of it.
    Fault(&'a str, &'a Turned),
    /// Something that was asked for beside the run is missing, and why.
    Missing(&'a str),
    /// An interval of the probe or of a phase.
    Interval {
        /// The phase.
        phase: &'a Phase,
        /// The interval.
        interval: &'a Interval,
        /// Of the phase so far and in all: seconds with the warm-up, or operations where it ends by count.
        done: (u64, u64),
    },
    /// A phase of a search has ended.
    Ended(&'a PhaseResult),
    /// The rate that the probe led to.
    Rate {
        /// Operations a second that it reached.
        reached_per_s: f64,
        /// Operations a second that were chosen.
        chosen_per_s: f64,
    },
}

/// Where a run was whose generators, or nodes and generators, were not on this machine.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// In words.
    pub on: String,
    /// The cluster, where it is not on this machine either.
    pub plan: Option<ClusterPlan>,
    /// The first generator's machine, where that could be seen.
    pub machine: Option<Machine>,
}

/// What came of it.
#[derive(Debug)]
pub struct Finished {
    /// The result, where the phases ran.
    pub result: RunResult,
    /// Its place in the history.
    pub run: Option<RunId>,
    /// The plan that ran.
    pub plan: RunPlan,
    /// Its faults, as they really were.
    pub faults: Vec<FaultSeen>,
    /// Our cluster, where it was one.
    pub cluster: Option<ClusterState>,
    /// Where it ran, where that is not this machine.
    pub elsewhere: Option<Elsewhere>,
    /// The generators that were not here.
    pub generators: Vec<GeneratorSeen>,
    /// Whether every running node of it mapped the class-data archive; absent where none was seen.
    pub archive_used: Option<bool>,
    /// The person stopped it.
    pub interrupted: bool,
    /// Why the history could not take it.
    pub not_recorded: Option<HistoryError>,
    /// Why the cluster that was brought up is still there.
    pub not_removed: Option<ClusterError>,
    /// Why the links are not as they were before.
    pub not_put_back: Option<NetError>,
}
