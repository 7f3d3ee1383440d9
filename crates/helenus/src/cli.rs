//! The command line: one definition for parsing, help and completions.
//! Refuses to do anything with what it parsed.

// What flags have in common.
pub(crate) mod agent;
pub(crate) mod baseline;
pub(crate) mod ccm;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod doors;
pub(crate) mod env;
pub(crate) mod experiment;
pub(crate) mod fault;
pub(crate) mod guard;
pub(crate) mod many;
pub(crate) mod metrics;
pub(crate) mod node;
pub(crate) mod on;
pub(crate) mod pod;
pub(crate) mod report;
pub(crate) mod reset;
pub(crate) mod shell;
pub(crate) mod site;
pub(crate) mod words;
pub(crate) mod wrong;

// Commands of one kind.
pub(crate) mod flame;
pub(crate) mod history;
pub(crate) mod life;
pub(crate) mod machine;
pub(crate) mod run;
pub(crate) mod stress;
pub(crate) mod topology;
pub(crate) mod upgrade;

// Clusters and workloads.
pub(crate) mod cluster;
pub(crate) mod count;
pub(crate) mod workload;

// Loads.
pub(crate) mod elsewhere;
pub(crate) mod ingest;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod stack;

// Commands that are made of others.
pub(crate) mod hosts;
pub(crate) mod kube;
pub(crate) mod levels;
pub(crate) mod nb;

pub(crate) use self::cluster::{CLUSTER_FLAGS, ClusterFlags, Extras, PinArg};
pub(crate) use self::life::{Start, Stop};
pub(crate) use self::load::{BenchLoad, CommonLoad, CompressionArg, LiveArg, Shown, Warmup};
pub(crate) use self::shell::{Cqlsh, Jmx};

use self::doors::Doors;
use crate::error::CommandError;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use helenus_model::preset::PresetName;
use helenus_model::units::{Bytes, parse_duration};
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

/// Version with the commit, as `helenus --version` prints it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("HELENUS_COMMIT"), ")");

/// Bring up real Apache Cassandra in seconds, and measure it with numbers you can trust.
#[derive(Debug, Parser)]
#[command(name = "helenus", version = VERSION, max_term_width = 100, propagate_version = false)]
#[command(after_help = "Examples:
  helenus bench                          the whole sequence: up, write, read, mixed, report, rm
  helenus up c -n 3                      three nodes named c/node1 … c/node3
  helenus cql c -e 'SELECT * FROM system.local'
  helenus rm --all

Exit codes: 0 done, 1 threshold crossed or check failed, 2 usage, 3 environment, 4 cluster,
5 invalid, 6 inconclusive, 130 interrupted.")]
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
    /// More detail on standard error; twice for everything. The log file always has it.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print only errors on standard error.
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

/// An address of a node, or the first one that a host name leads to.
pub(crate) fn parse_host(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(std::net::Ipv4Addr::LOCALHOST.into());
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Some((host, port)) = text.rsplit_once(':')
        && port.parse::<u16>().is_ok()
    {
        return Err(format!(
            "write the address alone, and the port with --port: --hosts {host} --port {port}"
        ));
    }
    let known = (text, 0).to_socket_addrs().ok();
    known
        .and_then(|mut addresses| addresses.next())
        .map(|address| address.ip())
        .ok_or_else(|| {
            format!("{text:?} is neither an IP address nor a host name that resolves to one")
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
    /// Bring up an ephemeral cluster (or use yours), measure write, read and mixed, and remove it
    Bench(Box<Bench>),
    /// Run your own or a built-in workload: closed loop, at a rate, along a ramp or in steps
    Run(Box<run::Run>),
    /// Fill your cluster with a workload's data; resumes after an interruption
    Populate(Box<run::Populate>),
    /// Load CSV, TSV, JSON lines, Parquet or ranges into a table; resumable, and verified at the end
    #[command(name = "load")]
    LoadFiles(Box<ingest::LoadFiles>),
    /// Export every row of a table as CSV, TSV, JSON lines or Parquet, in the format that `load` reads
    Unload(Box<ingest::Unload>),
    /// Run a command line of cassandra-stress as it is
    Stress(stress::Stress),
    /// Run a command line of NoSQLBench's cql-iot as it is
    Nb(nb::Nb),
    /// Workloads: list the built-in ones, check a profile, draft one from a table
    Workload(workload::Workload),
    /// Compare two sides: what differs, by how much, with confidence intervals
    Compare(compare::Compare),
    /// Consistency levels at distances: measured latency beside the model's prediction
    Levels(Box<levels::Levels>),
    /// Plan, run and report a matrix of settings from one file, unattended
    Experiment(experiment::ExperimentVerb),
    /// The stored runs: list, show, tag, prune, export
    History(Box<history::History>),
    /// A run or a comparison as one HTML file that opens without a network
    Report(report::Report),
    /// Stop a cluster or a node with a clean shutdown; its data stays
    #[command(after_help = "Examples:
  helenus stop c                         all nodes of c, each after a drain
  helenus stop c/node2 --within 2m
  helenus stop --prefix dev              dev1, dev2, …")]
    Stop(Stop),
    /// Start a stopped cluster or node again, with its data
    #[command(after_help = "Examples:
  helenus start c                        the nodes of c that do not run
  helenus start c/node2
  helenus start c --set concurrent_reads=16
                                         with another setting, kept for later starts")]
    Start(Start),
    /// Move a cluster to another release, one node at a time, with its data
    Upgrade(upgrade::Upgrade),
    /// Remove clusters with everything they have
    #[command(aliases = ["down", "remove", "delete", "destroy"])]
    Rm(Rm),
    /// The clusters of this user, with their processes and memory
    #[command(alias = "ls")]
    List(many::List),
    /// The output of `nodetool status`, computed from data read over CQL
    #[command(after_help = "Examples:
  helenus status c
  helenus status c/node2 --keyspace app  as node2 sees it, with the ownership of app")]
    Status(Status),
    /// Data centres, racks and the distance between them: check a file, show it
    Topology(topology::TopologyVerb),
    /// The links between data centres: show, measure, change while in use
    Link(topology::Link),
    /// Run a cluster on Kubernetes: apply, inspect, scale, restart; or write manifests, Secrets and the image
    Kube(kube::Kube),
    /// Install a cluster on your own hosts with Ansible; or write files for Docker and OpenTofu
    Hosts(hosts::Hosts),
    /// A developer's stack: nodes, gateway, Reaper, Medusa, Prometheus; backups and repairs
    Stack(stack::Stack),
    /// Run a program in the network of a data centre's client, or of a node
    Exec(topology::Exec),
    /// A node's log
    #[command(after_help = "Examples:
  helenus logs c/node2
  helenus logs c/node2 --follow")]
    Logs(Logs),
    /// Gather configuration, settings, logs and results into one archive, without secrets
    Collect(Collect),
    /// Serve nodes for Prometheus; print its configuration and a dashboard
    Metrics(metrics::Metrics),
    /// Show runs, trends, comparisons, experiments and clusters in the browser
    Ui(site::Site),
    /// Kill a node with SIGKILL; its data stays
    #[command(after_help = "Examples:
  helenus kill c/node2
  helenus start c/node2                  brings it back")]
    Kill(OneNode),
    /// Pause a node with SIGSTOP
    #[command(after_help = "Examples:
  helenus pause c/node2                  it stays in memory and does not answer
  helenus resume c/node2")]
    Pause(OneNode),
    /// Resume a paused node with SIGCONT
    #[command(after_help = "Examples:
  helenus resume c/node2")]
    Resume(OneNode),
    /// Change the nodes: add, decommission, remove, replace
    Node(node::NodeVerb),
    /// Inject a fault into nodes or links (kill, pause, slow, lose, partition), or list the faults
    Fault(fault::FaultFlags),
    /// Undo faults: start or resume the nodes, restore the links
    Heal(fault::Heal),
    /// Return to the state after `up` or the last baseline, without a restart
    Reset(reset::Reset),
    /// Save a cluster's state, and restore it here or in another cluster with equal tokens
    Baseline(baseline::Baseline),
    /// Count a table's rows by token ranges: in total, by partition, by node, along the ring
    Count(Box<count::Count>),
    /// Compare a workload's tables with what was written; exit code 1 if rows are missing or wrong
    CheckData(Box<count::CheckData>),
    /// Find lost acknowledged writes of a run with --ledger; exit code 1 if any is lost
    Ledger(ledger::Ledger),
    /// Run the release's own nodetool on a node; JMX is opened for it, with a password
    Nodetool(Nodetool),
    /// Open a node's JMX, and print how jconsole and other clients connect
    Jmx(Jmx),
    /// Profile a node, and write a flame graph: of its CPU, allocations, locks or all threads
    Flame(flame::Flame),
    /// Run CQL statements, or an interactive shell
    #[command(alias = "cql")]
    Cqlsh(Cqlsh),
    /// Run ccm's command lines: create, populate, start, node1 cqlsh, …
    Ccm(ccm::Ccm),
    /// Contact points for shells, scripts and drivers
    Env(env::EnvFlags),
    /// Check whether a test may write to these addresses: exit code 0 yours, 1 foreign, 3 unreachable
    Guard(guard::Guard),
    /// Cassandra releases: known, cached, runnable here
    Releases(Releases),
    /// Presets, with the reason for each setting
    Presets(Presets),
    /// Describe a machine: processors, NUMA nodes, memory, disks, network, kernel
    Machine(machine::Machine),
    /// Plan the Cassandra instances for a machine: heaps, settings, disks, with reasons and sources
    Plan(machine::Plan),
    /// Check this machine: what it has and lacks, with the cure
    Doctor(doctor::Doctor),
    /// Generate load for a command on another machine: `run`, `bench` or `stress` with --agent
    LoadAgent(agent::LoadAgent),
    /// Measure the load generator itself against a null server: cost, highest rate, lateness
    Calibrate(Calibrate),
    /// Print shell completions: commands, flags, clusters, nodes, runs, tags
    Completions(Completions),
    /// cqlsh as a tool finds it on PATH (internal): an installed one, given the node; Helenus's own if there is none
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
    /// Removes a cluster when the process that it belongs to has ended (internal)
    #[command(name = "__owned", hide = true)]
    Owned { name: String, id: String },
    /// Becomes a program in a namespace of a cluster's network (internal)
    #[command(name = "__within", hide = true)]
    Within {
        cluster: PathBuf,
        space: String,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// What this binary is in a pod of Kubernetes (internal)
    #[command(name = "__pod", hide = true)]
    Pod {
        #[command(subcommand)]
        what: pod::Pod,
    },
    /// The load generator (internal): plan on standard input, JSON lines on standard output
    #[command(name = "__load", hide = true)]
    Load {
        #[arg(long, conflicts_with = "attached")]
        secrets: Option<i32>,
        /// Of an agent: secrets on the first line of its input, and it stops when that says so or ends
        #[arg(long)]
        attached: bool,
    },
    /// The null server of a calibration (internal): its address on standard output, until standard input ends
    #[command(name = "__null", hide = true)]
    NullServer,
    /// Writes the man pages of all verbs into a folder (internal)
    #[command(name = "__man", hide = true)]
    Man { folder: PathBuf },
    /// Prints the command reference, docs/commands.md (internal)
    #[command(name = "__reference", hide = true)]
    Reference,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus calibrate
  helenus calibrate --each 10s
  helenus calibrate --format json")]
pub(crate) struct Calibrate {
    /// How long each of the four loads lasts, after a warm-up of a third
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    pub(crate) each: Duration,
    /// Print what would be measured; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus up                             one tiny node: cluster c1
  helenus up c -n 3 --preset dev         three nodes of 500 MB
  helenus up c --set concurrent_reads=16 --jvm -XX:+UseParallelGC
  helenus up c --cassandra 4.1           another release; helenus releases lists them
  helenus up --count 15 --prefix dev     fifteen clusters of one tiny node: dev1 … dev15
  helenus up c --memory 600M --cpus 0.5  hard limits of each node
  helenus up c --disk-read 100M --disk-iops 1000
                                         a slower disk than the machine has
  helenus up c -n 3 --disk 512M          a disk in memory for each node, which can be filled
  helenus up c --like prod/cassandra.yaml --dry-run
                                         which settings follow production, and which do not
  helenus up c --instances auto          as many instances as fit on the machine, each on its own processors
  helenus up c --plan p.toml             as `helenus plan > p.toml` planned this machine
  helenus up c --data-dir /mnt/nvme0 --commitlog-dir /mnt/nvme1
                                         data and commit log on other disks
  helenus up c --schema app.cql          with your keyspaces; replication is adapted to the nodes
  helenus up c --owner $$                gone when this shell ends
  helenus up c -n 2 --addresses 127.0.0  at 127.0.0.1 and 127.0.0.2, port 9042
  helenus up c -n 3 --interface eth1 --addresses 10.0.0.11 --auth --tls
                                         at 10.0.0.11 to 10.0.0.13, which are removed with the cluster
  helenus up c --auth --tls              with passwords and encrypted connections
  helenus up wan -n 5:5:5 --rtt 80ms     three data centres, 80 ms apart
  helenus up wan --dc DC1=3 --dc DC2=3 --rtt DC1:DC2=20ms --racks 3
  helenus up c --dry-run                 memory, cassandra.yaml and command line, nothing started")]
pub(crate) struct Up {
    /// Name of the cluster [default: the first of c1, c2, … that is free]
    pub(crate) name: Option<String>,
    /// Settings to start from; `helenus presets` lists them
    /// [default: tiny]
    #[arg(long, value_parser = words::preset())]
    pub(crate) preset: Option<PresetName>,
    /// A production cassandra.yaml (3.11 or later), or a Kubernetes manifest: keep its settings, shrink sizes, report
    /// every difference
    #[arg(long, value_name = "FILE", conflicts_with = "count")]
    pub(crate) like: Option<PathBuf>,
    /// A plan of `helenus plan`: instances with heap, JVM, cassandra.yaml, processors and folders; flags win over it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["count", "like", "topology", "nodes", "dc"])]
    pub(crate) plan: Option<PathBuf>,
    /// A node for each instance that this machine can carry, or so many, as `helenus plan` lays them out
    #[arg(long, value_name = "auto|N", conflicts_with_all = ["plan", "count", "like", "topology", "nodes", "dc"], value_parser = machine::parse_instances)]
    pub(crate) instances: Option<machine::Instances>,
    /// What instances are bound to [default: numa]
    #[arg(long, value_enum)]
    pub(crate) pin: Option<PinArg>,
    /// CQL statements to run once the nodes are ready; `reset` returns to this schema
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Remove the cluster as soon as this process has ended, even by `kill -9`, such as a test runner
    #[arg(long, value_name = "PID")]
    pub(crate) owner: Option<i32>,
    /// Address of the first node, the others come behind it: 127.0.0 for 127.0.0.1, 127.0.0.2, …, or 10.0.0.11 of this
    /// machine; clusters that do not run at the same time may share them [default: free addresses that no other cluster has]
    #[arg(long, value_name = "ADDRESS", value_parser = cluster::parse_addresses, conflicts_with_all = ["count", "rtt", "links"])]
    pub(crate) addresses: Option<Ipv4Addr>,
    /// Add --addresses to this network interface, until the cluster is removed
    #[arg(long, value_name = "NAME", requires = "addresses")]
    pub(crate) interface: Option<String>,
    /// Only make the cluster; `helenus start` starts it
    #[arg(long, conflicts_with_all = ["count", "schema"])]
    pub(crate) no_start: bool,
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
  helenus bench                          an ephemeral node, standard1 at half of its capacity
  helenus bench --rate 2000 --in-flight 64 --duration 60s --format json
  helenus bench --cluster c --phases read --population 30000 --seed 7
  helenus bench -n 3:3 --rtt 40ms        on two data centres, 40 ms apart
  helenus bench --schema my.cql --insert 'INSERT INTO ks.t (id, v) VALUES (?, ?)' \\
                --query 'SELECT * FROM ks.t WHERE id = ?'

A disqualifying doubt makes the run invalid: exit code 5.")]
pub(crate) struct Bench {
    /// Settings of the ephemeral cluster
    #[arg(long, value_parser = words::preset(), default_value = "bench")]
    pub(crate) preset: PresetName,
    #[command(flatten)]
    pub(crate) cluster_flags: ClusterFlags,
    #[command(flatten)]
    pub(crate) place: BenchPlace,
    #[command(flatten)]
    pub(crate) load: BenchLoad,
    /// Print confidence intervals, service times and the generator's own use, too
    #[arg(long)]
    pub(crate) detail: bool,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Where `bench` runs, when not on an ephemeral cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where", group = ArgGroup::new("reached").args(["hosts", "on"]))]
pub(crate) struct BenchPlace {
    /// One of your clusters, by name
    #[arg(long, value_name = "NAME", conflicts_with = "hosts", conflicts_with_all = CLUSTER_FLAGS)]
    pub(crate) cluster: Option<String>,
    /// Addresses of a cluster; one that Helenus did not bring up must be named with --i-may-write-to
    #[arg(long, value_delimiter = ',', value_name = "HOST,…", alias = "host", value_parser = parse_host, conflicts_with_all = CLUSTER_FLAGS)]
    pub(crate) hosts: Vec<IpAddr>,
    /// Your cluster on Kubernetes (`helenus kube up`), with load generators in pods beside it, one per --processes; or
    /// on hosts (`helenus hosts up`), with the load generator here or on --agent
    #[arg(long, value_name = "kube:NAME|hosts:NAME", value_parser = on::parse, conflicts_with_all = ["cluster", "hosts", "rtt", "faults"], conflicts_with_all = CLUSTER_FLAGS)]
    pub(crate) on: Option<on::On>,
    /// CQL port of --hosts
    #[arg(long, default_value_t = 9042, value_name = "PORT", requires = "hosts")]
    pub(crate) port: u16,
    /// The exact cluster_name of --hosts: allows writes to a cluster that is not yours
    #[arg(long, value_name = "CLUSTER_NAME", requires = "hosts")]
    pub(crate) i_may_write_to: Option<String>,
    #[command(flatten)]
    pub(crate) doors: Doors,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus collect c --dry-run            what would be in it
  helenus collect c --run @last          helenus-c.tar.gz, with the last run
  helenus collect -o all.tar.gz          of all clusters

Values of passwords and secrets are masked; keys, certificates and data are not read. Logs may
contain addresses, table names and statements: check the archive before you send it.")]
pub(crate) struct Collect {
    /// The cluster [default: all]
    #[arg(value_name = "NAME", env = "HELENUS_CLUSTER")]
    pub(crate) cluster: Option<String>,
    /// Stored runs: r12, @last, a tag, r3..r9; may be repeated
    #[arg(long = "run", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Most of each log, from its end
    #[arg(long, value_name = "SIZE", default_value = "4M", value_parser = Bytes::parse)]
    pub(crate) log: Bytes,
    /// The archive [default: helenus-NAME.tar.gz]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// List what would be in it, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
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
    /// The clusters named PREFIX and a number
    #[arg(long, value_name = "PREFIX", conflicts_with = "all")]
    pub(crate) prefix: Option<String>,
    /// Every cluster of this user, and everything that an interrupted command left
    #[arg(long)]
    pub(crate) all: bool,
    /// Their baselines too; by default they stay
    #[arg(long)]
    pub(crate) with_baselines: bool,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be deleted, delete nothing
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
    /// Follow the log until Ctrl-C
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
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be done, do nothing
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
    /// nodetool's own arguments; -h, -p, -u, -pw and -pwf may come before its command
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
    #[command(
        alias = "install",
        after_help = "Examples:
  helenus releases fetch                 the newest series
  helenus releases fetch 4.1.5 --dry-run"
    )]
    Fetch {
        /// A series such as 5.0, or any published patch such as 4.1.5
        #[arg(default_value = "5.0")]
        release: String,
        /// Do not make the archive; the first start does
        #[arg(long)]
        no_archive: bool,
        /// Show what would be fetched, fetch nothing
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
    #[command(after_help = "Examples:
  helenus presets show tiny")]
    Show {
        /// Preset
        #[arg(value_parser = words::preset())]
        name: PresetName,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(helenus completions bash)     in ~/.bashrc: always matches the program
  source <(helenus completions zsh)      in ~/.zshrc, after compinit
  helenus completions fish | source      in ~/.config/fish/config.fish

The shell asks helenus, which must be on PATH, for each completion: clusters, nodes, runs, tags,
workloads and releases are always current. Nothing is written or started for it.")]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
