//! Whether a baseline fits a cluster, and what is to be done to bring it there.
//! Refuses to bring system tables to another cluster: they hold its name, its host ids and its peers.

use super::{Baseline, SavedNode, SavedTable, is_immutable, series, table_folder};
use crate::guard::is_system_keyspace;
use crate::release::Release;
use crate::units::Bytes;
use serde::Serialize;

/// The cluster that a baseline shall come back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Id in the state of Helenus.
    pub id: String,
    /// Name.
    pub name: String,
    /// Release.
    pub release: String,
    /// Class that turns keys into tokens; none if no node was asked.
    pub partitioner: Option<String>,
    /// Its nodes.
    pub nodes: Vec<PlaceNode>,
    /// Its own keyspaces; none if no node was asked.
    pub keyspaces: Option<Vec<String>>,
}

/// A node of that cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceNode {
    /// Name.
    pub name: String,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// Tokens, in any order.
    pub tokens: Vec<i64>,
}

/// A saved node and the node that takes its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Node of the baseline.
    pub from: String,
    /// Node of the cluster, of the same tokens.
    pub to: String,
}

/// How a baseline comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestorePlan {
    /// Whether it is the cluster that was saved, whose nodes come back whole, with their system tables.
    pub whole: bool,
    /// Who takes whose files.
    pub nodes: Vec<Pair>,
    /// Keyspaces that come back.
    pub keyspaces: Vec<String>,
    /// Keyspaces of the cluster that are dropped first.
    pub dropped: Vec<String>,
    /// Files that come back.
    pub files: usize,
    /// Their size.
    pub bytes: Bytes,
    /// Of it the part that is copied, because a node may write into it.
    pub copied: Bytes,
}

/// Why a baseline does not fit a cluster.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum Misfit {
    /// Another series reads and writes other files.
    #[error("baseline {tag} is of Cassandra {saved}, {cluster} runs {runs}")]
    Release {
        /// Baseline.
        tag: String,
        /// Release of the baseline.
        saved: String,
        /// Cluster.
        cluster: String,
        /// Release of the cluster.
        runs: String,
    },
    /// Another number of nodes.
    #[error("{saved} in baseline {tag}, {has} in {cluster}: the numbers of nodes differ")]
    Nodes {
        /// Baseline.
        tag: String,
        /// Nodes of the baseline.
        saved: usize,
        /// Cluster.
        cluster: String,
        /// Nodes of the cluster.
        has: usize,
    },
    /// No node of the cluster owns what a saved node owned.
    #[error("no node of {cluster} has the tokens of {node} in baseline {tag}")]
    Tokens {
        /// Baseline.
        tag: String,
        /// Saved node.
        node: String,
        /// How many tokens it has.
        tokens: usize,
        /// Cluster.
        cluster: String,
    },
    /// The node with these tokens stands elsewhere, so that replicas would too.
    #[error(
        "{node} of {cluster} is in {has}, the node with its tokens in baseline {tag} was in {saved}"
    )]
    Standing {
        /// Baseline.
        tag: String,
        /// `data centre/rack` in the baseline.
        saved: String,
        /// Cluster.
        cluster: String,
        /// Node of the cluster.
        node: String,
        /// `data centre/rack` in the cluster.
        has: String,
    },
    /// Keys have other tokens.
    #[error("baseline {tag} is of {saved}, {cluster} has {has}")]
    Partitioner {
        /// Baseline.
        tag: String,
        /// Of the baseline.
        saved: String,
        /// Cluster.
        cluster: String,
        /// Of the cluster.
        has: String,
    },
    /// Keyspaces of these names are there already.
    #[error("{cluster} has {} already", keyspaces.join(", "))]
    InTheWay {
        /// Cluster.
        cluster: String,
        /// Their names.
        keyspaces: Vec<String>,
    },
}

impl Misfit {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Release { saved, .. } if series(saved).starts_with('3') => format!(
                "releases from 4.1 on do not read files of {0}: 4.0 has to rewrite them first (`nodetool upgradesstables`); bring up a cluster of the same series: `helenus up NAME --cassandra {0}`",
                series(saved)
            ),
            Self::Release { saved, .. } => format!(
                "a release reads files of its own series and, from 4.0 on, of older ones; bring up a cluster of the same series: `helenus up NAME --cassandra {}`",
                series(saved)
            ),
            Self::Nodes { saved, .. } => {
                format!("bring up a cluster with as many nodes: `helenus up NAME -n {saved}`")
            }
            Self::Tokens { tokens, .. } => format!(
                "bring up a cluster with as many nodes and tokens as the one that was saved: \
                 `helenus up NAME -n N --tokens {tokens}`"
            ),
            Self::Standing { .. } => {
                "bring up a cluster with the data centres and racks of the one that was saved"
                    .into()
            }
            Self::Partitioner { .. } => "bring up a cluster with the same partitioner".into(),
            Self::InTheWay { .. } => "--replace drops them first, with all their data".into(),
        }
    }
}

/// Whether a baseline fits a cluster, and how it comes back there; `replace` lets keyspaces in the way go.
///
/// # Errors
/// The first thing that does not fit.
pub fn fits(baseline: &Baseline, place: &Place, replace: bool) -> Result<RestorePlan, Misfit> {
    let tag = &baseline.tag;
    let cluster = &place.name;
    if !reads(&place.release, &baseline.release) {
        return Err(Misfit::Release {
            tag: tag.clone(),
            saved: baseline.release.clone(),
            cluster: cluster.clone(),
            runs: place.release.clone(),
        });
    }
    if baseline.nodes.len() != place.nodes.len() {
        return Err(Misfit::Nodes {
            tag: tag.clone(),
            saved: baseline.nodes.len(),
            cluster: cluster.clone(),
            has: place.nodes.len(),
        });
    }
    let nodes = pairs(baseline, place)?;
    let whole = baseline.cluster_id == place.id;
    let keyspaces: Vec<String> = baseline.keyspaces.iter().map(|k| k.name.clone()).collect();
    let mut dropped = Vec::new();
    if !whole {
        if let Some(has) = place
            .partitioner
            .as_ref()
            .filter(|p| **p != baseline.partitioner)
        {
            return Err(Misfit::Partitioner {
                tag: tag.clone(),
                saved: baseline.partitioner.clone(),
                cluster: cluster.clone(),
                has: has.clone(),
            });
        }
        let there = place.keyspaces.iter().flatten();
        dropped = there.filter(|k| keyspaces.contains(k)).cloned().collect();
        if !dropped.is_empty() && !replace {
            return Err(Misfit::InTheWay {
                cluster: cluster.clone(),
                keyspaces: dropped,
            });
        }
    }
    let taken = || {
        baseline
            .files()
            .filter(|f| whole || is_of(baseline, &f.path))
    };
    let copied = taken().filter(|f| !is_immutable(&baseline.release, &f.path));
    Ok(RestorePlan {
        whole,
        nodes,
        keyspaces,
        dropped,
        files: taken().count(),
        bytes: Bytes(taken().map(|f| f.bytes).sum()),
        copied: Bytes(copied.map(|f| f.bytes).sum()),
    })
}

/// Whether a release reads the files of another: of its own series, and from 4.0 on of the series before it.
fn reads(release: &str, saved: &str) -> bool {
    let all: Vec<&str> = Release::all().iter().map(|r| r.series).collect();
    let place = |series: &str| all.iter().position(|known| *known == series);
    let (own, of_saved) = (place(series(release)), place(series(saved)));
    let older = own.zip(of_saved).is_some_and(|(own, saved)| saved < own);
    series(release) == series(saved) || (older && of_saved >= place("4.0"))
}

/// Whether a file belongs to a table of the baseline's own keyspaces, and so may go to another cluster.
fn is_of(baseline: &Baseline, path: &str) -> bool {
    table_folder(path).is_some_and(|folder| {
        !is_system_keyspace(folder.keyspace)
            && baseline.tables.iter().any(|t| {
                t.keyspace == folder.keyspace && t.table == folder.table && t.id == folder.id
            })
    })
}

fn pairs(baseline: &Baseline, place: &Place) -> Result<Vec<Pair>, Misfit> {
    let sorted = |tokens: &[i64]| {
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens
    };
    let pair = |saved: &SavedNode| {
        let tokens = sorted(&saved.tokens);
        let node = place.nodes.iter().find(|n| sorted(&n.tokens) == tokens);
        let node = node.ok_or_else(|| Misfit::Tokens {
            tag: baseline.tag.clone(),
            node: saved.name.clone(),
            tokens: tokens.len(),
            cluster: place.name.clone(),
        })?;
        if (&node.data_center, &node.rack) != (&saved.data_center, &saved.rack) {
            return Err(Misfit::Standing {
                tag: baseline.tag.clone(),
                saved: format!("{}/{}", saved.data_center, saved.rack),
                cluster: place.name.clone(),
                node: node.name.clone(),
                has: format!("{}/{}", node.data_center, node.rack),
            });
        }
        Ok(Pair {
            from: saved.name.clone(),
            to: node.name.clone(),
        })
    };
    baseline.nodes.iter().map(pair).collect()
}

impl Baseline {
    /// Where a file of this baseline lies in another cluster, whose tables have the given ids; none for files
    /// that never leave their cluster.
    pub fn place_elsewhere(&self, path: &str, tables: &[SavedTable]) -> Option<String> {
        if !is_of(self, path) {
            return None;
        }
        let folder = table_folder(path)?;
        let new = tables
            .iter()
            .find(|t| t.keyspace == folder.keyspace && t.table == folder.table)?;
        Some(folder.with_id(&new.id))
    }
}
