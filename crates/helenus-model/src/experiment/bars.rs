//! Bars at each combination: decided by one-sided bounds of its mean over blocks.
//! Refuses to decide where runs fell behind, or where the two ends of what a late generator saw do not agree.

use super::Experiment;
use super::bar::Bar;
use super::effects::LEAST_OF_A_MEAN;
use super::facts::Fact;
use super::ladder::{Ladder, Rung, ladders};
use super::logs::Run;
use super::order::Stage;
use super::spread::{Bounds, Spread};
use crate::comparison::{ALPHA, BarAnswer, Measure, ONE_SIDED};
use serde::Serialize;
use std::collections::BTreeMap;

/// A threshold at one combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarCell {
    /// The threshold.
    pub bar: String,
    /// What it looks at.
    pub measure: Measure,
    /// Place of the combination.
    pub combination: usize,
    /// In words.
    pub label: String,
    /// Geometric mean over the blocks, A/A controls included, in the measure's unit.
    pub value: Option<f64>,
    /// One-sided bounds of 95 %, lower and upper, in the measure's unit: the threshold is about one side.
    pub interval: Option<[f64; 2]>,
    /// Degrees of freedom of the variance behind the bounds, of the upper one.
    pub degrees: Option<f64>,
    /// Whether it holds.
    pub answer: BarAnswer,
    /// Runs that could not keep up with their rate.
    pub behind: usize,
}

/// Each threshold at each of its combinations, and the rates that hold those that ask for one bound at several; `held`
/// says whether the settings were those that were asked for.
pub(super) fn bars(
    of: &Experiment,
    all: &[Vec<usize>],
    facts: &[Fact],
    (scheduled, held): (bool, bool),
    phase: &str,
) -> (Vec<BarCell>, Vec<Ladder>) {
    let facts: Vec<&Fact> = facts
        .iter()
        .filter(|fact| fact.planned.stage != Stage::Again)
        .collect();
    let (mut cells, mut rungs) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<(&str, Measure), Means<'_>> = BTreeMap::new();
    for bar in &of.bars {
        let phase = bar.goal.phase.as_deref().unwrap_or(phase);
        let measure = bar.goal.measure(scheduled);
        let means = known
            .entry((phase, measure))
            .or_insert_with(|| Means::of(&facts, all.len(), (phase, measure)));
        for (place, levels) in all.iter().enumerate().filter(|(_, l)| bar.is_about(l)) {
            let mean = means.at(place);
            let answer = if held {
                mean.answer(bar)
            } else {
                BarAnswer::CannotTell
            };
            rungs.extend(mean.rung(bar, measure, place));
            cells.push(BarCell {
                bar: bar.text.clone(),
                measure,
                combination: place,
                label: of.label(levels),
                value: mean.value.map(f64::exp),
                interval: mean.ends(ONE_SIDED).map(|ends| ends.map(f64::exp)),
                degrees: mean.most.map(|most| most.degrees),
                answer,
                behind: mean.behind,
            });
        }
    }
    let ladders = if held {
        ladders(of, all, &rungs)
    } else {
        Vec::new()
    };
    (cells, ladders)
}

/// Means of all combinations by the least and the most that each run may be.
struct Means<'a> {
    facts: &'a [&'a Fact],
    counted: Vec<Run>,
    least: Spread,
    most: Spread,
}

impl<'a> Means<'a> {
    fn of(facts: &'a [&'a Fact], combinations: usize, (phase, measure): (&str, Measure)) -> Self {
        let runs = |value: &dyn Fn(&Fact) -> Option<f64>| -> Vec<Run> {
            let each = facts.iter().filter_map(|fact| {
                Some(Run {
                    block: fact.planned.block,
                    life: fact.life,
                    place: 0,
                    combination: fact.planned.combination,
                    log: value(fact)?.ln(),
                })
            });
            each.collect()
        };
        let counted = runs(&|fact| fact.value(phase, measure));
        Self {
            facts,
            least: Spread::of(&runs(&|fact| fact.least(phase, measure)), combinations),
            most: Spread::of(&counted, combinations),
            counted,
        }
    }

    fn at(&self, combination: usize) -> Mean {
        let own = |fact: &&&Fact| fact.planned.combination == combination;
        let counted = self.counted.iter();
        Mean {
            value: self.most.mean(combination),
            least: self.least.bounds(combination),
            most: self.most.bounds(combination),
            counted: counted.filter(|run| run.combination == combination).count(),
            behind: self
                .facts
                .iter()
                .filter(own)
                .filter(|fact| fact.behind)
                .count(),
        }
    }
}

/// A combination's mean on the log scale; where its generator was late, the one of what each run was at least, too.
struct Mean {
    value: Option<f64>,
    least: Option<Bounds>,
    most: Option<Bounds>,
    counted: usize,
    behind: usize,
}

impl Mean {
    /// The lower end of the least and the upper end of the most, at this two-sided level.
    fn ends(&self, alpha: f64) -> Option<[f64; 2]> {
        let [low, _] = self.least?.ends(alpha);
        let [_, high] = self.most?.ends(alpha);
        Some([low, high])
    }

    /// Whether it has blocks enough to be answered.
    fn is_enough(&self) -> bool {
        self.most.is_some_and(|most| most.blocks >= LEAST_OF_A_MEAN)
    }

    /// Who cannot keep up has no time at all, and the runs that could are those with luck.
    fn never_kept_up(&self) -> bool {
        self.behind > self.counted
    }

    fn answer(&self, bar: &Bar) -> BarAnswer {
        if self.never_kept_up() {
            return BarAnswer::Crossed;
        }
        let Some([low, high]) = self.ends(ONE_SIDED).filter(|_| self.is_enough()) else {
            return BarAnswer::CannotTell;
        };
        let bound = bar.bound.ln();
        let (bad, good) = if bar.below {
            (low >= bound, high < bound)
        } else {
            (high <= bound, low > bound)
        };
        match (bad, good) {
            (true, _) => BarAnswer::Crossed,
            (_, true) if self.behind == 0 => BarAnswer::Holds,
            _ => BarAnswer::CannotTell,
        }
    }

    /// What a ladder of rates needs of it; none where it has too few blocks to say anything.
    fn rung<'a>(&self, bar: &'a Bar, measure: Measure, place: usize) -> Option<Rung<'a>> {
        let [low, middle, high] = if self.never_kept_up() {
            [f64::INFINITY; 3]
        } else {
            let [low, high] = self.ends(ALPHA).filter(|_| self.is_enough())?;
            let high = if self.behind > 0 { f64::INFINITY } else { high };
            [low, self.value?, high]
        };
        Some(Rung {
            bar,
            measure,
            combination: place,
            low,
            middle,
            high,
        })
    }
}
