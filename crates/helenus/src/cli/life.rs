//! Flags of the verbs that stop and start.
//! Refuses to do anything with what it parsed.

use super::many;
use clap::Args;
use helenus_model::units::parse_duration;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Targeted {
    /// NAME or NAME/NODE [default: the only cluster]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) targeted: Targeted,
    #[command(flatten)]
    pub(crate) all_of: many::AllOf,
    /// How long to wait for a node to stop; then it is killed
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) within: Duration,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) targeted: Targeted,
    #[command(flatten)]
    pub(crate) all_of: many::AllOf,
    /// A key of cassandra.yaml, for this start and later ones; nested keys with dots; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A flag for the JVM, for this start and later ones; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) jvm: Vec<String>,
    /// Longest wait until all running nodes are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Print a unit of systemd for your user that starts the cluster at boot and stops it at shutdown; start nothing
    #[arg(long, conflicts_with_all = ["set", "jvm", "prefix", "force", "dry_run"])]
    pub(crate) systemd: bool,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
}
