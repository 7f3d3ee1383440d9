//! Looks at a cluster for the guard: its name, its nodes, and which of them are proved ours.
//! Refuses to judge: the model does.
//!
//! A node is ours when its host id is in a state of this user *and* the socket that listens at its
//! address belongs to the process that holds our claim. Names and ids travel with copied data; sockets do not.

use crate::alive;
use crate::error::{Class, ClusterError, Problem};
use crate::reach;
use crate::reach::cql_address;
use crate::ring_view;
use crate::socket::{is_node_s_own, listens};
use crate::state::{ClusterState, Clusters};
use helenus_cql::client::{Client, ClientError, ConnectOptions};
use helenus_cql::codec::Consistency;
use helenus_model::guard::{SeenNode, Sight, Verdict, is_system_keyspace, judge};
use helenus_model::plan::NodePlan;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// What answers where a cluster of ours should be is not proved ours.
#[derive(Debug, thiserror::Error)]
#[error("refused to write to {host}: {why}")]
pub struct ForeignError {
    host: SocketAddr,
    why: String,
    sight: Box<Sight>,
}

impl Problem for ForeignError {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self.sight.ours() {
            Some(name) => format!(
                "`helenus status {name}` shows which nodes are down, `helenus start {name}` starts them"
            ),
            None => format!(
                "there: {}. Find what listens at the address (`ss -ltnp`) and stop it, or start your node",
                self.sight.summary()
            ),
        })
    }
}

/// What is to be seen of the cluster behind `host`, got into as `given`; a cluster of ours needs nothing given.
///
/// # Errors
/// It does not answer.
pub fn look(
    clusters: &Clusters,
    host: SocketAddr,
    given: &ConnectOptions,
) -> Result<Sight, ClusterError> {
    let silent = |source: ClientError| ClusterError::silent(host.to_string(), source);
    let options = reach::options_for(clusters, host, given).map_err(silent)?;
    let mut client = Client::connect(host, &options).map_err(silent)?;
    look_through(Some(clusters), host, &mut client).map_err(silent)
}

/// Without `clusters` no node is called ours.
fn look_through(
    clusters: Option<&Clusters>,
    host: SocketAddr,
    client: &mut Client,
) -> Result<Sight, ClientError> {
    let name = client
        .query("SELECT cluster_name FROM system.local", Consistency::One)?
        .text(0, "cluster_name")
        .unwrap_or_default();
    let view = ring_view::view(client)?;
    // The node that was asked comes first.
    let data_center = view
        .nodes
        .first()
        .map(|n| n.data_center.clone())
        .unwrap_or_default();
    let mut data_centers: Vec<String> = view.nodes.iter().map(|n| n.data_center.clone()).collect();
    data_centers.sort();
    data_centers.dedup();
    // Through a tunnel, what is proved of our sockets says nothing of the one that answers.
    let clusters = clusters.filter(|clusters| reach::node_at(clusters, host).is_some());
    let nodes = view
        .nodes
        .iter()
        .map(|node| {
            let host_id = node.host_id.clone().unwrap_or_default();
            SeenNode {
                address: node.address.to_string(),
                owned_by: clusters.and_then(|c| owner(c, node.address, &host_id)),
                host_id,
            }
        })
        .collect();
    let mut keyspaces: Vec<String> = view
        .keyspaces
        .into_iter()
        .map(|k| k.name)
        .filter(|k| !is_system_keyspace(k))
        .collect();
    keyspaces.sort();
    Ok(Sight {
        cluster_name: name,
        data_center,
        data_centers,
        nodes,
        keyspaces,
    })
}

/// The door that every verb goes through before it changes data or schema of a cluster by name: what answers at
/// its addresses is this very cluster, whole. What was seen is handed back.
///
/// # Errors
/// [`crate::error::NodeError`] where a node has no process or does not answer, and [`ForeignError`] where what answers is not proved ours.
pub fn prove_ours(clusters: &Clusters, state: &ClusterState) -> Result<Sight, ClusterError> {
    for node in &state.plan.nodes {
        let address = cql_address(&state.plan, node);
        let holder =
            alive::holder(Path::new(&node.folder)).map_err(ClusterError::io("the node's claim"))?;
        if holder.is_none() && !somebody_listens(state, address) {
            return Err(ClusterError::not_running(&state.plan.name, &node.name));
        }
    }
    let host = cql_address(&state.plan, &state.plan.nodes[0]);
    let sight = look(clusters, host, &ConnectOptions::default())?;
    let foreign = |why: String, sight: Sight| ForeignError {
        host,
        why,
        sight: Box::new(sight),
    };
    match judge(&sight, None) {
        Verdict::Ours { cluster } if cluster == state.plan.name => Ok(sight),
        Verdict::Ours { cluster }
        | Verdict::Named {
            cluster_name: cluster,
        } => {
            let why = format!("cluster {cluster} answers there, not {}", state.plan.name);
            Err(foreign(why, sight).into())
        }
        Verdict::Foreign { why } => Err(foreign(why, sight).into()),
    }
}

/// Proves that a connection to a node's address leads to that node: a statement meant for ours must not reach
/// another that took its address while it was stopped.
///
/// # Errors
/// [`ForeignError`], or the other does not answer.
pub fn prove_node(
    state: &ClusterState,
    node: &NodePlan,
    client: &mut Client,
) -> Result<(), ClusterError> {
    let host = cql_address(&state.plan, node);
    let holder =
        alive::holder(Path::new(&node.folder)).map_err(ClusterError::io("the node's claim"))?;
    if holder.is_some_and(|pid| listens(pid.as_raw_pid(), host)) {
        return Ok(());
    }
    let sight = look_through(None, host, client)
        .map_err(|source| ClusterError::silent(host.to_string(), source))?;
    Err(ForeignError {
        host,
        why: format!(
            "a process that is not {} of {} listens there",
            node.name, state.plan.name
        ),
        sight: Box::new(sight),
    }
    .into())
}

/// Refuses where another process has taken the address of a node that does not run: what is meant for the node would
/// go to it.
///
/// # Errors
/// [`ForeignError`], or the other does not answer.
pub fn no_stranger(state: &ClusterState) -> Result<(), ClusterError> {
    for node in &state.plan.nodes {
        let host = cql_address(&state.plan, node);
        let holder =
            alive::holder(Path::new(&node.folder)).map_err(ClusterError::io("the node's claim"))?;
        if holder.is_some() || !somebody_listens(state, host) {
            continue;
        }
        let silent = |source| ClusterError::silent(host.to_string(), source);
        // No password of ours goes to it.
        let options = ConnectOptions {
            dialer: reach::dialer(state),
            ..ConnectOptions::default()
        };
        let mut client = Client::connect(host, &options).map_err(silent)?;
        prove_node(state, node, &mut client)?;
    }
    Ok(())
}

/// Whether anything takes connections at the address.
fn somebody_listens(state: &ClusterState, address: SocketAddr) -> bool {
    reach::dial(state, address, std::time::Duration::from_secs(1)).is_ok()
}

/// The cluster of this user that this very node belongs to, proved.
fn owner(clusters: &Clusters, address: IpAddr, host_id: &str) -> Option<String> {
    for name in clusters.names().ok()? {
        let Ok(state) = clusters.load(&name) else {
            continue;
        };
        let Some(node) = state
            .plan
            .nodes
            .iter()
            .find(|n| IpAddr::from(n.address) == address)
        else {
            continue;
        };
        let known = state
            .nodes
            .get(&node.name)
            .and_then(|n| n.host_id.as_deref());
        let address = SocketAddr::new(address, state.plan.ports.cql);
        if known == Some(host_id) && is_node_s_own(node, address) {
            return Some(name);
        }
    }
    None
}
