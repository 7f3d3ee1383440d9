//! What a level is said to gain (`a gain`, `up to 15%`, `3% to 5%`, `100%`), and how that claim ends where it is measured.
//! Refuses to call a claim wrong for lack of an answer: what was not distinguished, or could not be tried, says so.

use super::Experiment;
use super::effects::Effect;
use super::facts::Fact;
use super::progress::{Fate, RunState};
use crate::comparison::{Claim, Estimate, Measure};
use serde::Serialize;

/// Greatest gain that may be claimed, as a share.
const GAIN_MOST: f64 = 100.0;

/// A claimed gain of a level, as shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// As it was written.
    pub text: String,
    /// The least that is claimed; 0 of `up to` and of a gain without a figure.
    pub low: f64,
}

/// Why a claimed effect is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not a gain")]
pub struct PromiseError {
    /// What was found.
    pub found: String,
}

impl PromiseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "write a gain such as \"up to 15%\", \"3% to 5%\", \"100%\", or \"a gain\"".to_owned()
    }
}

impl Promise {
    /// Reads a gain.
    ///
    /// # Errors
    /// Anything but percentages above 0 in one of these forms.
    pub fn parse(text: &str) -> Result<Self, PromiseError> {
        let wrong = || PromiseError {
            found: text.to_owned(),
        };
        let share = |text: &str| {
            let number = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
            let share = number / 100.0;
            (share > 0.0 && share <= GAIN_MOST).then_some(share)
        };
        if text == "a gain" {
            return Ok(Self {
                text: text.to_owned(),
                low: 0.0,
            });
        }
        let (low, high) = match (text.strip_prefix("up to "), text.split_once(" to ")) {
            (Some(most), _) => (Some(0.0), share(most)),
            (None, Some((low, high))) => (share(low), share(high)),
            (None, None) => (share(text), share(text)),
        };
        let (low, high) = low.zip(high).ok_or_else(wrong)?;
        if low > high {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            low,
        })
    }
}

/// What became of a claimed effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum Kept {
    /// A gain was found, and the claimed one is within its interval, or below it.
    Confirmed,
    /// A loss was found, or what was claimed lies above the whole interval.
    Contradicted,
    /// Nothing was found, and nothing greater than this share either way is left possible.
    NoDifference {
        /// The farther end of the interval.
        above: f64,
    },
    /// The question has no answer on this machine.
    NotTestable,
    /// Nothing can be compared yet: runs of it are left.
    NotRunYet,
    /// Nothing can be compared: it, or what it is compared with, has no run that counts.
    NoNumbers,
    /// Too few blocks.
    NoClaim,
}

impl Kept {
    /// Its place in a list of ends.
    pub fn place(self) -> u8 {
        match self {
            Self::Confirmed => 0,
            Self::Contradicted => 1,
            Self::NoDifference { .. } => 2,
            Self::NotTestable => 3,
            Self::NotRunYet => 4,
            Self::NoNumbers => 5,
            Self::NoClaim => 6,
        }
    }

    /// In words, without a number.
    pub fn word(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::NoDifference { .. } => "no difference",
            Self::NotTestable => "not testable here",
            Self::NotRunYet => "not run yet",
            Self::NoNumbers => "without numbers",
            Self::NoClaim => "no claim",
        }
    }
}

/// What became of a claimed effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tip {
    /// Factor.
    pub factor: String,
    /// The level that is said to gain.
    pub level: String,
    /// The claimed effect, as it was written.
    pub promised: String,
    /// Gain that was measured against the factor's first level: lower end, middle and upper end, as shares of it.
    pub gain: Option<[f64; 3]>,
    /// How it ends.
    #[serde(flatten)]
    pub kept: Kept,
    /// Why, where it has no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Tip {
    /// Settles what has no numbers by what became of its own runs: some are left, died, or do not count.
    pub(super) fn settle(&mut self, of: &Experiment, facts: &[Fact], fates: &[Fate<'_>]) {
        if self.kept != Kept::NoNumbers {
            return;
        }
        let all = of.combinations();
        let own = |fate: &&Fate<'_>| {
            let labels = of.labels(&all[fate.planned.combination]);
            labels.contains(&(self.factor.as_str(), self.level.as_str()))
        };
        let own: Vec<&Fate<'_>> = fates.iter().filter(own).collect();
        let never = own
            .iter()
            .filter(|fate| matches!(fate.state, RunState::Died | RunState::DoesNotFit))
            .find_map(|fate| {
                let first = fate.why?.lines().next()?;
                Some(format!("{}: {first}", fate.state.word()))
            });
        let left = own.iter().filter(|fate| fate.state.is_open()).count();
        if left > 0 {
            let why = format!("{left} runs are left");
            (self.kept, self.because) = (Kept::NotRunYet, Some(why));
            return;
        }
        if let Some(why) = never {
            (self.kept, self.because) = (Kept::NotTestable, Some(why));
            return;
        }
        let counts = |fate: &&&Fate<'_>| {
            let mut own = facts
                .iter()
                .filter(|f| f.planned.place == fate.planned.place);
            own.any(Fact::is_believed)
        };
        let why = match own.len() - own.iter().filter(counts).count() {
            0 => "too few valid runs of what it is compared with".to_owned(),
            lost => format!("{lost} of {} runs are invalid", own.len()),
        };
        (self.kept, self.because) = (Kept::NoNumbers, Some(why));
    }
}

/// What becomes of all claimed effects, by the effects on this measure; `why_of` gives the reason where nothing may be
/// said of a factor.
pub(super) fn tips(
    of: &Experiment,
    effects: &[Effect],
    measure: Measure,
    why_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<Tip> {
    let mut tips = Vec::new();
    for factor in &of.factors {
        for level in &factor.levels {
            let Some(promise) = &level.promise else {
                continue;
            };
            let mut own = effects.iter().filter(|effect| effect.measure == measure);
            let effect = own.find(|e| e.factor == factor.name && e.to == level.label);
            let estimate = effect.and_then(|effect| effect.estimate);
            let claim = effect.map_or(Claim::None, |effect| effect.claim);
            let gain = estimate.map(|found| gain(&found, measure));
            tips.push(Tip {
                factor: factor.name.clone(),
                level: level.label.clone(),
                promised: promise.text.clone(),
                gain,
                kept: match gain {
                    _ if effect.is_some_and(|e| !e.testable) => Kept::NotTestable,
                    Some(gain) => kept(promise, gain, claim),
                    None => Kept::NoNumbers,
                },
                because: why_of(&factor.name),
            });
        }
    }
    tips
}

/// How much better, as a share: more of what is better in more, or as much faster as a time is shorter.
fn gain(of: &Estimate, measure: Measure) -> [f64; 3] {
    if measure.more_is_better() {
        [of.low, of.ratio, of.high].map(|ratio| ratio - 1.0)
    } else {
        [of.high, of.ratio, of.low].map(|ratio| 1.0 / ratio - 1.0)
    }
}

fn kept(promise: &Promise, [low, middle, high]: [f64; 3], claim: Claim) -> Kept {
    match claim {
        Claim::None => Kept::NoClaim,
        _ if high < promise.low => Kept::Contradicted,
        Claim::Higher | Claim::Lower if middle < 0.0 => Kept::Contradicted,
        Claim::Higher | Claim::Lower => Kept::Confirmed,
        Claim::NoDifference => Kept::NoDifference {
            above: low.abs().max(high.abs()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_read_in_four_forms() {
        let read = |text: &str| Promise::parse(text).map(|p| p.low);
        assert_eq!(read("a gain"), Ok(0.0));
        assert_eq!(read("up to 15%"), Ok(0.0));
        assert_eq!(read("3% to 5%"), Ok(0.03));
        assert_eq!(read("100%"), Ok(1.0));
        for wrong in ["15", "up to", "5% to 3%", "-5%", "0%", "lots", "", "1e9%"] {
            let error = Promise::parse(wrong).unwrap_err();
            assert_eq!(error.found, wrong);
        }
    }

    #[test]
    fn a_promise_ends_by_its_interval() {
        let promise = |text: &str| Promise::parse(text).unwrap();
        let up_to = promise("up to 15%");
        let double = promise("100%");
        let cases = [
            (&up_to, [0.02, 0.04, 0.06], Claim::Higher, Kept::Confirmed),
            (&up_to, [0.2, 0.3, 0.4], Claim::Higher, Kept::Confirmed),
            (
                &up_to,
                [-0.06, -0.04, -0.02],
                Claim::Lower,
                Kept::Contradicted,
            ),
            // A shorter time is a gain, whatever the ratio's direction is called.
            (&up_to, [0.02, 0.04, 0.06], Claim::Lower, Kept::Confirmed),
            (
                &up_to,
                [-0.03, 0.0, 0.02],
                Claim::NoDifference,
                Kept::NoDifference { above: 0.03 },
            ),
            (
                &double,
                [0.02, 0.04, 0.06],
                Claim::Higher,
                Kept::Contradicted,
            ),
            (
                &double,
                [-0.02, 0.0, 0.02],
                Claim::NoDifference,
                Kept::Contradicted,
            ),
            (
                &double,
                [-0.5, 0.5, 1.5],
                Claim::NoDifference,
                Kept::NoDifference { above: 1.5 },
            ),
            (&double, [0.9, 1.0, 1.1], Claim::Higher, Kept::Confirmed),
            (&double, [0.9, 1.0, 1.1], Claim::None, Kept::NoClaim),
        ];
        for (promise, gain, claim, wanted) in cases {
            assert_eq!(kept(promise, gain, claim), wanted, "{promise:?} {gain:?}");
        }
    }

    #[test]
    fn a_shorter_time_is_a_gain() {
        let found = Estimate {
            ratio: 0.8,
            low: 0.5,
            high: 1.0,
            pairs: 6,
            degrees: 5,
            log_sd: 0.1,
            p: 0.01,
            p_holm: None,
            detectable: Some(1.1),
            pairs_for_5_percent: Some(9),
        };
        assert_eq!(gain(&found, Measure::ResponseP99), [0.0, 0.25, 1.0]);
        assert_eq!(
            gain(&found, Measure::Throughput),
            [-0.5, -0.19999999999999996, 0.0]
        );
    }
}
