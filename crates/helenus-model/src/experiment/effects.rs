//! Effects of factors: what a level changes, compared with the first one by like and like.
//! Refuses to say what is different: that is judged over all effects together.

use super::Experiment;
use super::logs::{Logs, Term};
use crate::comparison::{Claim, Estimate, Measure};
use serde::Serialize;
use std::collections::BTreeMap;

/// Blocks from which on a mean has an interval, and a threshold is answered. Fewer than claim a difference: the
/// interval is wide by itself.
pub(super) const LEAST_OF_A_MEAN: usize = 3;

/// What a level changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// The level that it is compared with: the first, or the one before it.
    pub from: String,
    /// The level.
    pub to: String,
    /// What it changes.
    pub measure: Measure,
    /// The level over that one; none below two blocks, and where one of both fell behind its schedule more often.
    pub estimate: Option<Estimate>,
    /// What may be said; nothing on measures that the experiment is not about: they are exploratory.
    pub claim: Claim,
    /// Whether this machine can answer at all; where it cannot, nothing is claimed.
    pub testable: bool,
    /// Blocks that lack a run of it; their other runs count.
    pub incomplete_blocks: usize,
    /// Settings of the level that it is estimated over, and those that were to run with it.
    pub settings: [usize; 2],
    /// Compared with the level before it.
    #[serde(skip)]
    pub against_previous: bool,
}

impl Effect {
    /// Factor and level, with the level that it is compared with where that is not the first.
    pub fn label(&self) -> String {
        let Self {
            factor, to, from, ..
        } = self;
        match self.against_previous {
            true => format!("{factor}={to} against {from}"),
            false => format!("{factor}={to}"),
        }
    }

    /// What a plot shows of it: an interval of two blocks is so wide that nothing else could be seen beside it, so
    /// there it is the mere point.
    pub fn drawn(&self) -> Option<Estimate> {
        let known = self.estimate?;
        if known.pairs >= LEAST_OF_A_MEAN {
            return Some(known);
        }
        Some(Estimate {
            low: known.ratio,
            high: known.ratio,
            ..known
        })
    }
}

/// How much more, or less, a level changes where another factor is at another level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    /// Factor and level.
    pub one: [String; 2],
    /// The other factor and its level.
    pub other: [String; 2],
    /// What it changes.
    pub measure: Measure,
    /// Ratio of ratios: 1 where the two factors do not care for each other.
    pub estimate: Option<Estimate>,
    /// What may be said.
    pub claim: Claim,
    /// Whether this machine can answer at all; where it cannot, nothing is claimed.
    pub testable: bool,
}

/// The effects of all levels but the first of each factor, on one measure: against the first, or against the one before.
pub(super) fn effects(
    of: &Experiment,
    all: &[Vec<usize>],
    logs: &Logs,
    measure: Measure,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (place, factor) in of.factors.iter().enumerate() {
        for (level, to) in factor.levels.iter().enumerate().skip(1) {
            let from = match factor.against_previous {
                true => level - 1,
                false => 0,
            };
            let planned = all.iter().filter(|l| l[place] == level).count();
            let effect = |estimate, incomplete_blocks, settings| Effect {
                factor: factor.name.clone(),
                from: factor.levels[from].label.clone(),
                to: to.label.clone(),
                measure,
                estimate,
                claim: Claim::None,
                testable: true,
                incomplete_blocks,
                settings,
                against_previous: factor.against_previous,
            };
            if of.is_screening() {
                let own = (0..all.len()).filter(|c| all[*c][place] == level && logs.lives(*c));
                let estimate = logs.main_effects(&[(place, level)]);
                effects.push(effect(estimate, 0, [own.count(), planned]));
                continue;
            }
            let terms = against(all, logs, place, [from, level]);
            let own = terms.iter().flat_map(|(_, c)| c.iter().copied());
            let blocks = match terms[0].1.len() {
                0 => 0,
                _ => logs.whole_blocks(own),
            };
            let incomplete = logs.blocks().len() - blocks;
            let over = terms[0].1.len();
            effects.push(effect(logs.estimate(&terms), incomplete, [over, planned]));
        }
    }
    effects
}

/// A level less another one. Where combinations have their like at the other level, these are compared, and what
/// has no number, or fell behind its schedule more often, takes its like with it; otherwise all of one level with all of
/// the other, where that is fair.
fn against(all: &[Vec<usize>], logs: &Logs, factor: usize, [from, level]: [usize; 2]) -> Vec<Term> {
    let mut likes: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
    let own = |(_, levels): &(usize, &Vec<usize>)| levels[factor] == from;
    for (first, levels) in all.iter().enumerate().filter(own) {
        let mut other = levels.clone();
        other[factor] = level;
        if let Some(other) = all.iter().position(|l| *l == other)
            && logs.lives(first)
            && logs.lives(other)
            && !logs.fell_behind_more(&[first], &[other])
            && !logs.fell_behind_more(&[other], &[first])
        {
            likes[0].push(first);
            likes[1].push(other);
        }
    }
    if likes[0].is_empty() {
        likes = unlike(all, logs, factor, [from, level]);
    }
    let [first, other] = likes;
    vec![(1.0, other), (-1.0, first)]
}

/// All combinations of a level and all of another, as a fraction balances them. Where some have no numbers, the
/// levels of one other factor at which they have none are left out, and what remains must be balanced still: none at all
/// where it cannot be, for the difference would be that of another factor.
fn unlike(
    all: &[Vec<usize>],
    logs: &Logs,
    factor: usize,
    [from, level]: [usize; 2],
) -> [Vec<usize>; 2] {
    let factors = all.first().map_or(0, Vec::len);
    let own = || {
        let each = all.iter().enumerate();
        each.filter(move |(_, l)| l[factor] == from || l[factor] == level)
    };
    let sides = |left_out: Option<usize>| -> Option<[Vec<usize>; 2]> {
        let dead = |at: usize| {
            let missing = own().filter(|(place, _)| !logs.lives(*place));
            left_out.is_some_and(|other| missing.into_iter().any(|(_, l)| l[other] == at))
        };
        let kept = own().filter(|(_, l)| left_out.is_none_or(|other| !dead(l[other])));
        let mut sides = [Vec::new(), Vec::new()];
        for (place, levels) in kept {
            if !logs.lives(place) {
                return None;
            }
            sides[usize::from(levels[factor] != from)].push(place);
        }
        let [first, other] = &sides;
        let both = !first.is_empty() && !other.is_empty();
        (both && balanced(all, factor, first, other)).then_some(sides)
    };
    let others = (0..factors).filter(|other| *other != factor);
    let fewer = others.filter_map(|other| sides(Some(other)));
    sides(None)
        .or_else(|| fewer.max_by_key(|sides| sides[0].len() + sides[1].len()))
        .unwrap_or_default()
}

/// Whether each level of each other factor has the same share of both.
fn balanced(all: &[Vec<usize>], factor: usize, one: &[usize], other: &[usize]) -> bool {
    let factors = all.first().map_or(0, Vec::len);
    let count = |of: &[usize], factor: usize, level: usize| {
        of.iter()
            .filter(|place| all[**place][factor] == level)
            .count()
    };
    let levels = |factor: usize| all.iter().map(|l| l[factor]).max().unwrap_or(0);
    (0..factors).filter(|f| *f != factor).all(|f| {
        (0..=levels(f))
            .all(|level| count(one, f, level) * other.len() == count(other, f, level) * one.len())
    })
}

/// The interactions of each two factors, level by level, where all four corners were run at the same settings of the
/// others, or where a fraction has them at settings that are balanced.
pub(super) fn interactions(
    of: &Experiment,
    all: &[Vec<usize>],
    logs: &Logs,
    measure: Measure,
) -> Vec<Interaction> {
    let mut found = Vec::new();
    if of.is_screening() {
        return found;
    }
    for (a, one) in of.factors.iter().enumerate() {
        for (b, other) in of.factors.iter().enumerate().skip(a + 1) {
            for (i, to) in one.levels.iter().enumerate().skip(1) {
                for (j, other_to) in other.levels.iter().enumerate().skip(1) {
                    let Some(terms) = corners(all, logs, [(a, i), (b, j)]) else {
                        continue;
                    };
                    found.push(Interaction {
                        one: [one.name.clone(), to.label.clone()],
                        other: [other.name.clone(), other_to.label.clone()],
                        measure,
                        estimate: logs.estimate(&terms),
                        claim: Claim::None,
                        testable: true,
                    });
                }
            }
        }
    }
    found
}

/// The four means of an interaction, over all settings of the other factors for which all four live and fell behind their
/// schedule about equally often.
fn corners(
    all: &[Vec<usize>],
    logs: &Logs,
    [(a, i), (b, j)]: [(usize, usize); 2],
) -> Option<Vec<Term>> {
    let mut terms: Vec<Term> = [1.0, -1.0, -1.0, 1.0].map(|sign| (sign, Vec::new())).into();
    for levels in all.iter().filter(|levels| levels[a] == 0 && levels[b] == 0) {
        let at = |at_a: usize, at_b: usize| {
            let mut levels = levels.clone();
            (levels[a], levels[b]) = (at_a, at_b);
            let place = all.iter().position(|l| *l == levels)?;
            logs.lives(place).then_some(place)
        };
        let four = [at(i, j), at(i, 0), at(0, j), at(0, 0)];
        if let Some(four) = four.into_iter().collect::<Option<Vec<usize>>>()
            && !four.iter().any(|one| {
                four.iter()
                    .any(|other| logs.fell_behind_more(&[*one], &[*other]))
            })
        {
            for (term, place) in terms.iter_mut().zip(four) {
                term.1.push(place);
            }
        }
    }
    if terms[0].1.is_empty() {
        return unlike_corners(all, logs, [(a, i), (b, j)]);
    }
    Some(terms)
}

/// The four corners as a fraction has them, each at other settings of the other factors. Each level of these, and each
/// two of them, must be equally often in all four: otherwise the interaction could be that of others (below resolution
/// 5 it always could).
fn unlike_corners(
    all: &[Vec<usize>],
    logs: &Logs,
    [(a, i), (b, j)]: [(usize, usize); 2],
) -> Option<Vec<Term>> {
    let corner = |at_a: usize, at_b: usize| -> Vec<usize> {
        let own = (0..all.len()).filter(|place| all[*place][a] == at_a && all[*place][b] == at_b);
        own.collect()
    };
    let corners = [corner(i, j), corner(i, 0), corner(0, j), corner(0, 0)];
    let factors = all.first().map_or(0, Vec::len);
    let others: Vec<usize> = (0..factors).filter(|f| *f != a && *f != b).collect();
    // How often each two levels of two others come together; of one with itself, how often it comes.
    let shares = |places: &[usize]| {
        let mut shares: BTreeMap<[(usize, usize); 2], usize> = BTreeMap::new();
        for place in places {
            for one in &others {
                for other in &others {
                    let at = |factor: usize| (factor, all[*place][factor]);
                    *shares.entry([at(*one), at(*other)]).or_default() += 1;
                }
            }
        }
        shares
    };
    let first = shares(&corners[0]);
    let even = corners
        .iter()
        .all(|places| !places.is_empty() && shares(places) == first);
    let live = corners.iter().flatten().all(|place| logs.lives(*place));
    let signs = [1.0, -1.0, -1.0, 1.0];
    (even && live).then(|| signs.into_iter().zip(corners).collect())
}

/// Marks what is of factors of the disk: it did not answer.
pub(super) fn withhold(
    effects: &mut [Effect],
    interactions: &mut [Interaction],
    withholds: impl Fn(&str) -> bool,
) {
    for effect in effects {
        effect.testable = !withholds(&effect.factor);
    }
    for both in interactions {
        both.testable = !withholds(&both.one[0]) && !withholds(&both.other[0]);
    }
}
