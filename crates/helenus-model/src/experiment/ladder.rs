//! Which rate holds a bar, at each setting of the rest: read off between the rates that were run.
//! Refuses to extrapolate: below the first rate it says *less*, above the last one *more*.

use super::bar::Bar;
use super::{Experiment, Kind};
use crate::comparison::Measure;
use serde::Serialize;
use std::collections::BTreeMap;

/// The key of a load's rate.
const RATE: &str = "rate";

/// The rate up to which settings hold a threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ladder {
    /// The threshold, without the rates that it is asked at.
    pub bar: String,
    /// What it looks at.
    pub measure: Measure,
    /// All settings but the rate, in words.
    pub label: String,
    /// The rates that decide it, rising, in operations per second.
    pub rates: Vec<f64>,
    /// Up to where the mean keeps below the bound: log time straight along log rate between two rates.
    pub rate: Rate,
    /// Its interval of 95 %: where the upper and the lower end of the mean's own interval reach the bound.
    pub interval: [Rate; 2],
}

/// A rate on a ladder, in operations a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Less than the first.
    Below(f64),
    /// This one.
    At(f64),
    /// More than the last.
    Above(f64),
}

/// A threshold at one combination: logarithms of the mean and of both ends of its interval of 95 %; infinite where runs
/// fell behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rung<'a> {
    pub(super) bar: &'a Bar,
    pub(super) measure: Measure,
    pub(super) combination: usize,
    pub(super) low: f64,
    pub(super) middle: f64,
    pub(super) high: f64,
}

/// The rates that hold each threshold of a time that is asked at several rates.
pub(super) fn ladders(of: &Experiment, all: &[Vec<usize>], rungs: &[Rung<'_>]) -> Vec<Ladder> {
    let Some((factor, rates)) = of_rates(of) else {
        return Vec::new();
    };
    let rest = |levels: &[usize]| -> Vec<usize> {
        let mut rest = levels.to_vec();
        rest[factor] = 0;
        rest
    };
    // By bar without its rate, then by the settings of the rest.
    let mut groups: Vec<((String, Measure), Vec<Rung<'_>>)> = Vec::new();
    for rung in rungs.iter().filter(|rung| is_of_a_time(rung)) {
        let key = (words(of, rung.bar, factor), rung.measure);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => own.push(*rung),
            None => groups.push((key, vec![*rung])),
        }
    }
    let mut found = Vec::new();
    for ((bar, measure), own) in groups {
        let mut settings: BTreeMap<Vec<usize>, BTreeMap<usize, Rung<'_>>> = BTreeMap::new();
        for rung in own {
            let levels = &all[rung.combination];
            let rungs = settings.entry(rest(levels)).or_default();
            rungs.insert(levels[factor], rung);
        }
        for (levels, rungs) in settings.into_iter().filter(|(_, rungs)| rungs.len() > 1) {
            let bound = rungs.values().next().map_or(0.0, |rung| rung.bar.bound);
            let steps = rungs.iter().map(|(level, rung)| (rates[*level], *rung));
            let steps: Vec<(f64, Rung<'_>)> = steps.collect();
            let (rate, interval) = read_off(&steps, bound.ln());
            found.push(Ladder {
                bar: bar.clone(),
                measure,
                label: of.words(&levels, |place| place != factor),
                rates: steps.iter().map(|(rate, _)| *rate).collect(),
                rate,
                interval,
            });
        }
    }
    found
}

/// The factor of phases that sets rates, with its rates, which rise.
fn of_rates(of: &Experiment) -> Option<(usize, Vec<f64>)> {
    let sets_rate = |factor: &super::Factor| {
        let mut levels = factor.levels.iter();
        factor.kind == Kind::Phase && levels.all(|l| l.settings.iter().any(|s| s.key == RATE))
    };
    let place = of.factors.iter().position(sets_rate)?;
    let rates = of.factors[place].numbers()?;
    let rise = rates.windows(2).all(|two| two[0] < two[1]) && rates[0] > 0.0;
    rise.then_some((place, rates))
}

fn is_of_a_time(rung: &Rung<'_>) -> bool {
    rung.measure.is_time() && rung.bar.below
}

/// A threshold without the rate that it is asked at.
fn words(of: &Experiment, bar: &Bar, factor: usize) -> String {
    let base = bar.text.split(" at ").next().unwrap_or_default().trim();
    let others = bar.at.iter().filter(|(place, _)| *place != factor);
    let others: Vec<String> = others
        .map(|(place, level)| {
            let own = &of.factors[*place];
            format!("{}={}", own.name, own.levels[*level].label)
        })
        .collect();
    match others.as_slice() {
        [] => base.to_owned(),
        others => format!("{base} at {}", others.join(", ")),
    }
}

/// The rate at which the mean reaches the bound, and its interval. An end is where the mean's own interval no longer, or
/// only from there on, keeps off the bound: however often it crosses, each end then errs in 2.5 % at most.
fn read_off(steps: &[(f64, Rung<'_>)], bound: f64) -> (Rate, [Rate; 2]) {
    let curve = |of: fn(&Rung<'_>) -> f64| -> Vec<(f64, f64)> {
        steps.iter().map(|(rate, rung)| (*rate, of(rung))).collect()
    };
    let low = up_to(&curve(|rung| rung.high), bound);
    let high = from(&curve(|rung| rung.low), bound);
    (up_to(&curve(|rung| rung.middle), bound), [low, high])
}

/// The rate up to which a curve keeps below the bound.
fn up_to(curve: &[(f64, f64)], bound: f64) -> Rate {
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    if first.1 >= bound {
        return Rate::Below(first.0);
    }
    let crossing = curve.windows(2).find(|two| two[1].1 >= bound);
    crossing.map_or(Rate::Above(last.0), |two| {
        between(two[0], two[1], bound, two[0].0)
    })
}

/// The rate from which on a curve is at the bound or above it.
fn from(curve: &[(f64, f64)], bound: f64) -> Rate {
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    if last.1 < bound {
        return Rate::Above(last.0);
    }
    let crossing = curve.windows(2).rev().find(|two| two[0].1 < bound);
    crossing.map_or(Rate::Below(first.0), |two| {
        between(two[0], two[1], bound, two[1].0)
    })
}

/// Where the line between two rungs reaches the bound; `open` where the upper one has no number.
fn between(one: (f64, f64), other: (f64, f64), bound: f64, open: f64) -> Rate {
    if other.1.is_infinite() || one.1.is_infinite() {
        return Rate::At(open);
    }
    let share = (bound - one.1) / (other.1 - one.1);
    Rate::At((one.0.ln() + share * (other.0 / one.0).ln()).exp())
}
