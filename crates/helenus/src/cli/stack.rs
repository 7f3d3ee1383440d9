//! Flags of `stack`.
//! Refuses to do anything with what it parsed.

use super::cluster::ClusterFlags;
use super::words::words;
use clap::{Args, Subcommand};
use helenus_model::stack::{Extra, Gateway};
use helenus_model::units::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// The name of a stack's cluster where none is given.
const NAME: &str = "stack";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack up -n 3                  three nodes, a gateway, Reaper, Medusa, Prometheus
  helenus stack status                   each part; exit code 1 if one is down or silent
  helenus stack backup --name before
  helenus stack restore before
  helenus stack repair --watch
  helenus stack rm")]
pub(crate) struct Stack {
    #[command(subcommand)]
    pub(crate) what: StackWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StackWhat {
    /// Start nodes, a gateway and the other parts, or restart the parts that are down
    Up(Box<Up>),
    /// Each node and part, with its address and memory
    Status(Status),
    /// Remove the cluster with all parts and their data
    Rm(Rm),
    /// Save all nodes with Medusa
    Backup(Backup),
    /// Restore a backup with its schema, and compare checksums
    Restore(Restore),
    /// Let Medusa verify a backup, and compare tables with what was saved
    Verify(Verify),
    /// Let Reaper repair keyspaces
    Repair(Repair),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack up                       one node, a gateway of 300 MB of heap, and all parts
  helenus stack up dev -n 3 --heap 500M --gateway-heap 300M
  helenus stack up -n 3 --without reaper,medusa
  helenus stack up --gateway none        clients ask the nodes themselves
  helenus stack up --gateway 127.0.0.1:9043
                                         with a gateway of yours, such as Stargate
  helenus stack up --s3                  Medusa's backups go to moto, which stands in for S3
  helenus stack up --dry-run             the plan, nothing started

Repeat the command to restart only what is down.")]
pub(crate) struct Up {
    /// Name of the cluster
    #[arg(default_value = NAME)]
    pub(crate) name: String,
    /// Parts to leave out: reaper, medusa, metrics (with Prometheus and dashboard)
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = words(Extra::ALL, Extra::as_str), conflicts_with = "stack")]
    pub(crate) without: Vec<Extra>,
    /// Gateway for clients: a coordinator-only node, none, or the address and port of your own
    #[arg(long, value_name = "GATEWAY", default_value = "coordinator")]
    pub(crate) gateway: Gateway,
    /// Store backups by the protocol of S3 in moto, in memory, instead of a folder
    #[arg(long, conflicts_with = "backups")]
    pub(crate) s3: bool,
    /// Folder for backups that outlives the stack [default: in the stack's own]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) backups: Option<PathBuf>,
    /// A jar of Reaper of yours, instead of 1.4.1
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) reaper_jar: Option<PathBuf>,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack status
  helenus stack status dev --format json")]
pub(crate) struct Status {
    /// Name of the cluster
    #[arg(default_value = NAME)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack rm --dry-run             what would be removed
  helenus stack rm dev

Backups go, too, unless the stack was brought up with --backups.")]
pub(crate) struct Rm {
    /// Name of the cluster
    #[arg(default_value = NAME)]
    pub(crate) name: String,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be removed, remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack backup                   b1, b2, …
  helenus stack backup dev --name before
  helenus stack backup --dry-run")]
pub(crate) struct Backup {
    /// Name of the cluster
    #[arg(default_value = NAME)]
    pub(crate) name: String,
    /// Name of the backup: letters, digits, - and _ [default: the first of b1, b2, … that is free]
    #[arg(long = "name", value_name = "BACKUP")]
    pub(crate) backup: Option<String>,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack restore before           into the cluster that was saved
  helenus stack restore dev before
  helenus up copy -n 3 --preset dev --no-start && helenus stack restore before --into copy
  helenus stack restore before --dry-run

Stops and restarts the nodes. Restores all keyspaces, including Cassandra's own. Exit code 1 if a
table differs from what was saved.")]
pub(crate) struct Restore {
    /// Name of the cluster that was saved, where it is not `stack`, and the backup
    #[arg(value_name = "[NAME] BACKUP", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
    /// Another cluster of equal tokens that it comes back to
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) into: Option<String>,
    /// Longest wait until all nodes are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack verify before
  helenus stack verify dev before --with copy
                                         the tables of another cluster

Exit code 1 if a table differs from what was saved.")]
pub(crate) struct Verify {
    /// Name of the cluster that was saved, where it is not `stack`, and the backup
    #[arg(value_name = "[NAME] BACKUP", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
    /// Cluster whose tables are compared [default: the one that was saved]
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) with: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus stack repair --watch           all keyspaces with several replicas
  helenus stack repair dev --keyspace ks
  helenus stack repair --dry-run

Without --watch Reaper goes on by itself; its page shows the segments.")]
pub(crate) struct Repair {
    /// Name of the cluster
    #[arg(default_value = NAME)]
    pub(crate) name: String,
    /// One keyspace
    #[arg(long, value_name = "KEYSPACE")]
    pub(crate) keyspace: Option<String>,
    /// Wait until it has ended; exit code 4 if it failed
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The cluster and the backup of `[NAME] BACKUP`.
pub(crate) fn named(words: &[String]) -> (&str, &str) {
    match words {
        [cluster, backup, ..] => (cluster, backup),
        [backup] => (NAME, backup),
        [] => (NAME, ""),
    }
}
