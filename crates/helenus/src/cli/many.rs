//! Flags of verbs that work on many clusters of one prefix.
//! Refuses to do anything with what it parsed.

use clap::Args;

/// How many clusters `up` makes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Many clusters")]
pub(crate) struct Many {
    /// Number of clusters, each with its own directories, addresses, logs and limits
    #[arg(long, value_name = "N", requires = "prefix", conflicts_with_all = ["name", "dc", "coordinators"],
          value_parser = clap::value_parser!(u32).range(1..=254))]
    pub(crate) count: Option<u32>,
    /// They are named PREFIX1, PREFIX2 …
    #[arg(long, value_name = "PREFIX", requires = "count")]
    pub(crate) prefix: Option<String>,
    /// Nodes that start at the same time [default: two for each processor]
    #[arg(long, value_name = "N", requires = "count",
          value_parser = clap::value_parser!(u32).range(1..=254))]
    pub(crate) at_once: Option<u32>,
}

/// All clusters of a prefix, instead of one by name.
#[derive(Debug, Clone, Args)]
pub(crate) struct AllOf {
    /// The clusters named PREFIX and a number
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,
}

/// What `list` shows.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus list
  helenus list --memory                  planned against measured, by kind
  helenus list --prefix dev --format json
  helenus list --all-users               nodes of everybody on this machine")]
pub(crate) struct List {
    /// Memory by kind, planned and measured
    #[arg(short, long)]
    pub(crate) memory: bool,
    /// Only the clusters named PREFIX and a number
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,
    /// Running nodes of all users of this machine, as far as the kernel shows them
    #[arg(long, conflicts_with_all = ["memory", "prefix"])]
    pub(crate) all_users: bool,
}
