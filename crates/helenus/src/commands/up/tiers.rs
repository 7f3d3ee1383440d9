//! What flags give to all nodes of a cluster, or to those that only coordinate.
//! Refuses processors that this process may not use.

use crate::cli::ClusterFlags;
use crate::error::{CommandError, code};
use helenus_cluster::lifecycle::UpRequest;
use helenus_cluster::machine;
use helenus_model::machine::{Cpus, apart};
use helenus_model::plan::{NodeWords, Pin};
use std::path::Path;

/// What flags give to all nodes, or to those that only coordinate. What the topology says of one node wins.
pub(crate) fn put(flags: &ClusterFlags, request: &mut UpRequest) -> Result<(), CommandError> {
    let places = request.spec.topology.places();
    if flags.gateway_heap.is_some() && !places.iter().any(|place| place.coordinator) {
        return Err(CommandError::new(
            code::USAGE,
            "--gateway-heap requires coordinator-only nodes",
        )
        .hint("add --coordinators 1, or leave it out".to_owned()));
    }
    if flags.gateway_heap.is_none() && flags.node_cpus.is_none() {
        return Ok(());
    }
    if let Some(cpus) = &flags.node_cpus {
        there(cpus)?;
        pin(request, cpus);
    }
    request
        .spec
        .by_node
        .resize(places.len(), NodeWords::default());
    for (words, place) in request.spec.by_node.iter_mut().zip(&places) {
        let heap = flags.gateway_heap.filter(|_| place.coordinator);
        words.heap = words.heap.or(heap);
    }
    Ok(())
}

/// Leaves the last cores of this machine to so many load generators, where there are cores to spare and nobody has said
/// which processors nodes have, or how much of them.
pub(crate) fn spare(request: &mut UpRequest, generators: u32) {
    if request.spec.cpus.is_some() || request.spec.by_node.iter().any(|words| words.pin.is_some()) {
        return;
    }
    let cores = machine::cores(Path::new("/"));
    if let Some(cpus) = apart(&cores, generators) {
        pin(request, &cpus);
    }
}

/// Has all nodes run on these processors.
fn pin(request: &mut UpRequest, cpus: &Cpus) {
    let places = request.spec.topology.places().len();
    request.spec.by_node.resize(places, NodeWords::default());
    for words in &mut request.spec.by_node {
        words.pin = Some(Pin {
            cpus: cpus.clone(),
            numa: Vec::new(),
        });
    }
}

/// Whether this process may run on all of these processors.
pub(crate) fn there(cpus: &Cpus) -> Result<(), CommandError> {
    let Some(all) = machine::usable(Path::new("/")) else {
        return Ok(());
    };
    match cpus.without(&all) {
        none if none.is_empty() => Ok(()),
        missing => Err(CommandError::new(
            code::USAGE,
            format!("there is no processor {missing} here"),
        )
        .hint(format!("this machine has {all}"))),
    }
}
