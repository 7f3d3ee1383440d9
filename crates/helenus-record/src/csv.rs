//! Runs as comma-separated values: a row for each phase, operation and measure, or for each interval and operation.
//! Refuses to fill a gap: what is absent is an empty cell.

use crate::error::HistoryError;
use crate::hdr_log::counted;
use crate::run::StoredRun;
use crate::when::Utc;
use helenus_model::histogram::Histogram;
use helenus_model::result::{Distribution, OperationResult, PhaseResult};
use helenus_model::sample::{Interval, OperationInterval, Stretch};
use serde::Serialize;
use std::io::Write;

/// Heads of [`write_result`], in their order.
pub const RESULT_COLUMNS: &[&str] = &[
    "run",
    "began",
    "state",
    "tags",
    "workload",
    "release",
    "preset",
    "jvm",
    "seed",
    "plan_hash",
    "start_means",
    "experiment",
    "trial",
    "restart",
    "phase",
    "verdict",
    "doubts",
    "rate_per_s",
    "achieved_per_s",
    "in_flight",
    "duration_s",
    "backlog",
    "abandoned",
    "operation",
    "offered",
    "started",
    "completed",
    "failed",
    "measure",
    "count",
    "min_us",
    "mean_us",
    "p50_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "p999_us",
    "p9999_us",
    "max_us",
];

/// Heads of [`write_intervals`], in their order.
pub const INTERVAL_COLUMNS: &[&str] = &[
    "run",
    "phase",
    "stretch",
    "counted",
    "began",
    "start_s",
    "length_s",
    "thread_cpu_us",
    "operation",
    "offered",
    "started",
    "completed",
    "failed",
    "service_count",
    "service_mean_us",
    "service_p50_us",
    "service_p99_us",
    "service_max_us",
    "response_count",
    "response_mean_us",
    "response_p50_us",
    "response_p99_us",
    "response_max_us",
    "wait_count",
    "wait_mean_us",
    "wait_p50_us",
    "wait_p99_us",
    "wait_max_us",
];

/// Writes the first line.
///
/// # Errors
/// A writer that fails.
pub fn write_heads(to: &mut dyn Write, columns: &[&str]) -> Result<(), HistoryError> {
    row(to, columns.iter().map(|c| (*c).to_owned()))
}

/// Writes the result of a run and returns the number of rows: `all` stands for all operations of a phase together.
///
/// # Errors
/// A run without a result, or a writer that fails.
pub fn write_result(to: &mut dyn Write, run: &StoredRun) -> Result<usize, HistoryError> {
    let summary = &run.summary;
    let result = run.result.as_ref().ok_or(HistoryError::Lacks {
        run: summary.id,
        state: summary.state,
        what: "result",
    })?;
    let head = [
        summary.id.to_string(),
        Utc::of_ns(summary.began_wall_ns).iso(),
        summary.state.to_string(),
        summary.tags.join(" "),
        summary.workload.clone(),
        summary.release.clone().unwrap_or_default(),
        summary.preset.clone().unwrap_or_default(),
        summary.jvm.clone().unwrap_or_default(),
        summary.seed.0.to_string(),
        summary.plan_hash.clone(),
        word(result.start_means),
        summary.place.experiment.to_string(),
        summary
            .place
            .trial_name
            .clone()
            .unwrap_or_else(|| summary.place.trial.to_string()),
        summary.place.restart_id.to_string(),
    ];
    let mut rows = 0;
    for phase in &result.phases {
        let operations = phase
            .operations
            .iter()
            .map(|(name, one)| (name.as_str(), one));
        for (name, operation) in operations.chain([("all", &phase.total)]) {
            for (measure, of) in measures(operation) {
                let cells = head.iter().cloned().chain(of_phase(phase));
                let cells = cells.chain(of_operation(name, operation));
                row(to, cells.chain(of_measure(measure, of)))?;
                rows += 1;
            }
        }
    }
    Ok(rows)
}

/// Writes the intervals of a run and returns the number of rows.
///
/// # Errors
/// A run of another version, one that has no intervals, or a writer that fails.
pub fn write_intervals(
    to: &mut dyn Write,
    run: &StoredRun,
    intervals: &[Interval],
    with_warmup: bool,
) -> Result<usize, HistoryError> {
    let lacks = HistoryError::Lacks {
        run: run.summary.id,
        state: run.summary.state,
        what: "intervals",
    };
    let plan = run.plan()?;
    let header = run.header.as_ref().ok_or(lacks)?;
    let in_result: Vec<(usize, u64)> = counted(run, intervals, false)
        .map(|one| (one.phase, one.start_ns))
        .collect();
    let mut rows = 0;
    for one in counted(run, intervals, with_warmup) {
        let since = one.start_ns.saturating_sub(header.monotonic_ns);
        let phase = plan.phases.get(one.phase).map_or("", |p| &p.name);
        let is_counted =
            one.stretch == Stretch::Measured && in_result.contains(&(one.phase, one.start_ns));
        let head = [
            run.summary.id.to_string(),
            phase.to_owned(),
            word(one.stretch),
            is_counted.to_string(),
            Utc::of_ns(header.wall_ns + since).iso(),
            seconds(since),
            seconds(one.end_ns.saturating_sub(one.start_ns)),
            (one.thread_cpu_ns / 1000).to_string(),
        ];
        for (name, operation) in &one.operations {
            row(to, head.iter().cloned().chain(of_interval(name, operation)))?;
            rows += 1;
        }
    }
    Ok(rows)
}

fn measures(of: &OperationResult) -> impl Iterator<Item = (&'static str, &Distribution)> {
    let all = [
        ("service", &of.service),
        ("response", &of.response),
        ("lateness", &of.lateness),
        ("slot_wait", &of.slot_wait),
    ];
    all.into_iter()
        .filter_map(|(name, distribution)| Some((name, distribution.as_ref()?)))
}

fn of_phase(phase: &PhaseResult) -> [String; 9] {
    let doubts: Vec<String> = phase.doubts.iter().map(|d| word(d.kind)).collect();
    [
        phase.name.clone(),
        word(phase.verdict),
        doubts.join(" "),
        number(phase.rate_per_s),
        number(Some(phase.achieved_per_s)),
        phase.in_flight.to_string(),
        number(Some(phase.duration_s)),
        phase.backlog.to_string(),
        phase.abandoned.to_string(),
    ]
}

fn of_operation(name: &str, of: &OperationResult) -> [String; 5] {
    [
        name.to_owned(),
        of.offered.to_string(),
        of.started.to_string(),
        of.completed.to_string(),
        of.failures().to_string(),
    ]
}

fn of_measure(measure: &str, of: &Distribution) -> [String; 11] {
    [
        measure.to_owned(),
        of.count.to_string(),
        number(Some(of.min_us)),
        number(Some(of.mean_us)),
        number(of.p50_us),
        number(of.p90_us),
        number(of.p95_us),
        number(of.p99_us),
        number(of.p999_us),
        number(of.p9999_us),
        number(Some(of.max_us)),
    ]
}

fn of_interval(name: &str, of: &OperationInterval) -> impl Iterator<Item = String> {
    let counts = [
        name.to_owned(),
        of.offered.to_string(),
        of.started.to_string(),
        of.completed.to_string(),
        of.failures().to_string(),
    ];
    let times = [&of.service, &of.response, &of.wait]
        .into_iter()
        .flat_map(of_histogram);
    counts.into_iter().chain(times.collect::<Vec<_>>())
}

/// Five cells; empty ones where there is no histogram.
fn of_histogram(of: &Histogram) -> [String; 5] {
    let Some(distribution) = Distribution::of(of) else {
        return Default::default();
    };
    [
        distribution.count.to_string(),
        number(Some(distribution.mean_us)),
        number(distribution.p50_us),
        number(distribution.p99_us),
        number(Some(distribution.max_us)),
    ]
}

/// The shortest text that reads back as the same number.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds of one run, below 2^53"
)]
fn seconds(ns: u64) -> String {
    format!("{:.6}", ns as f64 / 1e9)
}

/// An enumeration as its JSON word.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// One line, quoted where RFC 4180 asks for it; it ends as files here do, in a line feed.
pub fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(quoted).collect();
    cells.join(",") + "\n"
}

fn row(to: &mut dyn Write, cells: impl Iterator<Item = String>) -> Result<(), HistoryError> {
    to.write_all(line(cells).as_bytes())
        .map_err(HistoryError::Write)
}

fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}
