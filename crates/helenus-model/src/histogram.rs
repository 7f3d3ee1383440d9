//! Histograms of durations: three significant digits, nanoseconds to one hour, merged and never averaged.
//! Refuses to invent a percentile that too few samples stand behind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{
    Deserializer, Serializer as _, V2DeflateSerializer, V2Serializer,
};
use serde::{Deserialize, Serialize};

/// The longest duration that a histogram distinguishes; anything longer counts as one hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// Samples that must lie above a percentile before it is printed (the design's rule).
pub const SAMPLES_ABOVE: f64 = 10.0;

/// A histogram of durations in nanoseconds. Grows as it needs; written as text in HDR's V2 form.
#[derive(Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// Why a histogram's text could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("a histogram's text is not base64")]
    Base64(#[from] base64::DecodeError),
    /// Not an HDR histogram of version 2.
    #[error("a histogram's bytes are not HDR version 2: {0}")]
    Bytes(String),
}

/// Samples that the histogram does not distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The largest duration that counts here, in nanoseconds: what percentiles are read as.
    pub top_ns: u64,
    /// Its middle, in nanoseconds: what means are made of.
    pub middle_ns: u64,
    /// Samples.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .finish()
    }
}

impl Histogram {
    /// An empty histogram.
    ///
    /// # Panics
    /// Never: three significant digits are always allowed.
    pub fn new() -> Self {
        Self(hdrhistogram::Histogram::new(3).expect("three significant digits are allowed"))
    }

    /// Records one duration in nanoseconds; more than an hour counts as an hour.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // Growing is on and the value is bounded, so nothing can be lost.
        let recorded = self.0.record(ns.min(LONGEST_NS));
        debug_assert!(recorded.is_ok(), "a growing histogram takes every value");
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        // Growing is on, so the only error (a value out of range) cannot happen.
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "a growing histogram takes every value");
    }

    /// Forgets every sample and keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many samples were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest sample in nanoseconds; none when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.min())
    }

    /// The largest sample in nanoseconds; none when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.max())
    }

    /// The mean in nanoseconds; none when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.mean())
    }

    /// The value in nanoseconds that the share `quantile` (0 … 1) of the samples does not exceed,
    /// or none when fewer than ten samples lie above it.
    pub fn percentile_ns(&self, quantile: f64) -> Option<u64> {
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let above = self.count() as f64 * (1.0 - quantile);
        // The small term keeps 10,000 × (1 − 0.999) from failing by a rounding error.
        (above + 1e-6 >= SAMPLES_ABOVE).then(|| self.0.value_at_quantile(quantile))
    }

    /// As [`Self::percentile_ns`], whatever stands behind it; none only when empty. For thresholds, not for print.
    pub fn rough_percentile_ns(&self, quantile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }

    /// How many samples are larger than `ns`, to the histogram's resolution.
    pub fn count_above(&self, ns: u64) -> u64 {
        let bound = self.0.highest_equivalent(ns.min(LONGEST_NS));
        self.0
            .iter_recorded()
            .filter(|step| step.value_iterated_to() > bound)
            .map(|step| step.count_since_last_iteration())
            .sum()
    }

    /// How many samples are at most as large as each of these durations, which ascend, to the histogram's resolution.
    pub fn counts_up_to<const N: usize>(&self, bounds_ns: [u64; N]) -> [u64; N] {
        let bounds = bounds_ns.map(|ns| self.0.highest_equivalent(ns.min(LONGEST_NS)));
        let mut counts = [0; N];
        for step in self.0.iter_recorded() {
            let first = bounds.partition_point(|bound| *bound < step.value_iterated_to());
            for count in &mut counts[first..] {
                *count += step.count_since_last_iteration();
            }
        }
        counts
    }

    /// The buckets that hold samples, from the shortest duration on. Equal `top_ns` of two histograms is the same bucket.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.0.iter_recorded().map(|step| Bucket {
            top_ns: self.0.highest_equivalent(step.value_iterated_to()),
            middle_ns: self.0.median_equivalent(step.value_iterated_to()),
            count: step.count_since_last_iteration(),
        })
    }

    /// The same samples with bounds that follow from them alone, and not from the order in which they came: equal
    /// histograms have equal texts.
    fn plain(&self) -> hdrhistogram::Histogram<u64> {
        let mut plain = Self::new().0;
        let added = plain.add(&self.0);
        debug_assert!(added.is_ok(), "a growing histogram takes every value");
        plain
    }

    /// HDR's V2 bytes in base64; the empty histogram is the empty text.
    pub fn to_text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut bytes = Vec::new();
        // Writing into memory cannot fail; a histogram that could not be written reads back as empty.
        match V2Serializer::new().serialize(&self.plain(), &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }

    /// HDR's compressed V2 bytes in base64, as the lines of an HdrHistogram interval log carry them; unlike
    /// [`Self::to_text`], an empty histogram has bytes too.
    pub fn to_log_text(&self) -> String {
        let mut bytes = Vec::new();
        // Writing into memory cannot fail.
        match V2DeflateSerializer::new().serialize(&self.plain(), &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }

    /// Reads what [`Self::to_text`] or [`Self::to_log_text`] wrote.
    ///
    /// # Errors
    /// Text that is not base64, or bytes that are no V2 histogram.
    pub fn from_text(text: &str) -> Result<Self, HistogramError> {
        if text.is_empty() {
            return Ok(Self::new());
        }
        let bytes = STANDARD.decode(text)?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HistogramError::Bytes(e.to_string()))?;
        // Whatever its bounds were, what is read takes part in merges like any other.
        let mut own = Self::new();
        own.0
            .add(&read)
            .map_err(|e| HistogramError::Bytes(e.to_string()))?;
        Ok(own)
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_text(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        samples.iter().for_each(|ns| h.record(*ns));
        h
    }

    fn merged(parts: &[&Histogram]) -> Histogram {
        let mut sum = Histogram::new();
        parts.iter().for_each(|h| sum.merge(h));
        sum
    }

    #[test]
    fn a_percentile_needs_ten_samples_above_it() {
        let few = of(&(1..=999).collect::<Vec<_>>());
        assert_eq!(few.percentile_ns(0.99), None);
        let enough = of(&(1..=1000).collect::<Vec<_>>());
        assert_eq!(enough.percentile_ns(0.99), Some(990));
        assert_eq!(enough.percentile_ns(0.999), None);
        assert_eq!(Histogram::new().percentile_ns(0.5), None);
    }

    #[test]
    fn counts_what_lies_above_and_caps_at_an_hour() {
        let h = of(&[10, 1_000_000, 2_000_000_000, u64::MAX]);
        assert_eq!(h.count_above(999_999_999), 2);
        assert_eq!(h.count_above(0), 4);
        let bounds = [0, 999_999_999, LONGEST_NS];
        let above = bounds.map(|ns| 4 - h.count_above(ns));
        assert_eq!(h.counts_up_to(bounds), above);
        assert!(h.max_ns().is_some_and(|max| max >= LONGEST_NS));
        assert!(Histogram::from_text("!").is_err());
        assert!(Histogram::from_text("AAAA").is_err());
    }

    #[test]
    fn buckets_hold_every_sample_and_are_the_same_in_every_histogram() {
        let long = of(&[1, 5_000, 5_001, 70_000_000, 3_000_000_000]);
        let short = of(&[5_001]);
        let counts: Vec<u64> = long.buckets().map(|b| b.count).collect();
        assert_eq!(counts, [1, 2, 1, 1]);
        let same = short.buckets().next().expect("one");
        let found = long.buckets().find(|b| b.top_ns == same.top_ns);
        assert_eq!(found.map(|b| b.count), Some(2));
        assert!(same.middle_ns <= same.top_ns && same.top_ns >= 5_001);
        assert_eq!(Histogram::new().buckets().count(), 0);
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_commutative_and_text_round_trips(
            a in proptest::collection::vec(0_u64..4_000_000_000_000, 0..40),
            b in proptest::collection::vec(0_u64..1_000_000, 0..40),
            c in proptest::collection::vec(0_u64..1_000_000_000, 0..40),
        ) {
            let (ha, hb, hc) = (of(&a), of(&b), of(&c));
            let left = merged(&[&merged(&[&ha, &hb]), &hc]);
            let right = merged(&[&ha, &merged(&[&hc, &hb])]);
            prop_assert_eq!(&left, &right);
            let all: Vec<u64> = a.iter().chain(&b).chain(&c).copied().collect();
            prop_assert_eq!(&left, &of(&all));
            prop_assert_eq!(left.buckets().map(|b| b.count).sum::<u64>(), all.len() as u64);
            prop_assert_eq!(left.to_text(), of(&all).to_text());
            let read = Histogram::from_text(&left.to_log_text());
            prop_assert_eq!(read.map_err(|e| e.to_string()), Ok(left.clone()));
            prop_assert_eq!(Histogram::from_text(&left.to_text()).map_err(|e| e.to_string()), Ok(left));
        }
    }
}
