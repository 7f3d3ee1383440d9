//! Flags of `fault` and `heal`.
//! Refuses to do anything with them.

use clap::Args;
use helenus_model::units::parse_duration;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus fault wan                      the active faults
  helenus fault wan kill node2           SIGKILL; heal starts it again
  helenus fault wan pause DC1/rack1      SIGSTOP to every node of a rack
  helenus fault wan slow 25% DC3         each node gets 25 % of one processor
  helenus fault c disk-full node2        no space is left; needs a cluster of up --disk
  helenus fault wan slow 50ms DC1:DC2    50 ms more, each way
  helenus fault wan loss 5% DC1:DC2      lost packets, each way
  helenus fault wan partition DC3        cut off from all others; also nodes and racks
  helenus fault wan partition DC3 --for 30s
                                         is healed after 30 s; Ctrl-C heals at once

Targets: node2 (or 2), DC1/rack1, DC3, DC1:DC2. Faults between data centres need a cluster
that was brought up with distance. `helenus run --fault` does the same on a run's time line.")]
pub(crate) struct FaultFlags {
    /// Cluster
    pub(crate) name: String,
    /// What, how much, and where [default: list what holds]
    #[arg(value_name = "WHAT [AMOUNT] TARGET")]
    pub(crate) words: Vec<String>,
    /// Heal it after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, requires = "words")]
    pub(crate) lasts: Option<Duration>,
    /// Longest wait until nodes that are started again are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Show what would be done, do nothing
    #[arg(long, requires = "words")]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus heal wan                       the only active fault
  helenus heal wan DC3                   every fault of DC3
  helenus heal wan --all

Nodes that were killed, or ended when their disk was full, are started again; heal waits for them.")]
pub(crate) struct Heal {
    /// Cluster
    pub(crate) name: String,
    /// Target of the faults, as given to `fault` [default: the only fault's]
    #[arg(value_name = "TARGET", conflicts_with = "all")]
    pub(crate) target: Option<String>,
    /// Every fault of the cluster
    #[arg(long)]
    pub(crate) all: bool,
    /// Longest wait until nodes that are started again are ready
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) ready_within: Duration,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
