//! What flags give to all nodes of a cluster, or to those that only coordinate.
//! Refuses processors that this process may not use.

use crate::cli::ClusterFlags;
use crate::error::{CommandError, code};
use helenus_cluster::lifecycle::UpRequest;
use helenus_model::machine::Cpus;
use helenus_model::plan::{NodeWords, Pin};
use rustix::thread::{CpuSet, sched_getaffinity};

/// What flags give to all nodes, or to those that only coordinate. What the topology says of one node wins.
pub(crate) fn put(flags: &ClusterFlags, request: &mut UpRequest) -> Result<(), CommandError> {
    let places = request.topology.places();
    if flags.gateway_heap.is_some() && !places.iter().any(|place| place.coordinator) {
        return Err(CommandError::new(
            code::USAGE,
            "--gateway-heap is of no use without nodes that only coordinate",
        )
        .hint("add --coordinators 1, or leave it out".to_owned()));
    }
    if flags.gateway_heap.is_none() && flags.node_cpus.is_none() {
        return Ok(());
    }
    if let Some(cpus) = &flags.node_cpus {
        there(cpus)?;
    }
    request.by_node.resize(places.len(), NodeWords::default());
    for (words, place) in request.by_node.iter_mut().zip(&places) {
        let heap = flags.gateway_heap.filter(|_| place.coordinator);
        words.heap = words.heap.or(heap);
        words.pin = flags.node_cpus.clone().map(|cpus| Pin {
            cpus,
            numa: Vec::new(),
        });
    }
    Ok(())
}

/// Whether this process may run on all of these processors.
pub(crate) fn there(cpus: &Cpus) -> Result<(), CommandError> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Ok(());
    };
    let all = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let all: Cpus = all.filter_map(|cpu| u32::try_from(cpu).ok()).collect();
    match cpus.without(&all) {
        none if none.is_empty() => Ok(()),
        missing => Err(CommandError::new(
            code::USAGE,
            format!("there is no processor {missing} here"),
        )
        .hint(format!("this machine has {all}"))),
    }
}
