//! Why a cluster could not be taken back, each with its cure.
//! Refuses to leave open what was done already.

use crate::error::{Class, Problem};
use crate::state::NodeCondition;
use helenus_cql::ClientError;
use std::net::SocketAddr;

/// Why a reset was refused or cut off.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// A node cannot take part, and a truncation needs them all.
    #[error("{cluster}/{node} is {condition}; nothing was changed")]
    Down {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
        /// `stopped`, `paused` or `not running`.
        condition: &'static str,
        /// The verb that cures it.
        cure: &'static str,
    },
    /// What listens at a node's address is not that node.
    #[error("refused to reset through {host}: {why}; nothing was changed")]
    Foreign {
        /// Where.
        host: SocketAddr,
        /// Why it is not ours.
        why: String,
    },
    /// The rows of the recorded state are not to be had.
    #[error(
        "the rows of {cluster} are those of its baseline {tag}, which is gone or was replaced; nothing was changed"
    )]
    RowsGone {
        /// Cluster.
        cluster: String,
        /// Tag.
        tag: String,
    },
    /// The node does not take the SSTables of a baseline.
    #[error("{node} refused {folders} folders of SSTables for {table}")]
    NotImported {
        /// Node.
        node: String,
        /// Table.
        table: String,
        /// Folders.
        folders: usize,
    },
    /// The server refused.
    #[error("{statement} failed; {done} of {of} changes were made")]
    Refused {
        /// What was to be done.
        statement: String,
        /// Changes made before.
        done: usize,
        /// Changes in all.
        of: usize,
        /// Why.
        source: Box<ClientError>,
    },
}

impl ResetError {
    /// A node that does not run.
    pub(crate) fn down(cluster: &str, node: &str, condition: NodeCondition) -> Self {
        let (condition, cure) = match condition {
            NodeCondition::Paused => ("paused", "resume"),
            NodeCondition::Stopped => ("stopped", "start"),
            NodeCondition::Died | NodeCondition::Running => ("not running", "start"),
        };
        Self::Down {
            cluster: cluster.to_owned(),
            node: node.to_owned(),
            condition,
            cure,
        }
    }
}

impl Problem for ResetError {
    fn class(&self) -> Class {
        match self {
            Self::Down { .. } | Self::Refused { .. } | Self::NotImported { .. } => Class::Cluster,
            Self::Foreign { .. } | Self::RowsGone { .. } => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Down {
                cluster,
                node,
                cure,
                ..
            } => format!("`helenus {cure} {cluster}/{node}` brings it back, then reset again"),
            Self::Foreign { .. } => {
                "`helenus list` shows which of your nodes run, and where".into()
            }
            Self::RowsGone { cluster, .. } => format!(
                "`helenus baseline save {cluster} TAG` saves the present rows, `helenus baseline restore` restores a baseline"
            ),
            Self::NotImported { .. } => "`helenus logs` shows why".into(),
            Self::Refused { .. } => "reset again: it makes the remaining changes".into(),
        })
    }
}
