//! What a laptop holds of a developer's stack: nodes, a gateway, and what belongs to it.
//! Refuses to split what was only measured together: the guide gives no memory of single extras, and `helenus stack` has fewer.

use super::tips::DEV_GUIDE;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Machines above this are no laptops: the guide's own had so much.
pub(super) const SMALL_MACHINE: Bytes = Bytes(32 << 30);

/// What the guide gave the whole stack with one node: it ran.
const RAN_WITH_ONE: Bytes = Bytes::mib(4096);

/// A JVM takes as much beside its heap as the heap is, by the guide.
const fn with_off_heap(heap_mib: u64) -> u64 {
    2 * heap_mib
}

/// Processors that the guide wants for the whole stack.
pub(super) const CPUS_FOR_ALL: u32 = 4;

/// Metrics, Reaper, Medusa and what runs them: at most what the guide's 4 GB leave beside a node of 500 MB and a gateway of
/// 300 MB, with Stargate, Grafana and Kubernetes among them.
const EXTRAS: Bytes = Bytes::mib(RAN_WITH_ONE.as_mib() - with_off_heap(500) - with_off_heap(300));

/// Memory of the parts of `helenus stack` in MiB after five minutes of load, in heaps of 500 and 300 MB (`prove stack`).
const NODE: u64 = 469;
const GATEWAY: u64 = 357;
/// Reaper, Prometheus and the metrics of the nodes.
const PARTS: u64 = 126 + 59 + 13;
/// A node of 64 MiB (docs/memory.md).
const TINY: u64 = 188;

/// What is left out first, in the guide's order.
const LEAVE_OUT: [&str; 4] = [
    "metrics and dashboards",
    "Reaper",
    "Medusa",
    "nodes beyond the first",
];

/// What a machine of that size holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackBudget {
    /// Memory of the machine, in bytes.
    pub memory: Bytes,
    /// The first of the stacks that fits; absent where none does.
    pub chosen: Option<String>,
    /// What to leave out first where it does not fit.
    pub leave_out: Vec<String>,
    /// The stacks, the most complete ones first.
    pub stacks: Vec<Rung>,
    /// Where the figures come from.
    pub source: String,
    /// What Helenus measured of such a stack.
    pub measured: String,
}

/// A stack with its heaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// What it is.
    pub name: String,
    /// Nodes of Cassandra.
    pub nodes: u32,
    /// Heap of each, in bytes.
    pub heap: Bytes,
    /// Heap of the gateway, in bytes; absent without one.
    pub gateway_heap: Option<Bytes>,
    /// Memory of the nodes, in bytes.
    pub nodes_memory: Bytes,
    /// Memory of the gateway, in bytes.
    pub gateway_memory: Bytes,
    /// Memory of metrics, Reaper, Medusa and what runs them, in bytes.
    pub extras_memory: Bytes,
    /// All of them.
    pub needs: Bytes,
    /// What nodes, gateway and parts of `helenus stack` took in this shape, in bytes, by what was measured of each; absent
    /// with heaps that were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Bytes>,
    /// Whether they fit.
    pub fits: bool,
}

/// Heaps in MiB: nodes, of each node, of the gateway; and whether extras are there. By preference: heaps of twice the size
/// where there is room, then the whole stack with fewer nodes before more nodes without it.
const STACKS: [(&str, u32, u64, Option<u64>, bool); 6] = [
    (
        "whole stack, three nodes, larger heaps",
        3,
        1000,
        Some(500),
        true,
    ),
    ("whole stack, three nodes", 3, 500, Some(300), true),
    ("whole stack, one node", 1, 500, Some(300), true),
    ("three nodes and a gateway", 3, 500, Some(300), false),
    ("one node and a gateway", 1, 500, Some(300), false),
    ("one tiny node", 1, 64, None, false),
];

/// What Helenus plans for a node of 64 MiB (docs/memory.md).
const TINY_NODE: Bytes = Bytes::mib(248);

/// The budget of a machine with that memory.
pub fn budget(memory: Bytes) -> StackBudget {
    let stacks: Vec<Rung> = STACKS
        .iter()
        .map(|(name, nodes, heap, gateway, extras)| {
            let each = match heap {
                64 => TINY_NODE,
                heap => Bytes::mib(with_off_heap(*heap)),
            };
            let nodes_memory = Bytes(each.0 * u64::from(*nodes));
            let gateway_memory = gateway.map_or(Bytes(0), |heap| Bytes::mib(with_off_heap(heap)));
            let extras_memory = if *extras { EXTRAS } else { Bytes(0) };
            let needs = nodes_memory + gateway_memory + extras_memory;
            let parts = if *extras { PARTS } else { 0 };
            let measured = match (*heap, *gateway) {
                (500, Some(300)) => Some(u64::from(*nodes) * NODE + GATEWAY + parts),
                (64, None) => Some(TINY),
                _ => None,
            };
            Rung {
                name: (*name).to_owned(),
                nodes: *nodes,
                heap: Bytes::mib(*heap),
                gateway_heap: gateway.map(Bytes::mib),
                nodes_memory,
                gateway_memory,
                extras_memory,
                needs,
                measured: measured.map(Bytes::mib),
                fits: needs <= memory,
            }
        })
        .collect();
    StackBudget {
        memory,
        chosen: stacks
            .iter()
            .find(|rung| rung.fits)
            .map(|rung| rung.name.clone()),
        leave_out: LEAVE_OUT.map(str::to_owned).to_vec(),
        stacks,
        source: format!(
            "{DEV_GUIDE}: a JVM takes as much beside its heap as its heap is; the whole stack ran with one node in 4 GB and with three in 8 GB, \
             not with three in 4 GB. Helenus plans a node of 500 MB at 829 MiB and one of 64 MiB at 248 MiB (docs/memory.md)"
        ),
        measured: format!(
            "`helenus stack` takes {NODE} MiB a node, {GATEWAY} MiB for the gateway and {PARTS} MiB for Reaper, Prometheus and metrics after a load; Stargate, Grafana and Kubernetes are not in it (docs/stack.md). Three nodes and a gateway with heaps of 128 MB held p99 < 300 ms up to more than 400/s on two processors, without the extras (docs/experiments/k8ssandra-dev.md)"
        ),
    }
}
