//! The page of a run: the answer, the chart that shows it, what limits it, and everything it stands on.
//! Refuses to soften: doubts come before details.

use crate::report::RunReport;
use crate::report::bands::Band;
use crate::report::chart::{Chart, Moment};
use crate::report::page::{Head, Section, fold, pairs, render, verbatim};
use crate::report::series::Clock;
use crate::report::words::{self, html};
use crate::report::{
    around, bands, distance, events, flame, percentiles, rates, tables, tail, time,
};
use crate::run::ON_KEY;
use helenus_model::plan::ClusterPlan;
use helenus_model::result::tables::calibration;
use helenus_model::result::{RunResult, steadiness};
use helenus_model::telemetry::Seen;
use serde_json::Value;

pub(super) fn page(report: &RunReport<'_>) -> String {
    let summary = &report.run.summary;
    let result = report.run.result.as_ref();
    let found = rates::found(report.run.plan().ok().as_ref(), result);
    let (badge, style) = words::verdict(result.map(|r| r.verdict));
    let head = Head {
        title: format!("{}: {} on Cassandra", summary.id, summary.workload),
        kicker: format!("Helenus · run {}", summary.id),
        headline: rates::headline(report.run),
        badge: (badge.to_owned(), style),
        facts: facts(report),
    };
    let time = Time::of(report);
    let lead = match (&found, &time) {
        (Some(found), _) => rates::section(found),
        (None, Some(time)) => over_time(report, time),
        (None, None) => String::new(),
    };
    let sections = sections(report, time.as_ref(), found.is_some());
    render(&head, &lead, &sections)
}

/// What all charts over time share.
struct Time {
    clock: Clock,
    bands: Vec<Band>,
    moments: Vec<Moment>,
}

impl Time {
    fn of(report: &RunReport<'_>) -> Option<Self> {
        let clock = Clock::of(report.intervals)?;
        Some(Self {
            clock,
            bands: bands::all(report, clock),
            moments: bands::moments(report, clock),
        })
    }
}

/// The map of latency over time, and the switches of what is behind it.
fn over_time(report: &RunReport<'_>, time: &Time) -> String {
    let chart = draw(vec![time::latency(report, time.clock)], Some(time));
    let block = bands::block(&time.bands, time.clock);
    format!("{block}{chart}{}", tables::legend(&time.bands))
}

/// Charts, those over time with the words of phases and faults; empty ones are left out.
fn draw(mut charts: Vec<Chart>, time: Option<&Time>) -> String {
    charts.retain(|c| !c.is_empty());
    if let Some(time) = time {
        let lanes = bands::lanes(&time.bands).len();
        for chart in charts.iter_mut().filter(|c| c.is_over_time()) {
            chart.moments.clone_from(&time.moments);
            chart.lanes = u32::try_from(lanes).unwrap_or_default();
        }
    }
    charts.iter().map(Chart::render).collect()
}

/// What stands against the numbers, what their tails overlapped, and what was not seen.
fn limits(report: &RunReport<'_>) -> String {
    let result = report.run.result.as_ref();
    let doubts = result.map(tables::doubts).unwrap_or_default();
    let mut notes = result.map(tail::named).unwrap_or_default();
    let steady = result.map(|r| steadiness(&r.phases)).unwrap_or_default();
    notes.extend(steady.iter().map(|line| html(line)));
    let seen = |is: fn(&Seen) -> bool| report.readings.iter().any(|r| is(&r.seen));
    let kinds = [
        ("nodes", seen(|seen| matches!(seen, Seen::Node(_)))),
        ("host", seen(|seen| matches!(seen, Seen::Host(_)))),
    ];
    notes.extend(result.and_then(|result| calibration(&result.phases)));
    let unseen = kinds.iter().filter(|(_, seen)| !seen);
    notes.extend(unseen.map(|(kind, _)| format!("No telemetry of the {kind} was recorded.")));
    let notes: String = notes
        .iter()
        .map(|note| format!("<li>{}</li>", html(note)))
        .collect();
    match notes.is_empty() {
        true => doubts,
        false => format!("{doubts}<ul class=\"more\">{notes}</ul>\n"),
    }
}

fn facts(report: &RunReport<'_>) -> Vec<String> {
    let summary = &report.run.summary;
    let release = summary
        .release
        .as_ref()
        .map(|r| format!("Apache Cassandra {r}"));
    let nodes = cluster(report).map(|c| match c.nodes.len() {
        1 => "1 node".to_owned(),
        n => format!("{n} nodes"),
    });
    let mut facts = vec![format!("workload {}", summary.workload)];
    facts.extend(release);
    facts.extend(nodes);
    facts.extend(summary.preset.as_ref().map(|p| format!("preset {p}")));
    facts.extend(summary.jvm.as_ref().map(|j| format!("JVM {j}")));
    facts.push(words::wall(summary.began_wall_ns));
    facts.extend(summary.tags.iter().map(|tag| format!("tag {tag}")));
    facts
}

fn cluster(report: &RunReport<'_>) -> Option<ClusterPlan> {
    serde_json::from_value(report.run.cluster_plan.clone()?).ok()
}

fn sections(report: &RunReport<'_>, time: Option<&Time>, searched: bool) -> Vec<Section> {
    let result = report.run.result.as_ref();
    let phases = result.map_or(&[][..], |r| &r.phases);
    let grid = |charts: Vec<Chart>| match draw(charts, time) {
        none if none.is_empty() => none,
        drawn => format!("<div class=\"grid\">{drawn}</div>\n"),
    };
    let over = |charts: fn(&RunReport<'_>, Clock) -> Vec<Chart>| {
        time.map_or_else(String::new, |t| grid(charts(report, t.clock)))
    };
    let of = |table: fn(&RunResult) -> String| result.map(table).unwrap_or_default();
    let mut load = over(time::load);
    // Of a search the trials together are the result; their times are here.
    if let Some(time) = time.filter(|_| searched) {
        load = over_time(report, time) + &load;
    }
    let curves = phases.iter().enumerate();
    let curves = curves.filter_map(|(i, p)| percentiles::chart(i, p));
    let curves = percentile_body(grid(curves.collect()));
    let tables = [tables::around_table, tail::nodes, tail::coordinators];
    let around: String = tables.into_iter().map(of).collect();
    let events = time.map(|t| events::table(report, t.clock));
    // A rate that was asked for and held needs no picture.
    let held = !phases.is_empty() && phases.iter().all(words::held);
    vec![
        Section::open("limits", "What limits it", limits(report)),
        Section {
            is_folded: held || searched,
            ..Section::open("time", "Throughput", load)
        },
        Section {
            is_folded: searched,
            ..Section::open("percentiles", "By percentile", curves)
        },
        Section {
            is_folded: searched,
            ..Section::open("operations", "By operation", of(tables::operations))
        },
        Section::folded("tail", "Whose tail it is", of(tail::section)),
        Section::folded("server-times", "Server times", of(tail::server_times)),
        Section::folded("traces", "Traced operations", of(tail::traces)),
        Section::folded("events", "Events", events.unwrap_or_default()),
        Section::folded("nodes", "The nodes", around + &over(around::nodes)),
        Section::folded(
            "generator",
            "The load generator",
            of(tables::generator) + &over(time::generator),
        ),
        Section::folded("flame", "Flame graphs", flame::section(report)),
        Section::folded("distance", "The distance", of(distance::section)),
        Section::folded("host", "The host", over(around::host)),
        Section::folded("settings", "Plan, host, seeds", settings(report)),
        Section::open("repeat", "How to repeat it", repeat(report)),
    ]
}

fn percentile_body(charts: String) -> String {
    if charts.is_empty() {
        return charts;
    }
    format!(
        "<p class=\"note\">Response time runs from the scheduled start of an operation to its end, service time from \
         its actual start. Each curve ends where ten samples are above it.</p>{charts}"
    )
}

fn settings(report: &RunReport<'_>) -> String {
    let run = report.run;
    let header = run.header.as_ref();
    let started = header.map(|h| match h.start_means {
        helenus_model::sample::StartMeans::DriverCall => "the driver is called",
        helenus_model::sample::StartMeans::Socket => "the bytes are handed to the socket",
    });
    let mut body = pairs(&[
        ("root seed", run.summary.seed.0.to_string()),
        ("hash of the plan", run.summary.plan_hash.clone()),
        ("Helenus", run.helenus_version.clone()),
        (
            "Apache Cassandra",
            run.summary.release.clone().unwrap_or_default(),
        ),
        ("JVM", run.summary.jvm.clone().unwrap_or_default()),
        ("preset", run.summary.preset.clone().unwrap_or_default()),
        (
            "an operation starts when",
            started.unwrap_or_default().to_owned(),
        ),
        ("on", text(&run.host, ON_KEY)),
        ("processor", text(&run.host, "processor")),
        ("processors", text(&run.host, "cores")),
        ("kernel", text(&run.host, "kernel")),
    ]);
    body.push_str(&fold(
        "The plan of the run",
        &verbatim(&pretty(&run.plan_json)),
    ));
    body.push_str(&fold(
        "The host",
        &verbatim(&serde_json::to_string_pretty(&run.host).unwrap_or_default()),
    ));
    match (cluster(report), &run.cluster_plan) {
        (Some(plan), _) => body.push_str(&cluster_settings(&plan)),
        (None, Some(other)) => {
            let json = serde_json::to_string_pretty(other).unwrap_or_default();
            body.push_str(&fold("The cluster", &verbatim(&json)));
        }
        (None, None) => body.push_str("<p class=\"note\">Helenus did not bring up this cluster: its settings are not known.</p>"),
    }
    body
}

/// The nodes' settings: those of the first in full, of the others what differs.
fn cluster_settings(plan: &ClusterPlan) -> String {
    let mut body = pairs(&[
        ("cluster", plan.name.clone()),
        (
            "heap",
            format!(
                "{}{}",
                plan.heap.heap,
                plan.heap
                    .new
                    .map(|n| format!(", young generation {n}"))
                    .unwrap_or_default()
            ),
        ),
        ("tokens per node", plan.tokens.to_string()),
    ]);
    let Some(first) = plan.nodes.first() else {
        return body;
    };
    let flags = |jvm: &[String]| verbatim(&jvm.join("\n"));
    body.push_str(&fold(
        &format!("cassandra.yaml of {}", first.name),
        &verbatim(&first.yaml),
    ));
    body.push_str(&fold(
        &format!("flags of {}'s JVM", first.name),
        &flags(&first.jvm),
    ));
    for node in &plan.nodes[1..] {
        let differs = |ours: &str, theirs: &str| -> String {
            let lines: Vec<&str> = ours
                .lines()
                .filter(|l| !theirs.lines().any(|t| t == *l))
                .collect();
            lines.join("\n")
        };
        let yaml = differs(&node.yaml, &first.yaml);
        let jvm = differs(&node.jvm.join("\n"), &first.jvm.join("\n"));
        let title = format!("{}: what differs from {}", node.name, first.name);
        body.push_str(&fold(&title, &verbatim(&format!("{yaml}\n{jvm}"))));
    }
    body
}

fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn pretty(json: &str) -> String {
    let value: Option<Value> = serde_json::from_str(json).ok();
    value
        .and_then(|v| serde_json::to_string_pretty(&v).ok())
        .unwrap_or_else(|| json.to_owned())
}

fn repeat(report: &RunReport<'_>) -> String {
    let run = report.run;
    let seed = run.summary.seed.0;
    let says_seed = run
        .command
        .split_whitespace()
        .any(|w| w == "--seed" || w.starts_with("--seed="));
    let command = if says_seed {
        run.command.clone()
    } else {
        format!("{} --seed {seed}", run.command)
    };
    let what = if says_seed {
        "The command as given:"
    } else {
        "The command as given, with the seed that it drew:"
    };
    format!(
        "<p>{what}</p>{}<p class=\"note\">The same seed sends the same operations to the same rows at the same \
         intended starts. After another start of the nodes the numbers differ by more than these intervals, which \
         cover only the noise within one run. Without <code>--rate</code>, a short probe chose the rate.</p>\n",
        verbatim(&command),
    ) + &format!(
        "<p class=\"note\">Written by Helenus {}.</p>\n",
        html(&run.helenus_version)
    )
}
