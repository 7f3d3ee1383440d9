//! What a reset sees of each node: that it is ours, its schema's version, what its tables took, its files.
//! Refuses to ask for a connection whose listener is not the process that holds our claim.

use super::ResetError;
use crate::attach;
use crate::error::ClusterError;
use crate::guard;
use crate::parallel;
use crate::reach;
use crate::reach::cql_address;
use crate::socket::listens;
use crate::state::{ClusterState, NodeCondition, condition, started_at};
use fs_err as fs;
use helenus_cql::codec::Consistency;
use helenus_cql::{Client, ClientError};
use helenus_model::plan::NodePlan;
use helenus_model::reset::{Element, ElementKind, Seen, Writes};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for a connection and for each answer; a truncation has its own.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A file, whatever its names.
pub(crate) type Inode = (u64, u64);

/// A node that was proved ours, with a connection to it.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) pid: i32,
    pub(crate) client: Client,
    pub(crate) schema_version: Option<String>,
    pub(crate) seen: Seen,
    /// Data components of each table, as `keyspace.table`.
    pub(crate) data_files: BTreeMap<String, BTreeSet<Inode>>,
    /// Folders of snapshots and incremental backups.
    pub(crate) snapshots: Vec<PathBuf>,
    /// Whether this process was ever opened for MBeans.
    pub(crate) opened: bool,
}

/// Every node, all at once; first that they all run.
pub(crate) fn all(state: &ClusterState) -> Result<Vec<Node>, ClusterError> {
    guard::no_stranger(state)?;
    let mut pids = Vec::new();
    for plan in &state.plan.nodes {
        let wanted = state.nodes[&plan.name].wanted;
        match condition(plan, wanted).map_err(ClusterError::io("the node's claim"))? {
            (NodeCondition::Running, Some(pid)) => pids.push(pid),
            (condition, _) => {
                return Err(ResetError::down(&state.plan.name, &plan.name, condition).into());
            }
        }
    }
    let nodes = state.plan.nodes.iter().zip(pids);
    let looked = parallel::map(nodes, |(plan, pid)| one(state, plan, pid));
    looked.into_iter().collect()
}

/// A connection to one node.
pub(crate) fn connect(state: &ClusterState, plan: &NodePlan) -> Result<Client, ClientError> {
    reach::connect(state, plan, ANSWER_WITHIN)
}

fn one(state: &ClusterState, plan: &NodePlan, pid: i32) -> Result<Node, ClusterError> {
    let host = cql_address(&state.plan, plan);
    let foreign = |why: String| ResetError::Foreign { host, why };
    let silent = |source| ClusterError::silent(&plan.name, source);
    if !listens(pid, host) {
        return Err(foreign("its process does not listen there".into()).into());
    }
    let mut client = connect(state, plan).map_err(silent)?;
    let local = "SELECT host_id, schema_version FROM system.local";
    let local = client.query(local, Consistency::One).map_err(silent)?;
    let known = |id: &str| {
        let mut nodes = state.nodes.values();
        nodes.any(|n| n.host_id.as_deref() == Some(id))
    };
    let peers = "SELECT host_id FROM system.peers";
    let peers = client.query(peers, Consistency::One).map_err(silent)?;
    let strangers = (0..peers.len())
        .filter_map(|row| peers.text(row, "host_id"))
        .filter(|id| !known(id))
        .count();
    if strangers > 0 {
        let why = format!("{strangers} of its peers were not brought up by this cluster");
        return Err(foreign(why).into());
    }
    let id = local.text(0, "host_id").unwrap_or_default();
    if state.nodes[&plan.name].host_id.as_deref() != Some(&id) {
        return Err(foreign(format!("its host id {id} is not the one of {}", plan.name)).into());
    }
    let process = format!("{pid} {}", started_at(pid).unwrap_or_default());
    let folder = Path::new(&plan.folder);
    let storage = PathBuf::from(plan.storage());
    let (mut data_files, mut snapshots) = (BTreeMap::new(), Vec::new());
    for data in plan.data_folders() {
        files(Path::new(&data), &mut data_files, &mut snapshots);
    }
    Ok(Node {
        name: plan.name.clone(),
        pid,
        schema_version: local.text(0, "schema_version"),
        seen: Seen {
            writes: counts(&mut client)
                .map_err(silent)?
                .map(|counts| Writes { process, counts }),
            on_disk: data_files.keys().cloned().collect(),
            hints: has_hints(&storage.join("hints")),
        },
        data_files,
        snapshots,
        opened: attach::was_opened(folder, pid),
        client,
    })
}

/// Writes that each table took since the process started; none where the release has no such table.
fn counts(client: &mut Client) -> Result<Option<BTreeMap<String, i64>>, ClientError> {
    let asked = "SELECT keyspace_name, table_name, count FROM system_views.local_write_latency";
    let rows = match client.query(asked, Consistency::One) {
        Ok(rows) => rows,
        Err(error) if error.server().is_some() => return Ok(None),
        Err(error) => return Err(error),
    };
    let of = |row: usize| {
        let text = |column| rows.text(row, column);
        let name = format!("{}.{}", text("keyspace_name")?, text("table_name")?);
        Some((name, text("count")?.parse().ok()?))
    };
    Ok(Some((0..rows.len()).filter_map(of).collect()))
}

/// Tables with SSTables, and folders of snapshots and backups. Folders are `keyspace/table-id`.
fn files(
    data: &Path,
    tables: &mut BTreeMap<String, BTreeSet<Inode>>,
    leftovers: &mut Vec<PathBuf>,
) {
    for keyspace in entries(data) {
        let name = file_name(&keyspace);
        if helenus_model::guard::is_system_keyspace(&name) {
            continue;
        }
        for table in entries(&keyspace) {
            let bare = file_name(&table);
            let bare = bare
                .rsplit_once('-')
                .map_or(bare.as_str(), |(table, _)| table);
            for entry in entries(&table) {
                let file = file_name(&entry);
                if file.ends_with("-Data.db") {
                    // One that is gone by now makes the table differ from what belongs there all the same.
                    let inode = fs::metadata(&entry).map_or((0, 0), |m| (m.dev(), m.ino()));
                    tables
                        .entry(format!("{name}.{bare}"))
                        .or_default()
                        .insert(inode);
                }
                if ["snapshots", "backups"].contains(&file.as_str()) && !entries(&entry).is_empty()
                {
                    leftovers.push(entry);
                }
            }
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |found| found.filter_map(|e| Some(e.ok()?.path())).collect(),
    )
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn has_hints(folder: &Path) -> bool {
    entries(folder)
        .iter()
        .any(|file| file.extension().is_some_and(|e| e == "hints"))
}

/// The schema as the server describes it, without Cassandra's own keyspaces.
pub(crate) fn schema(node: &mut Node) -> Result<Vec<Element>, ClusterError> {
    let rows = node
        .client
        .query("DESCRIBE SCHEMA", Consistency::One)
        .map_err(|source| ClusterError::silent(&node.name, source))?;
    let of = |row: usize| {
        let text = |column| rows.text(row, column);
        Some(Element {
            keyspace: text("keyspace_name")?,
            kind: ElementKind::parse(&text("type")?)?,
            name: text("name")?,
            create: text("create_statement")?,
        })
    };
    let own = |e: &Element| {
        !helenus_model::guard::is_system_keyspace(&helenus_model::reset::bare(&e.keyspace))
    };
    Ok((0..rows.len()).filter_map(of).filter(own).collect())
}

/// The schema's version as this node has it now.
pub(crate) fn schema_version(node: &mut Node) -> Result<Option<String>, ClusterError> {
    let rows = node
        .client
        .query("SELECT schema_version FROM system.local", Consistency::One)
        .map_err(|source| ClusterError::silent(&node.name, source))?;
    Ok(rows.text(0, "schema_version"))
}

/// What each node's tables took when they were looked at.
pub(crate) fn writes(nodes: &[Node]) -> BTreeMap<String, Writes> {
    nodes
        .iter()
        .filter_map(|n| Some((n.name.clone(), n.seen.writes.clone()?)))
        .collect()
}
