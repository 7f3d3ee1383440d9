//! Bars: what `--fail-on` says, which rows it is about, and whether they are crossed.
//! Refuses to guess: a bar that can be read in two ways, or that is about nothing, is an error.

use super::rows::{Computed, ONE_SIDED, shared};
use super::{ALL, Bar, BarAnswer, LEAST_PAIRS, Measure};
use crate::nearest::nearest;

/// A threshold as it was written: `[phase.][operation.][service|response.]measure (>|<) [+|-]N%`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailOn {
    text: String,
    /// Phase, operation, or both, with the places where they stand.
    names: Vec<Word>,
    times: Option<Times>,
    word: &'static str,
    /// Crossed above the bound; otherwise below it.
    above: bool,
    bound: f64,
}

/// A part of a threshold, with its place: the number of its first character, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    Response,
    Service,
}

impl Times {
    const WORDS: [(&'static str, Self); 2] =
        [("response", Self::Response), ("service", Self::Service)];
}

/// Words of measures, with what they mean for response and for service times.
const WORDS: [(&str, Measure, Measure); 10] = {
    use Measure as M;
    [
        ("p50", M::ResponseP50, M::ServiceP50),
        ("p90", M::ResponseP90, M::ServiceP90),
        ("p95", M::ResponseP95, M::ServiceP95),
        ("p99", M::ResponseP99, M::ServiceP99),
        ("p99.9", M::ResponseP999, M::ServiceP999),
        ("mean", M::ResponseMean, M::ServiceMean),
        ("throughput", M::Throughput, M::Throughput),
        ("cpu", M::NodeCpu, M::NodeCpu),
        ("generator-cpu", M::GeneratorCpu, M::GeneratorCpu),
        ("max-rate", M::MaxRate, M::MaxRate),
    ]
};

impl Measure {
    /// Words by which a measure is named.
    pub const WORDS: [&str; 10] = {
        let mut words = [""; 10];
        let mut place = 0;
        while place < words.len() {
            words[place] = WORDS[place].0;
            place += 1;
        }
        words
    };

    /// The measure of a word, for response times or for service times; none where it is no word of [`Self::WORDS`].
    pub fn by_word(word: &str, response: bool) -> Option<Self> {
        let known = WORDS.iter().find(|(known, ..)| *known == word)?;
        Some(if response { known.1 } else { known.2 })
    }
}

/// Why a threshold cannot be set. Places are numbers of characters, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BarError {
    /// Neither `>` nor `<`.
    #[error("the threshold {text:?} has neither > nor <")]
    NoSign {
        /// The threshold.
        text: String,
    },
    /// What is compared has no such name.
    #[error("the threshold {text:?} names no known measure at character {at}: {found:?}")]
    Measure {
        /// The threshold.
        text: String,
        /// What is there.
        found: String,
        /// Where.
        at: usize,
    },
    /// No percentage, or one that no ratio can have.
    #[error("the threshold {text:?} has no percentage at character {at}: {found:?}")]
    Percentage {
        /// The threshold.
        text: String,
        /// What is there.
        found: String,
        /// Where.
        at: usize,
    },
    /// `<5%` may mean 5 % less or less than 5 % more.
    #[error("the threshold {text:?} is ambiguous: < needs a percentage with a sign")]
    WhichSide {
        /// The threshold.
        text: String,
        /// The percentage.
        found: String,
    },
    /// More than phase, operation and times before the measure.
    #[error("the threshold {text:?} has too many names, from character {at} on: {found:?}")]
    TooMany {
        /// The threshold.
        text: String,
        /// The first name too many.
        found: String,
        /// Where.
        at: usize,
    },
    /// Throughput and CPU are not times.
    #[error("the threshold {text:?} asks for the {times} time of {word}, which is not a time")]
    NoTime {
        /// The threshold.
        text: String,
        /// `service` or `response`.
        times: &'static str,
        /// The measure.
        word: &'static str,
    },
    /// No phase or operation of this name.
    #[error(
        "the threshold {text:?} names no known phase or operation at character {at}: {found:?}"
    )]
    Unknown {
        /// The threshold.
        text: String,
        /// What is there.
        found: String,
        /// Where.
        at: usize,
        /// Names that would be known there.
        known: Vec<String>,
    },
    /// The runs have no such number.
    #[error("the threshold {text:?} is about {word}, which not all of these runs have")]
    Absent {
        /// The threshold.
        text: String,
        /// What was asked for.
        word: String,
    },
}

impl BarError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let instead = |found: &str, known: Vec<&str>| {
            let list = known.join(", ");
            match nearest(found, known) {
                Some(near) => format!("the nearest is {near}; known: {list}"),
                None => format!("known: {list}"),
            }
        };
        match self {
            Self::NoSign { .. } => "write it as 'p99>+5%' or 'throughput<-5%'".to_owned(),
            Self::Measure { found, .. } => instead(found, WORDS.iter().map(|w| w.0).collect()),
            Self::Percentage { .. } => {
                "end it with a percentage above -100%, such as +5%, -5% or 2.5%".to_owned()
            }
            Self::WhichSide { found, .. } => format!("write <-{found} or <+{found}"),
            Self::TooMany { .. } => {
                "the form is [phase.][operation.][service|response.]measure".to_owned()
            }
            Self::NoTime { times, .. } => format!("leave {times}. out"),
            Self::Unknown { found, known, .. } => {
                instead(found, known.iter().map(String::as_str).collect())
            }
            Self::Absent { .. } => {
                "response times need a --rate, a percentile needs ten samples above it; CPU is measured over all operations together, and only of nodes on this machine"
                    .to_owned()
            }
        }
    }
}

impl std::str::FromStr for FailOn {
    type Err = BarError;

    fn from_str(text: &str) -> Result<Self, BarError> {
        Self::parse(text)
    }
}

impl FailOn {
    /// Reads a threshold.
    ///
    /// # Errors
    /// A threshold without a sign, without a known measure, without a percentage, with too many names, or one that can
    /// be read in two ways.
    pub fn parse(text: &str) -> Result<Self, BarError> {
        let whole = || text.to_owned();
        let sign = text.find(['>', '<']);
        let sign = sign.ok_or_else(|| BarError::NoSign { text: whole() })?;
        let above = text[sign..].starts_with('>');
        let bound = bound(text, sign, above)?;
        let (mut names, last) = words(&text[..sign]);
        let known = WORDS.iter().find(|(word, ..)| *word == last.text);
        let Some((word, as_response, as_service)) = known else {
            return Err(BarError::Measure {
                text: whole(),
                found: last.text,
                at: last.at,
            });
        };
        let times = names.last().and_then(|last| {
            let found = Times::WORDS.iter().find(|(word, _)| *word == last.text);
            found.copied()
        });
        if times.is_some() {
            names.pop();
        }
        if let Some((times, _)) = times
            && as_response == as_service
        {
            return Err(BarError::NoTime {
                text: whole(),
                times,
                word,
            });
        }
        if let Some(third) = names.get(2) {
            return Err(BarError::TooMany {
                text: whole(),
                found: third.text.clone(),
                at: third.at,
            });
        }
        Ok(Self {
            text: whole(),
            names,
            times: times.map(|(_, times)| times),
            word,
            above,
            bound,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether runs of these phases, each with its operations, have what the threshold names; so that a wrong name is
    /// known before anything is run.
    ///
    /// # Errors
    /// A name that is neither a phase nor an operation there, with the nearest that is.
    pub fn check(&self, phases: &[(&str, &[&str])]) -> Result<(), BarError> {
        let mut all = Vec::new();
        for (phase, operations) in phases {
            for operation in std::iter::once(&ALL).chain(operations.iter()) {
                let place = ((*phase).to_owned(), (*operation).to_owned());
                if !all.contains(&place) {
                    all.push(place);
                }
            }
        }
        self.places(all).map(|_| ())
    }

    /// The rows that it is about, by their places: one, or one for each phase where no phase is named.
    fn rows(&self, rows: &[Computed]) -> Result<Vec<usize>, BarError> {
        let mut all: Vec<(String, String)> = Vec::new();
        for one in rows {
            let place = (one.row.phase.clone(), one.row.operation.clone());
            if !all.contains(&place) {
                all.push(place);
            }
        }
        let mut found = Vec::new();
        for (phase, operation) in self.places(all)? {
            let here = |measure: Measure| {
                rows.iter().position(|one| {
                    let row = &one.row;
                    (&row.phase, &row.operation, row.measure) == (&phase, &operation, measure)
                })
            };
            let scheduled = here(Measure::ResponseMean).is_some();
            let response = match self.times {
                Some(times) => times == Times::Response,
                None => scheduled,
            };
            let known = WORDS.iter().find(|(word, ..)| *word == self.word);
            let measure = known.map(|w| if response { w.1 } else { w.2 });
            found.extend(measure.and_then(here));
        }
        if found.is_empty() {
            let word = match self.times {
                Some(Times::Response) => format!("response {}", self.word),
                Some(Times::Service) => format!("service {}", self.word),
                None => self.word.to_owned(),
            };
            let text = self.text.clone();
            return Err(BarError::Absent { text, word });
        }
        Ok(found)
    }

    /// Phases with the operation that the names mean. A single name is a phase where there is one of this name, and
    /// otherwise an operation, in all phases that have it.
    fn places(&self, all: Vec<(String, String)>) -> Result<Vec<(String, String)>, BarError> {
        let is_phase = |name: &str| all.iter().any(|(phase, _)| phase == name);
        let (phase, operation) = match self.names.as_slice() {
            [] => (None, None),
            [one] if is_phase(&one.text) => (Some(one), None),
            [one] => (None, Some(one)),
            [phase, operation, ..] => (Some(phase), Some(operation)),
        };
        let mut left = all.clone();
        if let Some(phase) = phase {
            left.retain(|place| place.0 == phase.text);
            self.known(phase, &left, all.iter().map(|place| &place.0))?;
        }
        let operations = left.clone();
        let wanted = operation.map_or(ALL, |word| &word.text);
        left.retain(|place| place.1 == wanted);
        if let Some(operation) = operation {
            let phases = all.iter().filter(|_| phase.is_none()).map(|place| &place.0);
            let names = operations.iter().map(|place| &place.1);
            self.known(operation, &left, phases.chain(names))?;
        }
        Ok(left)
    }

    /// An error where nothing is left of the places that a word may mean.
    fn known<'k>(
        &self,
        word: &Word,
        left: &[(String, String)],
        known: impl Iterator<Item = &'k String>,
    ) -> Result<(), BarError> {
        if !left.is_empty() {
            return Ok(());
        }
        let mut names: Vec<String> = Vec::new();
        for name in known {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Err(BarError::Unknown {
            text: self.text.clone(),
            found: word.text.clone(),
            at: word.at,
            known: names,
        })
    }

    /// The answer of a row: a run that fell behind its schedule exceeds every threshold of a response time.
    fn judged(&self, ends: Option<[f64; 2]>, of: &Computed) -> BarAnswer {
        let [a, b] = of.behind;
        // Pairs on the bad side of every bar, and on its good side.
        let (bad, good) = if self.above { (b, a) } else { (a, b) };
        let rest = of.row.ratios.iter().flatten().count() + good;
        let answer = match ends {
            Some([low, high]) => self.answer(low, high),
            None => BarAnswer::CannotTell,
        };
        match answer {
            _ if bad > rest && bad + rest >= LEAST_PAIRS => BarAnswer::Crossed,
            // What is left are the pairs in which that side had luck.
            BarAnswer::Holds if bad > 0 => BarAnswer::CannotTell,
            BarAnswer::Crossed if good > 0 => BarAnswer::CannotTell,
            answer => answer,
        }
    }

    fn answer(&self, low: f64, high: f64) -> BarAnswer {
        let (bad, good) = if self.above {
            (low > self.bound, high <= self.bound)
        } else {
            (high < self.bound, low >= self.bound)
        };
        match (bad, good) {
            (true, _) => BarAnswer::Crossed,
            (_, true) => BarAnswer::Holds,
            _ => BarAnswer::CannotTell,
        }
    }
}

/// The ratio behind the sign at this place.
fn bound(text: &str, sign: usize, above: bool) -> Result<f64, BarError> {
    let after = &text[sign + 1..];
    let found = after.trim();
    let wrong = || BarError::Percentage {
        text: text.to_owned(),
        found: found.to_owned(),
        at: place(text, sign + 1 + (after.len() - after.trim_start().len())),
    };
    let number = found.strip_suffix('%').ok_or_else(wrong)?.trim_end();
    // A float's own grammar knows inf, NaN and exponents; a bar has none of them.
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let percent: f64 = match number.parse() {
        Ok(percent) if number.chars().all(plain) && percent > -100.0 => percent,
        _ => return Err(wrong()),
    };
    if !above && !number.starts_with(['+', '-']) {
        return Err(BarError::WhichSide {
            text: text.to_owned(),
            found: found.to_owned(),
        });
    }
    Ok(1.0 + percent / 100.0)
}

/// The number, from 1 on, of the character at this byte.
fn place(text: &str, byte: usize) -> usize {
    text[..byte].chars().count() + 1
}

/// The words before the sign: all but the last, and the last. The dot of `p99.9` parts nothing.
fn words(before: &str) -> (Vec<Word>, Word) {
    let mut words = Vec::new();
    let mut from = 0;
    loop {
        let rest = &before[from..];
        let dot = rest.find('.').filter(|_| rest.trim() != "p99.9");
        let end = dot.map_or(before.len(), |dot| from + dot);
        let raw = &before[from..end];
        let lead = raw.len() - raw.trim_start().len();
        let word = Word {
            text: raw.trim().to_owned(),
            at: place(before, from + lead),
        };
        if dot.is_none() {
            return (words, word);
        }
        words.push(word);
        from = end + 1;
    }
}

/// The thresholds' answers: each by one-sided bounds of 95 % over their number, so that the chance of any wrong answer
/// is 5 % together.
///
/// # Errors
/// A threshold about a phase, an operation or a number that the rows do not have.
pub(super) fn answers(bars: &[FailOn], rows: &[Computed]) -> Result<Vec<Bar>, BarError> {
    let mut asked: Vec<(&FailOn, &Computed)> = Vec::new();
    for bar in bars {
        let places = bar.rows(rows)?;
        asked.extend(places.into_iter().map(|place| (bar, &rows[place])));
    }
    let level = shared(ONE_SIDED, asked.len());
    let answered = asked.iter().map(|(bar, one)| {
        let ends = one.ends(level).filter(|_| one.is_enough());
        Bar {
            text: bar.text.clone(),
            row: one.row.name(),
            bound: bar.bound,
            low: ends.map(|e| e[0]),
            high: ends.map(|e| e[1]),
            answer: bar.judged(ends, one),
        }
    });
    Ok(answered.collect())
}
