//! The result of a bench: tables for people, one JSON value for programs, doubts beside the numbers.

use crate::commands::bench::faults;
use crate::commands::up::tell_unfetched;
use crate::error::CommandError;
use crate::ui::{Table, Ui};
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::machine;
use helenus_cluster::state::ClusterState;
use helenus_lab::bench::{Where, has_data_centre};
use helenus_lab::faults::check_request;
use helenus_lab::{BenchRequest, Finished};
use helenus_model::bench::Shape;
use helenus_model::doubt::{Doubt, DoubtKind as K, Severity, Verdict};
use helenus_model::fault::script::Scripted;
use helenus_model::format::Format;
use helenus_model::machine::Machine;
use helenus_model::plan::ClusterPlan;
use helenus_model::preset::{Heap, PresetName};
use helenus_model::result::{Confidence, Distribution, OperationResult, PhaseResult, RunResult};
use helenus_model::run_plan::RunPlan;
use helenus_model::run_plan::{Extent, Phase, Positions};
use helenus_model::steady::SteadyState;
use helenus_model::telemetry::FaultSeen;
use helenus_model::units::Bytes;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What `bench --format json` prints.
#[derive(Serialize)]
struct Report<'a> {
    format: Format,
    run: Option<String>,
    verdict: Verdict,
    interrupted: bool,
    /// Latencies are in microseconds, as the names of the fields say.
    result: &'a RunResult,
    /// Faults as they really were.
    #[serde(skip_serializing_if = "<[FaultSeen]>::is_empty")]
    faults: &'a [FaultSeen],
    plan: &'a RunPlan,
    cluster: Option<ClusterFacts<'a>>,
    host: Machine,
    helenus: &'a str,
    command: &'a str,
}

#[derive(Serialize)]
struct ClusterFacts<'a> {
    name: &'a str,
    release: &'a str,
    preset: PresetName,
    jvm: &'a str,
    heap_bytes: u64,
    nodes: usize,
    /// Whether all running nodes had it mapped, not whether it was asked for.
    class_archive: Option<bool>,
    /// Data centre in whose network the generator stood; absent where the cluster has no distance.
    client_in: Option<&'a str>,
    /// How many data centres there are.
    #[serde(skip)]
    data_centers: usize,
    /// Presets of the nodes with their heaps.
    #[serde(skip)]
    presets: Vec<(PresetName, Heap)>,
}

impl<'a> ClusterFacts<'a> {
    fn of(state: &'a ClusterState, archive_used: Option<bool>, plan: &'a RunPlan) -> Self {
        let names: BTreeSet<&str> = state
            .plan
            .nodes
            .iter()
            .map(|node| node.data_center.as_str())
            .collect();
        let apart = state.plan.network.is_some();
        Self {
            client_in: plan.local_data_centre.as_deref().filter(|_| apart),
            data_centers: names.len(),
            presets: state.plan.presets(),
            name: &state.plan.name,
            release: &state.plan.release,
            preset: state.plan.preset,
            jvm: &state.runtime.jvm,
            heap_bytes: state.plan.heap.heap.0,
            nodes: state.plan.nodes.len(),
            class_archive: archive_used,
        }
    }
}

pub(crate) fn show(finished: &Finished, request: &BenchRequest, ui: &Ui) {
    let report = Report {
        format: Format::new("bench", 1),
        run: finished.run.map(|run| run.to_string()),
        verdict: finished.result.verdict,
        interrupted: finished.interrupted,
        result: &finished.result,
        faults: &finished.faults,
        plan: &finished.plan,
        cluster: finished
            .cluster
            .as_ref()
            .map(|c| ClusterFacts::of(c, finished.archive_used, &finished.plan)),
        host: machine::read(),
        helenus: &request.version,
        command: &request.command,
    };
    ui.result(&report, || text(&report));
}

fn text(report: &Report<'_>) -> String {
    let mut text = String::new();
    let _infallible = writeln!(text, "{}\n", headline(report));
    text.push_str(&result(report.result, report.faults, report.run.as_deref()));
    text
}

/// A result as tables with its doubts: what `bench` prints at its end, and `history show` later.
pub(crate) fn result(result: &RunResult, seen: &[FaultSeen], run: Option<&str>) -> String {
    let mut text = latencies(&result.phases);
    text.push_str(&touched(&result.phases));
    text.push_str(&failures(&result.phases));
    for one in &result.unchecked {
        let _infallible = writeln!(text, "not checked in {}: {}", one.operation, one.what);
    }
    text.push_str(&steadiness(&result.phases));
    text.push_str(&super::distance::table(&result.phases));
    text.push_str(&faults::table(seen));
    let doubts = doubts(&result.phases);
    if !doubts.is_empty() {
        text.push('\n');
        text.push_str(&doubts);
    }
    let late = worst_lateness(&result.phases);
    match &result.generator {
        Some(generator) => {
            let cost = generator
                .cpu_per_operation_us
                .map_or("–".to_owned(), |us| format!("{us:.1} µs"));
            let _infallible = writeln!(
                text,
                "\ngenerator: {cost} of CPU an operation, {} at most, started operations late by {late} at p99",
                Bytes(generator.max_rss_bytes)
            );
        }
        None => {
            let _infallible = writeln!(
                text,
                "\ngenerator: started operations late by {late} at p99"
            );
        }
    }
    let _infallible = writeln!(
        text,
        "run {}, seed {}; verdict: {}",
        run.unwrap_or("not stored"),
        result.seed.0,
        verdict(result.verdict)
    );
    text
}

/// What was found of each phase's level, where somebody looked.
fn steadiness(phases: &[PhaseResult]) -> String {
    let mut text = String::new();
    for phase in phases {
        let Some(found) = &phase.steadiness else {
            continue;
        };
        let word = match found.state {
            SteadyState::Steady => "steady",
            SteadyState::NotSteady => "not steady",
            SteadyState::NotTold => "too short to tell whether it was steady",
        };
        let _infallible = write!(text, "{} was {word}", phase.name);
        if found.cut_s > 0.0 {
            let _infallible = write!(text, "; {:.1} s more were cut as warm-up", found.cut_s);
        }
        if let (SteadyState::NotSteady, Some(change), Some(at)) =
            (found.state, found.change, found.change_measured_at_s())
        {
            let (by, word) = if change < 1.0 {
                (1.0 - change, "lower")
            } else {
                (change - 1.0, "higher")
            };
            let _infallible = write!(
                text,
                "; its times became {:.0} % {word} {at:.1} s after its measuring began",
                by * 100.0
            );
        }
        text.push('\n');
    }
    text
}

fn headline(report: &Report<'_>) -> String {
    let host = &report.host;
    let machine = format!("{} cores of {}", host.cores, host.processor);
    match &report.cluster {
        Some(c) => format!(
            "{} on Cassandra {} ({}, {}, JVM {}){}, {machine}",
            report.result.workload,
            c.release,
            crate::commands::up::plural(c.nodes, "node"),
            presets(&c.presets),
            c.jvm,
            client(c, report.plan.local_data_centre.as_deref())
        ),
        None => format!(
            "{} on a cluster that was named, from {machine}",
            report.result.workload
        ),
    }
}

/// The nodes' presets, each with its heap.
fn presets(presets: &[(PresetName, Heap)]) -> String {
    let each = presets
        .iter()
        .map(|(preset, heap)| format!("preset {}, heap {}", preset.as_str(), heap.heap));
    each.collect::<Vec<_>>().join(" and ")
}

/// Where the client stood, or, where nothing is far from anything, whose nodes coordinated.
fn client(cluster: &ClusterFacts<'_>, coordinators: Option<&str>) -> String {
    match (cluster.client_in, coordinators) {
        (Some(name), _) => format!(", client in {name}"),
        (None, Some(name)) if cluster.data_centers > 1 => format!(", coordinated by {name}"),
        _ => String::new(),
    }
}

/// One block of rows a phase: service and response time side by side.
fn latencies(phases: &[PhaseResult]) -> String {
    let mut table = Table::new(&[
        "phase", "op", ">offered", ">done", ">failed", ">op/s", "time", ">p50", ">p95", ">p99",
        ">p99.9", ">max",
    ]);
    for phase in phases {
        let alone = phase.operations.len() == 1;
        for (name, operation) in &phase.operations {
            rows(
                &mut table,
                phase,
                if alone { "" } else { name },
                operation,
                alone,
            );
        }
        if !alone {
            rows(&mut table, phase, "all", &phase.total, true);
        }
    }
    format!(
        "{}times in ms; – is a percentile with fewer than 10 samples above it\n",
        table.render()
    )
}

/// Rows and partitions a second, where they are not the operations.
fn touched(phases: &[PhaseResult]) -> String {
    let mut text = String::new();
    for phase in phases {
        let total = &phase.total;
        let (partitions, rows) = (total.partitions, total.rows);
        let same = rows == total.completed && partitions == total.completed;
        if same || rows + partitions == 0 || phase.duration_s <= 0.0 {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let per_s = |n: u64| count(n as f64 / phase.duration_s);
        let _infallible = writeln!(
            text,
            "{}: {} rows in {} partitions, {} row/s, {} partition/s",
            phase.name,
            thousands(rows),
            thousands(partitions),
            per_s(rows),
            per_s(partitions)
        );
    }
    text
}

/// What failed in each phase, the most frequent first, and the first failure of the most frequent kind.
fn failures(phases: &[PhaseResult]) -> String {
    let mut text = String::new();
    for phase in phases {
        let mut kinds: Vec<_> = phase.total.failed.iter().filter(|(_, n)| **n > 0).collect();
        kinds.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let Some((most, _)) = kinds.first() else {
            continue;
        };
        let list: Vec<String> = kinds
            .iter()
            .map(|(kind, n)| format!("{} {}", kind.word(), thousands(**n)))
            .collect();
        let first = phase
            .first_failures
            .get(most)
            .map(|text| format!(" (first: {text})"))
            .unwrap_or_default();
        let _infallible = writeln!(text, "failed in {}: {}{first}", phase.name, list.join(", "));
    }
    text
}

fn rows(table: &mut Table, phase: &PhaseResult, name: &str, one: &OperationResult, whole: bool) {
    let rate = if whole {
        count(phase.achieved_per_s)
    } else {
        String::new()
    };
    let distributions = [("response", &one.response), ("service", &one.service)];
    let mut first = true;
    for (kind, distribution) in distributions {
        let Some(d) = distribution else { continue };
        let mut cells = if first {
            vec![
                phase.name.clone(),
                name.to_owned(),
                thousands(one.offered),
                thousands(one.completed),
                thousands(one.failed.values().sum()),
                rate.clone(),
            ]
        } else {
            vec![String::new(); 6]
        };
        cells.push(kind.to_owned());
        cells.extend(percentiles(d));
        table.row(cells);
        if let Some(confidence) = &d.confidence {
            let mut cells = vec![String::new(); 6];
            cells.push("  95 %".to_owned());
            cells.extend(ranges(confidence));
            table.row(cells);
        }
        first = false;
    }
    if first {
        table.row([
            phase.name.clone(),
            name.to_owned(),
            thousands(one.offered),
            thousands(one.completed),
            thousands(one.failed.values().sum()),
        ]);
    }
}

fn percentiles(d: &Distribution) -> [String; 5] {
    let ms = |us: Option<f64>| us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3));
    [
        ms(d.p50_us),
        ms(d.p95_us),
        ms(d.p99_us),
        ms(d.p999_us),
        ms(Some(d.max_us)),
    ]
}

/// Intervals of 95 % under the percentiles, in ms; nothing where the stretch is too short to tell.
fn ranges(c: &Confidence) -> [String; 4] {
    let ms = |range: Option<[f64; 2]>| {
        range.map_or_else(String::new, |[low, high]| {
            format!("{:.2}–{:.2}", low / 1e3, high / 1e3)
        })
    };
    [ms(c.p50_us), ms(c.p95_us), ms(c.p99_us), ms(c.p999_us)]
}

/// Each doubt once, with the phases that have it.
pub(crate) fn doubts(phases: &[PhaseResult]) -> String {
    let mut seen: Vec<(&Doubt, Vec<&str>)> = Vec::new();
    for phase in phases {
        for doubt in &phase.doubts {
            // Nodes and faults are told one by one, all else by its kind.
            let apart = matches!(
                doubt.kind,
                K::NodeDied | K::Fault | K::FaultNotMade | K::Disturbed | K::Membership
            );
            let same = |d: &Doubt| {
                d.kind == doubt.kind && d.cure == doubt.cure && (!apart || d.about == doubt.about)
            };
            match seen.iter_mut().find(|(d, _)| same(d)) {
                Some((_, names)) => names.push(&phase.name),
                None => seen.push((doubt, vec![&phase.name])),
            }
        }
    }
    seen.sort_by_key(|(doubt, _)| std::cmp::Reverse(doubt.severity));
    let mut text = String::new();
    for (doubt, names) in seen {
        let word = match doubt.severity {
            Severity::Disqualifying => owo_colors::Style::new()
                .red()
                .style("DISQUALIFYING")
                .to_string(),
            Severity::Caution => owo_colors::Style::new()
                .yellow()
                .style("caution")
                .to_string(),
        };
        let about = doubt
            .about
            .as_ref()
            .map(|a| format!(" ({a})"))
            .unwrap_or_default();
        let _infallible = writeln!(
            text,
            "{word} in {}: {}{about}: {}, allowed {}\n  cure: {}",
            names.join(", "),
            doubt.text,
            amount(doubt.measured, &doubt.unit),
            amount(doubt.threshold, &doubt.unit),
            doubt.cure
        );
    }
    text
}

/// What a doubt measured, as a person reads its unit.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        // What is above what is allowed must read so.
        "share" if value < 0.00995 => format!("{:.2} %", value * 100.0),
        "share" if value < 0.0995 => format!("{:.1} %", value * 100.0),
        "share" => format!("{:.0} %", value * 100.0),
        "count" | "samples" => format!("{value:.0}"),
        unit => format!("{value:.2} {unit}"),
    }
}

fn worst_lateness(phases: &[PhaseResult]) -> String {
    let worst = phases
        .iter()
        .filter_map(|p| p.total.lateness.as_ref()?.p99_us)
        .fold(None, |worst: Option<f64>, us| {
            Some(worst.map_or(us, |w| w.max(us)))
        });
    worst.map_or("–".to_owned(), |us| format!("{us:.0} µs"))
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Caution => "valid, with cautions",
        Verdict::Invalid => "INVALID: this number must not be believed",
    }
}

/// `12,345`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate, whole.
pub(crate) fn count(rate: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "operations a second, never negative"
    )]
    let whole = rate.round().max(0.0) as u64;
    thousands(whole)
}

/// The plan of a bench, nothing started.
#[derive(Serialize)]
struct DryRun<'a> {
    format: Format,
    cluster: Option<ClusterPlan>,
    place: String,
    workload: String,
    /// Data centre in which the client would stand and whose nodes would coordinate; absent where nobody says.
    client_data_center: Option<&'a str>,
    shape: &'a Shape,
    rate_per_s: Option<f64>,
    #[serde(skip_serializing_if = "<[Scripted]>::is_empty")]
    faults: &'a [Scripted],
    seed: u64,
}

pub(crate) fn dry_run(request: &BenchRequest, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let asked = request.client_dc.as_deref();
    let known = |plan: &ClusterPlan| {
        let names = plan.nodes.iter().map(|node| node.data_center.clone());
        let names: BTreeSet<String> = names.collect();
        has_data_centre(asked, names.into_iter().collect()).map_err(super::failure)
    };
    check_request(hands, request)?;
    let (cluster, place) = match &request.place {
        Where::Ephemeral(up) => {
            let plan = hands.dry_run(up)?;
            known(&plan)?;
            tell_unfetched(&up.source, hands, ui);
            (
                Some(plan),
                format!("an ephemeral cluster named {}", up.name),
            )
        }
        Where::Cluster(name) => {
            known(&hands.clusters.load(name)?.plan)?;
            (None, format!("your cluster {name}"))
        }
        Where::Hosts { endpoints, .. } => {
            let list: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
            (None, list.join(", "))
        }
    };
    let plan = DryRun {
        format: Format::new(
            match request.shape {
                Shape::Bench(_) => "bench-plan",
                Shape::Phases(_) => "run-plan",
            },
            1,
        ),
        cluster,
        place,
        workload: request.workload.name().to_owned(),
        client_data_center: asked,
        shape: &request.shape,
        rate_per_s: request.rate_per_s,
        faults: &request.faults,
        seed: request.seed.0,
    };
    ui.result(&plan, || {
        let rate = match (request.closed, request.rate_per_s) {
            (true, _) => "as fast as the slots allow (closed loop)".to_owned(),
            (false, Some(rate)) => format!("{}/s", count(rate)),
            (false, None) => "half of what a 5 s probe reaches".to_owned(),
        };
        let mut text = format!("{} on {}\n", plan.workload, plan.place);
        if let Some(name) = plan.client_data_center {
            let _infallible = writeln!(text, "client: in data centre {name}");
        }
        if let Shape::Bench(_) = request.shape {
            let _infallible = writeln!(text, "rate: {rate}");
        }
        for phase in request.shape.phases(request.rate_per_s) {
            if let Shape::Phases(_) = request.shape {
                text.push_str(&planned(&phase));
                continue;
            }
            let _infallible = writeln!(
                text,
                "phase {}: {} ms warm-up, {} measured, {} in flight, {} rows",
                phase.name,
                phase.warmup_ms,
                match phase.extent {
                    Extent::DurationMs(ms) => format!("{ms} ms"),
                    Extent::Count(n) => format!("{} operations", thousands(n)),
                    Extent::Until(target) => format!("{} s at most", target.most),
                },
                phase.in_flight,
                thousands(phase.population)
            );
        }
        text.push_str(&faults::planned(plan.faults));
        text.push_str("nothing was started (--dry-run)\n");
        text
    });
    Ok(0)
}

/// One phase of a run as it is planned.
pub(crate) fn planned(phase: &Phase) -> String {
    let all: u32 = phase.operations.iter().map(|share| share.weight).sum();
    let mix = phase.operations.iter().map(|share| {
        let of = f64::from(share.weight) * 100.0 / f64::from(all.max(1));
        format!("{} {of:.0} %", share.operation)
    });
    let rate = match (phase.rate_per_s, phase.ramp) {
        (None, _) => "as fast as the slots allow (closed loop)".to_owned(),
        (Some(rate), None) => format!("{}/s", count(rate)),
        (Some(rate), Some(ramp)) => format!(
            "{} to {}/s over {} ms",
            count(ramp.from_per_s),
            count(rate),
            ramp.over_ms
        ),
    };
    let extent = match phase.extent {
        Extent::DurationMs(ms) => format!("{ms} ms"),
        Extent::Count(n) if phase.by_position => format!("{} partitions", thousands(n)),
        Extent::Count(n) => format!("{} operations", thousands(n)),
        Extent::Until(target) => format!("{} s at most", target.most),
    };
    let positions = match &phase.positions {
        Positions::Sequential => format!("in order over {}", thousands(phase.population)),
        Positions::Uniform => format!("any of {}", thousands(phase.population)),
        Positions::Range { from, to, .. } => format!("{from} up to {to}"),
        Positions::Drawn(dist) => format!("drawn from {dist}"),
    };
    format!(
        "phase {}: {}\n  {rate}, {} in flight, {} ms warm-up, {extent} measured\n  partitions: {positions}{}\n",
        phase.name,
        mix.collect::<Vec<_>>().join(", "),
        phase.in_flight,
        phase.warmup_ms,
        if phase.verify {
            "; what is read is checked"
        } else {
            ""
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::result::{Beside, Measured};
    use helenus_model::sample::FailureKind;
    use helenus_model::sample::{OperationInterval, PhaseEnd, Standing};
    use helenus_model::seed::Seed;
    use std::collections::BTreeMap;

    fn phase(failed: &[(FailureKind, u64)]) -> PhaseResult {
        let one = OperationInterval {
            failed: failed.iter().copied().collect(),
            ..OperationInterval::default()
        };
        let end = PhaseEnd {
            phase: 0,
            measured_from_ns: 0,
            measured_to_ns: 1_000_000_000,
            ended_ns: 1_000_000_000,
            backlog: 0,
            abandoned: 0,
            cut_off: 0,
            thread_cpu_ns: 0,
            clock_step_ns: 0,
            stopped_early: false,
            standing: Standing::default(),
            first_failures: BTreeMap::from([
                (FailureKind::WriteTimeout, "1 of 2 answered".to_owned()),
                (FailureKind::Connection, "reset".to_owned()),
            ]),
        };
        let merged = BTreeMap::from([("write".to_owned(), one)]);
        let plan = Phase::steady("write", 2000.0, 64, 10_000);
        let measured = Measured {
            phase: &plan,
            blocks: &[&merged],
            end: &end,
            completed_within: 0,
            growth_s: None,
            steadiness: None,
            seed: Seed(1),
        };
        PhaseResult::new(&measured, &Beside::default())
    }

    #[test]
    fn failures_are_told_with_the_first_of_the_most_frequent() {
        let failed = [
            (FailureKind::Connection, 3),
            (FailureKind::WriteTimeout, 1200),
        ];
        insta::assert_snapshot!(failures(&[phase(&failed), phase(&[])]), @"failed in write: write_timeout 1,200, connection 3 (first: 1 of 2 answered)");
    }
}
