//! A sample of a table for a proof: one range of tokens in each of equal parts of the ring, chosen by a seed.
//! Refuses to claim what a sample cannot show: what could have stayed unseen is a number.

use crate::scan::Span;
use crate::seed::{Seed, mix};

/// From so many rows on, a proof is a sample unless it is asked for in full.
pub const FULL_MOST: u64 = 100_000_000;

/// Rows that a sample is to have: as many as are compared in memory.
const ROWS: u64 = 4_000_000;

/// The greatest and the least share.
const SHARE: (f64, f64) = (1.0 / 16.0, 1e-6);

/// Parts of the ring: what is missing of a range wider than a part cannot be overlooked.
const PARTS: u64 = 1_024;

/// Ranges of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What chose them.
    pub seed: u64,
    /// Their share of the ring, from 0 to 1.
    pub share: f64,
    /// Ascending, one in each part of the ring.
    pub spans: Vec<Span>,
    width: u64,
}

impl Sample {
    /// For a table of about so many rows.
    pub fn new(seed: Seed, rows: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = (ROWS as f64 / rows.max(1) as f64).clamp(SHARE.1, SHARE.0);
        let whole = Span {
            start: i64::MIN,
            end: i64::MAX,
        };
        let parts = whole.parts(PARTS);
        let width = parts.first().map_or(1, |part| part.width());
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a width"
        )]
        let own = ((width as f64 * share) as u64).max(1);
        let cut = (0_u64..).zip(parts).map(|(at, part)| {
            let own = own.min(part.width());
            let places = part.width() - own;
            let from = mix(seed.0 ^ mix(at)).checked_rem(places).unwrap_or(0);
            let start = part.start.wrapping_add_unsigned(from);
            let end = start.wrapping_add_unsigned(own);
            Span { start, end }
        });
        Self {
            seed: seed.0,
            share,
            spans: cut.collect(),
            width,
        }
    }

    /// Whether rows of this token are in it.
    pub fn contains(&self, token: i64) -> bool {
        // Tokens of a part lie behind its start.
        let behind = token.wrapping_sub(i64::MIN).cast_unsigned().wrapping_sub(1);
        let part = usize::try_from(behind / self.width).unwrap_or(usize::MAX);
        self.spans
            .get(part)
            .is_some_and(|span| span.contains(token))
    }
}

/// The greatest share of wrong ones of which a sample of `equal` right ones would have shown none with a probability of
/// 5 %: the rule of three.
#[expect(clippy::cast_precision_loss, reason = "a bound")]
pub fn unseen_most(equal: u64) -> f64 {
    (3.0 / equal.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sample_has_its_share_everywhere(seed: u64, rows in 1_u64..1 << 45, token: i64) {
            let sample = Sample::new(Seed(seed), rows);
            prop_assert_eq!(sample.spans.len() as u64, PARTS);
            let all: f64 = sample.spans.iter().map(|span| span.share()).sum();
            prop_assert!((all / sample.share - 1.0).abs() < 1e-3, "{} {}", all, sample.share);
            prop_assert!(sample.spans.windows(2).all(|two| two[0].end <= two[1].start));
            let inside = sample.spans.iter().any(|span| span.contains(token));
            prop_assert_eq!(sample.contains(token), inside);
            for span in &sample.spans {
                prop_assert!(sample.contains(span.end) && !sample.contains(span.start));
            }
            prop_assert_eq!(sample.clone(), Sample::new(Seed(seed), rows));
            prop_assert_ne!(&sample.spans, &Sample::new(Seed(seed ^ 1), rows).spans);
        }
    }

    #[test]
    fn shares_follow_the_rows() {
        let share = |rows| Sample::new(Seed(1), rows).share;
        assert!((share(10) - 1.0 / 16.0).abs() < 1e-12);
        assert!((share(100_000_000) - 0.04).abs() < 1e-12);
        assert!((share(2_000_000_000) - 0.002).abs() < 1e-12);
        assert!((unseen_most(3_000) - 0.001).abs() < 1e-12);
        assert!((unseen_most(0) - 1.0).abs() < 1e-12);
        // The ends of the ring.
        let sample = Sample::new(Seed(1), 1);
        assert!(!sample.contains(i64::MIN));
        let _either = sample.contains(i64::MAX);
    }
}
