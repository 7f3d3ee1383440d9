//! Flags of the verbs of `kube` that act on a cluster.
//! Refuses to do anything with what it parsed.

use super::{KubePlace, KubeStack};
use crate::cli::elsewhere::Elsewhere;
use crate::cli::words::words;
use clap::{Args, Subcommand};
use helenus_model::kube::options::Form;
use helenus_model::units::parse_duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube up wan.toml --kube-context kind-wan --spread preferred
  helenus kube up -n 5:5:5 --name wan    three namespaces: wan-dc1, wan-dc2, wan-dc3
  helenus kube up -n 3 --namespace lab   into a namespace of yours
  helenus kube up demo --dry-run         what would be applied, and where
  helenus kube up -n 3 --name demo --namespace lab --tls --tls-secret demo-tls
  helenus kube up -n 3 --as k8ssandra --namespace k8ssandra-operator
  helenus kube up -n 3 --as k8ssandra --namespace k8ssandra-operator --auth -- run iot --rate 100
                                         and then this load from inside, as its superuser

kubectl applies it, server-side, as field manager helenus. Everything carries an id that only this
cluster has; what exists without it is never touched.")]
pub(crate) struct Up {
    /// What to apply: plain, k8ssandra, cass-operator
    #[arg(long = "as", value_name = "FORM", default_value = "plain", value_parser = words(Form::ALL, Form::word))]
    pub(crate) form: Form,
    /// Context of kubectl [default: the only one]
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) kube_context: Option<String>,
    /// How long to wait until all nodes serve
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Return once it is applied
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Show what would be applied, apply nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
    #[command(flatten)]
    pub(crate) place: KubePlace,
    #[command(flatten)]
    pub(crate) stack: KubeStack,
    /// What to run there once all nodes serve: run, bench or stress, with its words
    #[arg(last = true, value_name = "run WORDS", conflicts_with = "no_wait")]
    pub(crate) then: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube wait demo
  helenus kube wait demo --timeout 2m

Ready means that all pods are ready, each data centre sees all nodes up and normal, and there is
one schema. It ends early, with exit code 4, where waiting does not help: an image that cannot be
pulled, a pod that cannot be scheduled, a container that is OOMKilled again and again.")]
pub(crate) struct Wait {
    /// Name of the cluster
    pub(crate) name: String,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube status                    clusters that were applied
  helenus kube status demo")]
pub(crate) struct Status {
    /// Name of the cluster [default: list all]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube logs demo
  helenus kube logs demo/demo-dc1-rack1-0 -f
  helenus kube logs demo/demo-dc1-rack1-0 --previous   of the container before the last restart")]
pub(crate) struct Logs {
    /// Cluster, or one of its pods
    #[arg(value_name = "NAME[/POD]")]
    pub(crate) target: String,
    /// Follow the log
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Log of the container that ended
    #[arg(long)]
    pub(crate) previous: bool,
    /// Last lines only
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube nodetool demo status
  helenus kube nodetool demo/demo-dc1-rack1-1 tpstats")]
pub(crate) struct Nodetool {
    /// Cluster, or one of its pods [default: the first that is ready]
    #[arg(value_name = "NAME[/POD]")]
    pub(crate) target: String,
    /// nodetool's words
    #[arg(
        value_name = "WORDS",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube exec demo -- /opt/java/bin/java -version
  helenus kube exec demo/demo-dc1-rack1-0 -- helenus --version

The image that helenus makes has no shell.")]
pub(crate) struct Exec {
    /// Cluster, or one of its pods [default: the first that is ready]
    #[arg(value_name = "NAME[/POD]")]
    pub(crate) target: String,
    /// Program and arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube cql demo -e \"SELECT cluster_name FROM system.local\"
  helenus kube cql demo/demo-dc3-rack1-0 -f schema.cql
  helenus kube cql demo < schema.cql
  helenus kube cql demo --user admin --password-env PASSWORD -e \"LIST ROLES\"

Statements run inside of the pod, so no port has to be opened.")]
pub(crate) struct Cql {
    /// Cluster, or one of its pods [default: the first that is ready]
    #[arg(value_name = "NAME[/POD]")]
    pub(crate) target: String,
    /// Statements, separated by semicolons [default: standard input]
    #[arg(short, long, value_name = "CQL")]
    pub(crate) execute: Option<String>,
    /// File with statements
    #[arg(short, long, value_name = "FILE", conflicts_with = "execute")]
    pub(crate) file: Option<PathBuf>,
    /// Who logs in, where the cluster asks for it
    #[arg(long, value_name = "NAME", requires = "password_env")]
    pub(crate) user: Option<String>,
    /// Variable with the password
    #[arg(long, value_name = "VARIABLE", requires = "user")]
    pub(crate) password_env: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube scale demo --nodes 5
  helenus kube scale wan --dc DC2 --nodes 3 --volumes

One node at a time. A node that goes is decommissioned first.")]
pub(crate) struct Scale {
    /// Name of the cluster
    pub(crate) name: String,
    /// Nodes with data that the data centre shall have
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: u32,
    /// Data centre [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) dc: Option<String>,
    /// Delete the volumes of decommissioned nodes; no node starts on one again
    #[arg(long)]
    pub(crate) volumes: bool,
    /// How long to wait for each node
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Show the steps, take none
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube restart demo
  helenus kube restart wan --dc DC2

One node at a time: it drains, and the next one follows when all see it up and normal again.")]
pub(crate) struct Restart {
    /// Cluster, or one of its pods
    #[arg(value_name = "NAME[/POD]")]
    pub(crate) target: String,
    /// Nodes of this data centre only
    #[arg(long, value_name = "NAME")]
    pub(crate) dc: Option<String>,
    /// How long to wait for each node
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Show the steps, take none
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube fault demo kill demo-dc1-rack1-0
  helenus kube fault demo drain worker2
  helenus kube fault wan cut DC1 DC3
  helenus kube heal wan                  ends cuts, and lets drained workers take pods again")]
pub(crate) struct Fault {
    /// Name of the cluster
    pub(crate) name: String,
    #[command(subcommand)]
    pub(crate) what: FaultWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FaultWhat {
    /// End a pod at once, without its drain
    #[command(after_help = "Examples:
  helenus kube fault demo kill demo-dc1-rack1-0")]
    Kill {
        /// The pod
        pod: String,
        /// Show what would be done, do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Move the cluster's pods off a worker, as its disruption budget permits
    #[command(after_help = "Examples:
  helenus kube fault demo drain worker2 --timeout 10m")]
    Drain {
        /// The worker
        worker: String,
        /// How long to wait for the budget
        #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
        timeout: Duration,
        /// Show what would be done, do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Cut two data centres by NetworkPolicies, and try whether they are enforced
    #[command(after_help = "Examples:
  helenus kube fault wan cut DC1 DC3")]
    Cut {
        /// A data centre
        a: String,
        /// Another one
        b: String,
        /// Show what would be done, do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube heal wan
  helenus kube heal wan --dry-run

Ends cuts and drains. Nodes of a killed experiment restart with their original settings.")]
pub(crate) struct Heal {
    /// Name of the cluster
    pub(crate) name: String,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube rm demo --dry-run         what would be deleted
  helenus kube rm demo                   keeps volumes: kube up starts on them again
  helenus kube rm demo --volumes

cass-operator deletes the volumes with the data centre: with --as k8ssandra or cass-operator,
--volumes is required.")]
pub(crate) struct Rm {
    /// Name of the cluster
    pub(crate) name: String,
    /// Delete the volumes, with all data
    #[arg(long)]
    pub(crate) volumes: bool,
    /// List it, delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
