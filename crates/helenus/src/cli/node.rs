//! Flags of `node`: nodes that come and go.
//! Refuses to do anything with them.

use clap::{Args, Subcommand};
use helenus_model::units::parse_duration;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct NodeVerb {
    #[command(subcommand)]
    pub(crate) what: NodeWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeWhat {
    /// Add a node: it bootstraps, streams its part and takes its place on the ring
    #[command(after_help = "Examples:
  helenus node add c                     one more node like the others, in the smallest data centre
  helenus node add c --dc DC2 --rack rack3
  helenus node add c --dry-run           its address and tokens, and what each node would own

It is not a seed. It takes tokens from the nodes that own most of their data centre. It works while
a run loads the cluster; the run reports it.")]
    Add(NodeAdd),
    /// Decommission a node: it streams its data to the others, and is deleted
    #[command(after_help = "Examples:
  helenus node decommission c/node4
  helenus node decommission c/node4 --keyspace app
                                         what each node owns of app, before and after
  helenus node decommission c/node3 --force
                                         even if a keyspace then has more replicas than nodes

The node must run. The same command resumes an interrupted decommission.")]
    Decommission(NodeLeave),
    /// Remove a dead node: the others stream what it had, from the remaining replicas
    #[command(after_help = "Examples:
  helenus kill c/node2
  helenus node remove c/node2            nodetool removenode, from a node that runs
  helenus node remove c/node2 --assassinate
                                         nothing is streamed: run nodetool repair afterwards

A node whose bootstrap was interrupted is removed in the same way.")]
    Remove(NodeRemove),
    /// Replace a dead node by a new one at its place on the ring
    #[command(after_help = "Examples:
  helenus kill c/node2
  helenus node replace c/node2           node4, say, with node2's tokens, at another address
  helenus node replace c/node2 --same-address
                                         node2 again, with an empty disk

The data is streamed from the other replicas. In a cluster with distances (--rtt) the address stays.")]
    Replace(NodeReplace),
}

/// What all of them take.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodeFlags {
    /// Keyspace whose replication decides what each node owns
    #[arg(long, short, value_name = "KEYSPACE")]
    pub(crate) keyspace: Option<String>,
    /// Longest wait without any progress
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    pub(crate) within: Duration,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NodeAdd {
    /// Cluster
    pub(crate) name: String,
    /// Data centre [default: the one with the fewest nodes]
    #[arg(long, value_name = "DC")]
    pub(crate) dc: Option<String>,
    /// Rack [default: the one of that data centre with the fewest nodes]
    #[arg(long, value_name = "RACK")]
    pub(crate) rack: Option<String>,
    /// Even while a node is down
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) flags: NodeFlags,
}

#[derive(Debug, Args)]
pub(crate) struct NodeLeave {
    /// NAME/NODE
    #[arg(value_name = "NAME/NODE")]
    pub(crate) target: String,
    /// Even if a keyspace then has more replicas than nodes
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) flags: NodeFlags,
}

#[derive(Debug, Args)]
pub(crate) struct NodeRemove {
    #[command(flatten)]
    pub(crate) leave: NodeLeave,
    /// Remove it from gossip at once: nothing is streamed, replicas are missing until a repair
    #[arg(long)]
    pub(crate) assassinate: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NodeReplace {
    /// NAME/NODE
    #[arg(value_name = "NAME/NODE")]
    pub(crate) target: String,
    /// Keep the dead node's address and name; what is in its folder is deleted
    #[arg(long)]
    pub(crate) same_address: bool,
    #[command(flatten)]
    pub(crate) flags: NodeFlags,
}
