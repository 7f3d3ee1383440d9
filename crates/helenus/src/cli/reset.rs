//! The flags of `helenus reset`.
//! Refuses a node: a cluster is reset as a whole.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Existing tables stay, and are truncated if they hold data; statements prepared on them stay valid. \
Whatever was created since is dropped. Snapshots and hints are deleted. No node is restarted.

Examples:
  helenus reset c
  helenus reset c --dry-run              what would be dropped, made and truncated
  helenus reset c --format json"
)]
pub(crate) struct Reset {
    /// Cluster [default: the only one]
    #[arg(env = "HELENUS_CLUSTER")]
    pub(crate) name: Option<String>,
    /// Even while a run measures the cluster; that run becomes invalid
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be changed, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
