//! One life of the nodes: a closed loop that warms them, then trial after trial, until the rate is known well enough.
//! Refuses to go on where nothing holds: a threshold below what one operation takes has no rate.

use super::{Slo, Trial, capacity, rates_at, trials};
use crate::result::PhaseResult;
use crate::run_plan::{Extent, Phase, Search};

/// Fewest trials before a life is over.
pub const LEAST: u32 = 6;

/// Most trials of a life.
const MOST: usize = 60;

/// Trials in a row that cannot say whether the threshold held, after which there is no point in another.
const UNKNOWN: usize = 4;

/// Longest trial, where a percentile at a low rate needs many seconds.
const LONGEST_MS: u64 = 60_000;

/// The rate below which nothing is tried, as a share of the closed loop's.
const LOWEST: f64 = 1e-3;

/// Trials at the middle of what is possible, before they keep off it.
const AT_THE_MIDDLE: usize = 4;

/// Where later trials are, in turn, as shares of what is possible that lie below. Trials at the middle alone cannot
/// distinguish a sharp limit from a blurred one (docs/design/053-rate-search.md).
const ASIDE: [f64; 2] = [0.3, 0.7];

/// Rates of a curve, as shares of the closed loop's rate.
const CURVE: [f64; 12] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];

/// What comes next in a life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// A trial at this rate, in operations a second.
    Try(f64),
    /// Nothing: the rate is known well enough.
    Known,
    /// Nothing: its time is over.
    TimeOver,
    /// Nothing: no rate was seen to hold.
    NothingHolds,
    /// Nothing: the trials cannot say whether the threshold holds.
    Unknown,
    /// Nothing: the closed loop ended no operation.
    Dead,
}

impl Next {
    /// Why a life is over before its rate is known well enough; none where that is not so.
    pub fn cut_short(self) -> Option<&'static str> {
        match self {
            Self::Try(_) | Self::Known => None,
            Self::TimeOver => Some("its time was over before the rate was known well enough"),
            Self::NothingHolds => Some("no rate holds the threshold"),
            Self::Unknown => Some("the trials cannot say whether the threshold holds"),
            Self::Dead => Some("no operation ended"),
        }
    }
}

/// What comes after these phases, of which the first is the closed loop, after so many milliseconds of them.
pub fn next(search: &Search, phases: &[PhaseResult], spent_ms: u64) -> Next {
    let Some(capacity) = capacity(phases) else {
        return Next::Dead;
    };
    let Ok(tried) = trials(search, phases) else {
        return Next::Unknown;
    };
    if search.slo.is_none() {
        return match CURVE.get(tried.len()) {
            Some(share) => Next::Try(rounded(capacity * share)),
            None => Next::Known,
        };
    }
    let of = (capacity, search.around_per_s);
    let [low, middle, high, rate] =
        rates_at(&tried, of, [0.05, 0.5, 0.95, share_below(tried.len())]);
    let unknown = tried.iter().rev().take(UNKNOWN);
    let unknown = unknown.filter(|trial| trial.held.is_none()).count();
    if unknown == UNKNOWN {
        return Next::Unknown;
    }
    if middle < capacity * LOWEST && !any_held(&tried) {
        return Next::NothingHolds;
    }
    if tried.len() >= LEAST as usize && any_held(&tried) && high / low < 1.0 + search.precision {
        return Next::Known;
    }
    match tried.len() >= MOST || spent_ms >= search.within_ms {
        true if any_held(&tried) => Next::TimeOver,
        true => Next::NothingHolds,
        false => Next::Try(rounded(rate)),
    }
}

/// How much of what is possible lies below the rate that is tried after so many trials, as a share.
pub(super) fn share_below(trials: usize) -> f64 {
    match trials {
        few if few < AT_THE_MIDDLE => 0.5,
        many => ASIDE[many % ASIDE.len()],
    }
}

/// Whether a rate was seen to hold.
pub(super) fn any_held(trials: &[Trial]) -> bool {
    trials.iter().any(|trial| trial.held == Some(true))
}

/// The phase that comes next, after the closed loop `first`; none where the life is over. `spent_ms` is what it took so far,
/// and `offered` how many operations.
pub fn phase_after(
    search: &Search,
    first: &Phase,
    phases: &[PhaseResult],
    (spent_ms, offered): (u64, u64),
) -> Option<Phase> {
    let Next::Try(rate) = next(search, phases, spent_ms) else {
        return None;
    };
    let number = phases.len();
    Some(Phase {
        name: format!("trial {number}"),
        rate_per_s: Some(rate),
        extent: Extent::DurationMs(lasts_ms(search, rate)),
        warmup_ms: search.warmup_ms,
        settle: false,
        // Other rows than before: what was just read is in a cache.
        first: first.first + offered,
        ..first.clone()
    })
}

/// How long a trial at this rate is: long enough for its highest percentile.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "operations and milliseconds below 2^53"
)]
fn lasts_ms(search: &Search, rate_per_s: f64) -> u64 {
    let slo = search.slo.as_deref().and_then(|text| Slo::parse(text).ok());
    let operations = slo.map_or(1000, |slo| slo.operations()) as f64 * 1.1;
    let least_ms = (operations / rate_per_s * 1000.0).ceil() as u64;
    search.step_ms.max(least_ms.min(LONGEST_MS))
}

/// Three significant digits.
fn rounded(rate_per_s: f64) -> f64 {
    let step = 10_f64.powf(rate_per_s.log10().floor() - 2.0);
    (rate_per_s / step).round() * step
}
