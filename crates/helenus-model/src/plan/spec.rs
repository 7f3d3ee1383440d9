//! The cluster that a person wants, before anything is known of the machine.
//! Refuses facts of machine and network: the request of a plan adds them.

use super::{Folders, NodeWords};
use crate::access::Security;
use crate::memory::DiskLimit;
use crate::preset::PresetName;
use crate::topology::Topology;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The cluster that a person wants: from flags and files to the plan and the datasets of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterSpec {
    /// Name of the cluster, to Helenus and to Cassandra.
    pub name: String,
    /// Shape.
    pub topology: Topology,
    /// Preset.
    pub preset: PresetName,
    /// `-Xmx` instead of the preset's.
    pub heap: Option<Bytes>,
    /// `-Xmn` instead of the preset's.
    pub new_heap: Option<Bytes>,
    /// Tokens a node.
    pub tokens: u32,
    /// Tokens of the only node, instead of evenly spread ones; empty unless set.
    pub initial_tokens: Vec<i64>,
    /// Checked `cassandra.yaml` keys with their values, over the preset's.
    pub set: Vec<(String, Value)>,
    /// Whether `set` follows a production's file: of the preset only sizes are taken then, and what a node needs.
    pub like: bool,
    /// Flags of the JVM, after all others.
    pub jvm: Vec<String>,
    /// What is asked of clients.
    pub security: Security,
    /// How many such clusters are asked for at once; memory is planned for all of them.
    pub clusters: u32,
    /// Hard limit of each node's memory, where a person says one.
    pub memory_limit: Option<Bytes>,
    /// Processors of each node, where a person says so.
    pub cpus: Option<f64>,
    /// Speed of the disk for each node, where a person says one.
    pub disk_speed: Option<DiskLimit>,
    /// Size of each node's own disk in memory; nodes write to the machine's disk unless set.
    pub disk: Option<Bytes>,
    /// Folders for data on other disks than the cluster's folder.
    pub folders: Folders,
    /// Whether nodes start from a class-data archive, which spares memory too.
    pub archive: bool,
    /// Settings of single nodes, after all others, in the topology's order; empty if there are none.
    pub by_node: Vec<NodeWords>,
}

impl ClusterSpec {
    /// A cluster with nothing but its preset's settings.
    pub fn new(name: impl Into<String>, topology: Topology, preset: PresetName) -> Self {
        Self {
            name: name.into(),
            topology,
            preset,
            heap: None,
            new_heap: None,
            tokens: 1,
            initial_tokens: Vec::new(),
            set: Vec::new(),
            like: false,
            jvm: Vec::new(),
            security: Security::default(),
            clusters: 1,
            memory_limit: None,
            cpus: None,
            disk_speed: None,
            disk: None,
            folders: Folders::default(),
            archive: true,
            by_node: Vec::new(),
        }
    }
}
