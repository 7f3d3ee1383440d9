//! Where nodes stand: their tokens and their seeds.
//! Refuses to give a node that only coordinates a part of the ring.

use super::PlanRequest;
use crate::ring::even_tokens;
use crate::topology::Place;

/// What makes a node a coordinator only.
pub(super) const COORDINATOR: &str = "-Dcassandra.join_ring=false";

/// Seeds of each data centre: with one of them down the other still lets nodes in.
const SEEDS: usize = 2;

/// Every node's place and tokens. Each data centre's tokens are even by themselves, and unique among all.
pub(super) fn tokens(request: &PlanRequest) -> Vec<(Place, Vec<i64>)> {
    let each = request.tokens as usize;
    let of = request.topology.data_centers.iter().enumerate();
    let all = of.flat_map(|(index, dc)| {
        let owners = dc.racks.len().saturating_sub(dc.coordinators as usize);
        let mut tokens = even_tokens(owners, each, index);
        tokens.resize(dc.racks.len(), Vec::new());
        tokens
    });
    let mut all: Vec<Vec<i64>> = all.collect();
    if let [only] = &mut all[..]
        && request.initial_tokens.len() == each
    {
        only.clone_from(&request.initial_tokens);
    }
    request.topology.places().into_iter().zip(all).collect()
}

/// The seeds of node `index`: itself, without which it could not start beside the others; and the first two of each
/// data centre. In a single one, the next node, so that every node is found at the first round of gossip; and in
/// larger ones the first, who knows all.
pub(super) fn seeds(request: &PlanRequest, index: usize) -> String {
    let count = request.addresses.len();
    let mut wanted = vec![index];
    if request.topology.data_centers.len() > 1 {
        let places = request.topology.places().into_iter().enumerate();
        let seeds = places.filter(|(_, place)| place.index < SEEDS && !place.coordinator);
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
        .map(|k| request.addresses[*k].to_string())
        .collect();
    seeds.join(",")
}
