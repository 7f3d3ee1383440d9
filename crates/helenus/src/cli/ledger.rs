//! The flags of `helenus ledger`.
//! Refuses flags that would write: a ledger is made by a run, and read here.

use super::count::ReadPlace;
use super::words;
use clap::{Args, Subcommand};
use helenus_model::consistency::Consistency;
use helenus_model::units::parse_rate;
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus run standard1 --ops write=1 --cl QUORUM --cluster c --ledger
                                         records each write and its outcome
  helenus ledger check @last             is every acknowledged write there?
  helenus ledger show r7                 outcomes of the writes, without asking a node

A RUN is r12, 12, @last or a tag; a FILE is one that --ledger FILE wrote.")]
pub(crate) struct Ledger {
    #[command(subcommand)]
    pub(crate) verb: LedgerVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerVerb {
    /// Read every key back, and report which acknowledged writes are lost
    Check(Box<Check>),
    /// The writes, by consistency level and outcome
    Show(Show),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus ledger check @last             at the strongest level that the nodes answer
  helenus ledger check r7 --cl LOCAL_QUORUM --client-dc DC3
                                         as a client of another data centre sees it
  helenus ledger check writes.ledger --cluster c --rate 2000
  helenus ledger check r7 --lost 100 --format json

A key is lost if a write of it was acknowledged at a level that the read must meet, and neither
it nor anything newer is there. Without --cluster and --hosts, the cluster that was written to is
read. Reads at QUORUM and above repair stale replicas.

Exit codes: 0 nothing is lost, 1 something is, 4 a key cannot be read, 130 interrupted.")]
pub(crate) struct Check {
    /// A run with a ledger, or a ledger's file
    #[arg(value_name = "RUN|FILE")]
    pub(crate) name: String,
    /// How many lost keys to name
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) lost: usize,
    #[command(flatten)]
    pub(crate) place: ReadPlace,
    #[command(flatten)]
    pub(crate) read: KeyFlags,
}

/// How keys are read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct KeyFlags {
    /// Consistency level of the reads [default: the strongest that the running nodes answer]
    #[arg(long, value_parser = words::level(), ignore_case = true)]
    pub(crate) cl: Option<Consistency>,
    /// Data centre whose nodes coordinate the reads [default: that of the writes]
    #[arg(long, value_name = "DC", conflicts_with = "hosts")]
    pub(crate) client_dc: Option<String>,
    /// Requests in flight at once [default: 4 a node, at most 16]
    #[arg(long, value_name = "N")]
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Most keys a second, such as 5k [default: as fast as the nodes answer]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus ledger show @last
  helenus ledger show writes.ledger --format json")]
pub(crate) struct Show {
    /// A run with a ledger, or a ledger's file
    #[arg(value_name = "RUN|FILE")]
    pub(crate) name: String,
}
