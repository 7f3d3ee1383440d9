//! The memory of a node, planned by kind before it is started, and what a machine holds of such nodes.
//! Refuses to plan by the heap alone: beside a heap of 64 MiB a node wants three times as much again.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one node is planned to come to, by kind, in bytes. Figures without a setting were measured on 5.0.9,
/// Java 17, idle and under load (docs/memory.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// Java's heap: `-Xmx`, all of it, for a serving node touches all of it.
    pub heap: Bytes,
    /// Buffers outside the heap: chunk cache, network, netty, memtables that live off heap.
    pub direct: Bytes,
    /// Metaspace with the class space, beside what the class archive holds.
    pub metaspace: Bytes,
    /// Compiled code.
    pub code: Bytes,
    /// Stacks: threads times what one touches.
    pub threads: Bytes,
    /// The JVM's own: structures of the collector, symbols, the arenas of malloc.
    pub jvm: Bytes,
    /// Pages of the class archives that are the node's own, for they were written to when it was mapped.
    pub archive: Bytes,
    /// Pages of files that are mapped: libraries, jars, what is left of the archives.
    pub files: Bytes,
    /// Its disk, where that is one of limited size in memory: all of it, for a node may fill it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disk: Bytes,
    /// The most that the kinds above can come to by their settings, runaway or not.
    pub bound: Bytes,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_none(size: &Bytes) -> bool {
    *size == Bytes(0)
}

/// Hard limits of each node of a cluster, as they are asked of the system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// Memory with the page cache in it; none where nothing is asked.
    pub memory: Option<Bytes>,
    /// Processors, such as 0.5; none where nothing is asked beyond equal shares.
    pub cpus: Option<f64>,
    /// Speed of the disk; none where nothing is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskLimit>,
    /// Whether each node shall weigh the same when processors are scarce.
    pub equal_shares: bool,
}

/// The speed of the disk for each node, as it is asked of the system: at least one of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskLimit {
    /// Bytes read a second.
    pub read_bytes_per_s: Option<Bytes>,
    /// Bytes written a second.
    pub write_bytes_per_s: Option<Bytes>,
    /// Reads a second, and as many writes.
    pub operations_per_s: Option<u64>,
}

impl std::fmt::Display for DiskLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = |size: Option<Bytes>| size.map(|size| size.0);
        let (read, written) = (self.read_bytes_per_s, self.write_bytes_per_s);
        let operations = self.operations_per_s;
        f.write_str(&disk_speed([
            bytes(read),
            bytes(written),
            operations,
            operations,
        ]))
    }
}

impl DiskLimit {
    /// Of what was said; none where nothing was.
    pub fn of(
        read_bytes_per_s: Option<Bytes>,
        write_bytes_per_s: Option<Bytes>,
        operations_per_s: Option<u64>,
    ) -> Option<Self> {
        let limit = Self {
            read_bytes_per_s,
            write_bytes_per_s,
            operations_per_s,
        };
        (limit != Self::default()).then_some(limit)
    }
}

/// The speed of a disk in words, such as `100 MiB/s read, 500 writes/s`: bytes read and written, reads and writes.
pub fn disk_speed(figures: [Option<u64>; 4]) -> String {
    let [read, written, reads, writes] = figures;
    let parts = [
        read.map(|bytes| format!("{}/s read", Bytes(bytes))),
        written.map(|bytes| format!("{}/s written", Bytes(bytes))),
        reads.map(|reads| format!("{reads} reads/s")),
        writes.map(|writes| format!("{writes} writes/s")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// What Java and Cassandra touch in any case.
mod measured {
    use super::Bytes;

    /// A buffer that 5.0 makes at its start, and netty's first chunks (48 MiB were touched at 24 MiB of pools).
    pub(super) const DIRECT_BASE: Bytes = Bytes::mib(24);
    /// Metaspace and class space beside the archives (5 MiB idle, 9 MiB after a million operations).
    pub(super) const METASPACE: Bytes = Bytes::mib(12);
    /// Compiled code where only C1 compiles (9 MiB idle, 16 MiB under load).
    pub(super) const CODE_C1: Bytes = Bytes::mib(20);
    /// Compiled code of both compilers.
    pub(super) const CODE_FULL: Bytes = Bytes::mib(56);
    /// Threads beside those that settings size (44 of a tiny node that idles).
    pub(super) const THREADS: u64 = 42;
    /// What a stack touches (88 to 124 KiB idle), whatever its size.
    pub(super) const STACK: Bytes = Bytes(160 << 10);
    /// malloc's own heap (13 MiB), symbols and tables (4 MiB).
    pub(super) const JVM: Bytes = Bytes::mib(20);
    /// Collectors that keep a map of the heap: this part of it (G1, ZGC, Shenandoah, Parallel).
    pub(super) const MAPS_OF_HEAP: u64 = 12;
    /// Both archives copied page by page: they are mapped elsewhere than they were dumped for (56 MiB). Without an
    /// archive of the release's classes, those stand in metaspace instead, and come to no more than this.
    pub(super) const ARCHIVE_RELOCATED: Bytes = Bytes::mib(58);
    /// Both archives where they were dumped for: what is written to in any case (26 MiB).
    pub(super) const ARCHIVE_IN_PLACE: Bytes = Bytes::mib(28);
    /// libjvm, libc, the archives' untouched pages (28 MiB for a lone node, 11 MiB beside others).
    pub(super) const FILES: Bytes = Bytes::mib(28);
    /// What HotSpot reserves for code by itself.
    pub(super) const CODE_RESERVED_C1: Bytes = Bytes::mib(48);
    /// The same with both compilers.
    pub(super) const CODE_RESERVED_FULL: Bytes = Bytes::mib(240);
    /// Metaspace has no limit by itself; a Cassandra that runs away in it was never seen above this.
    pub(super) const METASPACE_MOST: Bytes = Bytes::mib(128);
}

impl MemoryPlan {
    /// Plans one node by its heap, its `cassandra.yaml`, the flags of its JVM, and whether it starts from a class-data
    /// archive: one is mapped where it was dumped for (the command line sees to it), unless `jvm` says otherwise.
    #[must_use]
    pub fn of(heap: Bytes, yaml: &Value, jvm: &[String], archive: bool) -> Self {
        let flags = Flags(jvm);
        let c1 = flags.value("-XX:TieredStopAtLevel=") == Some("1");
        let pools = pools(heap, yaml);
        let memtable = memtable_off_heap(heap, yaml);
        // Java's own limit of direct buffers is the heap's size; memtables are allocated beside it.
        let direct_most = flags.size("-XX:MaxDirectMemorySize=").unwrap_or(heap);
        let direct = (measured::DIRECT_BASE + pools).min(direct_most) + memtable;
        let reserved = flags.size("-XX:ReservedCodeCacheSize=").unwrap_or(if c1 {
            measured::CODE_RESERVED_C1
        } else {
            measured::CODE_RESERVED_FULL
        });
        let code = if c1 {
            measured::CODE_C1
        } else {
            measured::CODE_FULL
        };
        let metaspace_most = flags
            .size("-XX:MaxMetaspaceSize=")
            .unwrap_or(measured::METASPACE_MOST);
        let threads = threads(yaml);
        let stack = flags.size("-Xss").unwrap_or(Bytes::mib(1));
        let maps = if flags.has("-XX:+UseSerialGC") {
            Bytes(heap.0 / 64)
        } else {
            Bytes(heap.0 / measured::MAPS_OF_HEAP)
        };
        let moved = flags.value("-XX:ArchiveRelocationMode=") == Some("1");
        let archive = if archive && !moved {
            measured::ARCHIVE_IN_PLACE
        } else {
            measured::ARCHIVE_RELOCATED
        };
        let jvm = measured::JVM + maps;
        let mut plan = Self {
            heap,
            direct,
            metaspace: measured::METASPACE.min(metaspace_most),
            code: code.min(reserved),
            threads: Bytes(threads * stack.min(measured::STACK).0),
            jvm,
            archive,
            files: measured::FILES,
            disk: Bytes(0),
            bound: Bytes(0),
        };
        let most = heap + direct_most + memtable + metaspace_most + reserved;
        let stacks = Bytes(2 * threads * stack.0);
        let bound = most + stacks + Bytes(2 * jvm.0) + measured::ARCHIVE_RELOCATED + plan.files;
        plan.bound = bound.max(plan.total());
        plan
    }

    /// The same node with a disk of that size in memory; the kernel counts its pages as the node's.
    #[must_use]
    pub fn with_disk(self, disk: Option<Bytes>) -> Self {
        let disk = disk.unwrap_or_default();
        Self {
            disk,
            bound: self.bound + disk,
            ..self
        }
    }

    /// Memory of the process that is its alone and that no pressure brings back.
    #[must_use]
    pub fn anonymous(&self) -> Bytes {
        self.heap
            + self.direct
            + self.metaspace
            + self.code
            + self.threads
            + self.jvm
            + self.archive
    }

    /// All kinds; the page cache, which gives way, is not among them.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.anonymous() + self.files + self.disk
    }

    /// The hard limit of a node: all that its settings allow, and `share` of the unplanned rest, in which
    /// its page cache lives. A limit without that share would make Cassandra read from disk what fits in memory.
    #[must_use]
    pub fn limit(&self, share: Bytes) -> Bytes {
        let limit = self.bound + share.max(PAGE_CACHE_LEAST);
        Bytes(limit.0 >> 20 << 20)
    }
}

/// Heaps below this are meant to be small: their memory is not locked.
pub const SMALL_HEAP: Bytes = Bytes::mib(1024);

/// Page cache that a limit always leaves: commit log and a few tables.
const PAGE_CACHE_LEAST: Bytes = Bytes::mib(64);

/// How many nodes of `each` bytes fit into `has`.
#[must_use]
pub fn fitting(each: Bytes, has: Bytes) -> u64 {
    has.0.checked_div(each.0).unwrap_or(u64::MAX)
}

/// The largest heap, in whole MiB from `least` up to `most`, whose node `of` it comes to no more than `each`.
#[must_use]
pub fn largest_heap(
    least: Bytes,
    most: Bytes,
    each: Bytes,
    of: impl Fn(Bytes) -> Bytes,
) -> Option<Bytes> {
    let (mut low, mut high) = (least.as_mib(), most.as_mib());
    if low > high || of(least) > each {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if of(Bytes::mib(middle)) <= each {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(Bytes::mib(low))
}

/// Cassandra's own default without a heap setting: `max(min(1/2 ram, 1024 MB), min(1/4 ram, 8 GB))`.
///
/// It is blind: it reads the machine's memory, not the container's, and knows no other node of the machine. So
/// fifteen nodes that were left to it want fifteen quarters of the machine. Nothing here uses it but the text that
/// says so.
#[must_use]
pub fn blind_heap(machine: Bytes) -> Bytes {
    let half = (machine.0 / 2).min(Bytes::mib(1024).0);
    let quarter = (machine.0 / 4).min(Bytes::mib(8192).0);
    Bytes(half.max(quarter) >> 20 << 20)
}

/// Flags of a JVM; of one that stands there twice the last counts.
pub(crate) struct Flags<'a>(pub(crate) &'a [String]);

impl<'a> Flags<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find_map(|f| f.strip_prefix(name))
    }

    /// The size behind a flag's name, such as that of `-Xmx`.
    pub(crate) fn size(&self, name: &str) -> Option<Bytes> {
        let text = self.value(name)?;
        Bytes::parse(text)
            .ok()
            .or_else(|| text.parse().ok().map(Bytes))
    }

    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|f| f == flag)
    }
}

/// A size of cassandra.yaml under its new name, or its old one in whole MiB.
pub(crate) fn size(yaml: &Value, key: &str) -> Option<Bytes> {
    let mib = |value: &Value| value.as_u64().map(Bytes::mib);
    let text = |value: &Value| Bytes::parse(value.as_str()?).ok();
    yaml.get(key)
        .and_then(text)
        .or_else(|| yaml.get(format!("{key}_in_mb")).and_then(mib))
}

/// Chunk cache and network pool; Cassandra's defaults where they are not said.
fn pools(heap: Bytes, yaml: &Value) -> Bytes {
    let file_cache =
        size(yaml, "file_cache_size").unwrap_or(Bytes(heap.0 / 4).min(Bytes::mib(512)));
    let network =
        size(yaml, "networking_cache_size").unwrap_or(Bytes(heap.0 / 16).min(Bytes::mib(128)));
    file_cache + network
}

/// Space of memtables beside the heap, where they live there.
fn memtable_off_heap(heap: Bytes, yaml: &Value) -> Bytes {
    let off_heap = yaml
        .get("memtable_allocation_type")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.starts_with("offheap"));
    if off_heap {
        size(yaml, "memtable_offheap_space").unwrap_or(Bytes(heap.0 / 4))
    } else {
        Bytes(0)
    }
}

/// Threads: those of any node, and the stages that settings size; stock sizes where they are not said, of which
/// a machine with few processors uses half.
fn threads(yaml: &Value) -> u64 {
    let count = |key: &str, stock: u64| yaml.get(key).and_then(Value::as_u64).unwrap_or(stock);
    let stages = count("concurrent_reads", 32)
        + count("concurrent_writes", 32)
        + count("native_transport_max_threads", 128) / 2
        + count("concurrent_compactors", 2) * 2
        + count("memtable_flush_writers", 2);
    measured::THREADS + stages
}

#[cfg(test)]
mod tests;
