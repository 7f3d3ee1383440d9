//! What nodes and host did during a phase's measured stretch, out of the readings that were taken beside it.
//! Refuses a sum over nodes of which one was not seen.

use super::Around;
use crate::telemetry::{EventKind, Reading, Seen, Window};

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
            emulator: window.emulated(),
        }
    }
}

/// Whether any sample of a node shows this.
fn seen_of_nodes(
    readings: &[Reading],
    shows: impl Fn(&crate::telemetry::NodeSample) -> bool,
) -> bool {
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
