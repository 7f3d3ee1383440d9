//! A comparison as a person reads it: the answer first, then the numbers behind it.
//! Refuses to claim what the comparison does not.

use crate::ui::{Answers, Table, Ui};
use helenus_model::calibration::Step;
use helenus_model::comparison::{Comparison, Conclusion, Finding, LEAST_PAIRS, LEVEL, Measure};
use serde::Serialize;
use std::fmt::Write as _;

/// What `--format json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    /// Its name in the history; none where it could not be kept.
    comparison_id: Option<String>,
    /// What it says, in the words of every report.
    conclusion: Conclusion,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        self.conclusion.headline.clone()
    }
}

/// Shows a comparison under the name that the history gave it.
pub(crate) fn show(comparison: &Comparison, id: Option<String>, ui: &Ui) {
    let conclusion = comparison.conclusion();
    let shown = Shown {
        comparison_id: id.clone(),
        conclusion,
        comparison,
    };
    ui.result(&shown, || text(comparison, id.as_deref()));
}

fn text(of: &Comparison, id: Option<&str>) -> String {
    let mut text = String::new();
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    line(&of.conclusion().headline);
    for side in [("A", &of.a), ("B", &of.b)] {
        line(&format!(
            "  {}  {}: {}",
            side.0,
            side.1.label,
            runs(&side.1.runs)
        ));
    }
    for difference in &of.differences {
        line(&format!(
            "  differs  {}: {} in A, {} in B",
            difference.what, difference.a, difference.b
        ));
    }
    if let Some(stopping) = &of.stopping {
        line(&format!(
            "  pairs  {} first, {} asked for by {} to reach ±{}, at most {}",
            stopping.first_stage,
            stopping.asked_for,
            stopping.governed_by,
            percent(stopping.wanted - 1.0),
            stopping.max_pairs
        ));
    }
    if of.sequential {
        line(&format!(
            "  pairs  {}, tested after each from the sixth on",
            of.pairs.len()
        ));
    }
    line("");
    line(table(of).trim_end());
    if of
        .rows
        .iter()
        .filter_map(|row| row.estimate)
        .any(|e| !e.is_enough())
    {
        line(&format!(
            "–: fewer than {LEAST_PAIRS} pairs give no interval"
        ));
    }
    if let Some(rule) = of.rule() {
        line(&rule);
    }
    if let Some(calibration) = of.calibration.as_ref().map(Step::sentence) {
        line(&calibration);
    }
    for bar in &of.bars {
        let interval = match (bar.low, bar.high) {
            (Some(low), Some(high)) => format!(" ({} to {})", signed(low), signed(high)),
            _ => String::new(),
        };
        line(&format!(
            "threshold {}: {} {}{interval}",
            bar.text,
            bar.row,
            bar.answer.words()
        ));
    }
    for left in &of.left_out {
        line(&format!("left out: {}, {}", left.run, left.why));
    }
    for caution in &of.cautions {
        line(&format!("caution: {}; {}", caution.text, caution.cure));
    }
    if let Some(id) = id {
        line(&format!("stored as {id}; `helenus report {id}` draws it"));
    }
    text
}

fn runs(names: &[String]) -> String {
    match names {
        [] => "no run".to_owned(),
        [one] => one.clone(),
        [first, .., last] if names.len() > 6 => format!("{} runs, {first} … {last}", names.len()),
        several => several.join(", "),
    }
}

fn table(of: &Comparison) -> String {
    let interval = format!("{:.0} % interval", LEVEL * 100.0);
    let mut table = Table::new(&[
        "phase",
        "operation",
        "measure",
        ">A",
        ">B",
        ">B/A",
        &interval,
        ">p",
        ">p (Holm)",
        ">detectable",
        ">±5 % needs",
        "",
    ]);
    for row in &of.rows {
        let mut cells = vec![
            row.phase.clone(),
            row.operation.clone(),
            row.measure.words().to_owned(),
            value(row.measure, row.a),
            value(row.measure, row.b),
        ];
        let needs = row.estimate.and_then(|e| e.pairs_for_5_percent);
        let needs = needs.map_or("–".to_owned(), |pairs| pairs.to_string());
        match row.estimate {
            Some(e) if !e.is_enough() => {
                let [interval, p, holm, finds] = ["–"; 4].map(str::to_owned);
                let words = row.finding().words().to_owned();
                cells.extend([signed(e.ratio), interval, p, holm, finds, needs, words]);
            }
            Some(e) => cells.extend([
                signed(e.ratio),
                format!("{} to {}", signed(e.low), signed(e.high)),
                probability(e.p),
                e.p_holm.map_or("–".to_owned(), probability),
                e.detectable
                    .map_or("–".to_owned(), |finds| percent(finds - 1.0)),
                needs,
                row.finding().words().to_owned(),
            ]),
            None => cells.extend([signed(row.b / row.a), Finding::NoClaim.words().to_owned()]),
        }
        table.row(cells);
    }
    table.render()
}

fn probability(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// A ratio as a signed change.
fn signed(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    if !change.is_finite() {
        return "–".to_owned();
    }
    let digits = usize::from(change.abs() < 100.0);
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{:.digits$} %", change.abs())
}

fn percent(share: f64) -> String {
    let n = share * 100.0;
    if n < 100.0 {
        let text = format!("{n:.1}");
        format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
    } else {
        format!("{n:.0} %")
    }
}

fn value(of: Measure, number: f64) -> String {
    let mut text = String::new();
    let _infallible = match of {
        Measure::Throughput | Measure::MaxRate => write!(text, "{number:.0}/s"),
        Measure::NodeCpu | Measure::GeneratorCpu => write!(text, "{number:.1} µs/op"),
        _ if number >= 10_000.0 => write!(text, "{:.1} ms", number / 1e3),
        _ => write!(text, "{:.3} ms", number / 1e3),
    };
    text
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
