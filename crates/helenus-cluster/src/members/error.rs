//! Why a node cannot come or go, each with its cure.
//! Refuses to hide what Cassandra's own tool said.

use crate::error::{Class, Problem};
use helenus_model::membership::Short;
use std::path::PathBuf;

/// Why a node cannot come or go.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// Nodes are down that a newcomer must know of.
    #[error("{} of {cluster} {} not running", nodes.join(", "), if nodes.len() == 1 { "is" } else { "are" })]
    Down {
        /// Cluster.
        cluster: String,
        /// Nodes.
        nodes: Vec<String>,
        /// Whether --force continues all the same.
        may_force: bool,
    },
    /// Nodes of two releases cannot stream to each other.
    #[error(
        "{cluster} is in the middle of an upgrade: its nodes are of two releases, and cannot stream to each other"
    )]
    Upgrading {
        /// Cluster.
        cluster: String,
    },
    /// A node is half-way in.
    #[error("{node} of {cluster} has not joined yet")]
    HalfJoined {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// Only a dead node can be removed or replaced.
    #[error("{node} of {cluster} is running")]
    Runs {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// Nothing to replace.
    #[error("{node} of {cluster} is a coordinator-only node: it has no data to replace")]
    Coordinator {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// The cluster would be empty.
    #[error("{node} is the only node of {cluster} that holds data")]
    Only {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// Keyspaces would have fewer nodes than replicas.
    #[error(
        "without {node} there would be fewer nodes than replicas of {}",
        short.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Short {
        /// Node.
        node: String,
        /// Keyspaces.
        short: Vec<Short>,
    },
    /// Cassandra's id of a node is not known.
    #[error("no running node of {cluster} knows the host id of {node}")]
    NoHostId {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// nodetool failed.
    #[error("nodetool {verb} failed on {node}")]
    Tool {
        /// The node that was asked.
        node: String,
        /// What was asked.
        verb: String,
        /// Its last lines.
        said: Vec<String>,
    },
    /// Streams to a node that joins failed.
    #[error("{node} could not stream its part from the others")]
    Streaming {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
        /// Its log.
        log: PathBuf,
    },
    /// Something did not happen.
    #[error("{what} did not happen within {waited:.0} s; last seen: {last}")]
    Stuck {
        /// What was waited for.
        what: String,
        /// Seconds.
        waited: f64,
        /// What was seen.
        last: String,
    },
}

impl Problem for MemberError {
    fn class(&self) -> Class {
        match self {
            Self::Tool { .. } | Self::Streaming { .. } | Self::Stuck { .. } | Self::Down { .. } => {
                Class::Cluster
            }
            _ => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Down {
                cluster,
                nodes,
                may_force,
            } => format!(
                "`helenus start {cluster}` starts it; a dead node is taken out with `helenus node remove \
                 {cluster}/{first}` or `helenus node replace {cluster}/{first}`{}",
                if *may_force {
                    "; --force continues anyway"
                } else {
                    ""
                },
                first = nodes.first().map(String::as_str).unwrap_or_default()
            ),
            Self::Upgrading { cluster } => {
                format!("`helenus upgrade {cluster}` continues it; change the nodes afterwards")
            }
            Self::HalfJoined { cluster, node } => format!(
                "`helenus start {cluster}/{node}` continues, `helenus node remove {cluster}/{node}` removes it"
            ),
            Self::Runs { cluster, node } => format!(
                "`helenus node decommission {cluster}/{node}` streams its data to the others first; `helenus kill \
                 {cluster}/{node}` kills it"
            ),
            Self::Coordinator { cluster, node } => format!(
                "`helenus start {cluster}/{node}` starts it again, `helenus node remove {cluster}/{node}` removes it"
            ),
            Self::Only { cluster, .. } => format!("`helenus rm {cluster}` removes the cluster"),
            Self::Short { short, .. } => format!(
                "lower the replication first, such as ALTER KEYSPACE {} WITH replication = {}, or pass --force: then \
                 QUORUM of them needs all remaining nodes, or is unavailable",
                short
                    .first()
                    .map(|one| one.keyspace.as_str())
                    .unwrap_or_default(),
                short.first().map(smaller).unwrap_or_default()
            ),
            Self::NoHostId { cluster, .. } => {
                format!("`helenus status {cluster}` shows which node knows which")
            }
            Self::Tool { .. } => return None,
            Self::Streaming { cluster, node, log } => format!(
                "its log shows why ({}); `helenus start {cluster}/{node}` tries again, `helenus node remove \
                 {cluster}/{node}` removes it",
                log.display()
            ),
            Self::Stuck { .. } => "the same command continues it; --within waits longer".into(),
        })
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Tool { said, .. } => said.clone(),
            _ => Vec::new(),
        }
    }
}

/// A replication that the nodes that are left can hold.
fn smaller(short: &Short) -> String {
    let left = short.left.max(1);
    match &short.data_center {
        Some(dc) => format!("{{'class': 'NetworkTopologyStrategy', '{dc}': {left}}}"),
        None => format!("{{'class': 'SimpleStrategy', 'replication_factor': {left}}}"),
    }
}
