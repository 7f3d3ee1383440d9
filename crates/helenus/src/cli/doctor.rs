//! The flags of `doctor`.
//! Refuses to do anything with what it parsed.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus doctor                         what Helenus needs here, with the cure for what is missing
  helenus doctor --production            settings of a machine that runs Cassandra, item by item
  helenus doctor --production --from db1.toml
  helenus doctor --fix --dry-run         what would be changed
  helenus doctor --fix read-ahead scheduler
  helenus doctor --undo                  everything as it was before --fix
  helenus doctor --script --from xeon-6767p > settings.sh
  helenus doctor --ansible roles/cassandra_host

--fix needs root. It records each value before it changes it, so that --undo can restore it,
even after a kill. A reboot resets values of the kernel: --script and --systemd set them at
every boot.

Exit codes of --production, --fix and --undo: 0 all items pass, 1 an item does not, 3 a change
failed.")]
#[group(multiple = true)]
pub(crate) struct Doctor {
    /// Check the settings that a database in production needs: limits, memory, network, processors, disks, clock
    #[arg(long)]
    pub(crate) production: bool,
    /// A snapshot, a known machine, or a description, instead of this machine
    #[arg(long, value_name = "FILE|NAME|WORDS", conflicts_with_all = ["fix", "undo"])]
    pub(crate) from: Option<String>,
    /// Change the settings that are wrong, or only the named ones
    #[arg(long, value_name = "ITEM", num_args = 0.., conflicts_with = "undo")]
    pub(crate) fix: Option<Vec<String>>,
    /// Restore what --fix has changed
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print a script of the shell that makes all settings
    #[arg(long, conflicts_with_all = ["fix", "undo", "systemd", "ansible"])]
    pub(crate) script: bool,
    /// Print a unit of systemd that runs the script at every boot
    #[arg(long, conflicts_with_all = ["fix", "undo", "ansible"])]
    pub(crate) systemd: bool,
    /// Write a role of Ansible into a new folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["fix", "undo"])]
    pub(crate) ansible: Option<PathBuf>,
    /// Print what --fix or --undo would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
