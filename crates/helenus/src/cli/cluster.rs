//! Flags of a cluster to be, of every verb that brings one up.
//! Refuses to do anything with what it parsed.

use super::topology::{Nodes, parse_nodes};
use clap::Args;
use helenus_model::units::{Bytes, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Which Cassandra on which JVM, and how large. Shared by `up` and `bench`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// Nodes, or 5:5:5 for three data centres
    #[arg(short = 'n', long, default_value = "1", value_name = "N", value_parser = parse_nodes)]
    pub(crate) nodes: Nodes,
    /// A known release such as 5.0, 4.1 or 4.0.19, or the path of a -bin.tar.gz
    #[arg(long, value_name = "RELEASE", default_value = "5.0")]
    pub(crate) cassandra: String,
    /// An unpacked distribution instead of a known release
    #[arg(long, value_name = "DIR", conflicts_with = "cassandra")]
    pub(crate) cassandra_home: Option<PathBuf>,
    /// The JDK to use instead of the best one found
    #[arg(long, value_name = "DIR")]
    pub(crate) java_home: Option<PathBuf>,
    /// Heap of each node, such as 500M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) heap: Option<Bytes>,
    /// Young generation of each node, such as 200M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) new_heap: Option<Bytes>,
    /// Tokens a node: 1 is the quickest, 16 the stock value
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) tokens: u32,
    /// A key of cassandra.yaml; nested keys with dots; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A flag for the JVM, after all others; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) jvm: Vec<String>,
    /// Ask for user and password: a superuser of the cluster's own, its password in the state folder
    #[arg(long)]
    pub(crate) auth: bool,
    /// Encrypt connections, of clients and between nodes; certificates in the state folder
    #[arg(long)]
    pub(crate) tls: bool,
    /// Ask each client for a certificate, too
    #[arg(long, requires = "tls")]
    pub(crate) client_auth: bool,
    /// Start without a class-data archive (slower; for comparisons)
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// Longest wait until all nodes are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Hard limit of each node's memory, page cache and all, such as 600M
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) memory: Option<Bytes>,
    /// Processors of each node, such as 0.5; the JVM and Cassandra are told of them
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// Size of each node's own disk, in memory, such as 512M; the fault disk-full fills it
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) disk: Option<Bytes>,
}
