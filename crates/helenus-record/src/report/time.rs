//! The charts of the load over time: throughput, latency, and the generator's own part.
//! Refuses a percentile that too few samples stand behind: the line has a hole there.

use crate::report::RunReport;
use crate::report::axis::Axis;
use crate::report::chart::{Chart, Style};
use crate::report::heat;
use crate::report::series::{
    Clock, Merged, SAMPLES, Tick, growth, line, merged, single_ticks, slow,
};
use crate::report::words::{count, digits};
use helenus_model::histogram::Histogram;
use helenus_model::telemetry::Seen;
use std::collections::BTreeSet;

/// Throughput, and latency by operation.
pub(super) fn load(report: &RunReport<'_>, clock: Clock) -> Vec<Chart> {
    let mut throughput = throughput(&single_ticks(report.intervals, clock), clock);
    let names: BTreeSet<&str> = report
        .intervals
        .iter()
        .flat_map(|i| i.operations.keys().map(String::as_str))
        .collect();
    if names.len() < 2 {
        return vec![throughput];
    }
    let by_operation = by_operation(report, clock, &names);
    if by_operation.is_empty() {
        // What is not drawn leaves its reason below the chart before it.
        throughput.note = by_operation.note;
        return vec![throughput];
    }
    vec![throughput, by_operation]
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn throughput(ticks: &[Tick], clock: Clock) -> Chart {
    let mut chart = Chart::over_time(
        "throughput",
        "Throughput",
        Axis::from_zero("operations a second"),
        clock,
    );
    let per_s = |count: fn(&Tick) -> u64| {
        line(ticks, move |t| {
            (t.seconds > 0.0).then(|| count(t) as f64 / t.seconds)
        })
    };
    chart.line(
        "offered",
        "offered",
        Style::Dashed,
        &per_s(|t| t.all.offered),
        "op/s",
    );
    chart.line(
        "started",
        "started",
        Style::Dotted,
        &per_s(|t| t.all.started),
        "op/s",
    );
    chart.line(
        "completed",
        "completed",
        Style::Solid,
        &per_s(|t| t.all.completed),
        "op/s",
    );
    if ticks.iter().any(|t| t.all.failures() > 0) {
        chart.line(
            "failed",
            "failed",
            Style::Solid,
            &per_s(|t| t.all.failures()),
            "op/s",
        );
    }
    chart
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
fn as_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// How long operations took from moment to moment: all of them as a map, and p99 of response and service time.
pub(super) fn latency(report: &RunReport<'_>, clock: Clock) -> Chart {
    let merged = merged(report.intervals, clock, None);
    let p99 = |of: fn(&Tick) -> &Histogram| {
        line(&merged.ticks, move |t| of(t).percentile_ns(0.99).map(as_ms))
    };
    let operations = report.intervals.iter().flat_map(|i| i.operations.values());
    let responds = operations.clone().any(|one| !one.response.is_empty());
    let closed = operations
        .filter(|one| !one.service.is_empty())
        .any(|one| one.response.is_empty());
    let title = match (responds, closed) {
        (true, false) => "Response time",
        (true, true) => "Response time; service time in a closed loop",
        (false, _) => "Service time",
    };
    let mut chart = Chart::over_time("latency", title, Axis::log("ms, logarithmic"), clock);
    chart.height = 300;
    chart.heat = heat::patches(report.intervals, clock);
    let (response, service) = (p99(|t| &t.all.response), p99(|t| &t.all.service));
    chart.line("response p99", "response", Style::Solid, &response, "ms");
    chart.line("service p99", "service", Style::Dashed, &service, "ms");
    chart.note = of_merged(report, &[(None, merged)]);
    chart
}

fn by_operation(report: &RunReport<'_>, clock: Clock, names: &BTreeSet<&str>) -> Chart {
    let title = "p99 by operation: response time, or service time in a closed loop";
    let mut chart = Chart::over_time("by-operation", title, Axis::log("ms, logarithmic"), clock);
    let mut all = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let merged = merged(report.intervals, clock, Some(name));
        let points = line(&merged.ticks, |t| {
            slow(&t.all).percentile_ns(0.99).map(as_ms)
        });
        let styles = [Style::Solid, Style::Dashed, Style::Dotted];
        chart.line(
            name,
            &format!("operation{}", place % 6),
            styles[place / 6 % 3],
            &points,
            "ms",
        );
        all.push((Some(*name), merged));
    }
    chart.note = of_merged(report, &all);
    chart
}

/// What is behind lines of p99, by operation: how much is merged, and where there is none.
fn of_merged(report: &RunReport<'_>, all: &[(Option<&str>, Merged)]) -> String {
    let plan = report.run.plan().ok();
    let phase = |place: usize| {
        let known = plan.as_ref().and_then(|plan| plan.phases.get(place));
        known.map_or_else(
            || format!("phase {}", place + 1),
            |phase| phase.name.clone(),
        )
    };
    let mut sentences = Vec::new();
    let each = all.iter().filter_map(|(_, merged)| merged.longest_s);
    if let Some(longest_s) = each.max_by(f64::total_cmp) {
        sentences.push(format!(
            "Each point of p99 covers {} operations or more, so that ten are above it: up to {} s.",
            count(SAMPLES),
            digits(longest_s)
        ));
    }
    let without: Vec<String> = all
        .iter()
        .flat_map(|(operation, merged)| {
            let named = |place: &usize| match operation {
                Some(operation) => format!("{operation} in {}", phase(*place)),
                None => phase(*place),
            };
            merged.without.iter().map(named).collect::<Vec<_>>()
        })
        .collect();
    if !without.is_empty() {
        let samples = count(SAMPLES);
        sentences.push(format!(
            "No p99 over time for {}: fewer than {samples} operations ended.",
            without.join(", ")
        ));
    }
    sentences.join(" ")
}

/// What the generator itself did.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
pub(super) fn generator(report: &RunReport<'_>, clock: Clock) -> Vec<Chart> {
    let merged = merged(report.intervals, clock, None);
    let single = single_ticks(report.intervals, clock);
    let title = "The generator's delay, and waits for a slot";
    let mut delay = Chart::over_time("delay", title, Axis::log("ms, logarithmic"), clock);
    let p99 = |of: fn(&Tick) -> &Histogram| {
        line(&merged.ticks, move |t| {
            of(t).percentile_ns(0.99).map(visible)
        })
    };
    let most = |of: fn(&Tick) -> &Histogram| line(&single, move |t| of(t).max_ns().map(visible));
    delay.line(
        "lateness max",
        "lateness",
        Style::Thin,
        &most(|t| &t.all.lateness),
        "ms",
    );
    delay.line(
        "lateness p99",
        "lateness",
        Style::Solid,
        &p99(|t| &t.all.lateness),
        "ms",
    );
    delay.line(
        "slot wait max",
        "slot",
        Style::Thin,
        &most(|t| &t.all.slot_wait),
        "ms",
    );
    delay.line(
        "slot wait p99",
        "slot",
        Style::Solid,
        &p99(|t| &t.all.slot_wait),
        "ms",
    );
    delay.note = "Lateness is the generator's own delay; slot wait is not. \
                  Values below a microsecond are drawn at one."
        .to_owned();
    let mut cpu = Chart::over_time(
        "generator-cpu",
        "The generator's thread",
        Axis::shares("share of the time"),
        clock,
    );
    let busy = line(&single, |t| {
        (t.seconds > 0.0).then(|| t.thread_cpu_ns as f64 / 1e9 / t.seconds)
    });
    cpu.line("on CPU", "generator", Style::Solid, &busy, "");
    let waits: Vec<(u64, Option<u64>)> = report
        .readings
        .iter()
        .filter_map(|r| match &r.seen {
            Seen::Generator(seen) => Some((r.at_ns, Some(seen.run_queue_wait_us))),
            _ => None,
        })
        .collect();
    cpu.line(
        "ready, waiting for a processor",
        "queue",
        Style::Solid,
        &growth(&waits, clock, 1e-6),
        "",
    );
    vec![delay, cpu]
}

/// A logarithmic axis has no zero.
fn visible(ns: u64) -> f64 {
    as_ms(ns.max(1000))
}
