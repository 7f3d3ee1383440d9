//! Means that are looked at after every value: evidence, p values and intervals that hold whenever one stops.
//! Refuses fewer than two values.
//!
//! The evidence against a mean is the Bayes factor with a right Haar prior on the standard deviation and a normal one on the mean,
//! `SPREAD` standard deviations squared wide (Gönen et al. 2005). Under that mean it is a nonnegative martingale in what is seen, so by
//! Ville's inequality it ever exceeds 1/α in at most α of all sequences (Lai 1976).

/// Variance of the prior on the mean, in variances of one value: made for answers that are obvious, of a standard deviation or more.
const SPREAD: f64 = 1.0;

/// Two-sided p value of a t statistic of so many values, valid after each of them.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(super) fn p(t: f64, count: usize) -> f64 {
    if count < 2 {
        return 1.0;
    }
    let (n, degrees) = (count as f64, (count - 1) as f64);
    let wide = 1.0 + n * SPREAD;
    let x = t * t / degrees;
    let log = n / 2.0 * ((1.0 + x).ln() - (1.0 + x / wide).ln()) - wide.ln() / 2.0;
    (-log).exp().min(1.0)
}

/// The t statistic of so many values at which [`p`] falls to `alpha`; infinite where so few values cannot.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(super) fn quantile(alpha: f64, count: usize) -> f64 {
    if count < 2 {
        return f64::INFINITY;
    }
    let (n, degrees) = (count as f64, (count - 1) as f64);
    let wide = 1.0 + n * SPREAD;
    let ratio = ((wide.ln() / 2.0 - alpha.ln()) * 2.0 / n).exp();
    if ratio >= wide {
        return f64::INFINITY;
    }
    ((ratio - 1.0) / (1.0 - ratio / wide) * degrees).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::{Draw, interval};

    #[test]
    fn the_quantile_is_where_p_falls_to_alpha() {
        for count in [6, 12, 100] {
            for alpha in [0.05, 0.01] {
                let found = p(quantile(alpha, count), count);
                assert!((found - alpha).abs() < 1e-9, "{count} {alpha}: {found}");
            }
        }
        assert!(quantile(0.05, 2).is_infinite() && p(1e9, 1) >= 1.0);
    }

    /// Share of 2,000 sequences that are called different at any of the looks from the sixth value to the thirtieth, and the mean
    /// length until then.
    fn called(mean: f64) -> (f64, f64) {
        let (mut called, mut length) = (0, 0);
        for seed in 0..2_000 {
            let mut draw = Draw::new(Seed(seed).derive("sequence"));
            let mut values: Vec<f64> = (0..5).map(|_| mean + draw.normal()).collect();
            while values.len() < 30 {
                values.push(mean + draw.normal());
                let found = interval(&values).unwrap();
                if p(found.mean / found.standard_error(), values.len()) <= 0.05 {
                    called += 1;
                    break;
                }
            }
            length += values.len();
        }
        (f64::from(called) / 2_000.0, length as f64 / 2_000.0)
    }

    #[test]
    fn looking_after_every_value_makes_no_more_false_claims_and_obvious_answers_come_early() {
        let (wrong, _) = called(0.0);
        assert!(wrong <= 0.05, "{wrong}");
        let (found, length) = called(2.0);
        assert!(found > 0.99 && length < 8.5, "{found} after {length}");
    }
}
