//! Doubts: what stands between a number and believing it, with a fixed text, a cure, a severity and a threshold.
//! Refuses to soften: the same facts always raise the same doubts.

mod shared;
mod table;

pub use shared::{Shared, shared};
pub use table::{DoubtKind, DoubtRow, Severity};

use crate::overload::GROWTH;
use crate::sample::FailureKind;
use crate::steady::FLOOR;
use crate::telemetry::{Emulated, EventKind, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Thresholds: the design's first values. Each says what is still allowed.
pub mod threshold {
    /// Backlog at the end, in seconds of the rate.
    pub const BACKLOG_S: f64 = 1.0;
    /// Share of the measurement window that the generator's thread is on CPU.
    pub const THREAD_BUSY: f64 = 0.90;
    /// Lateness p99, in milliseconds.
    pub const LATENESS_P99_MS: f64 = 1.0;
    /// Lateness p99 as a share of response p99, where that allows more.
    pub const LATENESS_OF_RESPONSE: f64 = 0.10;
    /// Share of ended operations that failed.
    pub const ERRORS: f64 = 0.001;
    /// Step of the clock, in milliseconds.
    pub const CLOCK_STEP_MS: f64 = 10.0;
    /// Measurement window, in seconds.
    pub const SHORT_S: f64 = 10.0;
    /// Samples for a p99 that ten samples stand above.
    pub const SAMPLES: f64 = 1000.0;
    /// Half the width of the 95 % interval around p99, as a share of p99.
    pub const P99_HALF_WIDTH: f64 = 0.25;
    /// Share of the measurement window that other work or the hypervisor took.
    pub const HOST_BUSY: f64 = 0.05;
    /// Share of the measurement window in which a compaction was under way.
    pub const COMPACTION: f64 = 0.10;
    /// Share of the measurement window that a node's JVM was paused by garbage collection.
    pub const COLLECTION: f64 = 0.10;
    /// Share of the measurement window that the generator's busiest thread waited for a processor.
    pub const GENERATOR_WAIT: f64 = 0.10;
    /// Share of the run for which a pod was throttled at its CPU limit.
    pub const THROTTLED: f64 = 0.01;
    /// Error of the times of a generator elsewhere, as a share of an interval.
    pub const CLOCKS: f64 = 0.05;
    /// Lateness p99 of packets between data centres, as a share of the shortest round trip that was crossed.
    pub const DISTANCE: f64 = 0.05;
}

/// One doubt about one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// What is doubted.
    pub kind: DoubtKind,
    /// How bad it is.
    pub severity: Severity,
    /// What was measured, in `unit`.
    pub measured: f64,
    /// What is still allowed, in `unit`.
    pub threshold: f64,
    /// Unit of both: `s`, `ms`, `share`, `samples` or `count`.
    pub unit: String,
    /// The fixed text.
    pub text: String,
    /// What helps.
    pub cure: String,
    /// Whom it is about, where that is known (a node's name), or a fault's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl Doubt {
    /// True where the nodes fell behind the schedule, and not the generator.
    pub fn nodes_fell_behind(&self) -> bool {
        self.kind == DoubtKind::BehindSchedule && self.about.as_deref() != Some(THE_GENERATOR)
    }

    /// True where it keeps a run out of a comparison. A run in which the nodes fell behind stays: it exceeds every
    /// threshold of latency. The severity is today's, whatever was stored.
    pub fn spoils(&self) -> bool {
        self.kind.severity() == Severity::Disqualifying && !self.nodes_fell_behind()
    }

    /// True where it is about operations that failed.
    pub fn is_of_errors(&self) -> bool {
        self.kind == DoubtKind::Errors
    }

    /// The fixed text, and whom it is about.
    pub fn line(&self) -> String {
        let about = self.about.as_ref();
        let about = about.map_or_else(String::new, |about| format!(" ({about})"));
        format!("{}{about}", self.text)
    }
}

/// What may be said of a phase or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is no doubt.
    Valid,
    /// To be read with its cautions.
    Caution,
    /// Not valid.
    Invalid,
}

impl Verdict {
    /// The verdict that these doubts leave, by the severities of this version, whatever was stored.
    pub fn of(doubts: &[Doubt]) -> Self {
        match doubts.iter().map(|d| d.kind.severity()).max() {
            None => Self::Valid,
            Some(Severity::Caution) => Self::Caution,
            Some(Severity::Disqualifying) => Self::Invalid,
        }
    }

    /// As the terminal and every report print it.
    pub const fn line(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Caution => "valid, with cautions",
            Self::Invalid => "invalid",
        }
    }

    /// The exit code: 0, or 5 for what is not valid.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Valid | Self::Caution => 0,
            Self::Invalid => 5,
        }
    }
}

/// What others than the generator saw during the measurement window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OutsideFacts {
    /// Nodes that died or restarted, but for those that were killed on request.
    pub nodes_died: Vec<String>,
    /// Share of the host's CPU that the hypervisor took, where known.
    pub steal_share: Option<f64>,
    /// Share of the host's CPU that neither the nodes nor the generator used, but others, where known.
    pub foreign_cpu_share: Option<f64>,
    /// Nodes that run on a JDK which their release does not support.
    pub jdk_unsupported: Vec<String>,
    /// True when some nodes used a class-data archive and others did not.
    pub archive_mix: bool,
    /// Share of ended operations that may fail, where it was set.
    pub max_errors: Option<f64>,
    /// Share of the measurement window in which a compaction ran on any node.
    #[serde(default)]
    pub compaction_share: f64,
    /// The node that compacted longest, where one did.
    #[serde(default)]
    pub compaction_most: Option<String>,
    /// Shares of the measurement window that nodes were paused by garbage collection, by node; nodes without any are
    /// left out.
    #[serde(default)]
    pub collection_shares: BTreeMap<String, f64>,
    /// Share of the measurement window that the generator's busiest thread waited for a processor, where known.
    #[serde(default)]
    pub generator_wait_share: Option<f64>,
    /// What the emulator of distance did, where the cluster has one.
    #[serde(default)]
    pub emulator: Option<Emulated>,
    /// Shares of the measurement window in which faults held that were asked for, by their words.
    #[serde(default)]
    pub faults: BTreeMap<String, f64>,
    /// Words of faults that could not be made.
    #[serde(default)]
    pub faults_not_made: Vec<String>,
    /// Other commands that changed the cluster during the run.
    #[serde(default)]
    pub disturbed: Vec<String>,
    /// Nodes that joined or left, in words, each with its share of the measurement window.
    #[serde(default)]
    pub members: BTreeMap<String, f64>,
    /// Generators that ended before the run did, in words, each with its share of the load that is missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generators_lost: BTreeMap<String, f64>,
    /// The generator elsewhere whose clock is known least, with the error of its times as a share of an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<(String, f64)>,
    /// Shares of the measurement window in which nodes were profiled, by event and node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiled: BTreeMap<String, f64>,
    /// Shares of the run for which pods were throttled at their CPU limits, by pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled: BTreeMap<String, f64>,
}

impl OutsideFacts {
    /// The same with what readings show of one phase's measurement window.
    #[must_use]
    pub fn seen_through(&self, window: &Window<'_>) -> Self {
        let own = |shares: BTreeMap<&str, f64>| -> BTreeMap<String, f64> {
            let owned = shares.into_iter().map(|(node, s)| (node.to_owned(), s));
            owned.collect()
        };
        let compactions = window.share_by_source(EventKind::Compaction);
        let most = compactions.iter().max_by(|a, b| a.1.total_cmp(b.1));
        Self {
            nodes_died: self
                .nodes_died
                .iter()
                .map(String::as_str)
                .chain(window.died_by_themselves())
                .map(str::to_owned)
                .collect(),
            steal_share: window.steal_share(),
            foreign_cpu_share: window.foreign_cpu_share(),
            compaction_share: window.share(EventKind::Compaction),
            compaction_most: most.map(|(node, _)| (*node).to_owned()),
            collection_shares: own(window.share_by_source(EventKind::Collection)),
            generator_wait_share: window.generator_wait_share(),
            emulator: window.emulated(),
            faults: own(window.share_by_text(EventKind::Fault))
                .into_iter()
                .chain(own(window.share_by_text(EventKind::Killed)))
                .collect(),
            faults_not_made: window.not_made(),
            members: own(window.share_by_text(EventKind::Membership)),
            profiled: window.profiled(),
            ..self.clone()
        }
    }
}

/// The facts of one phase that are judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseFacts {
    /// Length of the measurement window, in seconds.
    pub duration_s: f64,
    /// Operations a second that were asked for; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Operations that ended, failures included.
    pub ended: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that read, completed and found no row at all.
    pub reads_of_nothing: Vec<String>,
    /// How most of them failed.
    pub failed_most: Option<FailureKind>,
    /// Offered but not started at the schedule's end.
    pub backlog: u64,
    /// Seconds by which response times grew over the measurement window, where they grew to its end.
    pub growth_s: Option<f64>,
    /// Share of the measurement window that the generator's thread was on CPU.
    pub thread_busy: f64,
    /// Mean wait for a free slot, in nanoseconds; none in a closed loop.
    pub slot_wait_mean_ns: Option<f64>,
    /// Mean lateness, in nanoseconds.
    pub lateness_mean_ns: Option<f64>,
    /// Lateness p99 in nanoseconds.
    pub lateness_p99_ns: Option<u64>,
    /// Response p99 in nanoseconds (in a closed loop: service p99).
    pub response_p99_ns: Option<u64>,
    /// Largest step of the clock, in nanoseconds.
    pub clock_step_ns: u64,
    /// True when the run was stopped before the phase's end.
    pub stopped_early: bool,
    /// By how much the level changed, as a share, where the phase was not steady.
    pub unsteady_change: Option<f64>,
    /// Half the width of the interval around the p99 of response (in a closed loop: service), as a share of it.
    pub p99_half_width: Option<f64>,
}

/// The doubts that these facts raise, the disqualifying ones first.
pub fn judge(facts: &PhaseFacts, outside: &OutsideFacts) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    judge_generator(facts, &mut doubts);
    judge_operations(facts, outside, &mut doubts);
    judge_steadiness(facts, &mut doubts);
    judge_outside(outside, &mut doubts);
    cures_by_cause(facts, outside, &mut doubts);
    doubts.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.kind.cmp(&b.kind)));
    doubts
}

/// Whom a doubt is about that the generator itself fell behind.
const THE_GENERATOR: &str = "the generator";

/// What helps where nodes were down, for doubts that follow from it.
const OUTAGE_CURE: &str = "nodes were down or unreachable: fix that first, the rate may be right";

/// What helps where a fault held that was asked for.
const FAULT_CURE: &str = "this may be the effect of a fault: compare with a run without it";

/// What takes failures for granted.
const MORE_ERRORS: &str = "--max-errors SHARE allows more of them";

/// Gives doubts that follow from another cause than usual the cure of that cause.
fn cures_by_cause(facts: &PhaseFacts, outside: &OutsideFacts, doubts: &mut [Doubt]) {
    use DoubtKind as K;
    let fails = doubts.iter().any(|doubt| doubt.kind == K::Errors);
    let disturbed = !outside.disturbed.is_empty();
    let outage = !outside.nodes_died.is_empty()
        || (fails && facts.failed_most.is_some_and(FailureKind::is_outage));
    for doubt in doubts {
        let cure = match (doubt.kind, facts.failed_most) {
            (K::Errors, Some(kind)) => {
                doubt.cure = format!("{}; {MORE_ERRORS}", kind.hint());
                continue;
            }
            (K::BehindSchedule | K::NotSteady | K::NodeDied, _) if disturbed => K::Disturbed.cure(),
            (K::BehindSchedule | K::NotSteady, _) if !outside.faults.is_empty() => FAULT_CURE,
            (K::BehindSchedule | K::NotSteady, _) if outage => OUTAGE_CURE,
            _ => continue,
        };
        cure.clone_into(&mut doubt.cure);
    }
}

fn raise(doubts: &mut Vec<Doubt>, kind: DoubtKind, measured: f64, threshold: f64) {
    doubts.push(Doubt {
        kind,
        severity: kind.severity(),
        measured,
        threshold,
        unit: kind.unit().to_owned(),
        text: kind.text().to_owned(),
        cure: kind.cure().to_owned(),
        about: None,
    });
}

fn above(doubts: &mut Vec<Doubt>, kind: DoubtKind, measured: f64, threshold: f64) {
    if measured > threshold {
        raise(doubts, kind, measured, threshold);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and nanoseconds below 2^53"
)]
fn judge_generator(facts: &PhaseFacts, doubts: &mut Vec<Doubt>) {
    use DoubtKind as K;
    if let Some(rate) = facts.rate_per_s {
        let seconds = facts.backlog as f64 / rate;
        let grown_s = facts.growth_s.unwrap_or(0.0);
        if grown_s > 0.0 {
            let allowed = GROWTH * facts.duration_s;
            raise(doubts, K::BehindSchedule, grown_s.max(seconds), allowed);
        } else {
            above(doubts, K::BehindSchedule, seconds, threshold::BACKLOG_S);
        }
        // Slots were free while operations were due: it was not the nodes that could not keep up.
        let own = facts.lateness_mean_ns > facts.slot_wait_mean_ns;
        for behind in doubts.iter_mut().filter(|_| own) {
            behind.about = Some(THE_GENERATOR.to_owned());
            behind.cure = K::GeneratorSaturated.cure().to_owned();
        }
    }
    above(
        doubts,
        K::GeneratorSaturated,
        facts.thread_busy,
        threshold::THREAD_BUSY,
    );
    if let Some(lateness) = facts.lateness_p99_ns {
        let response_ms = facts.response_p99_ns.unwrap_or(0) as f64 / 1e6;
        let allowed =
            (response_ms * threshold::LATENESS_OF_RESPONSE).max(threshold::LATENESS_P99_MS);
        above(doubts, K::GeneratorLate, lateness as f64 / 1e6, allowed);
    }
    let step_ms = facts.clock_step_ns as f64 / 1e6;
    above(doubts, K::ClockStepped, step_ms, threshold::CLOCK_STEP_MS);
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn judge_operations(facts: &PhaseFacts, outside: &OutsideFacts, doubts: &mut Vec<Doubt>) {
    use DoubtKind as K;
    if facts.failed > 0 {
        let share = facts.failed as f64 / facts.ended.max(1) as f64;
        let allowed = outside.max_errors.unwrap_or(threshold::ERRORS);
        above(doubts, K::Errors, share, allowed);
    }
    for operation in &facts.reads_of_nothing {
        raise(doubts, K::NoRows, 1.0, 0.0);
        if let Some(last) = doubts.last_mut() {
            last.about = Some(operation.clone());
        }
    }
    if facts.stopped_early {
        raise(doubts, K::StoppedEarly, 1.0, 0.0);
    }
    // A stretch ends with its last operation, which is a little before the time that was asked for.
    let rounded_s = (facts.duration_s * 10.0).round() / 10.0;
    if rounded_s < threshold::SHORT_S {
        raise(doubts, K::Short, facts.duration_s, threshold::SHORT_S);
    }
    if (facts.ended as f64) < threshold::SAMPLES {
        raise(
            doubts,
            K::FewSamples,
            facts.ended as f64,
            threshold::SAMPLES,
        );
    }
}

fn judge_steadiness(facts: &PhaseFacts, doubts: &mut Vec<Doubt>) {
    use DoubtKind as K;
    if let Some(change) = facts.unsteady_change {
        raise(doubts, K::NotSteady, change, FLOOR);
    }
    let width = facts.p99_half_width.unwrap_or(0.0);
    above(doubts, K::WideInterval, width, threshold::P99_HALF_WIDTH);
}

fn judge_outside(outside: &OutsideFacts, doubts: &mut Vec<Doubt>) {
    use DoubtKind as K;
    let named = [
        (K::NodeDied, &outside.nodes_died),
        (K::JdkUnsupported, &outside.jdk_unsupported),
        (K::FaultNotMade, &outside.faults_not_made),
        (K::Disturbed, &outside.disturbed),
    ];
    for (kind, nodes) in named {
        for node in nodes {
            raise(doubts, kind, 1.0, 0.0);
            if let Some(last) = doubts.last_mut() {
                last.about = Some(node.clone());
            }
        }
    }
    let shares = [
        (K::StolenHost, outside.steal_share),
        (K::BusyHost, outside.foreign_cpu_share),
    ];
    for (kind, share) in shares {
        above(doubts, kind, share.unwrap_or(0.0), threshold::HOST_BUSY);
    }
    judge_telemetry(outside, doubts);
    judge_distance(outside.emulator.as_ref(), doubts);
    if outside.archive_mix {
        raise(doubts, K::ArchiveMix, 1.0, 0.0);
    }
}

fn judge_telemetry(outside: &OutsideFacts, doubts: &mut Vec<Doubt>) {
    use DoubtKind as K;
    let share = outside.compaction_share;
    if share > threshold::COMPACTION {
        raise(doubts, K::Compaction, share, threshold::COMPACTION);
        if let Some(last) = doubts.last_mut() {
            last.about.clone_from(&outside.compaction_most);
        }
    }
    for (node, share) in &outside.collection_shares {
        if *share > threshold::COLLECTION {
            raise(doubts, K::Collection, *share, threshold::COLLECTION);
            if let Some(last) = doubts.last_mut() {
                last.about = Some(node.clone());
            }
        }
    }
    for (kind, all, allowed) in [
        (K::Fault, &outside.faults, None),
        (K::Membership, &outside.members, None),
        (K::GeneratorLost, &outside.generators_lost, None),
        (K::Throttled, &outside.throttled, Some(threshold::THROTTLED)),
        (K::Profiled, &outside.profiled, None),
    ] {
        for (words, share) in all {
            if allowed.is_some_and(|allowed| *share <= allowed) {
                continue;
            }
            raise(doubts, kind, *share, allowed.unwrap_or(0.0));
            if let Some(last) = doubts.last_mut() {
                last.about = Some(words.clone());
            }
        }
    }
    if let Some((name, share)) = &outside.clocks
        && *share > threshold::CLOCKS
    {
        raise(doubts, K::ClockUnsure, *share, threshold::CLOCKS);
        if let Some(last) = doubts.last_mut() {
            last.about = Some(name.clone());
        }
    }
    let waited = outside.generator_wait_share.unwrap_or(0.0);
    above(
        doubts,
        K::GeneratorWaited,
        waited,
        threshold::GENERATOR_WAIT,
    );
}

fn judge_distance(emulator: Option<&Emulated>, doubts: &mut Vec<Doubt>) {
    let off = emulator.and_then(Emulated::error_share).unwrap_or(0.0);
    if off > threshold::DISTANCE {
        raise(doubts, DoubtKind::DistanceOff, off, threshold::DISTANCE);
        if let (Some(last), Some([a, b])) = (
            doubts.last_mut(),
            emulator.and_then(|e| e.shortest.as_ref()),
        ) {
            last.about = Some(format!("{a} - {b}"));
        }
    }
}

#[cfg(test)]
mod tests;
