//! Flags of a cluster to be: its size, release, settings and limits.
//! Refuses to do anything with what it parsed.

use super::topology;
use clap::{Args, ValueEnum};
use helenus_model::access::Security;
use helenus_model::machine::Cpus;
use helenus_model::stack::{Extra, ExtraError};
use helenus_model::units::{Bytes, parse_duration};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Which Cassandra on which JVM, and how large. Shared by `up` and `bench`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// Nodes, or 5:5:5 for three data centres
    #[arg(short = 'n', long, default_value = "1", value_name = "N", value_parser = topology::parse_nodes)]
    pub(crate) nodes: topology::Nodes,
    /// A data centre and its nodes, instead of -n; may be repeated
    #[arg(long, value_name = "NAME=N", conflicts_with = "nodes")]
    pub(crate) dc: Vec<String>,
    /// Coordinator-only nodes to add in each data centre: they hold no data, and runs go through them
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) coordinators: u32,
    /// A series such as 5.0, any published patch such as 4.1.5, or the path of a -bin.tar.gz
    #[arg(long, value_name = "RELEASE", default_value = "5.0", aliases = ["release", "cassandra-version"])]
    pub(crate) cassandra: String,
    /// An unpacked distribution instead of a known release
    #[arg(long, value_name = "DIR", conflicts_with = "cassandra")]
    pub(crate) cassandra_home: Option<PathBuf>,
    /// The JDK to use instead of the best one found
    #[arg(long, value_name = "DIR")]
    pub(crate) java_home: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) node: NodeFlags,
    /// Require a certificate of each client, too
    #[arg(long, requires = "tls")]
    pub(crate) client_auth: bool,
    /// Start without a class-data archive (slower; for comparisons)
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// Longest wait until all nodes are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Hard limit of each node's memory, page cache included, such as 600M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) memory: Option<Bytes>,
    /// Processors of each node, such as 0.5; the JVM and Cassandra see that many
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// Processors that all nodes run on, such as 0 or 0-3 [default: all; with four cores or more, `bench`
    /// leaves one to its load generator]
    #[arg(long, value_name = "CPUS", value_parser = parse_cpus)]
    pub(crate) node_cpus: Option<Cpus>,
    /// Heap of nodes that only coordinate, such as 300M [default: as the others; of `stack up` at most 300M]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) gateway_heap: Option<Bytes>,
    /// Parts of a developer's stack beside the nodes: all, none, or some of reaper,medusa,metrics [default: none; of
    /// `stack up` all]
    #[arg(long, value_name = "PARTS", value_parser = parse_extras)]
    pub(crate) stack: Option<Extras>,
    /// Size of each node's own disk, in memory, such as 512M; the fault disk-full fills it
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, conflicts_with_all = ["disk_read", "disk_write", "disk_iops"])]
    pub(crate) disk: Option<Bytes>,
    /// A folder on another disk for data, in which each node gets one; may be repeated, for several disks
    #[arg(long, value_name = "DIR", conflicts_with_all = ["disk", "read_ahead"])]
    pub(crate) data_dir: Vec<PathBuf>,
    /// A folder on another disk for the commit log, in which each node gets one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["disk", "read_ahead"])]
    pub(crate) commitlog_dir: Option<PathBuf>,
    /// Bytes that each node may read from the disk in a second, such as 100M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) disk_read: Option<Bytes>,
    /// Bytes that each node may write to the disk in a second
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) disk_write: Option<Bytes>,
    /// Reads that each node may send to the disk in a second, and as many writes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) disk_iops: Option<u64>,
    /// How far the kernel reads ahead on the nodes' disk, such as 8K; for the whole machine, until the cluster is removed
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) read_ahead: Option<Bytes>,
}

/// What each node is, wherever it runs. Shared by `up`, `bench` and `kube`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodeFlags {
    /// Heap of each node, such as 500M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) heap: Option<Bytes>,
    /// Young generation of each node, such as 200M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) new_heap: Option<Bytes>,
    /// Tokens of each node: 1 starts fastest, 16 is Cassandra's default
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) tokens: u32,
    /// A key of cassandra.yaml; nested keys with dots; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A flag for the JVM, after all others; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) jvm: Vec<String>,
    /// Require user and password; `up` makes a superuser, whose password is in the state folder
    #[arg(long)]
    pub(crate) auth: bool,
    /// Encrypt connections of clients and between nodes; those of `up` have certificates in the state folder
    #[arg(long)]
    pub(crate) tls: bool,
}

impl NodeFlags {
    /// What is asked of clients.
    pub(crate) fn security(&self, client_auth: bool) -> Security {
        Security {
            auth: self.auth,
            tls: self.tls,
            client_auth,
        }
    }
}

/// The first of several addresses; of loopback, three numbers will do.
pub(crate) fn parse_addresses(text: &str) -> Result<Ipv4Addr, String> {
    let text = text.trim_end_matches('.');
    let first = match text.split('.').count() {
        3 if text.starts_with("127.") => format!("{text}.1"),
        _ => text.to_owned(),
    };
    match first.parse::<Ipv4Addr>() {
        Ok(address) if !address.is_unspecified() && !address.is_multicast() => Ok(address),
        _ => Err(
            "write the first address, such as 10.0.0.11, or 127.0.0 for 127.0.0.1, 127.0.0.2, …"
                .to_owned(),
        ),
    }
}

/// Parts of a stack as one value: a flag that is given once.
#[derive(Debug, Clone)]
pub(crate) struct Extras(pub(crate) Vec<Extra>);

/// Parts of a stack.
fn parse_extras(text: &str) -> Result<Extras, ExtraError> {
    Extra::parse_list(text).map(Extras)
}

/// Processors, at least one.
pub(crate) fn parse_cpus(text: &str) -> Result<Cpus, String> {
    match text.parse::<Cpus>() {
        Ok(cpus) if !cpus.is_empty() => Ok(cpus),
        Ok(_) => Err("name at least one processor, such as 0 or 0-3".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// What the processes of instances are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PinArg {
    /// Each to its processors, and to the memory of their NUMA node
    Numa,
    /// Nothing
    None,
}

/// Flags of a cluster to be made: of no use where there is one.
pub(crate) const CLUSTER_FLAGS: [&str; 29] = [
    "preset",
    "nodes",
    "dc",
    "coordinators",
    "cassandra",
    "cassandra_home",
    "java_home",
    "heap",
    "new_heap",
    "tokens",
    "set",
    "jvm",
    "auth",
    "tls",
    "client_auth",
    "no_archive",
    "ready_within",
    "memory",
    "cpus",
    "node_cpus",
    "gateway_heap",
    "stack",
    "disk",
    "data_dir",
    "commitlog_dir",
    "disk_read",
    "disk_write",
    "disk_iops",
    "read_ahead",
];
