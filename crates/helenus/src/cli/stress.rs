//! Flags of `stress`: few, for the line itself is cassandra-stress's own.
//! Refuses to read the line: the model does.

use clap::Args;

/// A line of cassandra-stress, as it stands.
///
/// Every command and group of cassandra-stress 4.0 is taken, with its defaults: read, write, mixed, counter_write,
/// counter_read, user, print, help, version, legacy. It prints the same rows and the same summary, and exits with 0 or 1.
/// What is doubtful about the numbers goes to standard error, and each run into the history.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus stress write n=1000000 -rate threads=50
  helenus stress mixed 'ratio(write=1,read=3)' duration=60s cl=QUORUM -rate threads=50 fixed=2000/s
  helenus stress user profile=cqlstress-example.yaml 'ops(insert=1,simple1=3)' n=100k -node 127.0.0.1
  helenus stress --dry-run write n=10k -rate threads=8 throttle=500/s
  helenus stress print 'dist=gaussian(1..1M)'
  helenus stress help -rate

Without -node it runs on the cluster of yours that runs, where there is one; --cluster names it where
there are several. Parentheses want quotes or backslashes in a shell.")]
pub(crate) struct Stress {
    /// A cluster of yours, where the line has no -node
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The exact name of a cluster that is not yours, behind -node
    #[arg(long, value_name = "CLUSTER NAME", conflicts_with = "cluster")]
    pub(crate) i_may_write_to: Option<String>,
    /// A word to find the runs by in the history
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The words behind cassandra-stress
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LINE"
    )]
    pub(crate) words: Vec<String>,
}
