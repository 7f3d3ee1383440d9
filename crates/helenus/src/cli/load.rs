//! The load of a run: what `bench` and `run` share, and what only `bench` has.
//! Refuses to do anything with it.

use super::agent::AgentFlags;
use super::words;
use crate::cli::cluster::parse_cpus;
use clap::{Args, ValueEnum};
use helenus_model::bench::PhaseKind;
use helenus_model::consistency::Consistency;
use helenus_model::flame::ProfileEvent;
use helenus_model::levels::Distance;
use helenus_model::machine::Cpus;
use helenus_model::run_plan::{PROCESSES_MOST, Pacing};
use helenus_model::schedule::Arrivals;
use helenus_model::trace::TRACES_MOST;
use helenus_model::units::{parse_duration, parse_rate};
use helenus_model::workload::ReplicationFactor;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a run is shown as it goes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Shown {
    /// Serve the run and its nodes to Prometheus, at a port of loopback or at an address with its port
    #[arg(long, value_name = "ADDRESS", value_parser = crate::cli::metrics::parse_address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// How the run is shown as it goes [default: screen on a terminal, else nothing]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) live: Option<LiveArg>,
}

/// Forms of a run as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveArg {
    /// Rates, percentiles, nodes, and what the run waits for
    Screen,
    /// One moving line
    Line,
    /// A line a second, also where standard error is no terminal
    Lines,
}

/// What every run has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct CommonLoad {
    /// Closed loop: as fast as --in-flight allows, without response times
    #[arg(long, conflicts_with = "rate")]
    pub(crate) closed: bool,
    /// Most operations in flight at once
    #[arg(long, default_value_t = 64, value_name = "N", aliases = ["threads", "concurrency"], value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) in_flight: u32,
    /// Generator processes that share rate, slots and operations, for loads beyond one process
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PROCESSES_MOST)))]
    pub(crate) processes: u32,
    /// Processors of the load generator, such as 1 or 2-3 [default: those that the nodes are not bound to]
    #[arg(long, value_name = "CPUS", value_parser = parse_cpus)]
    pub(crate) generator_cpus: Option<Cpus>,
    #[command(flatten)]
    pub(crate) agents: AgentFlags,
    /// Connections to each node that coordinates, of each generator process
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) connections: u32,
    /// Compress requests and answers
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) compression: Option<CompressionArg>,
    /// Measurement window of each phase [default: 12s, or the whole of a ramp]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Operations in each phase's measurement window instead of a time, such as 1000000; no warm-up unless set
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Warm-up before the measurement window, recorded separately; auto is 3s, and longer while the numbers still
    /// settle [default: auto; 3s with --duration, which is then kept exactly]
    #[arg(long, value_name = "TIME|auto", value_parser = parse_warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Consistency level of operations that set none
    #[arg(long, value_parser = words::level(), ignore_case = true, default_value = "ONE", aliases = ["consistency", "consistency-level"])]
    pub(crate) cl: Consistency,
    /// Data centre of the client, whose nodes coordinate [default: the first node's]
    #[arg(long, value_name = "DC")]
    pub(crate) client_dc: Option<String>,
    /// Round-trip time between all data centres during the run, or between two, such as DC1:DC2=20ms; may be repeated;
    /// the links of your cluster are restored afterwards
    #[arg(long, value_name = "TIME|A:B=TIME", value_parser = parse_distance)]
    pub(crate) rtt: Vec<Distance>,
    /// Replicas of each row in each data centre, or in those named, such as DC1=3,DC2=1, when the workload's keyspace
    /// is created; an existing keyspace must have the same [default: up to 3, as many as it has nodes, or as your own
    /// file sets]
    #[arg(long, value_name = "N", aliases = ["replication", "rf"])]
    pub(crate) replication_factor: Option<ReplicationFactor>,
    /// A fault on the run's time line, counted from the first measurement window, such as
    /// 'at 10s for 20s partition DC3'; omit `for` to keep the fault until the run ends; may be repeated (`helenus fault
    /// --help`)
    #[arg(long = "fault", value_name = "WORDS")]
    pub(crate) faults: Vec<String>,
    /// Profile a node in each measurement window, and keep the flame graph for `helenus report`; the warm-up is not
    /// lengthened then
    #[arg(long, value_parser = words::event(), value_name = "EVENT", num_args = 0..=1, default_missing_value = "cpu", conflicts_with_all = ["hosts", "on"])]
    pub(crate) flame: Option<ProfileEvent>,
    /// The node that --flame profiles [default: the first]
    #[arg(long, value_name = "NODE", requires = "flame")]
    pub(crate) flame_node: Option<String>,
    /// Trace N operations of each measurement window, spread evenly: shows the time in the nodes, step by step,
    /// beside service times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(TRACES_MOST)))]
    pub(crate) trace: Option<u32>,
    /// Read the nodes' own timers at both ends of each measurement window: shows times in the request queue, in
    /// coordinators and in replicas beside service times; the warm-up is not lengthened then
    #[arg(long)]
    pub(crate) server_times: bool,
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// How arrivals are spread over time
    #[arg(long, value_parser = words::arrivals(), default_value = "poisson")]
    pub(crate) arrivals: Arrivals,
    /// How the generator waits; spin needs a core of its own
    #[arg(long, value_parser = words::pacing(), default_value = "sleep")]
    pub(crate) pacing: Pacing,
    /// Root seed of the run [default: random, and printed]; a run with the same seed reads what this one wrote
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Share of failed operations above which the number is invalid
    #[arg(long, default_value_t = 0.001, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) max_errors: f64,
    /// A tag to find the run by
    #[arg(long, value_name = "WORD", value_parser = parse_tag)]
    pub(crate) tag: Option<String>,
}

/// What `bench` does.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct BenchLoad {
    /// Phases, in order [default: write,read,mixed; write where there is an --insert and no --query]
    #[arg(long, value_parser = words::phase(), value_delimiter = ',', value_name = "PHASE,…")]
    pub(crate) phases: Option<Vec<PhaseKind>>,
    /// Operations a second, such as 2000 or 2k [default: half of what a short probe reached]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    #[command(flatten)]
    pub(crate) common: CommonLoad,
    /// Rows of the workload [default: as many as the write phase writes]
    #[arg(long, value_name = "N")]
    pub(crate) population: Option<u64>,
    /// The read phase reads the rows in order, each once before any repeats, instead of at random
    #[arg(long)]
    pub(crate) in_order: bool,
    /// File with the statements that create your keyspace and tables
    #[arg(long, value_name = "FILE", requires = "insert")]
    pub(crate) schema: Option<PathBuf>,
    /// Your insert: values are generated from the column types
    #[arg(long, value_name = "CQL")]
    pub(crate) insert: Option<String>,
    /// Your query: its bind markers get what the insert wrote
    #[arg(long, value_name = "CQL", requires = "insert")]
    pub(crate) query: Option<String>,
}

pub(super) fn parse_tag(text: &str) -> Result<String, String> {
    match helenus_record::check_tag(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(format!("{error}; {}", error.hint())),
    }
}

/// How long the warm-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warmup {
    /// As long as it takes, within bounds.
    Auto,
    /// So long.
    Time(Duration),
}

fn parse_warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::Auto),
        text => parse_duration(text)
            .map(Warmup::Time)
            .map_err(|e| format!("{e}, or auto")),
    }
}

pub(crate) fn parse_distance(text: &str) -> Result<Distance, String> {
    Distance::parse(text).map_err(|e| e.to_string())
}

pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!(
            "{text:?} is not a share: write a number from 0 to 1, such as 0.001"
        )),
    }
}

/// How requests and answers are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionArg {
    /// LZ4, in the frames of protocol v5
    Lz4,
}
