//! The Bloom filter of an SSTable's partition keys.
//! Refuses to grow: how many keys there will be is known before.

use crate::bytes::put_count;
use helenus_model::ring::murmur3_halves;

/// Bits that Cassandra adds to what the keys need.
const EXCESS: u64 = 20;

/// A filter; none where every key may be there.
#[derive(Debug)]
pub(crate) struct Filter {
    bits: Vec<u8>,
    hashes: u64,
}

impl Filter {
    /// A filter for so many keys, with the least bits and then the least hashes for that share of false positives.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts below 2^53, and a few bits a key"
    )]
    pub(crate) fn new(keys: u64, false_positives: f64) -> Option<Self> {
        if false_positives >= 1.0 {
            return None;
        }
        let wanted = false_positives.max(1e-4);
        let rate = |bits: f64, hashes: f64| (1.0 - (-hashes / bits).exp()).powf(hashes);
        let best = |bits: f64| (bits * std::f64::consts::LN_2).round().max(1.0);
        let bits = (2..=24)
            .map(f64::from)
            .find(|bits| rate(*bits, best(*bits)) <= wanted);
        let bits = bits.unwrap_or(24.0);
        let enough = (1..=best(bits) as u32)
            .map(f64::from)
            .find(|k| rate(bits, *k) <= wanted);
        let words = (keys * bits as u64 + EXCESS).div_ceil(64);
        Some(Self {
            bits: vec![0; usize::try_from(words * 8).ok()?],
            hashes: enough.unwrap_or_else(|| best(bits)) as u64,
        })
    }

    pub(crate) fn add(&mut self, key: &[u8]) {
        let (step, from) = murmur3_halves(key);
        let capacity = (self.bits.len() as u64 * 8).cast_signed();
        let mut base = from.cast_signed();
        for _ in 0..self.hashes {
            let bit = (base % capacity).unsigned_abs();
            let byte = (bit / 8) as usize;
            self.bits[byte] |= 1 << (bit % 8);
            base = base.wrapping_add(step.cast_signed());
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bits.len() + 8);
        put_count(usize::try_from(self.hashes).unwrap_or(0), &mut out);
        put_count(self.bits.len() / 8, &mut out);
        out.extend_from_slice(&self.bits);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::ring::composite_key;

    /// The filter that Cassandra 5.0.9 wrote for nine keys of two texts, at 0.01.
    #[test]
    fn the_filter_is_that_of_cassandra() {
        let mut filter = Filter::new(9, 0.01).unwrap();
        for country in ["c1", "c2", "c3"] {
            for region in ["r1", "r2", "r3"] {
                filter.add(&composite_key([country.as_bytes(), region.as_bytes()]));
            }
        }
        let hex: String = filter.bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            hex,
            "000000050000000280d28025304a40445109481636 83a000".replace(' ', "")
        );
        assert!(Filter::new(9, 1.0).is_none());
    }
}
