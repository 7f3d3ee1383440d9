//! The rate that holds, from trials that held and trials that did not: in one life of the nodes, over lives, and in a
//! life that is still to come.
//! Refuses to count trials of one life as independent of each other: a life has a rate, and lives differ.
//!
//! The model: in life `l` a trial at rate `r` holds with probability Φ((θ_l − ln r) / σ), except that a share of the trials
//! fails by accident, whatever the rate: a stall of the host, a long collection. θ_l is normal around μ with deviation τ.
//! The posterior of μ, τ, σ and that share is computed on a grid, with priors that are nearly flat over the range that
//! matters. Everything is a sum over that grid, so equal trials give equal numbers.

use super::Trial;
use crate::stats::normal_cdf;
use serde::{Deserialize, Serialize};

/// Shares of trials that fail by accident, with their weights beforehand.
const ACCIDENTS: [(f64, f64); 4] = [(0.01, 0.4), (0.05, 0.3), (0.12, 0.2), (0.25, 0.1)];

/// Probability that a trial far above its life's rate holds: a short one can be lucky.
const LUCK: f64 = 0.01;

/// Deviations of a trial from its life's rate, as shares, equally likely beforehand.
const TRIAL_NOISE: [f64; 5] = [0.005, 0.015, 0.04, 0.08, 0.16];

/// Deviations of the lives' rates, as shares; small ones are likelier beforehand.
const LIFE_NOISE: [f64; 8] = [0.003, 0.01, 0.02, 0.035, 0.06, 0.1, 0.16, 0.25];

/// The deviation at which the prior of [`LIFE_NOISE`] has fallen to half.
const LIFE_NOISE_HALF: f64 = 0.08;

/// Share of the closed loop's rate around which the rate is thought to be before the first trial.
const PRIOR: f64 = 0.5;

/// How wide: half of the prior is within a factor of *e* to this power.
const PRIOR_WIDTH: f64 = 0.5;

/// Steps of the grid of rates.
const STEPS: usize = 300;

/// Trials whose probabilities are multiplied before their logarithm is taken: none is below 0.01, and the product of so many
/// is a number still.
const TOGETHER: usize = 100;

/// Share of the posterior that an interval holds.
const LEVEL: f64 = 0.95;

/// A rate in operations a second, with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median of the posterior: a trial at it holds as often as not.
    pub rate_per_s: f64,
    /// Lower end of the interval.
    pub low_per_s: f64,
    /// Upper end.
    pub high_per_s: f64,
}

impl Estimate {
    /// The width of its interval, as the ratio of its ends.
    pub fn width(&self) -> f64 {
        self.high_per_s / self.low_per_s
    }
}

/// What all lives say.
#[derive(Debug, Clone)]
pub struct Lives {
    /// Logarithms of rates.
    grid: Vec<f64>,
    /// What is weighed.
    cases: Vec<Case>,
    lives: usize,
}

/// One spread of lives, one noise of trials, one share of accidents, and the weights of the lives' middle.
#[derive(Debug, Clone)]
struct Case {
    of_lives: f64,
    of_trials: f64,
    accidents: f64,
    weights: Vec<f64>,
}

/// The rate that holds, by the trials of these lives. None where no trial says anything.
pub fn estimate(lives: &[Vec<Trial>], capacity_per_s: f64) -> Option<Estimate> {
    Some(Lives::of(lives, capacity_per_s)?.center())
}

/// The rates at these quantiles of what one life's trials leave open, in operations a second.
pub fn rates_at<const N: usize>(
    trials: &[Trial],
    (capacity_per_s, around): (f64, Option<f64>),
    quantiles: [f64; N],
) -> [f64; N] {
    let prior = Prior::of(capacity_per_s, around);
    let whole = prior.grid(prior.low.ln(), prior.high.ln());
    let coarse = Posterior::of(trials, whole, &prior);
    let [low, high] = [coarse.quantile(0.0005), coarse.quantile(0.9995)];
    let fine = prior.grid(low - 0.02, high + 0.02);
    let found = Posterior::of(trials, fine, &prior);
    quantiles.map(|quantile| found.quantile(quantile).exp())
}

/// What is thought before the first trial.
struct Prior {
    low: f64,
    high: f64,
    center: f64,
    width: f64,
}

impl Prior {
    fn of(capacity_per_s: f64, around: Option<f64>) -> Self {
        Self {
            low: (capacity_per_s / 2e3).max(0.1),
            // The closed loop may have met cold nodes.
            high: capacity_per_s * 20.0,
            center: around.unwrap_or(capacity_per_s * PRIOR).ln(),
            // Lives of the same nodes are close to each other.
            width: if around.is_some() { 0.1 } else { PRIOR_WIDTH },
        }
    }

    /// Cauchy: wide enough to be corrected by a few trials.
    fn density(&self, log: f64) -> f64 {
        1.0 / (1.0 + ((log - self.center) / self.width).powi(2))
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred steps")]
    fn grid(&self, low: f64, high: f64) -> Vec<f64> {
        let (low, high) = (low.max(self.low.ln()), high.min(self.high.ln()));
        let step = (high - low).max(1e-6) / (STEPS - 1) as f64;
        (0..STEPS).map(|at| low + step * at as f64).collect()
    }
}

/// Probability that a trial holds which would with probability `chance` if nothing happened by accident.
fn holds(chance: f64, accidents: f64) -> f64 {
    LUCK + (1.0 - accidents - LUCK) * chance
}

/// Values at each rate of the grid, by share of accidents.
type ByAccidents = [Vec<f64>; ACCIDENTS.len()];

/// The logarithm of the likelihood of a life's trials. The likelihood itself of many trials is too small for a number.
fn likelihood(trials: &[Trial], grid: &[f64], noise: f64) -> ByAccidents {
    let mut logs: ByAccidents = ACCIDENTS.map(|_| vec![0.0; grid.len()]);
    for some in trials.chunks(TOGETHER) {
        let mut all: ByAccidents = ACCIDENTS.map(|_| vec![1.0; grid.len()]);
        for trial in some {
            let Some(held) = trial.held else { continue };
            let at = trial.rate_per_s.ln();
            for (place, theta) in grid.iter().enumerate() {
                let chance = normal_cdf((theta - at) / noise);
                for (of, (accidents, _)) in all.iter_mut().zip(ACCIDENTS) {
                    let holds = holds(chance, accidents);
                    of[place] *= if held { holds } else { 1.0 - holds };
                }
            }
        }
        let each = logs.iter_mut().flatten().zip(all.iter().flatten());
        each.for_each(|(log, of)| *log += of.ln());
    }
    logs
}

/// The largest of these.
fn largest<'a>(of: impl IntoIterator<Item = &'a f64>) -> f64 {
    of.into_iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The likelihood of a life's trials: the logarithm of its largest value, and all as shares of that one.
struct Likely {
    most: f64,
    shares: ByAccidents,
}

impl Likely {
    fn of(mut logs: ByAccidents) -> Self {
        let most = largest(logs.iter().flatten());
        let each = logs.iter_mut().flatten();
        each.for_each(|log| *log = (*log - most).exp());
        Self { most, shares: logs }
    }
}

/// One life, its rate alone.
struct Posterior {
    grid: Vec<f64>,
    weights: Vec<f64>,
}

impl Posterior {
    fn of(trials: &[Trial], grid: Vec<f64>, prior: &Prior) -> Self {
        let mut weights = vec![0.0; grid.len()];
        let likely = TRIAL_NOISE.map(|noise| likelihood(trials, &grid, noise));
        let most = largest(likely.iter().flatten().flatten());
        for likely in &likely {
            for (of, (_, share)) in likely.iter().zip(ACCIDENTS) {
                weights
                    .iter_mut()
                    .zip(of)
                    .for_each(|(w, l)| *w += share * (l - most).exp());
            }
        }
        let each = weights.iter_mut().zip(&grid);
        each.for_each(|(weight, log)| *weight *= prior.density(*log));
        Self { grid, weights }
    }

    fn quantile(&self, quantile: f64) -> f64 {
        at_quantile(&self.grid, &self.weights, quantile)
    }
}

/// The point of a grid below which this share of the weights lies, between two points of it.
fn at_quantile(grid: &[f64], weights: &[f64], quantile: f64) -> f64 {
    let whole: f64 = weights.iter().sum();
    let mut below = 0.0;
    for (place, (log, weight)) in grid.iter().zip(weights).enumerate() {
        let share = weight / whole;
        if below + share >= quantile {
            let before = place.checked_sub(1).map_or(*log, |place| grid[place]);
            let within = if share > 0.0 {
                (quantile - below) / share
            } else {
                0.0
            };
            return before + (log - before) * within.clamp(0.0, 1.0);
        }
        below += share;
    }
    grid.last().copied().unwrap_or_default()
}

impl Lives {
    /// What these lives say; none where no trial held or failed, and where no rate is possible.
    pub fn of(lives: &[Vec<Trial>], capacity_per_s: f64) -> Option<Self> {
        let known = |life: &&Vec<Trial>| life.iter().any(|trial| trial.held.is_some());
        let lives: Vec<Vec<Trial>> = lives.iter().filter(known).cloned().collect();
        if lives.is_empty() {
            return None;
        }
        let prior = Prior::of(capacity_per_s, None);
        let grid = Self::where_they_lie(&lives, &prior);
        let step = (grid[1] - grid[0]).max(1e-12);
        let spreads = life_noises(lives.len());
        let kernels: Vec<Vec<f64>> = spreads.iter().map(|s| kernel(*s, step)).collect();
        let beforehand: Vec<f64> = grid.iter().map(|log| prior.density(*log)).collect();
        let mut cases = Vec::new();
        for of_trials in TRIAL_NOISE {
            let each = lives.iter();
            let likely: Vec<_> = each
                .map(|life| Likely::of(likelihood(life, &grid, of_trials)))
                .collect();
            for (of_lives, kernel) in spreads.iter().copied().zip(&kernels) {
                let prior = 1.0 / (1.0 + (of_lives / LIFE_NOISE_HALF).powi(2));
                for (place, (accidents, share)) in ACCIDENTS.into_iter().enumerate() {
                    // Logarithms until all are there: many lives together have a small likelihood.
                    let each = beforehand.iter();
                    let mut weights: Vec<f64> = each.map(|w| (w * prior * share).ln()).collect();
                    for life in &likely {
                        let spread = spread(&life.shares[place], kernel);
                        let each = weights.iter_mut().zip(spread);
                        each.for_each(|(w, s)| *w += life.most + s.ln());
                    }
                    cases.push(Case {
                        of_lives,
                        of_trials,
                        accidents,
                        weights,
                    });
                }
            }
        }
        let most = largest(cases.iter().flat_map(|case| &case.weights));
        if !most.is_finite() {
            return None;
        }
        let weights = cases.iter_mut().flat_map(|case| &mut case.weights);
        weights.for_each(|weight| *weight = (*weight - most).exp());
        Some(Self {
            grid,
            cases,
            lives: lives.len(),
        })
    }

    /// A grid over the rates that any life leaves open.
    fn where_they_lie(lives: &[Vec<Trial>], prior: &Prior) -> Vec<f64> {
        let whole = prior.grid(prior.low.ln(), prior.high.ln());
        let each = lives.iter().map(|life| {
            let one = Posterior::of(life, whole.clone(), prior);
            [one.quantile(0.002), one.quantile(0.998)]
        });
        let ends = each.fold([f64::MAX, f64::MIN], |all, one| {
            [all[0].min(one[0]), all[1].max(one[1])]
        });
        let margin = if lives.len() > 1 { 0.15 } else { 0.03 };
        prior.grid(ends[0] - margin, ends[1] + margin)
    }

    /// The rate of the lives' middle: with one life, of that life.
    pub fn center(&self) -> Estimate {
        let mut all = vec![0.0; self.grid.len()];
        for case in &self.cases {
            all.iter_mut().zip(&case.weights).for_each(|(a, w)| *a += w);
        }
        let at = |quantile| at_quantile(&self.grid, &all, quantile).exp();
        Estimate {
            rate_per_s: at(0.5),
            low_per_s: at((1.0 - LEVEL) / 2.0),
            high_per_s: at(1.0 - (1.0 - LEVEL) / 2.0),
        }
    }

    /// The highest rate at which a trial holds with this probability in a life that is still to come, all that is not known
    /// included. None below three lives, for the spread of lives is a guess then; and where so many trials fail by accident
    /// that no rate holds so often.
    pub fn holds_with(&self, probability: f64) -> Option<f64> {
        if self.lives < 3 {
            return None;
        }
        let whole: f64 = self.cases.iter().flat_map(|case| &case.weights).sum();
        let at = |log: f64| -> f64 {
            let each = self.cases.iter().map(|case| {
                let deviation = case.of_lives.hypot(case.of_trials);
                let centers = self.grid.iter().zip(&case.weights);
                let each = centers.map(|(center, weight)| {
                    weight * holds(normal_cdf((center - log) / deviation), case.accidents)
                });
                each.sum::<f64>()
            });
            each.sum::<f64>() / whole
        };
        let (mut low, mut high) = (self.grid[0] - 1.0, *self.grid.last()?);
        if at(low) < probability {
            return None;
        }
        while high - low > 1e-4 {
            let middle = f64::midpoint(low, high);
            match at(middle) >= probability {
                true => low = middle,
                false => high = middle,
            }
        }
        Some(low.exp())
    }
}

/// Spreads of lives that are considered: of one life there is none to see.
fn life_noises(lives: usize) -> &'static [f64] {
    match lives {
        1 => &LIFE_NOISE[..1],
        _ => &LIFE_NOISE,
    }
}

/// How likely a life lies so many steps of the grid from the middle of all lives; 0 steps alone below a step's width.
#[expect(clippy::cast_precision_loss, reason = "a few hundred steps")]
fn kernel(deviation: f64, step: f64) -> Vec<f64> {
    if deviation < step {
        return vec![1.0];
    }
    let density = |away: f64| (-0.5 * (away / deviation).powi(2)).exp() * step / deviation;
    let each = (0..STEPS).map(|steps| density(steps as f64 * step));
    each.take_while(|weight| *weight > 1e-12).collect()
}

/// The likelihood of a life by the middle of all lives.
fn spread(likely: &[f64], kernel: &[f64]) -> Vec<f64> {
    (0..likely.len())
        .map(|center| {
            let from = center.saturating_sub(kernel.len() - 1);
            let to = (center + kernel.len()).min(likely.len());
            let each = likely[from..to].iter().zip(from..);
            each.map(|(weight, place)| weight * kernel[place.abs_diff(center)])
                .sum()
        })
        .collect()
}
