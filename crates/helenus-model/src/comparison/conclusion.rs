//! What a comparison says: one sentence and one badge, the same words in every form in which it is shown.
//! Refuses a claim that does not survive the correction for several measures.

use super::rows::ALPHA;
use super::{ALL, Bar, BarAnswer, Behind, Claim, Comparison, Estimate, LEAST_PAIRS, Measure, Row};
use crate::units::percent;
use serde::Serialize;

/// What a comparison says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    /// In one sentence.
    pub headline: String,
    /// In a few words.
    pub badge: &'static str,
    /// What the badge's colour means.
    pub tone: Tone,
}

/// What the colour of a badge means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// A difference is significant after correction, or all thresholds hold.
    Settled,
    /// Nothing is claimed.
    Open,
    /// A threshold is crossed.
    Crossed,
}

/// What a row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Too few pairs for a claim.
    NoClaim,
    /// None of the rows that may be claims.
    Exploratory,
    /// Not significant.
    NotSignificant,
    /// B is higher.
    Higher,
    /// B is lower.
    Lower,
}

impl Finding {
    /// Every one, as tables show it.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoClaim => "no claim",
            Self::Exploratory => "exploratory",
            Self::NotSignificant => "not significant",
            Self::Higher => "B higher",
            Self::Lower => "B lower",
        }
    }

    /// Whether it is a claim of a difference.
    pub fn is_claim(self) -> bool {
        matches!(self, Self::Higher | Self::Lower)
    }
}

impl Row {
    /// What it says.
    pub fn finding(&self) -> Finding {
        let Some(estimate) = self.estimate.filter(Estimate::is_enough) else {
            return Finding::NoClaim;
        };
        match estimate.p_holm {
            None => Finding::Exploratory,
            Some(p) if p > ALPHA => Finding::NotSignificant,
            // A claim and the interval beside it say the same.
            Some(_) if estimate.low > 1.0 => Finding::Higher,
            Some(_) if estimate.high < 1.0 => Finding::Lower,
            Some(_) => Finding::NotSignificant,
        }
    }

    /// Its claim after correction.
    pub(super) fn corrected(&self) -> Claim {
        match self.finding() {
            Finding::NoClaim | Finding::Exploratory => Claim::None,
            Finding::NotSignificant => Claim::NoDifference,
            Finding::Higher => Claim::Higher,
            Finding::Lower => Claim::Lower,
        }
    }
}

impl BarAnswer {
    /// In a word.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::CannotTell => "is undecided",
            Self::Crossed => "is crossed",
        }
    }
}

/// `12 % lower`, `3.4 % higher`, `the same`; of B over A.
pub fn change(ratio: f64) -> String {
    let share = (ratio - 1.0).abs();
    if share < 0.0005 {
        return "the same".to_owned();
    }
    if share.is_infinite() {
        return "higher by any amount".to_owned();
    }
    let word = if ratio < 1.0 { "lower" } else { "higher" };
    format!("{} {word}", percent(share))
}

/// `7.0 to 17 %` where both ends are on one side, else `between 20 % lower and 4.0 % higher`.
fn range(low: f64, high: f64) -> String {
    if (low - 1.0) * (high - 1.0) <= 0.0 {
        return format!("between {} and {}", change(low), change(high));
    }
    let mut ends = [(low - 1.0).abs(), (high - 1.0).abs()];
    ends.sort_by(f64::total_cmp);
    let near = percent(ends[0]);
    format!("{} to {}", near.trim_end_matches(" %"), percent(ends[1]))
}

impl Estimate {
    /// Whether it has as many pairs as a claim needs. Below them its interval may have any width: whoever shows a
    /// comparison shows none.
    pub fn is_enough(&self) -> bool {
        self.pairs >= LEAST_PAIRS && self.degrees + 1 >= LEAST_PAIRS
    }

    /// Its interval: `7.0 to 17 %`, or `between 20 % lower and 4.0 % higher`.
    pub fn interval_words(&self) -> String {
        range(self.low, self.high)
    }
}

impl Comparison {
    /// How many looks were taken, and what may be said of each, in one sentence; none where nothing may be claimed.
    pub fn rule(&self) -> Option<String> {
        let family = self.family().filter(|e| e.is_enough()).count();
        let ever = match self.sequential {
            true => " They stay valid however often the pairs were looked at (anytime-valid).",
            false => "",
        };
        (family > 0).then(|| {
            format!(
                "Claims are made of {family} rows only, at 5 % over all of them (Holm), with simultaneous 95 % \
                 intervals (Bonferroni); all other rows are exploratory, each with its own 95 % \
                 interval.{ever}"
            )
        })
    }

    /// Rows that may be claims.
    pub(super) fn family(&self) -> impl Iterator<Item = Estimate> {
        let each = self.rows.iter().filter_map(|row| row.estimate);
        each.filter(|estimate| estimate.p_holm.is_some())
    }

    /// What it says. Whoever shows a comparison shows these words.
    pub fn conclusion(&self) -> Conclusion {
        let (badge, tone) = self.badge();
        Conclusion {
            headline: self.headline(),
            badge,
            tone,
        }
    }

    /// The same by today's rule: what was stored by a version that did not correct claims, or the intervals beside them.
    /// No interval gets narrower: only the stored ends know what a late generator may hide.
    #[must_use]
    pub fn corrected(mut self) -> Self {
        if self.sequential {
            // A version before stored what a fixed number of pairs finds and needs.
            for known in self.rows.iter_mut().filter_map(|row| row.estimate.as_mut()) {
                (known.detectable, known.pairs_for_5_percent) = (None, None);
            }
            return self;
        }
        let family = self.family().count();
        for row in &mut self.rows {
            if let Some(known) = row.estimate.as_mut().filter(|e| e.p_holm.is_some()) {
                let recorded = known.shown_with(family);
                *known = Estimate {
                    low: known.low.min(recorded.low),
                    high: known.high.max(recorded.high),
                    p_holm: known.p_holm,
                    ..recorded
                };
            }
            row.claim = row.corrected();
        }
        self
    }

    fn badge(&self) -> (&'static str, Tone) {
        match self.answer() {
            Some(BarAnswer::Crossed) => ("a threshold is crossed", Tone::Crossed),
            Some(BarAnswer::CannotTell) => ("a threshold is undecided", Tone::Open),
            Some(BarAnswer::Holds) => ("all thresholds hold", Tone::Settled),
            None if self.claims_nothing() => ("no claim", Tone::Open),
            None if self.rows.iter().any(|row| row.finding().is_claim()) => {
                ("significant difference", Tone::Settled)
            }
            None => ("no significant difference", Tone::Open),
        }
    }

    fn claims_nothing(&self) -> bool {
        self.rows.iter().all(|row| row.claim == Claim::None)
    }

    fn headline(&self) -> String {
        match self.behind {
            None => self.differences_or_bars(),
            Some(behind) => format!(
                "{}; {}",
                self.behind_words(behind),
                self.differences_or_bars()
            ),
        }
    }

    /// `B fell behind its schedule in 4 of 8 pairs, A in none`.
    fn behind_words(&self, behind: Behind) -> String {
        let of = self.pairs_words();
        let number = |pairs: usize| match pairs {
            0 => "none".to_owned(),
            n => n.to_string(),
        };
        let (more, most, other, least) = match behind.a > behind.b {
            true => ("A", behind.a, "B", behind.b),
            false => ("B", behind.b, "A", behind.a),
        };
        format!(
            "{more} fell behind its schedule in {most} of {of}, {other} in {}",
            number(least)
        )
    }

    fn differences_or_bars(&self) -> String {
        // So few pairs answer no threshold either.
        if self.claims_nothing() && self.pairs.len() < LEAST_PAIRS {
            return self.too_few();
        }
        match self.answer() {
            None => self.differences_sentence(&[]),
            Some(BarAnswer::Holds) => {
                let bars = match self.bars.as_slice() {
                    [only] => format!("threshold {} holds", only.text),
                    _ => "all thresholds hold".to_owned(),
                };
                format!("{bars}; {}", self.differences_sentence(&[]))
            }
            Some(worst) => {
                let bars: Vec<&Bar> = self.bars.iter().filter(|b| b.answer == worst).collect();
                let each: Vec<String> = bars.iter().map(|bar| self.bar_words(bar)).collect();
                let crossed: &[&Bar] = if worst == BarAnswer::Crossed {
                    &bars
                } else {
                    &[]
                };
                format!(
                    "{}; {}",
                    each.join("; "),
                    self.differences_sentence(crossed)
                )
            }
        }
    }

    fn too_few(&self) -> String {
        if self.a.runs.len() == 1 && self.b.runs.len() == 1 {
            return "no claim: two single runs, side by side".to_owned();
        }
        let pairs = self.pairs_words();
        format!("no claim: {pairs}, and at least {LEAST_PAIRS} are needed")
    }

    /// Why nothing can be claimed of pairs that are enough.
    fn nothing_comparable(&self) -> String {
        match self.behind {
            Some(behind) if behind.a != behind.b => {
                "no headline measure can be compared, because one side fell behind more often"
                    .to_owned()
            }
            _ => format!("no headline measure has the {LEAST_PAIRS} pairs that a claim needs"),
        }
    }

    fn pairs_words(&self) -> String {
        match self.pairs.len() {
            1 => "1 pair".to_owned(),
            n => format!("{n} pairs"),
        }
    }

    /// `threshold p99>+5% is crossed (B's response p99 7.0 to 17 % higher)`.
    fn bar_words(&self, bar: &Bar) -> String {
        let answer = format!("threshold {} {}", bar.text, bar.answer.words());
        let row = self.rows.iter().find(|row| row.name() == bar.row);
        match (row, bar.low, bar.high) {
            (Some(row), Some(low), Some(high)) => {
                let side = match (low > 1.0, high < 1.0) {
                    (true, _) => " higher",
                    (_, true) => " lower",
                    _ => "",
                };
                format!("{answer} ({} {}{side})", self.whose(row), range(low, high))
            }
            _ => answer,
        }
    }

    /// The headline's measures: those that are significant, else what is open. Those of `crossed` thresholds are named
    /// already.
    fn differences_sentence(&self, crossed: &[&Bar]) -> String {
        let other = if crossed.is_empty() { "" } else { "other " };
        if self.claims_nothing() {
            return format!("no {other}claim: {}", self.nothing_comparable());
        }
        let is_named = |row: &Row| crossed.iter().any(|bar| bar.row == row.name());
        let rows = || self.rows.iter().filter(|row| !is_named(row));
        let list = |wanted: fn(Finding) -> bool| -> String {
            let own = rows().filter(|row| wanted(row.finding()));
            let each = own.filter_map(|row| Some(self.difference(row, row.estimate.as_ref()?)));
            each.collect::<Vec<_>>().join("; ")
        };
        let pairs = self.pairs_words();
        let found = list(Finding::is_claim);
        if !found.is_empty() {
            return format!("significant after correction ({pairs}): {found}");
        }
        let none = format!("no {other}significant difference after correction ({pairs})");
        let open = self.usual().filter(|row| !is_named(row));
        match open.and_then(|row| Some((row, row.estimate?))) {
            Some((row, estimate)) => format!("{none}; {}", self.difference(row, &estimate)),
            None => none,
        }
    }

    /// `B's write response p99 is 12 % lower (7.6 to 16 %)`.
    fn difference(&self, row: &Row, estimate: &Estimate) -> String {
        format!(
            "{} is {} ({})",
            self.whose(row),
            change(estimate.ratio),
            estimate.interval_words()
        )
    }

    /// `B's write response p99`; without the phase where there is one only.
    fn whose(&self, row: &Row) -> String {
        let several = self.rows.iter().any(|other| other.phase != row.phase);
        let phase = if several { &row.phase } else { "" };
        let operation = if row.operation == ALL {
            ""
        } else {
            &row.operation
        };
        let words = [phase, operation, row.measure.words()];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        format!("B's {}", words.join(" "))
    }

    /// The row that most people ask for first: response p99 of the first phase, or what comes nearest to it.
    fn usual(&self) -> Option<&Row> {
        let wanted = [
            Measure::ResponseP99,
            Measure::ServiceP99,
            Measure::ServiceP50,
            Measure::Throughput,
        ];
        let corrected = |row: &&Row| row.estimate.is_some_and(|e| e.p_holm.is_some());
        let of = |measure| {
            let mut rows = self.rows.iter().filter(corrected);
            rows.find(|row| row.measure == measure)
        };
        wanted.into_iter().find_map(of)
    }
}

#[cfg(test)]
#[path = "conclusion_tests.rs"]
mod tests;
