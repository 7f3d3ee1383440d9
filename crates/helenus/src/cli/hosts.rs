//! Flags of `hosts`.
//! Refuses to do anything with what it parsed.

use super::elsewhere::Elsewhere;
use super::words::words;
use clap::{Args, Subcommand};
use helenus_model::hosts::options::{Form, Network, Provider};
use helenus_model::units::{Bytes, parse_duration};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts up wan.toml --hosts 10.0.0.11-16 --user ubuntu
  helenus hosts render wan.toml --hosts 10.0.0.11-16 -o wan     the same files, for Ansible by hand
  helenus hosts render -n 3 --as swarm
  helenus hosts status wan
  helenus hosts rm wan")]
pub(crate) struct Hosts {
    #[command(subcommand)]
    pub(crate) what: HostsWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostsWhat {
    /// Install a cluster on hosts by Ansible, and wait until all nodes serve
    Up(Box<Up>),
    /// Wait until all nodes serve
    Wait(Wait),
    /// Show nodes and ring of a cluster, or list the clusters
    Status(Status),
    /// Log of a node
    Logs(Logs),
    /// Run the release's nodetool on a node's host
    Nodetool(Nodetool),
    /// Restart the nodes, one at a time
    Restart(Restart),
    /// Stop the nodes, and remove all that was installed
    Rm(Rm),
    /// Files for Ansible, Docker Swarm, Docker Compose or OpenTofu
    Render(Box<Render>),
}

/// The hosts, and how they are reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostsPlace {
    /// One address a node, in the topology's order: 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12; a host that carries
    /// two nodes has two addresses: big=10.0.0.11+10.0.0.12
    #[arg(long, value_name = "LIST")]
    pub(crate) hosts: Option<String>,
    /// User to log in as; it must be root, or become it by sudo [default: ssh's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the private key [default: ssh's own]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Port of sshd [default: ssh's own]
    #[arg(long, value_name = "N")]
    pub(crate) ssh_port: Option<u16>,
    /// Leave kernel settings and limits of the hosts as they are
    #[arg(long)]
    pub(crate) no_machine: bool,
    /// Hard limit of each node's memory, page cache included
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) memory_limit: Option<Bytes>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts up wan.toml --hosts 10.0.0.11-16 --user ubuntu --key ~/.ssh/lab
  helenus hosts up -n 3 --name demo --preset bench --hosts db1=10.0.0.11,db2=10.0.0.12,db3=10.0.0.13
  helenus hosts up -n 4 --name big --hosts big=10.0.0.11+10.0.0.12+10.0.0.13+10.0.0.14   four nodes on one host
  helenus hosts up demo --hosts 10.0.0.11-13 --check      what Ansible would change

Ansible (ansible-core 2.15 or newer) does the work, and Cassandra's jars are copied from this
machine. Repeat the command to continue an interrupted installation; it changes only what differs.")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
    #[command(flatten)]
    pub(crate) place: HostsPlace,
    /// Let Ansible say what it would change on the hosts, and change nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check: bool,
    /// Show the files, connect to no host
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Longest wait for each node that starts, and then until all serve
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts wait demo
  helenus hosts wait demo --timeout 10m")]
pub(crate) struct Wait {
    /// Name of the cluster
    pub(crate) name: String,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts status                   the clusters that were brought up
  helenus hosts status demo")]
pub(crate) struct Status {
    /// Name of the cluster [default: list all]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts logs demo/demo-node2
  helenus hosts logs demo/demo-node2 --tail 200")]
pub(crate) struct Logs {
    /// Cluster and node [default: the first node]
    #[arg(value_name = "NAME[/NODE]")]
    pub(crate) target: String,
    /// Last lines
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) tail: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts nodetool demo status
  helenus hosts nodetool demo/demo-node2 tpstats")]
pub(crate) struct Nodetool {
    /// Cluster and node [default: the first node]
    #[arg(value_name = "NAME[/NODE]")]
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
  helenus hosts restart demo
  helenus hosts restart demo --dry-run   the nodes, in order

One host at a time, seeds first; each node drains, and the next one follows when all others see it
up and normal. A cluster with a node that is down is not restarted: `hosts up` starts it.")]
pub(crate) struct Restart {
    /// Name of the cluster
    pub(crate) name: String,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts rm demo --dry-run        what would be removed
  helenus hosts rm demo
  helenus hosts rm demo --forget         its hosts are gone

Removes units, configuration, data, logs, jars and user, and restores the hosts' settings.
Anything that does not belong to this cluster stays.")]
pub(crate) struct Rm {
    /// Name of the cluster
    pub(crate) name: String,
    /// Only forget the cluster; no host is touched
    #[arg(long)]
    pub(crate) forget: bool,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus hosts render wan.toml --hosts 10.0.0.11-16 -o wan
  helenus hosts render -n 3 --as swarm -o demo && docker stack deploy -c demo/stack.yml demo
  helenus hosts render -n 3 --as swarm --network host --hosts db1=10.0.0.11,db2=10.0.0.12,db3=10.0.0.13 -o demo
  helenus hosts render -n 3 --as compose -o demo && docker compose -f demo/compose.yml up -d --wait
  helenus hosts render -n 20 --as tofu --hosts 192.168.2.10-29 -o machines
  helenus hosts render -n 6 --as tofu --provider docker --hosts 172.30.0.11-16 -o machines

Nothing is run. The same flags give the same text, and no file has a secret.")]
pub(crate) struct Render {
    /// What to write: ansible, swarm, compose, tofu
    #[arg(long = "as", value_name = "FORM", default_value = "ansible", value_parser = words(Form::ALL, Form::word))]
    pub(crate) form: Form,
    /// Folder to write to [default: all files on standard output]
    #[arg(short, long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// List the files and the steps, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
    #[command(flatten)]
    pub(crate) place: HostsPlace,
    #[command(flatten)]
    pub(crate) more: Containers,
}

/// What only some forms have.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Containers and machines")]
pub(crate) struct Containers {
    /// Image of the containers [default: the one that `helenus kube image` makes]
    #[arg(long, value_name = "NAME:TAG")]
    pub(crate) image: Option<String>,
    /// Network of a Swarm's containers: overlay, or host for one node on each host
    #[arg(long, value_name = "HOW", default_value = "overlay", value_parser = words(Network::ALL, Network::word))]
    pub(crate) network: Network,
    /// Whose machines tofu makes, of the size of --worker-cpus and --worker-memory: proxmox, docker
    #[arg(long, value_name = "NAME", default_value = "proxmox", value_parser = words(Provider::ALL, Provider::word))]
    pub(crate) provider: Provider,
    /// Disk of each of these machines
    #[arg(long, value_name = "SIZE", default_value = "32G", value_parser = Bytes::parse)]
    pub(crate) disk: Bytes,
}
