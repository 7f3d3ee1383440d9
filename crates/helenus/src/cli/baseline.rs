//! Flags of `helenus baseline`: saving, restoring, listing, verifying and removing baselines.
//! Refuses to do anything with what it parsed.

use clap::{Args, Subcommand};
use helenus_model::units::parse_duration;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus baseline save c loaded         flush, settle, drain, stop, take the files, start again
  helenus baseline restore c loaded      the cluster as it was then
  helenus baseline restore c loaded --into d
  helenus baseline list
  helenus baseline verify c loaded       reads every byte; exit code 1 if one differs
  helenus baseline rm c loaded

Baselines stay when their cluster is removed, except with `helenus rm --with-baselines`.")]
pub(crate) struct Baseline {
    #[command(subcommand)]
    pub(crate) verb: BaselineVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineVerb {
    /// Save a cluster as it is now
    Save(Save),
    /// Restore a baseline, into its own cluster or another with equal tokens
    Restore(Restore),
    /// The baselines of this user, with their sizes
    #[command(alias = "ls")]
    #[command(after_help = "Examples:
  helenus baseline list
  helenus baseline list c")]
    List {
        /// Only those of this cluster
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Read every byte of a baseline and compare it with what was saved
    #[command(after_help = "Examples:
  helenus baseline verify c loaded")]
    Verify(Named),
    /// Remove a baseline
    #[command(after_help = "Examples:
  helenus baseline rm c loaded")]
    Rm {
        #[command(flatten)]
        named: Named,
        /// Show what would be deleted, delete nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// A baseline by its names.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Cluster that was saved
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The tag that it was saved under
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
}

/// How long to wait for nodes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Patience {
    /// Leave the cluster stopped
    #[arg(long)]
    pub(crate) leave_stopped: bool,
    /// How long to wait for a node to stop
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) within: Duration,
    /// Longest wait until all nodes are ready again
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus baseline save c loaded
  helenus baseline save c loaded --replace --leave-stopped
  helenus baseline save c loaded --dry-run

A stopped cluster is started for it: its nodes report the schema.")]
pub(crate) struct Save {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Replace an older baseline of this tag
    #[arg(long)]
    pub(crate) replace: bool,
    /// Longest wait for compactions to end
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub(crate) settle_within: Duration,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be saved, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus baseline restore c loaded
  helenus baseline restore c loaded --drop-cache     the first reads come from the disk
  helenus baseline restore c loaded --into d --replace
  helenus baseline restore c loaded --dry-run

In its own cluster everything is restored, system tables included; later writes are gone. In
another cluster the keyspaces are created again and get the data of the node with the same tokens.")]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Cluster to restore it into [default: the one that was saved]
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) into: Option<String>,
    /// Drop conflicting keyspaces of another cluster
    #[arg(long)]
    pub(crate) replace: bool,
    /// Empty the page cache of the data files before the nodes start
    #[arg(long)]
    pub(crate) drop_cache: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be restored, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
