//! Means of paired log ratios: intervals, the pairs they need, what they can find, and many of them at once.
//! Refuses an interval from fewer than two pairs.

use super::{mean, normal_cdf, sequence, standard_deviation, t_cdf, t_quantile};

/// What additions of equal numbers may differ by: below it there is no difference, and no noise.
const ROUNDING: f64 = 1e-12;

/// A mean with what its interval is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Standard deviation of one value.
    pub sd: f64,
    /// Values in the mean.
    pub count: usize,
    /// Degrees of freedom of the standard deviation.
    pub degrees: usize,
    /// Whether it was looked at after each value: its ends and p then hold whenever one stops.
    pub sequential: bool,
}

impl Interval {
    /// That of a contrast of this variance, given as the mean of so many blocks: `sd` is the one that blocks of such a mean
    /// would have.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn of_contrast(mean: f64, variance: f64, count: usize, degrees: usize) -> Self {
        let sd = (variance * count as f64).sqrt();
        Self {
            mean,
            sd: if sd <= ROUNDING { 0.0 } else { sd },
            count,
            degrees,
            sequential: false,
        }
    }

    /// The same, looked at after each value.
    #[must_use]
    pub fn in_sequence(self) -> Self {
        Self {
            sequential: true,
            ..self
        }
    }

    /// Standard error of the mean.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn standard_error(&self) -> f64 {
        self.sd / (self.count as f64).sqrt()
    }

    /// Both ends at the two-sided level `alpha` (0.05 for an interval of 95 %).
    pub fn ends(&self, alpha: f64) -> [f64; 2] {
        let quantile = match self.sequential {
            true => sequence::quantile(alpha, self.count),
            false => t_quantile(1.0 - alpha / 2.0, self.degrees),
        };
        let half = match self.sd > 0.0 {
            true => quantile * self.standard_error(),
            false => 0.0,
        };
        [self.mean - half, self.mean + half]
    }

    /// Two-sided p value of *the true mean is `value`*.
    pub fn p(&self, value: f64) -> f64 {
        let off = (self.mean - value).abs();
        if off <= ROUNDING {
            return 1.0;
        }
        let t = off / self.standard_error();
        match self.sequential {
            true => sequence::p(t, self.count),
            false => (2.0 * t_cdf(-t, self.degrees)).clamp(0.0, 1.0),
        }
    }
}

/// Mean and interval of independent values; none below two.
pub fn interval(values: &[f64]) -> Option<Interval> {
    Some(Interval {
        mean: mean(values)?,
        sd: standard_deviation(values).map(|sd| if sd <= ROUNDING { 0.0 } else { sd })?,
        count: values.len(),
        degrees: values.len() - 1,
        sequential: false,
    })
}

/// Stein's interval: the mean over all values, with standard deviation and degrees of freedom of the first
/// `first_stage` alone. None where the first stage has fewer than two values.
pub fn two_stage_interval(values: &[f64], first_stage: usize) -> Option<Interval> {
    let first = interval(values.get(..first_stage.min(values.len()))?)?;
    Some(Interval {
        mean: mean(values)?,
        count: values.len(),
        ..first
    })
}

/// Most pairs that an answer names; above it the answer is *this many or more*.
const PAIRS_MOST: usize = 1_000_000;

/// The fewest pairs (two at least) whose interval of level `alpha` has a half-width of at most `half`, both on the log
/// scale, if their standard deviation is `sd`.
#[expect(clippy::cast_precision_loss, reason = "at most a million")]
pub fn pairs_needed(sd: f64, half: f64, alpha: f64) -> usize {
    let enough = |n: usize| t_quantile(1.0 - alpha / 2.0, n - 1) * sd <= half * (n as f64).sqrt();
    fewest(2, enough)
}

/// The smallest n from `least` on that is `enough`, which must stay so once it is.
fn fewest(least: usize, enough: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (least, least);
    while !enough(high) {
        if high >= PAIRS_MOST {
            return PAIRS_MOST;
        }
        low = high + 1;
        high = (high * 2).min(PAIRS_MOST);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// Stein's second stage (1945): how many pairs in all, after a first stage showed the standard deviation `sd` with so many
/// degrees of freedom, so that the interval of level `alpha` gets a half-width of at most `half`, both on the log scale.
/// Whoever asks has those of the first stage already, and none is taken back.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a million"
)]
pub fn second_stage(sd: f64, degrees: usize, half: f64, alpha: f64) -> usize {
    let t = t_quantile(1.0 - alpha / 2.0, degrees);
    (t * sd / half).powi(2).ceil().min(PAIRS_MOST as f64) as usize
}

/// The smallest true mean that `count` values of standard deviation `sd` find at level `alpha` with the given power,
/// by the noncentral t distribution; `degrees` are those of the standard deviation.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn detectable(sd: f64, count: usize, degrees: usize, alpha: f64, power: f64) -> f64 {
    let t = t_quantile(1.0 - alpha / 2.0, degrees);
    let (mut low, mut high) = (0.0, 2.0 * t + 10.0);
    // The power grows with the noncentrality; forty halvings leave twelve digits.
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if power_at(middle, t, degrees) < power {
            low = middle;
        } else {
            high = middle;
        }
    }
    high * sd / (count as f64).sqrt()
}

/// P(|T| > t) of the noncentral t distribution: the normal tail, averaged over the chi distribution of the estimated
/// standard deviation by Simpson's rule.
#[expect(clippy::cast_precision_loss, reason = "degrees and steps are small")]
fn power_at(noncentrality: f64, t: f64, degrees: usize) -> f64 {
    const STEPS: usize = 120;
    let nu = degrees.max(1) as f64;
    // s = estimated over true standard deviation; 12 of its own standard deviations hold all of it.
    let spread = 12.0 / (2.0 * nu).sqrt();
    let (from, to) = ((1.0 - spread).max(1e-9), 1.0 + spread);
    let density = |s: f64| ((nu - 1.0) * s.ln() - nu * (s * s - 1.0) / 2.0).exp();
    let beyond = |s: f64| normal_cdf(noncentrality - t * s) + normal_cdf(-noncentrality - t * s);
    let step = (to - from) / STEPS as f64;
    let (mut whole, mut found) = (0.0, 0.0);
    for place in 0..=STEPS {
        let s = from + step * place as f64;
        let weight = match place {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        whole += weight * density(s);
        found += weight * density(s) * beyond(s);
    }
    found / whole
}

/// Holm's adjusted p values (1979), in the order of `p`: to be compared with the level of the whole family.
#[expect(clippy::cast_precision_loss, reason = "families are small")]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut so_far: f64 = 0.0;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    for (rank, place) in order.into_iter().enumerate() {
        so_far = so_far.max(p[place] * (p.len() - rank) as f64).min(1.0);
        adjusted[place] = so_far;
    }
    adjusted
}
