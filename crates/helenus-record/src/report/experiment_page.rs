//! The page of an experiment: the answer, a heat map of two factors, curves of ordered levels, effects, all runs.
//! Refuses a picture that hides what did not run: an empty cell stays empty.

use crate::report::chart::{Chart, short, text};
use crate::report::experiment::{ExperimentReport, again_command, headed};
use crate::report::experiment_sheets::{Sheet, experiment_sheets};
use crate::report::page::{Head, Section, fold, render, verbatim};
use crate::report::words::{self, html};
use helenus_model::comparison::{BarAnswer, Claim, Measure};
use helenus_model::experiment::{Analysis, Answer, Bar, Effect, Experiment};
use serde_json::{Value, json};

/// The report of an experiment: one HTML file.
pub fn experiment_html(report: &ExperimentReport<'_>) -> String {
    let (headline, lines) = headed(report);
    let stored = report.stored;
    let (badge, style) = badge(report);
    let progress = report.progress;
    let head = Head {
        title: format!("{}: {}", stored.id, stored.name),
        kicker: format!("Helenus · experiment {} ({})", stored.name, stored.id),
        headline,
        badge: (badge.to_owned(), style),
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
    let more = format!("{more}{}", on.collect::<String>());
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
        section("tips", "Claimed gains", of("Tips")),
        section("effects", "Effects", of("Effects")),
        section("interactions", "Interactions", of("Interactions")),
        section("bars", "Thresholds", of("Thresholds")),
        section(
            "rates",
            "Rate that holds a threshold",
            of("Rate that holds a threshold"),
        ),
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
        .map(Answer::settled);
    let bars = report.analysis.map_or(&[][..], |found| &found.bars);
    let held = |bar: &Bar| {
        let mut own = bars.iter().filter(|cell| cell.bar == bar.text);
        own.any(|cell| cell.answer == BarAnswer::Holds)
    };
    let asked = &report.experiment.bars;
    let untestable = report
        .analysis
        .is_some_and(|found| found.not_testable.is_some());
    match claim {
        _ if report.progress.left > 0 => ("not complete yet", "caution"),
        _ if untestable => ("not testable here", "caution"),
        Some(Claim::Higher | Claim::Lower) => ("significant difference", "valid"),
        Some(Claim::NoDifference) => ("no significant difference", "caution"),
        // Settings of different loads have no best; what holds a threshold is reported all the same.
        None if !asked.is_empty() && asked.iter().all(held) => {
            ("its thresholds can be held", "valid")
        }
        Some(Claim::None) | None => ("no claim", "caution"),
    }
}

/// Bytes from which on a cell may have several lines.
const LONG: usize = 80;

fn table(sheet: &Sheet) -> String {
    let cell = |tag: &str, place: usize, words: &str| {
        let class = match sheet.heads[place].starts_with('>') {
            true => " class=\"n\"",
            false if words.len() > LONG || words.contains('\n') => " class=\"long\"",
            false => "",
        };
        format!("<{tag}{class}>{}</{tag}>", html(words))
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
    let note = match sheet.note {
        "" => String::new(),
        note => format!("<p class=\"note\">{}</p>", html(note)),
    };
    format!(
        "{note}<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr>{heads}</tr></thead>\
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
        "Each level against the first of its factor; the line is its simultaneous 95 % interval, from three blocks on; 0 is no difference.",
    );
    let shown = |e: &&Effect| e.measure == found.measure && e.testable;
    let own = found.effects.iter().filter(shown);
    let own: Vec<_> = own.filter_map(|e| Some((e, e.drawn()?))).collect();
    let percent = |ratio: f64| short((ratio - 1.0) * 100.0);
    let names: Vec<String> = own.iter().map(|(e, _)| text(&e.label())).collect();
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
    let row = |level: usize| -> Vec<Value> {
        let along = found.along(found.measure, (b, other.levels.len()), |l| l[a] == level);
        let cell =
            |value: Option<f64>| value.map_or(Value::Null, |v| json!(scaled(found.measure, v)));
        along.into_iter().map(cell).collect()
    };
    let rows: Vec<Vec<Value>> = (0..one.levels.len()).map(row).collect();
    let labels = |levels: &[helenus_model::experiment::Level]| -> Vec<String> {
        levels.iter().map(|level| text(&level.label)).collect()
    };
    let mut chart = Chart::plain("heat", &unit(found.measure)).note(
        "Means over the settings of the other factors; a cell is empty where one of them has no number.",
    );
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
        let told = rest.iter().enumerate();
        let told = told.filter_map(|(at, level)| {
            let factor = &of.factors[at];
            let label = &factor.levels[(*level)?].label;
            (factor.levels.len() > 1).then(|| format!("{}={label}", factor.name))
        });
        told.collect::<Vec<_>>().join(" ")
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

/// The intervals of a line's points that are one setting each, in plotly's words; none where no point has one.
fn whiskers(
    found: &Analysis,
    y: &[Option<f64>],
    is_at: impl Fn(usize, &[usize]) -> bool,
) -> Option<Value> {
    let reach = |level: usize| {
        let mut own = found
            .combinations
            .iter()
            .filter(|cell| is_at(level, &cell.levels));
        let (Some(cell), None) = (own.next(), own.next()) else {
            return None;
        };
        let [low, high] = cell
            .intervals
            .get(&found.measure)?
            .map(|end| scaled(found.measure, end));
        y[level].map(|middle| [short(middle - low), short(high - middle)])
    };
    let reaches: Vec<Option<[f64; 2]>> = (0..y.len()).map(reach).collect();
    // What is no number has no line; plotly takes null for an interval of nothing.
    let side = |side: usize| -> Vec<Value> {
        let ends = reaches.iter().map(|reach| reach.map(|ends| ends[side]));
        ends.map(|end| end.map_or(json!("none"), |end| json!(end)))
            .collect()
    };
    let any = reaches.iter().any(Option::is_some);
    any.then(|| {
        json!({"type": "data", "symmetric": false, "array": side(1), "arrayminus": side(0), "thickness": 1, "width": 3})
    })
}

/// For each factor whose levels are rising numbers: the measure along them, a line for each settings of the others.
fn curves(of: &Experiment, found: &Analysis) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (place, factor) in of.factors.iter().enumerate() {
        let Some(x) = factor.numbers() else {
            continue;
        };
        let mut chart = Chart::plain(
            &format!("curve-{place}"),
            &format!("{} by {}", unit(found.measure), factor.name),
        );
        let limit = found.generator_limit.as_ref();
        let limit = limit.map_or_else(String::new, |at| {
            format!("The generator was the limit {at}. ")
        });
        let labels: Vec<String> = factor.levels.iter().map(|l| text(&l.label)).collect();
        chart.set(
            "xaxis",
            json!({"title": {"text": text(&factor.name)}, "tickvals": x, "ticktext": labels}),
        );
        chart.set(
            "yaxis",
            json!({"rangemode": "tozero", "title": {"text": unit(found.measure)}}),
        );
        let mut has_whiskers = false;
        for (line, (name, rest)) in lines_of(of, found, place).into_iter().enumerate() {
            let along = found.along(found.measure, (place, x.len()), |l| on(&rest, l));
            let along = along.into_iter();
            let y: Vec<Option<f64>> = along
                .map(|value| value.map(|v| scaled(found.measure, v)))
                .collect();
            // Over levels that a fraction has not there the line goes on; where a number is missing it does not.
            let cells = || found.combinations.iter().map(|cell| &cell.levels);
            let is_there = |level: usize| cells().any(|l| l[place] == level && on(&rest, l));
            let there: Vec<usize> = (0..x.len()).filter(|level| is_there(*level)).collect();
            let y: Vec<Option<f64>> = there.iter().map(|level| y[*level]).collect();
            let x: Vec<f64> = there.iter().map(|level| x[*level]).collect();
            let mut trace = json!({"type": "scatter", "mode": "lines+markers", "x": x, "y": y, "name": text(&name)});
            let is_at =
                |nth: usize, levels: &[usize]| levels[place] == there[nth] && on(&rest, levels);
            if let Some(whiskers) = whiskers(found, &y, is_at) {
                trace["error_y"] = whiskers;
                has_whiskers = true;
            }
            chart.trace(&format!("node{}", line % LINES_MOST), trace);
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
