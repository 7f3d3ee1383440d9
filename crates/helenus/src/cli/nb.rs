//! Flags of `nb`: few, for the line itself is NoSQLBench's own.
//! Refuses to read the line: the model does.

use clap::Args;

/// `helenus nb`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 write_ratio=7 read_ratio=3
  helenus nb --cluster c cql-iot rampup-cycles=10k main-cycles=100k cyclerate=2000 rf=3
  helenus nb cql-iot hosts=10.0.0.1 username=me passfile=secret.txt main-cycles=10k async=100
  helenus nb --dry-run cql-iot rampup-cycles=1k main-cycles=10k

It runs the phases rampup and main of the workload iot (`helenus workload show iot`): cyclerate=
is the rate, async= the operations in flight; --progress and -v are accepted. Without hosts= it
runs on your only running cluster. At the end it prints NoSQLBench's timers, such as
cqliot_default_main.cycles.responsetime.")]
pub(crate) struct Nb {
    /// One of your clusters, if the line has no hosts=
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The exact name of a cluster that is not yours, named by hosts=
    #[arg(long, value_name = "CLUSTER NAME", conflicts_with = "cluster")]
    pub(crate) i_may_write_to: Option<String>,
    /// A tag to find the run by in the history
    #[arg(long, value_name = "WORD", value_parser = super::load::parse_tag)]
    pub(crate) tag: Option<String>,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The arguments of nb
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LINE"
    )]
    pub(crate) words: Vec<String>,
}
