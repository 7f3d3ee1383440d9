//! The result of a run, `helenus.run/1`: counts, distributions and doubts by phase and operation.
//! Refuses averages of percentiles: every percentile is read from merged histograms, which it carries along.

use crate::calibration::Step;
use crate::doubt::{Doubt, DoubtKind, OutsideFacts, PhaseFacts, Verdict, judge};
use crate::flame::Profiled;
use crate::format::Format;
use crate::histogram::Histogram;
use crate::run_plan::{Pacing, Phase, RunPlan};
use crate::sample::{
    FailureKind, Footer, Header, OperationInterval, PhaseEnd, Standing, StartMeans,
};
use crate::seed::Seed;
use crate::server_times::ServerTimes;
use crate::stats::Blocks;
use crate::steady::{Steadiness, SteadyState};
use crate::tail::{Evidence, Tail};
use crate::telemetry::Emulated;
use crate::trace::Traces;
use crate::workload::user_statements::Unchecked;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod alone;
mod around;
mod sure;
pub mod tables;
#[cfg(test)]
mod tests;

pub use alone::calibration;
pub use around::{CoordinatorResult, NodeAround};

/// Share of a measured window from which on something held for all of it.
const WHOLE: f64 = 0.995;

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// A run's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// `helenus.run/1`.
    pub format: Format,
    /// Hash of the plan that was run.
    pub plan_hash: String,
    /// The workload's name.
    pub workload: String,
    /// Root seed.
    pub seed: Seed,
    /// What *start* means; results of different meanings are not compared.
    pub start_means: StartMeans,
    /// How the generator waited.
    pub pacing: Pacing,
    /// When the run began: the wall clock in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// What the generator itself used; none when it did not get to say so.
    pub generator: Option<GeneratorUse>,
    /// What was read and not compared with what was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<Unchecked>,
    /// By phase, in the plan's order.
    pub phases: Vec<PhaseResult>,
    /// The worst of the phases' verdicts.
    pub verdict: Verdict,
}

/// What the generator itself used over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// CPU, user and system, in microseconds.
    pub cpu_us: u64,
    /// CPU for each operation that ended (connecting and warming up included), in microseconds.
    pub cpu_per_operation_us: Option<f64>,
    /// Largest resident set, in bytes.
    pub max_rss_bytes: u64,
    /// Times it waited.
    pub voluntary_switches: u64,
    /// Times it was put aside.
    pub involuntary_switches: u64,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Its name.
    pub name: String,
    /// Operations a second that were asked for; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Operations that succeeded within the measurement window, a second.
    pub achieved_per_s: f64,
    /// Most operations in flight.
    pub in_flight: u32,
    /// Length of the measurement window in seconds.
    pub duration_s: f64,
    /// Share of it that the generator's thread was on CPU.
    pub thread_busy: f64,
    /// Offered but not started at the schedule's end.
    pub backlog: u64,
    /// Of those, never started.
    pub abandoned: u64,
    /// The generator's place in the scheduler.
    pub standing: Standing,
    /// All operations together.
    pub total: OperationResult,
    /// By operation.
    pub operations: BTreeMap<String, OperationResult>,
    /// The text of the first failure of each kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_failures: BTreeMap<FailureKind, String>,
    /// Where its warm-up ended and whether it was steady after; none if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// What nodes and host did meanwhile.
    #[serde(default)]
    pub around: Around,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
    /// What the doubts leave.
    pub verdict: Verdict,
}

/// What nodes and host did during the measurement window of a phase. What could not be seen is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    /// CPU of all nodes, in microseconds.
    pub nodes_cpu_us: Option<u64>,
    /// CPU of all nodes for each operation that ended, in microseconds.
    pub nodes_cpu_per_operation_us: Option<f64>,
    /// Share of the measurement window in which a compaction ran on any node.
    pub compaction_share: Option<f64>,
    /// Largest share of the measurement window in which garbage collection paused the JVM of any one node.
    pub collection_share: Option<f64>,
    /// Collections that stopped a node, all nodes together.
    pub collections: Option<u64>,
    /// Longest of them, in milliseconds.
    pub longest_collection_ms: Option<f64>,
    /// Processors that all generator processes together kept busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_processors: Option<f64>,
    /// Share of the measurement window in which the generator's busiest thread waited for a processor.
    pub generator_run_queue_share: Option<f64>,
    /// Share of the host's CPU that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Share of the host's CPU that neither the nodes nor the generator used, but others.
    pub foreign_cpu_share: Option<f64>,
    /// Read from disks by the nodes, in bytes.
    pub nodes_read_bytes: Option<u64>,
    /// Sent to disks by the nodes, in bytes.
    pub nodes_written_bytes: Option<u64>,
    /// Received by the nodes over their networks, in bytes; only where each node has a network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_received_bytes: Option<u64>,
    /// Sent by the nodes over their networks, in bytes; as `nodes_received_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_sent_bytes: Option<u64>,
    /// TCP segments that the nodes sent again; as `nodes_received_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_retransmitted: Option<u64>,
    /// The same by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, NodeAround>,
    /// What the emulator of distance did, where the cluster has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<Emulated>,
    /// Connections to nodes that the generator lost and opened again, warm-up included; absent where there were none.
    #[serde(default, skip_serializing_if = "crate::run_plan::is_zero")]
    pub connections_lost: u64,
    /// Service times by coordinator, where there was more than one: a node's name, or its address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinators: BTreeMap<String, CoordinatorResult>,
    /// What the slowest operations overlapped; none where none were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// Profiles of nodes; their stacks are among what was seen beside the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profiled>,
    /// What coordinators wrote down of traced operations, where some were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// What the nodes' own timers counted, where they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_times: Option<ServerTimes>,
    /// What the generator's calibration has for the phase's rate; absent where its machine was not calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Step>,
}

/// One operation of one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationResult {
    /// Operations that the schedule offered (in a closed loop: that started).
    pub offered: u64,
    /// Operations that started.
    pub started: u64,
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<FailureKind, u64>,
    /// Partitions that the completed operations touched; 0 in what was recorded before they were counted.
    #[serde(default)]
    pub partitions: u64,
    /// Rows that the completed operations wrote or read; 0 in what was recorded before they were counted.
    #[serde(default)]
    pub rows: u64,
    /// Start to end; none when nothing ended.
    pub service: Option<Distribution>,
    /// Intended start to end; none in a closed loop.
    pub response: Option<Distribution>,
    /// The generator's own delay.
    pub lateness: Option<Distribution>,
    /// Wait for a slot; none in a closed loop.
    pub slot_wait: Option<Distribution>,
}

/// A distribution of durations. A percentile with fewer than ten samples above it is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// Smallest, in microseconds.
    pub min_us: f64,
    /// Mean, in microseconds.
    pub mean_us: f64,
    /// Median, in microseconds.
    pub p50_us: Option<f64>,
    /// 90 of 100 are not above this, in microseconds.
    pub p90_us: Option<f64>,
    /// 95 of 100, in microseconds.
    pub p95_us: Option<f64>,
    /// 99 of 100, in microseconds.
    pub p99_us: Option<f64>,
    /// 999 of 1,000, in microseconds.
    pub p999_us: Option<f64>,
    /// 9,999 of 10,000, in microseconds.
    pub p9999_us: Option<f64>,
    /// Largest, in microseconds.
    pub max_us: f64,
    /// How far the percentiles may be off, by the measurement window itself; none if it is too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The whole of it, in HDR's V2 form, for further merging.
    pub histogram: Histogram,
}

/// Intervals of 95 % around percentiles, in microseconds, by a block bootstrap within the run. They show the noise
/// inside this one run; between restarts there is more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// Blocks that were drawn from.
    pub blocks: usize,
    /// Around the mean.
    pub mean_us: Option<[f64; 2]>,
    /// Around p50.
    pub p50_us: Option<[f64; 2]>,
    /// Around p90.
    pub p90_us: Option<[f64; 2]>,
    /// Around p95.
    pub p95_us: Option<[f64; 2]>,
    /// Around p99.
    pub p99_us: Option<[f64; 2]>,
    /// Around p99.9.
    pub p999_us: Option<[f64; 2]>,
    /// Around p99.99.
    pub p9999_us: Option<[f64; 2]>,
}

impl Confidence {
    /// The intervals of a distribution that was merged from these consecutive histograms (such as those of its seconds),
    /// resampled from the seed; none with fewer than five. A percentile with fewer than ten samples above it has none.
    pub fn of(blocks: &[&Histogram], seed: Seed) -> Option<Self> {
        let blocks = Blocks::of(blocks, seed)?;
        let us = |ends: [f64; 2]| ends.map(|ns| ns / 1e3);
        let percentile = |quantile| blocks.percentile_ns(quantile).map(us);
        Some(Self {
            blocks: blocks.count(),
            mean_us: Some(us(blocks.mean_ns())),
            p50_us: percentile(0.50),
            p90_us: percentile(0.90),
            p95_us: percentile(0.95),
            p99_us: percentile(0.99),
            p999_us: percentile(0.999),
            p9999_us: percentile(0.9999),
        })
    }
}

impl Distribution {
    /// The summary of a histogram; none when it is empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let percentile = |q| histogram.percentile_ns(q).map(us);
        Some(Self {
            count: histogram.count(),
            min_us: us(histogram.min_ns()?),
            mean_us: histogram.mean_ns()? / 1e3,
            p50_us: percentile(0.50),
            p90_us: percentile(0.90),
            p95_us: percentile(0.95),
            p99_us: percentile(0.99),
            p999_us: percentile(0.999),
            p9999_us: percentile(0.9999),
            max_us: us(histogram.max_ns()?),
            confidence: None,
            histogram: histogram.clone(),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "durations below 2^53 ns")]
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl OperationResult {
    /// The summary of merged intervals.
    pub fn of(merged: &OperationInterval) -> Self {
        Self {
            offered: merged.offered,
            started: merged.started,
            completed: merged.completed,
            failed: merged.failed.clone(),
            partitions: merged.partitions,
            rows: merged.rows,
            service: Distribution::of(&merged.service),
            response: Distribution::of(&merged.response),
            lateness: Distribution::of(&merged.lateness),
            slot_wait: Distribution::of(&merged.slot_wait),
        }
    }

    /// Response and service times, those that there are; none where no operation completed.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        let all = [("response", &self.response), ("service", &self.service)];
        let some = all.into_iter().filter(|_| self.completed > 0);
        some.filter_map(|(kind, of)| Some((kind, of.as_ref()?)))
    }

    /// All failures.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// A phase as the generator's lines report it, its warm-up cut off.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// What was asked for.
    pub phase: &'a Phase,
    /// Consecutive parts of the measurement window, by operation.
    pub blocks: &'a [&'a BTreeMap<String, OperationInterval>],
    /// How it ended; its measurement window is what the cut left.
    pub end: &'a PhaseEnd,
    /// Operations that succeeded within the measurement window, whenever they started; what ended after it is none of
    /// its throughput.
    pub completed_within: u64,
    /// Seconds by which response times grew over the window, where they grew to its end.
    pub growth_s: Option<f64>,
    /// Whether it was steady; none if that was not judged.
    pub steadiness: Option<&'a Steadiness>,
    /// Operations that read.
    pub reads: &'a [String],
    /// For what is drawn at random.
    pub seed: Seed,
}

/// What was seen beside a measurement window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// To be judged.
    pub outside: OutsideFacts,
    /// To be reported.
    pub around: Around,
    /// The slowest operations, and what may have made them slow.
    pub evidence: Evidence,
}

impl PhaseResult {
    /// The result of a phase, with what was seen beside it.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and nanoseconds below 2^53"
    )]
    pub fn new(measured: &Measured<'_>, beside: &Beside) -> Self {
        let Measured {
            phase,
            blocks,
            end,
            completed_within,
            growth_s,
            steadiness,
            reads,
            seed,
        } = *measured;
        let outside = &beside.outside;
        let merged = merged(blocks);
        let mut total = OperationInterval::default();
        merged.values().for_each(|one| total.merge(one));
        let whole = in_all(blocks, &total, seed);
        let duration_s = end.measured_to_ns.saturating_sub(end.measured_from_ns) as f64 / 1e9;
        let per_s = |n: f64| {
            if duration_s > 0.0 {
                n / duration_s
            } else {
                0.0
            }
        };
        let thread_busy = per_s(end.thread_cpu_ns as f64 / 1e9);
        let slow = match phase.rate_per_s {
            Some(_) => &total.response,
            None => &total.service,
        };
        let found_nothing = |(name, one): &(&String, &OperationInterval)| {
            reads.contains(name) && one.completed > 0 && one.rows == 0
        };
        let facts = PhaseFacts {
            reads_of_nothing: merged
                .iter()
                .filter(found_nothing)
                .map(|(name, _)| name.clone())
                .collect(),
            duration_s,
            rate_per_s: phase.rate_per_s,
            ended: total.completed + total.failures(),
            failed: total.failures(),
            failed_most: FailureKind::most_frequent(&total.failed),
            backlog: end.backlog,
            growth_s,
            thread_busy,
            slot_wait_mean_ns: total.slot_wait.mean_ns(),
            lateness_mean_ns: total.lateness.mean_ns(),
            lateness_p99_ns: total.lateness.rough_percentile_ns(0.99),
            response_p99_ns: slow.rough_percentile_ns(0.99),
            clock_step_ns: end.clock_step_ns,
            stopped_early: end.stopped_early,
            unsteady_change: steadiness.and_then(Steadiness::unsteady_change),
            p99_half_width: sure::p99_half_width(match phase.rate_per_s {
                Some(_) => whole.response.as_ref(),
                None => whole.service.as_ref(),
            }),
        };
        let doubts = judge(&facts, outside);
        let window = (end.measured_from_ns, end.measured_to_ns);
        let around = Around {
            connections_lost: end.connections_lost,
            ..beside.around.clone()
        };
        let mut around =
            around.with_evidence(&beside.evidence, window, (slow, seed.derive("tail")));
        // Generators elsewhere have no telemetry, only what each says of its thread.
        let elsewhere = around.generator_processors.is_none() && end.threads_cpu_ns > 0;
        if elsewhere {
            around.generator_processors = Some(per_s(end.threads_cpu_ns as f64 / 1e9));
        }
        if let Some(times) = &mut around.server_times {
            times.ended = completed_within + total.failures();
        }
        Self {
            name: phase.name.clone(),
            rate_per_s: phase.rate_per_s,
            achieved_per_s: per_s(completed_within as f64),
            in_flight: phase.in_flight,
            duration_s,
            thread_busy,
            backlog: end.backlog,
            abandoned: end.abandoned,
            standing: end.standing,
            total: whole,
            operations: merged
                .iter()
                .map(|(name, one)| {
                    let parts: Vec<_> = blocks.iter().filter_map(|b| b.get(name)).collect();
                    let result = OperationResult::of(one);
                    // The only operation is the whole, and has one interval.
                    let seed = match merged.len() {
                        1 => seed,
                        _ => seed.derive(name),
                    };
                    (name.clone(), sure::with_confidence(result, &parts, seed))
                })
                .collect(),
            first_failures: end.first_failures.clone(),
            steadiness: steadiness.cloned(),
            around,
            verdict: Verdict::of(&doubts),
            doubts,
        }
    }
}

impl PhaseResult {
    /// True where the nodes fell behind the schedule.
    pub fn nodes_fell_behind(&self) -> bool {
        self.doubts.iter().any(Doubt::nodes_fell_behind)
    }

    /// True where the generator was late: without its delay the response times lie between service and response.
    pub fn is_censored(&self) -> bool {
        let late = |doubt: &Doubt| doubt.kind == DoubtKind::GeneratorLate;
        self.rate_per_s.is_some() && self.doubts.iter().any(late)
    }

    /// What speaks against calling the phase steady although its service times kept one level: a node died, the backlog
    /// grew, another command changed the cluster, or a fault held for a part of it.
    pub fn against_steady(&self) -> Option<&Doubt> {
        use DoubtKind as K;
        self.doubts.iter().find(|doubt| match doubt.kind {
            K::NodeDied | K::BehindSchedule | K::Disturbed => true,
            // One that held all the time is what was to be measured.
            K::Fault => doubt.measured < WHOLE,
            _ => false,
        })
    }

    /// Whether it was steady, in words; none if that was not measured.
    fn steady_line(&self) -> Option<String> {
        let found = self.steadiness.as_ref()?;
        let mut line = match (found.state, self.against_steady()) {
            (SteadyState::Steady, None) => "steady".to_owned(),
            (SteadyState::Steady, Some(doubt)) => {
                format!("service times stayed on one level, but {}", doubt.line())
            }
            (SteadyState::NotSteady, _) => "not steady".to_owned(),
            (SteadyState::NotTold, _) => "too short to judge whether it was steady".to_owned(),
        };
        if let (SteadyState::NotSteady, Some(change), Some(at)) =
            (found.state, found.change, found.change_measured_at_s())
        {
            let word = if change < 1.0 { "lower" } else { "higher" };
            let by = (change - 1.0).abs() * 100.0;
            line.push_str(&format!(
                "; service times became {by:.0} % {word} {at:.1} s into the measurement window"
            ));
        }
        if found.cut_s > 0.0 {
            line.push_str(&format!("; {:.1} s more were cut as warm-up", found.cut_s));
        }
        Some(line)
    }
}

/// Whether each phase was steady, as the terminal and every report print it: phases with the same answer share a line.
pub fn steadiness(phases: &[PhaseResult]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for phase in phases {
        let Some(line) = phase.steady_line() else {
            continue;
        };
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, names)) => names.push(&phase.name),
            None => lines.push((line, vec![&phase.name])),
        }
    }
    let named = |(line, names): (String, Vec<&str>)| format!("{}: {line}", names.join(", "));
    lines.into_iter().map(named).collect()
}

/// The worst of the phases' verdicts. A search overloads the nodes on purpose: the phases in which it did are left out.
fn verdict(phases: &[PhaseResult], searched: bool) -> Verdict {
    let overloaded = |phase: &PhaseResult| {
        let too_much = |doubt: &Doubt| doubt.nodes_fell_behind() || doubt.is_of_errors();
        searched && phase.doubts.iter().any(too_much)
    };
    let counted = phases.iter().filter(|phase| !overloaded(phase));
    let worst = counted.map(|phase| phase.verdict).max();
    worst.unwrap_or(Verdict::Invalid)
}

/// All operations together.
fn in_all(
    blocks: &[&BTreeMap<String, OperationInterval>],
    total: &OperationInterval,
    seed: Seed,
) -> OperationResult {
    let parts: Vec<OperationInterval> = blocks
        .iter()
        .map(|block| {
            let mut part = OperationInterval::default();
            block.values().for_each(|one| part.merge(one));
            part
        })
        .collect();
    let parts: Vec<&OperationInterval> = parts.iter().collect();
    sure::with_confidence(OperationResult::of(total), &parts, seed)
}

/// All blocks of each operation, merged.
fn merged(blocks: &[&BTreeMap<String, OperationInterval>]) -> BTreeMap<String, OperationInterval> {
    let mut merged: BTreeMap<String, OperationInterval> = BTreeMap::new();
    for (name, one) in blocks.iter().copied().flatten() {
        merged.entry(name.clone()).or_default().merge(one);
    }
    merged
}

impl RunResult {
    /// Whether a comparison may use it: it counts where the nodes fell behind the schedule, too.
    pub fn is_comparable(&self) -> bool {
        let mut doubts = self.phases.iter().flat_map(|phase| &phase.doubts);
        !doubts.any(Doubt::spoils)
    }

    /// The result of a run from its phases. `ended` counts every operation that ended, warm-ups included.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and microseconds below 2^53"
    )]
    pub fn new(
        plan: &RunPlan,
        header: &Header,
        phases: Vec<PhaseResult>,
        footer: Option<&Footer>,
        ended: u64,
    ) -> Self {
        let generator = footer.map(|f| {
            let cpu_us = f.user_cpu_us + f.system_cpu_us;
            GeneratorUse {
                cpu_us,
                cpu_per_operation_us: (ended > 0).then(|| cpu_us as f64 / ended as f64),
                max_rss_bytes: f.max_rss_bytes,
                voluntary_switches: f.voluntary_switches,
                involuntary_switches: f.involuntary_switches,
            }
        });
        Self {
            format: Format::new("run", VERSION),
            plan_hash: header.plan_hash.clone(),
            workload: plan.workload.name().to_owned(),
            seed: plan.seed,
            start_means: header.start_means,
            pacing: header.pacing,
            began_wall_ns: header.wall_ns,
            generator,
            unchecked: header.unchecked.clone(),
            verdict: verdict(&phases, plan.search.is_some()),
            phases,
        }
    }
}
