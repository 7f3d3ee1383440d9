//! How sure the mean of each combination over its blocks is, on the log scale. Blocks are drawn at random, so what they
//! share is part of it.
//! Refuses one variance for all combinations where they differ: each is moderated by the others as far as these are alike.

use super::logs::Run;
use crate::stats::{LeastSquares, Observation, is_larger, mean, prior_degrees, t_quantile_at};
use std::collections::BTreeMap;

/// Means of combinations, each with its variance.
#[derive(Debug)]
pub(super) struct Spread {
    cells: BTreeMap<usize, Cell>,
    /// Degrees of freedom that other combinations are worth, as far as true variances differ.
    prior: f64,
    /// Degrees of freedom of the variance of all combinations together.
    pooled: f64,
    /// Share of a run's variance that it does not have in common with all runs of its block.
    apart: f64,
}

/// A mean with its standard error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    mean: f64,
    error: f64,
    /// Degrees of freedom of the standard error; they need not be whole.
    pub(super) degrees: f64,
    pub(super) blocks: usize,
}

impl Bounds {
    /// Both ends at the two-sided level `alpha`.
    pub(super) fn ends(&self, alpha: f64) -> [f64; 2] {
        let half = t_quantile_at(1.0 - alpha / 2.0, self.degrees) * self.error;
        [self.mean - half, self.mean + half]
    }
}

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Cell {
    mean: f64,
    blocks: usize,
    /// Variance of the mean over that of one run: runs of one block share what it has in it.
    share: f64,
    /// Variance of one run by this combination alone; it has one degree of freedom less than blocks.
    own: f64,
}

impl Cell {
    fn degrees(&self) -> usize {
        self.blocks - 1
    }
}

impl Spread {
    /// Of these runs, A/A controls among them, of so many combinations.
    pub(super) fn of(runs: &[Run], combinations: usize) -> Self {
        let mut blocks: BTreeMap<usize, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for run in runs {
            let own = blocks.entry(run.combination).or_default();
            own.entry(run.block).or_default().push(run.log);
        }
        let strata = Strata::of(runs, &blocks, combinations);
        let of_blocks = strata.share_of_blocks(&blocks);
        let cells: BTreeMap<usize, Cell> = blocks
            .iter()
            .filter_map(|(place, blocks)| Some((*place, cell(blocks, of_blocks)?)))
            .collect();
        let each: Vec<(f64, usize)> = cells
            .values()
            .filter(|cell| cell.blocks > 1)
            .map(|cell| (cell.own, cell.degrees()))
            .collect();
        Self {
            cells,
            prior: prior_degrees(&each),
            pooled: strata.degrees(),
            apart: 1.0 - of_blocks,
        }
    }

    /// The mean of a combination over its blocks.
    pub(super) fn mean(&self, combination: usize) -> Option<f64> {
        self.cells.get(&combination).map(|cell| cell.mean)
    }

    /// The same with what its bounds are computed from; none below two blocks.
    pub(super) fn bounds(&self, combination: usize) -> Option<Bounds> {
        let cell = self.cells.get(&combination).filter(|one| one.blocks > 1)?;
        let (variance, degrees) = self.moderated(combination, cell);
        Some(Bounds {
            mean: cell.mean,
            error: (variance * cell.share).sqrt(),
            degrees,
            blocks: cell.blocks,
        })
    }

    /// The variance of one run of a combination, moderated by the others, and its degrees of freedom; its own alone where
    /// that is larger than theirs by more than chance.
    #[expect(
        clippy::cast_precision_loss,
        reason = "blocks and combinations are few"
    )]
    fn moderated(&self, combination: usize, cell: &Cell) -> (f64, f64) {
        let own = cell.degrees() as f64;
        let alone = (cell.own, own);
        let others = self
            .cells
            .iter()
            .filter(|(place, _)| **place != combination);
        let (mut squares, mut count) = (0.0, 0.0);
        for (_, other) in others.filter(|(_, other)| other.blocks > 1) {
            squares += other.own * other.degrees() as f64;
            count += other.degrees() as f64;
        }
        // What all combinations share in a block, others do not show again.
        let more = self.pooled - own;
        if count < 1.0 || more <= 0.0 || self.prior <= 0.0 {
            return alone;
        }
        let others = squares / count;
        if is_larger(cell.own, cell.degrees(), others, more) {
            return alone;
        }
        let worth = (self.prior.recip() + more.recip()).recip() * self.apart;
        let all = own + worth;
        ((own * cell.own + worth * others) / all, all)
    }
}

/// A combination's blocks as means, in which an A/A control has halved what is not the block's; `of_blocks` is the
/// share of the variance of a run that its block shares.
#[expect(clippy::cast_precision_loss, reason = "runs of one combination")]
fn cell(blocks: &BTreeMap<usize, Vec<f64>>, of_blocks: f64) -> Option<Cell> {
    let means: Vec<f64> = blocks.values().filter_map(|runs| mean(runs)).collect();
    let count = means.len() as f64;
    let middle = mean(&means)?;
    let of_runs: f64 = blocks.values().map(|runs| 1.0 / runs.len() as f64).sum();
    let share = (of_blocks + (1.0 - of_blocks) * of_runs / count) / count;
    let squares: f64 = means.iter().map(|one| (one - middle).powi(2)).sum();
    let variance = squares / (count - 1.0).max(1.0);
    Some(Cell {
        mean: middle,
        blocks: means.len(),
        share,
        own: variance / count / share,
    })
}

/// Sums of squares about the means of combinations, with their degrees of freedom: of blocks, of restarts in them, and of
/// runs in restarts.
struct Strata([(f64, usize); 3]);

impl Strata {
    fn of(
        runs: &[Run],
        blocks: &BTreeMap<usize, BTreeMap<usize, Vec<f64>>>,
        combinations: usize,
    ) -> Self {
        let about_cells = blocks.values().map(|own| {
            let all: Vec<f64> = own.values().flatten().copied().collect();
            let middle = mean(&all).unwrap_or(0.0);
            all.iter().map(|one| (one - middle).powi(2)).sum::<f64>()
        });
        let about_cells: f64 = about_cells.sum();
        let with_blocks: Vec<Observation> = runs
            .iter()
            .map(|run| Observation {
                at: vec![(run.combination, 1.0), (combinations + run.block, 1.0)],
                value: run.log,
            })
            .collect();
        let last = runs.iter().map(|run| run.block + 1).max().unwrap_or(0);
        let with_blocks = LeastSquares::of(&with_blocks, combinations + last);
        let mut lives: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        for run in runs {
            lives.entry(run.life).or_default().push(run);
        }
        let within: Vec<Observation> = lives.values().flat_map(|life| less_mean(life)).collect();
        let within = LeastSquares::of(&within, combinations);
        let of_runs = (runs.len() - lives.len()).saturating_sub(within.rank);
        let rest = runs.len().saturating_sub(with_blocks.rank);
        let parts = [
            (
                about_cells - with_blocks.residual_squares,
                with_blocks.rank.saturating_sub(blocks.len()),
            ),
            (
                with_blocks.residual_squares - within.residual_squares,
                rest.saturating_sub(of_runs),
            ),
            (within.residual_squares, of_runs),
        ];
        // Without a degree of freedom it is rounding.
        Self(parts.map(|(squares, degrees)| match degrees {
            0 => (0.0, 0),
            _ => (squares.max(0.0), degrees),
        }))
    }

    /// Degrees of freedom of the sum of all three (Satterthwaite). Blocks have few: where they came out small by chance they
    /// would seem to matter less than they do, so a standard error is added to them.
    #[expect(clippy::cast_precision_loss, reason = "runs of an experiment")]
    fn degrees(&self) -> f64 {
        let [(of_blocks, few), ..] = self.0;
        let mut squares = self.0;
        squares[0].0 = of_blocks * (1.0 + (2.0 / few.max(1) as f64).sqrt());
        let known = || squares.iter().filter(|(_, degrees)| *degrees > 0);
        let sum: f64 = known().map(|(squares, _)| squares).sum();
        let parts = known().map(|(squares, degrees)| squares * squares / *degrees as f64);
        let parts: f64 = parts.sum();
        if parts > 0.0 { sum * sum / parts } else { 0.0 }
    }

    /// The share of a run's variance that all runs of its block have in common, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "runs of an experiment")]
    fn share_of_blocks(&self, blocks: &BTreeMap<usize, BTreeMap<usize, Vec<f64>>>) -> f64 {
        let [of_blocks, of_restarts, of_runs] = self.0;
        let below = if of_restarts.1 > 0 {
            of_restarts
        } else {
            of_runs
        };
        let below = below.0 / below.1.max(1) as f64;
        // How often the variance of blocks is in the squares about the means of combinations.
        let often = blocks.values().map(|own| {
            let counts = own.values().map(|runs| runs.len() as f64);
            let all: f64 = counts.clone().sum();
            all - counts.map(|count| count * count).sum::<f64>() / all
        });
        let often: f64 = often.sum();
        let all: f64 = self.0.iter().map(|(squares, _)| squares).sum();
        let degrees: usize = self.0.iter().map(|(_, degrees)| degrees).sum();
        if often <= 0.0 || degrees == 0 {
            return 0.0;
        }
        let variance = ((of_blocks.0 - of_blocks.1 as f64 * below) / often).max(0.0);
        let rest = ((all - often * variance) / degrees as f64).max(0.0);
        if variance > 0.0 {
            variance / (variance + rest)
        } else {
            0.0
        }
    }
}

/// The runs of a life, each less the mean of all.
#[expect(clippy::cast_precision_loss, reason = "runs of one life")]
fn less_mean(life: &[&Run]) -> Vec<Observation> {
    if life.len() < 2 {
        return Vec::new();
    }
    let share = 1.0 / life.len() as f64;
    let middle = life.iter().map(|run| run.log).sum::<f64>() * share;
    let each = life.iter().map(|run| {
        let of = |other: &&Run| f64::from(u8::from(other.combination == run.combination)) - share;
        Observation {
            at: life
                .iter()
                .map(|other| (other.combination, of(other)))
                .collect(),
            value: run.log - middle,
        }
    });
    each.collect()
}
