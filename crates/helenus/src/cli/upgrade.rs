//! The flags of `upgrade`.
//! Refuses to do anything with what it parsed.

use super::words::words;
use clap::Args;
use helenus_model::units::parse_duration;
use helenus_model::upgrade::Mode;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "One node at a time is drained, stopped and started on the new release with its data; the others
serve. To 5.0 all nodes go through the storage compatibility modes CASSANDRA_4, UPGRADING and
NONE, with a rolling restart each, then their files are rewritten (upgradesstables). In
CASSANDRA_4 the cluster can go back. The same command resumes an interrupted upgrade.

Examples:
  helenus upgrade c --to 5.0             from 4.0 or 4.1, all steps
  helenus upgrade c --to 5.0 --dry-run   the steps and the settings that change, nothing done
  helenus upgrade c --to 5.0 --until CASSANDRA_4
                                         the new release with the old formats
  helenus upgrade c --to 4.1             and back
  helenus upgrade c --to 4.1.5           from patch to patch"
)]
pub(crate) struct Upgrade {
    /// Cluster [default: the only one]
    #[arg(env = "HELENUS_CLUSTER")]
    pub(crate) name: Option<String>,
    /// Release to upgrade to [default: that of the interrupted upgrade]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) to: Option<String>,
    /// Storage compatibility mode of 5.0 to stop in
    #[arg(long, value_name = "MODE", value_parser = words(Mode::ALL, Mode::word), ignore_case = true)]
    pub(crate) until: Option<Mode>,
    /// Folder of the JDK of the new release
    #[arg(long, value_name = "DIR")]
    pub(crate) java_home: Option<PathBuf>,
    /// Start without a class-data archive: slower
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// How long to wait for a node to stop; then it is killed
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) within: Duration,
    /// Longest wait until all running nodes are ready, after each start
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Show the steps, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
