//! The flags of `helenus reset`.
//! Refuses a node: a cluster is reset as a whole.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Tables that were there stay and are truncated where they hold anything, so statements prepared \
on them go on. What was made since is dropped. Snapshots and hints go. No node is restarted.

Examples:
  helenus reset c
  helenus reset c --dry-run              what would be dropped, made and truncated
  helenus reset c --format json"
)]
pub(crate) struct Reset {
    /// Cluster [default: the only one]
    #[arg(env = "HELENUS_CLUSTER")]
    pub(crate) name: Option<String>,
    /// Also while a run measures the cluster; it is disqualified
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be changed, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
