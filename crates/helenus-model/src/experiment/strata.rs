//! The analysis of variance of an experiment on the log scale: restarts in randomised blocks, and runs within restarts (a
//! split plot), each with one residual that all its contrasts share.
//! Refuses the residual of runs within a restart for what only other restarts can show.

use super::logs::Run;
use crate::stats::{Interval, LeastSquares, Observation};
use std::collections::BTreeMap;

/// A residual variance with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residual {
    variance: f64,
    degrees: usize,
}

impl Residual {
    #[expect(clippy::cast_precision_loss, reason = "runs of an experiment")]
    fn of(fit: &LeastSquares, free: usize) -> Self {
        let degrees = free.saturating_sub(fit.rank);
        Self {
            variance: fit.residual_squares / degrees.max(1) as f64,
            degrees,
        }
    }
}

/// What the fit of both strata leaves unexplained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residuals {
    restarts: Residual,
    runs: Residual,
}

/// The fit of both strata.
#[derive(Debug)]
pub(super) struct Strata {
    coding: Coding,
    /// By combination whether a run of it was fitted.
    fitted: Vec<bool>,
    blocks: usize,
    /// Runs less the mean of their restart: what differs within restarts, then the age of the nodes.
    runs: LeastSquares,
    /// Means of restarts: by block, then what differs between restarts.
    restarts: LeastSquares,
    pub(super) residuals: Residuals,
}

/// The columns of a fit: what a combination adds to both strata.
#[derive(Debug, Clone)]
pub(super) struct Coding {
    /// By combination the number of its restart's settings.
    wholes: Vec<usize>,
    /// By combination its columns between restarts.
    between: Vec<Vec<usize>>,
    /// By combination its columns within a restart.
    within: Vec<Vec<usize>>,
    /// Of main effects the column of each factor's first level, and whether it is one between restarts.
    factors: Option<Vec<(bool, usize)>>,
}

impl Coding {
    /// Each restart's settings and each combination by itself.
    pub(super) fn of_cells(wholes: &[usize]) -> Self {
        Self {
            wholes: wholes.to_vec(),
            between: wholes.iter().map(|whole| vec![*whole]).collect(),
            within: (0..wholes.len()).map(|place| vec![place]).collect(),
            factors: None,
        }
    }

    /// Main effects only: each level of each factor, which is between restarts or within them.
    pub(super) fn of_main_effects(
        wholes: &[usize],
        combinations: &[Vec<usize>],
        is_between: &[bool],
    ) -> Self {
        let mut next = [0, 0];
        let mut factors = Vec::new();
        for (factor, between) in is_between.iter().enumerate() {
            let levels = combinations.iter().map(|levels| levels[factor]).max();
            let next = &mut next[usize::from(*between)];
            factors.push((*between, *next));
            *next += levels.map_or(0, |last| last + 1);
        }
        let columns = |between: bool| -> Vec<Vec<usize>> {
            let of = |levels: &Vec<usize>| {
                let own = factors.iter().zip(levels);
                let own = own.filter(|((is_between, _), _)| *is_between == between);
                own.map(|((_, first), level)| first + level).collect()
            };
            combinations.iter().map(of).collect()
        };
        Self {
            wholes: wholes.to_vec(),
            between: columns(true),
            within: columns(false),
            factors: Some(factors),
        }
    }

    fn count(of: &[Vec<usize>]) -> usize {
        of.iter().flatten().max().map_or(0, |last| last + 1)
    }
}

/// Columns of a run's place in the life of its nodes.
const AGES: usize = 2;

/// What is known of a run's place in the life of its nodes: code that is not compiled yet, and caches that are empty,
/// cost the first run most; what goes on growing or settling changes less and less. Of the forms tried these two together
/// explain most (docs/design/042-pooled-residual.md).
#[expect(clippy::cast_precision_loss, reason = "runs of one life")]
fn age(place: usize) -> [f64; AGES] {
    let number = (place + 1) as f64;
    [1.0 / number, number.ln()]
}

#[expect(clippy::cast_precision_loss, reason = "runs of an experiment")]
fn mean_of(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

impl Strata {
    /// The fit of these runs.
    pub(super) fn of(runs: &[Run], coding: &Coding) -> Self {
        let mut lives: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        let mut fitted = vec![false; coding.wholes.len()];
        for run in runs {
            lives.entry(run.life).or_default().push(run);
            fitted[run.combination] = true;
        }
        let within: Vec<Observation> = lives.values().flat_map(|l| less_mean(l, coding)).collect();
        let fit = LeastSquares::of(&within, Coding::count(&coding.within) + AGES);
        let runs_residual = Residual::of(&fit, runs.len() - lives.len());
        let mut strata = Self {
            coding: coding.clone(),
            fitted,
            blocks: runs.iter().map(|run| run.block + 1).max().unwrap_or(0),
            runs: fit,
            restarts: LeastSquares::of(&[], 0),
            residuals: Residuals {
                restarts: runs_residual,
                runs: runs_residual,
            },
        };
        let means: Vec<Observation> = lives.values().map(|life| strata.mean(life)).collect();
        let columns = strata.blocks + Coding::count(&coding.between);
        strata.restarts = LeastSquares::of(&means, columns);
        strata.residuals.restarts = Residual::of(&strata.restarts, means.len());
        strata
    }

    /// The mean of a life's runs as if each setting of its restart had run in it, each at the same place.
    fn mean(&self, life: &[&Run]) -> Observation {
        let last = Coding::count(&self.coding.within);
        let settled = life.iter().map(|run| {
            let ages = age(run.place).into_iter().enumerate();
            let aged: f64 = ages
                .map(|(k, age)| self.runs.coefficient(last + k) * age)
                .sum();
            run.log - self.within(run.combination) - aged
        });
        let own = self.coding.between[life[0].combination].iter();
        let own = own.map(|column| (self.blocks + column, 1.0));
        Observation {
            at: [(life[0].block, 1.0)].into_iter().chain(own).collect(),
            value: mean_of(settled, life.len()),
        }
    }

    /// What a combination differs by from the mean of its restart's.
    fn within(&self, combination: usize) -> f64 {
        let of = |combination: usize| -> f64 {
            let own = self.coding.within[combination].iter();
            own.map(|column| self.runs.coefficient(*column)).sum()
        };
        let like = self.like(combination);
        of(combination) - mean_of(like.iter().map(|c| of(*c)), like.len())
    }

    /// The fitted combinations of the same restart.
    fn like(&self, combination: usize) -> Vec<usize> {
        let wholes = &self.coding.wholes;
        let own =
            (0..wholes.len()).filter(|c| wholes[*c] == wholes[combination] && self.fitted[*c]);
        own.collect()
    }

    /// The sum over combinations by these weights, which together are 0, with its interval by these residuals; `blocks`
    /// is the count that the interval carries. None where the runs cannot estimate it, or leave no degree of freedom.
    #[expect(clippy::cast_precision_loss, reason = "combinations are few")]
    pub(super) fn contrast(
        &self,
        weights: &[f64],
        residuals: &Residuals,
        blocks: usize,
    ) -> Option<Interval> {
        let mut between = vec![0.0; self.blocks + Coding::count(&self.coding.between)];
        let mut inside = vec![0.0; Coding::count(&self.coding.within) + AGES];
        let mut add = |combination: usize, weight: f64| {
            let own = self.coding.within[combination].iter();
            own.for_each(|column| inside[*column] += weight);
        };
        for (combination, weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            if !self.fitted[combination] {
                return None;
            }
            let own = self.coding.between[combination].iter();
            own.for_each(|column| between[self.blocks + column] += weight);
            add(combination, *weight);
            let like = self.like(combination);
            let share = weight / like.len() as f64;
            like.into_iter().for_each(|c| add(c, -share));
        }
        self.judged([between, inside], residuals, blocks)
    }

    /// The sum of levels of factors, each less its first one, where the coding has main effects.
    pub(super) fn main_effects(
        &self,
        levels: &[(usize, usize)],
        residuals: &Residuals,
        restarts: usize,
    ) -> Option<Interval> {
        let mut between = vec![0.0; self.blocks + Coding::count(&self.coding.between)];
        let mut inside = vec![0.0; Coding::count(&self.coding.within) + AGES];
        for (factor, level) in levels {
            let (is_between, first) = *self.coding.factors.as_ref()?.get(*factor)?;
            let (weights, first) = match is_between {
                true => (&mut between, self.blocks + first),
                false => (&mut inside, first),
            };
            *weights.get_mut(first)? -= 1.0;
            *weights.get_mut(first + level)? += 1.0;
        }
        self.judged([between, inside], residuals, restarts)
    }

    /// What differs between restarts is judged by restarts, what differs within them by runs, and what does both by both
    /// (Satterthwaite's degrees of freedom).
    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    fn judged(
        &self,
        [between, inside]: [Vec<f64>; 2],
        residuals: &Residuals,
        blocks: usize,
    ) -> Option<Interval> {
        let parts = [
            (&self.restarts, between, residuals.restarts),
            (&self.runs, inside, residuals.runs),
        ];
        let (mut value, mut variance, mut squares) = (0.0, 0.0, 0.0);
        let mut fewest: Option<usize> = None;
        for (fit, weights, residual) in parts {
            if weights.iter().all(|w| w.abs() < 1e-9) {
                continue;
            }
            let sum = fit.sum(&weights).filter(|_| residual.degrees > 0)?;
            let own = sum.variance * residual.variance;
            value += sum.value;
            variance += own;
            squares += own * own / residual.degrees as f64;
            fewest = Some(fewest.map_or(residual.degrees, |few| few.min(residual.degrees)));
        }
        let degrees = if squares > 0.0 {
            variance * variance / squares
        } else {
            0.0
        };
        Some(Interval::of_contrast(
            value,
            variance,
            blocks,
            floor(degrees).max(fewest?),
        ))
    }
}

/// Whole degrees of freedom: fewer rather than more.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to the number of runs"
)]
fn floor(degrees: f64) -> usize {
    (degrees + 1e-6) as usize
}

/// The runs of a life, each less the mean of all: what the life itself has in it is gone.
#[expect(clippy::cast_precision_loss, reason = "runs of one life")]
fn less_mean(life: &[&Run], coding: &Coding) -> Vec<Observation> {
    if life.len() < 2 {
        return Vec::new();
    }
    let share = 1.0 / life.len() as f64;
    let mean = mean_of(life.iter().map(|run| run.log), life.len());
    let mean_age = |k: usize| mean_of(life.iter().map(|run| age(run.place)[k]), life.len());
    let columns = |run: &Run| coding.within[run.combination].iter().copied();
    let of_all = || {
        life.iter()
            .flat_map(|other| columns(other))
            .map(|column| (column, -share))
    };
    let each = life.iter().map(|run| {
        let mut at: Vec<(usize, f64)> = columns(run).map(|column| (column, 1.0)).collect();
        at.extend(of_all());
        let ages = age(run.place).into_iter().enumerate();
        at.extend(ages.map(|(k, age)| (Coding::count(&coding.within) + k, age - mean_age(k))));
        Observation {
            at,
            value: run.log - mean,
        }
    });
    each.collect()
}
