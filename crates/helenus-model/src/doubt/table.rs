//! The kinds of doubts, each with what is fixed about it: `cargo xtask figures` makes the table of docs/measuring.md of
//! them. Refuses to judge: when one is raised stands in the module above.

use serde::{Deserialize, Serialize};

/// How bad a doubt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Printed beside the number.
    Caution,
    /// The number is not valid.
    Disqualifying,
}

/// What is doubted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtKind {
    /// More was offered than was completed: response times grew to the end, or the backlog there was too large.
    BehindSchedule,
    /// The generator was the bottleneck.
    GeneratorSaturated,
    /// The generator started operations late: the response times are interval-censored. Without its delay they lie
    /// between the service and the response times.
    GeneratorLate,
    /// Too many operations failed.
    Errors,
    /// A node died or restarted.
    NodeDied,
    /// The wall clock was stepped.
    ClockStepped,
    /// The run was stopped before its end.
    StoppedEarly,
    /// The measurement window was short.
    Short,
    /// Too few samples for a p99.
    FewSamples,
    /// The interval around p99 is wide.
    WideInterval,
    /// There was no one level behind the warm-up.
    NotSteady,
    /// The hypervisor took CPU.
    StolenHost,
    /// Other processes took CPU.
    BusyHost,
    /// The release does not support the JDK.
    JdkUnsupported,
    /// Some nodes used a class-data archive and some did not.
    ArchiveMix,
    /// A compaction ran for much of the measurement window.
    Compaction,
    /// A node's JVM was paused by garbage collection for much of the measurement window.
    Collection,
    /// The generator waited for a processor for much of the measurement window.
    GeneratorWaited,
    /// Packets between data centres came late.
    DistanceOff,
    /// A fault that was asked for held.
    Fault,
    /// A fault that was asked for could not be made.
    FaultNotMade,
    /// Another command changed the cluster while the run held it.
    Disturbed,
    /// A node joined or left.
    Membership,
    /// Every read of an operation found nothing.
    NoRows,
    /// One of several generators ended before the run did.
    GeneratorLost,
    /// The times of a generator elsewhere are on a clock that is known only roughly.
    ClockUnsure,
    /// A pod was throttled at its CPU limit.
    Throttled,
    /// A node was profiled.
    Profiled,
}

/// What is fixed about a kind of doubt: a row of the table in docs/measuring.md.
#[derive(Debug, Clone, Copy)]
pub struct DoubtRow {
    /// How bad it is.
    pub severity: Severity,
    /// Unit of what is measured: `s`, `ms`, `share`, `samples` or `count`.
    pub unit: &'static str,
    /// The fixed text.
    pub text: &'static str,
    /// When it is raised.
    pub raised: &'static str,
    /// What helps.
    pub cure: &'static str,
}

impl DoubtKind {
    /// All kinds.
    pub const ALL: [Self; 28] = [
        Self::BehindSchedule,
        Self::GeneratorSaturated,
        Self::GeneratorLate,
        Self::Errors,
        Self::NodeDied,
        Self::ClockStepped,
        Self::StoppedEarly,
        Self::Short,
        Self::FewSamples,
        Self::WideInterval,
        Self::NotSteady,
        Self::StolenHost,
        Self::BusyHost,
        Self::JdkUnsupported,
        Self::ArchiveMix,
        Self::Compaction,
        Self::Collection,
        Self::GeneratorWaited,
        Self::DistanceOff,
        Self::Fault,
        Self::FaultNotMade,
        Self::Disturbed,
        Self::Membership,
        Self::NoRows,
        Self::GeneratorLost,
        Self::ClockUnsure,
        Self::Throttled,
        Self::Profiled,
    ];

    /// What is fixed about it.
    pub fn row(self) -> DoubtRow {
        let row = |severity, unit, text, raised, cure| DoubtRow {
            severity,
            unit,
            text,
            raised,
            cure,
        };
        let caution = |unit, text, raised, cure| row(Severity::Caution, unit, text, raised, cure);
        let bad = |unit, text, raised, cure| row(Severity::Disqualifying, unit, text, raised, cure);
        match self {
            Self::BehindSchedule => bad(
                "s",
                "behind its schedule: operations were offered faster than they were completed, to the end",
                "the backlog at the end is above 1 s of the rate, or response times grew to the end of the \
                 window. In a comparison or a threshold the run stays and exceeds every limit of a response \
                 time; where slots were free while operations were due, *(the generator)* is added and the \
                 run is left out",
                "lower the rate, or find the highest one that the cluster sustains",
            ),
            Self::GeneratorSaturated => bad(
                "share",
                "the generator's thread had no CPU to spare",
                "its thread was on CPU for more than 90 % of the window",
                "lower the rate, or give the generator its own core",
            ),
            Self::GeneratorLate => caution(
                "ms",
                "the generator started operations late: the true response times are between service and response",
                "lateness p99 is above 1 ms and above 10 % of response p99. A threshold or a comparison is \
                 decided only where service and response times agree",
                "give the generator its own core, or lower the rate or the load on the host",
            ),
            Self::Errors => bad(
                "share",
                "too many operations failed",
                "more than 0.1 % of the operations that ended failed (`--max-errors`)",
                "look at the failures by kind and at the nodes' logs; --max-errors SHARE allows more of them",
            ),
            Self::NodeDied => bad(
                "count",
                "a node died or restarted",
                "any that no [fault](faults.md) killed",
                "see the node's log (`helenus logs`, on Kubernetes `helenus kube logs`); give it more memory if it \
                 ran out of it",
            ),
            Self::ClockStepped => bad(
                "ms",
                "the wall clock was stepped",
                "it moved by more than 10 ms against the monotonic one",
                "let the clock settle (slew instead of step) and run again",
            ),
            Self::StoppedEarly => bad(
                "count",
                "the run was stopped before its end",
                "a signal ended it",
                "run it again and let it end",
            ),
            Self::Short => caution(
                "s",
                "the measurement window is short",
                "it is below 10.0 s",
                "run for at least 10 s",
            ),
            Self::FewSamples => caution(
                "samples",
                "too few samples for a p99",
                "fewer than 1,000 operations ended",
                "run longer, or at a higher rate",
            ),
            Self::WideInterval => caution(
                "share",
                "p99 is known only roughly",
                "half the width of the confidence interval of the response p99 (closed loop: service p99) is \
                 above 25 % of it",
                "run longer; the interval is printed beside the number",
            ),
            Self::NotSteady => caution(
                "share",
                "not steady: the level changed within the measurement window",
                "by more than 10 %, or by 5 % after a cut",
                "use a longer warm-up, or run long enough for the change to pass",
            ),
            Self::StolenHost => caution(
                "share",
                "the hypervisor gave CPU to others",
                "more than 5 % of it (steal)",
                "run on a host that is not shared",
            ),
            Self::BusyHost => caution(
                "share",
                "other processes used the CPU",
                "more than 5 % of it",
                "stop the other work, or keep it off these processors",
            ),
            Self::JdkUnsupported => caution(
                "count",
                "the release does not support this JDK",
                "the release runs on it all the same",
                "use a JDK that the release supports",
            ),
            Self::ArchiveMix => caution(
                "count",
                "some nodes used a class-data archive and some did not",
                "the nodes of one run differ",
                "use the archive in all nodes or in none",
            ),
            Self::Compaction => caution(
                "share",
                "compactions ran during the operations",
                "on any node in more than 10 % of the window; names the node with most",
                "let compactions end before the run, or run long enough for them to be typical",
            ),
            Self::Collection => caution(
                "share",
                "a node paused to collect garbage",
                "in more than 10 % of the window; names it",
                "give the node more heap, or lower the rate",
            ),
            Self::GeneratorWaited => caution(
                "share",
                "the generator waited for a processor",
                "its busiest thread was runnable but waited in more than 10 % of the window",
                "give the generator its own core",
            ),
            Self::DistanceOff => caution(
                "share",
                "distance off: packets between data centres came late, as a share of the round trip",
                "1 in 100 was late by more than 5 % of the shortest round trip that packets crossed; names \
                 its two data centres",
                "lower the rate or the load on the host, or measure over longer round trips",
            ),
            Self::Fault => caution(
                "share",
                "a requested fault was in effect",
                "from the time line, or from before the run; with its words and its share of the window",
                "compare it only with runs under the same faults",
            ),
            Self::FaultNotMade => bad(
                "count",
                "a requested fault could not be made",
                "one of the run's time line",
                "see the line that reported it, and try it alone with `helenus fault`",
            ),
            Self::Disturbed => bad(
                "count",
                "another command changed the cluster during the run",
                "with `--force`; names the command",
                "run it again without that command",
            ),
            Self::Membership => caution(
                "share",
                "a node joined or left the cluster",
                "through `helenus node`; with its words and its share of the window",
                "compare it only with runs in which the same nodes joined or left",
            ),
            Self::NoRows => caution(
                "count",
                "no read found a row",
                "every read of an operation completed and found none; names the operation",
                "write the rows first, for example with `helenus populate` and the same seed; if the \
                 condition is a range, change its bound",
            ),
            Self::GeneratorLost => bad(
                "share",
                "a generator ended during the run: its share of the load is missing",
                "a generator was killed, evicted or cut off in a run [on Kubernetes](kubernetes.md) or with \
                 [agents](agents.md); names it, and when it ended. The others are merged without it",
                "find out why it ended (for a pod, with kubectl describe pod and kubectl get events), and run again",
            ),
            Self::ClockUnsure => caution(
                "share",
                "the clock of a generator elsewhere is known only roughly",
                "half of the shortest round trip to an agent plus the drift of its clock during the run is more than 5 % of an interval; names the agent. Latencies are not affected: each is measured on one clock",
                "use agents with shorter round trips, and synchronise their clocks",
            ),
            Self::Throttled => caution(
                "share",
                "a pod was throttled at its CPU limit",
                "on Kubernetes, a generator's or a node's, for more than 1 % of the run; names it",
                "raise the pod's limit of processors, or leave it out: a request is enough",
            ),
            Self::Profiled => caution(
                "share",
                "a node was profiled: its times include what that costs",
                "with `--flame`; with the event, the node and its share of the window",
                "take the times from a run without --flame, and compare it only with runs under the same profiler",
            ),
        }
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        self.row().severity
    }

    /// The fixed text.
    pub fn text(self) -> &'static str {
        self.row().text
    }

    /// What helps.
    pub fn cure(self) -> &'static str {
        self.row().cure
    }

    pub(super) fn unit(self) -> &'static str {
        self.row().unit
    }
}
