//! The page of a comparison of levels: latency against round-trip time by level, beside what was predicted.
//! Refuses a line through a single distance: one point is a point.

use crate::report::axis::{Axis, tooltip};
use crate::report::chart::{Chart, Mark, Series, Style, Symbol};
use crate::report::page::{self, Head, Section, pairs, render};
use crate::report::series::Point;
use crate::report::words::{html, style};
use helenus_model::level_runs::{Row, Table};

pub(super) fn page(table: &Table) -> String {
    let said = table.conclusion();
    let head = Head {
        title: format!("{}: levels against distance", table.comparison),
        kicker: format!("Helenus · levels {}", table.comparison),
        headline: said.headline,
        badge: (said.badge.to_owned(), style(said.tone)),
        facts: vec![
            format!("client in {}", table.client_dc),
            replicas(table),
            format!("repeats: {}", table.repeats),
            nodelay(table),
            match table.left_out.len() {
                0 => "all runs count".to_owned(),
                n => format!("left out: {n}"),
            },
        ],
    };
    let groups = groups(table);
    let charts = groups.iter().enumerate();
    let mut charts = charts.map(|(place, rows)| chart(place, rows).render());
    let lead = charts.next().unwrap_or_default();
    let sections = [
        Section::open("left", "Left out", left_out(table)),
        Section::open("plots", "Other operations and loads", charts.collect()),
        Section::open("table", "All numbers", numbers(table)),
    ];
    render(&head, &lead, &sections)
}

fn replicas(table: &Table) -> String {
    let each = table.replicas.iter().map(|(dc, n)| format!("{dc} {n}"));
    format!("replicas {}", each.collect::<Vec<_>>().join(", "))
}

fn nodelay(table: &Table) -> String {
    let said = table
        .tcp_nodelay
        .map_or("not set".to_owned(), |on| on.to_string());
    format!("inter_dc_tcp_nodelay {said}")
}

/// Rows that are drawn together: one operation of one workload under one load.
fn groups(table: &Table) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in table.rows.iter().filter(|row| !row.again) {
        let same = |group: &&mut Vec<&Row>| {
            let first = group[0];
            first.workload == row.workload
                && first.operation == row.operation
                && first.load == row.load
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

#[expect(clippy::cast_precision_loss, reason = "at most a minute")]
fn far_ms(row: &Row) -> f64 {
    row.round_trips_us.values().copied().max().unwrap_or(0) as f64 / 1e3
}

fn chart(place: usize, rows: &[&Row]) -> Chart {
    let first = rows[0];
    let workload = first.workload.word();
    let of = match workload == first.operation {
        true => workload.to_owned(),
        false => format!("{workload}, {}", first.operation),
    };
    let title = format!("{of}: median ({})", first.load.words());
    let x = Axis::from_zero("longest round trip from the client's data centre, ms");
    let id = format!("levels-{place}");
    let mut chart = Chart::plain(&id, &title, x, Axis::from_zero("ms"));
    chart.height = 300;
    let mut levels: Vec<&str> = rows.iter().map(|row| row.level.word()).collect();
    levels.sort_unstable();
    levels.dedup();
    let mut any_predicted = false;
    for (number, level) in levels.iter().enumerate() {
        let role = format!("operation{}", number % 6);
        let of: Vec<&&Row> = rows
            .iter()
            .filter(|row| row.level.word() == *level)
            .collect();
        let points: Vec<Point> = of
            .iter()
            .map(|row| (far_ms(row), row.latency.median_ms))
            .collect();
        let marks = of.iter().filter_map(|row| {
            let ms = row.latency.median_ms?;
            let says = format!("{level} at {}: {} ms", row.distance, tooltip(ms));
            Some(Mark::at(far_ms(row), ms, Symbol::Circle, says))
        });
        let line = Series::line(level, &role, Style::Solid, points);
        chart.series.push(line.with(marks.collect()));
        if let Some(predicted) = predicted(&of, rows) {
            any_predicted = true;
            let name = format!("{level}, predicted");
            let line = Series::line(&name, &role, Style::Dotted, predicted);
            chart.series.push(line);
        }
    }
    if any_predicted {
        chart = chart.note(
            "Dotted: the model's prediction, added to the smallest median of all levels at that distance.",
        );
    }
    chart
}

/// What the model predicts for a level at each distance, above the fastest level's median there.
#[expect(clippy::cast_precision_loss, reason = "at most minutes")]
fn predicted(of: &[&&Row], rows: &[&Row]) -> Option<Vec<Point>> {
    let one = |row: &&&Row| {
        let here = rows.iter().filter(|other| other.distance == row.distance);
        let quickest = here.filter_map(|other| other.latency.median_ms);
        let base = quickest.min_by(f64::total_cmp)?;
        let high_us = row.predicted.as_ref()?.high_us as f64;
        Some((far_ms(row), Some(base + high_us / 1e3)))
    };
    of.iter().map(one).collect()
}

fn numbers(table: &Table) -> String {
    let heads = [
        "distance",
        "workload",
        "operation",
        "load",
        "level",
        ">op rate",
        ">mean",
        ">median",
        ">95th",
        ">99th",
        ">99.9th",
        ">max",
        ">difference",
        ">interval",
        ">predicted",
    ];
    let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
    let calibration = table.calibration.as_ref().map_or_else(String::new, |step| {
        format!("<p class=\"note\">{}</p>\n", html(&step.sentence()))
    });
    format!(
        "{}<p class=\"note\">Times in milliseconds. The difference is of medians, against {}, repeat by repeat, with its \
         95 % interval. Columns without numbers are left out.{}</p>\n",
        page::table(&heads, &rows),
        table.reference.word(),
        table
            .rule()
            .map_or_else(String::new, |rule| format!(" Rule: {rule}."))
    ) + &calibration
}

fn row(row: &Row) -> Vec<String> {
    let maybe = |value: Option<f64>| value.map_or("–".to_owned(), |ms| format!("{ms:.2}"));
    let both = |ends: Option<[f64; 2]>| {
        ends.map_or("–".to_owned(), |[low, high]| {
            format!("{low:.2} to {high:.2}")
        })
    };
    let difference = row.difference.as_ref();
    let mut cells = vec![
        row.distance.clone(),
        row.workload.word().to_owned(),
        row.operation.clone(),
        row.load.words(),
    ];
    cells.extend(row.cells());
    cells.extend([
        maybe(difference.map(|d| d.mean_ms)),
        both(difference.and_then(|d| d.interval_ms)),
        both(difference.and_then(|d| d.predicted_ms)),
    ]);
    cells
}

fn left_out(table: &Table) -> String {
    let rows: Vec<(&str, String)> = table
        .left_out
        .iter()
        .map(|one| (one.run.as_str(), format!("{}: {}", one.cell, one.why)))
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        pairs(&rows)
    }
}
