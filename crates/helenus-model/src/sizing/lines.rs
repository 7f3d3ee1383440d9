//! Settings of instances, and every decision of a plan in a line with its reason.
//! Refuses to repeat a promise as if it were a measurement.

use super::data::DataPlan;
use super::heap::{HEAP_GAP, HEAP_MOST, blank_heap, is_new};
use super::place::CPUS_MOST;
use super::tips::{self, DEV_GUIDE, GUIDE, Measured, SIZES};
use super::{Instance, Line, Purpose, Sizing};
use crate::units::{Bytes, human_duration, plural, thousands, whole};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where memtables keep their cells.
const MEMTABLES: &str = "offheap_objects";
/// Cassandra's own `concurrent_reads`.
const STOCK_READS: u32 = 32;
/// `MaxGCPauseMillis` of the stock JVM options of 5.0; those of older releases say 500.
const PAUSE_NEW: u32 = 300;
const PAUSE_OLD: u32 = 500;
/// The lowest pause that the stock options call viable; it is the JVM's own default.
const PAUSE_LOW: u32 = 200;

/// The newest JDK of the machine that the release supports; else the newest that it supports at all.
pub(super) fn jdk(sizing: &Sizing<'_>) -> (u32, Option<bool>) {
    let supported = sizing.release.supported_jdks;
    let found = sizing.machine.jdks.iter().map(|java| java.feature);
    let best = found.filter(|jdk| supported.contains(jdk)).max();
    let newest = supported.iter().copied().max().unwrap_or_default();
    let known = !sizing.machine.jdks.is_empty();
    (best.unwrap_or(newest), known.then_some(best.is_some()))
}

/// Keys of cassandra.yaml for an instance with so many logical processors.
pub(super) fn settings(sizing: &Sizing<'_>, cpus: u32) -> BTreeMap<String, Value> {
    let mut wanted = vec![
        ("concurrent_reads", json!(reads(cpus))),
        ("concurrent_writes", json!(cpus)),
        (
            "concurrent_compactors",
            json!(compactors(sizing.purpose, cpus)),
        ),
    ];
    // Cells outside the heap, as the preset for measurements has them.
    wanted.push(("memtable_allocation_type", json!(MEMTABLES)));
    if fast_compaction(sizing) {
        wanted.push(("compaction_throughput", json!("128MiB/s")));
    }
    let own = wanted.into_iter().filter_map(|(key, value)| {
        let checked = sizing.release.translate(key, &value).ok()?;
        Some((checked.name, checked.value))
    });
    own.collect()
}

fn reads(cpus: u32) -> u32 {
    (3 * cpus).max(STOCK_READS)
}

fn compactors(purpose: Purpose, cpus: u32) -> u32 {
    match purpose {
        Purpose::Latency => 2,
        Purpose::Throughput | Purpose::Density => (cpus / 4).clamp(2, 8),
    }
}

fn fast_compaction(sizing: &Sizing<'_>) -> bool {
    let nvme = sizing.machine.disks.iter().any(|disk| disk.is_nvme());
    sizing.purpose == Purpose::Throughput && nvme
}

fn pause(sizing: &Sizing<'_>) -> u32 {
    match (sizing.purpose, is_new(sizing.release)) {
        (Purpose::Latency, _) => PAUSE_LOW,
        (_, true) => PAUSE_NEW,
        (_, false) => PAUSE_OLD,
    }
}

/// Flags of the JVM beside the heap's; `shared` is the number of processors where the machine has other instances.
pub(super) fn jvm(sizing: &Sizing<'_>, heap: Bytes, shared: Option<u32>) -> Vec<String> {
    let mut flags = vec![
        "-XX:+UseG1GC".to_owned(),
        format!("-XX:MaxGCPauseMillis={}", pause(sizing)),
        "-XX:+UseTransparentHugePages".to_owned(),
    ];
    if is_new(sizing.release) {
        let direct = Bytes::mib(heap.as_mib() / 2);
        flags.push(format!("-XX:MaxDirectMemorySize={}", direct.jvm()));
    }
    if let Some(cpus) = shared {
        flags.push(format!("-XX:ActiveProcessorCount={cpus}"));
        flags.push(format!("-Dcassandra.available_processors={cpus}"));
    }
    flags
}

/// What instances lack.
pub(super) fn cautions(sizing: &Sizing<'_>, instances: &[Instance]) -> Vec<String> {
    let mut cautions = Vec::new();
    let small: Vec<&Instance> = instances.iter().filter(|i| i.size.is_none()).collect();
    if let Some(first) = small.first() {
        cautions.push(format!(
            "below the guide's least for production, {} logical processors and {}: {} with {} and {}",
            SIZES[0].cpus,
            SIZES[0].memory,
            plural(small.len(), "instance"),
            first.cpus.len(),
            first.memory
        ));
    }
    let split: Vec<&str> = instances
        .iter()
        .filter(|i| i.numa.len() > 1)
        .map(|i| i.name.as_str())
        .collect();
    if !split.is_empty() {
        cautions.push(format!(
            "across NUMA nodes, because each has fewer than {} processors: {}",
            SIZES[0].cpus,
            split.join(", ")
        ));
    }
    if jdk(sizing).1 == Some(false) {
        let features: BTreeSet<u32> = sizing.machine.jdks.iter().map(|j| j.feature).collect();
        let features: Vec<String> = features.iter().map(u32::to_string).collect();
        cautions.push(format!(
            "Cassandra {} supports none of the JDKs found: {}",
            sizing.release.version,
            features.join(", ")
        ));
    }
    cautions
}

/// The lowest and the highest of the instances: `31 GiB`, or `86 to 88`.
fn span<T: Ord + ToString>(all: impl Iterator<Item = T>) -> String {
    let all: BTreeSet<T> = all.collect();
    let text = |value: Option<&T>| value.map(T::to_string).unwrap_or_default();
    let (first, last) = (text(all.first()), text(all.last()));
    match first == last {
        true => first,
        false => format!("{first} to {last}"),
    }
}

fn line(what: &str, value: impl Into<String>, why: impl Into<String>, source: &str) -> Line {
    Line {
        what: what.to_owned(),
        value: value.into(),
        why: why.into(),
        source: source.to_owned(),
        promised: None,
        measured: None,
    }
}

impl Line {
    fn promised(self, promise: &str) -> Self {
        Self {
            promised: Some(promise.to_owned()),
            ..self
        }
    }

    fn measured(self, measured: Measured) -> Self {
        Self {
            measured: Some(measured.text()),
            ..self
        }
    }
}

/// Every decision.
pub(super) fn lines(
    sizing: &Sizing<'_>,
    jdk: u32,
    instances: &[Instance],
    data: Option<&DataPlan>,
) -> Vec<Line> {
    let mut lines = of_place(sizing, instances);
    lines.extend(of_memory(sizing, instances));
    lines.extend(of_java(sizing, jdk));
    lines.extend(of_yaml(sizing, instances));
    lines.extend(of_devices(sizing, instances));
    lines.extend(of_data(sizing, instances, data));
    lines
}

fn of_place(sizing: &Sizing<'_>, instances: &[Instance]) -> Vec<Line> {
    let machine = sizing.machine;
    let why = match sizing.purpose {
        Purpose::Density => format!(
            "as many as have {} processors and {} each: the guide's smallest",
            SIZES[0].cpus, SIZES[0].memory
        ),
        _ => format!(
            "an instance scales up to about {CPUS_MOST} logical processors, and stays inside one NUMA node if that is large enough"
        ),
    };
    let value = format!(
        "{} of {} logical processors",
        instances.len(),
        span(instances.iter().map(|i| i.cpus.len()))
    );
    let mut lines = vec![line("instances", value, why, GUIDE)];
    let nodes = machine.nodes().count();
    if nodes > 1 {
        lines.push(
            line(
                "pinning",
                "processors and memory of each instance to its NUMA node",
                "memory of another node is further away",
                GUIDE,
            )
            .promised("up to 15 %, with sub-NUMA clusters"),
        );
    } else if instances.len() > 1 {
        let why = "one NUMA node: memory is equally far from all; processors that are an instance's own keep their caches";
        lines.push(line("pinning", "processors of each instance", why, GUIDE));
    }
    let virtual_machine = machine.platform.virtualisation.as_deref();
    let virtual_machine = virtual_machine.is_some_and(|name| name != "none");
    if let Some(clusters) = machine.clusters_per_socket().filter(|_| !virtual_machine) {
        let most = instances.iter().filter(|i| i.numa.len() == 1);
        let crowded = most
            .clone()
            .any(|one| most.clone().filter(|other| other.numa == one.numa).count() > 1);
        if crowded && machine.arch.as_deref() == Some("x86_64") {
            let value =
                format!("{clusters} NUMA nodes a socket; more, where the firmware can (SNC)");
            let why = "several instances share a node: smaller nodes keep their memory apart";
            let more = line("sub-NUMA clusters", value, why, GUIDE);
            lines.push(more.promised("up to 15 %, with pinning"));
        }
    }
    if machine.processors.smt == Some(false)
        && !virtual_machine
        && machine.arch.as_deref() == Some("x86_64")
    {
        let why = "two threads a core, where the processor has them";
        let smt = line("SMT", "on, in the firmware", why, GUIDE);
        lines.push(smt.promised("up to 22 %"));
    }
    lines
}

fn of_memory(sizing: &Sizing<'_>, instances: &[Instance]) -> Vec<Line> {
    let memory = sizing.machine.usable_memory();
    let heaps: u64 = instances.iter().map(|i| i.heap.0).sum();
    let share = u128::from(heaps) * 1000 / u128::from(memory.0.max(1));
    let of_all = format!("{}.{} % of memory in all", share / 10, share % 10);
    let (gap, least) = (HEAP_GAP, instances.iter().map(|i| i.heap).min());
    let rule =
        "the guide says 25 to 50 % of memory in all; a quarter leaves the rest to the page cache";
    let why = if least == Some(gap.0) {
        format!(
            "{rule}; a quarter would be between 31 and 38 GB, where larger references use up what the heap gains"
        )
    } else if instances.iter().any(|i| i.memory.0 / 4 > HEAP_MOST.0) {
        format!("{rule}; above {HEAP_MOST} it saw no gain")
    } else {
        rule.to_owned()
    };
    let value = format!("{} each, {of_all}", span(instances.iter().map(|i| i.heap)));
    let heap = line("heap", value, why, GUIDE).measured(tips::HEAP);
    let (blank, formula) = blank_heap(sizing.release, memory);
    let value = format!("{blank} for each instance, whatever else runs");
    let why =
        format!("left blank, the start script takes {formula} of the whole machine: not used");
    let source = format!(
        "cassandra-env.sh of {}; {DEV_GUIDE} warns of it",
        sizing.release.series
    );
    let blank = line("blank heap", value, why, &source);
    let value = format!(
        "{} each beside the heap, {} left for the page cache",
        span(instances.iter().map(|i| i.off_heap)),
        span(instances.iter().map(|i| i.page_cache))
    );
    let why =
        "memtables, chunk cache, buffers, code, threads and the collector's maps, planned by kind";
    let off_heap = line("off heap", value, why, "docs/memory.md");
    vec![heap, blank, off_heap]
}

fn of_java(sizing: &Sizing<'_>, jdk: u32) -> Vec<Line> {
    let release = sizing.release;
    let known: Vec<String> = release.supported_jdks.iter().map(u32::to_string).collect();
    let newest = release.supported_jdks.iter().copied().max();
    let value = match newest.filter(|newest| *newest > jdk) {
        Some(newest) => format!("JDK {jdk}, found here; {newest} is newer and supported"),
        None => format!("JDK {jdk}"),
    };
    let why = format!(
        "the newest that Cassandra {} supports ({}), as far as the machine has it",
        release.version,
        known.join(", ")
    );
    let jdk = line("JDK", value, why, GUIDE);
    let pause = pause(sizing);
    let why = match sizing.purpose {
        Purpose::Latency => {
            "short pauses: the stock options call 200 ms the lowest that is viable; a collector without pauses (ZGC) wants JDK 21"
        }
        _ if is_new(release) => "the release's own collector and pause",
        _ => "shorter pauses than the release's CMS; the pause is that of its stock options for G1",
    };
    let value = format!("G1, pauses of {pause} ms");
    let source = format!("{GUIDE}; stock JVM options of {}", release.series);
    let collector = line("collector", value, why, &source);
    let collector = match is_new(release) {
        true => collector,
        false => collector.promised("up to 10 % against CMS"),
    };
    let huge = line(
        "huge pages",
        "transparent",
        "pages of 2 MB cost less to look up, and their number need not be guessed",
        GUIDE,
    );
    vec![
        jdk,
        collector.measured(tips::G1),
        huge.promised("3 to 5 %").measured(tips::HUGE_PAGES),
        line(
            "UseNUMA",
            "left out",
            "an instance inside one node has nothing to interleave",
            GUIDE,
        ),
    ]
}

fn of_yaml(sizing: &Sizing<'_>, instances: &[Instance]) -> Vec<Line> {
    let values = |f: &dyn Fn(u32) -> u32| span(instances.iter().map(|i| f(i.cpus.len())));
    let few = instances.iter().any(|i| 3 * i.cpus.len() < STOCK_READS);
    let why = match few {
        true => {
            "three a logical processor, but not fewer than Cassandra's own 32: six threads on two processors were slower here"
        }
        false => "three a logical processor",
    };
    let mut lines = vec![
        line("concurrent_reads", values(&reads), why, GUIDE)
            .promised("up to 15 %")
            .measured(tips::READS),
        line(
            "concurrent_writes",
            values(&|cpus| cpus),
            "one a logical processor: more contend (CASSANDRA-13896)",
            GUIDE,
        )
        .measured(tips::WRITES),
        line(
            "concurrent_compactors",
            values(&|cpus| compactors(sizing.purpose, cpus)),
            match sizing.purpose {
                Purpose::Latency => {
                    "the fewest, so that requests wait for no compaction; watch that none pile up"
                }
                _ => "a quarter of the processors, 2 to 8: the guide sets 8 while it loads data",
            },
            "cassandra.yaml: as many as disks, 2 to 8, more on SSDs; and the guide",
        ),
    ];
    let why = "cells outside the heap: shorter collections, steadier latencies";
    let source = "the preset bench (docs/presets.md)";
    lines.push(line("memtables", MEMTABLES, why, source));
    if fast_compaction(sizing) {
        let why = "the guide raises it while it loads data on NVMe; the stock limit is 64 MiB/s (16 before 4.0)";
        lines.push(line("compaction throughput", "128 MiB/s", why, GUIDE));
    }
    if is_new(sizing.release) {
        lines.push(
            line(
                "compaction of tables",
                "UnifiedCompactionStrategy",
                "adjusts itself between levelled and size-tiered; a setting of each table, not in the plan's keys",
                GUIDE,
            )
            .measured(tips::UNIFIED),
        );
        lines.push(
            line(
                "storage format",
                "that of cassandra_latest.yaml, for new data only",
                "trie memtables and BTI files; data of 4.x cannot go back; not in the plan's keys",
                GUIDE,
            )
            .promised("up to 27 %")
            .measured(tips::LATEST),
        );
    } else {
        let why =
            "best for 80 % reads and 20 % writes; a setting of each table, not in the plan's keys";
        let value = "SizeTieredCompactionStrategy";
        lines.push(line("compaction of tables", value, why, GUIDE).measured(tips::SIZE_TIERED));
    }
    lines
}

fn of_devices(sizing: &Sizing<'_>, instances: &[Instance]) -> Vec<Line> {
    let mut lines = Vec::new();
    let disks: BTreeSet<&str> = instances
        .iter()
        .flat_map(|i| i.disks.iter().map(String::as_str))
        .collect();
    if !disks.is_empty() {
        let count = disks.len();
        let value = match count < instances.len() {
            true => format!("{count} for {}", plural(instances.len(), "instance")),
            false => format!("{} for each instance", count / instances.len()),
        };
        let why = "an instance is bound by IO where several use one NVMe";
        lines.push(line("disks", value, why, GUIDE));
        let read_ahead = line(
            "read-ahead",
            "8 KiB (`up --read-ahead 8K`)",
            "small random reads take what they need; the kernel's 128 KiB read more",
            GUIDE,
        );
        lines.push(
            read_ahead
                .promised("up to 100 %")
                .measured(tips::READ_AHEAD),
        );
    }
    let adding = instances.iter().filter(|i| i.add_address).count();
    let value = match instances.first().and_then(|i| i.interface.as_deref()) {
        Some(card) if adding > 0 => format!("one each; {adding} to be added to {card}"),
        Some(card) => format!("one each, of {card}"),
        None => "one each".to_owned(),
    };
    lines.push(line(
        "addresses",
        value,
        "no two instances may share one",
        GUIDE,
    ));
    let ports = span(instances.iter().map(|i| i.jmx_port));
    let why = "unique on the machine, in steps of 100; Helenus opens JMX on demand only";
    lines.push(line("JMX ports", ports, why, GUIDE));
    lines.push(of_network(sizing, instances));
    lines
}

/// The speed that the sizes ask for, and what the fastest interface has.
fn of_network(sizing: &Sizing<'_>, instances: &[Instance]) -> Line {
    let asked = instances.iter().map(|i| {
        let size = SIZES.iter().rfind(|size| i.cpus.len() >= size.cpus);
        size.unwrap_or(&SIZES[0]).network_gbit.0
    });
    let asked: u64 = asked.sum();
    let speeds = sizing
        .machine
        .networks
        .iter()
        .filter_map(|card| card.speed_mbit);
    let has = speeds.max();
    let value = match has {
        None => format!("{asked} Gbit/s in all; the machine's is not known"),
        Some(has) if has >= asked * 1000 => format!("{asked} Gbit/s in all, has {}", gbit(has)),
        Some(has) => format!("{asked} Gbit/s in all for full load, has {}", gbit(has)),
    };
    let why = "the table's 10 to 25 Gbit/s for each instance of its size";
    line("network", value, why, GUIDE)
}

fn gbit(mbit: u64) -> String {
    match mbit % 1000 {
        0 => format!("{} Gbit/s", mbit / 1000),
        _ => format!("{mbit} Mbit/s"),
    }
}

fn of_data(sizing: &Sizing<'_>, instances: &[Instance], data: Option<&DataPlan>) -> Vec<Line> {
    let wish = &sizing.wish;
    let mut lines = Vec::new();
    if let Some(data) = data {
        let value = format!(
            "{} on {} for {} rows of {} B, {}",
            data.total,
            plural(data.machines as usize, "machine"),
            thousands(data.rows),
            data.row_size.0,
            plural(data.rf as usize, "replica")
        );
        let why = match wish.row_size {
            Some(_) => "rows times their size times replicas",
            None => "an entry of the insanity example takes about 670 bytes on disk, compressed",
        };
        lines.push(line("data", value, why, GUIDE));
        let value = format!("{} for each instance", data.wanted);
        let why = "its data, and as much again: a major compaction writes them again beside the old ones; unified compaction may need less";
        let source = "Cassandra's documentation on size-tiered compaction";
        lines.push(line("disk space", value, why, source));
    }
    if let Some(rate) = wish.rate_per_s {
        let machines = f64::from(wish.machines.max(1));
        #[expect(clippy::cast_precision_loss, reason = "a few instances")]
        let each = rate / machines / instances.len() as f64;
        #[expect(clippy::cast_precision_loss, reason = "sizes of rows")]
        let bits = rate * wish.row().0 as f64 * 8.0 * f64::from(1 + wish.rf) / machines;
        let value = format!(
            "{} operations/s for each instance, about {:.2} Gbit/s of rows for each machine",
            whole(each),
            bits / 1e9
        );
        let why = "each row passes once from or to the client, and once for each replica if all are written";
        lines.push(line("rate", value, why, "computed"));
    }
    if let Some(p99) = wish.p99 {
        let test = format!("`helenus run WORKLOAD --slo 'p99<{}ms'`", p99.as_millis());
        let value = format!(
            "{}: not predicted; {test} measures the rate that holds it",
            human_duration(p99)
        );
        let why =
            "latency follows from the load, the data and the disk, not from a machine's facts";
        lines.push(line("p99", value, why, "docs/measuring.md"));
    }
    lines
}
