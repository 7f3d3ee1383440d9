//! The data of an experiment: made once for each combination that needs its own, saved, and restored before each restart.
//! Refuses to measure on data that another run has changed, and on nodes that still compact.

use super::restart::bring_up;
use super::{Combination, ExperimentError, ExperimentEvent, Sitting};
use crate::bench::LabEvent;
use crate::populate::{PopulateEvent, PopulateRequest, populate};
use helenus_cluster::baseline::{self, BaselineEvent, Baselines, RestoreRequest, SaveRequest};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::lifecycle::UpRequest;
use helenus_cluster::state::ClusterState;
use helenus_cluster::{machine, remove};
use helenus_model::plan::ClusterSpec;
use helenus_model::units::Bytes;
use std::time::Duration;

/// Tag of every dataset.
const TAG: &str = "data";

/// Heap of a node that writes data, where the machine has so many times as much for it.
const WRITER_HEAP: Bytes = Bytes(1 << 30);
const WRITER_SHARE: u64 = 4;

/// Longest wait for compactions, and for a node's gentle stop.
const SETTLE_WITHIN: Duration = Duration::from_secs(1800);
const STOP_WITHIN: Duration = Duration::from_secs(120);

/// Keys of cassandra.yaml, by their beginnings, that decide how nodes serve and not what their files are: threads, time-outs,
/// caches and throughputs. Sizes of memtables are none of them, for they decide what is flushed together.
const NOT_OF_FILES: [&str; 14] = [
    "concurrent_",
    "native_transport_",
    "read_request_timeout",
    "range_request_timeout",
    "write_request_timeout",
    "request_timeout",
    "compaction_throughput",
    "stream_throughput",
    "key_cache_",
    "row_cache_",
    "counter_cache_",
    "file_cache_",
    "networking_cache_",
    "disk_access_mode",
];

/// What the files of a dataset follow from: its tables and rows, and the settings of nodes that shape files. Combinations of
/// equal shape share a dataset. Every field of both requests is named, so a new one does not compile before somebody has
/// decided whether it shapes files.
pub fn shape(up: &UpRequest, populate: &PopulateRequest) -> String {
    let UpRequest {
        spec,
        source,
        fake,
        // How they are started, and where.
        java_home: _,
        ephemeral: _,
        owner: _,
        start: _,
        addresses: _,
        interface: _,
        ready_within: _,
        read_ahead: _,
        // What runs beside them.
        stack: _,
    } = up;
    let ClusterSpec {
        topology,
        preset,
        tokens,
        initial_tokens,
        set,
        like,
        security,
        by_node,
        // Sizes and speeds of nodes.
        name: _,
        heap: _,
        new_heap: _,
        jvm: _,
        archive: _,
        clusters: _,
        memory_limit: _,
        cpus: _,
        disk_speed: _,
        disk: _,
        folders: _,
    } = spec;
    let PopulateRequest {
        data,
        replication_factor,
        consistency,
        // How fast, how patiently, how often.
        cluster: _,
        kube: _,
        rate_per_s: _,
        in_flight: _,
        tries: _,
        raise_settings: _,
        verify: _,
        anew: _,
        settle_within: _,
    } = populate;
    let set: Vec<_> = set.iter().filter(|(key, _)| shapes_files(key)).collect();
    let nodes = (topology, preset, tokens, initial_tokens, set, like);
    let rows = (data, replication_factor, consistency);
    format!("{nodes:?} {security:?} {source:?} {fake:?} {by_node:?} {rows:?}")
}

/// Whether a key of cassandra.yaml shapes files.
fn shapes_files(key: &str) -> bool {
    !NOT_OF_FILES.iter().any(|begin| key.starts_with(begin))
}

/// Brings up a restart's cluster with its data in it, not in memory.
pub(super) fn restored(
    sitting: &mut Sitting<'_>,
    up: &UpRequest,
    combination: &Combination,
) -> Result<(), ExperimentError> {
    let source = made(sitting, up, combination)?;
    bring_up(sitting, up)?;
    note(sitting, &source, &up.spec.name)?;
    let request = RestoreRequest {
        cluster: source,
        tag: TAG.to_owned(),
        into: Some(up.spec.name.clone()),
        replace: true,
        drop_cache: true,
        leave_stopped: false,
        within: STOP_WITHIN,
        ready_within: up.ready_within,
    };
    let events = &mut sitting.events;
    let mut see = |event| life(event, &mut **events);
    let restored = baseline::restore(sitting.context, &request, &mut see)?;
    // Restored files may still want to be compacted; what is measured does not begin before that is over.
    baseline::settle(sitting.context, &restored.state, SETTLE_WITHIN, &mut see)?;
    (sitting.events)(ExperimentEvent::Restored(restored.cache));
    Ok(())
}

/// The cluster whose baseline has the data of this combination; made where there is none yet.
fn made(
    sitting: &mut Sitting<'_>,
    up: &UpRequest,
    combination: &Combination,
) -> Result<String, ExperimentError> {
    // As `is_dataset` knows it.
    let name = format!("{}-{}", sitting.cluster(), combination.dataset);
    let baselines = Baselines::of(sitting.context);
    let there = baselines.tags(&name).map_err(ClusterError::from)?;
    if !there.iter().any(|tag| tag == TAG) {
        (sitting.events)(ExperimentEvent::Dataset);
        let up = writer(up, &name);
        let ended = make(sitting, &up, combination);
        if sitting.context.clusters.folder(&name).exists() {
            remove::remove(sitting.context, &name)?;
        }
        ended?;
    }
    Ok(name)
}

/// Notes how large a dataset is, and how much memory the nodes that it was made for may use.
fn note(sitting: &mut Sitting<'_>, source: &str, cluster: &str) -> Result<(), ExperimentError> {
    let state = sitting.context.clusters.load(cluster);
    let state = state.map_err(ClusterError::from)?;
    let bytes = Baselines::of(sitting.context).listed(source, TAG).bytes.0;
    let memory = memory(&state, machine::read().memory);
    sitting.history.note_dataset(sitting.id, bytes, memory.0)?;
    Ok(())
}

/// Memory that all nodes of a cluster may use, page cache and all: their limits where these hold, and never more than the
/// machine's.
fn memory(state: &ClusterState, machine: Bytes) -> Bytes {
    let limits = state.limits.as_ref().filter(|l| l.by.is_some());
    let Some(limits) = limits else {
        return machine;
    };
    let each = state.plan.nodes.iter();
    let each = each.map(|node| limits.memory_of(&node.name).map(|bytes| bytes.0));
    each.sum::<Option<u64>>()
        .map_or(machine, |sum| machine.min(Bytes(sum)))
}

/// The nodes that write a dataset: how it was written is no part of the question, so all settings have it from nodes of the
/// same size, which are as fast as this machine lets them be.
fn writer(up: &UpRequest, name: &str) -> UpRequest {
    let nodes = u64::try_from(up.spec.topology.nodes())
        .unwrap_or(u64::MAX)
        .max(1);
    let share = machine::read().memory.0 / nodes / WRITER_SHARE;
    let heap = WRITER_HEAP.min(Bytes(share));
    UpRequest {
        spec: ClusterSpec {
            name: name.to_owned(),
            heap: Some(up.spec.heap.map_or(heap, |own| own.max(heap))),
            new_heap: None,
            memory_limit: None,
            cpus: None,
            disk_speed: None,
            disk: None,
            ..up.spec.clone()
        },
        read_ahead: None,
        stack: None,
        ..up.clone()
    }
}

fn make(
    sitting: &mut Sitting<'_>,
    up: &UpRequest,
    combination: &Combination,
) -> Result<(), ExperimentError> {
    bring_up(sitting, up)?;
    let Some(wanted) = &combination.populate else {
        return Ok(());
    };
    let request = PopulateRequest {
        cluster: up.spec.name.clone(),
        ..wanted.clone()
    };
    let events = &mut sitting.events;
    let mut see = |event: PopulateEvent<'_>| events(ExperimentEvent::Populate(&event));
    let populated = populate(sitting.context, &request, &mut see)?;
    if populated.verified.is_some_and(|found| !found.is_whole()) {
        return Err(ExperimentError::NotWhole);
    }
    let save = SaveRequest {
        cluster: up.spec.name.clone(),
        tag: TAG.to_owned(),
        replace: true,
        leave_stopped: true,
        settle_within: SETTLE_WITHIN,
        within: STOP_WITHIN,
        ready_within: up.ready_within,
    };
    let events = &mut sitting.events;
    baseline::save(sitting.context, &save, &mut |event| {
        life(event, &mut **events)
    })?;
    Ok(())
}

fn life(event: BaselineEvent, events: &mut dyn FnMut(ExperimentEvent<'_>)) {
    if let BaselineEvent::Life(event) = event {
        events(ExperimentEvent::Bench(LabEvent::Cluster(&event)));
    }
}

/// Removes the datasets of an experiment that is over.
pub(super) fn forget(context: &Context, cluster: &str) -> Result<(), ClusterError> {
    let baselines = Baselines::of(context);
    for name in baselines.clusters()? {
        // One that could not be saved has left an empty place.
        if is_dataset(&name, cluster) && baselines.tags(&name)?.iter().any(|tag| tag == TAG) {
            baselines.remove(&name, TAG)?;
        }
    }
    Ok(())
}

/// Whether a name is that of a dataset's cluster, such as `exp3-0`, of the experiment whose restarts have this name.
pub(super) fn is_dataset(name: &str, cluster: &str) -> bool {
    let behind = name.strip_prefix(cluster);
    let number = behind.and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_a_dataset_and_formats_do_not() {
        assert!(!shapes_files("concurrent_reads") && !shapes_files("disk_access_mode"));
        assert!(shapes_files("storage_compatibility_mode") && shapes_files("memtable_heap_space"));
    }

    #[test]
    fn only_numbered_names_are_datasets() {
        assert!(is_dataset("exp3-0", "exp3") && is_dataset("exp3-12", "exp3"));
        for of_a_person in ["exp3", "exp3-", "exp3-mine", "exp31-0", "my-exp3-0"] {
            assert!(!is_dataset(of_a_person, "exp3"), "{of_a_person}");
        }
    }
}
