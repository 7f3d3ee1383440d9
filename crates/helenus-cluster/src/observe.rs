//! What the nodes of a cluster are now: condition, process, memory by kind.
//! Refuses to ask Cassandra: a stopped or hanging node must be reported too.

use crate::alive::{self, Hidden};
use crate::state::{ClusterState, NodeCondition, condition};
use fs_err as fs;
use helenus_model::smaps::{MemoryByKind, by_kind};
use helenus_model::units::Bytes;
use serde::Serialize;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// A node as `list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeView {
    /// Name.
    pub name: String,
    /// Address of all its listeners.
    pub address: Ipv4Addr,
    /// CQL port.
    pub cql_port: u16,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// What it does.
    pub condition: NodeCondition,
    /// Its process.
    pub pid: Option<i32>,
    /// Cassandra's id of it.
    pub host_id: Option<String>,
    /// Its memory, while it lives.
    pub memory: Option<Memory>,
    /// Whether its class-data archive is mapped; absent where it has none or is not running.
    pub archive_used: Option<bool>,
}

/// Memory of a process in bytes. Shared pages count in parts in the proportional (`pss_`) figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Memory {
    /// Resident, shared pages in full.
    pub rss_bytes: u64,
    /// Proportional set size.
    pub pss_bytes: u64,
    /// Of it: heap, metaspace, stacks, malloc.
    pub pss_anon_bytes: u64,
    /// Of it: mapped files, such as jars, archive, SSTables.
    pub pss_file_bytes: u64,
    /// Of it: shared memory.
    pub pss_shmem_bytes: u64,
    /// Threads.
    pub threads: u32,
}

/// All nodes of a cluster.
///
/// # Errors
/// A claim cannot be asked.
pub fn nodes(state: &ClusterState) -> io::Result<Vec<NodeView>> {
    state
        .plan
        .nodes
        .iter()
        .map(|node| {
            let kept = &state.nodes[&node.name];
            let (condition, pid) = match condition(node, kept.wanted) {
                // It lives in another PID namespace, and has no number here.
                Err(error) if Hidden::is(&error) => (NodeCondition::Running, None),
                known => known?,
            };
            let archive = state.runtime_of(&node.name).archive.as_ref();
            Ok(NodeView {
                name: node.name.clone(),
                address: node.address,
                cql_port: state.plan.ports.cql,
                data_center: node.data_center.clone(),
                rack: node.rack.clone(),
                condition,
                pid,
                host_id: kept.host_id.clone(),
                memory: pid.and_then(memory),
                archive_used: pid.zip(archive).and_then(|(pid, archive)| {
                    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
                    Some(maps.contains(&*archive.to_string_lossy()))
                }),
            })
        })
        .collect()
}

/// Each node and its process, if it has one: cheap enough for every second.
pub fn pids(state: &ClusterState) -> Vec<(&str, Option<i32>)> {
    let pid = |folder: &str| alive::holder(Path::new(folder)).ok().flatten();
    state
        .plan
        .nodes
        .iter()
        .map(|node| {
            (
                node.name.as_str(),
                pid(&node.folder).map(|pid| pid.as_raw_pid()),
            )
        })
        .collect()
}

/// Memory of a process by kind; none when it is gone or not ours to see. Costs a walk over all its pages.
pub fn memory_by_kind(pid: i32, heap: Bytes) -> Option<MemoryByKind> {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    Some(by_kind(&smaps, heap))
}

/// Memory of a process; none when it is gone or not ours to see.
pub fn memory(pid: i32) -> Option<Memory> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |key: &str| -> u64 {
        rollup
            .lines()
            .find_map(|l| {
                l.strip_prefix(key)?
                    .strip_prefix(':')?
                    .trim()
                    .strip_suffix("kB")
            })
            .and_then(|n| n.trim().parse::<u64>().ok())
            .unwrap_or_default()
            << 10
    };
    let threads = status
        .lines()
        .find_map(|l| l.strip_prefix("Threads:")?.trim().parse().ok());
    Some(Memory {
        rss_bytes: kib("Rss"),
        pss_bytes: kib("Pss"),
        pss_anon_bytes: kib("Pss_Anon"),
        pss_file_bytes: kib("Pss_File"),
        pss_shmem_bytes: kib("Pss_Shmem"),
        threads: threads.unwrap_or_default(),
    })
}
