//! Logarithms of one measure, by block and combination, and what their analysis of variance says of a contrast.
//! Refuses what came through by luck: a number in few blocks, or beside more runs that fell behind than its like has.

use super::Experiment;
use super::facts::Fact;
use super::order::Stage;
use super::strata::{Coding, Residuals, Strata};
use crate::comparison::{Estimate, Measure, estimate};
use crate::stats::mean;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// A run that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) block: usize,
    /// Number of the life of its nodes.
    pub(super) life: u32,
    /// Runs of that life before it.
    pub(super) place: usize,
    pub(super) combination: usize,
    pub(super) log: f64,
}

/// A term: its sign, and the combinations that it is a mean of.
pub(super) type Term = (f64, Vec<usize>);

/// Logarithms of one measure.
pub(super) struct Logs {
    /// By block and combination, each run of it.
    by: BTreeMap<(usize, usize), Vec<f64>>,
    blocks: Vec<usize>,
    /// Blocks and combinations of which a run fell behind its schedule.
    behind: BTreeSet<(usize, usize)>,
    runs: Vec<Run>,
    /// By combination the levels of its factors.
    levels: Vec<Vec<usize>>,
    coding: Coding,
    first_stage: Option<usize>,
    fit: OnceCell<(Strata, Residuals)>,
}

impl Logs {
    /// Of the runs of this stage, with A/A controls as further runs of the first restart's settings; `first_stage`
    /// blocks gave the number of blocks, where it was not just given.
    pub(super) fn of(
        of: &Experiment,
        facts: &[Fact],
        stage: Stage,
        (phase, measure): (&str, Measure),
        first_stage: Option<usize>,
    ) -> Self {
        let twins = |one: Stage| stage == Stage::Main && one == Stage::Twin;
        let mut lives: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for fact in facts {
            lives.entry(fact.life).or_default().push(fact.planned.place);
        }
        let mut by = BTreeMap::new();
        let mut behind = BTreeSet::new();
        let mut runs = Vec::new();
        for fact in facts {
            let planned = fact.planned;
            let counts = planned.stage == stage || twins(planned.stage);
            if fact.behind && counts {
                behind.insert((planned.block, planned.combination));
            }
            let Some(value) = fact.value(phase, measure) else {
                continue;
            };
            if planned.stage == stage {
                let own = (planned.block, planned.combination);
                by.entry(own).or_insert_with(Vec::new).push(value.ln());
            }
            if counts {
                let before = lives[&fact.life].iter().filter(|p| **p < planned.place);
                runs.push(Run {
                    block: planned.block,
                    life: fact.life,
                    place: before.count(),
                    combination: planned.combination,
                    log: value.ln(),
                });
            }
        }
        let mut blocks: Vec<usize> = by.keys().map(|(block, _)| *block).collect();
        blocks.dedup();
        let all = of.combinations();
        let mut wholes = vec![0; all.len()];
        for (number, whole) in of.wholes(&all).into_iter().enumerate() {
            whole
                .combinations
                .into_iter()
                .for_each(|c| wholes[c] = number);
        }
        let mut logs = Self {
            by,
            blocks,
            behind,
            runs,
            coding: match of.is_screening() {
                true => {
                    let is_between = of.factors.iter().map(|factor| factor.kind.is_whole());
                    Coding::of_main_effects(&wholes, &all, &is_between.collect::<Vec<_>>())
                }
                false => Coding::of_cells(&wholes),
            },
            levels: all,
            first_stage,
            fit: OnceCell::new(),
        };
        if stage == Stage::Main {
            let lives: Vec<bool> = (0..logs.levels.len()).map(|c| logs.lives(c)).collect();
            logs.runs.retain(|run| lives[run.combination]);
        }
        logs
    }

    pub(super) fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Mean of the logarithms of a combination in a block.
    pub(super) fn at(&self, block: usize, combination: usize) -> Option<f64> {
        mean(self.by.get(&(block, combination))?)
    }

    /// Whether a combination has a number in most blocks: one that came through once by luck would leave all that it is
    /// compared with in that one block.
    pub(super) fn lives(&self, combination: usize) -> bool {
        self.each(combination).len() * 2 > self.blocks.len()
    }

    /// Blocks in which a run of a combination fell behind its schedule.
    pub(super) fn behind(&self, combination: usize) -> usize {
        let own = self.behind.iter().filter(|(_, c)| *c == combination);
        own.count()
    }

    /// Whether these combinations fell behind their schedule more often than the others: by more than a tenth of the blocks. Where
    /// they have numbers, they had luck.
    pub(super) fn fell_behind_more(&self, own: &[usize], others: &[usize]) -> bool {
        let behind = |all: &[usize]| -> usize { all.iter().map(|c| self.behind(*c)).sum() };
        let (more, less) = (behind(own) * others.len(), behind(others) * own.len());
        // With those in which nothing has a number.
        let blocks = self.behind.iter().map(|(block, _)| block);
        let blocks: BTreeSet<&usize> = blocks.chain(&self.blocks).collect();
        more.saturating_sub(less) * 10 > own.len() * others.len() * blocks.len()
    }

    /// Whether some of these means fell behind their schedule more often than others.
    pub(super) fn is_luck(&self, terms: &[Term]) -> bool {
        let is_more = |(_, own): &Term| {
            let mut others = terms.iter();
            others.any(|(_, others)| self.fell_behind_more(own, others))
        };
        terms.iter().any(is_more)
    }

    /// Logarithms of a combination, by block.
    pub(super) fn each(&self, combination: usize) -> Vec<f64> {
        let blocks = self.blocks.iter();
        blocks.filter_map(|b| self.at(*b, combination)).collect()
    }

    /// Blocks in which all of these have a number.
    pub(super) fn whole_blocks(&self, combinations: impl Iterator<Item = usize> + Clone) -> usize {
        let has = |block: &&usize| combinations.clone().all(|c| self.at(**block, c).is_some());
        self.blocks.iter().filter(has).count()
    }

    fn fit(&self) -> &(Strata, Residuals) {
        self.fit.get_or_init(|| {
            let strata = Strata::of(&self.runs, &self.coding);
            // Stein: what fixed the number of blocks is the variance of the first ones alone.
            let residuals = self.first_stage.map_or(strata.residuals, |first| {
                let first: Vec<Run> = self
                    .runs
                    .iter()
                    .filter(|run| run.block < first)
                    .copied()
                    .collect();
                Strata::of(&first, &self.coding).residuals
            });
            (strata, residuals)
        })
    }

    /// The sum of the terms as a ratio; none below two blocks that have all their runs, and none of luck.
    #[expect(clippy::cast_precision_loss, reason = "combinations of an experiment")]
    pub(super) fn estimate(&self, terms: &[Term]) -> Option<Estimate> {
        let is_empty = |(_, combinations): &Term| combinations.is_empty();
        if terms.iter().any(is_empty) || self.is_luck(terms) {
            return None;
        }
        let mut weights = vec![0.0; self.levels.len()];
        for (sign, combinations) in terms {
            let share = sign / combinations.len() as f64;
            combinations.iter().for_each(|c| weights[*c] += share);
        }
        let blocks = self.whole_blocks(terms.iter().flat_map(|(_, c)| c.iter().copied()));
        let (strata, residuals) = self.fit();
        let found = strata.contrast(&weights, residuals, blocks)?;
        (blocks > 1).then(|| estimate(&found, 1))
    }

    /// Levels of factors of a screening design over their first ones; the estimate stands on so many restarts as have the
    /// rarest of them. None of luck.
    pub(super) fn main_effects(&self, levels: &[(usize, usize)]) -> Option<Estimate> {
        let at = |factor: usize, level: usize| -> Vec<usize> {
            let own = (0..self.levels.len()).filter(|c| self.levels[*c][factor] == level);
            own.filter(|c| self.lives(*c)).collect()
        };
        let is_luck = |(factor, level): &(usize, usize)| {
            self.is_luck(&[(1.0, at(*factor, *level)), (-1.0, at(*factor, 0))])
        };
        if levels.iter().any(is_luck) {
            return None;
        }
        let each = levels
            .iter()
            .flat_map(|(factor, level)| [(*factor, *level), (*factor, 0)]);
        let restarts = each
            .map(|(factor, level)| self.restarts_with(factor, level))
            .min()?;
        let (strata, residuals) = self.fit();
        let found = strata.main_effects(levels, residuals, restarts)?;
        Some(estimate(&found, 1))
    }

    /// Restarts with a run that counts at this level of a factor.
    fn restarts_with(&self, factor: usize, level: usize) -> usize {
        let own = self.runs.iter();
        let own = own.filter(|run| self.levels[run.combination][factor] == level);
        own.map(|run| run.life).collect::<BTreeSet<u32>>().len()
    }
}
