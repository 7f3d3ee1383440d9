//! A latency threshold as it is written: `p99<10ms,errors<0.1%`, and whether a phase held it.
//! Refuses a bound that more load makes easier, such as a least throughput.

use crate::comparison::{ALL, Measure};
use crate::doubt::Doubt;
use crate::experiment::{Bar, BarError};
use crate::histogram::SAMPLES_ABOVE;
use crate::result::PhaseResult;

/// Share of failures that is allowed where the threshold names none: as much as a number may have.
const ERRORS: f64 = crate::doubt::threshold::ERRORS;

/// A latency threshold: all of its bounds are to hold at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    /// As it was written.
    pub text: String,
    /// Bounds of response times, or of service times where that is written.
    bars: Vec<Bar>,
    /// The share of operations that may fail.
    pub errors: f64,
}

/// What a phase says of a threshold.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// It held.
    Yes,
    /// It did not, and why.
    No(String),
    /// The phase cannot say, and why.
    Unknown(String),
}

impl Held {
    /// Whether it held, as far as that is known.
    pub fn known(&self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No(_) => Some(false),
            Self::Unknown(_) => None,
        }
    }
}

/// Why a threshold is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SloError {
    /// A bound that is not understood.
    #[error(transparent)]
    Bar(#[from] BarError),
    /// Nothing is bounded.
    #[error("the threshold is empty")]
    Empty,
    /// No time is bounded.
    #[error("the threshold {0:?} has no bound of a latency")]
    NoTime(String),
    /// A bound that is no upper bound of a latency.
    #[error("{0:?} is not an upper bound of a latency")]
    NotAbove(String),
    /// A share of errors that is none.
    #[error("{0:?} is not a share of errors")]
    Errors(String),
}

impl SloError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Bar(error) => error.hint(),
            Self::Errors(_) => "write it as errors<0.1%".to_owned(),
            Self::Empty | Self::NoTime(_) | Self::NotAbove(_) => {
                "write it as 'p99<10ms' or 'p99<10ms,errors<0.1%'".to_owned()
            }
        }
    }
}

impl Slo {
    /// Reads `[OPERATION.][response.|service.]MEASURE<TIME`, several with commas between them, and `errors<SHARE`.
    ///
    /// # Errors
    /// What is not understood, with what would be.
    pub fn parse(text: &str) -> Result<Self, SloError> {
        let mut of = Self {
            text: text.trim().to_owned(),
            bars: Vec::new(),
            errors: ERRORS,
        };
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        for part in parts {
            if part.split(['<', '>']).next().map(str::trim) == Some("errors") {
                of.errors = share(part)?;
                continue;
            }
            let bar = Bar::parse(part, &[])?;
            if !bar.below || !bar.goal.measure(true).is_time() {
                return Err(SloError::NotAbove(part.to_owned()));
            }
            of.bars.push(bar);
        }
        match (of.text.is_empty(), of.bars.is_empty()) {
            (true, _) => Err(SloError::Empty),
            (_, true) => Err(SloError::NoTime(of.text)),
            _ => Ok(of),
        }
    }

    /// Operations that leave ten samples above the highest percentile that is bounded.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "operations below 2^53"
    )]
    pub fn operations(&self) -> u64 {
        let quantiles = self.bars.iter();
        let quantiles = quantiles.filter_map(|bar| bar.goal.measure(true).quantile());
        let highest = quantiles.fold(0.0, f64::max);
        (SAMPLES_ABOVE / (1.0 - highest)).round() as u64
    }

    /// Operations that are bounded apart from the others.
    pub fn operations_named(&self) -> impl Iterator<Item = &str> {
        let bars = self.bars.iter();
        bars.filter_map(|bar| bar.goal.phase.as_deref())
    }

    /// Whether a phase held it. Where the nodes fell behind the schedule no latency holds; where the generator was late, a
    /// bound is decided only if service time and response time agree.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub fn held_by(&self, phase: &PhaseResult) -> Held {
        if phase.nodes_fell_behind() {
            return Held::No("fell behind".to_owned());
        }
        let ended = phase.total.completed + phase.total.failures();
        let failed = phase.total.failures() as f64 / ended.max(1) as f64;
        if failed > self.errors {
            let percent = crate::units::percent(failed);
            return Held::No(format!("{percent} failed"));
        }
        // Failures are judged above, by the bound of this threshold.
        let spoils = |doubt: &&Doubt| doubt.spoils() && !doubt.is_of_errors();
        if let Some(doubt) = phase.doubts.iter().find(spoils) {
            return Held::Unknown(doubt.text.clone());
        }
        let mut unknown = None;
        for bar in &self.bars {
            let operation = bar.goal.phase.as_deref().unwrap_or(ALL);
            match bar.goal.measure(true).bounds(phase, operation) {
                Some([least, _]) if least >= bar.bound => {
                    return Held::No(format!("{} {}", bar.goal.text, time(least)));
                }
                Some([_, most]) if most < bar.bound => {}
                Some(_) => {
                    unknown = Some("the generator was late".to_owned());
                }
                None => match lower(bar, phase, operation) {
                    Some(why) => return Held::No(why),
                    None => unknown = Some(format!("too few operations for {}", bar.goal.text)),
                },
            }
        }
        unknown.map_or(Held::Yes, Held::Unknown)
    }
}

/// A lower percentile that is above the bound already, in words: there are samples enough for it.
fn lower(bar: &Bar, phase: &PhaseResult, operation: &str) -> Option<String> {
    let asked = bar.goal.measure(true);
    let lower = Measure::EVERY.into_iter().filter(|one| {
        let same = one.service().is_some() == asked.service().is_some();
        same && one.quantile().is_some() && one.quantile() < asked.quantile()
    });
    let mut found = lower.filter_map(|one| Some((one, one.bounds(phase, operation)?[0])));
    let (one, us) = found.find(|(_, least)| *least >= bar.bound)?;
    Some(format!("{} {}", one.words(), time(us)))
}

/// A time in microseconds, in the unit that fits it.
fn time(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1_000_000.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// The share of `errors<0.1%` or `errors<0.001`.
fn share(part: &str) -> Result<f64, SloError> {
    let wrong = || SloError::Errors(part.to_owned());
    let (_, bound) = part.split_once('<').ok_or_else(wrong)?;
    let bound = bound.trim();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match bound.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(bound),
    };
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(wrong)
}
