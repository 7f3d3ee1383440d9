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
    /// By combination the number of its restart's settings.
    wholes: Vec<usize>,
    /// By combination whether a run of it was fitted.
    fitted: Vec<bool>,
    blocks: usize,
    /// Runs less the mean of their restart: by combination, then the place in the life of the nodes.
    runs: LeastSquares,
    /// Means of restarts: by block, then by the settings of restarts.
    restarts: LeastSquares,
    pub(super) residuals: Residuals,
}

/// What is known of a run's place in the life of its nodes: code that is not compiled yet, and caches that are empty,
/// cost the first run most. Of the forms tried this one explains most (docs/design/042-pooled-residual.md).
#[expect(clippy::cast_precision_loss, reason = "runs of one life")]
fn coldness(place: usize) -> f64 {
    1.0 / (place + 1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "runs of an experiment")]
fn mean_of(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

impl Strata {
    /// The fit of these runs; `wholes` has by combination the number of its restart's settings.
    pub(super) fn of(runs: &[Run], wholes: &[usize]) -> Self {
        let mut lives: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        let mut fitted = vec![false; wholes.len()];
        for run in runs {
            lives.entry(run.life).or_default().push(run);
            fitted[run.combination] = true;
        }
        let combinations = wholes.len();
        let within: Vec<Observation> = lives
            .values()
            .flat_map(|l| less_mean(l, combinations))
            .collect();
        let fit = LeastSquares::of(&within, combinations + 1);
        let runs_residual = Residual::of(&fit, runs.len() - lives.len());
        let mut strata = Self {
            wholes: wholes.to_vec(),
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
        let columns = strata.blocks + wholes.iter().max().map_or(0, |last| last + 1);
        strata.restarts = LeastSquares::of(&means, columns);
        strata.residuals.restarts = Residual::of(&strata.restarts, means.len());
        strata
    }

    /// The mean of a life's runs as if each setting of its restart had run in it, each at the same place.
    fn mean(&self, life: &[&Run]) -> Observation {
        let settled = life.iter().map(|run| {
            let place = self.runs.coefficient(self.wholes.len()) * coldness(run.place);
            run.log - self.within(run.combination) - place
        });
        let whole = self.wholes[life[0].combination];
        Observation {
            at: vec![(life[0].block, 1.0), (self.blocks + whole, 1.0)],
            value: mean_of(settled, life.len()),
        }
    }

    /// What a combination differs by from the mean of its restart's.
    fn within(&self, combination: usize) -> f64 {
        let own = self.like(combination);
        let mean = mean_of(own.iter().map(|c| self.runs.coefficient(*c)), own.len());
        self.runs.coefficient(combination) - mean
    }

    /// The fitted combinations of the same restart.
    fn like(&self, combination: usize) -> Vec<usize> {
        let whole = self.wholes[combination];
        let own = (0..self.wholes.len()).filter(|c| self.wholes[*c] == whole && self.fitted[*c]);
        own.collect()
    }

    /// The sum over combinations by these weights, which together are 0, with its interval by these residuals; `blocks`
    /// is what it is told to stand on. What differs between restarts is judged by restarts, what differs within them by
    /// runs, and what does both by both (Satterthwaite's degrees of freedom). None where the runs cannot estimate it, or
    /// leave no degree of freedom.
    #[expect(
        clippy::cast_precision_loss,
        reason = "combinations and blocks are few"
    )]
    pub(super) fn contrast(
        &self,
        weights: &[f64],
        residuals: &Residuals,
        blocks: usize,
    ) -> Option<Interval> {
        let mut between = vec![0.0; self.blocks + self.wholes.iter().max()? + 1];
        let mut inside = weights.to_vec();
        for (combination, weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            if !self.fitted[combination] {
                return None;
            }
            between[self.blocks + self.wholes[combination]] += weight;
            let like = self.like(combination);
            let share = weight / like.len() as f64;
            like.into_iter().for_each(|c| inside[c] -= share);
        }
        // The place in the life is no part of a contrast.
        inside.push(0.0);
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
fn less_mean(life: &[&Run], combinations: usize) -> Vec<Observation> {
    if life.len() < 2 {
        return Vec::new();
    }
    let share = 1.0 / life.len() as f64;
    let mean = mean_of(life.iter().map(|run| run.log), life.len());
    let cold = mean_of(life.iter().map(|run| coldness(run.place)), life.len());
    let each = life.iter().map(|run| {
        let of = |other: &&Run| f64::from(u8::from(other.combination == run.combination)) - share;
        let mut at: Vec<(usize, f64)> = life.iter().map(|o| (o.combination, of(o))).collect();
        at.push((combinations, coldness(run.place) - cold));
        Observation {
            at,
            value: run.log - mean,
        }
    });
    each.collect()
}
