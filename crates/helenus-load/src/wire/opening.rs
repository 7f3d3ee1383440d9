//! The first connections: to an endpoint that answers, then to every node that may coordinate.
//! Refuses statements: the workload comes later.

use super::dialer::{self, Access};
use super::map::{Map, Peer};
use crate::endpoint::EndpointError;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_model::nearest::nearest;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Where the nodes are, and how many connections each gets.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    /// CQL addresses to begin with.
    pub(crate) endpoints: Vec<SocketAddr>,
    /// Whether only these are used.
    pub(crate) endpoints_only: bool,
    /// Data centre whose nodes coordinate; none takes any node.
    pub(crate) local_data_centre: Option<String>,
    /// Connections to each node.
    pub(crate) connections: u32,
    /// Consistency level of every operation.
    pub(crate) consistency: Consistency,
}

/// The connections that were opened first.
pub(super) struct Opening {
    pub(super) control: (Client, SocketAddr),
    pub(super) map: Map,
    /// The ring in ranges.
    pub(super) ring: Vec<(i64, i64)>,
    /// By node.
    pub(super) clients: Vec<(usize, Client)>,
    /// Whether the cluster is watched: not where only some addresses are used.
    pub(super) watched: bool,
}

/// Whether operations may go to this node.
pub(super) fn may_coordinate(data_centre: Option<&str>, peer: &Peer) -> bool {
    // A gateway is known by its address only.
    peer.host.is_none() || data_centre.is_none_or(|wanted| wanted == peer.data_centre)
}

/// Addresses in one line.
pub(super) fn joined(endpoints: &[SocketAddr]) -> String {
    let all: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
    all.join(", ")
}

impl Opening {
    /// Connects to the first endpoint that answers, and then to every node that may coordinate.
    pub(super) fn of(access: &Access, plan: &Ways) -> Result<Self, EndpointError> {
        let cannot = |source: Box<dyn std::error::Error + Send + Sync>| EndpointError::Connect {
            endpoints: joined(&plan.endpoints),
            source,
        };
        let mut first_error = None;
        let mut control = None;
        for address in &plan.endpoints {
            let opened = Client::connect(*address, &access.options)
                .and_then(|mut client| Map::read(&mut client, *address).map(|map| (client, map)));
            match opened {
                Ok((client, map)) => {
                    control = Some((client, *address, map));
                    break;
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        let Some((client, address, map)) = control else {
            let none = || ClientError::Closed {
                during: "the search for a node",
            };
            return Err(cannot(Box::new(first_error.unwrap_or_else(none))));
        };
        let data_centre = plan.local_data_centre.as_deref();
        let gateways = plan
            .endpoints_only
            .then(|| Map::of_gateways(&plan.endpoints));
        let reached = gateways.as_ref().unwrap_or(&map);
        let peers = reached.peers.iter().enumerate();
        let peers = peers.filter(|(_, peer)| may_coordinate(data_centre, peer));
        let each = plan.connections as usize;
        let peers = peers.flat_map(|(at, peer)| std::iter::repeat_n((at, peer.address), each));
        let peers: Vec<(usize, SocketAddr)> = peers.collect();
        if peers.is_empty() {
            let known = map.peers.iter().map(|peer| peer.data_centre.as_str());
            let known: BTreeSet<&str> = known.collect();
            let wanted = data_centre.unwrap_or_default();
            let near = nearest(wanted, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let known: Vec<&str> = known.into_iter().collect();
            let known = known.join(", ");
            return Err(cannot(
                format!("no node is in data centre {wanted:?}; there are {known}{near}").into(),
            ));
        }
        let clients = dialer::open_all(access, &peers);
        let (open, failed): (Vec<_>, Vec<_>) = clients.into_iter().partition(|(_, c)| c.is_ok());
        if open.is_empty()
            && let Some((_, Err(error))) = failed.into_iter().next()
        {
            return Err(cannot(Box::new(error)));
        }
        let open = open.into_iter().filter_map(|(at, c)| Some((at, c.ok()?)));
        Ok(Self {
            control: (client, address),
            ring: map.ranges(),
            clients: open.collect(),
            watched: gateways.is_none(),
            map: gateways.unwrap_or(map),
        })
    }
}
