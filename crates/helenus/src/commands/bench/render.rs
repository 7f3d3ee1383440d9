//! The result of a bench: tables for people, one JSON value for programs, doubts beside the numbers.

#[cfg(test)]
mod tests;

use crate::commands::bench::{faults, generators};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::machine;
use helenus_lab::{BenchRequest, Finished};
use helenus_model::agent::GeneratorSeen;
use helenus_model::calibration::Calibration;
use helenus_model::doubt::{Severity, Verdict, shared};
use helenus_model::format::Format;
use helenus_model::machine::Machine;
use helenus_model::preset::{Heap, PresetName};
use helenus_model::result::{
    Confidence, Distribution, OperationResult, PhaseResult, RunResult, steadiness, tables,
};
use helenus_model::run_plan::RunPlan;
use helenus_model::telemetry::FaultSeen;
use helenus_model::units::{thousands, whole};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What `bench --format json` prints.
#[derive(Serialize)]
struct Report<'a> {
    format: Format,
    /// Its name in the history; none where it could not be kept.
    run: Option<String>,
    /// The verdict of the doubts.
    verdict: Verdict,
    /// Whether it was stopped before its end.
    interrupted: bool,
    /// Latencies are in microseconds, as the names of the fields say.
    result: &'a RunResult,
    /// Faults as they really were.
    #[serde(skip_serializing_if = "<[FaultSeen]>::is_empty")]
    faults: &'a [FaultSeen],
    /// Generators that were not on this machine, each with its clock.
    #[serde(skip_serializing_if = "<[GeneratorSeen]>::is_empty")]
    generators: &'a [GeneratorSeen],
    /// The plan that ran.
    plan: &'a RunPlan,
    /// The cluster; none where it was named by its addresses.
    cluster: Option<ClusterFacts<'a>>,
    /// Where nodes and generators were; absent where they were on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<&'a str>,
    /// The generator's machine.
    host: Machine,
    /// What the generator itself costs there; absent where it was not calibrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<&'a Calibration>,
    /// Version of Helenus.
    helenus: &'a str,
    /// The command line, without secrets.
    command: &'a str,
}

impl Answers for Report<'_> {
    /// What was reached and how long it took.
    fn answer(&self) -> String {
        helenus_record::report::run_answer(Some(self.result))
    }
}

#[derive(Serialize)]
struct ClusterFacts<'a> {
    /// Its name.
    name: &'a str,
    /// Release of Cassandra.
    release: &'a str,
    /// The cluster's preset.
    preset: PresetName,
    /// The JVM; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    jvm: Option<&'a str>,
    /// Heap of a node.
    heap_bytes: u64,
    /// How many nodes it has.
    nodes: usize,
    /// Whether all running nodes had it mapped, not whether it was asked for.
    class_archive: Option<bool>,
    /// Data centre in whose network the generator ran; absent where the cluster has no distance.
    client_in: Option<&'a str>,
    /// How many data centres there are.
    #[serde(skip)]
    data_centers: usize,
    /// Presets of the nodes with their heaps.
    #[serde(skip)]
    presets: Vec<(PresetName, Heap)>,
}

impl<'a> ClusterFacts<'a> {
    fn of(finished: &'a Finished) -> Option<Self> {
        let here = finished.cluster.as_ref();
        let elsewhere = finished.elsewhere.as_ref();
        let elsewhere = elsewhere.and_then(|there| there.plan.as_ref());
        let cluster = here.map(|state| &state.plan).or(elsewhere)?;
        let nodes = cluster.nodes.iter();
        let names: BTreeSet<&str> = nodes.map(|node| node.data_center.as_str()).collect();
        let apart = cluster.network.is_some();
        let client = finished.plan.local_data_centre.as_deref();
        Some(Self {
            client_in: client.filter(|_| apart),
            data_centers: names.len(),
            presets: cluster.presets(),
            name: &cluster.name,
            release: &cluster.release,
            preset: cluster.preset,
            jvm: here.map(|state| state.runtime.jvm.as_str()),
            heap_bytes: cluster.heap.heap.0,
            nodes: cluster.nodes.len(),
            class_archive: finished.archive_used,
        })
    }
}

pub(crate) fn show(finished: &Finished, with: (&BenchRequest, Option<&Calibration>), ui: &Ui) {
    let (request, calibration) = with;
    let elsewhere = finished.elsewhere.as_ref();
    let report = Report {
        format: Format::new("bench", 1),
        run: finished.run.map(|run| run.to_string()),
        verdict: finished.result.verdict,
        interrupted: finished.interrupted,
        result: &finished.result,
        faults: &finished.faults,
        generators: &finished.generators,
        plan: &finished.plan,
        cluster: ClusterFacts::of(finished),
        on: elsewhere.map(|there| there.on.as_str()),
        host: elsewhere
            .and_then(|there| there.machine.clone())
            .unwrap_or_else(machine::read),
        calibration,
        helenus: &request.version,
        command: &request.command,
    };
    ui.result(&report, || text(&report, ui.detail()));
}

fn text(report: &Report<'_>, detail: bool) -> String {
    let run = report.run.as_deref();
    let mut text = format!("{}\n\n", headline(report));
    text.push_str(&result(report.result, report.faults, run, detail));
    if detail {
        text.push_str(&generators::elsewhere(report.generators));
    }
    text
}

/// A result as tables with its doubts: what `bench` prints at its end, and `history show` later.
/// Without `detail` a row an operation: its response times, or its service times where it has no schedule.
pub(crate) fn result(
    result: &RunResult,
    seen: &[FaultSeen],
    run: Option<&str>,
    detail: bool,
) -> String {
    let mut text = latencies(&result.phases, detail);
    if detail {
        text.push_str(&above_offered(&result.phases));
    } else {
        let more = run.map_or("--detail".to_owned(), |run| {
            format!("helenus history show {run}")
        });
        let _infallible = writeln!(text, "intervals and service times: {more}");
    }
    text.push_str(&touched(&result.phases));
    text.push_str(&failures(&result.phases));
    for one in &result.unchecked {
        let _infallible = writeln!(text, "not checked in {}: {}", one.operation, one.what);
    }
    for line in steadiness(&result.phases) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&super::beside::text(&result.phases, detail));
    text.push_str(&faults::table(seen));
    let doubts = doubts(&result.phases);
    if !doubts.is_empty() {
        text.push_str(if detail { "\n" } else { "" });
        text.push_str(&doubts);
    }
    let generator = generators::used(result);
    if detail && !generator.is_empty() {
        let _infallible = writeln!(text, "\ngenerator: {}", generator.join(", "));
    }
    text.push_str(&calibration(tables::calibration(&result.phases)));
    let _infallible = writeln!(
        text,
        "run {}, seed {}; verdict: {}",
        run.unwrap_or("not stored"),
        result.seed.0,
        result.verdict.line()
    );
    text
}

/// The line of a calibration; nothing where the machine has none.
pub(crate) fn calibration(said: Option<String>) -> String {
    said.map_or_else(String::new, |line| line + "\n")
}

/// Why more was done than was offered, where it was.
fn above_offered(phases: &[PhaseResult]) -> String {
    let above = |phase: &&PhaseResult| {
        phase.rate_per_s.is_some() && phase.total.completed > phase.total.offered
    };
    let names: Vec<&str> = phases
        .iter()
        .filter(above)
        .map(|phase| phase.name.as_str())
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "more operations ended than were offered in {}: those still in flight after the warm-up count where they end\n",
            names.join(", ")
        ),
    }
}

fn headline(report: &Report<'_>) -> String {
    let host = &report.host;
    let mut machine = format!("{} cores of {}", host.cores, host.processor);
    if let Some(on) = report.on {
        machine = format!("{on}: {machine}");
    }
    match &report.cluster {
        Some(c) => format!(
            "{} on Cassandra {} ({}, {}{}){}, {machine}",
            report.result.workload,
            c.release,
            helenus_model::units::plural(c.nodes, "node"),
            presets(&c.presets),
            c.jvm.map_or_else(String::new, |jvm| format!(", JVM {jvm}")),
            client(c, report.plan.local_data_centre.as_deref())
        ),
        None => format!(
            "{} on a cluster given by its addresses, from {machine}",
            report.result.workload
        ),
    }
}

/// The nodes' presets, each with its heap.
fn presets(presets: &[(PresetName, Heap)]) -> String {
    let each = presets
        .iter()
        .map(|(preset, heap)| format!("preset {}, heap {}", preset.word(), heap.heap));
    each.collect::<Vec<_>>().join(" and ")
}

/// Where the client ran, or, without distance, whose nodes coordinated.
fn client(cluster: &ClusterFacts<'_>, coordinators: Option<&str>) -> String {
    match (cluster.client_in, coordinators) {
        (Some(name), _) => format!(", client in {name}"),
        (None, Some(name)) if cluster.data_centers > 1 => format!(", coordinated by {name}"),
        _ => String::new(),
    }
}

/// One block of rows a phase: service and response time side by side.
fn latencies(phases: &[PhaseResult], detail: bool) -> String {
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
                (alone, detail),
            );
        }
        if !alone {
            rows(&mut table, phase, "all", &phase.total, (true, detail));
        }
    }
    let all_failed = |phase: &PhaseResult| {
        let mut each = phase.operations.values();
        each.any(|one| one.completed == 0 && one.failures() > 0)
    };
    let failed = match phases.iter().any(all_failed) {
        true => ", or of operations none of which completed",
        false => "",
    };
    format!(
        "{}times in ms; – is a percentile with fewer than 10 samples above it{failed}{}",
        table.render(),
        if detail { "\n" } else { "; " }
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
        let per_s = |n: u64| whole(n as f64 / phase.duration_s);
        // A range over partitions does not say how many it touched.
        let mut each = phase.operations.values();
        let ranges = each.any(|one| one.rows > 0 && one.partitions == 0);
        let counted = |words: &str| match ranges {
            true => String::new(),
            false => words.to_owned(),
        };
        let _infallible = writeln!(
            text,
            "{}: {} rows{}, {} row/s{}",
            phase.name,
            thousands(rows),
            counted(&format!(" in {} partitions", thousands(partitions))),
            per_s(rows),
            counted(&format!(", {} partition/s", per_s(partitions)))
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

fn rows(
    table: &mut Table,
    phase: &PhaseResult,
    name: &str,
    one: &OperationResult,
    (is_whole, detail): (bool, bool),
) {
    let rate = if is_whole {
        whole(phase.achieved_per_s)
    } else {
        String::new()
    };
    let mut first = true;
    let kinds = if detail { usize::MAX } else { 1 };
    for (kind, d) in one.times().take(kinds) {
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
        if let Some(confidence) = d.confidence.as_ref().filter(|_| detail) {
            let mut cells = vec![String::new(); 6];
            cells.push("  95 %".to_owned());
            cells.extend(ranges(confidence));
            table.row(cells);
        }
        first = false;
    }
    if first {
        let mut cells = vec![
            phase.name.clone(),
            name.to_owned(),
            thousands(one.offered),
            thousands(one.completed),
            thousands(one.failures()),
        ];
        if one.completed + one.failures() > 0 {
            cells.extend([rate, String::new()]);
            cells.extend(["–"; 5].map(str::to_owned));
        }
        table.row(cells);
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

/// 95 % confidence intervals under the percentiles, in ms; nothing if the window is too short.
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
    let mut text = String::new();
    for one in shared(phases.iter().map(|p| (p.name.as_str(), &p.doubts[..]))) {
        let style = owo_colors::Style::new();
        let word = match one.doubt().severity {
            Severity::Disqualifying => style.red().style("DISQUALIFYING").to_string(),
            Severity::Caution => style.yellow().style("caution").to_string(),
        };
        let _infallible = writeln!(
            text,
            "{word} in {}: {}\n  cure: {}",
            one.phases(),
            one.line(),
            one.doubt().cure
        );
    }
    text
}
