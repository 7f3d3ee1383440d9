//! A cluster as one of its nodes tells it over CQL: the values behind `status`, without JMX and without scraping.
//! Refuses to print them.

use crate::error::ClusterError;
use crate::observe;
use crate::old_tables;
use crate::reach;
use crate::ready::cql_address;
use crate::state::ClusterState;
use fs_err as fs;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use helenus_model::plan::NodePlan;
use helenus_model::status::{ClusterView, Keyspace, Node, Reach, State, load_from_gossip};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A node that takes longer to answer `SELECT … FROM system.local` is down for a person.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Asks the first node that answers; whether each of the others answers is asked of itself.
///
/// # Errors
/// No node answers.
pub fn read(state: &ClusterState) -> Result<ClusterView, ClusterError> {
    let mut asked: Option<(SocketAddr, ClusterView)> = None;
    let mut last: Option<(String, ClientError)> = None;
    let mut up = Vec::new();
    for node in &state.plan.nodes {
        let address = cql_address(&state.plan, node);
        match connect(state, node) {
            Ok(mut client) => {
                up.push(IpAddr::from(node.address));
                if asked.is_none() {
                    match view(&mut client) {
                        Ok(view) => asked = Some((address, view)),
                        Err(error) => last = Some((node.name.clone(), error)),
                    }
                }
            }
            Err(error) => last = Some((node.name.clone(), error)),
        }
    }
    let Some((_, mut view)) = asked else {
        let (node, source) = last.unwrap_or_else(|| {
            (
                state.plan.name.clone(),
                ClientError::Closed {
                    during: "the search for a node",
                },
            )
        });
        return Err(ClusterError::Silent { node, source });
    };
    for node in &mut view.nodes {
        let planned = state.plan.nodes.iter();
        let planned = planned
            .filter(|plan| IpAddr::from(plan.address) == node.address)
            .find(|_| node.load_bytes.is_none());
        if let Some(plan) = planned {
            node.load_bytes = on_disk(plan);
        }
        if is_ours(&state.plan.nodes, node.address) {
            node.reach = if up.contains(&node.address) {
                Reach::Up
            } else {
                Reach::Down
            };
        }
    }
    Ok(view)
}

/// What is known of a cluster of which no process lives: its plan, with every node down. None where one lives, and
/// should have answered.
pub fn of_plan(state: &ClusterState) -> Option<ClusterView> {
    if observe::pids(state).iter().any(|(_, pid)| pid.is_some()) {
        return None;
    }
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
    Some(ClusterView {
        other_partitioner: None,
        nodes: nodes.collect(),
        keyspaces: Vec::new(),
    })
}

/// Bytes of a node's data files, snapshots and backups left out: what it will tell the others of itself within a minute of
/// its start. None where it has no file yet.
fn on_disk(node: &NodePlan) -> Option<u64> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let data = Path::new(&node.storage()).join("data");
    let tables = entries(data).flat_map(|keyspace| entries(keyspace.path()));
    let files = tables.flat_map(|table| entries(table.path()));
    let sizes = files.filter_map(|file| file.metadata().ok().filter(std::fs::Metadata::is_file));
    let bytes = sizes.map(|file| file.len()).sum();
    (bytes > 0).then_some(bytes)
}

fn is_ours(nodes: &[NodePlan], address: IpAddr) -> bool {
    nodes.iter().any(|n| IpAddr::from(n.address) == address)
}

fn connect(state: &ClusterState, node: &NodePlan) -> Result<Client, ClientError> {
    let mut client = reach::connect(state, node, ANSWER_WITHIN)?;
    client.query("SELECT key FROM system.local", Consistency::One)?;
    Ok(client)
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
    let mut nodes = Vec::new();
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
    let told = (0..gossip.rows.len())
        .find(|r| gossip.value(*r, "address") == Some(&CqlValue::Inet(*address)));
    let told = |column: &str| told.and_then(|r| gossip.text(r, column));
    let status = told("status_with_port")
        .or_else(|| told("status"))
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
        load_bytes: told("load").and_then(|load| load_from_gossip(&load)),
        reach: Reach::Up,
        state: State::from_gossip(&status).unwrap_or(State::Normal),
    })
}
