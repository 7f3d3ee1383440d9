//! Nodes that have another preset or disk than their cluster: settings, heap and memory in place of the cluster's.
//! Refuses another release: a cluster has one.

use super::{ClusterPlan, Folders, NodePlan, Pin, PlanError, PlanRequest, heap_of};
use crate::memory::MemoryPlan;
use crate::preset::{Heap, PresetName};
use crate::release::Release;
use crate::units::Bytes;
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one node is given for itself: a preset, checked settings, flags, the size of its disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeWords {
    /// Preset in place of the cluster's.
    pub preset: Option<PresetName>,
    /// Checked `cassandra.yaml` keys with their values.
    pub set: Vec<(String, Value)>,
    /// Flags of the JVM.
    pub jvm: Vec<String>,
    /// Size of its own disk in memory, in place of the cluster's.
    pub disk: Option<Bytes>,
    /// `-Xmx` in place of the cluster's.
    pub heap: Option<Bytes>,
    /// `-Xmn` in place of the cluster's.
    pub new_heap: Option<Bytes>,
    /// Processors and memory.
    pub pin: Option<Pin>,
    /// Folders for data in place of the cluster's.
    pub folders: Option<Folders>,
}

/// What a node has of its own preset, or for its own disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OwnPlan {
    /// Preset.
    pub preset: PresetName,
    /// Heap.
    pub heap: Heap,
    /// Memory by kind.
    pub memory: MemoryPlan,
    /// Hard limit of its memory; absent where none is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
}

impl ClusterPlan {
    /// The preset of a node.
    pub fn preset_of(&self, node: &NodePlan) -> PresetName {
        node.own.map_or(self.preset, |own| own.preset)
    }

    /// The heap of a node.
    pub fn heap_of(&self, node: &NodePlan) -> Heap {
        node.own.map_or(self.heap, |own| own.heap)
    }

    /// The memory of a node by kind; absent where the cluster's is.
    pub fn memory_of(&self, node: &NodePlan) -> Option<MemoryPlan> {
        node.own.map_or(self.memory, |own| Some(own.memory))
    }

    /// Presets of the nodes with their heaps, each once, in the order of the nodes.
    pub fn presets(&self) -> Vec<(PresetName, Heap)> {
        let mut all: Vec<(PresetName, Heap)> = Vec::new();
        for node in &self.nodes {
            let preset = self.preset_of(node);
            if all.iter().all(|(known, _)| *known != preset) {
                all.push((preset, self.heap_of(node)));
            }
        }
        all
    }
}

/// The preset of a node, by its number in the topology's order.
pub(super) fn preset(request: &PlanRequest, index: usize) -> PresetName {
    let own = request
        .spec
        .by_node
        .get(index)
        .and_then(|words| words.preset);
    own.unwrap_or(request.spec.preset)
}

/// The heap of a node of that preset, by its number in the topology's order; of the cluster without one. Beside a heap
/// of its own the cluster's young generation does not count.
///
/// # Errors
/// As [`heap_of`].
pub(super) fn heap(
    request: &PlanRequest,
    index: Option<usize>,
    preset: PresetName,
    release: &Release,
) -> Result<Heap, PlanError> {
    let nodes = request.spec.topology.nodes() * request.spec.clusters.max(1) as usize;
    let own = index.and_then(|index| request.spec.by_node.get(index));
    let said = match own {
        Some(own) if own.heap.is_some() => (own.heap, own.new_heap),
        Some(own) => (request.spec.heap, own.new_heap.or(request.spec.new_heap)),
        None => (request.spec.heap, request.spec.new_heap),
    };
    heap_of(request, said, preset, release, nodes)
}

/// What a node that was planned has of its own; nothing where its preset, its heap and its disk are the cluster's.
pub(super) fn of(
    request: &PlanRequest,
    preset: PresetName,
    (heap, of_cluster): (Heap, Heap),
    node: &NodePlan,
) -> Option<OwnPlan> {
    let yaml = yaml::parse(&node.yaml).unwrap_or_default();
    let differs =
        preset != request.spec.preset || node.disk != request.spec.disk || heap != of_cluster;
    differs.then(|| OwnPlan {
        preset,
        heap,
        memory: MemoryPlan::of(heap.heap, &yaml, &node.jvm, request.spec.archive)
            .with_disk(node.disk),
        limit: None,
    })
}
