//! The flags of `workload`.
//! Refuses to do anything with what it parsed.

use super::run::parse_pair;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus workload list
  helenus workload show iot --param sources=1000
  helenus workload check users.yaml                 errors with their line, or what it would do
  helenus workload new --from c --table shop.users > users.yaml")]
pub(crate) struct Workload {
    #[command(subcommand)]
    pub(crate) verb: WorkloadVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadVerb {
    /// The built-in workloads
    #[command(after_help = "Examples:
  helenus workload list
  helenus workload list --format json")]
    List,
    /// A built-in workload: its parameters, its phases and its profile
    #[command(after_help = "Examples:
  helenus workload show iot
  helenus workload show ycsb-a --param recordcount=1M
  helenus workload show kv --yaml > mine.yaml       the profile alone, to start from")]
    Show(Show),
    /// Check a profile: its first error, or its operations, sizes and some of its rows
    #[command(after_help = "Examples:
  helenus workload check users.yaml
  helenus workload check users.yaml events.yaml --rows 10
  helenus workload check users.yaml --seed 7 --format json

Nothing is sent to any cluster. Exit codes: 0 it can be run, 2 it cannot.")]
    Check(Check),
    /// Draft a profile from an existing table: its columns, and sizes and ranges of a sample
    #[command(after_help = "Examples:
  helenus workload new --from c --table shop.users > users.yaml
  helenus workload new --from c --table shop.users --partitions 1000 --output users.yaml
  helenus workload new --from c --table shop.users --dry-run

The profile gets only sizes, ranges and counts of the data; nothing is written to the cluster.")]
    New(New),
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A built-in workload
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// A parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) params: Vec<(String, String)>,
    /// The profile alone
    #[arg(long)]
    pub(crate) yaml: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Profiles that would run together, or the name of a built-in workload
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Sample rows that are shown
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) rows: u16,
    /// Root seed of the sample; a run with it writes these rows
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// A parameter of a built-in workload; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) params: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// One of your clusters
    #[arg(long = "from", value_name = "CLUSTER")]
    pub(crate) cluster: String,
    /// Keyspace and table, as CQL names them
    #[arg(long, value_name = "KS.TABLE")]
    pub(crate) table: String,
    /// Partitions that are read for sizes and ranges; 0 reads none
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) partitions: u32,
    /// Rows of one partition at most
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rows: u32,
    /// Which partitions are read
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show what would be read, read nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
