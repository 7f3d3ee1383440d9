//! One root seed a run, and the named sub-seeds and pure random functions derived from it.
//! Refuses any source of randomness but its arguments.

use sha2::{Digest, Sha256};

/// The root seed of a run; printed with every result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The sub-seed of this name: the first eight bytes of SHA-256 over root and name.
    pub fn derive(self, name: &str) -> Seed {
        let mut hash = Sha256::new();
        hash.update(self.0.to_le_bytes());
        hash.update(name.as_bytes());
        let digest = hash.finalize();
        let mut first = [0_u8; 8];
        first.copy_from_slice(&digest[..8]);
        Seed(u64::from_le_bytes(first))
    }

    /// The sub-seed of a position.
    pub fn derive_at(self, position: u64) -> Seed {
        Seed(mix(self.at(position)))
    }

    /// The random 64 bits at a position: a pure function of seed and position.
    #[inline]
    pub fn at(self, position: u64) -> u64 {
        mix(self.0 ^ mix(position))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection of 64 bits.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_seeds_differ_by_name_and_repeat_by_root() {
        let root = Seed(7);
        assert_eq!(root.derive("keys"), root.derive("keys"));
        assert_ne!(root.derive("keys"), root.derive("values"));
        assert_ne!(root.derive("keys"), Seed(8).derive("keys"));
        assert_ne!(root.at(1), root.at(2));
    }
}
