//! Where a node lies on the machine: its processors, the NUMA nodes of its memory, its folders on other disks.
//! Refuses a folder that another node or cluster could have.

use super::NodePlan;
use crate::machine::Cpus;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a node's process may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Processors that its threads run on.
    pub cpus: Cpus,
    /// NUMA nodes that its memory comes from; any where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa: Vec<u32>,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "processors {}", self.cpus)?;
        let numa: Vec<String> = self.numa.iter().map(u32::to_string).collect();
        match &numa[..] {
            [] => Ok(()),
            [one] => write!(f, ", memory of NUMA node {one}"),
            some => write!(f, ", memory of NUMA nodes {}", some.join(" and ")),
        }
    }
}

/// Folders for data, below which nodes have their own; or those of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Folders {
    /// For data, one a disk; all else that a node writes goes to the first.
    pub data: Vec<String>,
    /// For the commit log; beside the first data where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitlog: Option<String>,
}

impl Folders {
    /// Whether none is named: data stay in the cluster's folder.
    pub fn is_none(&self) -> bool {
        self.data.is_empty() && self.commitlog.is_none()
    }

    /// Those of one node.
    pub(super) fn of(&self, cluster: &str, node: &str) -> Self {
        let own = |folder: &String| format!("{}/{cluster}-{node}", folder.trim_end_matches('/'));
        Self {
            data: self.data.iter().map(own).collect(),
            commitlog: self.commitlog.as_ref().map(own),
        }
    }

    /// Where data and commit log are, in words; empty where no folder is named.
    pub fn words(&self) -> Vec<String> {
        let data = (!self.data.is_empty()).then(|| format!("data in {}", self.data.join(" and ")));
        let log = self
            .commitlog
            .as_ref()
            .map(|log| format!("commit log in {log}"));
        data.into_iter().chain(log).collect()
    }

    /// Each folder once.
    pub fn all(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self
            .data
            .iter()
            .chain(&self.commitlog)
            .map(String::as_str)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl NodePlan {
    /// Folders of its data files; the first has the system tables, too.
    pub fn data_folders(&self) -> Vec<String> {
        data_folders(&self.folders, &self.storage())
    }

    /// Folder of its commit log.
    pub fn commitlog(&self) -> String {
        commitlog(&self.folders, &self.storage())
    }
}

/// The same of a node that is being planned.
pub(super) fn data_folders(folders: &Folders, storage: &str) -> Vec<String> {
    match &folders.data[..] {
        [] => vec![format!("{storage}/data")],
        some => some.iter().map(|folder| format!("{folder}/data")).collect(),
    }
}

/// The same of a node that is being planned.
pub(super) fn commitlog(folders: &Folders, storage: &str) -> String {
    let folder = folders.commitlog.as_deref().unwrap_or(storage);
    format!("{folder}/commitlog")
}
