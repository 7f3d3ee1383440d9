//! A measure along the levels of a factor, by like and like, and from where on more of it gives no more.
//! Refuses means over settings that were run at some of the levels only: they would say more of the settings.

use super::Experiment;
use super::analysis::{Analysis, Cell};
use crate::comparison::Measure;
use crate::stats::mean;
use serde::Serialize;
use std::collections::BTreeSet;

/// What is less than this above a level is no growth.
const GROWS_BY: f64 = 0.05;

/// Levels that show where growth ends; with two there is a difference, and no curve.
const LEAST_LEVELS: usize = 3;

/// Throughput along a factor of numbers, at some settings of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// The factor.
    pub factor: String,
    /// The settings of the other factors, in words; none where it is the only one.
    pub at: Option<String>,
    /// The first level.
    pub from: String,
    /// The least level above which nothing is 5 % better.
    pub until: String,
    /// No level behind it has a number: the end was not seen.
    pub is_last: bool,
    /// Levels behind the last one with a number that were planned and have none.
    pub without_numbers: Vec<String>,
    /// Throughput there over that of the first level.
    pub times: f64,
    /// Processors that the nodes kept busy there.
    pub node_processors: Option<f64>,
    /// Processors that the generator kept busy there.
    pub generator_processors: Option<f64>,
}

/// Combinations that differ in one factor only.
fn likes<'a>(cells: &[&'a Cell], factor: usize) -> Vec<Vec<&'a Cell>> {
    let rest = |cell: &Cell| {
        let mut levels = cell.levels.clone();
        levels[factor] = 0;
        levels
    };
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|own| rest(own[0]) == rest(cell)) {
            Some(own) => own.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

impl Analysis {
    /// Geometric means by level of a factor of so many, over the combinations that pass. Where some settings of the
    /// other factors have a number at each of its levels, over these only. Otherwise over the settings that were to
    /// run at the most levels, and a level at which one of them has no number has no mean: what came through would be
    /// the better half.
    pub fn along(
        &self,
        measure: Measure,
        (factor, levels): (usize, usize),
        pass: impl Fn(&[usize]) -> bool,
    ) -> Vec<Option<f64>> {
        let own: Vec<&Cell> = self
            .combinations
            .iter()
            .filter(|cell| pass(&cell.levels))
            .collect();
        let has = |cell: &&Cell| cell.values.contains_key(&measure);
        let mut groups = likes(&own, factor);
        let most = groups.iter().map(Vec::len).max().unwrap_or(0);
        let levels_of = |groups: &[Vec<&Cell>]| -> BTreeSet<usize> {
            let cells = groups.iter().flatten();
            cells.map(|cell| cell.levels[factor]).collect()
        };
        let longest: Vec<Vec<&Cell>> = groups.iter().filter(|g| g.len() == most).cloned().collect();
        // Where a fraction has some levels in shorter groups only, all are needed.
        if levels_of(&longest) == levels_of(&groups) {
            groups = longest;
        }
        let live = |group: &[&Cell]| -> BTreeSet<usize> {
            let alive = group.iter().copied().filter(has);
            alive.map(|cell| cell.levels[factor]).collect()
        };
        let all_live: BTreeSet<usize> = groups.iter().flat_map(|group| live(group)).collect();
        let whole = |group: &Vec<&Cell>| live(group) == all_live;
        if groups.iter().any(whole) {
            groups.retain(whole);
        }
        let of_level = |level: usize| {
            let at = groups.iter().flatten();
            let at = at.filter(|cell| cell.levels[factor] == level);
            let logs = at.map(|cell| cell.values.get(&measure).map(|value| value.ln()));
            mean(&logs.collect::<Option<Vec<f64>>>()?).map(f64::exp)
        };
        (0..levels).map(of_level).collect()
    }
}

/// From where on each factor of phases with rising numbers gives no more, at each setting of the others; of
/// throughput only.
pub(super) fn growth(of: &Experiment, cells: &[Cell], measure: Measure) -> Vec<Growth> {
    if measure != Measure::Throughput {
        return Vec::new();
    }
    let own: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.values.contains_key(&measure))
        .collect();
    let mut found = Vec::new();
    for (place, factor) in of.factors.iter().enumerate() {
        if factor.kind.is_whole() || factor.numbers().is_none() {
            continue;
        }
        let groups = likes(&own, place).into_iter();
        found.extend(groups.filter_map(|group| along_one(of, cells, place, group)));
    }
    found
}

fn along_one(
    of: &Experiment,
    cells: &[Cell],
    place: usize,
    mut group: Vec<&Cell>,
) -> Option<Growth> {
    group.sort_by_key(|cell| cell.levels[place]);
    if group.len() < LEAST_LEVELS {
        return None;
    }
    let rate = |cell: &Cell| cell.values[&Measure::Throughput];
    let best_behind = |at: usize| group[at + 1..].iter().map(|c| rate(c)).fold(0.0, f64::max);
    let flat = |at: &usize| best_behind(*at) <= rate(group[*at]) * (1.0 + GROWS_BY);
    let at = (0..group.len()).find(flat)?;
    let level = |cell: &Cell| of.factors[place].levels[cell.levels[place]].label.clone();
    let last = group.last()?;
    let alike = |cell: &&Cell| likes(&[*cell, *last], place).len() == 1;
    let behind = cells
        .iter()
        .filter(|c| c.levels[place] > last.levels[place]);
    let without_numbers: Vec<String> = behind.filter(alike).map(level).collect();
    Some(Growth {
        factor: of.factors[place].name.clone(),
        at: (of.factors.len() > 1).then(|| of.words(&group[at].levels, |other| other != place)),
        from: level(group[0]),
        until: level(group[at]),
        is_last: at + 1 == group.len(),
        without_numbers,
        times: rate(group[at]) / rate(group[0]),
        node_processors: group[at].node_processors(),
        generator_processors: group[at].generator_processors(),
    })
}
