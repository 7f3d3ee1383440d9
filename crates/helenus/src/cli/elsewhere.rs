//! Flags of a cluster that is planned here and runs elsewhere: on Kubernetes, or on hosts.
//! Refuses to do anything with what it parsed.

use super::cluster::NodeFlags;
use super::{topology, words};
use clap::Args;
use helenus_model::preset::PresetName;
use helenus_model::units::Bytes;
use std::path::PathBuf;

/// Which Cassandra, and how many nodes: as `up` takes it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Elsewhere {
    /// A topology in TOML, or the name of one of your clusters [default: the flags below]
    #[arg(value_name = "TOPOLOGY|NAME")]
    pub(crate) what: Option<String>,
    /// A file of another tool that has the data centres, racks and nodes: an inventory of Ansible, a Compose or stack file,
    /// a Kubernetes manifest. Its settings are not taken (`up --like` does)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "nodes", "dc", "racks", "coordinators"], value_hint = clap::ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    /// Name of the cluster [default: the file's name, or cassandra]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Nodes, or 5:5:5 for three data centres
    #[arg(short = 'n', long, default_value = "1", value_name = "N", value_parser = topology::parse_nodes, conflicts_with = "what")]
    pub(crate) nodes: topology::Nodes,
    /// A data centre and its nodes, instead of -n; may be repeated
    #[arg(long, value_name = "NAME=N", conflicts_with_all = ["nodes", "what"])]
    pub(crate) dc: Vec<String>,
    /// Racks in each data centre; nodes are placed in them in turn
    #[arg(long, value_name = "N", conflicts_with = "what")]
    pub(crate) racks: Option<u32>,
    /// Coordinator-only nodes to add in each data centre
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "what"
    )]
    pub(crate) coordinators: u32,
    /// A series such as 5.0, or any published patch such as 4.1.5
    #[arg(long, value_name = "RELEASE", aliases = ["release", "cassandra-version"])]
    pub(crate) cassandra: Option<String>,
    /// Settings to start from; `helenus presets` lists them [default: tiny]
    #[arg(long, value_parser = words::preset())]
    pub(crate) preset: Option<PresetName>,
    #[command(flatten)]
    pub(crate) node: NodeFlags,
    /// Require a certificate of each client, too
    #[arg(long, requires = "tls")]
    pub(crate) client_auth: bool,
    /// Hard limit of each node's processors, such as 0.5; the JVM and Cassandra see that many
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// Memory of a worker or host: what the preset bench and a blank heap are computed from
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = Bytes::parse)]
    pub(crate) worker_memory: Bytes,
    /// Processors of a worker or host
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) worker_cpus: u32,
}
