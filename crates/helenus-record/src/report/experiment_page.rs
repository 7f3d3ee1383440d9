//! The page of an experiment: the answer, a heat map of two factors, curves of ordered levels, effects, all runs.
//! Refuses a picture that hides what did not run: an empty cell stays empty.

use crate::report::chart::{Chart, short, text};
use crate::report::experiment::{ExperimentReport, experiment_answer};
use crate::report::experiment_sheets::{Sheet, experiment_sheets};
use crate::report::page::{Head, Section, fold, render, verbatim};
use crate::report::words::{self, html};
use helenus_model::comparison::{Claim, Measure};
use helenus_model::experiment::{Analysis, Effect, Experiment};
use serde_json::{Value, json};

/// The report of an experiment: one HTML file.
pub fn experiment_html(report: &ExperimentReport<'_>) -> String {
    let mut lines = experiment_answer(report).into_iter();
    let stored = report.stored;
    let (badge, style) = badge(report);
    let progress = report.progress;
    let head = Head {
        title: format!("{}: {}", stored.id, stored.name),
        kicker: format!("Helenus · experiment {} ({})", stored.name, stored.id),
        headline: lines.next().unwrap_or_default(),
        badge: (badge.to_owned(), style),
        facts: vec![
            format!("{} of {} runs", progress.done, progress.planned),
            format!("seed {}", stored.seed.0),
            words::wall(stored.began_wall_ns),
        ],
    };
    let more: String = lines
        .map(|line| format!("<li>{}</li>", html(&line)))
        .collect();
    let lead = match more.is_empty() {
        true => more,
        false => format!("<ul class=\"more\">{more}</ul>\n"),
    };
    let charts = report.analysis.map_or_else(String::new, |found| {
        let mut charts = vec![forest(found)];
        charts.extend(heat(report.experiment, found));
        charts.extend(curves(report.experiment, found));
        let drawn = charts.iter().filter(|chart| !chart.is_empty());
        drawn.map(Chart::render).collect()
    });
    let sheets = experiment_sheets(report);
    let of = |title: &str| -> String {
        let own = sheets.iter().filter(|sheet| sheet.title == title);
        own.map(table).collect()
    };
    let section = |id, title, body| Section { id, title, body };
    let sections = [
        section("charts", "What was found", charts),
        section("tips", "Promised gains", of("Tips")),
        section("effects", "Effects", of("Effects")),
        section("interactions", "Interactions", of("Interactions")),
        section("bars", "Bars", of("Bars")),
        section("settings", "Settings", of("Settings")),
        section("runs", "All runs", sortable(&of("Runs"))),
        section("failures", "What did not run", of("What did not run")),
        section("repeat", "How to repeat it", repeat(report)),
    ];
    render(&head, &lead, &sections)
}

fn badge(report: &ExperimentReport<'_>) -> (&'static str, &'static str) {
    let claim = report
        .analysis
        .and_then(|found| found.answer.as_ref())
        .map(|answer| answer.claim);
    let untestable = report
        .analysis
        .is_some_and(|found| found.not_testable.is_some());
    match claim {
        _ if report.progress.left > 0 => ("not the whole yet", "caution"),
        _ if untestable => ("not testable here", "caution"),
        Some(Claim::Higher | Claim::Lower) => ("a difference was found", "valid"),
        Some(Claim::NoDifference) => ("not told apart", "caution"),
        Some(Claim::None) | None => ("no claim", "caution"),
    }
}

fn table(sheet: &Sheet) -> String {
    let class = |place: usize| match sheet.heads[place].starts_with('>') {
        true => " class=\"n\"",
        false => "",
    };
    let cell = |tag: &str, place: usize, words: &str| {
        format!("<{tag}{}>{}</{tag}>", class(place), html(words))
    };
    let heads = sheet.heads.iter().enumerate();
    let heads: String = heads
        .map(|(place, head)| cell("th", place, head.trim_start_matches('>')))
        .collect();
    let rows: String = sheet
        .rows
        .iter()
        .map(|row| {
            let cells = row.iter().enumerate();
            let cells: String = cells
                .map(|(place, words)| cell("td", place, words))
                .collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

/// A table whose heads sort it, below a field that filters it.
fn sortable(table: &str) -> String {
    if table.is_empty() {
        return String::new();
    }
    let (before, rows) = table.split_once("<tbody>").unwrap_or((table, ""));
    let heads = before
        .replace("class=\"wide\"", "class=\"wide sortable\"")
        .replace("</th>", "</button></th>")
        .replace("<th>", "<th><button type=\"button\">")
        .replace(
            "<th class=\"n\">",
            "<th class=\"n\"><button type=\"button\">",
        );
    format!(
        "<div class=\"sheet\"><input type=\"search\" placeholder=\"filter\" aria-label=\"rows with these words\">\
         {heads}<tbody>{rows}</div>\n"
    )
}

/// Effects with their intervals, in percent.
fn forest(found: &Analysis) -> Chart {
    let title = format!("What each level changes: {}", words::measure(found.measure));
    let mut chart = Chart::plain("effects", &title).note(
        "Each level against the first of its factor; the line is the 95 % interval, and 0 is no difference.",
    );
    let shown = |e: &&Effect| e.measure == found.measure && e.testable;
    let own = found.effects.iter().filter(shown);
    let own: Vec<_> = own.filter_map(|e| Some((e, e.estimate?))).collect();
    let percent = |ratio: f64| short((ratio - 1.0) * 100.0);
    let names: Vec<String> = own
        .iter()
        .map(|(e, _)| text(&format!("{}={}", e.factor, e.to)))
        .collect();
    let x: Vec<f64> = own.iter().map(|(_, e)| percent(e.ratio)).collect();
    let above: Vec<f64> = own
        .iter()
        .map(|(_, e)| percent(e.high) - percent(e.ratio))
        .collect();
    let below: Vec<f64> = own
        .iter()
        .map(|(_, e)| percent(e.ratio) - percent(e.low))
        .collect();
    if own.is_empty() {
        return chart;
    }
    chart.height = 120 + 36 * u32::try_from(own.len()).unwrap_or(20);
    chart.set(
        "xaxis",
        json!({"title": {"text": "change in %"}, "zeroline": true}),
    );
    chart.set(
        "yaxis",
        json!({"autorange": "reversed", "automargin": true}),
    );
    chart.trace(
        "service",
        json!({
            "type": "scatter", "mode": "markers", "x": x, "y": names, "name": "change",
            "error_x": {"type": "data", "symmetric": false, "array": above, "arrayminus": below},
            "hovertemplate": "%{y}: %{x} %<extra></extra>"
        }),
    );
    chart
}

/// A number in the unit that charts of its measure have.
fn scaled(measure: Measure, value: f64) -> f64 {
    match measure {
        Measure::Throughput | Measure::NodeCpu | Measure::GeneratorCpu => short(value),
        _ => short(value / 1e3),
    }
}

fn unit(measure: Measure) -> String {
    let unit = match measure {
        Measure::Throughput => "op/s",
        Measure::NodeCpu | Measure::GeneratorCpu => "µs",
        _ => "ms",
    };
    format!("{} in {unit}", words::measure(measure))
}

/// The first two factors against each other, where there are two.
fn heat(of: &Experiment, found: &Analysis) -> Option<Chart> {
    let [one, other, ..] = of.factors.as_slice() else {
        return None;
    };
    let row = |a: usize| -> Vec<Value> {
        let along = found.along(found.measure, (1, other.levels.len()), |l| l[0] == a);
        let cell =
            |value: Option<f64>| value.map_or(Value::Null, |v| json!(scaled(found.measure, v)));
        along.into_iter().map(cell).collect()
    };
    let rows: Vec<Vec<Value>> = (0..one.levels.len()).map(row).collect();
    let labels = |levels: &[helenus_model::experiment::Level]| -> Vec<String> {
        levels.iter().map(|level| text(&level.label)).collect()
    };
    let mut chart = Chart::plain("heat", &unit(found.measure));
    chart.height = 160 + 40 * u32::try_from(one.levels.len()).unwrap_or(10);
    chart.set(
        "xaxis",
        json!({"title": {"text": text(&other.name)}, "type": "category"}),
    );
    chart.set(
        "yaxis",
        json!({"title": {"text": text(&one.name)}, "type": "category", "automargin": true}),
    );
    chart.trace(
        "service",
        json!({
            "type": "heatmap", "x": labels(&other.levels), "y": labels(&one.levels), "z": rows,
            "texttemplate": "%{z:.3~r}", "colorscale": "Cividis", "reversescale": true,
            "hovertemplate": "%{y}, %{x}: %{z}<extra></extra>"
        }),
    );
    Some(chart)
}

/// For each factor whose levels are numbers: the measure along them, a line a level of the factor before it.
fn curves(of: &Experiment, found: &Analysis) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (place, factor) in of.factors.iter().enumerate() {
        let numbers = factor.levels.iter().map(|l| l.label.parse::<f64>().ok());
        let Some(x) = numbers.collect::<Option<Vec<f64>>>() else {
            continue;
        };
        let by = (0..of.factors.len()).find(|other| *other != place);
        let lines = by.map_or(1, |by| of.factors[by].levels.len());
        let mut chart = Chart::plain(
            &format!("curve-{place}"),
            &format!("{} by {}", unit(found.measure), factor.name),
        );
        if let Some(at) = &found.generator_limit {
            chart = chart.note(format!("The generator was the limit {at}."));
        }
        chart.set("xaxis", json!({"title": {"text": text(&factor.name)}}));
        chart.set(
            "yaxis",
            json!({"rangemode": "tozero", "title": {"text": unit(found.measure)}}),
        );
        for line in 0..lines {
            let pass = |l: &[usize]| by.is_none_or(|by| l[by] == line);
            let along = found.along(found.measure, (place, factor.levels.len()), pass);
            let along = along.into_iter();
            let y: Vec<Option<f64>> = along
                .map(|value| value.map(|v| scaled(found.measure, v)))
                .collect();
            let name = by.map_or_else(String::new, |by| {
                format!(
                    "{}={}",
                    of.factors[by].name, of.factors[by].levels[line].label
                )
            });
            // The style sheet has eight colours of nodes.
            chart.trace(
                &format!("node{}", line % 8),
                json!({"type": "scatter", "mode": "lines+markers", "x": x, "y": y, "name": text(&name)}),
            );
        }
        charts.push(chart);
    }
    charts
}

fn repeat(report: &ExperimentReport<'_>) -> String {
    let command = verbatim(&report.stored.command);
    let file = fold("The file", &verbatim(&report.stored.text));
    format!("{command}{file}")
}
