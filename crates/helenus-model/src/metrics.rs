//! What Prometheus reads of nodes and a run: counters, gauges and histograms as OpenMetrics text, and a dashboard of them.
//! Refuses percentiles: histograms of several moments and generators can be added, percentiles cannot.

use crate::histogram::Histogram;
use crate::sample::{FailureKind, Interval, Stretch};
use crate::telemetry::{
    EventKind, GeneratorSample, HostSample, NodeSample, Reading, Seen, UNSEEN_NS,
};
use std::collections::BTreeMap;

mod dashboard;
mod text;

pub use dashboard::{SCRAPE_EVERY_S, grafana, panels, scrape};
use text::{Kind, Page};

/// What the page of [`Board::page`] is, for HTTP.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of a histogram, in nanoseconds.
const BOUNDS_NS: [u64; 17] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
];

/// The newest of everything that was seen.
#[derive(Debug, Clone, Default)]
pub struct Board {
    cluster: String,
    nodes: BTreeMap<String, Option<(u64, NodeSample)>>,
    host: Option<(u64, HostSample)>,
    generator: Option<GeneratorSample>,
    /// How many, and how long in all, in nanoseconds.
    events: BTreeMap<(String, EventKind), (u64, u64)>,
    operations: BTreeMap<Place, Totals>,
}

/// Operations of a phase, of one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    phase: String,
    window: &'static str,
    operation: String,
}

/// Operations since the run began.
#[derive(Debug, Clone, Default)]
struct Totals {
    offered: u64,
    started: u64,
    completed: u64,
    failed: BTreeMap<FailureKind, u64>,
    rows: u64,
    service: Histogram,
    response: Histogram,
}

impl Board {
    /// An empty one for a cluster, with its nodes as far as they are known.
    pub fn new(cluster: &str, nodes: impl IntoIterator<Item = String>) -> Self {
        Self {
            cluster: cluster.to_owned(),
            nodes: nodes.into_iter().map(|name| (name, None)).collect(),
            ..Self::default()
        }
    }

    /// Takes what was seen of nodes, host and generator.
    pub fn see(&mut self, reading: &Reading) {
        let at_ns = reading.at_ns;
        match &reading.seen {
            Seen::Node(sample) => {
                let name = reading.source.clone();
                self.nodes.insert(name, Some((at_ns, sample.clone())));
            }
            Seen::Host(sample) => self.host = Some((at_ns, sample.clone())),
            Seen::Generator(sample) => self.generator = Some(sample.clone()),
            Seen::Event(event) => {
                let key = (reading.source.clone(), event.what);
                let (count, ns) = self.events.entry(key).or_default();
                *count += 1;
                *ns += event.to_ns.saturating_sub(at_ns);
            }
            Seen::Emulator(_)
            | Seen::Slowest(_)
            | Seen::Traced(_)
            | Seen::Timers(_)
            | Seen::Profile(_) => {}
        }
    }

    /// Takes an interval of a run.
    pub fn interval(&mut self, phase: &str, interval: &Interval) {
        let window = match interval.stretch {
            Stretch::Warmup => "warmup",
            Stretch::Measured => "measured",
        };
        for (operation, counts) in &interval.operations {
            let place = Place {
                phase: phase.to_owned(),
                window,
                operation: operation.clone(),
            };
            let totals = self.operations.entry(place).or_default();
            totals.offered += counts.offered;
            totals.started += counts.started;
            totals.completed += counts.completed;
            totals.rows += counts.rows;
            for (kind, count) in &counts.failed {
                *totals.failed.entry(*kind).or_default() += count;
            }
            totals.service.merge(&counts.service);
            totals.response.merge(&counts.response);
        }
    }

    /// The page as OpenMetrics text.
    pub fn page(&self) -> String {
        let mut page = Page::default();
        self.of_nodes(&mut page);
        self.of_host(&mut page);
        self.of_run(&mut page);
        page.end()
    }

    /// The nodes that live, with their names.
    fn living(&self) -> impl Iterator<Item = (&str, &NodeSample)> {
        let now = self.host.as_ref().map_or(0, |(at_ns, _)| *at_ns);
        self.nodes.iter().filter_map(move |(name, seen)| {
            let (at_ns, sample) = seen.as_ref()?;
            (at_ns + UNSEEN_NS >= now).then_some((name.as_str(), sample))
        })
    }

    fn of_nodes(&self, page: &mut Page) {
        let cluster = self.cluster.as_str();
        page.family(
            "helenus_node_up",
            Kind::Gauge,
            "",
            "1 while the node's process lives",
        );
        let living: Vec<&str> = self.living().map(|(name, _)| name).collect();
        for name in self.nodes.keys() {
            let labels = [("cluster", cluster), ("node", name.as_str())];
            page.sample(
                "helenus_node_up",
                &labels,
                f64::from(living.contains(&name.as_str())),
            );
        }
        let mut each = |name: &str,
                        kind,
                        unit: &str,
                        help: &str,
                        value: &dyn Fn(&NodeSample) -> Option<f64>| {
            page.family(name, kind, unit, help);
            let suffix = if kind == Kind::Counter { "_total" } else { "" };
            for (node, sample) in self.living() {
                if let Some(value) = value(sample) {
                    let labels = [("cluster", cluster), ("node", node)];
                    page.sample(&format!("{name}{suffix}"), &labels, value);
                }
            }
        };
        let counter = Kind::Counter;
        each(
            "helenus_node_cpu_seconds",
            counter,
            "seconds",
            "CPU time of the node's process, user and system",
            &|n| Some(seconds_of_us(n.cpu_us)),
        );
        each(
            "helenus_node_read_bytes",
            counter,
            "bytes",
            "Bytes that the node read from storage",
            &|n| n.read_bytes.map(number),
        );
        each(
            "helenus_node_written_bytes",
            counter,
            "bytes",
            "Bytes that the node sent to storage",
            &|n| n.written_bytes.map(number),
        );
        each(
            "helenus_node_threads",
            Kind::Gauge,
            "",
            "Threads of the node's process",
            &|n| Some(f64::from(n.threads)),
        );
        each(
            "helenus_node_answers",
            Kind::Gauge,
            "",
            "1 where the node answered when it was asked for pools and tasks",
            &|n| Some(f64::from(n.answered)),
        );
        page.family(
            "helenus_node_memory_bytes",
            Kind::Gauge,
            "bytes",
            "Resident memory of the node's process by kind",
        );
        for (node, sample) in self.living() {
            let kinds = [
                ("anonymous", sample.anon_bytes),
                ("file", sample.file_bytes),
                ("shared", sample.shmem_bytes),
            ];
            for (kind, bytes) in kinds {
                let labels = [("cluster", cluster), ("node", node), ("kind", kind)];
                page.sample("helenus_node_memory_bytes", &labels, number(bytes));
            }
        }
        self.of_pools(page);
        self.of_tasks(page);
        let (events, seconds) = ("helenus_node_events", "helenus_node_event_seconds");
        page.family(
            events,
            Kind::Counter,
            "",
            "Collections, other stops, compactions, flushes, deaths and faults that have ended",
        );
        for ((source, what), (count, _)) in &self.events {
            let labels = [
                ("cluster", cluster),
                ("node", source.as_str()),
                ("event", what.word()),
            ];
            page.sample("helenus_node_events_total", &labels, number(*count));
        }
        page.family(seconds, Kind::Counter, "seconds", "Their time");
        for ((source, what), (_, ns)) in &self.events {
            let labels = [
                ("cluster", cluster),
                ("node", source.as_str()),
                ("event", what.word()),
            ];
            page.sample(
                "helenus_node_event_seconds_total",
                &labels,
                seconds_of_ns(*ns),
            );
        }
    }

    /// Thread pools that have something to do.
    fn of_pools(&self, page: &mut Page) {
        let cluster = self.cluster.as_str();
        let families = [
            (
                "helenus_pool_active",
                Kind::Gauge,
                "Tasks of a thread pool that are at work",
            ),
            (
                "helenus_pool_pending",
                Kind::Gauge,
                "Tasks of a thread pool that wait",
            ),
            (
                "helenus_pool_blocked",
                Kind::Counter,
                "Tasks of a thread pool that were blocked",
            ),
        ];
        for (at, (name, kind, help)) in families.into_iter().enumerate() {
            page.family(name, kind, "", help);
            let suffix = if kind == Kind::Counter { "_total" } else { "" };
            for (node, sample) in self.living() {
                for pool in &sample.pools {
                    let values = [
                        u64::from(pool.active),
                        u64::from(pool.pending),
                        pool.blocked_so_far,
                    ];
                    let labels = [
                        ("cluster", cluster),
                        ("node", node),
                        ("pool", pool.name.as_str()),
                    ];
                    page.sample(&format!("{name}{suffix}"), &labels, number(values[at]));
                }
            }
        }
    }

    /// Compactions and their like under way, by table and kind.
    fn of_tasks(&self, page: &mut Page) {
        let name = "helenus_sstable_tasks";
        page.family(
            name,
            Kind::Gauge,
            "",
            "Compactions and other tasks on SSTables under way",
        );
        for (node, sample) in self.living() {
            let mut counts: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
            for task in &sample.compactions {
                *counts
                    .entry((&task.keyspace, &task.table, &task.task))
                    .or_default() += 1;
            }
            for ((keyspace, table, task), count) in counts {
                let labels = [
                    ("cluster", self.cluster.as_str()),
                    ("node", node),
                    ("keyspace", keyspace),
                    ("table", table),
                    ("task", task),
                ];
                page.sample(name, &labels, number(count));
            }
        }
    }

    fn of_host(&self, page: &mut Page) {
        if let Some((_, host)) = &self.host {
            let name = "helenus_host_cpu_seconds";
            page.family(
                name,
                Kind::Counter,
                "seconds",
                "CPU time of the machine over all processors, by what took it",
            );
            let others = host.busy_us.saturating_sub(host.ours_us);
            let idle = host.total_us.saturating_sub(host.busy_us + host.stolen_us);
            for (by, us) in [
                ("nodes and generator", host.ours_us),
                ("others", others),
                ("stolen", host.stolen_us),
                ("idle", idle),
            ] {
                page.sample(
                    "helenus_host_cpu_seconds_total",
                    &[("by", by)],
                    seconds_of_us(us),
                );
            }
            let name = "helenus_host_run_queue";
            page.family(
                name,
                Kind::Gauge,
                "",
                "Threads that run or wait for a processor",
            );
            page.sample(name, &[], f64::from(host.run_queue));
        }
        if let Some(generator) = &self.generator {
            page.family(
                "helenus_generator_cpu_seconds",
                Kind::Counter,
                "seconds",
                "CPU time of the load generators",
            );
            page.sample(
                "helenus_generator_cpu_seconds_total",
                &[],
                seconds_of_us(generator.cpu_us),
            );
            page.family(
                "helenus_generator_wait_seconds",
                Kind::Counter,
                "seconds",
                "Time that the generator's busiest thread waited for a processor",
            );
            page.sample(
                "helenus_generator_wait_seconds_total",
                &[],
                seconds_of_us(generator.run_queue_wait_us),
            );
        }
    }

    fn of_run(&self, page: &mut Page) {
        if self.operations.is_empty() {
            return;
        }
        let mut each = |name: &str, help: &str, value: &dyn Fn(&Totals) -> u64| {
            page.family(name, Kind::Counter, "", help);
            for (place, totals) in &self.operations {
                page.sample(
                    &format!("{name}_total"),
                    &place.labels(),
                    number(value(totals)),
                );
            }
        };
        each(
            "helenus_run_offered",
            "Operations whose intended start is over",
            &|t| t.offered,
        );
        each("helenus_run_started", "Operations that started", &|t| {
            t.started
        });
        each(
            "helenus_run_completed",
            "Operations that ended well",
            &|t| t.completed,
        );
        each(
            "helenus_run_rows",
            "Rows that completed operations wrote or read",
            &|t| t.rows,
        );
        page.family(
            "helenus_run_failed",
            Kind::Counter,
            "",
            "Operations that failed, by kind",
        );
        for (place, totals) in &self.operations {
            for (kind, count) in &totals.failed {
                let labels: Vec<(&str, &str)> = place
                    .labels()
                    .into_iter()
                    .chain([("failure", kind.word())])
                    .collect();
                page.sample("helenus_run_failed_total", &labels, number(*count));
            }
        }
        for (name, help) in [
            (
                "helenus_run_response_seconds",
                "Intended start to end of operations that ended well; none in a closed loop",
            ),
            (
                "helenus_run_service_seconds",
                "Start to end of operations that ended well",
            ),
        ] {
            page.family(name, Kind::Histogram, "seconds", help);
            for (place, totals) in &self.operations {
                let times = match name {
                    "helenus_run_response_seconds" => &totals.response,
                    _ => &totals.service,
                };
                histogram(page, name, &place.labels(), times);
            }
        }
    }
}

impl Place {
    fn labels(&self) -> [(&str, &str); 3] {
        [
            ("phase", &self.phase),
            ("window", self.window),
            ("operation", &self.operation),
        ]
    }
}

/// Buckets, count and sum of times.
fn histogram(page: &mut Page, name: &str, labels: &[(&str, &str)], times: &Histogram) {
    let count = times.count();
    if count == 0 {
        return;
    }
    let bucket = format!("{name}_bucket");
    for (bound, below) in BOUNDS_NS.into_iter().zip(times.counts_up_to(BOUNDS_NS)) {
        let bound = seconds_of_ns(bound).to_string();
        let labels: Vec<(&str, &str)> = labels
            .iter()
            .copied()
            .chain([("le", bound.as_str())])
            .collect();
        page.sample(&bucket, &labels, number(below));
    }
    let all: Vec<(&str, &str)> = labels.iter().copied().chain([("le", "+Inf")]).collect();
    page.sample(&bucket, &all, number(count));
    page.sample(&format!("{name}_count"), labels, number(count));
    let sum = times.mean_ns().unwrap_or(0.0) * number(count) / 1e9;
    page.sample(&format!("{name}_sum"), labels, sum);
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 are none of ours"
)]
fn number(count: u64) -> f64 {
    count as f64
}

fn seconds_of_us(us: u64) -> f64 {
    number(us) / 1e6
}

fn seconds_of_ns(ns: u64) -> f64 {
    number(ns) / 1e9
}

#[cfg(test)]
mod tests;
