//! A cluster as one of its nodes reports it over CQL: the values behind `status`, without JMX and without scraping.
//! Refuses to print them.

use crate::error::ClusterError;
use crate::observe;
use crate::old_tables;
use crate::parallel;
use crate::reach;
use crate::state::{self, ClusterState, NodeCondition};
use fs_err as fs;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use helenus_model::plan::NodePlan;
use helenus_model::status::{ClusterView, Keyspace, Node, Reach, State, load_from_gossip};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A node that takes longer to answer `SELECT … FROM system.local` is down for a person, unless its process runs.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// What a node whose process runs may take: a loaded one is slow, not down.
const BUSY_WITHIN: Duration = Duration::from_secs(10);

/// A node whose process lives, and which did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// Node.
    pub node: String,
    /// Whether it was paused.
    pub paused: bool,
    /// Why, in a sentence.
    pub why: String,
}

/// Asks the first node that answers; whether each of the others answers is asked of itself.
///
/// # Errors
/// No node answers.
pub fn read(state: &ClusterState) -> Result<ClusterView, ClusterError> {
    read_with_silent(state, false).map(|(view, _)| view)
}

/// [`read`], with the nodes that live and did not answer. With `or_planned` the plan stands in where nodes answer and
/// none reports the others: it knows no keyspaces.
///
/// # Errors
/// As [`read`].
pub fn read_with_silent(
    state: &ClusterState,
    or_planned: bool,
) -> Result<(ClusterView, Vec<Silent>), ClusterError> {
    let asked = Asked::all(state);
    let view = match asked.reported {
        Some(view) => view,
        None if or_planned && !asked.up.is_empty() => planned(state),
        None => return Err(no_answer(state, asked.last)),
    };
    let view = with_our_eyes(view, &state.plan.nodes, &asked.up);
    Ok((view, asked.silent))
}

/// What all nodes answered.
#[derive(Default)]
struct Asked {
    /// What the first said that said something.
    reported: Option<ClusterView>,
    up: Vec<IpAddr>,
    silent: Vec<Silent>,
    /// The last failure.
    last: Option<(String, ClientError)>,
}

impl Asked {
    fn all(state: &ClusterState) -> Self {
        let nodes = &state.plan.nodes;
        // All at once: one that is slow holds up nobody else.
        let clients = parallel::map(nodes, |node| connect(state, node));
        let mut all = Self::default();
        for (node, client) in nodes.iter().zip(clients) {
            let said = match client {
                Ok(mut client) => {
                    all.up.push(IpAddr::from(node.address));
                    let of_others = all.reported.is_none().then(|| view(&mut client));
                    of_others.transpose()
                }
                Err(error) => {
                    all.silent.extend(silent_one(state, node, &error));
                    Err(error)
                }
            };
            match said {
                Ok(view) => all.reported = all.reported.or(view),
                Err(error) => all.last = Some((node.name.clone(), error)),
            }
        }
        all
    }
}

fn no_answer(state: &ClusterState, last: Option<(String, ClientError)>) -> ClusterError {
    let (node, source) = last.unwrap_or_else(|| {
        let during = "the search for a node";
        (state.plan.name.clone(), ClientError::Closed { during })
    });
    ClusterError::silent(node, source)
}

/// Whether each node of ours answers, and the size of its files: a peer reports of both what it heard a minute ago.
fn with_our_eyes(mut view: ClusterView, ours: &[NodePlan], up: &[IpAddr]) -> ClusterView {
    for node in &mut view.nodes {
        let of_ours = |plan: &&NodePlan| IpAddr::from(plan.address) == node.address;
        if let Some(plan) = ours.iter().find(of_ours) {
            node.load_bytes = on_disk(plan).or(node.load_bytes);
            node.reach = if up.contains(&node.address) {
                Reach::Up
            } else {
                Reach::Down
            };
        }
    }
    view
}

/// A connection to a node that answers on it. One that is paused, or has no process, gets no long wait.
fn connect(state: &ClusterState, node: &NodePlan) -> Result<Client, ClientError> {
    let runs = condition_of(state, node) == Some(NodeCondition::Running);
    let within = if runs { BUSY_WITHIN } else { ANSWER_WITHIN };
    let mut client = reach::connect(state, node, within)?;
    client.query("SELECT key FROM system.local", Consistency::One)?;
    Ok(client)
}

fn condition_of(state: &ClusterState, node: &NodePlan) -> Option<NodeCondition> {
    let wanted = state.nodes.get(&node.name)?.wanted;
    state::condition(node, wanted).ok().map(|(c, _)| c)
}

/// None where its process is gone: that is what *down* says.
fn silent_one(state: &ClusterState, node: &NodePlan, error: &ClientError) -> Option<Silent> {
    let condition = condition_of(state, node)?;
    let lives = matches!(condition, NodeCondition::Running | NodeCondition::Paused);
    lives.then(|| Silent {
        node: node.name.clone(),
        paused: condition == NodeCondition::Paused,
        why: error.to_string(),
    })
}

/// What is known of a cluster of which no process lives: its plan, with every node down. None where one lives, and
/// should have answered.
pub fn of_plan(state: &ClusterState) -> Option<ClusterView> {
    if observe::pids(state).iter().any(|(_, pid)| pid.is_some()) {
        return None;
    }
    Some(planned(state))
}

/// The ring as it was planned, with every node down.
fn planned(state: &ClusterState) -> ClusterView {
    let owners = state.plan.nodes.iter().filter(|node| !node.coordinator);
    let nodes = owners.map(|node| Node {
        address: node.address.into(),
        storage_port: state.plan.ports.storage,
        data_center: node.data_center.clone(),
        rack: node.rack.clone(),
        host_id: state.nodes.get(&node.name).and_then(|n| n.host_id.clone()),
        tokens: node.tokens.clone(),
        load_bytes: on_disk(node),
        reach: Reach::Down,
        state: State::Normal,
    });
    ClusterView {
        other_partitioner: None,
        nodes: nodes.collect(),
        keyspaces: Vec::new(),
    }
}

/// Bytes of a node's data files, snapshots and backups left out: what it will report to the others within a minute.
/// None where it has no file yet.
fn on_disk(node: &NodePlan) -> Option<u64> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let data = node.data_folders().into_iter().map(PathBuf::from);
    let tables = data
        .flat_map(entries)
        .flat_map(|keyspace| entries(keyspace.path()));
    let files = tables.flat_map(|table| entries(table.path()));
    let sizes = files.filter_map(|file| file.metadata().ok().filter(std::fs::Metadata::is_file));
    let bytes = sizes.map(|file| file.len()).sum();
    (bytes > 0).then_some(bytes)
}

/// The view of the node behind a connection; everybody it knows counts as up.
///
/// # Errors
/// It does not answer.
pub fn view(client: &mut Client) -> Result<ClusterView, ClientError> {
    let local = old_tables::local(
        client,
        "broadcast_address, broadcast_port, data_center, rack, host_id, tokens, partitioner",
    )?;
    let peers = old_tables::peers(
        client,
        "peer, peer_port, data_center, rack, host_id, tokens",
    )?;
    // The table's columns differ between releases, and older ones lack it; everything that this reads may be missing.
    let gossip = old_tables::if_there(client, "SELECT * FROM system_views.gossip_info")?;
    let gossip = gossip.unwrap_or_default();
    let mut nodes: Vec<Node> = Vec::new();
    for row in 0..local.rows.len() {
        nodes.extend(node(
            &local,
            row,
            "broadcast_address",
            "broadcast_port",
            &gossip,
        ));
    }
    for row in 0..peers.rows.len() {
        nodes.extend(node(&peers, row, "peer", "peer_port", &gossip));
    }
    let mut nodes = without_stale(nodes);
    let partitioner = local.text(0, "partitioner");
    let other_partitioner =
        partitioner.filter(|name| !name.is_empty() && !name.ends_with("Murmur3Partitioner"));
    if other_partitioner.is_some() {
        // Some of their tokens read as numbers, and mean something else.
        nodes
            .iter_mut()
            .for_each(|node: &mut Node| node.tokens.clear());
    }
    Ok(ClusterView {
        other_partitioner,
        nodes,
        keyspaces: keyspaces(client)?,
    })
}

/// Keyspaces with their replication, virtual ones left out.
///
/// # Errors
/// The node does not answer.
pub fn keyspaces(client: &mut Client) -> Result<Vec<Keyspace>, ClientError> {
    let rows = client.query(
        "SELECT keyspace_name, replication FROM system_schema.keyspaces",
        Consistency::One,
    )?;
    Ok((0..rows.rows.len())
        .filter_map(|row| {
            let name = rows.text(row, "keyspace_name")?;
            let replication = match rows.value(row, "replication")? {
                CqlValue::Map(pairs) => pairs.iter().map(|(k, v)| (plain(k), plain(v))).collect(),
                _ => BTreeMap::new(),
            };
            Some(Keyspace { name, replication })
        })
        .collect())
}

/// One row a node. Where all nodes of a cluster changed their addresses at once, as containers do, Cassandra keeps the old
/// rows of its peers beside the new ones: of rows with one host id the one counts that gossip has heard of.
fn without_stale(nodes: Vec<Node>) -> Vec<Node> {
    let mut kept: Vec<Node> = Vec::new();
    for node in nodes {
        let same = |one: &&mut Node| node.host_id.is_some() && one.host_id == node.host_id;
        match kept.iter_mut().find(same) {
            None => kept.push(node),
            Some(old) if old.load_bytes.is_none() && node.load_bytes.is_some() => *old = node,
            Some(_) => {}
        }
    }
    kept
}

fn node(rows: &Rows, row: usize, address: &str, port: &str, gossip: &Rows) -> Option<Node> {
    let Some(CqlValue::Inet(address)) = rows.value(row, address) else {
        return None;
    };
    let text = |column: &str| rows.text(row, column);
    let tokens = match rows.value(row, "tokens") {
        Some(CqlValue::Set(tokens) | CqlValue::List(tokens)) => tokens
            .iter()
            .filter_map(|t| plain(t).parse().ok())
            .collect(),
        _ => Vec::new(),
    };
    let gossip_row = (0..gossip.rows.len())
        .find(|r| gossip.value(*r, "address") == Some(&CqlValue::Inet(*address)));
    let gossiped = |column: &str| gossip_row.and_then(|r| gossip.text(r, column));
    let status = gossiped("status_with_port")
        .or_else(|| gossiped("status"))
        .unwrap_or_default();
    Some(Node {
        address: *address,
        storage_port: match rows.value(row, port) {
            Some(CqlValue::Int(port)) => u16::try_from(*port).unwrap_or(7000),
            _ => 7000,
        },
        data_center: text("data_center").unwrap_or_default(),
        rack: text("rack").unwrap_or_default(),
        host_id: text("host_id"),
        tokens,
        load_bytes: gossiped("load").and_then(|load| load_from_gossip(&load)),
        reach: Reach::Up,
        state: State::from_gossip(&status).unwrap_or(State::Normal),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_former_addresses_do_not_count() {
        let node = |last: u8, host_id: Option<&str>, load: Option<u64>| Node {
            address: IpAddr::from([10, 0, 0, last]),
            storage_port: 7000,
            data_center: "DC1".to_owned(),
            rack: "rack1".to_owned(),
            host_id: host_id.map(str::to_owned),
            tokens: Vec::new(),
            load_bytes: load,
            reach: Reach::Up,
            state: State::Normal,
        };
        let all = vec![
            node(1, Some("a"), None),
            node(2, Some("b"), None),
            node(3, Some("b"), Some(7)),
            node(4, Some("b"), None),
            node(5, None, None),
            node(6, None, None),
        ];
        let kept: Vec<String> = without_stale(all)
            .iter()
            .map(|n| n.address.to_string())
            .collect();
        assert_eq!(kept, ["10.0.0.1", "10.0.0.3", "10.0.0.5", "10.0.0.6"]);
    }
}
