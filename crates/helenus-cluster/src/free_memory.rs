//! Memory that new nodes may be planned into: free now, less what running nodes were promised and do not use yet.
//! Refuses to count a promise twice: what a node has touched is no longer free by itself.

use crate::alive;
use crate::disk;
use crate::machine;
use crate::state::{ClusterState, Clusters, Wanted};
use fs_err as fs;
use helenus_model::units::Bytes;
use std::path::Path;

/// Memory that is free for nodes that are not there yet.
pub fn available(clusters: &Clusters) -> Bytes {
    let free = machine::available_memory();
    let promised: u64 = clusters
        .names()
        .unwrap_or_default()
        .iter()
        .filter_map(|name| clusters.load(name).ok())
        .map(|state| promised(&state).0)
        .sum();
    Bytes(free.0.saturating_sub(promised))
}

/// What the nodes of a cluster that run, or are about to, were planned to come to and have not touched yet.
fn promised(state: &ClusterState) -> Bytes {
    let nodes = state.plan.nodes.iter();
    let running = nodes.filter(|node| {
        state
            .nodes
            .get(&node.name)
            .is_some_and(|kept| kept.wanted == Wanted::Running)
    });
    let left = running.map(|node| {
        let holder = alive::holder(Path::new(&node.folder)).ok().flatten();
        // One that died takes nothing, and gets nothing until it is started again.
        let plan = state.plan.memory_of(node);
        holder.zip(plan).map_or(0, |(pid, plan)| {
            let touched = anonymous(pid.as_raw_pid()).unwrap_or_default();
            let written = disk::look(node).map_or(0, |disk| disk.used.0);
            let left = plan.disk.0.saturating_sub(written);
            plan.anonymous().0.saturating_sub(touched) + left
        })
    });
    Bytes(left.sum())
}

/// Anonymous memory of a process, from the cheapest file that contains it.
fn anonymous(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
