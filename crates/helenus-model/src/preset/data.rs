//! The presets' contents: every setting with its reason and source.
//! Refuses logic: these are tables.

use super::{HeapRule, Place, Preset, PresetName, Setting};
use Place::{Environment, Jvm, Process, Property, Yaml};

const DOC_000: &str = "K8ssandra for development (2021)";
const DOC_001: &str = "The perfect Cassandra test environment (2013)";
const CONFIG: &str = "Config class and stock cassandra.yaml of 5.0.9";
const MEASURED: &str = "measured, docs/start.md";
const MEASURED_TINY: &str = "measured, docs/tiny.md";

const fn yaml(
    key: &'static str,
    value: &'static str,
    reason: &'static str,
    source: &'static str,
) -> Setting {
    Setting {
        place: Yaml,
        key,
        value,
        reason,
        source,
    }
}

const fn property(
    key: &'static str,
    value: &'static str,
    reason: &'static str,
    source: &'static str,
) -> Setting {
    Setting {
        place: Property,
        ..yaml(key, value, reason, source)
    }
}

const fn jvm(key: &'static str, reason: &'static str, source: &'static str) -> Setting {
    Setting {
        place: Jvm,
        ..yaml(key, "", reason, source)
    }
}

/// What every preset starts from: parity with stock where it matters, no waits that one machine does not need.
pub const BASE: &[Setting] = &[
    yaml(
        "partitioner",
        "org.apache.cassandra.dht.Murmur3Partitioner",
        "stock value, no default in the class",
        CONFIG,
    ),
    yaml(
        "endpoint_snitch",
        "GossipingPropertyFileSnitch",
        "names the data centre; SimpleSnitch has no racks",
        CONFIG,
    ),
    yaml(
        "commitlog_sync",
        "periodic",
        "stock value, no default in the class",
        CONFIG,
    ),
    yaml(
        "commitlog_sync_period",
        "10s",
        "stock value; kill -9 loses at most the last 100 ms, as mapped segments survive in the page cache behind a marker every 100 ms",
        CONFIG,
    ),
    yaml(
        "internode_compression",
        "dc",
        "stock value; the class says none",
        CONFIG,
    ),
    yaml(
        "inter_dc_tcp_nodelay",
        "true",
        "the stock yaml sets false, which can add a round trip between data centres; pinned and reported",
        CONFIG,
    ),
    yaml(
        "auto_snapshot",
        "false",
        "a snapshot at each TRUNCATE and DROP fills the disk of a throw-away cluster",
        DOC_001,
    ),
    yaml(
        "auto_bootstrap",
        "false",
        "the tokens are assigned before the start; a new cluster has nothing to stream",
        MEASURED,
    ),
    property(
        "cassandra.skip_wait_for_gossip_to_settle",
        "0",
        "the wait is 8 s at least; readiness is proved by peers, schema and reads at ALL instead",
        MEASURED,
    ),
    property(
        "cassandra.allow_unsafe_join",
        "true",
        "skips the check that no other node has this address, which waits in steps of a second: Helenus checks its addresses itself",
        MEASURED,
    ),
    property(
        "cassandra.ring_delay_ms",
        "10000",
        "30 s by default, for gossip among a thousand nodes: nodes that join or leave wait for it twice",
        "StorageService.getRingDelay of 5.0.9; docs/nodes.md",
    ),
    property(
        "cassandra.load_ring_state",
        "false",
        "gossip delivers the ring within a second; a saved copy is only older",
        "Testcontainers' flags; measured, docs/start.md",
    ),
    property(
        "cassandra.skip_paxos_state_rebuild",
        "true",
        "nothing to rebuild in a cluster that was never an older release",
        "CassandraRelevantProperties of 5.0.9",
    ),
    property(
        "cassandra.superuser_setup_delay_ms",
        "0",
        "10 s by default, for clusters that upgrade",
        "CassandraRelevantProperties of 5.0.9",
    ),
    property(
        "cassandra.memtable.row_overhead_size",
        "180",
        "given, not estimated: the estimate measures 100,000 rows at every start, a third of it. The same property limits a trie memtable's size in MiB",
        MEASURED,
    ),
    property(
        "cassandra.shutdown_announce_in_ms",
        "200",
        "2 s by default, for peers far away",
        "CassandraRelevantProperties of 5.0.9",
    ),
    property(
        "java.awt.headless",
        "true",
        "no display is used",
        "stock cassandra-env.sh",
    ),
    jvm(
        "-ea",
        "stock: Cassandra's own assertions stay on",
        "stock jvm-server.options",
    ),
    jvm(
        "-XX:-UsePerfData",
        "no mapped file in /tmp: not slowed by its writes, nothing left behind",
        "stock jvm-server.options sets +PerfDisableSharedMem for the same reason",
    ),
    jvm(
        "-XX:+ExitOnOutOfMemoryError",
        "a node out of memory dies at once and is reported, instead of failing slowly",
        "as stock's CrashOnOutOfMemoryError, without the core dump",
    ),
];

/// Document 001's knobs in their 5.0 names, and what 5.0 offers to make 64 MB comfortable.
pub const TINY: Preset = Preset {
    name: PresetName::Tiny,
    summary: "a node in a 64 MB heap: many on one machine, up in seconds",
    heap: HeapRule::Fixed {
        heap_mib: 64,
        // A third of 64 MB is alive in an idle node's old generation beside what is promoted: with a young generation
        // of 24 MB nearly every collection was a full one, with 12 MB one in seventeen is (docs/tiny.md).
        new_mib: 12,
    },
    settings: &[
        yaml(
            "concurrent_reads",
            "2",
            "fewer threads, so that reads cannot overpower flushes; 2 is the least allowed",
            DOC_001,
        ),
        yaml("concurrent_writes", "2", "as concurrent_reads", DOC_001),
        yaml(
            "concurrent_counter_writes",
            "2",
            "as concurrent_reads; counters are newer than the document",
            DOC_001,
        ),
        yaml(
            "concurrent_materialized_view_writes",
            "2",
            "as concurrent_reads; views are newer than the document",
            DOC_001,
        ),
        yaml(
            "concurrent_compactors",
            "1",
            "one compaction at a time",
            DOC_001,
        ),
        yaml(
            "compaction_throughput",
            "0MiB/s",
            "unthrottled (was compaction_throughput_mb_per_sec: 0), so that compaction never falls behind",
            DOC_001,
        ),
        yaml(
            "key_cache_size",
            "0MiB",
            "no key cache (was key_cache_size_in_mb: 0)",
            DOC_001,
        ),
        yaml(
            "counter_cache_size",
            "0MiB",
            "no counter cache, for the same reason",
            DOC_001,
        ),
        yaml(
            "hinted_handoff_enabled",
            "false",
            "durability is not needed in a test cluster",
            DOC_001,
        ),
        yaml(
            "native_transport_max_threads",
            "4",
            "few request threads (was rpc_max_threads; the Thrift settings no longer exist)",
            DOC_001,
        ),
        yaml(
            "memtable.configurations.default.class_name",
            "TrieMemtable",
            "fewer objects for the collector: twice the writes in 64 MB",
            MEASURED,
        ),
        yaml(
            "memtable_allocation_type",
            "offheap_objects",
            "cells live outside the heap",
            MEASURED,
        ),
        yaml(
            "memtable_heap_space",
            "8MiB",
            "flush early: replaces flush_largest_memtables_at",
            DOC_001,
        ),
        yaml(
            "memtable_offheap_space",
            "24MiB",
            "flush early, outside the heap too",
            MEASURED,
        ),
        yaml(
            "memtable_flush_writers",
            "1",
            "one flush at a time",
            DOC_001,
        ),
        yaml(
            "commitlog_segment_size",
            "4MiB",
            "32 MiB by default, mapped; limits a mutation to 2 MiB",
            MEASURED,
        ),
        yaml(
            "commitlog_total_space",
            "32MiB",
            "keeps eight segments; 8 GiB by default",
            MEASURED,
        ),
        yaml(
            "file_cache_size",
            "16MiB",
            "chunk cache (replaces reduce_cache_sizes_at)",
            DOC_001,
        ),
        yaml(
            "networking_cache_size",
            "4MiB",
            "below the pool's unit of 8 MiB, so that no unit is ever taken: buffers of the CQL server and of internode messages are single allocations",
            MEASURED,
        ),
        yaml(
            "prepared_statements_cache_size",
            "2MiB",
            "10 MiB at least by default",
            MEASURED,
        ),
        yaml(
            "column_index_cache_size",
            "1KiB",
            "index entries kept on the heap",
            MEASURED,
        ),
        yaml(
            "trickle_fsync",
            "false",
            "one small disk queue; stock value",
            CONFIG,
        ),
        jvm(
            "-XX:+UseSerialGC",
            "the least memory and the fewest threads of all collectors",
            MEASURED,
        ),
        jvm(
            "-XX:TieredStopAtLevel=1",
            "C1 only: half the code cache, a faster start, lower peak throughput",
            MEASURED,
        ),
        jvm(
            "-Xss256k",
            "stacks of fifty threads",
            "stock jvm-server.options",
        ),
        jvm("-XX:ReservedCodeCacheSize=32M", "C1's code fits", MEASURED),
        jvm(
            "-XX:MaxDirectMemorySize=96M",
            "network and chunk buffers, and room for a buffer of hints (32 MiB), which the first round of the batch log takes half a minute after the start whether there are hints or not: with 48M a node died",
            MEASURED,
        ),
        property(
            "cassandra.dehr_stripe_count",
            "1",
            "histograms of the metrics with one stripe instead of two: 5 MB of live heap less; stripes are for many cores",
            MEASURED_TINY,
        ),
        property(
            "io.netty.allocator.numDirectArenas",
            "1",
            "one arena instead of two a core",
            MEASURED,
        ),
        property(
            "io.netty.allocator.numHeapArenas",
            "1",
            "one arena instead of two a core",
            MEASURED,
        ),
        property(
            "io.netty.eventLoopThreads",
            "2",
            "two event loops instead of two a core",
            MEASURED,
        ),
        Setting {
            place: Environment,
            key: "MALLOC_ARENA_MAX",
            value: "1",
            reason: "one glibc arena instead of eight a core",
            source: MEASURED,
        },
        Setting {
            place: Process,
            key: super::TIMER_SLACK_US,
            value: "500",
            reason: "idle workers wake up every 0.5 ms instead of every 0.06: a third of the CPU at 100 op/s",
            source: MEASURED_TINY,
        },
    ],
};

/// Document 001's settings where 5.0 still has a name for them, and nothing else: the mark that `tiny` has to beat.
///
/// Gone since: the Thrift server's threads, `in_memory_compaction_limit_in_mb`, `reduce_cache_sizes_at` and
/// `reduce_cache_capacity_to`; keyspaces and tables are as the workload makes them.
pub const DOC001: Preset = Preset {
    name: PresetName::Doc001,
    summary: "the settings of 2013 in a 64 MB heap, to compare tiny with",
    heap: HeapRule::Fixed {
        heap_mib: 64,
        new_mib: 12,
    },
    settings: &[
        yaml(
            "concurrent_reads",
            "2",
            "fewer threads, so that reads cannot overpower flushes; 2 is the least allowed",
            DOC_001,
        ),
        yaml("concurrent_writes", "2", "as concurrent_reads", DOC_001),
        yaml(
            "concurrent_compactors",
            "1",
            "one compaction at a time",
            DOC_001,
        ),
        yaml(
            "compaction_throughput",
            "0MiB/s",
            "unthrottled (was compaction_throughput_mb_per_sec: 0), so that compaction never falls behind",
            DOC_001,
        ),
        yaml(
            "key_cache_size",
            "0MiB",
            "no key cache (was key_cache_size_in_mb: 0)",
            DOC_001,
        ),
        yaml(
            "hinted_handoff_enabled",
            "false",
            "durability is not needed in a test cluster",
            DOC_001,
        ),
        jvm(
            "-XX:+UseSerialGC",
            "one processor was the rule for small heaps; the collector that is stock today does not fit 64 MB",
            DOC_001,
        ),
        jvm("-Xss256k", "stock then and now", "stock jvm-server.options"),
    ],
};

/// Document 000's heap for a developer's machine.
pub const DEV: Preset = Preset {
    name: PresetName::Dev,
    summary: "a developer's node in a 500 MB heap, otherwise near stock",
    heap: HeapRule::Fixed {
        heap_mib: 500,
        new_mib: 200,
    },
    settings: &[
        yaml(
            "concurrent_compactors",
            "1",
            "leaves the cores to the developer's own programs",
            DOC_000,
        ),
        yaml(
            "commitlog_segment_size",
            "16MiB",
            "32 MiB by default: half the mapped memory",
            MEASURED,
        ),
        yaml(
            "file_cache_size",
            "64MiB",
            "off-heap memory as bounded as the heap",
            DOC_000,
        ),
        yaml(
            "networking_cache_size",
            "32MiB",
            "as file_cache_size",
            DOC_000,
        ),
        yaml(
            "memtable_heap_space",
            "96MiB",
            "a quarter of the heap would be 125 MiB; leaves room beside 200 MB of young generation",
            DOC_000,
        ),
        jvm(
            "-XX:+UseSerialGC",
            "the fastest start and the least memory below 1 GB",
            MEASURED,
        ),
        jvm(
            "-Xss256k",
            "stacks of a hundred threads",
            "stock jvm-server.options",
        ),
        jvm(
            "-XX:MaxDirectMemorySize=256M",
            "as much off heap as half the heap",
            DOC_000,
        ),
        Setting {
            place: Environment,
            key: "MALLOC_ARENA_MAX",
            value: "4",
            reason: "as stock cassandra-env.sh",
            source: "stock cassandra-env.sh",
        },
    ],
};

/// What one measures: full JIT, memory by the machine, everything else as stock as one machine allows.
pub const BENCH: Preset = Preset {
    name: PresetName::Bench,
    summary: "full JIT, memory by the machine: for measurements",
    heap: HeapRule::ByMachine {
        least_mib: 512,
        most_mib: 2048,
    },
    settings: &[
        jvm(
            "-XX:+UseSerialGC",
            "steady pauses where the generator shares the cores; G1's threads would compete with it",
            MEASURED,
        ),
        jvm(
            "-Xss256k",
            "stacks of a hundred threads",
            "stock jvm-server.options",
        ),
        yaml(
            "memtable_allocation_type",
            "offheap_objects",
            "cells outside the heap: shorter collections, steadier latencies",
            MEASURED,
        ),
        Setting {
            place: Environment,
            key: "MALLOC_ARENA_MAX",
            value: "4",
            reason: "as stock cassandra-env.sh",
            source: "stock cassandra-env.sh",
        },
    ],
};
