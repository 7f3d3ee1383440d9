//! Comparisons drawn from the pool: six to eight of its pairs at a time, the labels A and B drawn anew within each, so
//! that nothing can differ. Refuses its own arithmetic: intervals come from the function that `helenus compare` uses.

use crate::prove::campaign::Measures;
use helenus_model::comparison::LEVEL;
use helenus_model::seed::{Seed, mix};
use helenus_model::stats::interval;

/// Comparisons that are drawn for each figure.
pub(super) const DRAWS: usize = 4000;

/// What is compared, by its name in the journal.
pub(super) const MEASURES: [&str; 7] = [
    "service_p50_us",
    "service_p99_us",
    "response_p50_us",
    "response_p99_us",
    "response_mean_us",
    "node_cpu_us",
    "generator_cpu_us",
];

/// What the draws of one measure came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    /// Pairs in the pool.
    pub(super) pairs: usize,
    /// Standard deviation of the log ratios of the pool's pairs.
    pub(super) log_sd: f64,
    /// Share of draws whose interval leaves 1 out although nothing differs.
    pub(super) false_share: f64,
    /// Median half-width of the interval, as a ratio above 1.
    pub(super) half_width: f64,
}

/// Whether the run counted when it was made: one that ended with exit code 5 was not to be believed.
pub(super) fn counts(run: &Measures) -> bool {
    run.get("exit_code").is_none_or(|code| *code == 0.0)
}

/// The log ratios of the pool's pairs: restarts 0 and 1, 2 and 3 and so on; those of which both runs count.
pub(super) fn log_ratios(pool: &[&Measures], measure: &str) -> Vec<f64> {
    ratios(pool, measure, counts)
}

/// The root mean square of the log ratios of all pairs, whether their runs counted or not.
pub(super) fn log_sd_of_all(pool: &[&Measures], measure: &str) -> Option<f64> {
    log_sd(&ratios(pool, measure, |_| true))
}

fn ratios(pool: &[&Measures], measure: &str, counts: fn(&Measures) -> bool) -> Vec<f64> {
    pool.chunks_exact(2)
        .filter(|pair| pair.iter().all(|run| counts(run)))
        .filter_map(|pair| {
            let (a, b) = (pair[0].get(measure)?, pair[1].get(measure)?);
            Some((b / a).ln())
        })
        .filter(|ratio| ratio.is_finite())
        .collect()
}

/// Which side is called A is chance: the mean of the ratios is 0.
fn log_sd(ratios: &[f64]) -> Option<f64> {
    let squares = ratios.iter().map(|r| r * r).sum::<f64>();
    (!ratios.is_empty()).then(|| (squares / ratios.len() as f64).sqrt())
}

/// Draws a sample of `size` of the pool, each with a label of its own.
fn draw(pool: &[f64], size: usize, seed: Seed, at: usize) -> Vec<f64> {
    let seed = seed.derive(&format!("draw {at}"));
    let mut order: Vec<usize> = (0..pool.len()).collect();
    order.sort_by_key(|place| mix(seed.at(*place as u64)));
    let signs = seed.derive("labels");
    order
        .into_iter()
        .take(size)
        .map(|place| {
            let swapped = signs.at(place as u64) & 1 == 1;
            if swapped { -pool[place] } else { pool[place] }
        })
        .collect()
}

/// Nothing differs: how often a difference is found all the same, in draws of six to eight pairs.
pub(super) fn nothing_differs(pool: &[f64], seed: Seed) -> Option<Drawn> {
    let mut widths = Vec::new();
    let mut wrong = 0;
    for at in 0..DRAWS {
        let size = 6 + usize::try_from(seed.derive("size").at(at as u64) % 3).ok()?;
        let [low, high] = interval(&draw(pool, size, seed, at))?.ends(1.0 - LEVEL);
        wrong += usize::from(low > 0.0 || high < 0.0);
        widths.push(((high - low) / 2.0).exp());
    }
    widths.sort_by(f64::total_cmp);
    Some(Drawn {
        pairs: pool.len(),
        log_sd: log_sd(pool)?,
        false_share: wrong as f64 / DRAWS as f64,
        half_width: widths[widths.len() / 2],
    })
}

/// B is slower by each of these ratios: how often draws of `size` pairs find it, on the right side. The same draws for all.
pub(super) fn power<const N: usize>(
    pool: &[f64],
    ratios: [f64; N],
    size: usize,
    seed: Seed,
) -> Option<[f64; N]> {
    let mut found = [0_usize; N];
    for at in 0..DRAWS {
        let [low, _] = interval(&draw(pool, size, seed, at))?.ends(1.0 - LEVEL);
        for (found, ratio) in found.iter_mut().zip(ratios) {
            *found += usize::from(low + ratio.ln() > 0.0);
        }
    }
    Some(found.map(|found| found as f64 / DRAWS as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::campaign::by_name;

    /// Normal noise of a known width.
    fn pool(pairs: usize, sd: f64) -> Vec<f64> {
        let seed = Seed(11);
        let uniform = |n: u64| (seed.at(n) >> 11) as f64 / (1_u64 << 53) as f64;
        (0..pairs as u64)
            .map(|n| {
                let radius = (-2.0 * uniform(2 * n).max(1e-300).ln()).sqrt();
                sd * radius * (std::f64::consts::TAU * uniform(2 * n + 1)).cos()
            })
            .collect()
    }

    #[test]
    fn nominal_errors_and_rising_power() {
        let pool = pool(60, 0.05);
        let drawn = nothing_differs(&pool, Seed(3)).unwrap();
        assert!((0.03..0.07).contains(&drawn.false_share), "{drawn:?}");
        let [two, five, ten] = power(&pool, [1.02, 1.05, 1.10], 8, Seed(3)).unwrap();
        assert!(two < five && five < ten, "{two} {five} {ten}");
        assert!(ten > 0.95);
    }

    #[test]
    fn pairs_are_neighbours() {
        let of = |us: f64| by_name([("service_p50_us", us)]);
        let (a, b, c) = (of(100.0), of(110.0), of(5.0));
        let ratios = log_ratios(&[&a, &b, &c], "service_p50_us");
        assert_eq!(ratios, [(110.0_f64 / 100.0).ln()]);
    }
}
