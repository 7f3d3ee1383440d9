//! Plots of an experiment in plain letters, for Markdown and terminals: effects with their intervals, values by level.
//! Refuses colours and pictures: what it draws survives a pull request and a mail.

use crate::report::words;
use helenus_model::comparison::Estimate;
use helenus_model::experiment::{Analysis, Effect, Experiment, Kind};
use std::fmt::Write as _;

/// Columns on each side of *no difference*.
const SIDE: usize = 24;

/// Columns of the longest bar.
const BAR: usize = 40;

/// Half-width of the scale of effects where all of them are smaller, in percent.
const LEAST_SCALE: f64 = 5.0;

/// Effects on the measure that the experiment is about; empty where none has an interval.
pub(super) fn effects(found: &Analysis) -> String {
    let shown = |e: &&Effect| e.measure == found.measure && e.testable;
    let own = found.effects.iter().filter(shown);
    let own: Vec<(&Effect, Estimate)> = own.filter_map(|e| Some((e, e.drawn()?))).collect();
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let ends = own
        .iter()
        .flat_map(|(_, e)| [percent(e.low), percent(e.high)]);
    let scale = ends.map(f64::abs).fold(LEAST_SCALE, f64::max);
    let names: Vec<String> = own.iter().map(|(effect, _)| effect.label()).collect();
    let Some(width) = names.iter().map(|name| name.chars().count()).max() else {
        return String::new();
    };
    let mut out = format!("change of {}\n", words::measure(found.measure));
    for ((_, estimate), name) in own.iter().zip(&names) {
        let at = |ratio: f64| column(percent(ratio) / scale);
        let (low, middle, high) = (at(estimate.low), at(estimate.ratio), at(estimate.high));
        let line: String = (0..=2 * SIDE)
            .map(|place| match place {
                p if p == middle => '●',
                p if p == low && p == high => '●',
                p if p == low => '├',
                p if p == high => '┤',
                p if (low..high).contains(&p) => '─',
                SIDE => '│',
                _ => ' ',
            })
            .collect();
        let _infallible = writeln!(
            out,
            "{name:<width$}  {line}  {}",
            words::change(estimate.ratio)
        );
    }
    let (left, right) = (format!("-{scale:.0} %"), format!("+{scale:.0} %"));
    let pad = SIDE.saturating_sub(left.chars().count());
    let behind = SIDE.saturating_sub(right.chars().count());
    let _infallible = writeln!(
        out,
        "{:<width$}  {left}{:pad$}0{:behind$}{right}",
        "", "", ""
    );
    out
}

/// The column of a share of the scale, from -1 to 1.
fn column(share: f64) -> usize {
    columns((share + 1.0) / 2.0, 2 * SIDE)
}

/// A share of so many columns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a few columns, clamped"
)]
fn columns(share: f64, most: usize) -> usize {
    (share.clamp(0.0, 1.0) * most as f64).round() as usize
}

/// The measure that it is about by the levels of each factor that costs nothing to change; empty where there is none.
pub(super) fn by_level(of: &Experiment, found: &Analysis) -> String {
    let mut out = String::new();
    for (place, factor) in of.factors.iter().enumerate() {
        if factor.kind != Kind::Phase {
            continue;
        }
        let values = found.along(found.measure, (place, factor.levels.len()), |_| true);
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        let labels = factor.levels.iter().map(|level| level.label.as_str());
        let width = labels.clone().map(|l| l.chars().count()).max().unwrap_or(0);
        let _infallible = writeln!(out, "{} by {}", words::measure(found.measure), factor.name);
        for (label, value) in labels.zip(values) {
            let Some(value) = value else {
                let _infallible = writeln!(out, "{label:>width$}  –");
                continue;
            };
            let bar = "█".repeat(columns(value / most, BAR));
            let text = words::value(found.measure, value);
            let _infallible = writeln!(out, "{label:>width$}  {bar} {text}");
        }
    }
    out
}
