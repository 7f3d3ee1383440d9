//! How large a heap is, and what a node with it comes to.
//! Refuses a heap that does not fit with what a node takes beside it.

use super::SizingError;
use crate::memory::{MemoryPlan, blind_heap, largest_heap};
use crate::release::Release;
use crate::units::Bytes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const GIB: u64 = 1 << 30;

/// Above this the guide saw no gain.
pub const HEAP_MOST: Bytes = Bytes(64 * GIB);

/// Heaps that the guide says to avoid: above the first, references take twice the room, and up to the second that eats
/// what the heap is larger. 31 GiB is the guide's own heap below it.
pub const HEAP_GAP: (Bytes, Bytes) = (Bytes(31 * GIB), Bytes(38 * GIB));

/// The heap of an instance with that memory, by the guide: a quarter, which leaves the rest to the page cache; never in
/// the gap, never above the most.
pub fn heap_for(memory: Bytes) -> Bytes {
    let quarter = Bytes::mib(Bytes(memory.0 / 4).as_mib()).min(HEAP_MOST);
    if quarter > HEAP_GAP.0 && quarter <= HEAP_GAP.1 {
        HEAP_GAP.0
    } else {
        quarter
    }
}

/// The heap that a release's start script takes of a machine's memory by default, and the script's formula.
/// From 5.0 on it knows that its collector is G1.
pub fn blank_heap(release: &Release, memory: Bytes) -> (Bytes, &'static str) {
    const G1_MOST: Bytes = Bytes::mib(31_744);
    if is_new(release) {
        let half = Bytes::mib(Bytes(memory.0 / 2).as_mib());
        return (half.min(G1_MOST), "min(1/2 ram, 31 GB)");
    }
    let formula = "max(min(1/2 ram, 1 GB), min(1/4 ram, 8 GB))";
    (blind_heap(memory), formula)
}

/// Whether it is 5.0 or newer.
pub(super) fn is_new(release: &Release) -> bool {
    let major = release.series.split('.').next().unwrap_or_default();
    major.parse::<u32>().is_ok_and(|major| major >= 5)
}

/// A heap with what the node takes beside it.
pub(super) struct Fitted {
    pub(super) heap: Bytes,
    pub(super) off_heap: Bytes,
}

/// The rule's heap, or the largest that leaves room for the rest where memory is small.
pub(super) fn fitted(
    release: &Release,
    memory: Bytes,
    set: &BTreeMap<String, Value>,
    jvm: impl Fn(Bytes) -> Vec<String>,
) -> Result<Fitted, SizingError> {
    let yaml: Map<String, Value> = set.clone().into_iter().collect();
    let yaml = Value::Object(yaml);
    let total = |heap| MemoryPlan::of(heap, &yaml, &jvm(heap), true).total();
    let least = Bytes::mib(release.heap_least_mib);
    let most = heap_for(memory).max(least);
    let heap = largest_heap(least, most, memory, total);
    let heap = heap.ok_or_else(|| SizingError::TooSmall {
        memory,
        version: release.version.to_owned(),
        least: total(least),
    })?;
    Ok(Fitted {
        heap,
        off_heap: Bytes(total(heap).0 - heap.0),
    })
}
