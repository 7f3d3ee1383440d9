//! Axes: from a value to a place, and the ticks that a reader counts by.
//! Refuses a crooked tick: steps are 1, 2 or 5 times a power of ten.

use crate::report::words::{count, digits};

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

/// From where to where.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Span {
    /// From zero to a tick above the data.
    FromZero,
    /// From a tick below the data to one above them.
    Ticks,
    /// As far as the data, and a little further.
    Around,
    /// As far as it was asked.
    Given(f64, f64),
}

/// What stands at the ticks.
#[derive(Debug, Clone, PartialEq)]
enum Labels {
    /// Numbers, as many as there is room for.
    Numbers,
    /// Whole numbers, as many as there is room for.
    Counts,
    /// Numbers as percentages.
    Shares,
    /// These words at these values.
    Given(Vec<(f64, String)>),
    /// Names at 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// An axis as a chart asks for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// What it is an axis of, not yet escaped; may be empty.
    pub(super) title: String,
    scale: Scale,
    span: Span,
    labels: Labels,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Its place, from 0 at the axis' beginning to 1 at its end.
    pub(super) at: f64,
    /// Its words, not yet escaped.
    pub(super) label: String,
}

/// An axis that fits its data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fitted {
    /// The value at its beginning.
    pub(super) from: f64,
    /// The value at its end.
    pub(super) to: f64,
    /// Its ticks, from its beginning on.
    pub(super) ticks: Vec<Tick>,
    scale: Scale,
}

impl Axis {
    fn new(title: &str, scale: Scale, span: Span, labels: Labels) -> Self {
        Self {
            title: title.to_owned(),
            scale,
            span,
            labels,
        }
    }

    /// A linear axis from zero.
    pub(super) fn from_zero(title: &str) -> Self {
        Self::new(title, Scale::Linear, Span::FromZero, Labels::Numbers)
    }

    /// Whole numbers from zero.
    pub(super) fn counts(title: &str) -> Self {
        Self::new(title, Scale::Linear, Span::FromZero, Labels::Counts)
    }

    /// A linear axis as far as the data.
    pub(super) fn around(title: &str) -> Self {
        Self::new(title, Scale::Linear, Span::Around, Labels::Numbers)
    }

    /// A linear axis with these ends.
    pub(super) fn between(title: &str, from: f64, to: f64) -> Self {
        let span = Span::Given(from, to);
        Self::new(title, Scale::Linear, span, Labels::Numbers)
    }

    /// A logarithmic axis.
    pub(super) fn log(title: &str) -> Self {
        Self::new(title, Scale::Log, Span::Ticks, Labels::Numbers)
    }

    /// Shares as percentages, from zero.
    pub(super) fn shares(title: &str) -> Self {
        Self::new(title, Scale::Linear, Span::FromZero, Labels::Shares)
    }

    /// Names, one below the other or side by side: the first is at 0, the next at 1.
    pub(super) fn names(title: &str, names: &[String]) -> Self {
        let ends = Span::Given(-0.5, whole(names.len()) - 0.5);
        Self::new(title, Scale::Linear, ends, Labels::Names(names.to_vec()))
    }

    /// A logarithmic axis as far as the data.
    pub(super) fn log_around(title: &str) -> Self {
        Self::new(title, Scale::Log, Span::Around, Labels::Numbers)
    }

    /// The same axis with these ends.
    pub(super) fn with_ends(mut self, from: f64, to: f64) -> Self {
        self.span = Span::Given(from, to);
        self
    }

    /// The same axis with these words at these values.
    pub(super) fn with_labels(mut self, labels: Vec<(f64, String)>) -> Self {
        self.labels = Labels::Given(labels);
        self
    }

    /// Whether names stand at it.
    pub(super) fn has_names(&self) -> bool {
        matches!(self.labels, Labels::Names(_))
    }

    /// Whether it is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.scale == Scale::Log
    }

    /// Whether its ticks are percentages.
    pub(super) fn is_of_shares(&self) -> bool {
        self.labels == Labels::Shares
    }

    /// Its ends and ticks for these values: so many ticks at most, where they are numbers.
    pub(super) fn fit(&self, values: impl Iterator<Item = f64>, most: usize) -> Fitted {
        let is_drawn = |v: &f64| v.is_finite() && (self.scale == Scale::Linear || *v > 0.0);
        let mut ends: Option<(f64, f64)> = None;
        for value in values.filter(is_drawn) {
            let (low, high) = ends.unwrap_or((value, value));
            ends = Some((low.min(value), high.max(value)));
        }
        let (low, high) = ends.unwrap_or((1.0, 1.0));
        let (from, to) = match self.scale {
            Scale::Linear => self.linear_ends(low, high, most),
            Scale::Log => self.log_ends(low, high),
        };
        let mut fitted = Fitted {
            from,
            to,
            ticks: Vec::new(),
            scale: self.scale,
        };
        fitted.ticks = match &self.labels {
            Labels::Given(labels) => fitted.given(labels),
            Labels::Names(names) => {
                let each = names.iter().enumerate();
                let each = each.map(|(place, name)| (whole(place), name.clone()));
                fitted.given(&each.collect::<Vec<_>>())
            }
            Labels::Numbers | Labels::Counts | Labels::Shares if self.scale == Scale::Linear => {
                fitted.linear(self.step(to - from, most), self.is_of_shares())
            }
            Labels::Numbers | Labels::Counts | Labels::Shares => fitted.log(most),
        };
        fitted
    }

    /// The step between its ticks; that of whole numbers is one, too.
    fn step(&self, length: f64, most: usize) -> f64 {
        let least = if self.labels == Labels::Counts {
            1.0
        } else {
            0.0
        };
        step(length, most).max(least)
    }

    fn linear_ends(&self, low: f64, high: f64, most: usize) -> (f64, f64) {
        match self.span {
            Span::Given(from, to) => (from, to),
            Span::Around => {
                let room = if high > low { (high - low) * 0.06 } else { 1.0 };
                (low - room, high + room)
            }
            Span::FromZero | Span::Ticks => {
                let low = if self.span == Span::FromZero {
                    low.min(0.0)
                } else {
                    low
                };
                let high = if high > low { high } else { low + 1.0 };
                // No line lies on the upper edge.
                let high = high + (high - low) * 0.03;
                let step = self.step(high - low, most);
                ((low / step).floor() * step, (high / step).ceil() * step)
            }
        }
    }

    fn log_ends(&self, low: f64, high: f64) -> (f64, f64) {
        match self.span {
            Span::Given(from, to) => (from, to),
            Span::Around => {
                let room = (high / low).powf(0.06).max(1.002);
                (low / room, high * room)
            }
            Span::FromZero | Span::Ticks => {
                let below = marks(low / 10.0, low).last().copied().unwrap_or(low);
                let above = marks(high, high * 10.0).first().copied().unwrap_or(high);
                let above = if above > below { above } else { below * 10.0 };
                (below, above)
            }
        }
    }
}

impl Fitted {
    /// The place of a value, from 0 to 1; beyond both where it lies beyond the axis, none where it has no place.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value <= 0.0 => return None,
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        share.is_finite().then_some(share)
    }

    /// The word of its scale, for the page's script.
    pub(super) fn scale(&self) -> &'static str {
        match self.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
        }
    }

    fn tick(&self, value: f64, label: String) -> Option<Tick> {
        let at = self.share(value)?;
        let is_on = (-1e-9..=1.0 + 1e-9).contains(&at);
        is_on.then_some(Tick { at, label })
    }

    fn given(&self, labels: &[(f64, String)]) -> Vec<Tick> {
        let each = labels.iter();
        each.filter_map(|(value, label)| self.tick(*value, label.clone()))
            .collect()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "ticks are few, and their places small"
    )]
    fn linear(&self, step: f64, shares: bool) -> Vec<Tick> {
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        let label = |value: f64| {
            if shares {
                format!("{} %", number(value * 100.0, step * 100.0))
            } else {
                number(value, step)
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "few ticks")]
        let values = (first..=last).map(|place| place as f64 * step);
        values.filter_map(|v| self.tick(v, label(v))).collect()
    }

    fn log(&self, most: usize) -> Vec<Tick> {
        let all = marks(self.from, self.to);
        let is_power = |v: &&f64| (v.log10() - v.log10().round()).abs() < 1e-9;
        let powers: Vec<f64> = all.iter().filter(is_power).copied().collect();
        let kept = if all.len() <= most { all } else { powers };
        let apart = kept.len().div_ceil(most.max(1)).max(1);
        let each = kept.into_iter().step_by(apart);
        each.filter_map(|v| self.tick(v, number(v, v))).collect()
    }
}

/// A small number, such as a place among names.
#[expect(clippy::cast_precision_loss, reason = "a few names")]
pub(super) fn whole(number: usize) -> f64 {
    number as f64
}

/// The step of 1, 2 or 5 times a power of ten that cuts a length into so many parts at most.
#[expect(clippy::cast_precision_loss, reason = "a few ticks")]
fn step(length: f64, most: usize) -> f64 {
    let least = length / most.max(1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let enough = steps.into_iter().find(|s| *s >= least * (1.0 - 1e-9));
    enough.unwrap_or(power * 10.0)
}

/// The numbers of 1, 2 or 5 times a power of ten from one value to another.
#[expect(
    clippy::cast_possible_truncation,
    reason = "powers of ten of a number's size"
)]
fn marks(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(power)));
    let inside = all.filter(|v| *v >= from * (1.0 - 1e-9) && *v <= to * (1.0 + 1e-9));
    inside.collect()
}

/// A number with as many decimals as its step has, and with its thousands apart.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and positive; decimals are few"
)]
fn number(value: f64, step: f64) -> String {
    let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    if decimals > 0 || value.abs() >= 1e15 {
        return format!("{value:.decimals$}");
    }
    let sign = if value <= -0.5 { "-" } else { "" };
    format!("{sign}{}", count(value.abs().round() as u64))
}

/// A value as a tooltip shows it.
pub(super) fn tooltip(value: f64) -> String {
    if value.abs() < 1000.0 {
        digits(value)
    } else {
        number(value, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(fitted: &Fitted) -> Vec<&str> {
        fitted.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_hold_the_data() {
        let axis = Axis::from_zero("op/s");
        let fitted = axis.fit([1980.0, 2003.0].into_iter(), 6);
        assert_eq!(
            labels(&fitted),
            ["0", "500", "1,000", "1,500", "2,000", "2,500"]
        );
        let fitted = axis.fit([0.0, 0.034].into_iter(), 6);
        assert_eq!(labels(&fitted), ["0.00", "0.01", "0.02", "0.03", "0.04"]);
        assert!((fitted.share(0.02).expect("a place") - 0.5).abs() < 1e-9);
        // All values the same, and none at all.
        assert_eq!(labels(&axis.fit([0.0].into_iter(), 2)), ["0", "1", "2"]);
        assert_eq!(labels(&axis.fit(std::iter::empty(), 1)), ["0", "2"]);
        let below = Axis::from_zero("").fit([-3.0, 4.0].into_iter(), 5);
        assert_eq!(labels(&below), ["-4", "-2", "0", "2", "4", "6"]);
    }

    #[test]
    fn counts_are_whole() {
        let fitted = Axis::counts("tasks").fit([0.0, 1.0].into_iter(), 6);
        assert_eq!(labels(&fitted), ["0", "1", "2"]);
        let fitted = Axis::counts("tasks").fit([40.0].into_iter(), 6);
        assert_eq!(labels(&fitted), ["0", "10", "20", "30", "40", "50"]);
    }

    #[test]
    fn shares_are_percentages() {
        let fitted = Axis::shares("").fit([0.13, 0.31].into_iter(), 4);
        assert_eq!(labels(&fitted), ["0 %", "10 %", "20 %", "30 %", "40 %"]);
        let small = Axis::shares("").fit([0.004].into_iter(), 4);
        assert_eq!(labels(&small), ["0.0 %", "0.2 %", "0.4 %", "0.6 %"]);
        let whole = Axis::shares("").with_ends(0.0, 1.0);
        let whole = whole.fit([0.1].into_iter(), 2);
        assert_eq!(labels(&whole), ["0 %", "50 %", "100 %"]);
    }

    #[test]
    fn a_log_axis_counts_by_one_two_five_or_by_tens() {
        let axis = Axis::log("ms");
        let near = axis.fit([0.43, 0.0, 7.0, f64::NAN].into_iter(), 8);
        assert_eq!(labels(&near), ["0.2", "0.5", "1", "2", "5", "10"]);
        let far = axis.fit([0.0013, 2100.0].into_iter(), 8);
        assert_eq!((far.from, far.to), (0.001, 5000.0));
        assert_eq!(
            labels(&far),
            ["0.001", "0.01", "0.1", "1", "10", "100", "1,000"]
        );
        assert_eq!(far.share(0.0), None);
        assert_eq!(far.share(-1.0), None);
        let middle = axis.fit([1.0, 100.0].into_iter(), 8);
        assert!((middle.share(10.0).expect("a place") - 0.5).abs() < 1e-9);
        // A single value has an axis, too.
        let one = axis.fit([1.0].into_iter(), 8);
        assert!(one.to > one.from, "{one:?}");
    }

    #[test]
    fn given_words_stand_at_their_values_as_far_as_the_axis_goes() {
        let words = [0.5, 1.0, 2.0, 10.0].map(|v| (v, format!("{v}x")));
        let axis = Axis::log_around("").with_labels(words.to_vec());
        let fitted = axis.fit([0.8, 2.2].into_iter(), 3);
        assert_eq!(labels(&fitted), ["1x", "2x"]);
        let names = Axis::names("", &["a".to_owned(), "b".to_owned()]);
        let fitted = names.fit(std::iter::empty(), 1);
        let at: Vec<f64> = fitted.ticks.iter().map(|t| t.at).collect();
        assert_eq!((at, labels(&fitted)), (vec![0.25, 0.75], vec!["a", "b"]));
    }
}
