//! Latency by rate, from all trials, and the knee of that curve.
//! Refuses to smooth: each point is a trial.

use super::Slo;
use crate::result::PhaseResult;
use serde::{Deserialize, Serialize};

/// A trial as a point of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The life of the nodes, from 1.
    pub life: usize,
    /// Operations a second that were offered.
    pub offered_per_s: f64,
    /// Operations a second that succeeded within the measurement window.
    pub achieved_per_s: f64,
    /// Mean response time, in microseconds.
    pub mean_us: Option<f64>,
    /// Median of the response time.
    pub p50_us: Option<f64>,
    /// 99 of 100 are not above this.
    pub p99_us: Option<f64>,
    /// Whether the threshold held; none where there is none, or where the trial cannot say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// Why it did not hold, or why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The points of these lives, by rate.
pub fn curve<'a>(
    lives: impl IntoIterator<Item = &'a [PhaseResult]>,
    slo: Option<&Slo>,
) -> Vec<Point> {
    let lives = lives.into_iter().enumerate();
    let mut points: Vec<Point> = lives
        .flat_map(|(life, phases)| {
            let each = phases.iter();
            each.filter_map(move |phase| point(life + 1, phase, slo))
        })
        .collect();
    points.sort_by(|one, other| one.offered_per_s.total_cmp(&other.offered_per_s));
    points
}

fn point(life: usize, phase: &PhaseResult, slo: Option<&Slo>) -> Option<Point> {
    use super::Held;
    let held = slo.map(|slo| slo.held_by(phase));
    let response = phase.total.response.as_ref();
    Some(Point {
        life,
        offered_per_s: phase.rate_per_s?,
        achieved_per_s: phase.achieved_per_s,
        mean_us: response.map(|of| of.mean_us),
        p50_us: response.and_then(|of| of.p50_us),
        p99_us: response.and_then(|of| of.p99_us),
        held: held.as_ref().and_then(Held::known),
        why: match held {
            Some(Held::No(why) | Held::Unknown(why)) => Some(why),
            Some(Held::Yes) | None => phase.nodes_fell_behind().then(|| "fell behind".to_owned()),
        },
    })
}

/// The knee: the rate at which throughput divided by mean response time is highest, Kleinrock's power. Beyond it latency
/// grows faster than throughput. None below three points with a response time.
pub fn knee(points: &[Point]) -> Option<f64> {
    let power = |point: &Point| Some((point.achieved_per_s / point.mean_us?, point.offered_per_s));
    let powers: Vec<(f64, f64)> = points.iter().filter_map(power).collect();
    if powers.len() < 3 {
        return None;
    }
    let best = powers
        .iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(best.1)
}
