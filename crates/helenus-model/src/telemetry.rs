//! Telemetry: what the nodes and the host did beside a run, on the run's own clock.
//! Refuses to judge, and to guess: what could not be read is absent.

use crate::flame::Profile;
use crate::sample::SlowOperation;
use crate::server_times::NodeTimers;
use crate::trace::Trace;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

mod emulator;
mod faults;
mod under_way;
mod window;
pub use emulator::{Emulated, EmulatorSample, PairSample};
pub use faults::{FaultSeen, faults};
pub use under_way::under_way;
pub use window::Window;

/// The name under which samples of the host are kept; no node can have it.
pub const HOST: &str = "@host";

/// The name under which samples of the load generator are kept; no node can have it.
pub const GENERATOR: &str = "@generator";

/// The name under which samples of the emulator of distance are kept; no node can have it.
pub const EMULATOR: &str = "@emulator";

/// The name under which the slowest operations of each interval are kept; no node can have it.
pub const SLOWEST: &str = "@slowest";

/// The name under which traced operations are kept; no node can have it.
pub const TRACED: &str = "@traced";

/// A node that was not seen for so long is down, in nanoseconds: it is looked at every second.
pub const UNSEEN_NS: u64 = 3_000_000_000;

/// What was seen of one source at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// A node's name, [`HOST`], [`GENERATOR`], [`EMULATOR`], [`SLOWEST`], [`TRACED`], or the target of a fault behind an `@`.
    pub source: String,
    /// When, on the run's monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// What.
    pub seen: Seen,
}

/// One kind of sight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Seen {
    /// A node.
    Node(NodeSample),
    /// The host.
    Host(HostSample),
    /// The load generator.
    Generator(GeneratorSample),
    /// What holds packets between data centres, where the cluster has distance.
    Emulator(EmulatorSample),
    /// The slowest operations of an interval, the slowest first; `at_ns` is the interval's end.
    Slowest(Slowest),
    /// A traced operation; `at_ns` is its end.
    Traced(Trace),
    /// What a node's timers counted in a measurement window; `at_ns` is its start.
    Timers(NodeTimers),
    /// A node's stacks; `at_ns` is the beginning of the profile.
    Profile(Profile),
    /// Something with a beginning and an end; `at_ns` is its beginning.
    Event(Event),
}

/// The slowest operations of an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slowest {
    /// Their phase's place in the plan.
    pub phase: usize,
    /// The slowest first.
    pub operations: Vec<SlowOperation>,
}

/// A node at one moment. Counters count from the start of its process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSample {
    /// CPU so far, user and system, in microseconds.
    pub cpu_us: u64,
    /// Resident memory, shared pages in full, in bytes.
    pub rss_bytes: u64,
    /// Of it anonymous: heap, metaspace, stacks, malloc; in bytes.
    pub anon_bytes: u64,
    /// Of it mapped files: jars, archive, SSTables; in bytes.
    pub file_bytes: u64,
    /// Of it shared memory, in bytes.
    pub shmem_bytes: u64,
    /// Threads.
    pub threads: u32,
    /// Read from storage so far, in bytes.
    pub read_bytes: Option<u64>,
    /// Sent to storage so far, in bytes.
    pub written_bytes: Option<u64>,
    /// Received over its network so far, in bytes; only where the node has a network namespace, loopback left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// Sent over its network so far, in bytes; as `received_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// TCP segments that it sent again so far; as `received_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Collections that stopped it, as its log has reported since the run began, where that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collections: Option<u64>,
    /// Whether it answered when it was asked for what follows; if not, empty lists say nothing.
    #[serde(default)]
    pub answered: bool,
    /// Thread pools that have something waiting or working, where the node could be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolSample>,
    /// Compactions and their like under way, where the node could be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compactions: Vec<CompactionSample>,
}

/// One of a node's thread pools (`system_views.thread_pools`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSample {
    /// Its name, such as `MutationStage`.
    pub name: String,
    /// Tasks at work.
    pub active: u32,
    /// Tasks that wait.
    pub pending: u32,
    /// Tasks that were blocked so far.
    pub blocked_so_far: u64,
}

/// One task on SSTables (`system_views.sstable_tasks`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionSample {
    /// Its id.
    pub id: String,
    /// Keyspace.
    pub keyspace: String,
    /// Table.
    pub table: String,
    /// What it does: `compaction`, `validation`, `cleanup` and so on.
    pub task: String,
    /// Share that is done, 0 to 1.
    pub done: f64,
}

/// The host at one moment. Counters count from its boot, over all processors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// CPU that was not idle, in microseconds (stolen time left out).
    pub busy_us: u64,
    /// CPU that the hypervisor gave to others, in microseconds.
    pub stolen_us: u64,
    /// All CPU time, idle and stolen included, in microseconds.
    pub total_us: u64,
    /// CPU that the nodes, the generator and Helenus used of it, in microseconds.
    pub ours_us: u64,
    /// Threads that ran or waited for a processor.
    pub run_queue: u32,
    /// Read from disks so far, in bytes.
    pub read_bytes: Option<u64>,
    /// Written to disks so far, in bytes.
    pub written_bytes: Option<u64>,
}

/// The load generator at one moment. Counters count from the start of its process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSample {
    /// CPU so far, in microseconds.
    pub cpu_us: u64,
    /// Time that its busiest thread was runnable and waited for a processor so far, in microseconds.
    pub run_queue_wait_us: u64,
}

/// Something that took its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub what: EventKind,
    /// Its end, on the run's monotonic clock, in nanoseconds; its beginning is the reading's `at_ns`.
    pub to_ns: u64,
    /// In words: the collector's own for a collection, keyspace, table and task for a compaction, those that asked for
    /// it for a fault.
    pub text: String,
}

worded! {
    /// Kinds of events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum EventKind {
        /// The JVM stopped all of a node's threads to collect garbage.
        Collection = "collection",
        /// The JVM stopped all of a node's threads for another reason.
        Safepoint = "safepoint",
        /// A compaction, or another task on SSTables, was under way.
        Compaction = "compaction",
        /// A memtable was being written to disk (the pool `MemtableFlushWriter` had something at work).
        Flush = "flush",
        /// Hints were being replayed (the pool `HintsDispatcher` had something at work).
        Hints = "hints",
        /// The node's process was gone.
        Died = "died",
        /// The node's process was stopped by a signal.
        Paused = "paused",
        /// The thread that syncs the node's commit log waited for the disk, for 10 ms at least.
        LogSync = "log_sync",
        /// A fault that was asked for held.
        Fault = "fault",
        /// A node was killed because that was asked for, and not yet started again.
        Killed = "killed",
        /// A fault that was asked for could not be made; from when on, and until when, it should have held.
        NotMade = "not_made",
        /// A node joined, left or was replaced, as was asked for.
        Membership = "membership",
    }
}
