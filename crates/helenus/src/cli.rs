//! The command line: one definition for parsing, help and completions.
//! Refuses to do anything with what it parsed.

pub(crate) mod baseline;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod count;
pub(crate) mod doors;
pub(crate) mod env;
pub(crate) mod experiment;
pub(crate) mod fault;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod ledger;
pub(crate) mod levels;
pub(crate) mod many;
pub(crate) mod nb;
pub(crate) mod node;
pub(crate) mod report;
pub(crate) mod reset;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod stress;
pub(crate) mod topology;
pub(crate) mod upgrade;
pub(crate) mod workload;
pub(crate) mod wrong;

pub(crate) use self::cluster::{CLUSTER_FLAGS, ClusterFlags, PresetArg};
pub(crate) use self::shell::{Cqlsh, Jmx};

use self::doors::Doors;
use crate::error::CommandError;
use clap::{Args, Parser, Subcommand, ValueEnum};
use helenus_model::levels::Distance;
use helenus_model::run_plan::PROCESSES_MOST;
use helenus_model::units::{parse_duration, parse_rate};
use helenus_model::workload::ReplicationFactor;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Version with the commit, as `helenus --version` tells it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("HELENUS_COMMIT"), ")");

/// Bring up real Apache Cassandra in seconds, and measure it with numbers one can believe.
#[derive(Debug, Parser)]
#[command(name = "helenus", version = VERSION, max_term_width = 100, propagate_version = false)]
#[command(after_help = "Examples:
  helenus bench                          up, write, read, mixed, result, rm: the whole line
  helenus up c -n 3                      three nodes named c/node1 … c/node3
  helenus cql c -e 'SELECT * FROM system.local'
  helenus rm --all

Exit codes: 0 done, 1 below the bar, 2 usage, 3 environment, 4 cluster, 5 invalid number,
6 undecided, 130 interrupted.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What a command line is that is no verb to run.
#[derive(Debug)]
pub(crate) enum NoVerb {
    /// It asks for a text with `--help` or `--version`.
    Help(clap::builder::StyledStr),
    /// It has a mistake, and asks for JSON.
    Wrong(CommandError),
}

/// The command line. A mistake in a line that does not ask for JSON ends the program.
pub(crate) fn parse<I, T>(words: I) -> Result<Cli, NoVerb>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    Cli::try_parse_from(&words).map_err(|error| {
        if error.use_stderr() {
            return NoVerb::Wrong(wrong::failure(error, &words));
        }
        NoVerb::Help(error.render())
    })
}

/// Flags of every verb.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// Text for people, or JSON for programs.
    #[arg(long, global = true, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// More detail on standard error; twice for everything. The log file has it always.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Nothing on standard error but errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

impl Global {
    /// Those of a line that asks for JSON, and of which no more is known.
    pub(crate) fn json() -> Self {
        Self {
            format: OutputFormat::Json,
            ..Self::default()
        }
    }
}

/// An address of a node; this machine by its name, too.
pub(crate) fn parse_host(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(std::net::Ipv4Addr::LOCALHOST.into());
    }
    text.parse().map_err(|_| match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => {
            format!("write the address alone, and the port behind --port: --hosts {host} --port {port}")
        }
        _ => format!("{text:?} is no address: write one such as 10.0.0.1, for the nodes name each other by addresses"),
    })
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Bring up a cluster and wait until it is ready
    #[command(alias = "create")]
    Up(Up),
    /// Measure: bring up an ephemeral cluster (or take one), run write, read and mixed, remove it
    Bench(Box<Bench>),
    /// Run a workload of your own, or a built-in one, at a rate, a ramp or in steps
    Run(Box<run::Run>),
    /// Fill a cluster of yours with a workload's data; goes on where it was cut off
    Populate(Box<run::Populate>),
    /// A line of cassandra-stress, as it stands
    Stress(stress::Stress),
    /// A line of NoSQLBench's cql-iot, as it stands
    Nb(nb::Nb),
    /// Workloads: built-in ones, profiles checked, a profile drafted from a table
    Workload(workload::Workload),
    /// Two sides of runs: what differs, by how much, and how sure that is
    Compare(compare::Compare),
    /// Consistency levels against distance: each measured beside what the model predicts
    Levels(Box<levels::Levels>),
    /// A matrix of settings from one file: planned, run unattended, answered
    Experiment(experiment::ExperimentVerb),
    /// What was measured: list, show, tag, prune, export
    History(Box<history::History>),
    /// A run or a comparison as one HTML file that opens without a network
    Report(report::Report),
    /// Stop a cluster or a node gently; its data stays
    Stop(Stop),
    /// Start a stopped cluster or node again, with its data
    Start(Start),
    /// Move a cluster to another release, one node at a time, with its data
    Upgrade(upgrade::Upgrade),
    /// Remove clusters with everything they have
    #[command(aliases = ["down", "remove", "delete", "destroy"])]
    Rm(Rm),
    /// The clusters of this user, with their processes and memory
    #[command(alias = "ls")]
    List(many::List),
    /// A cluster as `nodetool status` tells it, from data
    Status(Status),
    /// Data centres, racks and the distance between them: check a file, show it
    Topology(topology::TopologyVerb),
    /// The links between data centres: show, measure, change while they work
    Link(topology::Link),
    /// Run a program where a client of a data centre, or a node, stands
    Exec(topology::Exec),
    /// A node's log
    Logs(Logs),
    /// Kill a node with SIGKILL; its data stays
    Kill(OneNode),
    /// Pause a node with SIGSTOP
    Pause(OneNode),
    /// Let a paused node go on
    Resume(OneNode),
    /// Nodes that come and go: add, decommission, remove, replace
    Node(node::NodeVerb),
    /// A fault: nodes killed, paused, slowed; links slowed, lossy, cut; or what holds
    Fault(fault::FaultFlags),
    /// Undo faults: nodes are started or go on, links are as they were
    Heal(fault::Heal),
    /// Back to the state after `up`, or after the last baseline, with no restart
    Reset(reset::Reset),
    /// A saved state of a cluster, to start from again, here or in another cluster of equal tokens
    Baseline(baseline::Baseline),
    /// The rows of a table, by ranges of tokens: in all, by partition, by node, along the ring
    Count(Box<count::Count>),
    /// Read a workload's tables back: what is missing, what is wrong? Exit code 0 nothing, 1 something
    CheckData(Box<count::CheckData>),
    /// Which acknowledged writes of a run with --ledger are lost? Exit code 0 none, 1 some
    Ledger(ledger::Ledger),
    /// The release's own nodetool against a node; JMX is opened for it, with a password
    Nodetool(Nodetool),
    /// Open a node's JMX, and say how jconsole and other clients get in
    Jmx(Jmx),
    /// Run CQL statements, or an interactive shell
    #[command(alias = "cql")]
    Cqlsh(Cqlsh),
    /// Contact points for shells, scripts and drivers
    Env(env::EnvFlags),
    /// May a test write to these addresses? Exit code 0 yours, 1 foreign, 3 unreachable
    Guard(guard::Guard),
    /// Cassandra releases: known, cached, runnable here
    Releases(Releases),
    /// Presets and the reason of each of their settings
    Presets(Presets),
    /// What this machine has and lacks, with the cure of each
    Doctor,
    /// Completions for a shell, on standard output: verbs, flags, clusters, nodes, runs, tags
    Completions(Completions),
    /// cqlsh as a tool finds it on PATH (internal): an installed one, told the node; ours where there is none
    #[command(name = "__cqlsh", hide = true)]
    CqlshTool {
        target: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Becomes a node (internal)
    #[command(name = "__node", hide = true)]
    BecomeNode { launch: PathBuf },
    /// Becomes a tool that ends with the process that asked for it (internal)
    #[command(name = "__leashed", hide = true)]
    Leashed {
        parent: i32,
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Holds a cluster's network (internal)
    #[command(name = "__keep", hide = true)]
    Keep { folder: PathBuf },
    /// Becomes a program in a namespace of a cluster's network (internal)
    #[command(name = "__within", hide = true)]
    Within {
        cluster: PathBuf,
        space: String,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// The load generator (internal): plan on standard input, JSON lines on standard output
    #[command(name = "__load", hide = true)]
    Load {
        #[arg(long)]
        secrets: Option<i32>,
    },
    /// Writes the man pages of all verbs into a folder (internal)
    #[command(name = "__man", hide = true)]
    Man { folder: PathBuf },
    /// A stand-in for Cassandra in tests (internal)
    #[command(name = "__fake-node", hide = true)]
    FakeNode { behaviour: String, folder: PathBuf },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus up                             one tiny node: cluster c1
  helenus up c -n 3 --preset dev         three nodes of 500 MB
  helenus up c --set concurrent_reads=16 --jvm -XX:+UseParallelGC
  helenus up c --cassandra 4.1           another release; helenus releases tells which
  helenus up --count 15 --prefix dev     fifteen clusters of one tiny node: dev1 … dev15
  helenus up c --memory 600M --cpus 0.5  hard limits of each node
  helenus up c --disk-read 100M --disk-iops 1000
                                         a slower disk than there is
  helenus up c -n 3 --disk 512M          a disk in memory for each node, which can be filled
  helenus up c --like prod/cassandra.yaml --dry-run
                                         what would be as in production, and what not
  helenus up c --schema app.cql          with your keyspaces; replication is fitted to the nodes
  helenus up c --auth --tls              who has no password and trusts another authority stays out
  helenus up wan -n 5:5:5 --rtt 80ms     three data centres, 80 ms apart
  helenus up wan --dc DC1=3 --dc DC2=3 --rtt DC1:DC2=20ms --racks 3
  helenus up c --dry-run                 memory, cassandra.yaml and command line, nothing started")]
pub(crate) struct Up {
    /// Name of the cluster [default: the first of c1, c2, … that is free]
    pub(crate) name: Option<String>,
    /// Settings to start from; `helenus presets` tells them
    /// [default: tiny]
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetArg>,
    /// A production's cassandra.yaml of any release from 3.11 on: keep what it says, shrink sizes, tell every difference
    #[arg(long, value_name = "FILE", conflicts_with = "count")]
    pub(crate) like: Option<PathBuf>,
    /// CQL statements to run once the nodes are ready; `reset` comes back to this schema
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) many: many::Many,
    #[command(flatten)]
    pub(crate) topology: topology::TopologyArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus bench                          an ephemeral node, standard1 at half of what it can do
  helenus bench --rate 2000 --in-flight 64 --duration 60s --format json
  helenus bench --cluster c --phases read --population 30000 --seed 7
  helenus bench -n 3:3 --rtt 40ms        on two data centres, 40 ms apart
  helenus bench --schema my.cql --insert 'INSERT INTO ks.t (id, v) VALUES (?, ?)' \\
                --query 'SELECT * FROM ks.t WHERE id = ?'

A disqualifying doubt ends with exit code 5: the run happened, but must not be believed.")]
pub(crate) struct Bench {
    /// Settings of the ephemeral cluster
    #[arg(long, value_enum, default_value_t = PresetArg::Bench)]
    pub(crate) preset: PresetArg,
    #[command(flatten)]
    pub(crate) cluster_flags: ClusterFlags,
    #[command(flatten)]
    pub(crate) place: BenchPlace,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Where `bench` runs, when not on an ephemeral cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct BenchPlace {
    /// A cluster of yours, by name
    #[arg(long, value_name = "NAME", conflicts_with = "hosts", conflicts_with_all = CLUSTER_FLAGS)]
    pub(crate) cluster: Option<String>,
    /// Addresses of a cluster; one that Helenus did not bring up must be named with --i-may-write-to
    #[arg(long, value_delimiter = ',', value_name = "HOST,…", alias = "host", value_parser = parse_host, conflicts_with_all = CLUSTER_FLAGS)]
    pub(crate) hosts: Vec<IpAddr>,
    /// CQL port of --hosts
    #[arg(long, default_value_t = 9042, value_name = "PORT", requires = "hosts")]
    pub(crate) port: u16,
    /// The exact cluster_name of --hosts: writes to a cluster that is not yours
    #[arg(long, value_name = "CLUSTER_NAME", requires = "hosts")]
    pub(crate) i_may_write_to: Option<String>,
    #[command(flatten)]
    pub(crate) doors: Doors,
}

/// What `bench` does.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Phases, in order [default: write,read,mixed; write where there is an --insert and no --query]
    #[arg(long, value_delimiter = ',', value_name = "PHASE,…")]
    pub(crate) phases: Option<Vec<PhaseArg>>,
    /// Operations a second, such as 2000 or 2k [default: half of what a short probe reached]
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "closed")]
    pub(crate) rate: Option<f64>,
    /// No schedule: as fast as the slots allow; there is no response time then
    #[arg(long)]
    pub(crate) closed: bool,
    /// Most operations in flight at once
    #[arg(long, default_value_t = 64, value_name = "N", aliases = ["threads", "concurrency"], value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) in_flight: u32,
    /// Generator processes that share rate, slots and operations: for what one cannot load
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PROCESSES_MOST)))]
    pub(crate) processes: u32,
    /// Measured stretch of each phase [default: 12s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Operations of each phase's measured stretch instead of a time, such as 1000000; no warm-up unless it is given
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Warm-up before each measured stretch, recorded apart; auto is 3s and goes on into the measured stretch while
    /// the numbers still settle [default: auto; 3s where a --duration is given, which then is kept to the second]
    #[arg(long, value_name = "TIME|auto", value_parser = parse_warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Rows that the workload is about [default: as many as the write phase writes]
    #[arg(long, value_name = "N")]
    pub(crate) population: Option<u64>,
    /// The read phase takes the rows in order, each once before any comes again, instead of any row
    #[arg(long)]
    pub(crate) in_order: bool,
    /// Consistency level of every operation
    #[arg(long, value_enum, ignore_case = true, default_value_t = LevelArg::One, aliases = ["consistency", "consistency-level"])]
    pub(crate) cl: LevelArg,
    /// Data centre in which the client stands, and whose nodes coordinate [default: the first node's]
    #[arg(long, value_name = "DC")]
    pub(crate) client_dc: Option<String>,
    /// Round-trip time between all data centres during the run, or between two, such as DC1:DC2=20ms; may be repeated;
    /// the links of a cluster of yours are put back afterwards
    #[arg(long, value_name = "TIME|A:B=TIME", value_parser = parse_distance)]
    pub(crate) rtt: Vec<Distance>,
    /// Replicas of each row in each data centre, or in those named, such as DC1=3,DC2=1, where the workload's keyspace is
    /// made; one that is there with another is refused [default: up to 3, as many as it has nodes, or as your own file
    /// says]
    #[arg(long, value_name = "N", aliases = ["replication", "rf"])]
    pub(crate) replication_factor: Option<ReplicationFactor>,
    /// A fault on the run's time line, counted from the first measured stretch, such as
    /// 'at 10s for 20s partition DC3'; without for it lasts to the end; may be repeated (`helenus fault --help`)
    #[arg(long = "fault", value_name = "WORDS")]
    pub(crate) faults: Vec<String>,
    /// How arrivals are spread at the rate
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    /// How the generator waits; spin wants a core of its own
    #[arg(long, value_enum, default_value_t = PacingArg::Sleep)]
    pub(crate) pacing: PacingArg,
    /// Root seed of the run [default: random, and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Share of failed operations above which the number is invalid
    #[arg(long, default_value_t = 0.001, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) max_errors: f64,
    /// Statements that create your keyspace and tables (a file)
    #[arg(long, value_name = "FILE", requires = "insert")]
    pub(crate) schema: Option<PathBuf>,
    /// Your insert: values are made by column type
    #[arg(long, value_name = "CQL")]
    pub(crate) insert: Option<String>,
    /// Your query: its bind markers get what the insert wrote
    #[arg(long, value_name = "CQL", requires = "insert")]
    pub(crate) query: Option<String>,
    /// A word to find the run by
    #[arg(long, value_name = "WORD", value_parser = parse_tag)]
    pub(crate) tag: Option<String>,
}

fn parse_tag(text: &str) -> Result<String, String> {
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

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!(
            "{text:?} is not a share: write a number from 0 to 1, such as 0.001"
        )),
    }
}

/// A phase by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PhaseArg {
    /// Inserts, each position once in order
    Write,
    /// Reads of random positions that were written
    Read,
    /// One read to each write
    Mixed,
}

/// A consistency level by CQL's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum LevelArg {
    One,
    Two,
    Three,
    Quorum,
    All,
    #[value(alias = "LOCAL-QUORUM")]
    LocalQuorum,
    #[value(alias = "EACH-QUORUM")]
    EachQuorum,
    #[value(alias = "LOCAL-ONE")]
    LocalOne,
}

/// Arrivals by their word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Evenly spaced
    Constant,
    /// Independent, exponentially spaced
    Poisson,
}

/// Pacing by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacingArg {
    Sleep,
    Spin,
}

#[derive(Debug, Args)]
pub(crate) struct Targeted {
    /// NAME or NAME/NODE [default: the only cluster]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// Say what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) targeted: Targeted,
    #[command(flatten)]
    pub(crate) all_of: many::AllOf,
    /// Patience with a node that does not stop by itself; it is killed then
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) within: Duration,
    /// Also while a run measures the cluster; it is disqualified
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) targeted: Targeted,
    #[command(flatten)]
    pub(crate) all_of: many::AllOf,
    /// Longest wait until all running nodes are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Also while a run measures the cluster; it is disqualified
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus rm c
  helenus rm --prefix dev                dev1, dev2 …, and nothing else
  helenus rm --all --dry-run")]
pub(crate) struct Rm {
    /// Clusters to remove
    #[arg(
        value_name = "NAME",
        required_unless_present_any = ["all", "prefix"],
        conflicts_with_all = ["all", "prefix"]
    )]
    pub(crate) names: Vec<String>,
    /// The clusters of a prefix: it, and a number
    #[arg(long, value_name = "PREFIX", conflicts_with = "all")]
    pub(crate) prefix: Option<String>,
    /// Every cluster of this user, and everything that an interrupted command left
    #[arg(long)]
    pub(crate) all: bool,
    /// Their baselines too, which stay otherwise
    #[arg(long)]
    pub(crate) with_baselines: bool,
    /// Also while a run measures the cluster; it is disqualified
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be deleted, delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Cluster [default: the only one]
    #[arg(env = "HELENUS_CLUSTER")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Keyspace whose replication decides what each node owns
    #[arg(long, short, value_name = "KEYSPACE")]
    pub(crate) keyspace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// NAME or NAME/NODE [default: the only cluster, its first node]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// Go on with what is written from now on, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The last lines only
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct OneNode {
    /// NAME/NODE
    #[arg(value_name = "NAME/NODE")]
    pub(crate) target: String,
    /// Also while a run measures the cluster; it is disqualified
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus nodetool c status
  helenus nodetool c/node2 compactionstats")]
pub(crate) struct Nodetool {
    /// NAME or NAME/NODE
    #[arg(value_name = "NAME[/NODE]")]
    pub(crate) target: String,
    /// nodetool's own words; -h, -p, -u, -pw and -pwf may stand before its verb
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Releases {
    #[command(subcommand)]
    pub(crate) verb: Option<ReleasesVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReleasesVerb {
    /// Fetch a release into the cache, and make its class-data archive
    #[command(alias = "install")]
    Fetch {
        /// A series such as 5.0, or any published patch such as 4.1.5
        #[arg(default_value = "5.0")]
        release: String,
        /// Leave the archive to the first start
        #[arg(long)]
        no_archive: bool,
        /// Say what would be fetched, fetch nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Presets {
    #[command(subcommand)]
    pub(crate) verb: Option<PresetsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsVerb {
    /// Every setting of a preset, with its reason and source
    Show {
        /// Preset
        #[arg(value_enum)]
        name: PresetArg,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(helenus completions bash)     in ~/.bashrc, so that it is as new as the program
  source <(helenus completions zsh)      in ~/.zshrc, after compinit
  helenus completions fish | source      in ~/.config/fish/config.fish

The shell asks helenus, which must be on PATH, for each completion: clusters, nodes, runs, tags,
workloads and releases are those of the moment. Nothing is written or started for it.")]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
