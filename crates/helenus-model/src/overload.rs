//! Whether a phase fell behind its schedule: response times that grow for as long as it runs.
//! Refuses to look at service time, which is level once every slot is taken.

use crate::stats::median;

/// Seconds by which the response time may grow in each second of the measurement window. At `r` times the capacity it
/// grows by `1 − 1/r`, so this finds an overload of more than 1 %.
pub const GROWTH: f64 = 0.01;

/// Fewest points that are judged.
pub const FEWEST: usize = 20;

/// Most points that are compared in pairs; more are averaged in groups.
const MOST: usize = 120;

/// One-sided 0.1 % point of the normal distribution.
const SURE: f64 = 3.09;

/// Seconds by which the response time grew over the measurement window, where it grew steadily up to its end: more was
/// offered than was completed. None where it did not, or where there are too few points.
///
/// Each point is a moment in seconds and the mean response time of what ended then, also in seconds, in order of time.
/// A pause of the node is no growth: the response time rises at once and falls again. It must still grow in the last half
/// and in the last quarter, so a step to another level is none either.
pub fn growth_s(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < FEWEST {
        return None;
    }
    let points = grouped(points);
    let last = |share: usize| slope(&points[points.len() - points.len() / share..]);
    let grows = |slope: Option<f64>| slope.is_some_and(|slope| slope > GROWTH);
    let whole = slope(&points).filter(|slope| *slope > GROWTH)?;
    let behind = grows(last(2)) && grows(last(4)) && trend(&points) > SURE;
    let span_s = points.last()?.0 - points.first()?.0;
    behind.then_some(whole * span_s)
}

/// At most [`MOST`] points: the means of groups of equal size.
#[expect(clippy::cast_precision_loss, reason = "a group has few points")]
fn grouped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let groups = points.chunks(points.len().div_ceil(MOST));
    let mean = |group: &[(f64, f64)]| {
        let (at, level) = group
            .iter()
            .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (at / group.len() as f64, level / group.len() as f64)
    };
    groups.map(mean).collect()
}

/// All pairs of points, the earlier first.
fn pairs(points: &[(f64, f64)]) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
    let each = points.iter().enumerate();
    each.flat_map(move |(place, first)| points[place + 1..].iter().map(|second| (*first, *second)))
}

/// The Theil–Sen slope: the median of the slopes of all pairs.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let apart = pairs(points).filter(|(first, second)| second.0 > first.0);
    let slopes: Vec<f64> = apart
        .map(|(first, second)| (second.1 - first.1) / (second.0 - first.0))
        .collect();
    median(&slopes)
}

/// The Mann–Kendall statistic: pairs that rise less those that fall, in its standard deviations without a trend.
#[expect(clippy::cast_precision_loss, reason = "at most 120 points")]
fn trend(points: &[(f64, f64)]) -> f64 {
    let sum: f64 = pairs(points)
        .map(|(first, second)| match second.1.total_cmp(&first.1) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Less => -1.0,
        })
        .sum();
    let n = points.len() as f64;
    sum / (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of a second each, for ten seconds.
    fn tenths(level: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..100)
            .map(|i| f64::from(i) / 10.0 + 0.05)
            .map(|at| (at, level(at)))
            .collect()
    }

    fn noise(at: f64) -> f64 {
        0.002 * (at * 1e3).sin()
    }

    #[test]
    fn five_percent_too_much_grows_to_the_end() {
        let grown = growth_s(&tenths(|at| at * (1.0 - 1.0 / 1.05) + noise(at))).expect("behind");
        assert!((grown - 0.47).abs() < 0.02, "{grown}");
        // An hour is judged by the means of groups.
        let hour: Vec<_> = (0..36_000)
            .map(|i| f64::from(i) / 10.0)
            .map(|at| (at, at * 0.05 + noise(at)))
            .collect();
        assert!(growth_s(&hour).is_some_and(|grown| (grown - 180.0).abs() < 5.0));
    }

    #[test]
    fn level_pause_step_and_slow_drift_are_no_growth() {
        let pause = |at: f64| {
            if (7.0..9.0).contains(&at) {
                9.0 - at
            } else {
                0.0
            }
        };
        for level in [
            &noise as &dyn Fn(f64) -> f64,
            &pause,
            &|at| pause(at + 1.0) + noise(at),
            &|at| if at < 5.0 { 0.001 } else { 2.0 + noise(at) },
            &|at| 0.005 * at + noise(at),
            &|at| 1.0 - 0.1 * at,
        ] {
            assert_eq!(growth_s(&tenths(level)), None);
        }
        assert_eq!(growth_s(&tenths(|at| at)[..FEWEST - 1]), None);
    }
}
