//! Lasting changes over many runs of one kind, found as runs come in.
//! Refuses to call one run's bad luck a change: noise is what the runs before show.

use crate::stats::{mean, t_quantile_at};
use serde::Serialize;

/// Newest runs that are compared with those before, and the t above which they differ: together a quiet run raises a false
/// alarm once in a hundred (found by simulation; a test keeps it so).
const WINDOWS: [(usize, f64); 4] = [(3, 3.2), (4, 2.95), (5, 2.65), (12, 3.4)];

/// Fewest runs before a change.
const BEFORE: usize = 10;

/// Runs before a change that count at most: those long ago had other noise.
const BEFORE_MOST: usize = 60;

/// Fewest runs in which a change can be found.
pub const FEWEST_RUNS: usize = BEFORE + WINDOWS[0].0;

/// Below this a standard error is one of rounding.
const NO_NOISE: f64 = 1e-9;

/// Confidence of the interval of a change.
const CONFIDENCE: f64 = 0.95;

/// A lasting change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Place of the first run after it.
    pub at: usize,
    /// Place of the run with which it was found.
    pub found_at: usize,
    /// New values over old ones: estimate, and the ends of its 95 % confidence interval.
    pub ratio: [f64; 3],
}

/// The changes in values above 0, in the order of the runs. Those at or below 0 end the series.
pub fn steps(values: &[f64]) -> Vec<Step> {
    let logs: Vec<f64> = values
        .iter()
        .take_while(|value| **value > 0.0)
        .map(|value| value.ln())
        .collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for end in 1..=logs.len() {
        let Some(at) = alarm(&logs[from..end]) else {
            continue;
        };
        found.push((from + at, end - 1));
        from += at;
    }
    // Later runs say better where it was.
    let mut ats: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    for k in 0..ats.len() {
        let begin = if k == 0 { 0 } else { ats[k - 1] };
        let end = ats.get(k + 1).copied().unwrap_or(logs.len());
        let last = found[k].1;
        ats[k] = best(&logs[begin..end], last + 1 - begin).map_or(ats[k], |at| begin + at);
    }
    (0..ats.len())
        .filter_map(|k| {
            let begin = if k == 0 { 0 } else { ats[k - 1] };
            let end = ats.get(k + 1).copied().unwrap_or(logs.len());
            Some(Step {
                at: ats[k],
                found_at: found[k].1,
                ratio: ratio(&logs[begin..ats[k]], &logs[ats[k]..end])?,
            })
        })
        .collect()
}

/// Where the newest values begin that differ from those before, if they do.
fn alarm(logs: &[f64]) -> Option<usize> {
    let of = |(window, limit): (usize, f64)| {
        let at = logs.len().checked_sub(window).filter(|at| *at >= BEFORE)?;
        let before = &logs[at.saturating_sub(BEFORE_MOST)..at];
        let excess = t(before, &logs[at..])?.abs() / limit;
        (excess > 1.0).then_some((at, excess))
    };
    let all = WINDOWS.into_iter().filter_map(of);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// The place in a stretch that parts it best, not behind the run with which the change was found.
fn best(logs: &[f64], most: usize) -> Option<usize> {
    let places = 2..most.min(logs.len().saturating_sub(1));
    let of = |at: usize| Some((at, t(&logs[..at], &logs[at..])?.abs()));
    let all = places.filter_map(of);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// Student's t of two groups with one variance; none where there is no noise to compare with.
fn t(before: &[f64], after: &[f64]) -> Option<f64> {
    let (a, b) = (mean(before)?, mean(after)?);
    let error = pooled(before, after)? * (1.0 / count(before) + 1.0 / count(after)).sqrt();
    (error > NO_NOISE).then(|| (b - a) / error)
}

/// The standard deviation within two groups.
fn pooled(before: &[f64], after: &[f64]) -> Option<f64> {
    let squares = |group: &[f64]| -> Option<f64> {
        let middle = mean(group)?;
        Some(group.iter().map(|x| (x - middle).powi(2)).sum())
    };
    let degrees = count(before) + count(after) - 2.0;
    let sum: f64 = squares(before)? + squares(after)?;
    (degrees > 0.0).then(|| (sum / degrees).sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "runs are few")]
fn count(group: &[f64]) -> f64 {
    group.len() as f64
}

fn ratio(before: &[f64], after: &[f64]) -> Option<[f64; 3]> {
    let difference = mean(after)? - mean(before)?;
    let error = pooled(before, after)? * (1.0 / count(before) + 1.0 / count(after)).sqrt();
    let degrees = count(before) + count(after) - 2.0;
    let half = t_quantile_at(0.5 + CONFIDENCE / 2.0, degrees) * error;
    Some([difference, difference - half, difference + half].map(f64::exp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::Draw;

    /// Log standard deviation of restarts of one cluster, as it was measured: 0.10 to 0.15.
    const NOISE: f64 = 0.12;

    fn history(draw: &mut Draw, runs: usize, step: Option<(usize, f64)>) -> Vec<f64> {
        let level = |run: usize| {
            step.filter(|(at, _)| run >= *at)
                .map_or(0.0, |(_, size)| size)
        };
        (0..runs)
            .map(|run| (NOISE * (draw.normal() + level(run))).exp())
            .collect()
    }

    #[test]
    fn quiet_histories_raise_one_alarm_in_a_hundred_runs() {
        let mut draw = Draw::new(Seed(7));
        let (mut alarms, mut runs) = (0_u32, 0_u32);
        for _ in 0..1000 {
            let values = history(&mut draw, 100, None);
            let first = steps(&values).first().map(|step| step.found_at);
            alarms += u32::from(first.is_some());
            runs += u32::try_from(first.unwrap_or(99) + 1 - BEFORE).unwrap();
        }
        let rate = f64::from(alarms) / f64::from(runs);
        assert!((0.005..0.0125).contains(&rate), "{alarms} in {runs}");
    }

    /// What was asked for is 95 of 100. With one false alarm in a hundred quiet runs nine of ten is what five runs can show.
    #[test]
    fn a_step_of_1_8_standard_deviations_is_found_within_five_runs() {
        let mut draw = Draw::new(Seed(8));
        let mut found = 0_u32;
        let mut near = 0_u32;
        for _ in 0..1000 {
            let mut values = history(&mut draw, 60, None);
            // What went before has raised no alarm.
            while !steps(&values).is_empty() {
                values = history(&mut draw, 60, None);
            }
            values.extend(history(&mut draw, 5, Some((0, 1.8))));
            if let [step] = steps(&values)[..] {
                found += 1;
                near += u32::from(step.at.abs_diff(60) <= 1);
                assert!(
                    step.ratio[0] > 1.0 && step.ratio[1] < step.ratio[0],
                    "{step:?}"
                );
            }
        }
        assert!(found >= 860, "{found}");
        assert!(near >= found * 2 / 3, "{near} of {found}");
    }

    #[test]
    fn up_and_down_again_are_two_steps() {
        let mut draw = Draw::new(Seed(9));
        let mut values = history(&mut draw, 30, None);
        values.extend(history(&mut draw, 20, Some((0, 6.0))));
        values.extend(history(&mut draw, 20, None));
        let found = steps(&values);
        let ats: Vec<usize> = found.iter().map(|step| step.at).collect();
        assert_eq!(ats, [30, 50]);
        let truth = (NOISE * 6.0).exp();
        assert!(
            found[0].ratio[1] < truth && truth < found[0].ratio[2],
            "{found:?}"
        );
        assert!(found[1].ratio[2] < 1.0, "{found:?}");
        assert!(
            found[0].found_at < 34 && found[1].found_at < 54,
            "{found:?}"
        );
    }

    #[test]
    fn few_runs_and_no_noise_say_nothing() {
        assert!(steps(&[]).is_empty());
        assert!(steps(&[5.0; 40]).is_empty());
        assert!(steps(&[1.0, 100.0, 1.0, 100.0]).is_empty());
        let mut values = [1.0, 1.01, 0.99].repeat(8);
        values.push(0.0);
        values.extend([3.0; 9]);
        assert!(
            steps(&values).is_empty(),
            "a value without a logarithm ends the series"
        );
    }
}
