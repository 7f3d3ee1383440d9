//! Reads the facts of this machine from the kernel.
//! Refuses to decide anything by them.

use fs_err as fs;
use helenus_model::machine::Machine;
use helenus_model::units::Bytes;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

mod devices;
mod snapshot;
pub(crate) use snapshot::Files;
pub use snapshot::{cores, snapshot, usable};

/// This machine, as far as this process may use it.
pub fn read() -> Machine {
    let uname = rustix::system::uname();
    Machine {
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory: memory(),
        arch: uname.machine().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        processor: processor(),
    }
}

/// Physical memory, or our cgroup's limit where that is lower.
fn memory() -> Bytes {
    let physical = meminfo("MemTotal").unwrap_or(Bytes(u64::MAX));
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limit = limits
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
        .map(Bytes)
        .min();
    limit.map_or(physical, |limit| limit.min(physical))
}

/// Memory that is free on it, as far as this process may use it.
pub fn available_memory() -> Bytes {
    let memory = memory();
    meminfo("MemAvailable").map_or(memory, |free| free.min(memory))
}

/// A line of /proc/meminfo.
pub fn meminfo(key: &str) -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

/// Nodes of memory that its processors reach at different speeds; one where the kernel reports none.
pub fn numa_nodes() -> usize {
    numa_nodes_in(Path::new("/sys/devices/system/node"))
}

fn numa_nodes_in(folder: &Path) -> usize {
    let is_node = |name: &str| {
        let digits = name.strip_prefix("node").unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let there = fs::read_dir(folder).into_iter().flatten().flatten();
    let nodes = there.filter(|entry| entry.file_name().to_str().is_some_and(is_node));
    nodes.count().max(1)
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|l| l.strip_prefix("model name"))
        .and_then(|l| l.split_once(':'))
        .map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

/// Free space of the file system that holds `path` or its nearest existing parent.
///
/// # Errors
/// The kernel does not report it.
pub fn free_space(path: &Path) -> std::io::Result<Bytes> {
    let mut place = path;
    while !place.exists() {
        let Some(parent) = place.parent() else { break };
        place = parent;
    }
    let stat = rustix::fs::statvfs(place)?;
    Ok(Bytes(stat.f_bavail * stat.f_frsize))
}

/// Addresses of the machine below `root`, outside of 127/8.
pub(crate) fn addresses(root: &Path) -> BTreeSet<Ipv4Addr> {
    devices::local_addresses(Files(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_memory_is_free_than_there_is() {
        let free = available_memory();
        assert!(free > Bytes(0) && free <= read().memory, "{free}");
    }

    #[test]
    fn numa_nodes_are_folders_with_a_number() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(numa_nodes_in(&dir.path().join("none")), 1);
        for name in ["node0", "node1", "node", "nodes2", "possible", "node12"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(numa_nodes_in(dir.path()), 3);
    }
}
