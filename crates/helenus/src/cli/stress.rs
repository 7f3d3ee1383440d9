//! Flags of `stress`: few, for the line itself is cassandra-stress's own.
//! Refuses to read the line: the model does.

use super::agent::AgentFlags;
use clap::Args;
use helenus_model::run_plan::PROCESSES_MOST;

/// `helenus stress`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus stress write n=1000000 -rate threads=50
  helenus stress mixed 'ratio(write=1,read=3)' duration=60s -rate threads=50 fixed=2000/s
  helenus stress user profile=cqlstress-example.yaml 'ops(insert=1,simple1=3)' n=100k
  helenus stress --on kube:demo write n=100k -rate threads=32
  helenus stress --on hosts:demo write n=100k -rate threads=32
  helenus stress --dry-run write n=10k -rate threads=8 throttle=500/s
  helenus stress print 'dist=gaussian(1..1M)'
  helenus stress help -rate

Without -node it runs on your only running cluster; --cluster chooses among several.
Parentheses need quotes or backslashes in a shell. Rows, summary and exit codes are those of
cassandra-stress 4.0; doubts go to standard error, runs into the history.")]
pub(crate) struct Stress {
    /// One of your clusters, if the line has no -node
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Your cluster on Kubernetes (`helenus kube up`), with the load generator in a pod beside it; or on hosts
    /// (`helenus hosts up`)
    #[arg(long, value_name = "kube:NAME|hosts:NAME", value_parser = super::on::parse, conflicts_with_all = ["cluster", "i_may_write_to"])]
    pub(crate) on: Option<super::on::On>,
    /// Generators that share the threads, as pods, with --on
    #[arg(long, default_value_t = 1, value_name = "N", requires = "on", value_parser = clap::value_parser!(u32).range(1..=i64::from(PROCESSES_MOST)))]
    pub(crate) processes: u32,
    #[command(flatten)]
    pub(crate) agents: AgentFlags,
    /// The exact name of a cluster that is not yours, named by -node
    #[arg(long, value_name = "CLUSTER NAME", conflicts_with = "cluster")]
    pub(crate) i_may_write_to: Option<String>,
    /// A tag to find the runs by in the history
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The arguments of cassandra-stress
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LINE"
    )]
    pub(crate) words: Vec<String>,
}
