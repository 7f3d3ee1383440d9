//! The lines of ccm, as far as they have a meaning here.
//! Refuses to do anything with what it parsed.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// `helenus ccm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus ccm create test -v 5.0 -n 3 -s
  helenus ccm status
  helenus ccm node1 cqlsh -x 'SELECT release_version FROM system.local'
  helenus ccm updateconf 'read_request_timeout: 7s'
  helenus ccm node2 stop --not-gently
  helenus ccm --dry-run create test -n 2:2
                                         the helenus lines that it stands for
  helenus ccm remove

Nodes stand at 127.0.0.1, 127.0.0.2, …, port 9042, with 500 MB of heap (CCM_MAX_HEAP_SIZE,
CCM_HEAP_NEWSIZE). `helenus ccm LINE --help` lists what a line takes. docs/ccm.md compares it with
ccm.")]
pub(crate) struct Ccm {
    /// A folder for the clusters, as HELENUS_HOME
    #[arg(long, value_name = "DIR", env = "CCM_CONFIG_DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// The cluster that the line is about [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Print the equivalent helenus commands; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A line of ccm
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "LINE"
    )]
    pub(crate) line: Vec<String>,
}

/// A line about the current cluster.
#[derive(Debug, Parser)]
#[command(
    name = "helenus ccm",
    no_binary_name = true,
    disable_version_flag = true
)]
pub(crate) struct ClusterLine {
    #[command(subcommand)]
    pub(crate) verb: ClusterVerb,
}

/// A line about one of its nodes: `node1 VERB`.
#[derive(Debug, Parser)]
#[command(
    name = "helenus ccm NODE",
    no_binary_name = true,
    disable_version_flag = true
)]
pub(crate) struct NodeLine {
    #[command(subcommand)]
    pub(crate) verb: NodeVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterVerb {
    /// Make a cluster, and make it the current one
    Create(Create),
    /// Give a cluster without nodes its nodes
    Populate(Nodes),
    /// One more node; `start` lets it join
    Add(Add),
    /// The clusters; the current one has an asterisk
    List,
    /// Make another cluster the current one
    Switch {
        /// Its name
        name: String,
    },
    /// Which nodes are up
    Status {
        /// Also what each node is
        #[arg(short, long)]
        verbose: bool,
    },
    /// Addresses of the nodes that are up
    Liveset,
    /// Remove a cluster with everything it has
    Remove {
        /// Its name [default: the current one]
        name: Option<String>,
    },
    /// Stop all nodes and delete their data; settings stay
    Clear,
    /// Start the nodes that are down, and wait until they are ready
    Start(Start),
    /// Stop all nodes
    Stop(Stop),
    /// `nodetool flush` on each node that is up
    Flush,
    /// `nodetool compact` on each node that is up
    Compact,
    /// `nodetool drain` on each node that is up
    Drain,
    /// `nodetool cleanup` on each node that is up
    Cleanup,
    /// A command line of cassandra-stress
    Stress(Words),
    /// Settings of all nodes, for their next start
    Updateconf(Updateconf),
    /// The level of a logger on each node that is up
    Setlog(Setlog),
    /// Errors in the nodes' logs
    Checklogerror,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeVerb {
    /// Start the node, and wait until it is ready
    Start(Start),
    /// Stop the node
    Stop(Stop),
    /// Whether it is up
    Status,
    /// What it is
    Show,
    /// Its log
    Showlog,
    /// nodetool
    Nodetool(Words),
    /// `nodetool ring`
    Ring,
    /// `nodetool flush`
    Flush(Words),
    /// `nodetool compact`
    Compact(Words),
    /// `nodetool drain`
    Drain,
    /// `nodetool cleanup`
    Cleanup(Words),
    /// `nodetool repair`
    Repair(Words),
    /// `nodetool scrub`
    Scrub(Words),
    /// `nodetool verify`
    Verify(Words),
    /// `nodetool version`
    Version,
    /// CQL statements, or a shell
    Cqlsh(Cqlsh),
    /// Let the node leave: it streams its data to the others, and is deleted
    Decommission {
        /// Even if a keyspace then has more replicas than nodes
        #[arg(long)]
        force: bool,
    },
    /// Remove a dead node from the ring
    Remove,
    /// Stop its process with SIGSTOP
    Pause,
    /// Go on with SIGCONT
    Resume,
    /// Its settings, for its next start
    Updateconf(Updateconf),
    /// The level of a logger
    Setlog(Setlog),
    /// A command line of cassandra-stress
    Stress(Words),
}

/// Words that go on as they are.
#[derive(Debug, Args)]
pub(crate) struct Words {
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WORDS"
    )]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Nodes {
    /// Nodes, or N:M for the data centres dc1 and dc2; N: for dc1 alone
    #[arg(short, long, value_name = "N[:M]")]
    pub(crate) nodes: Option<String>,
    /// First three numbers of the addresses [default: 127.0.0]
    #[arg(short, long = "ipprefix", value_name = "127.X.Y.", requires = "nodes")]
    pub(crate) ip_prefix: Option<String>,
    /// 16 tokens for each node
    #[arg(long, requires = "nodes")]
    pub(crate) vnodes: bool,
    #[arg(short, long = "debug", hide = true)]
    debug: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name
    pub(crate) name: String,
    /// A release such as 5.0 or 4.1.3
    #[arg(short = 'v', long, value_name = "RELEASE")]
    pub(crate) version: Option<String>,
    /// An unpacked distribution
    #[arg(long, value_name = "DIR", conflicts_with = "version")]
    pub(crate) install_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nodes: Nodes,
    /// Start it
    #[arg(short, long, requires = "nodes")]
    pub(crate) start: bool,
    /// Ask for user and password: cassandra, cassandra
    #[arg(long)]
    pub(crate) pwd_auth: bool,
    /// A flag for the JVM; may be repeated
    #[arg(
        long = "jvm_arg",
        alias = "jvm-arg",
        value_name = "FLAG",
        allow_hyphen_values = true
    )]
    pub(crate) jvm: Vec<String>,
    /// Do not make it the current cluster
    #[arg(long)]
    pub(crate) no_switch: bool,
    #[arg(short = 'b', long = "binary-protocol", hide = true)]
    binary: bool,
    #[arg(long, hide = true)]
    root: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its name, which must be the next one: node4 after node3
    pub(crate) name: String,
    /// Its data centre
    #[arg(short, long, value_name = "DC")]
    pub(crate) data_center: Option<String>,
    #[arg(short = 'b', long = "auto-bootstrap", hide = true)]
    bootstrap: bool,
    #[arg(short = 's', long = "seeds", hide = true)]
    seed: bool,
    #[arg(short = 'i', long = "itf", hide = true)]
    address: Option<String>,
    #[arg(short = 'j', long = "jmx-port", hide = true)]
    jmx: Option<String>,
    #[arg(short = 'r', long = "remote-debug-port", hide = true)]
    debug: Option<String>,
    #[arg(short = 't', long = "thrift-itf", hide = true)]
    thrift: Option<String>,
    #[arg(short = 'l', long = "storage-itf", hide = true)]
    storage: Option<String>,
    #[arg(long = "binary-itf", hide = true)]
    binary: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// A flag for the JVM, kept for later starts; may be repeated
    #[arg(
        long = "jvm_arg",
        alias = "jvm-arg",
        value_name = "FLAG",
        allow_hyphen_values = true
    )]
    pub(crate) jvm: Vec<String>,
    #[arg(long, hide = true)]
    wait_for_binary_proto: bool,
    #[arg(long, hide = true)]
    wait_other_notice: bool,
    #[arg(long, hide = true)]
    skip_wait_other_notice: bool,
    #[arg(long, hide = true)]
    no_wait: bool,
    #[arg(short, long, hide = true)]
    verbose: bool,
    #[arg(long, hide = true)]
    root: bool,
    #[arg(long, hide = true)]
    quiet_windows: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// With SIGKILL
    #[arg(long, alias = "kill")]
    pub(crate) not_gently: bool,
    #[arg(short, long, hide = true)]
    gently: bool,
    #[arg(long, hide = true)]
    no_wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Updateconf {
    /// `key: value`, nested keys with dots
    #[arg(value_name = "KEY: VALUE")]
    pub(crate) settings: Vec<String>,
    /// The settings are texts in YAML
    #[arg(short, long)]
    pub(crate) yaml: bool,
    /// All time-outs, in milliseconds
    #[arg(long = "rt", value_name = "MS")]
    pub(crate) timeout_ms: Option<u64>,
    /// No hinted handoff
    #[arg(long = "no-hh")]
    pub(crate) no_hints: bool,
    /// The commit log in batches
    #[arg(long, conflicts_with = "periodic_cl")]
    pub(crate) batch_cl: bool,
    /// The commit log periodically
    #[arg(long)]
    pub(crate) periodic_cl: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Setlog {
    /// TRACE, DEBUG, INFO, WARN or ERROR
    pub(crate) level: String,
    /// The logger [default: ROOT]
    #[arg(short, long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cqlsh {
    /// Statements to run
    #[arg(
        short = 'x',
        long = "exec",
        short_alias = 'e',
        alias = "execute",
        value_name = "CQL"
    )]
    pub(crate) execute: Option<String>,
    /// A file with statements
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[arg(short, long, hide = true)]
    verbose: bool,
}
