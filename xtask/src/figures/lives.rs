//! A block of an experiment's CSV: how a run's throughput depends on its place in the life of its nodes. Refuses to call
//! places different that a t-interval does not.

use super::Call;
use super::experiment::{Row, cell, rows};
use helenus_model::stats::{interval, mean};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

/// Places that have a row of their own; those behind share one row.
const ALONE: usize = 4;

/// Throughput of each place in a life against the mean of its settings, over the lives of the main stage and of its twins.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let lives = lives(&rows(call.file()?)?)?;
    let all = lives.iter().map(Vec::len).min().unwrap_or(0);
    let mut text = String::from(
        "| place in the life | lives | throughput against the mean of its settings | 95 % interval |\n|---|--:|--:|--:|\n",
    );
    let mut row = |what: &str, logs: &[f64]| -> Result<[f64; 3], Box<dyn Error>> {
        let found = interval(logs).ok_or("too few lives")?;
        let [low, high] = found.ends(0.05);
        let [middle, low, high] = [found.mean, low, high].map(|log| log.exp_m1() * 100.0);
        let lives = logs.len();
        let _infallible = writeln!(
            text,
            "| {what} | {lives} | {middle:+.1} % | {low:+.1} to {high:+.1} % |"
        );
        Ok([middle, low, high])
    };
    let at = |place: usize| -> Vec<f64> { lives.iter().map(|life| life[place]).collect() };
    for place in 0..ALONE.min(all) {
        row(&(place + 1).to_string(), &at(place))?;
    }
    let together = lives.iter().filter_map(|life| mean(&life[ALONE..all]));
    row(
        &format!("{} to {all} together", ALONE + 1),
        &together.collect::<Vec<_>>(),
    )?;
    let mut each = Vec::new();
    for place in ALONE..all {
        let found = interval(&at(place)).ok_or("too few lives")?;
        each.push((found.mean.exp_m1() * 100.0, found.ends(0.05)));
    }
    let least = each.iter().map(|(m, _)| *m).fold(f64::INFINITY, f64::min);
    let most = each
        .iter()
        .map(|(m, _)| *m)
        .fold(f64::NEG_INFINITY, f64::max);
    let apart = each
        .iter()
        .filter(|(_, [low, high])| *low > 0.0 || *high < 0.0);
    let _infallible = writeln!(
        text,
        "\nOne by one the places {} to {all} lie between {least:+.1} and {most:+.1} %; the intervals of {} of these {} leave 0 out, \
         each looked at alone.",
        ALONE + 1,
        apart.count(),
        each.len()
    );
    Ok(text)
}

/// By life of these stages and place in it: the logarithm of throughput less the mean of the same settings.
fn lives(rows: &[Row]) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let heads = [
        "place", "block", "restart", "stage", "run", "verdict", "behind",
    ];
    let behind = [
        "phase",
        "measure",
        "unit",
        "value",
        "not testable",
        "doubts",
    ];
    let settings = |row: &Row| -> Vec<String> {
        let own = row.iter().filter(|(head, _)| {
            !heads.contains(&head.as_str()) && !behind.contains(&head.as_str())
        });
        own.map(|(_, level)| level.clone()).collect()
    };
    type Run = (Vec<String>, f64);
    let mut lives: BTreeMap<usize, BTreeMap<usize, Run>> = BTreeMap::new();
    for row in rows {
        let counts = cell(row, "stage") != "again" && cell(row, "verdict") != "invalid";
        if counts && cell(row, "measure") == "throughput" {
            let number = |head: &str| cell(row, head).parse::<usize>();
            let log = cell(row, "value").parse::<f64>()?.ln();
            let life = lives.entry(number("restart")?).or_default();
            life.insert(number("place")?, (settings(row), log));
        }
    }
    let mut same: BTreeMap<&[String], Vec<f64>> = BTreeMap::new();
    for (settings, log) in lives.values().flat_map(BTreeMap::values) {
        same.entry(settings).or_default().push(*log);
    }
    let less = |(settings, log): &Run| {
        let mean = same.get(settings.as_slice()).and_then(|logs| mean(logs));
        log - mean.unwrap_or_default()
    };
    Ok(lives
        .values()
        .map(|life| life.values().map(less).collect())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_held_against_its_own_settings() {
        let row = |place: &str, restart: &str, mix: &str, value: &str| -> Row {
            let cells = [
                ("place", place),
                ("restart", restart),
                ("stage", "main"),
                ("verdict", "valid"),
                ("mix", mix),
                ("measure", "throughput"),
                ("value", value),
            ];
            cells
                .map(|(head, cell)| (head.to_owned(), cell.to_owned()))
                .into()
        };
        let found = lives(&[
            row("1", "1", "a", "100"),
            row("2", "1", "b", "10"),
            row("3", "2", "b", "10"),
            row("4", "2", "a", "400"),
        ])
        .unwrap();
        let wanted = [[-(2.0_f64.ln()), 0.0], [0.0, 2.0_f64.ln()]];
        for (life, wanted) in found.iter().zip(wanted) {
            for (log, wanted) in life.iter().zip(wanted) {
                assert!((log - wanted).abs() < 1e-9, "{found:?}");
            }
        }
    }
}
