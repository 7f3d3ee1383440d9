//! Where nodes stand: their tokens, their seeds, and the keys of cassandra.yaml that follow.
//! Refuses to give a node that only coordinates a part of the ring.

use super::{NodePlan, PlanRequest, Ports};
use crate::ring::even_tokens;
use crate::topology::Place;
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// What makes a node a coordinator only.
pub(crate) const COORDINATOR: &str = "-Dcassandra.join_ring=false";

/// Seeds of each data centre: with one of them down the other still lets nodes in.
const SEEDS: usize = 2;

/// Every node's place and tokens. Each data centre's tokens are even by themselves, and unique among all.
pub(super) fn tokens(request: &PlanRequest) -> Vec<(Place, Vec<i64>)> {
    let each = request.spec.tokens as usize;
    let of = request.spec.topology.data_centers.iter().enumerate();
    let all = of.flat_map(|(index, dc)| {
        let owners = dc.racks.len().saturating_sub(dc.coordinators as usize);
        let mut tokens = even_tokens(owners, each, index);
        tokens.resize(dc.racks.len(), Vec::new());
        tokens
    });
    let mut all: Vec<Vec<i64>> = all.collect();
    if let [only] = &mut all[..]
        && request.spec.initial_tokens.len() == each
    {
        only.clone_from(&request.spec.initial_tokens);
    }
    request
        .spec
        .topology
        .places()
        .into_iter()
        .zip(all)
        .collect()
}

/// Where a node is, as far as seeds go.
pub(super) struct Standing {
    address: Ipv4Addr,
    data_center: usize,
    /// Its number in the data centre, from 0.
    index: usize,
    coordinator: bool,
}

/// Where the nodes of a request will stand.
pub(super) fn planned(request: &PlanRequest) -> Vec<Standing> {
    let places = request.spec.topology.places().into_iter();
    places
        .zip(&request.addresses)
        .map(|(place, address)| Standing {
            address: *address,
            data_center: place.data_center,
            index: place.index,
            coordinator: place.coordinator,
        })
        .collect()
}

/// Where nodes stand that are planned.
pub(super) fn standing(nodes: &[NodePlan]) -> Vec<Standing> {
    let mut known: Vec<(&str, usize)> = Vec::new();
    let of = |node| {
        let NodePlan { data_center, .. }: &NodePlan = node;
        let known_at = known.iter().position(|(name, _)| name == data_center);
        let at = known_at.unwrap_or_else(|| {
            known.push((data_center, 0));
            known.len() - 1
        });
        known[at].1 += 1;
        Standing {
            address: node.address,
            data_center: at,
            index: known[at].1 - 1,
            coordinator: node.coordinator,
        }
    };
    nodes.iter().map(of).collect()
}

/// The seeds of node `index`: itself, without which it could not start beside the others; and the first two of each
/// data centre. In a single one, the next node, so that every node is found at the first round of gossip; and in
/// larger ones the first, who knows all.
pub(super) fn seeds(nodes: &[Standing], index: usize) -> String {
    let count = nodes.len();
    let mut wanted = vec![index];
    if nodes.iter().any(|node| node.data_center > 0) {
        let seeds = nodes.iter().enumerate();
        let seeds = seeds.filter(|(_, node)| node.index < SEEDS && !node.coordinator);
        wanted.extend(seeds.map(|(k, _)| k));
    } else {
        wanted.push((index + 1) % count);
        if count > 3 {
            wanted.push(0);
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let seeds: Vec<String> = wanted
        .iter()
        .map(|k| nodes[*k].address.to_string())
        .collect();
    seeds.join(",")
}

/// The keys that a node has for itself: names and tokens of its cluster, the addresses of its peers' and of its clients'
/// listeners, ports, folders, seeds.
pub(crate) fn own_keys(
    (name, tokens): (&str, u32),
    (listen, rpc): (&str, &str),
    ports: Ports,
    storage: &str,
    seeds: &str,
) -> Map<String, Value> {
    let keys = json!({
        "cluster_name": name,
        "num_tokens": tokens,
        "listen_address": listen,
        "rpc_address": rpc,
        "start_native_transport": true,
        "native_transport_port": ports.cql,
        "storage_port": ports.storage,
        "data_file_directories": [format!("{storage}/data")],
        "commitlog_directory": format!("{storage}/commitlog"),
        "hints_directory": format!("{storage}/hints"),
        "saved_caches_directory": format!("{storage}/saved_caches"),
        "cdc_raw_directory": format!("{storage}/cdc_raw"),
        "seed_provider": [{
            "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
            "parameters": [{"seeds": seeds}],
        }],
    });
    match keys {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
