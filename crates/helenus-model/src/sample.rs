//! What the generator says while it runs: `helenus.sample/1`, one JSON value a line.
//! Refuses summaries: counts and whole histograms only, so that later readers can merge them.

mod clock;
mod slowest;

pub use clock::clock_shift;
pub(crate) use slowest::merge_slowest;
pub use slowest::{CoordinatorInterval, SLOWEST_KEPT, SlowOperation, TracedOperation};

use crate::format::Format;
use crate::histogram::Histogram;
use crate::run_plan::Pacing;
use crate::worded::worded;
use crate::workload::user_statements::Unchecked;
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
    /// The generator could not continue; no line follows.
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
    /// What is read and not compared with what was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<Unchecked>,
}

/// Whether what is recorded counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stretch {
    /// Before the measurement window.
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
    /// The slowest of the operations that completed, the slowest first; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowOperation>,
    /// Operations that completed and that their coordinators traced. Not kept in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<TracedOperation>,
    /// Service times by coordinator's address, where there is more than one. Not kept in the history.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinators: BTreeMap<String, CoordinatorInterval>,
}

/// Where the measured part of a phase begins, found in its intervals in the order in which they came.
///
/// The warm-up's last interval ends a moment after the measured part began, so that it may have a second line, of what
/// was offered in that moment. That line begins with the interval; the measured part does not.
#[derive(Debug, Clone, Default)]
pub struct MeasuredFrom {
    /// Middle and CPU of the last line of the warm-up.
    warmup: Option<(u64, u64)>,
    found: Option<u64>,
}

impl MeasuredFrom {
    /// Takes the phase's next line.
    pub fn see(&mut self, line: &Interval) {
        let middle_ns = line.start_ns / 2 + line.end_ns / 2;
        match line.stretch {
            Stretch::Warmup => self.warmup = Some((middle_ns, line.thread_cpu_ns)),
            Stretch::Measured if self.found.is_none() => {
                // Of two lines of one interval its own is the one with the thread's CPU. Of several processes the lines
                // begin a little apart.
                let border = self.warmup.is_some_and(|(middle, cpu)| {
                    line.start_ns < middle && cpu >= line.thread_cpu_ns
                });
                self.found = Some(if border { line.end_ns } else { line.start_ns });
            }
            Stretch::Measured => {}
        }
    }

    /// The beginning, in nanoseconds; none before the first measured line.
    pub fn at_ns(&self) -> Option<u64> {
        self.found
    }

    /// The beginning of a run's time line: that of the first phase's measured part.
    pub fn of(intervals: &[Interval]) -> Option<u64> {
        let first = intervals.first()?.phase;
        let mut from = Self::default();
        for line in intervals.iter().filter(|line| line.phase == first) {
            from.see(line);
        }
        from.at_ns()
    }
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
    /// Of those that ended, the ones that succeeded.
    #[serde(default)]
    pub completed: u64,
    /// The sum of response times of all that ended, in nanoseconds; 0 in a closed loop.
    #[serde(default)]
    pub response_sum_ns: u64,
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
    /// Start to end, of the operations that completed.
    pub service: Histogram,
    /// Intended start to end, of the operations that completed; empty in a closed loop.
    pub response: Histogram,
    /// Start − max(intended start, slot free): the generator's own delay.
    pub lateness: Histogram,
    /// max(0, slot free − intended start); empty in a closed loop.
    pub slot_wait: Histogram,
    /// Intended start to start: slot wait and lateness of each operation together, which their two histograms no
    /// longer show. Empty in a closed loop, and in what was recorded before it was kept.
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

worded! {
    /// Why an operation failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum FailureKind {
        /// Too few replicas were alive.
        Unavailable = "unavailable",
        /// Too few replicas answered a write in time.
        WriteTimeout = "write_timeout",
        /// Too few replicas answered a read in time.
        ReadTimeout = "read_timeout",
        /// A coordinator or replica refused the load.
        Overloaded = "overloaded",
        /// No answer within the plan's operation time-out.
        ClientTimeout = "client_timeout",
        /// The connection broke, or there was none.
        Connection = "connection",
        /// A row came back with other data than were written.
        WrongData = "wrong_data",
        /// A row that should be there was not.
        MissingRow = "missing_row",
        /// Anything else.
        Other = "other",
    }
}

impl FailureKind {
    /// What helps against it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Unavailable => {
                "too few replicas were up for the consistency level: start the nodes that are down (`helenus status` \
                 shows them), or check the keyspace's replication"
            }
            Self::WriteTimeout | Self::ReadTimeout => {
                "replicas did not answer in time: check in the nodes' logs whether they were paused, gone or \
                 overloaded; lower the rate if they were overloaded"
            }
            Self::Overloaded => {
                "the nodes refused the load: lower the rate, or allow fewer operations in flight"
            }
            Self::ClientTimeout => {
                "no answer came in time: check in the nodes' logs whether they were paused or gone"
            }
            Self::Connection => {
                "a node stopped or could not be reached: see `helenus status` and the node's log"
            }
            Self::WrongData => {
                "the rows are not those of this workload and seed: read with the seed that wrote them, and look for \
                 another writer"
            }
            Self::MissingRow => {
                "rows must be written before they are read, by the same workload with the same seed: `helenus populate` writes them"
            }
            Self::Other => "see the message of the first failure, and the nodes' logs",
        }
    }

    /// The most frequent kind of these; of equals the first.
    pub fn most_frequent(failed: &BTreeMap<Self, u64>) -> Option<Self> {
        let counted = failed.iter().filter(|(_, n)| **n > 0);
        let most = counted.min_by_key(|(_, n)| std::cmp::Reverse(**n));
        most.map(|(kind, _)| *kind)
    }

    /// Whether it means that nodes were down or out of reach, whatever the load.
    pub fn is_outage(self) -> bool {
        matches!(self, Self::Unavailable | Self::Connection)
    }
}

/// Whether the words of an *overloaded* error say that the node is going down: Cassandra has no error of its own for it.
pub fn is_shutting_down(words: &str) -> bool {
    words.to_ascii_lowercase().contains("shutting down")
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// Place of the phase in the plan.
    pub phase: usize,
    /// Start of the measurement window on the monotonic clock, in nanoseconds.
    pub measured_from_ns: u64,
    /// End of the measurement window: the schedule's end, or in a closed loop the last start allowed, in nanoseconds.
    pub measured_to_ns: u64,
    /// When the last operation had ended, in nanoseconds.
    pub ended_ns: u64,
    /// Operations offered but not started at the schedule's end.
    pub backlog: u64,
    /// Operations of the backlog that were never started: it was too large to work off.
    pub abandoned: u64,
    /// Operations cut off in flight when the run was stopped.
    pub cut_off: u64,
    /// CPU of the generator's thread in the measurement window, in nanoseconds, without the time spent spinning.
    pub thread_cpu_ns: u64,
    /// The same of all generator processes together, of which `thread_cpu_ns` is the busiest one's; 0 where an older generator
    /// did not say.
    #[serde(default)]
    pub threads_cpu_ns: u64,
    /// The largest step of the wall clock against the monotonic one within an interval, in nanoseconds.
    pub clock_step_ns: u64,
    /// True when the run was stopped before the phase's end.
    pub stopped_early: bool,
    /// Connections to nodes that were lost; absent in what was recorded before they were counted.
    #[serde(default, skip_serializing_if = "crate::run_plan::is_zero")]
    pub connections_lost: u64,
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

impl Failure {
    /// What to do about it, where the server's words say that a statement is not one for a key.
    pub fn hint(&self) -> Option<&'static str> {
        let said = |words: &str| {
            let all = self.causes.iter().chain([&self.message]);
            let mut all = all.map(|text| text.to_ascii_lowercase());
            all.any(|text| text.contains(words))
        };
        let range = self.stage == Stage::Prepare && (said("allow filtering") || said("token()"));
        range.then_some(
            "a range of partitions follows the ring: write token(KEY) > ?, or add ALLOW FILTERING, which reads every \
             partition",
        )
    }
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
    fn a_range_over_partitions_that_is_refused_has_a_cure() {
        let hint = |stage, cause: &str| {
            let failure = Failure {
                stage,
                message: "cannot prepare operation \"read\"".to_owned(),
                causes: vec![cause.to_owned()],
            };
            failure.hint().map(|hint| hint.contains("ALLOW FILTERING"))
        };
        let words = "Only EQ and IN relation are supported on the partition key (unless you use the token() function)";
        assert_eq!(hint(Stage::Prepare, words), Some(true));
        let words = "this query might have unpredictable performance: use ALLOW FILTERING";
        assert_eq!(hint(Stage::Prepare, words), Some(true));
        assert_eq!(hint(Stage::Run, words), None);
        assert_eq!(hint(Stage::Prepare, "table t does not exist"), None);
    }

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
                completed: 2,
                response_sum_ns: 5_000_000,
            }],
            slowest: vec![SlowOperation {
                operation: "write".to_owned(),
                intended_ns: Some(1),
                start_ns: 2,
                end_ns: 9,
                lateness_ns: 1,
                coordinator: Some("127.0.0.1:9042".to_owned()),
                connection: Some(0),
                stream: Some(7),
            }],
            traced: vec![],
            coordinators: BTreeMap::new(),
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
    fn interval(stretch: Stretch, from_s: u64, to_s: u64, thread_cpu_ns: u64) -> Interval {
        Interval {
            phase: 0,
            stretch,
            start_ns: from_s * 1_000_000_000,
            end_ns: to_s * 1_000_000_000,
            thread_cpu_ns,
            operations: BTreeMap::new(),
            tenths: vec![],
            slowest: vec![],
            traced: vec![],
            coordinators: BTreeMap::new(),
        }
    }

    #[test]
    fn measuring_begins_where_the_warm_up_ends() {
        use Stretch::{Measured, Warmup};
        let from = |lines: &[Interval]| MeasuredFrom::of(lines).map(|ns| ns / 1_000_000_000);
        let cases = [
            (vec![], None),
            (vec![interval(Warmup, 5, 6, 9)], None),
            (vec![interval(Measured, 5, 6, 9)], Some(5)),
            // What was offered in the moment in which the warm-up's last interval ended.
            (
                vec![
                    interval(Warmup, 5, 6, 9),
                    interval(Warmup, 6, 7, 9),
                    interval(Measured, 6, 7, 0),
                    interval(Measured, 7, 8, 9),
                ],
                Some(7),
            ),
            // The same of several processes, whose lines begin a little apart.
            (
                vec![
                    interval(Warmup, 60, 70, 9),
                    interval(Measured, 61, 70, 0),
                    interval(Measured, 69, 80, 9),
                ],
                Some(70),
            ),
            (
                vec![interval(Warmup, 60, 71, 9), interval(Measured, 70, 80, 9)],
                Some(70),
            ),
            // What the warm-up left to the first measured interval.
            (
                vec![
                    interval(Warmup, 5, 6, 9),
                    interval(Warmup, 6, 7, 0),
                    interval(Measured, 6, 7, 9),
                ],
                Some(6),
            ),
        ];
        for (lines, wanted) in cases {
            assert_eq!(from(&lines), wanted, "{lines:?}");
        }
    }

    #[test]
    fn kinds_of_failures_have_their_words() {
        use FailureKind as F;
        let kinds = [
            F::Unavailable,
            F::WriteTimeout,
            F::ReadTimeout,
            F::Overloaded,
            F::ClientTimeout,
            F::Connection,
            F::WrongData,
            F::MissingRow,
            F::Other,
        ];
        for kind in kinds {
            let json = serde_json::to_string(&kind).expect("writes");
            assert_eq!(json, format!("{:?}", kind.word()));
        }
        let failed = BTreeMap::from([(F::Unavailable, 3), (F::Connection, 3), (F::Other, 0)]);
        assert_eq!(F::most_frequent(&failed), Some(F::Unavailable));
        assert_eq!(F::most_frequent(&BTreeMap::from([(F::Other, 0)])), None);
        assert!(is_shutting_down("Server is shutting down"));
        assert!(!is_shutting_down("Too many in flight"));
    }
}
