//! Whether a plan has room on the machine: memory by kind against what is free, hard limits, processors.
//! Refuses what does not fit, with the largest that would.

use super::{NodePlan, PlanError, PlanRequest};
use crate::memory::{LimitPlan, MemoryPlan, fitting, largest_heap};
use crate::preset::PresetName;
use crate::units::Bytes;
use crate::yaml;

/// Memory of each node by kind, by the first that has no preset or disk of its own: the others differ from it in names and
/// addresses only.
pub(super) fn memory(request: &PlanRequest, nodes: &[NodePlan], heap: Bytes) -> MemoryPlan {
    let first = nodes.iter().find(|node| node.own.is_none());
    let first = first.or(nodes.first());
    let yaml = first.and_then(|node| yaml::parse(&node.yaml).ok());
    let jvm = first.map(|node| node.jvm.as_slice()).unwrap_or_default();
    MemoryPlan::of(heap, &yaml.unwrap_or_default(), jvm, request.spec.archive)
        .with_disk(request.spec.disk)
}

/// Checks that all nodes fit, and decides their hard limits; those of nodes with a preset or disk of their own are put
/// into their plans.
pub(super) fn check(
    request: &PlanRequest,
    nodes: &mut [NodePlan],
    heap: Bytes,
    memory: MemoryPlan,
) -> Result<Option<LimitPlan>, PlanError> {
    let clusters = u64::from(request.spec.clusters.max(1));
    let count = nodes.len() as u64 * clusters;
    let each = memory.total();
    let of = |node: &NodePlan| node.own.map_or(memory, |own| own.memory).total();
    let sum = nodes.iter().map(|node| of(node).0).sum::<u64>();
    let need = Bytes(sum.saturating_mul(clusters));
    let has = request.available;
    if need > has && nodes.iter().any(|node| node.own.is_some()) {
        return Err(mixed(request, nodes, &of, need));
    }
    if need > has {
        return Err(PlanError::Memory {
            nodes: count,
            each,
            heap,
            need,
            has,
            largest: largest(request, nodes, heap, each),
        });
    }
    let least = nodes.iter().map(of).max().unwrap_or(each);
    if let Some(asked) = request.spec.memory_limit
        && asked < least
    {
        return Err(PlanError::Limit { asked, least });
    }
    // Half of what nobody planned for stays free: for the page cache of others, and for other programs.
    let share = Bytes((has.0 - need.0) / 2 / count.max(1));
    // What is measured shall have the machine's whole page cache, unless a person says otherwise.
    let limit_of = |preset: PresetName, memory: &MemoryPlan| {
        let by_itself = preset != PresetName::Bench;
        let limit = request.spec.memory_limit;
        limit.or_else(|| by_itself.then(|| memory.limit(share)))
    };
    let limit = limit_of(request.spec.preset, &memory);
    let mut own_limits = false;
    for own in nodes.iter_mut().filter_map(|node| node.own.as_mut()) {
        own.limit = limit_of(own.preset, &own.memory);
        own_limits |= own.limit.is_some();
    }
    let equal_shares = request.spec.clusters > 1;
    let by_hand = request.spec.cpus.is_some() || request.spec.disk_speed.is_some();
    let asked = limit.is_some() || own_limits || by_hand || equal_shares;
    Ok(asked.then_some(LimitPlan {
        memory: limit,
        cpus: request.spec.cpus,
        disk: request.spec.disk_speed,
        equal_shares,
    }))
}

/// Nodes of several presets or disks want more than there is.
fn mixed(
    request: &PlanRequest,
    nodes: &[NodePlan],
    of: &dyn Fn(&NodePlan) -> Bytes,
    need: Bytes,
) -> PlanError {
    let mut kinds: Vec<(PresetName, Bytes, usize)> = Vec::new();
    for node in nodes {
        let preset = node.own.map_or(request.spec.preset, |own| own.preset);
        let each = of(node);
        let alike = |kind: &&mut (PresetName, Bytes, usize)| (kind.0, kind.1) == (preset, each);
        match kinds.iter_mut().find(alike) {
            Some((_, _, count)) => *count += 1,
            None => kinds.push((preset, each, 1)),
        }
    }
    let each = kinds
        .iter()
        .map(|(preset, each, count)| format!("{count} × {} {each}", preset.word()));
    PlanError::MixedMemory {
        nodes: format!("{} nodes", nodes.len()),
        each: each.collect::<Vec<_>>().join(", "),
        need,
        has: request.available,
    }
}

/// What would fit, in words.
fn largest(request: &PlanRequest, nodes: &[NodePlan], heap: Bytes, each: Bytes) -> String {
    let has = request.available;
    let per_cluster = nodes.len() as u64;
    let mut ways = Vec::new();
    let fits = fitting(each, has);
    if request.spec.clusters > 1 && fits >= per_cluster {
        ways.push(format!("--count {}", fits / per_cluster));
    } else if request.spec.clusters <= 1 && fits == 1 && per_cluster > 1 {
        ways.push("1 node".to_owned());
    } else if request.spec.clusters <= 1 && fits > 1 {
        ways.push(format!("{fits} nodes"));
    }
    let count = per_cluster * u64::from(request.spec.clusters.max(1));
    let of = |heap: Bytes| memory(request, nodes, heap).total();
    let below = Bytes(heap.0.saturating_sub(1 << 20));
    let share = Bytes(has.0 / count.max(1));
    if let Some(heap) = largest_heap(
        Bytes::mib(super::release(request).heap_least_mib),
        below,
        share,
        of,
    ) {
        ways.push(format!("--heap {}", heap.jvm()));
    }
    ways.extend(largest_disk(request, nodes, each, share));
    if ways.is_empty() {
        "nothing of this shape fits: free some memory; `helenus list` shows what the clusters use"
            .into()
    } else {
        format!("the largest that fits: {}", ways.join(", or "))
    }
}

/// The largest disk with which each node fits its share, as a flag.
fn largest_disk(
    request: &PlanRequest,
    nodes: &[NodePlan],
    each: Bytes,
    share: Bytes,
) -> Option<String> {
    let beside = each.0.checked_sub(request.spec.disk?.0)?;
    let disk = Bytes(share.0.checked_sub(beside)? >> 20 << 20);
    let yaml = yaml::parse(&nodes.first()?.yaml).unwrap_or_default();
    let (least, _) = super::disk::least(&yaml);
    (disk >= least).then(|| format!("--disk {}", disk.jvm()))
}

/// Checks the number of processors.
pub(super) fn check_cpus(request: &PlanRequest) -> Result<(), PlanError> {
    let cores = request.machine.cores;
    match request.spec.cpus {
        Some(cpus) if !(0.1..=f64::from(cores)).contains(&cpus) => Err(PlanError::Cpus {
            asked: cpus.to_string(),
            cores,
        }),
        _ => Ok(()),
    }
}

/// Flags that limit the processors that the JVM and Cassandra see: both would size pools by the machine's.
pub(super) fn cpu_flags(cpus: f64) -> [String; 2] {
    let whole = cpus.ceil().max(1.0);
    [
        format!("-XX:ActiveProcessorCount={whole}"),
        format!("-Dcassandra.available_processors={whole}"),
    ]
}
