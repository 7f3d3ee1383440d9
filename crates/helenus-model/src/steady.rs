//! Whether a phase was steady: where its warm-up ended, and whether what came after stayed on one level.
//! Refuses to call unsteady what too few points cannot show: then the phase is too short to judge.

use crate::stats::{
    BATCH, FEWEST_FOR_CHANGE, SCALE, Truncation, change_point, mean, median, mser5,
};
use serde::{Deserialize, Serialize};

/// What was found of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The answer.
    pub state: SteadyState,
    /// Warm-up that was asked for, in seconds.
    pub warmup_asked_s: f64,
    /// Where MSER-5 ends the warm-up, in seconds from the phase's start; none where it finds no end.
    pub warmup_found_s: Option<f64>,
    /// What was cut from the measurement window because of it, in seconds.
    pub cut_s: f64,
    /// The level's largest change in the rest: the median level after it over that before it.
    pub change: Option<f64>,
    /// Where it lies, in seconds from the phase's start.
    pub change_at_s: Option<f64>,
    /// Points (of a tenth of a second) that were looked at.
    pub points: usize,
}

impl Steadiness {
    /// By how much the level changed, as a share of the lower level, where the phase was not steady.
    pub fn unsteady_change(&self) -> Option<f64> {
        let ratio = self.change.filter(|ratio| *ratio > 0.0);
        let change = ratio.map_or(0.0, |ratio| ratio.max(1.0 / ratio) - 1.0);
        (self.state == SteadyState::NotSteady).then_some(change)
    }
}

impl Steadiness {
    /// Where its times changed, in seconds from the beginning of the measured part.
    pub fn change_measured_at_s(&self) -> Option<f64> {
        Some(self.change_at_s? - self.warmup_asked_s)
    }
}

/// Answers about steadiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyState {
    /// One level from the cut to the end.
    Steady,
    /// There is no such window.
    NotSteady,
    /// Too few points to decide.
    NotTold,
}

/// Length of a point, in seconds.
const POINT_S: f64 = 0.1;

/// The smallest change of level that counts, as a share: below it a phase is not unsteady, however sure the change is.
pub const FLOOR: f64 = 0.10;

/// The same behind a cut. What is left was chosen to look level, so less of a change says that it is not: a drift that
/// lost its first part must not pass for a warm-up.
pub const FLOOR_BEHIND_CUT: f64 = 0.05;

/// The smallest difference, as a share, by which a beginning stands out from the rest. What MSER-5 would cut off within
/// it may be chance, and moves no number by more.
pub const BEGINNING_FLOOR: f64 = 0.05;

/// Share of the measurement window that a beginning may take without being cut.
pub const BEGINNING_SHARE: f64 = 0.10;

/// Judges a whole phase, warm-up included. Each point is a tenth of a second: its middle, in seconds from the phase's
/// start, and the mean service time of what ended in it, in any unit; tenths in which nothing ended are left out.
///
/// With `may_cut`, the measurement window starts later, by whole seconds and by at most half of it, where MSER-5 puts
/// the end of the beginning there, and where enough is left to be judged. A beginning that is not cut, takes more than
/// a tenth of the measurement window and lies more than [`FLOOR`] off the rest makes the phase *not steady*; so does
/// one that MSER-5 finds no end of, where the measurement window's first tenth lies as far off its second half.
pub fn judge(points: &[(f64, f64)], warmup_asked_s: f64, may_cut: bool) -> Steadiness {
    let levels: Vec<f64> = points.iter().map(|point| point.1).collect();
    let mut found = Steadiness {
        state: SteadyState::NotTold,
        warmup_asked_s,
        warmup_found_s: None,
        cut_s: 0.0,
        change: None,
        change_at_s: None,
        points: points.len(),
    };
    let end_s = points.last().map_or(0.0, |last| begin_of(*last) + POINT_S);
    let measured_s = end_s - warmup_asked_s;
    let beginning_end = mser5(&levels);
    if let Truncation::At(first) = beginning_end {
        found.warmup_found_s = Some(if first == 0 {
            0.0
        } else {
            begin_of(points[first])
        });
    }
    let head = found
        .warmup_found_s
        .and_then(|end| stands_out(points, (warmup_asked_s, end), end));
    if let (Some(_), Some(end), true) = (head, found.warmup_found_s, may_cut) {
        let whole_s = (end - warmup_asked_s - 1e-6).ceil();
        let cut_s = whole_s.min((measured_s / 2.0).floor()).max(0.0);
        let first = points.partition_point(|point| point.0 < warmup_asked_s + cut_s);
        if points.len() - first >= FEWEST_FOR_CHANGE {
            found.cut_s = cut_s;
        }
    }
    judge_rest(points, &mut found);
    if let (Some(ratio), Some(end)) = (head, found.warmup_found_s)
        && found.state == SteadyState::Steady
        && ratio.ln().abs() > (1.0 + FLOOR).ln()
        && end - warmup_asked_s - found.cut_s > BEGINNING_SHARE * measured_s
    {
        found.state = SteadyState::NotSteady;
        (found.change, found.change_at_s) = (Some(ratio), Some(end));
    }
    // Where the beginning has no end in the first half, it has none that could be cut; it is reported where it is seen.
    let first_s = warmup_asked_s + BEGINNING_SHARE * measured_s;
    if beginning_end == Truncation::NoEnd
        && found.state == SteadyState::Steady
        && let Some(ratio) = stands_out(
            points,
            (warmup_asked_s, first_s),
            warmup_asked_s + measured_s / 2.0,
        )
        && ratio.ln().abs() > (1.0 + FLOOR).ln()
    {
        found.state = SteadyState::NotSteady;
        (found.change, found.change_at_s) = (Some(ratio), Some(first_s));
    }
    found
}

/// A point's beginning, in seconds from the phase's start.
fn begin_of(point: (f64, f64)) -> f64 {
    // Middles are sums of decimals; to the millisecond they are what was meant.
    ((point.0 - POINT_S / 2.0) * 1e3).round() / 1e3
}

/// The level from `rest_s` on over the level in `head_s`, where there is such a part and it stands out: by the floor,
/// and by three standard errors of so few batches.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn stands_out(points: &[(f64, f64)], head_s: (f64, f64), rest_s: f64) -> Option<f64> {
    let place = |at: f64| points.partition_point(|point| point.0 < at);
    let batches = |part: &[(f64, f64)]| -> Vec<f64> {
        let means = part.chunks(BATCH).filter_map(|batch| {
            let levels: Vec<f64> = batch.iter().map(|point| point.1).collect();
            mean(&levels)
        });
        means.map(f64::ln).collect()
    };
    let head = batches(points.get(place(head_s.0)..place(head_s.1))?);
    let rest = batches(&points[place(rest_s)..]);
    let level = median(&rest)?;
    let off = level - median(&head)?;
    let noise: Vec<f64> = rest.iter().map(|value| (value - level).abs()).collect();
    // Of a median the standard error is a quarter larger than that of a mean.
    let shares = 1.0 / head.len() as f64 + 1.0 / rest.len() as f64;
    let error = 1.25 * SCALE * median(&noise)? * shares.sqrt();
    (off.abs() > (1.0 + BEGINNING_FLOOR).ln().max(3.0 * error)).then(|| off.exp())
}

/// Looks for a change of level behind warm-up and cut.
fn judge_rest(points: &[(f64, f64)], found: &mut Steadiness) {
    let from = found.warmup_asked_s + found.cut_s;
    let first = points.partition_point(|point| point.0 < from);
    let rest: Vec<f64> = points[first..].iter().map(|point| point.1).collect();
    let Some(change) = change_point(&rest) else {
        return;
    };
    found.change = Some(change.ratio);
    found.change_at_s = Some(begin_of(points[first + change.at]));
    let floor = if found.cut_s > 0.0 {
        FLOOR_BEHIND_CUT
    } else {
        FLOOR
    };
    found.state = if change.counts(floor) {
        SteadyState::NotSteady
    } else {
        SteadyState::Steady
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::Draw;

    const ROUNDS: u64 = 100;

    /// Points with the first-order autocorrelation `phi` and noise of this standard deviation around `level(seconds)`.
    fn series(
        seed: u64,
        seconds: usize,
        phi: f64,
        noise: f64,
        level: impl Fn(f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let mut draw = Draw::new(Seed(seed).derive("points"));
        let own = (1.0 - phi * phi).sqrt();
        let mut now = draw.normal();
        let point = |place: usize| {
            now = phi * now + own * draw.normal();
            let at = 0.1 * place as f64 + 0.05;
            (at, 1e6 * level(at) * (noise * now).exp())
        };
        (0..seconds * 10).map(point).collect()
    }

    /// How many of the rounds end in this state.
    fn count(state: SteadyState, one: impl Fn(u64) -> Steadiness) -> u64 {
        (0..ROUNDS).filter(|seed| one(*seed).state == state).count() as u64
    }

    #[test]
    fn a_fall_counts_as_much_as_a_rise() {
        let mut found = judge(&[], 2.0, false);
        found.state = SteadyState::NotSteady;
        for ratio in [1.25, 0.8] {
            found.change = Some(ratio);
            let change = found.unsteady_change().expect("it was not steady");
            assert!((change - 0.25).abs() < 1e-12, "{change}");
        }
        found.state = SteadyState::Steady;
        assert_eq!(found.unsteady_change(), None);
    }

    #[test]
    fn one_level_is_steady() {
        for seconds in [10, 20, 65] {
            for (phi, noise) in [(0.0, 0.1), (0.0, 0.5), (0.5, 0.1), (0.5, 0.4)] {
                for may_cut in [true, false] {
                    let steady = count(SteadyState::Steady, |seed| {
                        judge(&series(seed, seconds, phi, noise, |_| 1.0), 2.0, may_cut)
                    });
                    // Eight measured seconds of strong noise are few: neighbouring batches are not independent.
                    let least = if seconds == 10 { 92 } else { 95 };
                    assert!(steady * 100 >= least * ROUNDS, "{steady} of {ROUNDS}");
                }
            }
        }
    }

    #[test]
    fn a_steady_phase_keeps_nearly_all_of_its_stretch() {
        let cut: f64 = (0..ROUNDS)
            .map(|seed| judge(&series(seed, 65, 0.5, 0.2, |_| 1.0), 5.0, true).cut_s)
            .sum();
        assert!(cut / (ROUNDS as f64) < 1.0, "{cut} s in all");
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends() {
        // Twice as slow at first, the excess gone to e^-1 every 3 s: below 5 % of the level from 9 s on.
        let warming = |at: f64| 1.0 + (-at / 3.0).exp();
        let (mut ends, mut steady) = (Vec::new(), 0);
        for seed in 0..ROUNDS {
            let found = judge(&series(seed, 65, 0.5, 0.1, warming), 2.0, true);
            ends.push(found.warmup_found_s.expect("an end"));
            steady += u64::from(found.state == SteadyState::Steady);
            let wanted = (found.warmup_found_s.expect("an end") - 2.0).ceil();
            assert!(found.cut_s == wanted || found.cut_s == 0.0, "{found:?}");
        }
        let middle = median(&ends).expect("some");
        assert!((6.0..12.0).contains(&middle), "{middle}");
        assert!(steady * 100 >= 95 * ROUNDS, "{steady} of {ROUNDS}");
        // Where nothing may be cut, it is not steady.
        let not = count(SteadyState::NotSteady, |seed| {
            judge(&series(seed, 35, 0.5, 0.1, warming), 0.0, false)
        });
        assert!(not * 100 >= 95 * ROUNDS, "{not} of {ROUNDS}");
    }

    #[test]
    fn a_beginning_without_an_end_is_reported() {
        // From 2.4 times the level at the end of the warm-up down to 1.02 four seconds later, with hardly any noise:
        // the best cut lies behind the half of so short a phase.
        let settling = |at: f64| 1.0 + 29.0 * (-at).exp();
        for noise in [0.003, 0.01, 0.03] {
            for seed in 0..ROUNDS {
                let found = judge(&series(seed, 15, 0.2, noise, settling), 3.0, true);
                let unsteady = found.state == SteadyState::NotSteady;
                assert!(unsteady || found.cut_s >= 1.0, "{found:?}");
            }
        }
    }

    #[test]
    fn a_cut_takes_at_most_half() {
        let late = |at: f64| if at < 15.0 { 2.0 } else { 1.0 };
        let found = judge(&series(1, 45, 0.0, 0.05, late), 5.0, true);
        assert_eq!((found.warmup_found_s, found.cut_s), (Some(15.0), 10.0));
        assert_eq!(found.state, SteadyState::Steady);
        // In the first 30 s of 50 s so little ends that they have a third of the points.
        let slow = |at: f64| if at < 30.0 { 2.0 } else { 1.0 };
        let mut points = series(1, 50, 0.0, 0.05, slow);
        let mut place = 0;
        points.retain(|point| {
            place += 1;
            point.0 > 30.0 || place % 3 == 0
        });
        let found = judge(&points, 0.0, true);
        assert!(found.warmup_found_s.is_some_and(|end| end > 29.0));
        assert_eq!((found.cut_s, found.state), (25.0, SteadyState::NotSteady));
        let long = |at: f64| if at < 26.0 { 2.0 } else { 1.0 };
        let found = judge(&series(1, 45, 0.0, 0.05, long), 0.0, true);
        assert_eq!((found.warmup_found_s, found.cut_s), (None, 0.0));
        assert_eq!(found.state, SteadyState::NotSteady);
    }

    #[test]
    fn steps_and_drifts_are_not_steady() {
        for seconds in [35, 65] {
            let end = seconds as f64;
            for may_cut in [true, false] {
                let step = count(SteadyState::NotSteady, |seed| {
                    let level = |at| if at < (5.0 + end) / 2.0 { 1.0 } else { 1.3 };
                    judge(&series(seed, seconds, 0.5, 0.1, level), 5.0, may_cut)
                });
                let drift = count(SteadyState::NotSteady, |seed| {
                    let level = |at| 1.0 + 0.5 * (at - 5.0) / (end - 5.0);
                    judge(&series(seed, seconds, 0.5, 0.1, level), 5.0, may_cut)
                });
                assert!(step * 100 >= 98 * ROUNDS, "{step} of {ROUNDS}");
                assert!(drift * 100 >= 95 * ROUNDS, "{drift} of {ROUNDS}");
            }
        }
        let found = judge(
            &series(4, 65, 0.5, 0.1, |at| if at < 35.0 { 1.0 } else { 1.3 }),
            5.0,
            true,
        );
        assert!((found.change.expect("one") - 1.3).abs() < 0.1, "{found:?}");
        assert!((found.change_at_s.expect("one") - 35.0).abs() < 3.0);
    }

    #[test]
    fn one_stall_is_not_another_level() {
        // A second in which nothing ends, and then everything that waited.
        for at in [7.0, 20.0, 40.0, 58.0] {
            let steady = count(SteadyState::Steady, |seed| {
                let mut points = series(seed, 65, 0.5, 0.1, |_| 1.0);
                points.retain(|point| point.0 < at || point.0 > at + 1.0);
                let back = points.partition_point(|point| point.0 < at);
                points[back].1 *= 300.0;
                points[back + 1].1 *= 30.0;
                let found = judge(&points, 5.0, true);
                assert!(found.cut_s < 5.0, "{found:?}");
                found
            });
            assert!(steady * 100 >= 95 * ROUNDS, "{steady} of {ROUNDS}");
        }
    }

    #[test]
    fn too_few_points_decide_nothing() {
        assert_eq!(judge(&[], 5.0, true).state, SteadyState::NotTold);
        let short = judge(&series(1, 12, 0.0, 0.1, |_| 1.0), 5.0, true);
        assert_eq!((short.state, short.points), (SteadyState::NotTold, 120));
        let json = serde_json::to_value(&short).expect("writes");
        assert_eq!(json["state"], "not_told");
    }
}
