//! The page of an experiment: the answer, a heat map of two factors, curves of ordered levels, effects, all runs.
//! Refuses a picture that hides what did not run: an empty cell stays empty.

use crate::report::axis::{Axis, tooltip, whole};
use crate::report::chart::{Cell, Chart, Mark, Rule, Series, Style, Symbol};
use crate::report::experiment::again_command;
use crate::report::experiment_data::ExperimentReport;
use crate::report::experiment_said::said;
use crate::report::experiment_sheets::{Sheet, experiment_sheets};
use crate::report::page::{Head, Section, fold, render, table, verbatim};
use crate::report::series::Point;
use crate::report::words::{self, html};
use helenus_model::comparison::Measure;
use helenus_model::experiment::{Analysis, Effect, Experiment};

/// The report of an experiment: one HTML file.
pub fn experiment_html(report: &ExperimentReport<'_>) -> String {
    let (said, lines) = said(report);
    let stored = report.stored;
    let progress = report.progress;
    let head = Head {
        title: format!("{}: {}", stored.id, stored.name),
        kicker: format!("Helenus · experiment {} ({})", stored.name, stored.id),
        headline: said.headline,
        badge: (said.badge.to_owned(), words::style(said.tone)),
        facts: vec![
            format!("{} of {} runs", progress.done, progress.planned),
            format!("seed {}", stored.seed.0),
            words::wall(stored.began_wall_ns),
        ],
    };
    let more: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>", html(line)))
        .collect();
    let on = report.measured_on.iter();
    let on = on.map(|on| format!("<li>{}</li>", html(on)));
    let on = match report.measured_on.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"more\">{}</ul>\n", on.collect::<String>()),
    };
    let more = match more.is_empty() {
        true => more,
        false => format!("<ul class=\"more\">{more}</ul>\n"),
    };
    let charts = report.analysis.map_or_else(Vec::new, |found| {
        let mut charts = vec![forest(found)];
        charts.extend(heat(report.experiment, found));
        charts.extend(curves(report.experiment, found));
        charts
    });
    let mut drawn = charts.iter().filter(|c| !c.is_empty()).map(Chart::render);
    let lead = drawn.next().unwrap_or_default();
    let sheets = experiment_sheets(report);
    let of = |title: &str| -> String {
        let own = sheets.iter().filter(|sheet| sheet.title == title);
        own.map(sheet).collect()
    };
    let sections = [
        Section::open("limits", "What else was found, and what limits it", more),
        Section::open("charts", "By settings", drawn.next().unwrap_or_default()),
        Section::folded("levels", "By level", drawn.collect()),
        Section::folded("tips", "Claimed gains", of("Tips")),
        Section::folded("effects", "Effects", of("Effects")),
        Section::folded("interactions", "Interactions", of("Interactions")),
        Section::folded("bars", "Thresholds", of("Thresholds")),
        Section::folded(
            "rates",
            "Rate that holds a threshold",
            of("Rate that holds a threshold"),
        ),
        Section::folded("settings", "Settings", of("Settings")),
        Section::folded("runs", "All runs", sortable(&of("Runs"))),
        Section::folded("failures", "What did not run", of("What did not run")),
        Section::folded("machine", "Measured on", on),
        Section::open("repeat", "How to repeat it", repeat(report)),
    ];
    render(&head, &lead, &sections)
}

fn sheet(sheet: &Sheet) -> String {
    let note = match sheet.note {
        "" => String::new(),
        note => format!("<p class=\"note\">{}</p>", html(note)),
    };
    note + &table(&sheet.heads, &sheet.rows)
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
    let shown = |e: &&Effect| e.measure == found.measure && e.testable;
    let own = found.effects.iter().filter(shown);
    let own: Vec<_> = own.filter_map(|e| Some((e, e.drawn()?))).collect();
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let names: Vec<String> = own.iter().map(|(e, _)| e.label()).collect();
    let (x, y) = (Axis::around("change in %"), Axis::names("", &names));
    let mut chart = Chart::plain("effects", &title, x, y).note(
        "Each level against the first of its factor; the line is its simultaneous 95 % interval, from three blocks on; 0 is no difference.",
    );
    if own.is_empty() {
        return chart;
    }
    chart.height = 36 * u32::try_from(own.len()).unwrap_or(20);
    chart.rule = Some(Rule::X(0.0));
    let marks = own
        .iter()
        .zip(&names)
        .enumerate()
        .map(|(place, ((_, e), name))| {
            let says = format!(
                "{name}: {} ({})",
                words::change(e.ratio),
                words::interval(e)
            );
            let mut mark = Mark::at(percent(e.ratio), whole(place), Symbol::Circle, says);
            mark.x_ends = Some([percent(e.low), percent(e.high)]);
            mark
        });
    let marks = marks.collect();
    chart.series.push(Series::marks("change", "service", marks));
    chart
}

/// A number in the unit that charts of its measure have.
fn scaled(measure: Measure, value: f64) -> f64 {
    match measure.is_time() {
        true => value / 1e3,
        false => value,
    }
}

fn unit(measure: Measure) -> String {
    let unit = match measure {
        Measure::Throughput | Measure::MaxRate => "op/s",
        Measure::NodeCpu | Measure::GeneratorCpu => "µs",
        _ => "ms",
    };
    format!("{} in {unit}", words::measure(measure))
}

/// The two factors that a map of cells shows: those that matter most for what it is about; what is given comes after what
/// is chosen.
fn of_heat(of: &Experiment, found: &Analysis) -> Option<[usize; 2]> {
    let weight = |place: usize| {
        let factor = &of.factors[place];
        let own = found
            .effects
            .iter()
            .filter(|e| e.factor == factor.name && e.measure == found.measure);
        let most = own.filter_map(|e| Some(e.estimate?.ratio.ln().abs()));
        (!factor.given, most.fold(0.0, f64::max))
    };
    let mut places: Vec<usize> = (0..of.factors.len()).collect();
    places.sort_by(|a, b| {
        let (a, b) = (weight(*a), weight(*b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let [one, other, ..] = places.as_slice() else {
        return None;
    };
    Some([*one.min(other), *one.max(other)])
}

/// The two factors that matter most against each other, where there are two.
fn heat(of: &Experiment, found: &Analysis) -> Option<Chart> {
    let [a, b] = of_heat(of, found)?;
    let (one, other) = (&of.factors[a], &of.factors[b]);
    let labels = |levels: &[helenus_model::experiment::Level]| -> Vec<String> {
        levels.iter().map(|level| level.label.clone()).collect()
    };
    let x = Axis::names(&other.name, &labels(&other.levels));
    let y = Axis::names(
        &format!("by {} and {}", one.name, other.name),
        &labels(&one.levels),
    );
    let mut chart = Chart::plain("heat", &unit(found.measure), x, y).note(
        "Means over the settings of the other factors; a cell is empty where one of them has no number.",
    );
    chart.height = 44 * u32::try_from(one.levels.len()).unwrap_or(10);
    let mut known = Vec::new();
    for row in 0..one.levels.len() {
        let along = found.along(found.measure, (b, other.levels.len()), |l| l[a] == row);
        let along = along.into_iter().enumerate();
        known
            .extend(along.filter_map(|(column, v)| Some((row, column, scaled(found.measure, v?)))));
    }
    let values = || known.iter().map(|(_, _, value)| *value);
    let low = values().fold(f64::INFINITY, f64::min);
    let reach = values().fold(f64::NEG_INFINITY, f64::max) - low;
    let cell = |(row, column, value): &(usize, usize, f64)| Cell {
        column: *column,
        row: *row,
        strength: if reach > 0.0 {
            (value - low) / reach
        } else {
            0.5
        },
        words: tooltip(*value),
    };
    chart.cells = known.iter().map(cell).collect();
    Some(chart)
}

/// Most lines of one chart; the style sheet has eight colours of nodes.
const LINES_MOST: usize = 8;

/// The settings of the other factors by which a curve has its lines, each with its name: all of them where they are few
/// enough, else the levels of one factor.
fn lines_of(of: &Experiment, found: &Analysis, place: usize) -> Vec<(String, Vec<Option<usize>>)> {
    let mut rests: Vec<Vec<Option<usize>>> = Vec::new();
    for cell in &found.combinations {
        let mut rest: Vec<Option<usize>> = cell.levels.iter().map(|l| Some(*l)).collect();
        rest[place] = None;
        if !rests.contains(&rest) {
            rests.push(rest);
        }
    }
    // A line of one point is none.
    let points = |rest: &[Option<usize>]| {
        let own = found.combinations.iter();
        own.filter(|cell| on(rest, &cell.levels)).count()
    };
    rests.retain(|rest| points(rest) > 1);
    if rests.is_empty() || rests.len() > LINES_MOST {
        let others = (0..of.factors.len()).filter(|other| *other != place);
        let few = |other: &usize| of.factors[*other].levels.len() <= LINES_MOST;
        rests = match others.into_iter().find(few) {
            Some(by) => (0..of.factors[by].levels.len())
                .map(|level| {
                    let mut rest = vec![None; of.factors.len()];
                    rest[by] = Some(level);
                    rest
                })
                .collect(),
            None => vec![vec![None; of.factors.len()]],
        };
    }
    let name = |rest: &[Option<usize>]| {
        let named = rest.iter().enumerate();
        let named = named.filter_map(|(at, level)| {
            let factor = &of.factors[at];
            let label = &factor.levels[(*level)?].label;
            (factor.levels.len() > 1).then(|| format!("{}={label}", factor.name))
        });
        named.collect::<Vec<_>>().join(" ")
    };
    let each = rests.into_iter().map(|rest| (name(&rest), rest));
    each.collect()
}

/// Whether a combination is on the line of these settings.
fn on(rest: &[Option<usize>], levels: &[usize]) -> bool {
    let mut pairs = rest.iter().zip(levels);
    pairs.all(|(wanted, level)| wanted.is_none_or(|wanted| wanted == *level))
}

/// How to read the intervals of a curve.
const OF_WHISKERS: &str = "Vertical lines are 95 % intervals of a setting's mean; the effects above show by how much two of them differ.";

/// The interval of a point of a line that is one setting; none where it is several.
fn whisker(found: &Analysis, is_at: impl Fn(&[usize]) -> bool) -> Option<[f64; 2]> {
    let all = found.combinations.iter();
    let mut own = all.filter(|cell| is_at(&cell.levels));
    let (Some(cell), None) = (own.next(), own.next()) else {
        return None;
    };
    let ends = cell.intervals.get(&found.measure)?;
    Some(ends.map(|end| scaled(found.measure, end)))
}

/// For each factor whose levels are rising numbers: the measure along them, a line for each settings of the others.
fn curves(of: &Experiment, found: &Analysis) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (place, factor) in of.factors.iter().enumerate() {
        let Some(x) = factor.numbers() else {
            continue;
        };
        let labels = factor.levels.iter().map(|level| level.label.clone());
        let labels = x.iter().copied().zip(labels).collect();
        let mut chart = Chart::plain(
            &format!("curve-{place}"),
            &format!("{} by {}", unit(found.measure), factor.name),
            Axis::around(&factor.name).with_labels(labels),
            Axis::from_zero(""),
        );
        let limit = found.generator_limit.as_ref();
        let limit = limit.map_or_else(String::new, |at| {
            format!("The generator was the limit {at}. ")
        });
        let mut has_whiskers = false;
        for (line, (name, rest)) in lines_of(of, found, place).into_iter().enumerate() {
            let along = found.along(found.measure, (place, x.len()), |l| on(&rest, l));
            // Over levels that a fraction has not there the line goes on; where a number is missing it does not.
            let cells = || found.combinations.iter().map(|cell| &cell.levels);
            let is_there = |level: usize| cells().any(|l| l[place] == level && on(&rest, l));
            let there = (0..x.len()).filter(|level| is_there(*level));
            let there: Vec<(usize, Point)> = there
                .map(|level| {
                    (
                        level,
                        (x[level], along[level].map(|v| scaled(found.measure, v))),
                    )
                })
                .collect();
            let marks = there.iter().filter_map(|(level, point)| {
                let value = point.1?;
                let says = format!(
                    "{name} at {}: {}",
                    factor.levels[*level].label,
                    tooltip(value)
                );
                let mut mark =
                    Mark::at(point.0, value, Symbol::Circle, says.trim_start().to_owned());
                mark.y_ends = whisker(found, |l| l[place] == *level && on(&rest, l));
                Some(mark)
            });
            let marks: Vec<Mark> = marks.collect();
            if marks.is_empty() {
                continue;
            }
            has_whiskers |= marks.iter().any(|mark| mark.y_ends.is_some());
            let role = format!("node{}", line % LINES_MOST);
            let points = there.iter().map(|(_, point)| *point).collect();
            let series = Series::line(&name, &role, Style::Solid, points);
            chart.series.push(series.with(marks));
        }
        let of_whiskers = if has_whiskers { OF_WHISKERS } else { "" };
        chart = chart.note(format!("{limit}{of_whiskers}").trim_end());
        charts.push(chart);
    }
    charts
}

fn repeat(report: &ExperimentReport<'_>) -> String {
    let command = verbatim(&again_command(report));
    let file = fold("The file", &verbatim(&report.stored.text));
    format!("{command}{file}")
}
