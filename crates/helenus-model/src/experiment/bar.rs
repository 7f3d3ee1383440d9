//! What an experiment is about, and bars to hold: `p99`, `main.service.p50`, `p99 < 20ms at 1000/s`.
//! Refuses names of levels that no factor has.

use super::Factor;
use crate::comparison::Measure;
use crate::nearest::nearest;
use crate::units::{parse_duration, parse_rate};
use serde::Serialize;

/// Which number of a run is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// As it was written.
    pub text: String,
    /// The phase; the last one where none is named.
    pub phase: Option<String>,
    /// `Some(true)` for response times, `Some(false)` for service times; none takes the response time where there is one.
    response: Option<bool>,
    pub(super) word: &'static str,
}

/// A number that a combination must keep below, or reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// As it was written.
    pub text: String,
    /// What is looked at.
    #[serde(skip)]
    pub goal: Goal,
    /// Whether it is to stay below the bound; above it otherwise.
    pub below: bool,
    /// The bound, in the measure's unit.
    pub bound: f64,
    /// Places of factors and of their levels at which it is to hold; everywhere where there are none.
    pub at: Vec<(usize, usize)>,
}

/// Why a threshold or a measure is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BarError {
    /// No such measure.
    #[error("no such measure: {found:?}")]
    Measure {
        /// What was found.
        found: String,
    },
    /// Throughput and CPU are not times.
    #[error("{word} is not a time: it has no response or service {word}")]
    NoTime {
        /// The measure.
        word: String,
    },
    /// Neither `<` nor `>`.
    #[error("the threshold {text:?} has neither < nor >")]
    NoSign {
        /// The threshold.
        text: String,
    },
    /// No number with its unit.
    #[error("the threshold {text:?} has no bound: {found:?}")]
    Bound {
        /// The threshold.
        text: String,
        /// What was found.
        found: String,
        /// What would be understood.
        wanted: &'static str,
    },
    /// No such factor or level.
    #[error("the threshold {text:?} is about {found:?}, which is not a level of a factor")]
    Level {
        /// The threshold.
        text: String,
        /// What was found.
        found: String,
        /// What would be understood.
        known: Vec<String>,
    },
}

impl BarError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Measure { found } => {
                let list = Measure::WORDS.join(", ");
                match nearest(found, Measure::WORDS) {
                    Some(near) => format!("did you mean {near}? known: {list}"),
                    None => format!("known: {list}"),
                }
            }
            Self::NoTime { word } => format!("write {word} alone"),
            Self::NoSign { .. } => "write it as \"p99 < 20ms at 1000/s\"".to_owned(),
            Self::Bound { wanted, .. } => format!("write {wanted}"),
            Self::Level { known, .. } => format!("known: {}", known.join(", ")),
        }
    }
}

impl Default for Goal {
    fn default() -> Self {
        Self {
            text: "p99".to_owned(),
            phase: None,
            response: None,
            word: "p99",
        }
    }
}

impl Goal {
    /// Reads `[PHASE.][response.|service.]MEASURE`.
    ///
    /// # Errors
    /// A measure that is not known; a time of what is no time.
    pub fn parse(text: &str) -> Result<Self, BarError> {
        let text = text.trim();
        let ends = |word: &&str| {
            let before = text.strip_suffix(*word);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let unknown = || BarError::Measure {
            found: text.rsplit('.').next().unwrap_or(text).to_owned(),
        };
        let word = Measure::WORDS.into_iter().find(ends).ok_or_else(unknown)?;
        let before = text[..text.len() - word.len()].trim_end_matches('.');
        let (phase, times) = match before.rsplit_once('.') {
            Some((phase, times)) => (phase, times),
            None if ["response", "service"].contains(&before) => ("", before),
            None => (before, ""),
        };
        let (phase, response) = match times {
            "response" => (phase, Some(true)),
            "service" => (phase, Some(false)),
            "" => (phase, None),
            _ => (before, None),
        };
        let is_time = Measure::by_word(word, true) != Measure::by_word(word, false);
        if response.is_some() && !is_time {
            return Err(BarError::NoTime {
                word: word.to_owned(),
            });
        }
        Ok(Self {
            text: text.to_owned(),
            phase: (!phase.is_empty()).then(|| phase.to_owned()),
            response,
            word,
        })
    }

    /// The measure that it means where runs have response times, or have none.
    pub fn measure(&self, scheduled: bool) -> Measure {
        let response = self.response.unwrap_or(scheduled);
        Measure::by_word(self.word, response).unwrap_or(Measure::Throughput)
    }
}

impl Bar {
    /// Reads `[PHASE.][response.|service.]MEASURE (<|>) BOUND [at LEVEL, …]`; a LEVEL is `FACTOR=LABEL`, or `1000/s`
    /// for a level of the rate.
    ///
    /// # Errors
    /// What is not understood, with what would be.
    pub fn parse(text: &str, factors: &[Factor]) -> Result<Self, BarError> {
        let whole = || text.to_owned();
        let sign = text.find(['<', '>']);
        let sign = sign.ok_or_else(|| BarError::NoSign { text: whole() })?;
        let goal = Goal::parse(&text[..sign])?;
        let after = &text[sign + 1..];
        let (bound, levels) = after.split_once(" at ").unwrap_or((after, ""));
        let measure = goal.measure(true);
        let bound = self::bound(measure, bound.trim()).map_err(|wanted| BarError::Bound {
            text: whole(),
            found: bound.trim().to_owned(),
            wanted,
        })?;
        let named = levels.split(',').map(str::trim).filter(|l| !l.is_empty());
        let at = named.map(|one| {
            level(one, factors).ok_or_else(|| BarError::Level {
                text: whole(),
                found: one.to_owned(),
                known: known(factors),
            })
        });
        Ok(Self {
            text: whole(),
            goal,
            below: text[sign..].starts_with('<'),
            bound,
            at: at.collect::<Result<_, _>>()?,
        })
    }

    /// Whether it is about this combination.
    pub fn is_about(&self, levels: &[usize]) -> bool {
        let is = |(factor, level): &(usize, usize)| levels.get(*factor) == Some(level);
        self.at.iter().all(is)
    }
}

/// The bound in the measure's unit, or what would be understood.
fn bound(measure: Measure, text: &str) -> Result<f64, &'static str> {
    match measure {
        Measure::Throughput | Measure::MaxRate => parse_rate(text.trim_end_matches("/s"))
            .map_err(|_| "operations per second, such as 2000/s"),
        _ => parse_duration(text)
            .map(|time| time.as_secs_f64() * 1e6)
            .map_err(|_| "a time with its unit, such as 20ms"),
    }
}

/// Places of the factor and of its level.
fn level(text: &str, factors: &[Factor]) -> Option<(usize, usize)> {
    let (name, label) = match text.strip_suffix("/s") {
        Some(rate) => ("rate", rate),
        None => text.split_once('=')?,
    };
    let factor = factors.iter().position(|f| f.name == name.trim())?;
    let label = label.trim();
    let rate = |text: &str| parse_rate(text).ok().filter(|_| name == "rate");
    let same =
        |known: &str| known == label || (rate(known).is_some() && rate(known) == rate(label));
    let level = factors[factor].levels.iter().position(|l| same(&l.label))?;
    Some((factor, level))
}

fn known(factors: &[Factor]) -> Vec<String> {
    let each = factors.iter().flat_map(|factor| {
        let levels = factor.levels.iter();
        levels.map(|level| format!("{}={}", factor.name, level.label))
    });
    each.collect()
}
