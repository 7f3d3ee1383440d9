//! The charts of nodes and host: processors, memory by kind, disks, thread pools, compactions.
//! Refuses to fill holes: what was not read is not drawn.

use crate::report::RunReport;
use crate::report::axis::Axis;
use crate::report::chart::{Chart, Style};
use crate::report::series::{Clock, Point, growth};
use helenus_model::telemetry::{HostSample, NodeSample, Seen};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes that get a chart of their memory each; of more, only their sums are drawn.
const NODES_APART: usize = 6;

/// Thread pools that are drawn: those in which the most tasks waited.
const POOLS: usize = 8;

/// A mebibyte.
const MIB: f64 = 1_048_576.0;

type Seconds<'a> = Vec<(u64, &'a NodeSample)>;

type Samples<'a> = BTreeMap<&'a str, Seconds<'a>>;

/// A kind of memory: its words, its colour, its bytes.
type Kind = (&'static str, &'static str, fn(&NodeSample) -> u64);

/// Everything about the nodes.
pub(super) fn nodes(report: &RunReport<'_>, clock: Clock) -> Vec<Chart> {
    let mut nodes: Samples<'_> = BTreeMap::new();
    for reading in report.readings {
        if let Seen::Node(sample) = &reading.seen {
            nodes
                .entry(&reading.source)
                .or_default()
                .push((reading.at_ns, sample));
        }
    }
    let mut charts: Vec<Chart> = GROWN.iter().map(|one| one.chart(&nodes, clock)).collect();
    charts.extend(memory(&nodes, clock));
    charts.extend([pools(&nodes, clock), compactions(&nodes, clock)]);
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// The colour of a node: the same in every chart.
fn role(place: usize) -> String {
    format!("node{}", place % 8)
}

/// What one of a sample's counters stands at.
type Counter = fn(&NodeSample) -> Option<u64>;

/// Counters of each node, and the chart of how they grow.
struct Grown {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    /// Of the unit, what one of a counter is.
    scale: f64,
    /// With what each counts, where there are several.
    counters: &'static [(&'static str, Counter)],
}

const GROWN: [Grown; 4] = [
    Grown {
        id: "node-cpu",
        title: "Processors that each node used",
        axis: "processors",
        unit: "processors",
        scale: 1e-6,
        counters: &[("", |s| Some(s.cpu_us))],
    },
    Grown {
        id: "node-disk",
        title: "What each node read and wrote",
        axis: "MiB a second",
        unit: "MiB/s",
        scale: 1.0 / MIB,
        counters: &[
            (" written", |s| s.written_bytes),
            (" read", |s| s.read_bytes),
        ],
    },
    // Only of nodes with a network namespace.
    Grown {
        id: "node-network",
        title: "What each node sent and received",
        axis: "MiB a second",
        unit: "MiB/s",
        scale: 1.0 / MIB,
        counters: &[
            (" sent", |s| s.sent_bytes),
            (" received", |s| s.received_bytes),
        ],
    },
    Grown {
        id: "node-retransmitted",
        title: "TCP segments that each node sent again",
        axis: "segments a second",
        unit: "segments/s",
        scale: 1.0,
        counters: &[("", |s| s.retransmitted)],
    },
];

impl Grown {
    fn chart(&self, nodes: &Samples<'_>, clock: Clock) -> Chart {
        let axis = Axis::from_zero(self.axis);
        let mut chart = Chart::over_time(self.id, self.title, axis, clock);
        for (place, (name, samples)) in nodes.iter().enumerate() {
            let styles = [Style::Solid, Style::Dotted];
            for ((said, of), style) in self.counters.iter().zip(styles) {
                let counter: Vec<_> = samples.iter().map(|(at, s)| (*at, of(s))).collect();
                let points = growth(&counter, clock, self.scale);
                chart.line(
                    &format!("{name}{said}"),
                    &role(place),
                    style,
                    &points,
                    self.unit,
                );
            }
        }
        chart
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes below 2^53")]
fn memory(nodes: &Samples<'_>, clock: Clock) -> Vec<Chart> {
    let points = |samples: &[(u64, &NodeSample)], of: fn(&NodeSample) -> u64| -> Vec<Point> {
        samples
            .iter()
            .map(|(at, s)| (clock.at(*at), Some(of(s) as f64 / MIB)))
            .collect()
    };
    if nodes.len() > NODES_APART {
        let mut chart = Chart::over_time(
            "memory",
            "Resident memory of each node",
            Axis::from_zero("MiB"),
            clock,
        );
        for (place, (name, samples)) in nodes.iter().enumerate() {
            chart.line(
                name,
                &role(place),
                Style::Solid,
                &points(samples, |s| s.rss_bytes),
                "MiB",
            );
        }
        return vec![chart];
    }
    let one = |(place, (name, samples)): (usize, (&&str, &Seconds<'_>))| {
        let title = format!("{name}: resident memory by kind");
        let mut chart = Chart::over_time(
            &format!("memory-{place}"),
            &title,
            Axis::from_zero("MiB"),
            clock,
        );
        let kinds: [Kind; 3] = [
            ("heap, metaspace, stacks, malloc", "anon", |s| s.anon_bytes),
            ("mapped files: jars, archive, SSTables", "file", |s| {
                s.file_bytes
            }),
            ("shared memory", "shmem", |s| s.shmem_bytes),
        ];
        for (said, role, of) in kinds {
            if samples.iter().any(|(_, s)| of(s) > 0) {
                chart.line(said, role, Style::Stacked, &points(samples, of), "MiB");
            }
        }
        chart.height = 190;
        chart
    };
    nodes.iter().enumerate().map(one).collect()
}

fn pools(nodes: &Samples<'_>, clock: Clock) -> Chart {
    let mut chart = Chart::over_time(
        "pools",
        "Tasks waiting in thread pools",
        Axis::counts("tasks"),
        clock,
    );
    let mut most: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (node, samples) in nodes {
        for pool in samples
            .iter()
            .flat_map(|(_, s)| &s.pools)
            .filter(|p| p.pending > 0)
        {
            let seen = most.entry((node, pool.name.as_str())).or_default();
            *seen = (*seen).max(pool.pending);
        }
    }
    let mut ranked: Vec<_> = most.into_iter().collect();
    ranked.sort_by_key(|(_, pending)| std::cmp::Reverse(*pending));
    let left = ranked.len().saturating_sub(POOLS);
    let styles = [Style::Solid, Style::Dashed, Style::Dotted];
    for (rank, ((node, pool), _)) in ranked.into_iter().take(POOLS).enumerate() {
        let place = nodes.keys().position(|n| *n == node).unwrap_or(0);
        let points: Vec<Point> = nodes[node]
            .iter()
            .map(|(at, s)| {
                let waiting = s
                    .pools
                    .iter()
                    .find(|p| p.name == pool)
                    .map_or(0, |p| p.pending);
                (clock.at(*at), Some(f64::from(waiting)))
            })
            .collect();
        chart.line(
            &format!("{node} {pool}"),
            &role(place),
            styles[rank % 3],
            &points,
            "tasks",
        );
    }
    if left > 0 {
        chart.note = format!("{left} other pools never had more tasks waiting.");
    }
    chart
}

fn compactions(nodes: &Samples<'_>, clock: Clock) -> Chart {
    let mut chart = Chart::over_time(
        "compactions",
        "Compactions under way",
        Axis::counts("tasks"),
        clock,
    );
    for (place, (name, samples)) in nodes.iter().enumerate() {
        if samples.iter().all(|(_, s)| s.compactions.is_empty()) {
            continue;
        }
        let points: Vec<Point> = samples
            .iter()
            .map(|(at, s)| {
                (
                    clock.at(*at),
                    Some(f64::from(
                        u32::try_from(s.compactions.len()).unwrap_or(u32::MAX),
                    )),
                )
            })
            .collect();
        chart.line(name, &role(place), Style::Steps, &points, "tasks");
    }
    let tables: BTreeSet<String> = nodes
        .values()
        .flatten()
        .flat_map(|(_, s)| &s.compactions)
        .map(|c| format!("{}.{} ({})", c.keyspace, c.table, c.task))
        .collect();
    if !tables.is_empty() {
        let more = match tables.len().saturating_sub(TASKS_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let named: Vec<String> = tables.into_iter().take(TASKS_NAMED).collect();
        chart.note = format!("Seen: {}{more}.", named.join(", "));
    }
    chart
}

/// Most compactions that a note names.
const TASKS_NAMED: usize = 8;

/// Everything about the host.
#[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
pub(super) fn host(report: &RunReport<'_>, clock: Clock) -> Vec<Chart> {
    let samples: Vec<(u64, &HostSample)> = report
        .readings
        .iter()
        .filter_map(|r| match &r.seen {
            Seen::Host(sample) => Some((r.at_ns, sample)),
            _ => None,
        })
        .collect();
    let share = |of: fn(&HostSample) -> u64| -> Vec<Point> {
        let steps = samples.windows(2).map(|pair| {
            let ((from, a), (to, b)) = (pair[0], pair[1]);
            let total = b.total_us.checked_sub(a.total_us).filter(|t| *t > 0);
            let share = total.map(|t| of(b).saturating_sub(of(a)) as f64 / t as f64);
            (clock.at(from / 2 + to / 2), share)
        });
        steps.collect()
    };
    let mut cpu = Chart::over_time(
        "host-cpu",
        "The host's processors",
        Axis::shares("share of all").with_ends(0.0, 1.0),
        clock,
    );
    cpu.line("busy", "busy", Style::Solid, &share(|s| s.busy_us), "");
    cpu.line(
        "busy with other processes",
        "foreign",
        Style::Solid,
        &share(|s| s.busy_us.saturating_sub(s.ours_us)),
        "",
    );
    cpu.line(
        "stolen by the hypervisor",
        "stolen",
        Style::Dashed,
        &share(|s| s.stolen_us),
        "",
    );
    let mut queue = Chart::over_time(
        "run-queue",
        "Threads running or waiting for a processor",
        Axis::counts("threads"),
        clock,
    );
    let threads: Vec<Point> = samples
        .iter()
        .map(|(at, s)| (clock.at(*at), Some(f64::from(s.run_queue))))
        .collect();
    queue.line("threads", "queue", Style::Solid, &threads, "threads");
    let mut disk = Chart::over_time(
        "host-disk",
        "The host's disks",
        Axis::from_zero("MiB a second"),
        clock,
    );
    let bytes = |of: fn(&HostSample) -> Option<u64>| {
        let counted: Vec<(u64, Option<u64>)> = samples.iter().map(|(at, s)| (*at, of(s))).collect();
        growth(&counted, clock, 1.0 / MIB)
    };
    disk.line(
        "written",
        "busy",
        Style::Solid,
        &bytes(|s| s.written_bytes),
        "MiB/s",
    );
    disk.line(
        "read",
        "foreign",
        Style::Dotted,
        &bytes(|s| s.read_bytes),
        "MiB/s",
    );
    let mut charts = vec![cpu, queue, disk];
    charts.retain(|chart| !chart.is_empty());
    charts
}
