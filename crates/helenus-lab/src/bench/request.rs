//! What a run is asked for: where it goes, its load, and what is kept of it.
//! Refuses flags: the command line made values of them.

use crate::faults;
use crate::generator::Agents;
use crate::ledger;
use crate::target::HostAccess;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::lifecycle::UpRequest;
use helenus_model::bench::{Load, Shape};
use helenus_model::doubt::threshold;
use helenus_model::fault::script::Scripted;
use helenus_model::flame::ProfileEvent;
use helenus_model::levels::{Cell, Distance};
use helenus_model::machine::Cpus;
use helenus_model::run_plan::{self, Compression, Consistency, Pacing, Search};
use helenus_model::seed::Seed;
use helenus_model::workload::{ReplicationFactor, Workload};
use helenus_record::RunPlace;
use std::net::SocketAddr;

/// Where the run goes.
#[derive(Debug, Clone)]
pub enum Where {
    /// A cluster made for it.
    Ephemeral(Box<UpRequest>),
    /// A cluster of this user, by name.
    Cluster(String),
    /// A cluster of this user on Kubernetes; the generators are pods beside it.
    Kube {
        /// Its name.
        name: String,
        /// To get in there.
        given: Box<HostAccess>,
    },
    /// Addresses.
    Hosts {
        /// The cluster of this user on hosts whose addresses they are; none where they were given.
        ours: Option<String>,
        /// CQL addresses.
        endpoints: Vec<SocketAddr>,
        /// Exact name given with the explicit flag.
        named: Option<String>,
        /// To get in there.
        given: Box<HostAccess>,
    },
}

/// What a run shall profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileAsked {
    /// The node; none means the cluster's first.
    pub node: Option<String>,
    /// What is sampled.
    pub event: ProfileEvent,
}

/// What `bench` is asked for.
#[derive(Debug, Clone)]
pub struct BenchRequest {
    /// Where.
    pub place: Where,
    /// Tables, statements and data.
    pub workload: Workload,
    /// Phases.
    pub shape: Shape,
    /// How operations are offered; of phases that have rates of their own the first one's.
    pub load: Load,
    /// Consistency level.
    pub consistency: Consistency,
    /// Faults on the run's time line.
    pub faults: Vec<Scripted>,
    /// Data centre in which the client is and whose nodes coordinate, if set; the first node's
    /// otherwise.
    pub client_dc: Option<String>,
    /// How far its data centres are apart during the run; none leaves the links as they are.
    pub distance: Option<Distance>,
    /// Replicas of each row, if set.
    pub replication_factor: Option<ReplicationFactor>,
    /// Generator processes that share the load.
    pub processes: u32,
    /// Load agents, one for each process; none generates the load here.
    pub agents: Agents,
    /// Processors that the generators may run on; none leaves that to the kernel.
    pub generator_cpus: Option<Cpus>,
    /// Connections to each node that coordinates, of each process.
    pub connections: u32,
    /// How requests and answers are compressed; none leaves them as they are.
    pub compression: Option<Compression>,
    /// How the generator waits.
    pub pacing: Pacing,
    /// Root seed.
    pub seed: Seed,
    /// Whether a run is refused whose replication cannot serve its consistency levels.
    pub must_be_served: bool,
    /// Share of failures that disqualifies.
    pub max_errors: f64,
    /// Time between intervals, in milliseconds.
    pub sampling_interval_ms: u64,
    /// Age at which an operation is given up, in milliseconds.
    pub operation_timeout_ms: u64,
    /// How rates are tried, after the phases; none where those are all.
    pub search: Option<Search>,
    /// Where each write is remembered; none remembers nothing.
    pub ledger: Option<ledger::Keep>,
    /// What is profiled in its measurement windows; without a node the first. None profiles nothing.
    pub profile: Option<ProfileAsked>,
    /// Operations of each measurement window that their coordinators trace; none traces nothing.
    pub trace: Option<u32>,
    /// Whether the nodes' own timers are read at both ends of each measurement window.
    pub server_times: bool,
    /// Its place in a comparison of levels.
    pub cell: Option<Cell>,
    /// A word to find the run by.
    pub tag: Option<String>,
    /// Whether the history keeps it.
    pub recorded: bool,
    /// Its place in an experiment of several trials; none for a single run.
    pub place_in_history: Option<RunPlace>,
    /// The command, free of secrets.
    pub command: String,
    /// This program's version.
    pub version: String,
}

impl BenchRequest {
    /// A run of this load, kept in the history; nothing else is asked for.
    pub fn new(place: Where, (workload, shape, load): (Workload, Shape, Load), seed: Seed) -> Self {
        Self {
            place,
            workload,
            shape,
            load,
            consistency: Consistency::One,
            faults: Vec::new(),
            client_dc: None,
            distance: None,
            replication_factor: None,
            processes: 1,
            agents: Agents::default(),
            generator_cpus: None,
            connections: 1,
            compression: None,
            pacing: Pacing::Sleep,
            seed,
            must_be_served: true,
            max_errors: threshold::ERRORS,
            sampling_interval_ms: run_plan::SAMPLING_INTERVAL_MS,
            operation_timeout_ms: run_plan::OPERATION_TIMEOUT_MS,
            search: None,
            ledger: None,
            profile: None,
            trace: None,
            server_times: false,
            cell: None,
            tag: None,
            recorded: true,
            place_in_history: None,
            command: String::new(),
            version: String::new(),
        }
    }
}

impl BenchRequest {
    /// Whether its faults can be made where it goes, as far as that is known before it starts.
    ///
    /// # Errors
    /// A target that the cluster has not, faults that get in each other's way, or a cluster that cannot be planned.
    pub fn check_faults(&self, context: &Context) -> Result<(), ClusterError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let plan = match &self.place {
            Where::Ephemeral(up) => context.dry_run(up)?,
            Where::Cluster(name) => context.clusters.load(name)?.plan,
            // Whose it is is not known before it is looked at.
            Where::Hosts { .. } | Where::Kube { .. } => return Ok(()),
        };
        faults::check(&self.faults, &plan)
    }
}
