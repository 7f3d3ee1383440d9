//! What nodes and host did during a phase's measured stretch, out of the readings that were taken beside it.
//! Refuses a sum over nodes of which one was not seen.

use super::{Around, Distribution};
use crate::flame::Profiled;
use crate::histogram::Histogram;
use crate::sample::CoordinatorInterval;
use crate::seed::Seed;
use crate::server_times::ServerTimes;
use crate::tail::Evidence;
use crate::telemetry::{EventKind, NodeSample, Reading, Seen, Window};
use crate::trace::Traces;
use serde::{Deserialize, Serialize};

/// What one node did during a measurement window. What could not be seen is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeAround {
    /// CPU, in microseconds.
    pub cpu_us: Option<u64>,
    /// Read from disks, in bytes.
    pub read_bytes: Option<u64>,
    /// Sent to disks, in bytes.
    pub written_bytes: Option<u64>,
    /// Received over its network, in bytes; only where it has a network namespace.
    pub received_bytes: Option<u64>,
    /// Sent over its network, in bytes; as `received_bytes`.
    pub sent_bytes: Option<u64>,
    /// TCP segments that it sent again; as `received_bytes`.
    pub retransmitted: Option<u64>,
}

/// What one coordinator answered during a measurement window, all operations together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorResult {
    /// Operations that it failed.
    pub failed: u64,
    /// Service times of those that completed; none where none did.
    pub service: Option<Distribution>,
}

impl CoordinatorResult {
    /// The summary of merged intervals.
    pub fn of(merged: &CoordinatorInterval) -> Self {
        Self {
            failed: merged.failed,
            service: Distribution::of(&merged.service),
        }
    }
}

impl Around {
    /// Of the measurement window between two moments of the run's monotonic clock, in which so many operations ended.
    pub fn of(readings: &[Reading], from_ns: u64, to_ns: u64, ended: u64) -> Self {
        let window = Window::new(readings, from_ns, to_ns);
        let nodes_cpu = window.gained_by_nodes(|n| Some(n.cpu_us));
        let answered = seen_of_nodes(readings, |n| n.answered);
        let logged = seen_of_nodes(readings, |n| n.collections.is_some());
        let collections = || window.events(EventKind::Collection);
        #[expect(
            clippy::cast_precision_loss,
            reason = "counts and nanoseconds below 2^53"
        )]
        Self {
            nodes_cpu_us: nodes_cpu.map(whole),
            nodes_cpu_per_operation_us: nodes_cpu
                .filter(|_| ended > 0)
                .map(|cpu| cpu / ended as f64),
            compaction_share: answered.then(|| window.share(EventKind::Compaction)),
            collection_share: logged.then(|| {
                let shares = window.share_by_source(EventKind::Collection);
                shares.into_values().fold(0.0, f64::max)
            }),
            collections: logged.then(|| collections().count() as u64),
            longest_collection_ms: collections()
                .map(|(_, (from, to), _)| (to - from) as f64 / 1e6)
                .max_by(f64::total_cmp),
            generator_processors: window.generator_processors(),
            generator_run_queue_share: window.generator_wait_share(),
            steal_share: window.steal_share(),
            foreign_cpu_share: window.foreign_cpu_share(),
            nodes_read_bytes: window.gained_by_nodes(|n| n.read_bytes).map(whole),
            nodes_written_bytes: window.gained_by_nodes(|n| n.written_bytes).map(whole),
            nodes_received_bytes: window.gained_by_nodes(|n| n.received_bytes).map(whole),
            nodes_sent_bytes: window.gained_by_nodes(|n| n.sent_bytes).map(whole),
            nodes_retransmitted: window.gained_by_nodes(|n| n.retransmitted).map(whole),
            nodes: window
                .nodes()
                .into_iter()
                .map(|node| (node.to_owned(), by_node(&window, node)))
                .filter(|(_, seen)| *seen != NodeAround::default())
                .collect(),
            emulator: window.emulated(),
            traces: Traces::of(window.traces()),
            server_times: ServerTimes::of(window.timers()),
            profiles: window
                .profiles()
                .map(|(node, at_ns, profile)| Profiled::of(node, at_ns, profile))
                .collect(),
            ..Self::default()
        }
    }

    /// With what is known of the slowest operations of the measurement window, whose times are these; and with nodes'
    /// names for the addresses of coordinators.
    pub(super) fn with_evidence(
        mut self,
        evidence: &Evidence,
        window: (u64, u64),
        (times, seed): (&Histogram, Seed),
    ) -> Self {
        let limits = [0.99, 0.999].map(|quantile| {
            let ns = times.percentile_ns(quantile)?;
            Some((ns, times.count_above(ns)))
        });
        self.tail = evidence.tail(window, limits, seed);
        let coordinators = std::mem::take(&mut self.coordinators).into_iter();
        self.coordinators = coordinators
            .map(|(address, one)| (evidence.name_of(&address), one))
            .collect();
        if let Some(traces) = &mut self.traces {
            traces.name_nodes(&|address| evidence.name_of_ip(address));
        }
        self
    }
}

/// What one node did.
fn by_node(window: &Window<'_>, node: &str) -> NodeAround {
    let gained = |counter: fn(&NodeSample) -> Option<u64>| {
        let of_node = |seen: &Seen| match seen {
            Seen::Node(sample) => counter(sample),
            _ => None,
        };
        window.gained(node, of_node).map(whole)
    };
    NodeAround {
        cpu_us: gained(|n| Some(n.cpu_us)),
        read_bytes: gained(|n| n.read_bytes),
        written_bytes: gained(|n| n.written_bytes),
        received_bytes: gained(|n| n.received_bytes),
        sent_bytes: gained(|n| n.sent_bytes),
        retransmitted: gained(|n| n.retransmitted),
    }
}

/// Whether any sample of a node shows this.
fn seen_of_nodes(readings: &[Reading], shows: impl Fn(&NodeSample) -> bool) -> bool {
    readings.iter().any(|r| match &r.seen {
        Seen::Node(node) => shows(node),
        _ => false,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a counter's gain, never negative, below 2^53"
)]
fn whole(gained: f64) -> u64 {
    gained.round() as u64
}

#[cfg(test)]
mod tests;
