//! The slowest operations of an interval, and what each coordinator answered: to find out whose the tail is.
//! Refuses names of nodes: the generator knows addresses.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How many of an interval's slowest operations are kept. At 1,000 operations a second those are all above p99 and more;
/// at 16,000 a second all above p99.9.
pub const SLOWEST_KEPT: usize = 16;

/// One of the slowest operations of an interval. All moments are nanoseconds of the run's monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowOperation {
    /// Its operation, as the workload names it.
    pub operation: String,
    /// When it was meant to start; none in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended_ns: Option<u64>,
    /// When its first byte was handed to the socket.
    pub start_ns: u64,
    /// When its answer was read.
    pub end_ns: u64,
    /// The generator's own delay, in nanoseconds.
    pub lateness_ns: u64,
    /// Its coordinator: an address in the generator's lines, a node's name where that is known; none where it had no
    /// connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<String>,
    /// Number of the connection that it was sent over, in its generator process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// Its stream on that connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<i16>,
}

/// An operation that its coordinator was asked to trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedOperation {
    /// Id of the session in `system_traces`, as a UUID's text.
    pub session: String,
    /// Its times and its way.
    #[serde(flatten)]
    pub operation: SlowOperation,
}

impl SlowOperation {
    /// All its moments, to be moved to another clock.
    pub(crate) fn times_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let intended = self.intended_ns.iter_mut();
        intended.chain([&mut self.start_ns, &mut self.end_ns])
    }

    /// From where its time counts: its intended start, in a closed loop its start.
    pub fn from_ns(&self) -> u64 {
        self.intended_ns.unwrap_or(self.start_ns)
    }

    /// Its response time, in a closed loop its service time; in nanoseconds.
    pub fn time_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.from_ns())
    }
}

/// What one coordinator answered in an interval, all operations together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorInterval {
    /// Operations that it failed.
    pub failed: u64,
    /// Service times of those that completed.
    pub service: Histogram,
}

impl CoordinatorInterval {
    /// Adds another interval of the same coordinator.
    pub fn merge(&mut self, other: &Self) {
        self.failed += other.failed;
        self.service.merge(&other.service);
    }
}

/// Adds the slowest operations of another process in the same interval: the slowest of both remain.
pub(crate) fn merge_slowest(own: &mut Vec<SlowOperation>, other: &[SlowOperation]) {
    own.extend_from_slice(other);
    own.sort_by_key(|one| Reverse(one.time_ns()));
    own.truncate(SLOWEST_KEPT);
}
