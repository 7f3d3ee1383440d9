//! The page of a comparison: what may be claimed, by how much, and how sure that is.
//! Refuses a claim where there is none: two single runs stand side by side, and that is all.

use crate::report::ComparisonReport;
use crate::report::chart::{Chart, short, text};
use crate::report::page::{Head, Section, pairs, render, verbatim};
use crate::report::words::{self, html};
use helenus_model::comparison::{BarAnswer, Comparison, Estimate, Finding, Row};
use serde_json::json;

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
    let lead = format!("{}{}", cautions(c), bars(c));
    let section = |id, title, body| Section { id, title, body };
    let charts = |charts: Vec<Chart>| {
        charts
            .iter()
            .filter(|c| !c.is_empty())
            .map(|c| c.render())
            .collect()
    };
    let sections = [
        section("ratios", "How they differ", charts(forests(c))),
        section("pairs", "Pair by pair", charts(by_pair(c))),
        section("table", "All numbers", table(c)),
        section("sides", "The two sides", sides(c)),
        section("repeat", "How to repeat it", repeat(report)),
    ];
    render(&head, &lead, &sections)
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 {
        format!("1 {word}")
    } else {
        format!("{n} {word}s")
    }
}

fn cautions(c: &Comparison) -> String {
    let items: String = c
        .cautions
        .iter()
        .map(|one| {
            format!(
                "<li class=\"caution\"><span class=\"tag\">caution</span> <strong>{}</strong><br>\
                 <span class=\"cure\">What helps: {}</span></li>",
                html(&one.text),
                html(&one.cure)
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
fn ratio_axis(title: &str, rows: &[&Row]) -> serde_json::Value {
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
    let words: Vec<String> = ticks
        .iter()
        .map(|r| match r {
            r if (r - 1.0).abs() < 1e-9 => "same".to_owned(),
            r => format!("{:+.0} %", (r - 1.0) * 100.0),
        })
        .collect();
    json!({"type": "log", "title": {"text": title}, "tickvals": ticks, "ticktext": words, "tickangle": 0,
        "zeroline": false})
}

/// A forest plot a phase: each row's ratio, its interval, its pairs.
fn forests(c: &Comparison) -> Vec<Chart> {
    words::phases(c)
        .iter()
        .enumerate()
        .map(|(place, phase)| forest(c, place, phase))
        .collect()
}

fn forest(c: &Comparison, place: usize, phase: &str) -> Chart {
    let rows: Vec<&Row> = c.rows.iter().filter(|r| r.phase == phase).collect();
    let several = rows.iter().any(|r| r.operation != rows[0].operation);
    let name = |row: &Row| {
        let measure = words::measure(row.measure);
        if several {
            text(&format!("{} {measure}", row.operation))
        } else {
            measure.to_owned()
        }
    };
    let title = format!("{phase}: B against A, with 95 % intervals");
    let mut chart = Chart::plain(&format!("forest-{place}"), &title);
    chart.height = 110 + 30 * u32::try_from(rows.len()).unwrap_or(20);
    let names: Vec<String> = rows.iter().rev().map(|r| name(r)).collect();
    let dots: Vec<(String, f64)> = rows
        .iter()
        .flat_map(|row| row.ratios.iter().flatten().map(|r| (name(row), short(*r))))
        .collect();
    let (y, x): (Vec<String>, Vec<f64>) = dots.into_iter().unzip();
    chart.trace("pair", json!({"type": "scatter", "mode": "markers", "name": "single pairs", "x": x, "y": y,
        "opacity": 0.55, "marker": {"size": 6, "symbol": "line-ns-open"}, "hovertemplate": "%{y}: ratio %{x}<extra>one pair</extra>"}));
    let kinds = [
        ("better", "better", "better", "diamond"),
        ("worse", "worse", "worse", "square"),
        ("exploratory", "same", "exploratory", "circle"),
        ("same", "same", "not significant", "circle-open"),
    ];
    for (wanted, colour, said, symbol) in kinds {
        let of: Vec<_> = rows
            .iter()
            .filter_map(|r| Some((*r, r.estimate.filter(Estimate::is_enough)?)))
            .filter(|(r, _)| kind(r) == wanted)
            .collect();
        if of.is_empty() {
            continue;
        }
        let said_of: Vec<String> = of
            .iter()
            .map(|(_, e)| format!("{} ({})", words::change(e.ratio), words::interval(e)))
            .collect();
        chart.trace(colour, json!({
            "type": "scatter", "mode": "markers", "name": said, "text": said_of,
            "x": of.iter().map(|(_, e)| short(e.ratio)).collect::<Vec<_>>(),
            "y": of.iter().map(|(r, _)| name(r)).collect::<Vec<_>>(),
            "marker": {"size": 11, "symbol": symbol}, "hovertemplate": "%{y}: %{text}<extra></extra>",
            "error_x": {"type": "data", "symmetric": false, "thickness": 2.2, "width": 5,
                "array": of.iter().map(|(_, e)| short(e.high - e.ratio)).collect::<Vec<_>>(),
                "arrayminus": of.iter().map(|(_, e)| short(e.ratio - e.low)).collect::<Vec<_>>()}
        }));
    }
    chart.set("xaxis", ratio_axis("B against A", &rows));
    chart.set(
        "yaxis",
        json!({"categoryorder": "array", "categoryarray": names, "automargin": true}),
    );
    chart.set("shapes", json!([{"type": "line", "xref": "x", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "name": "one"}]));
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
    let mut chart = Chart::plain(
        "by-pair",
        "The ratio of each pair, in the order in which they ran",
    );
    for (place, phase) in words::phases(c).iter().enumerate() {
        let Some(row) = words::leading(c, phase) else {
            continue;
        };
        let x: Vec<usize> = (1..=row.ratios.len()).collect();
        let y: Vec<Option<f64>> = row.ratios.iter().map(|r| r.map(short)).collect();
        let symbols: Vec<&str> = c
            .pairs
            .iter()
            .map(|p| if p.a_first { "circle" } else { "circle-open" })
            .collect();
        let first: Vec<&str> = c
            .pairs
            .iter()
            .map(|p| if p.a_first { "A first" } else { "B first" })
            .collect();
        let name = text(&format!("{phase} {}", words::measure(row.measure)));
        chart.trace(&format!("operation{}", place % 6), json!({
            "type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": y, "text": first,
            "line": {"width": 1, "dash": "dot"}, "marker": {"size": 9, "symbol": symbols},
            "hovertemplate": "pair %{x}, %{text}: ratio %{y}"
        }));
    }
    chart.set("xaxis", json!({"title": {"text": "pair"}, "dtick": 1}));
    let rows: Vec<&Row> = words::phases(c)
        .iter()
        .filter_map(|p| words::leading(c, p))
        .collect();
    chart.set("yaxis", ratio_axis("B against A", &rows));
    chart.set("shapes", json!([{"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "name": "one"}]));
    vec![chart.note("Filled: A ran first; open: B ran first. A slope, or a gap between filled and open, shows drift.")]
}

fn table(c: &Comparison) -> String {
    let rows: String = c.rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr><th>phase</th><th>operation</th>\
         <th>measure</th><th class=\"n\">A</th><th class=\"n\">B</th><th class=\"n\">B against A</th>\
         <th>95 % interval</th><th>finding</th><th class=\"n\">p</th><th class=\"n\">p by Holm</th>\
         <th class=\"n\">pairs</th><th class=\"n\">detectable</th><th class=\"n\">pairs for ±5 %</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\
         <p class=\"note\">A and B are geometric means over restarts. <em>Detectable</em> is the smallest difference \
         that this many pairs detect with 80 % power; <em>pairs for ±5 %</em> is how many an interval of \
         that width needs. {}</p>\n",
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
        e.map_or_else(dash, |e| words::percent(e.detectable - 1.0)),
        any.map_or_else(dash, |e| e.pairs_for_5_percent.to_string()),
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
    let left: String = c
        .left_out
        .iter()
        .map(|l| format!("<li>{}: {}</li>", html(&l.run), html(&l.why)))
        .collect();
    if !left.is_empty() {
        body.push_str(&format!("<h3>Left out</h3><ul>{left}</ul>\n"));
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
        format!("<p>In this order:</p>{}", verbatim(&pairs.join("\n")))
    };
    format!("{commands}{order}")
}
