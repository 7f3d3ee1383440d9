//! Disks of limited size: which node has one, where its files then are, and how small one may be.
//! Refuses a disk on which a fresh node could not begin.

use super::{Folders, NodePlan, PlanError, PlanRequest};
use crate::memory;
use crate::units::Bytes;
use crate::yaml;
use serde_json::Value;

/// Folder of a node's disk of limited size, in the node's folder.
const DISK_FOLDER: &str = "disk";

/// Cassandra's own size of a commit log segment unless set (`Config.commitlog_segment_size`).
const SEGMENT: Bytes = Bytes::mib(32);

/// Segments that a node has at least: the one that is written, the one that is ready, and one that is being flushed.
const SEGMENTS: u64 = 3;

/// What Cassandra keeps free for itself on each disk by default (`Config.min_free_space_per_drive`): with less it
/// flushes and compacts nothing.
const KEPT_FREE: Bytes = Bytes::mib(50);

/// Room for the system's tables, saved caches, hints and the first rows.
const TABLES: Bytes = Bytes::mib(32);

impl NodePlan {
    /// Folder of everything that Cassandra writes as data: data files, commit log, hints, saved caches, change data.
    pub fn storage(&self) -> String {
        storage(&self.folder, self.disk, &self.folders)
    }
}

/// The same of a node that is being planned.
pub(super) fn storage(folder: &str, disk: Option<Bytes>, folders: &Folders) -> String {
    match (folders.data.first(), disk) {
        (Some(first), _) => first.clone(),
        (None, Some(_)) => format!("{folder}/{DISK_FOLDER}"),
        (None, None) => folder.to_owned(),
    }
}

/// The disk of a node, by its number in the topology's order: its own, else the cluster's.
pub(super) fn of(request: &PlanRequest, index: usize) -> Option<Bytes> {
    let own = request.spec.by_node.get(index).and_then(|words| words.disk);
    own.or(request.spec.disk)
}

/// What a node makes of a disk that fails, unless somebody says otherwise, or a production's file is followed: what the cassandra.yaml of every release says.
/// Left out, Cassandra takes `ignore`, and serves on with tables that it cannot flush.
pub(super) fn policy(disk: Option<Bytes>, like: bool) -> Option<(String, Value)> {
    let disk = disk.filter(|_| !like);
    disk.map(|_| ("disk_failure_policy".to_owned(), "stop".into()))
}

/// Refuses a disk on which a fresh node could not begin.
pub(super) fn check(nodes: &[NodePlan]) -> Result<(), PlanError> {
    for node in nodes {
        let yaml = yaml::parse(&node.yaml).unwrap_or_default();
        let (least, segment) = least(&yaml);
        if let Some(asked) = node.disk.filter(|asked| *asked < least) {
            return Err(PlanError::Disk {
                node: node.name.clone(),
                asked,
                least,
                segment,
            });
        }
    }
    Ok(())
}

/// What a fresh node needs, and the size of a segment of its commit log, by its settings.
pub(super) fn least(yaml: &Value) -> (Bytes, Bytes) {
    let segment = memory::size(yaml, "commitlog_segment_size").unwrap_or(SEGMENT);
    let kept_free = memory::size(yaml, "min_free_space_per_drive").unwrap_or(KEPT_FREE);
    let log = Bytes(segment.0.saturating_mul(SEGMENTS));
    (log + kept_free + TABLES, segment)
}
