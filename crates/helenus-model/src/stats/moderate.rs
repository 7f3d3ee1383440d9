//! One variance out of several: how far the others may speak for it, and when they may not at all.
//! Refuses to call variances equal because few degrees of freedom cannot distinguish them.

use super::{mean, standard_deviation};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

/// Level at which one variance is called larger than the others.
const LARGER: f64 = 0.05;

/// Degrees of freedom that the variances of others are worth for one of them (Smyth 2004), each given with its own degrees
/// of freedom: infinite where they are all the same, 0 where one says nothing of the next.
///
/// The spread of their logarithms, less what chance alone makes of it, is that of the true variances. A standard error of
/// that spread is added: a few variances that look alike need not be. Variances of 0 have no logarithm and are left out.
#[expect(clippy::cast_precision_loss, reason = "degrees and counts are small")]
pub fn prior_degrees(variances: &[(f64, usize)]) -> f64 {
    let known = variances.iter().filter(|(v, d)| *v > 0.0 && *d > 0);
    let known: Vec<(f64, f64)> = known.map(|(v, d)| (*v, *d as f64 / 2.0)).collect();
    let logs: Vec<f64> = known
        .iter()
        .map(|(variance, half)| variance.ln() - digamma(*half) + half.ln())
        .collect();
    let each =
        |of: fn(f64) -> f64| mean(&known.iter().map(|(_, half)| of(*half)).collect::<Vec<_>>());
    let (Some(found), Some(chance), Some(fourth)) = (
        standard_deviation(&logs).map(|sd| sd * sd),
        each(|half| polygamma(1, half)),
        each(|half| polygamma(3, half)),
    ) else {
        return 0.0;
    };
    let count = logs.len() as f64;
    let error = (2.0 * chance * chance / (count - 1.0) + fourth / count).sqrt();
    match found - chance + error {
        excess if excess > 0.0 => 2.0 * half_degrees(excess),
        _ => f64::INFINITY,
    }
}

/// Whether a variance is larger than another by more than chance (F test, one-sided at 5 %).
#[expect(clippy::cast_precision_loss, reason = "degrees are small")]
pub fn is_larger(variance: f64, degrees: usize, other: f64, other_degrees: f64) -> bool {
    let test = FisherSnedecor::new(degrees.max(1) as f64, other_degrees.max(1.0));
    test.is_ok_and(|test| other > 0.0 && test.sf(variance / other) < LARGER)
}

/// The trigamma function (order 1) and its second derivative (order 3), by recurrence and the asymptotic series.
fn polygamma(order: u8, of: f64) -> f64 {
    let (mut x, mut sum) = (of, 0.0);
    while x < 10.0 {
        sum += match order {
            1 => x.powi(-2),
            _ => 6.0 * x.powi(-4),
        };
        x += 1.0;
    }
    let y = x.recip();
    sum + match order {
        1 => y + y.powi(2) / 2.0 + y.powi(3) / 6.0 - y.powi(5) / 30.0 + y.powi(7) / 42.0,
        _ => {
            2.0 * y.powi(3) + 3.0 * y.powi(4) + 2.0 * y.powi(5) - y.powi(7) + 4.0 / 3.0 * y.powi(9)
        }
    }
}

/// The x whose trigamma is this, by halving its logarithm.
fn half_degrees(wanted: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e6_f64);
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if polygamma(1, middle) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::Draw;

    #[test]
    fn polygamma_is_that_of_the_tables() {
        let pi = std::f64::consts::PI;
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        near(polygamma(1, 1.0), pi.powi(2) / 6.0);
        near(polygamma(1, 0.5), pi.powi(2) / 2.0);
        near(polygamma(3, 1.0), pi.powi(4) / 15.0);
        near(half_degrees(pi.powi(2) / 6.0), 1.0);
    }

    /// Variances of three values each, whose true standard deviations spread by so much on the log scale.
    fn drawn(seed: u64, count: usize, spread: f64) -> Vec<(f64, usize)> {
        let mut draw = Draw::new(Seed(seed).derive("moderate"));
        let mut one = || {
            let sd = (draw.normal() * spread).exp();
            let values: Vec<f64> = (0..3).map(|_| draw.normal() * sd).collect();
            (standard_deviation(&values).unwrap().powi(2), 2)
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn variances_that_differ_speak_less_for_each_other() {
        let middle = |spread: f64| {
            let mut each: Vec<f64> = (0..101)
                .map(|seed| prior_degrees(&drawn(seed, 200, spread)))
                .collect();
            each.sort_by(f64::total_cmp);
            each[50]
        };
        let (alike, little, much) = (middle(0.0), middle(0.5), middle(1.5));
        assert!(alike > 6.0 && alike > 2.0 * little, "{alike} {little}");
        // With 0.5 the logarithms of the variances spread by 1: trigamma(1.4) is 1, and a standard error makes it less.
        assert!(
            (1.5..3.2).contains(&little) && much < 0.9,
            "{little} {much}"
        );
        assert!(prior_degrees(&[(1.0, 2)]).abs() < 1e-9 && prior_degrees(&[]).abs() < 1e-9);
        assert!(prior_degrees(&[(0.0, 2), (1.0, 2), (0.0, 2)]).abs() < 1e-9);
    }

    #[test]
    fn a_variance_is_larger_only_beyond_chance() {
        // The 95 % quantile of F with 2 and 10 degrees of freedom is 4.103.
        assert!(!is_larger(4.0, 2, 1.0, 10.0) && is_larger(4.2, 2, 1.0, 10.0));
        assert!(!is_larger(1.0, 2, 0.0, 10.0));
    }
}
