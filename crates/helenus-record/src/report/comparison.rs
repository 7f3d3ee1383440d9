//! The page of a comparison: what may be claimed, by how much, and how sure that is.
//! Refuses a claim where there is none: two single runs stand side by side, and that is all.

use crate::report::ComparisonReport;
use crate::report::axis::{Axis, tooltip, whole};
use crate::report::chart::{Chart, Mark, Rule, Series, Style, Symbol};
use crate::report::page::{Head, Section, fold, pairs, render, verbatim};
use crate::report::series::Point;
use crate::report::words::{self, html};
use helenus_model::calibration::Step;
use helenus_model::comparison::{BarAnswer, Comparison, Estimate, Finding, Row};
use helenus_model::units::plural;

pub(super) fn page(report: &ComparisonReport<'_>) -> String {
    let c = report.comparison;
    let said = c.conclusion();
    let style = words::style(said.tone);
    let head = Head {
        title: format!("{}: {} against {}", report.name, c.b.label, c.a.label),
        kicker: format!("Helenus · comparison {}", report.name),
        headline: said.headline,
        badge: (said.badge.to_owned(), style),
        facts: vec![
            format!("A is {}", c.a.label),
            format!("B is {}", c.b.label),
            plural(c.pairs.len(), "pair"),
            words::wall(report.made_wall_ns),
        ],
    };
    let charts = |charts: Vec<Chart>| -> String {
        let drawn = charts.iter().filter(|c| !c.is_empty());
        drawn.map(Chart::render).collect()
    };
    let main = main_rows(c);
    let rest = match main.len() == c.rows.len() {
        true => Vec::new(),
        false => forests(c),
    };
    let lead = charts(vec![forest(
        "main",
        "B against A, with 95 % intervals",
        &main,
    )]) + &bars(c);
    let sections = [
        Section::open("limits", "What limits it", limits(c)),
        Section::folded("ratios", "Each measure", charts(rest)),
        Section::folded("pairs", "Pair by pair", charts(by_pair(c))),
        Section::folded("table", "All numbers", table(c)),
        Section::folded("sides", "The two sides", sides(c)),
        Section::open("repeat", "How to repeat it", repeat(report)),
    ];
    render(&head, &lead, &sections)
}

/// The rows that claims are made of; below six pairs those that each phase is about.
fn main_rows(c: &Comparison) -> Vec<&Row> {
    let may_claim = |row: &&Row| !matches!(row.finding(), Finding::NoClaim | Finding::Exploratory);
    let claims: Vec<&Row> = c.rows.iter().filter(may_claim).collect();
    match claims.is_empty() {
        true => leading(c).into_iter().map(|(_, row)| row).collect(),
        false => claims,
    }
}

/// The row that each phase is about, with the phase's place.
fn leading(c: &Comparison) -> Vec<(usize, &Row)> {
    let phases = words::phases(c);
    let each = phases.iter().enumerate();
    each.filter_map(|(place, phase)| Some((place, words::leading(c, phase)?)))
        .collect()
}

/// What stands against the answer, what it could have missed, and what was left out.
fn limits(c: &Comparison) -> String {
    let detectable = main_rows(c).into_iter().filter_map(|row| {
        let estimate = row.estimate.filter(Estimate::is_enough)?;
        Some((estimate.detectable? - 1.0, row.name()))
    });
    let mut detectable: Vec<(f64, String)> = detectable.collect();
    detectable.sort_by(|a, b| a.0.total_cmp(&b.0));
    let said = |(share, name): &(f64, String)| format!("{} ({name})", words::percent(*share));
    let missed = match detectable.as_slice() {
        [] => None,
        [one] => Some(said(one)),
        [least, .., most] => Some(format!("{} to {}", said(least), said(most))),
    };
    let pairs = c.pairs.len();
    let missed = missed
        .into_iter()
        .map(|of| format!("{pairs} pairs detect differences of {of} with 80 % power"));
    let left = c.left_out.iter();
    let left = left.map(|l| format!("{} was left out: {}", l.run, l.why));
    let calibration = c.calibration.as_ref().map(Step::sentence);
    let notes = missed.chain(calibration).chain(left);
    let notes: String = notes.map(|n| format!("<li>{}</li>", html(&n))).collect();
    match notes.is_empty() {
        true => cautions(c),
        false => format!("{}<ul class=\"more\">{notes}</ul>\n", cautions(c)),
    }
}

fn cautions(c: &Comparison) -> String {
    let items: String = c
        .cautions
        .iter()
        .map(|one| {
            format!(
                "<li class=\"caution\"><span class=\"tag\">caution</span> <strong>{}</strong><br>\
                 <span class=\"cure\">cure: {}</span></li>",
                html(&one.text),
                words::prose(&one.cure)
            )
        })
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"doubts\">{items}</ul>\n")
    }
}

fn bars(c: &Comparison) -> String {
    let items: String = c
        .bars
        .iter()
        .map(|bar| {
            let answer = bar.answer.words();
            let style = match bar.answer {
                BarAnswer::Holds => "valid",
                BarAnswer::CannotTell => "caution",
                BarAnswer::Crossed => "invalid",
            };
            let interval = bar.low.zip(bar.high).map(|(low, high)| {
                format!("; one-sided bounds {} and {}", words::change(low), words::change(high))
            });
            format!(
                "<li class=\"{style}\"><span class=\"tag\">{answer}</span> <code>{}</code> {}{}</li>",
                html(&bar.text),
                html(&bar.row),
                html(&interval.unwrap_or_default())
            )
        })
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"doubts\">{items}</ul>\n")
    }
}

/// The colour of a row: by what its claim means for a user.
fn role(row: &Row) -> &'static str {
    let higher = match row.finding() {
        Finding::Higher => true,
        Finding::Lower => false,
        _ => return "same",
    };
    if higher == row.measure.more_is_better() {
        "better"
    } else {
        "worse"
    }
}

/// The place of a row among the kinds of [`forest`]: its claim, or that it may be none.
fn kind(row: &Row) -> &'static str {
    match row.finding() {
        Finding::Exploratory => "exploratory",
        _ => role(row),
    }
}

/// The axis of ratios: 0.5 and 2 are equally far from 1. Marks lie as close as the rows' widest ratio needs.
fn ratio_axis(title: &str, rows: &[&Row]) -> Axis {
    let bounds = rows.iter().flat_map(|r| {
        let interval = r.estimate.filter(Estimate::is_enough);
        let interval = interval.map(|e| [e.low, e.high]);
        r.ratios
            .iter()
            .flatten()
            .copied()
            .chain(interval.into_iter().flatten())
    });
    let far = bounds.map(|r| r.ln().abs()).fold(0.0, f64::max);
    let ticks: &[f64] = match far {
        f if f < 0.035 => &[0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03],
        f if f < 0.12 => &[0.9, 0.95, 1.0, 1.05, 1.1],
        f if f < 0.25 => &[0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2],
        f if f < 0.5 => &[0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5],
        _ => &[0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 10.0],
    };
    let words = ticks.iter().map(|r| match r {
        r if (r - 1.0).abs() < 1e-9 => (*r, "same".to_owned()),
        r => (*r, format!("{:+.0} %", (r - 1.0) * 100.0)),
    });
    Axis::log_around(title).with_labels(words.collect())
}

/// A forest plot a phase: each row's ratio, its interval, its pairs.
fn forests(c: &Comparison) -> Vec<Chart> {
    words::phases(c)
        .iter()
        .enumerate()
        .map(|(place, phase)| {
            let rows: Vec<&Row> = c.rows.iter().filter(|r| r.phase == *phase).collect();
            let title = format!("{phase}: B against A, with 95 % intervals");
            forest(&format!("forest-{place}"), &title, &rows)
        })
        .collect()
}

fn forest(id: &str, title: &str, rows: &[&Row]) -> Chart {
    let differ = |of: fn(&Row) -> &str| rows.iter().any(|row| of(row) != of(rows[0]));
    let (phases, operations) = (differ(|r| &r.phase), differ(|r| &r.operation));
    let name = |row: &Row| {
        let phase = phases.then_some(row.phase.as_str());
        let operation = operations.then_some(row.operation.as_str());
        let parts = [phase, operation, Some(words::measure(row.measure))];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join(" ")
    };
    let names: Vec<String> = rows.iter().map(|r| name(r)).collect();
    let x = ratio_axis("B against A", rows);
    let y = Axis::names("", &names);
    let mut chart = Chart::plain(id, title, x, y);
    chart.height = 34 * u32::try_from(rows.len()).unwrap_or(20);
    chart.rule = Some(Rule::X(1.0));
    let level = |(place, row)| (whole(place), row);
    let placed: Vec<(f64, &Row)> = rows.iter().copied().enumerate().map(level).collect();
    let single = placed.iter().flat_map(|(y, row)| {
        let ratios = row.ratios.iter().flatten();
        ratios.map(|ratio| {
            let says = format!("one pair: {}", words::change(*ratio));
            Mark::at(*ratio, *y, Symbol::Stroke, says)
        })
    });
    let single: Vec<Mark> = single.collect();
    if !single.is_empty() {
        chart
            .series
            .push(Series::marks("single pairs", "pair", single));
    }
    let kinds = [
        ("better", "better", "better", Symbol::Diamond),
        ("worse", "worse", "worse", Symbol::Square),
        ("exploratory", "same", "exploratory", Symbol::Circle),
        ("same", "same", "not significant", Symbol::Open),
    ];
    for (wanted, colour, said, symbol) in kinds {
        let of = placed.iter().filter(|(_, row)| kind(row) == wanted);
        let marks = of.filter_map(|(y, row)| {
            let e = row.estimate.filter(Estimate::is_enough)?;
            let change = words::change(e.ratio);
            let says = format!("{}: {change} ({})", name(row), words::interval(&e));
            let mut mark = Mark::at(e.ratio, *y, symbol, says);
            mark.x_ends = Some([e.low, e.high]);
            Some(mark)
        });
        let marks: Vec<Mark> = marks.collect();
        if !marks.is_empty() {
            chart.series.push(Series::marks(said, colour, marks));
        }
    }
    let estimates = || rows.iter().filter_map(|row| row.estimate);
    let note = if estimates().any(|e| e.is_enough()) {
        "Diamonds are significantly better for a user, squares significantly worse, after correction; open circles are \
         not significant, filled ones exploratory. Small strokes are single pairs."
    } else {
        "Small strokes are single pairs; fewer than six are too few for an interval."
    };
    chart.note(note)
}

/// The leading rows' ratios in the order in which the pairs ran: drift would show here.
fn by_pair(c: &Comparison) -> Vec<Chart> {
    if c.pairs.len() < 2 {
        return Vec::new();
    }
    let title = "The ratio of each pair, in the order in which they ran";
    let leading = leading(c);
    let rows: Vec<&Row> = leading.iter().map(|(_, row)| *row).collect();
    let x = Axis::between("pair", 0.5, whole(c.pairs.len()) + 0.5);
    let x = x.with_labels(pair_ticks(c.pairs.len()));
    let mut chart = Chart::plain("by-pair", title, x, ratio_axis("B against A", &rows));
    chart.rule = Some(Rule::Y(1.0));
    for (place, row) in leading {
        let each = || row.ratios.iter().zip(&c.pairs).enumerate();
        let points: Vec<Point> = each().map(|(i, (r, _))| (whole(i + 1), *r)).collect();
        let marks = each().filter_map(|(i, (ratio, pair))| {
            let (symbol, first) = match pair.a_first {
                true => (Symbol::Circle, "A"),
                false => (Symbol::Open, "B"),
            };
            let ratio = (*ratio)?;
            let says = format!("pair {}, {first} first: ratio {}", i + 1, tooltip(ratio));
            Some(Mark::at(whole(i + 1), ratio, symbol, says))
        });
        let name = format!("{} {}", row.phase, words::measure(row.measure));
        let role = format!("operation{}", place % 6);
        let line = Series::line(&name, &role, Style::Dotted, points);
        chart.series.push(line.with(marks.collect()));
    }
    vec![chart.note("Filled: A ran first; open: B ran first. A slope, or a gap between filled and open, shows drift.")]
}

/// The numbers of so many pairs: some of them, where they are many.
fn pair_ticks(pairs: usize) -> Vec<(f64, String)> {
    let apart = pairs.div_ceil(12).max(1);
    let shown = (1..=pairs).step_by(apart);
    shown.map(|pair| (whole(pair), pair.to_string())).collect()
}

fn table(c: &Comparison) -> String {
    let rows: String = c.rows.iter().map(row).collect();
    let power = match c.sequential {
        true => "",
        false => {
            " <em>Detectable</em> is the smallest difference that this many pairs detect with 80 % power; \
             <em>pairs for ±5 %</em> is how many an interval of that width needs."
        }
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr><th>phase</th><th>operation</th>\
         <th>measure</th><th class=\"n\">A</th><th class=\"n\">B</th><th class=\"n\">B against A</th>\
         <th>95 % interval</th><th>finding</th><th class=\"n\">p</th><th class=\"n\">p by Holm</th>\
         <th class=\"n\">pairs</th><th class=\"n\">detectable</th><th class=\"n\">pairs for ±5 %</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\
         <p class=\"note\">A and B are geometric means over restarts.{power} {}</p>\n",
        html(&c.rule().unwrap_or_default())
    )
}

fn row(row: &Row) -> String {
    let dash = || "–".to_owned();
    let any = row.estimate.as_ref();
    let e = any.filter(|e| e.is_enough());
    let says = row.finding().words();
    let p = |p: f64| {
        if p < 0.001 {
            "&lt; 0.001".to_owned()
        } else {
            format!("{p:.3}")
        }
    };
    format!(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td>{}</td><td class=\"says {}\">{says}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html(&row.phase),
        html(&row.operation),
        html(words::measure(row.measure)),
        words::value(row.measure, row.a),
        words::value(row.measure, row.b),
        any.map_or_else(dash, |e| words::change(e.ratio)),
        e.map_or_else(dash, words::interval),
        role(row),
        e.map_or_else(dash, |e| p(e.p)),
        e.and_then(|e| e.p_holm).map_or_else(dash, p),
        any.map_or_else(dash, |e| e.pairs.to_string()),
        e.and_then(|e| e.detectable)
            .map_or_else(dash, |finds| words::percent(finds - 1.0)),
        any.and_then(|e| e.pairs_for_5_percent)
            .map_or_else(dash, |pairs| pairs.to_string()),
    )
}

fn sides(c: &Comparison) -> String {
    let rows: String = c
        .differences
        .iter()
        .map(|d| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
                html(&d.what),
                html(&d.a),
                html(&d.b)
            )
        })
        .collect();
    let runs = format!(
        "<tr><th scope=\"row\">runs</th><td>{}</td><td>{}</td></tr>",
        html(&c.a.runs.join(", ")),
        html(&c.b.runs.join(", "))
    );
    let mut body = format!(
        "<div class=\"scroll\"><table><thead><tr><th>what</th><th>A: {}</th><th>B: {}</th></tr></thead>\
         <tbody>{runs}{rows}</tbody></table></div>\n",
        html(&c.a.label),
        html(&c.b.label)
    );
    if c.differences.is_empty() {
        body.push_str(
            "<p class=\"note\">Their plans and machines do not differ in anything recorded.</p>",
        );
    }
    if let Some(s) = &c.stopping {
        body.push_str("<h3>How many pairs, and why</h3>");
        body.push_str(&pairs(&[
            ("target half-width", words::percent(s.wanted - 1.0)),
            ("governed by", s.governed_by.clone()),
            ("pairs of the first stage", s.first_stage.to_string()),
            ("pairs that the rule required", s.asked_for.to_string()),
            ("most pairs allowed", s.max_pairs.to_string()),
        ]));
    }
    body
}

fn repeat(report: &ComparisonReport<'_>) -> String {
    let c = report.comparison;
    let pairs: Vec<String> = c
        .pairs
        .iter()
        .enumerate()
        .map(|(i, pair)| {
            let (a, b) = (
                format!("A {}", pair.a.join(" ")),
                format!("B {}", pair.b.join(" ")),
            );
            let order = if pair.a_first {
                format!("{a}, then {b}")
            } else {
                format!("{b}, then {a}")
            };
            format!("pair {}: {order}", i + 1)
        })
        .collect();
    let commands: String = report
        .repeat
        .iter()
        .map(|command| verbatim(command))
        .collect();
    let order = if pairs.is_empty() {
        String::new()
    } else {
        fold("The order of the pairs", &verbatim(&pairs.join("\n")))
    };
    format!("{commands}{order}")
}
