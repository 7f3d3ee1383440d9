//! A node's own disk filled to its last page by one file, freed again, and the nodes that ended of it.
//! Refuses a disk that is not the node's alone.

use crate::disk;
use crate::process;
use crate::reach;
use crate::reach::cql_address;
use crate::remove;
use crate::state::{ClusterState, NodeCondition};
use crate::stored::there;
use fs_err as fs;
use helenus_model::plan::NodePlan;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that fills a disk, at its top, where Cassandra looks at nothing.
const FILE: &str = "filled-by-helenus-fault-disk-full";

/// How often the rest is taken: a node may write, and delete, meanwhile.
const TRIES: u32 = 200;

/// How long after a disk has room again a node is looked at: what failed before may still be ending it.
const SETTLES: Duration = Duration::from_millis(500);

/// Longest wait for a node's port.
const SERVES_WITHIN: Duration = Duration::from_secs(5);

fn file_of(node: &NodePlan) -> PathBuf {
    Path::new(&node.storage()).join(FILE)
}

/// Fills a node's disk; nothing is free then.
///
/// # Errors
/// It has none that is mounted here, the kernel refuses, or the node frees what is taken again and again.
pub(super) fn make(node: &NodePlan) -> io::Result<()> {
    if disk::look(node).is_none() {
        let why = "it is not mounted in the mount namespace of this process";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    let path = file_of(node);
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    for _ in 0..TRIES {
        let stat = fstatvfs(&file)?;
        let free = stat.f_bavail * stat.f_frsize;
        if free == 0 {
            return Ok(());
        }
        let taken = file.metadata()?.len();
        match fallocate(&file, FallocateFlags::empty(), taken, free) {
            // The node was quicker: what is left now is asked again.
            Ok(()) | Err(Errno::NOSPC | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("the node frees what is taken"))
}

/// Whether the disk is filled: a node that deletes files has room again, and the fault holds on.
pub(super) fn holds(node: &NodePlan) -> bool {
    file_of(node).exists()
}

/// Frees a node's disk; one that is free stays so.
///
/// # Errors
/// The file stays.
pub(super) fn undo(node: &NodePlan) -> io::Result<()> {
    there(fs::remove_file(file_of(node))).map(drop)
}

/// Those of the nodes that Cassandra ended, or that it keeps without serving (`disk_failure_policy: stop`); the latter
/// are ended here, for they do not serve again by themselves. To be asked when their disks are free.
pub(super) fn ended(state: &ClusterState, nodes: &[String]) -> Vec<String> {
    std::thread::sleep(SETTLES);
    let mut ended = Vec::new();
    for node in nodes {
        let Ok(plan) = state.node(node) else { continue };
        match super::conditions(state, node) {
            Some(NodeCondition::Died) => ended.push(node.clone()),
            Some(NodeCondition::Running) if !serves(state, plan) => {
                if let Ok(Some(pid)) = super::pid_of(state, node) {
                    // What it wrote is in its files, and its commit log is replayed.
                    process::end(pid, Duration::ZERO);
                    remove::forget_attach(pid.as_raw_pid());
                }
                ended.push(node.clone());
            }
            // Of one that is paused nothing can be known, and one that was stopped is a person's.
            _ => {}
        }
    }
    ended
}

fn serves(state: &ClusterState, node: &NodePlan) -> bool {
    reach::dial(state, cql_address(&state.plan, node), SERVES_WITHIN).is_ok()
}
