//! The nodes of every user of this machine, as far as the kernel shows processes of others: user, cluster, node, address,
//! memory. Refuses to read anybody's files, and to show a folder: command lines of nodes have no secret, but paths are private.

use fs_err as fs;
use helenus_model::units::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A node of any user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SomebodysNode {
    /// Name of the user; the number where it has none.
    pub user: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the node.
    pub node: String,
    /// Its address, where its command line has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its process.
    pub pid: i32,
    /// Memory that its process has in use, in bytes; mapped files are counted, too.
    pub resident_bytes: u64,
}

/// What stands in a node's command line before the path of its cassandra.yaml.
const CONFIG: &str = "-Dcassandra.config=file://";

/// What stands before its address.
const ADDRESS: &str = "-Djava.rmi.server.hostname=";

/// The nodes that helenus started, of all users, sorted. Where the kernel hides other users' processes (`hidepid`), only
/// those that it shows.
///
/// # Errors
/// There is no `/proc`.
pub fn nodes() -> std::io::Result<Vec<SomebodysNode>> {
    let users = users(&fs::read_to_string("/etc/passwd").unwrap_or_default());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        found.extend(node(pid, &entry.path(), &users));
    }
    found.sort();
    Ok(found)
}

fn node(pid: i32, process: &Path, users: &BTreeMap<u32, String>) -> Option<SomebodysNode> {
    let line = fs::read(process.join("cmdline")).ok()?;
    let (cluster, node, address) = named(&String::from_utf8_lossy(&line))?;
    let uid = fs::metadata(process).ok()?.uid();
    let pages = fs::read_to_string(process.join("statm")).ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(SomebodysNode {
        user: users.get(&uid).cloned().unwrap_or_else(|| uid.to_string()),
        cluster,
        node,
        address,
        pid,
        resident_bytes: Bytes(pages * rustix::param::page_size() as u64).0,
    })
}

/// Cluster, node and address in a command line; none where it is no node of ours: those lie in
/// `clusters/CLUSTER/NODE/conf`.
fn named(line: &str) -> Option<(String, String, Option<String>)> {
    let words: Vec<&str> = line.split('\0').collect();
    let config = words.iter().find_map(|word| word.strip_prefix(CONFIG))?;
    let mut parts = config.rsplit('/');
    let (_, conf, node, cluster, of) = (
        parts.next()?,
        parts.next()?,
        parts.next()?,
        parts.next()?,
        parts.next()?,
    );
    let address = words.iter().find_map(|word| word.strip_prefix(ADDRESS));
    (conf == "conf" && of == "clusters").then(|| {
        (
            cluster.to_owned(),
            node.to_owned(),
            address.map(str::to_owned),
        )
    })
}

fn users(passwd: &str) -> BTreeMap<u32, String> {
    let user = |line: &str| {
        let mut cells = line.split(':');
        let name = cells.next()?;
        Some((cells.nth(1)?.parse().ok()?, name.to_owned()))
    };
    passwd.lines().filter_map(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_known_by_their_command_lines() {
        let line = "java\0-Dcassandra.config=file:///home/a/.local/state/helenus/clusters/demo/node2/conf/cassandra.yaml\0-Djava.rmi.server.hostname=127.1.2.3\0-jar\0x.jar";
        let expected = (
            "demo".to_owned(),
            "node2".to_owned(),
            Some("127.1.2.3".to_owned()),
        );
        assert_eq!(named(line), Some(expected));
        assert_eq!(
            named("java\0-Dcassandra.config=file:///etc/cassandra/cassandra.yaml"),
            None
        );
        assert_eq!(named("java\0-jar\0x.jar"), None);
        let users =
            users("root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n");
        assert_eq!(users.get(&1000).map(String::as_str), Some("ann"));
    }
}
