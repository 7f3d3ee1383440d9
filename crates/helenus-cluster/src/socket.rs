//! Who listens at an address: a socket belongs to a process, an address and a port to whoever was first.
//! Refuses an answer as proof: any program can give it.

use crate::alive;
use fs_err as fs;
use helenus_model::plan::NodePlan;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Whether who listens there is the process that holds the node's claim.
pub(crate) fn is_node_s_own(node: &NodePlan, address: SocketAddr) -> bool {
    let holder = alive::holder(Path::new(&node.folder)).ok().flatten();
    holder.is_some_and(|pid| listens(pid.as_raw_pid(), address))
}

/// Whether the socket that listens at `address` belongs to the process.
pub(crate) fn listens(pid: i32, address: SocketAddr) -> bool {
    let IpAddr::V4(ip) = address.ip() else {
        return false;
    };
    // The kernel prints an address as the number that its four bytes make on this machine.
    let wanted = format!(
        "{:08X}:{:04X}",
        u32::from_ne_bytes(ip.octets()),
        address.port()
    );
    let Ok(table) = fs::read_to_string(format!("/proc/{pid}/net/tcp")) else {
        return false;
    };
    let table6 = fs::read_to_string(format!("/proc/{pid}/net/tcp6")).unwrap_or_default();
    // A JVM listens through IPv6 sockets with mapped addresses.
    let mapped = format!("0000000000000000FFFF0000{wanted}");
    let inode = table.lines().chain(table6.lines()).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = *fields.get(1)?;
        let listening = *fields.get(3)? == "0A";
        let ours = listening && (local == wanted || local == mapped);
        fields
            .get(9)
            .filter(|_| ours)
            .map(|inode| (*inode).to_owned())
    });
    let Some(inode) = inode else { return false };
    let socket = format!("socket:[{inode}]");
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    entries
        .filter_map(Result::ok)
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy() == socket))
}
