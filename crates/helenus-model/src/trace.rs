//! Traced operations: what their coordinators wrote down, beside what the load generator saw of them.
//! Refuses a trace that is not whole: without its end nothing says how long the nodes had it.

use crate::sample::SlowOperation;
use crate::stats::median;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most operations of a measurement window that can be traced: each is two reads afterwards, and costs its nodes some
/// writes.
pub const TRACES_MOST: u32 = 1000;

/// Steps of an operation that are listed, those that took the coordinator longest.
const STEPS_LISTED: usize = 6;

/// Traces that are listed step by step, the slowest of each operation.
const WHOLE_LISTED: usize = 1;

/// A traced operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Id of its session in `system_traces`.
    pub session: String,
    /// What the generator saw of it.
    pub operation: SlowOperation,
    /// IP address of the coordinator, as the session has it; none where the trace never became whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<String>,
    /// How long the coordinator had it, in microseconds; none where the trace never became whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_us: Option<u64>,
    /// What the nodes did, in the order of their own clocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// One thing that a node wrote down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The node: its IP address, its name where that is known.
    pub node: String,
    /// When, in microseconds since the operation reached this node.
    pub at_us: u64,
    /// What.
    pub activity: String,
}

impl Trace {
    /// The time that the operation spent outside of its coordinator (network, the client's own work), in microseconds.
    fn outside_us(&self) -> Option<f64> {
        Some((micros(self.service_ns()) - of(self.server_us?)).max(0.0))
    }

    /// Its service time in nanoseconds.
    pub fn service_ns(&self) -> u64 {
        self.operation
            .end_ns
            .saturating_sub(self.operation.start_ns)
    }

    /// The coordinator's steps with the time to its next one, in microseconds: together all that it had the operation.
    fn spans(&self) -> Vec<(&str, u64)> {
        let (Some(server_us), Some(coordinator)) = (self.server_us, &self.coordinator) else {
            return Vec::new();
        };
        let own = self.steps.iter().filter(|step| step.node == *coordinator);
        let mut own: Vec<&Step> = own.collect();
        own.sort_by_key(|step| step.at_us);
        let ends = own.iter().skip(1).map(|next| next.at_us);
        let ends: Vec<u64> = ends.chain([server_us]).collect();
        let first = own.first().map_or(server_us, |step| step.at_us);
        let begin = [("before its first step", first.min(server_us))];
        let each = own.iter().zip(ends);
        let each = each.map(|(step, end)| {
            (
                step.activity.as_str(),
                end.min(server_us).saturating_sub(step.at_us),
            )
        });
        begin.into_iter().chain(each).collect()
    }
}

/// What the traces of a measurement window say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traces {
    /// By operation.
    pub operations: BTreeMap<String, TracedTimes>,
}

/// The traces of one operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TracedTimes {
    /// Traces that are whole.
    pub traces: u64,
    /// Traces that the nodes had not written down to their end.
    pub incomplete: u64,
    /// Median service time, as the generator measured it, in microseconds.
    pub service_p50_us: f64,
    /// Median time that the coordinator had the operation, in microseconds.
    pub server_p50_us: f64,
    /// Median of what an operation's service time is longer than its coordinator's: network, client; in microseconds.
    pub outside_p50_us: f64,
    /// What took the coordinator longest, the longest first.
    pub steps: Vec<StepShare>,
    /// The slowest traces, step by step.
    pub slowest: Vec<Trace>,
}

/// A step of all traces of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepShare {
    /// What the coordinator wrote down, numbers as `N`, addresses as `node`.
    pub activity: String,
    /// Mean time until its next step, over all traces of the operation, in microseconds.
    pub mean_us: f64,
    /// Its share of the time that coordinators had these operations.
    pub share: f64,
}

impl Traces {
    /// Of these traces; none where there are none.
    pub fn of<'a>(traces: impl Iterator<Item = &'a Trace>) -> Option<Self> {
        let mut by_operation: BTreeMap<String, Vec<&Trace>> = BTreeMap::new();
        for trace in traces {
            let name = trace.operation.operation.clone();
            by_operation.entry(name).or_default().push(trace);
        }
        let operations = by_operation.into_iter();
        let operations: BTreeMap<String, TracedTimes> = operations
            .map(|(name, traces)| (name, TracedTimes::of(&traces)))
            .collect();
        (!operations.is_empty()).then_some(Self { operations })
    }

    /// Gives nodes their names, by their IP addresses.
    pub fn name_nodes(&mut self, name: &dyn Fn(&str) -> String) {
        let times = self.operations.values_mut();
        for trace in times.flat_map(|times| &mut times.slowest) {
            let own = trace.coordinator.iter_mut();
            for node in own.chain(trace.steps.iter_mut().map(|step| &mut step.node)) {
                *node = name(node);
            }
        }
    }
}

impl TracedTimes {
    fn of(all: &[&Trace]) -> Self {
        let whole = all.iter().filter(|trace| trace.server_us.is_some());
        let mut whole: Vec<&Trace> = whole.copied().collect();
        let p50 = |of: &dyn Fn(&Trace) -> Option<f64>| {
            let values: Vec<f64> = whole.iter().filter_map(|trace| of(trace)).collect();
            median(&values).unwrap_or_default()
        };
        let mut times = Self {
            traces: count(whole.len()),
            incomplete: count(all.len() - whole.len()),
            service_p50_us: p50(&|trace| Some(micros(trace.service_ns()))),
            server_p50_us: p50(&|trace| trace.server_us.map(of)),
            outside_p50_us: p50(&Trace::outside_us),
            steps: steps(&whole),
            slowest: Vec::new(),
        };
        whole.sort_by_key(|trace| std::cmp::Reverse(trace.service_ns()));
        times.slowest = whole.into_iter().take(WHOLE_LISTED).cloned().collect();
        times
    }
}

/// The steps of these traces that took their coordinators longest.
fn steps(traces: &[&Trace]) -> Vec<StepShare> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (activity, us) in traces.iter().flat_map(|trace| trace.spans()) {
        *sums.entry(general(activity)).or_default() += us;
    }
    let all: u64 = traces.iter().filter_map(|trace| trace.server_us).sum();
    let mut steps: Vec<StepShare> = sums
        .into_iter()
        .filter(|(_, us)| *us > 0)
        .map(|(activity, us)| StepShare {
            activity,
            mean_us: of(us) / of(count(traces.len()).max(1)),
            share: of(us) / of(all.max(1)),
        })
        .collect();
    steps.sort_by(|a, b| b.mean_us.total_cmp(&a.mean_us));
    steps.truncate(STEPS_LISTED);
    steps
}

/// A step's words without what is another in each trace: numbers and addresses.
fn general(activity: &str) -> String {
    let word = |word: &str| {
        let core = word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/' && c != '-');
        let is_address = core.starts_with('/')
            && core[1..].starts_with(|c: char| c.is_ascii_hexdigit() || c == '[');
        let is_number = !core.is_empty()
            && core
                .trim_start_matches('-')
                .chars()
                .all(|c| c.is_ascii_digit());
        match (is_address, is_number) {
            (true, _) => word.replace(core, "node"),
            (_, true) => word.replace(core, "N"),
            _ => word.to_owned(),
        }
    };
    activity.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and microseconds below 2^53"
)]
fn of(number: u64) -> f64 {
    number as f64
}

fn micros(ns: u64) -> f64 {
    of(ns) / 1e3
}

fn count(of: usize) -> u64 {
    of as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(service_us: u64, server_us: Option<u64>, steps: &[(&str, u64, &str)]) -> Trace {
        let step = |(node, at_us, activity): &(&str, u64, &str)| Step {
            node: (*node).to_owned(),
            at_us: *at_us,
            activity: (*activity).to_owned(),
        };
        Trace {
            session: "6a1f3f30-0000-11f0-8000-000000000001".to_owned(),
            operation: SlowOperation {
                operation: "read".to_owned(),
                intended_ns: None,
                start_ns: 1_000,
                end_ns: 1_000 + service_us * 1_000,
                lateness_ns: 0,
                coordinator: Some("10.0.0.1:9042".to_owned()),
                connection: Some(0),
                stream: Some(1),
            },
            coordinator: server_us.map(|_| "10.0.0.1".to_owned()),
            server_us,
            steps: steps.iter().map(step).collect(),
        }
    }

    #[test]
    fn the_coordinators_time_is_divided_among_its_steps_and_network_is_the_rest() {
        let all = [
            trace(
                1000,
                Some(800),
                &[
                    (
                        "10.0.0.1",
                        100,
                        "Sending READ_REQ message to /10.0.0.2:7000 message size 118 bytes",
                    ),
                    (
                        "10.0.0.2",
                        5,
                        "READ_REQ message received from /10.0.0.1:7000",
                    ),
                    ("10.0.0.1", 700, "Processing response from /10.0.0.2:7000"),
                ],
            ),
            trace(
                600,
                Some(400),
                &[
                    (
                        "10.0.0.1",
                        50,
                        "Sending READ_REQ message to /10.0.0.3:7000 message size 120 bytes",
                    ),
                    ("10.0.0.1", 350, "Processing response from /10.0.0.3:7000"),
                ],
            ),
            trace(5000, None, &[]),
        ];
        let traces = Traces::of(all.iter()).unwrap();
        let read = &traces.operations["read"];
        assert_eq!((read.traces, read.incomplete), (2, 1));
        assert_eq!(
            (read.service_p50_us, read.server_p50_us, read.outside_p50_us),
            (800.0, 600.0, 200.0)
        );
        let steps: Vec<_> = read
            .steps
            .iter()
            .map(|one| (one.activity.as_str(), one.mean_us, one.share))
            .collect();
        assert_eq!(
            steps,
            [
                (
                    "Sending READ_REQ message to node message size N bytes",
                    450.0,
                    0.75
                ),
                ("Processing response from node", 75.0, 0.125),
                ("before its first step", 75.0, 0.125),
            ]
        );
        assert_eq!(read.slowest, [all[0].clone()]);
        assert_eq!(Traces::of([].iter()), None);
    }

    #[test]
    fn nodes_have_their_names() {
        let all = [trace(
            10,
            Some(8),
            &[
                ("10.0.0.1", 1, "Parsing"),
                ("10.0.0.2", 2, "Read 1 live rows"),
            ],
        )];
        let mut traces = Traces::of(all.iter()).unwrap();
        traces.name_nodes(&|ip| format!("node{}", &ip[ip.len() - 1..]));
        let slowest = &traces.operations["read"].slowest[0];
        let nodes: Vec<&str> = slowest
            .steps
            .iter()
            .map(|step| step.node.as_str())
            .collect();
        assert_eq!(
            (slowest.coordinator.as_deref(), nodes),
            (Some("node1"), vec!["node1", "node2"])
        );
    }

    #[test]
    fn words_of_steps_lose_numbers_and_addresses_only() {
        let cases = [
            (
                "Read 3 live rows and 0 tombstone cells",
                "Read N live rows and N tombstone cells",
            ),
            (
                "Executing single-partition query on table2",
                "Executing single-partition query on table2",
            ),
            (
                "REQUEST_RESPONSE message received from /[2001:db8::1]:7000",
                "REQUEST_RESPONSE message received from node",
            ),
            (
                "Key cache hit for sstable 3gi4_1, size = 42",
                "Key cache hit for sstable 3gi4_1, size = N",
            ),
        ];
        for (from, to) in cases {
            assert_eq!(general(from), to);
        }
    }
}
