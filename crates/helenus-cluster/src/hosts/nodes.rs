//! What the nodes of a cluster on hosts say over CQL, from here: whether each serves, and the ring as one of them sees it.
//! Refuses to believe a tool that says all is well: each node is asked.

use super::HostsState;
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem, with_causes};
use crate::parallel;
use crate::reach;
use crate::ring_view;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_model::access::Access;
use helenus_model::hosts::{HostsPlan, PlannedNode};
use helenus_model::status::{ClusterView, Reach};
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Longest wait for an answer of a node.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Between two questions whether all nodes serve.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// A node, and whether it serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// The node.
    #[serde(flatten)]
    pub node: PlannedNode,
    /// Whether it answers a query and has joined, or asks for a password.
    pub serves: bool,
    /// Why it does not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// All nodes, asked at the same time.
pub fn nodes(state: &HostsState, plan: &HostsPlan, access: &Access) -> Vec<NodeState> {
    let port = state.plan.ports.cql;
    parallel::map(&plan.nodes, |node| one(node, port, access))
}

/// Asks all nodes until they serve. `see` gets how many do.
///
/// # Errors
/// One does not within that time, or the person stopped it.
pub fn wait(
    state: &HostsState,
    plan: &HostsPlan,
    access: &Access,
    (within, cancel): (Duration, &Cancel),
    see: &mut dyn FnMut(&str),
) -> Result<Vec<NodeState>, ClusterError> {
    let since = Instant::now();
    loop {
        let nodes = nodes(state, plan, access);
        let mut silent = nodes.iter().filter(|one| !one.serves);
        let Some(first) = silent.next() else {
            return Ok(nodes);
        };
        let (silent, all) = (1 + silent.count(), nodes.len());
        if cancel.is_set() {
            return Err(WaitError::Interrupted.into());
        }
        if since.elapsed() > within {
            return Err(WaitError::Silent {
                silent,
                all,
                cluster: plan.name.clone(),
                node: first.node.name.clone(),
                why: first.why.clone().unwrap_or_default(),
            }
            .into());
        }
        see(&format!("{} of {all} nodes serve", all - silent));
        std::thread::sleep(ASK_EVERY);
    }
}

/// Why nodes were not waited for to the end.
#[derive(Debug, thiserror::Error)]
enum WaitError {
    /// They do not serve.
    #[error("{silent} of {all} nodes are not serving: {node}: {why}")]
    Silent {
        silent: usize,
        all: usize,
        cluster: String,
        node: String,
        why: String,
    },
    /// The person stopped it.
    #[error("interrupted; the cluster stays as it is")]
    Interrupted,
}

impl Problem for WaitError {
    fn class(&self) -> Class {
        match self {
            Self::Silent { .. } => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Silent { cluster, node, .. } => {
                Some(format!("helenus hosts logs {cluster}/{node} shows its log"))
            }
            Self::Interrupted => None,
        }
    }
}

fn one(node: &PlannedNode, port: u16, access: &Access) -> NodeState {
    let why = match node.address {
        None => Some("its address is not known".to_owned()),
        Some(address) => ask(SocketAddr::from((address, port)), node.coordinator, access).err(),
    };
    NodeState {
        node: node.clone(),
        serves: why.is_none(),
        why,
    }
}

/// Whether a node serves; else why it does not.
fn ask(at: SocketAddr, coordinator: bool, access: &Access) -> Result<(), String> {
    let mut client = match connect(at, access) {
        Err(ClientError::CredentialsMissing { .. }) => return Ok(()),
        connected => connected.map_err(|error| with_causes(&error))?,
    };
    let rows = client
        .query("SELECT bootstrapped FROM system.local", Consistency::One)
        .map_err(|error| with_causes(&error))?;
    let joined = rows.text(0, "bootstrapped").unwrap_or_default();
    match joined == "COMPLETED" || coordinator {
        true => Ok(()),
        false => Err(format!("it has not joined: {joined}")),
    }
}

fn connect(at: SocketAddr, access: &Access) -> Result<Client, ClientError> {
    Client::connect(at, &reach::options(access, ANSWER_WITHIN)?)
}

/// The ring as the first node that answers sees it; nodes that do not serve are down in it.
///
/// # Errors
/// No node answers.
pub fn view(
    state: &HostsState,
    nodes: &[NodeState],
    access: &Access,
) -> Result<ClusterView, ClusterError> {
    let port = state.plan.ports.cql;
    let mut last = None;
    for one in nodes.iter().filter(|one| one.serves) {
        let Some(address) = one.node.address else {
            continue;
        };
        let asked = connect(SocketAddr::from((address, port)), access)
            .and_then(|mut client| ring_view::view(&mut client));
        match asked {
            Ok(mut view) => {
                for seen in &mut view.nodes {
                    let serves = nodes.iter().any(|one| {
                        one.serves && one.node.address.map(IpAddr::from) == Some(seen.address)
                    });
                    if !serves {
                        seen.reach = Reach::Down;
                    }
                }
                return Ok(view);
            }
            Err(error) => last = Some((one.node.name.clone(), error)),
        }
    }
    match last {
        Some((name, error)) => Err(ClusterError::silent(name, error)),
        None => Err(NoNode.into()),
    }
}

/// No node serves.
#[derive(Debug, thiserror::Error)]
#[error("no node of the cluster is serving")]
struct NoNode;

impl Problem for NoNode {
    fn class(&self) -> Class {
        Class::Cluster
    }

    fn hint(&self) -> Option<String> {
        Some("helenus hosts logs NAME/NODE shows why".to_owned())
    }
}
