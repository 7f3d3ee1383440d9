//! The page of a run: the answer first, then what stands against it, then everything it stands on.
//! Refuses to soften: doubts come before charts.

use crate::report::RunReport;
use crate::report::page::{Head, Section, fold, pairs, render, verbatim};
use crate::report::series::Clock;
use crate::report::words::{self, html};
use crate::report::{
    around, bands, distance, events, flame, percentiles, rates, tables, tail, time,
};
use crate::run::ON_KEY;
use helenus_model::plan::ClusterPlan;
use serde_json::Value;

pub(super) fn page(report: &RunReport<'_>) -> String {
    let summary = &report.run.summary;
    let result = report.run.result.as_ref();
    let found = rates::found(report.run.plan().ok().as_ref(), result);
    let (badge, style) = words::verdict(result.map(|r| r.verdict));
    let head = Head {
        title: format!("{}: {} on Cassandra", summary.id, summary.workload),
        kicker: format!("Helenus · run {}", summary.id),
        headline: match &found {
            Some(found) => found.answer(),
            None => words::headline(result),
        },
        badge: (badge.to_owned(), style),
        facts: facts(report),
    };
    // Of a search the trials together are the result: a card for each would hide it.
    let lead = result.map(|r| match &found {
        Some(found) => format!("{}{}", rates::section(found), tables::doubts(r)),
        None => format!("{}{}", tables::doubts(r), tables::figures(r)),
    });
    let lead = lead.unwrap_or_default();
    render(&head, &lead, &sections(report))
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

fn sections(report: &RunReport<'_>) -> Vec<Section> {
    let result = report.run.result.as_ref();
    let clock = Clock::of(report.intervals);
    let bands = clock.map(|c| bands::all(report, c)).unwrap_or_default();
    let moments = clock.map(|c| bands::moments(report, c));
    let draw = |mut charts: Vec<crate::report::chart::Chart>| -> String {
        charts.retain(|c| !c.is_empty());
        for chart in charts.iter_mut().filter(|c| c.is_over_time()) {
            chart.moments = moments.clone().unwrap_or_default();
        }
        charts.iter().map(|c| c.render()).collect()
    };
    let grid = |inner: String| {
        if inner.is_empty() {
            inner
        } else {
            format!("<div class=\"grid\">{inner}</div>\n")
        }
    };
    let over_time = clock.map(|c| {
        format!(
            "{}{}{}",
            tables::legend(&bands) + &bands::block(&bands, c),
            draw(time::load(report, c)),
            events::table(report, c)
        )
    });
    let curves = result.map(|r| {
        r.phases
            .iter()
            .enumerate()
            .filter_map(|(i, p)| percentiles::chart(i, p))
            .collect()
    });
    let generator = clock.map(|c| grid(draw(time::generator(report, c))));
    let nodes = clock.map(|c| grid(draw(around::nodes(report, c))));
    let host = clock.map(|c| grid(draw(around::host(report, c))));
    let around = result.map(|result| {
        [tables::around_table, tail::nodes, tail::coordinators]
            .map(|table| table(result))
            .concat()
    });
    let around = around.unwrap_or_default();
    let generator_use = result.map(tables::generator).unwrap_or_default();
    let none = |kind: &str| {
        format!("<p class=\"note\">No telemetry of the {kind} was recorded with this run.</p>")
    };
    let or_none = |charts: Option<String>, kind: &str| {
        charts
            .filter(|c| !c.is_empty())
            .unwrap_or_else(|| none(kind))
    };
    let section = |id, title, body| Section { id, title, body };
    vec![
        section("time", "Over time", over_time.unwrap_or_default()),
        section(
            "percentiles",
            "By percentile",
            percentile_body(grid(draw(curves.unwrap_or_default()))),
        ),
        section(
            "operations",
            "By operation",
            result.map(tables::operations).unwrap_or_default(),
        ),
        section(
            "tail",
            "Whose tail it is",
            result.map(tail::section).unwrap_or_default(),
        ),
        section(
            "generator",
            "The load generator",
            format!("{generator_use}{}", generator.unwrap_or_default()),
        ),
        section(
            "nodes",
            "The nodes",
            format!("{around}{}", or_none(nodes, "nodes")),
        ),
        section("flame", "Flame graphs", flame::section(report)),
        section(
            "distance",
            "The distance",
            result.map(distance::table).unwrap_or_default(),
        ),
        section("host", "The host", or_none(host, "host")),
        section("settings", "Plan, host, seeds", settings(report)),
        section("repeat", "How to repeat it", repeat(report)),
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
