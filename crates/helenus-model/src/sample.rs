//! What the generator says while it runs: `helenus.sample/1`, one JSON value a line.
//! Refuses summaries: counts and whole histograms only, so that later readers can merge them.

use crate::format::Format;
use crate::histogram::Histogram;
use crate::run_plan::Pacing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SampleLine {
    /// The first line: connections stand, statements are prepared.
    Header(Header),
    /// What happened in one interval of one phase.
    Interval(Interval),
    /// How far a phase is whose operations are all to succeed.
    Mark(Mark),
    /// A phase is over.
    PhaseEnd(PhaseEnd),
    /// The last line of a run that went its way.
    Footer(Footer),
    /// The generator could not go on; no line follows.
    Failure(Failure),
}

/// What the *start* of an operation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartMeans {
    /// Just before the driver was called.
    DriverCall,
    /// The bytes were handed to the socket.
    Socket,
}

/// What a reader must know before the first interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `helenus.sample/1`.
    pub format: Format,
    /// Hash of the plan that is run.
    pub plan_hash: String,
    /// The monotonic clock at the anchor, in nanoseconds.
    pub monotonic_ns: u64,
    /// The wall clock at the same moment, in nanoseconds since 1970.
    pub wall_ns: u64,
    /// What *start* means.
    pub start_means: StartMeans,
    /// How it waits.
    pub pacing: Pacing,
    /// Resolution of its timer in nanoseconds.
    pub timer_resolution_ns: u64,
    /// Process id.
    pub pid: u32,
    /// Processors it may run on.
    pub cpus: Vec<u32>,
    /// Process ids of the others, where several generators share the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<u32>,
}

/// Whether what is recorded counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stretch {
    /// Before the measured stretch.
    Warmup,
    /// Counts.
    Measured,
}

/// One interval. Counts are placed where they happened: offered by intended start, started by start,
/// the rest and all histograms by end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Place of the phase in the plan.
    pub phase: usize,
    /// Whether these operations count.
    pub stretch: Stretch,
    /// Start, on the monotonic clock, in nanoseconds.
    pub start_ns: u64,
    /// End, on the monotonic clock, in nanoseconds.
    pub end_ns: u64,
    /// CPU that the generator's thread used in it, in nanoseconds, less what it spent spinning.
    pub thread_cpu_ns: u64,
    /// By operation.
    pub operations: BTreeMap<String, OperationInterval>,
    /// Its tenths of a second from its start, all operations together, to see whether the phase is steady. Those of a
    /// second line for the same time (operations of the other stretch) are empty. Not kept in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenths: Vec<Tenth>,
}

/// How far a phase is whose operations are all to succeed: what may be remembered of it, should it be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Place of the phase in the plan.
    pub phase: usize,
    /// Every operation with a smaller number has completed; the first that may not have.
    pub below: u64,
    /// Positions that operations with smaller numbers take.
    pub positions: u64,
    /// How often an operation failed and was sent again so far.
    pub repeated: u64,
}

/// Length of a [`Tenth`], in nanoseconds.
pub const TENTH_NS: u64 = 100_000_000;

/// What ended in a tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenth {
    /// Operations that ended.
    pub ended: u64,
    /// The sum of their service times, in nanoseconds.
    pub service_sum_ns: u64,
}

/// One operation in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationInterval {
    /// Operations whose intended start lay in it (in a closed loop: that started).
    pub offered: u64,
    /// Operations that started.
    pub started: u64,
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed, by kind; kinds without any are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<FailureKind, u64>,
    /// Partitions that the completed operations touched; 0 in what was recorded before they were counted.
    #[serde(default)]
    pub partitions: u64,
    /// Rows that the completed operations wrote or read; 0 in what was recorded before they were counted.
    #[serde(default)]
    pub rows: u64,
    /// Start to end, of every operation that ended.
    pub service: Histogram,
    /// Intended start to end; empty in a closed loop.
    pub response: Histogram,
    /// Start − max(intended start, slot free): the generator's own delay.
    pub lateness: Histogram,
    /// max(0, slot free − intended start); empty in a closed loop.
    pub slot_wait: Histogram,
    /// Intended start to start: slot wait and lateness of each operation together, which their two histograms no
    /// longer tell. Empty in a closed loop, and in what was recorded before it was kept.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub wait: Histogram,
}

impl OperationInterval {
    /// Adds another interval of the same operation.
    pub fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.started += other.started;
        self.completed += other.completed;
        for (kind, n) in &other.failed {
            *self.failed.entry(*kind).or_default() += n;
        }
        self.partitions += other.partitions;
        self.rows += other.rows;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
        self.slot_wait.merge(&other.slot_wait);
        self.wait.merge(&other.wait);
    }

    /// All failures.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// True when nothing happened.
    pub fn is_empty(&self) -> bool {
        self.offered + self.started + self.completed + self.failures() == 0
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too few replicas were alive.
    Unavailable,
    /// Too few replicas answered a write in time.
    WriteTimeout,
    /// Too few replicas answered a read in time.
    ReadTimeout,
    /// A coordinator or replica refused the load.
    Overloaded,
    /// No answer within the plan's operation time-out.
    ClientTimeout,
    /// The connection broke, or there was none.
    Connection,
    /// A row came back with other data than were written.
    WrongData,
    /// A row that should be there was not.
    MissingRow,
    /// Anything else.
    Other,
}

/// How one operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Completed,
    /// Not.
    Failed(FailureKind),
}

/// The end of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// Place of the phase in the plan.
    pub phase: usize,
    /// Start of the measured stretch on the monotonic clock, in nanoseconds.
    pub measured_from_ns: u64,
    /// End of the measured stretch: the schedule's end, or in a closed loop the last start allowed, in nanoseconds.
    pub measured_to_ns: u64,
    /// When the last operation had ended, in nanoseconds.
    pub ended_ns: u64,
    /// Operations offered but not started at the schedule's end.
    pub backlog: u64,
    /// Operations of the backlog that were never started: it was too large to work off.
    pub abandoned: u64,
    /// Operations cut off in flight when the run was stopped.
    pub cut_off: u64,
    /// CPU of the generator's thread in the measured stretch, in nanoseconds, less what it spent spinning.
    pub thread_cpu_ns: u64,
    /// The largest step of the wall clock against the monotonic one within an interval, in nanoseconds.
    pub clock_step_ns: u64,
    /// True when the run was stopped before the phase's end.
    pub stopped_early: bool,
    /// Its thread's place in the scheduler during the phase.
    pub standing: Standing,
    /// The text of the first failure of each kind, to explain the counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_failures: BTreeMap<FailureKind, String>,
}

/// A thread's place in the scheduler: what held, not what was wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Scheduling policy.
    pub policy: SchedulingPolicy,
    /// Nice value, where known.
    pub nice: Option<i32>,
    /// Time slice granted in nanoseconds, where one was asked for and granted.
    pub slice_ns: Option<u64>,
    /// Timer slack in nanoseconds, where known.
    pub timer_slack_ns: Option<u64>,
}

/// A scheduling policy of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingPolicy {
    /// The ordinary one.
    #[default]
    Fair,
    /// Real time, in turns.
    RoundRobin,
}

impl Default for Standing {
    /// An ordinary thread of which nothing else is known.
    fn default() -> Self {
        Self {
            policy: SchedulingPolicy::Fair,
            nice: None,
            slice_ns: None,
            timer_slack_ns: None,
        }
    }
}

/// What the generator itself used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Footer {
    /// User CPU of the process, in microseconds.
    pub user_cpu_us: u64,
    /// System CPU of the process, in microseconds.
    pub system_cpu_us: u64,
    /// Largest resident set, in bytes.
    pub max_rss_bytes: u64,
    /// Times it waited.
    pub voluntary_switches: u64,
    /// Times it was put aside.
    pub involuntary_switches: u64,
    /// The monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// The wall clock at the same moment, in nanoseconds since 1970.
    pub wall_ns: u64,
}

/// Why the generator stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What it was doing.
    pub stage: Stage,
    /// The error.
    pub message: String,
    /// Its causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// What the generator was doing when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading the plan.
    Plan,
    /// Finding a secret.
    Secret,
    /// Connecting.
    Connect,
    /// Preparing the statements.
    Prepare,
    /// Running.
    Run,
}

impl SampleLine {
    /// The line's JSON, without the line break.
    ///
    /// # Errors
    /// None in practice: a line is plain data with text keys.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let mut write = OperationInterval {
            offered: 5,
            started: 4,
            completed: 2,
            ..OperationInterval::default()
        };
        write.failed.insert(FailureKind::WriteTimeout, 1);
        write.service.record(1_500_000);
        let line = SampleLine::Interval(Interval {
            phase: 0,
            stretch: Stretch::Measured,
            start_ns: 1,
            end_ns: 2,
            thread_cpu_ns: 0,
            operations: BTreeMap::from([("write".to_owned(), write.clone())]),
            tenths: vec![Tenth {
                ended: 3,
                service_sum_ns: 4_500_000,
            }],
        });
        let json = line.to_json().expect("writes");
        assert!(json.starts_with(r#"{"kind":"interval""#), "{json}");
        assert!(json.contains(r#""failed":{"write_timeout":1}"#), "{json}");
        let read: SampleLine = serde_json::from_str(&json).expect("reads");
        assert_eq!(read, line);
        let mut twice = write.clone();
        twice.merge(&write);
        assert_eq!(
            (twice.offered, twice.failures(), twice.service.count()),
            (10, 2, 2)
        );
    }
}
