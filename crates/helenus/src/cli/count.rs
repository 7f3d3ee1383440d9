//! The flags of `helenus count` and `helenus check-data`.
//! Refuses flags that would write: both only read.

use super::doors::Doors;
use super::words;
use clap::{ArgGroup, Args, ValueEnum};
use helenus_model::consistency::Consistency;
use helenus_model::units::parse_rate;
use std::net::IpAddr;
use std::num::NonZeroUsize;

/// Where a verb reads.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where", group = ArgGroup::new("reached").args(["hosts"]))]
pub(crate) struct ReadPlace {
    /// One of your clusters, by name [default: HELENUS_CLUSTER, or the only one]
    #[arg(long, value_name = "NAME", conflicts_with = "hosts")]
    pub(crate) cluster: Option<String>,
    /// Addresses of any cluster: nothing is written to it
    #[arg(long, value_delimiter = ',', value_name = "HOST,…", alias = "host", value_parser = super::parse_host)]
    pub(crate) hosts: Vec<IpAddr>,
    /// CQL port of --hosts
    #[arg(long, default_value_t = 9042, value_name = "PORT", requires = "hosts")]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) doors: Doors,
}

/// How hard a verb may lean on the nodes that it reads.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadFlags {
    /// Consistency level of the reads
    #[arg(long, value_parser = words::level(), ignore_case = true, default_value = "ONE", aliases = ["consistency", "consistency-level"])]
    pub(crate) cl: Consistency,
    /// Requests in flight at once [default: 4 a node, at most 16]
    #[arg(long = "in-flight", value_name = "N", aliases = ["parallel", "threads"])]
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Most rows a second, such as 50k [default: as fast as the nodes answer]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus count keyspace1.standard1      by ranges of tokens, as fast as the nodes answer
  helenus count shop.orders --by partition --top 20
                                         sizes of partitions, and the largest by key
  helenus count shop.orders --by partition --all > partitions.csv
  helenus count shop.orders --by token-range
  helenus count shop.orders --hosts 10.0.0.1,10.0.0.2 --in-flight 1 --rate 20k
  helenus count shop.orders --resume     resume an interrupted count

Nothing is written. A request that is too large for a node is sent again in smaller parts.")]
pub(crate) struct Count {
    /// The table
    #[arg(value_name = "KEYSPACE.TABLE")]
    pub(crate) table: String,
    /// What to report beside the total: sizes of partitions, rows of each node's primary ranges, rows along the ring
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<ByArg>,
    /// How many of the largest partitions to name [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) top: Option<usize>,
    /// Every partition with its rows, as CSV on standard output, unordered
    #[arg(long, conflicts_with = "resume")]
    pub(crate) all: bool,
    /// Fetch every row and sum up its hash: equal contents have equal checksums
    #[arg(long)]
    pub(crate) checksum: bool,
    /// Resume an interrupted count
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) resume: bool,
    /// Discard an interrupted count
    #[arg(long = "anew", alias = "fresh")]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) place: ReadPlace,
    #[command(flatten)]
    pub(crate) read: ReadFlags,
}

/// What a count is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArg {
    Partition,
    Node,
    TokenRange,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus check-data standard1 --population 1000000 --seed 7 --cluster c
  helenus check-data users.yaml --population 20000 --seed 7 --cluster c --differences 50
  helenus check-data iot --param sources=1000 --population 10000 --seed 7 --cluster c

Every row is read once and compared with what seed and position give; nothing is written.
Rows that the workload never writes are reported, and are not a failure.

Exit codes: 0 all is there, 1 something is missing or wrong, 130 interrupted.")]
pub(crate) struct CheckData {
    /// A built-in workload (`helenus workload list`), or profiles: FILE.yaml[,FILE2.yaml]
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workload: String,
    /// Partitions that were written: positions 0 up to this one
    #[arg(long, value_name = "N", alias = "partitions", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) population: Option<u64>,
    /// Root seed of the run that wrote them
    #[arg(long, value_name = "N")]
    pub(crate) seed: u64,
    /// A parameter of a built-in workload; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = super::run::parse_pair)]
    pub(crate) params: Vec<(String, String)>,
    /// How many missing, wrong and foreign rows to name
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) differences: usize,
    #[command(flatten)]
    pub(crate) place: ReadPlace,
    #[command(flatten)]
    pub(crate) read: ReadFlags,
}
