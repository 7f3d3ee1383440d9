//! An estimate of how many partitions there are, that Cassandra merges when it compacts: HyperLogLog of 2^13 registers.
//! Refuses the sparse form: this one is always right.

use crate::bytes::{put_count, put_i32};

const PRECISION: u32 = 13;
const SPARSE_PRECISION: u32 = 25;
const REGISTERS: usize = 1 << PRECISION;
/// Registers of five bits in one word.
const A_WORD: usize = 6;
const WORDS: usize = REGISTERS / A_WORD + 1;

#[derive(Debug)]
pub(crate) struct Cardinality {
    registers: Vec<u8>,
}

impl Cardinality {
    pub(crate) fn new() -> Self {
        Self {
            registers: vec![0; REGISTERS],
        }
    }

    pub(crate) fn add(&mut self, key: &[u8]) {
        let hash = murmur2(key);
        let register = &mut self.registers[(hash >> (64 - PRECISION)) as usize];
        let run = (hash << PRECISION | 1 << (PRECISION - 1)).leading_zeros() + 1;
        *register = (*register).max(u8::try_from(run).unwrap_or(u8::MAX));
    }

    /// As the library that Cassandra uses serialises it, behind the length.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut inner = Vec::with_capacity(WORDS * 4 + 16);
        put_i32(-2, &mut inner);
        for number in [PRECISION, SPARSE_PRECISION, 0] {
            put_leb(number, &mut inner);
        }
        put_leb(u32::try_from(WORDS * 4).unwrap_or(0), &mut inner);
        for word in self.registers.chunks(A_WORD) {
            let bits = word
                .iter()
                .rev()
                .fold(0_u32, |bits, r| bits << 5 | u32::from(*r));
            inner.extend_from_slice(&bits.to_be_bytes());
        }
        let mut out = Vec::with_capacity(inner.len() + 4);
        put_count(inner.len(), &mut out);
        out.append(&mut inner);
        out
    }
}

/// Seven bits a byte, the lowest first.
fn put_leb(mut n: u32, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Murmur2 of 64 bits, as Cassandra has it: bytes of the tail keep their sign.
fn murmur2(key: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let (words, tail) = key.as_chunks::<8>();
    let mut hash = M.wrapping_mul(key.len() as u64);
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 47;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (at, byte) in tail.iter().enumerate() {
            hash ^= i64::from(byte.cast_signed()).cast_unsigned() << (8 * at);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 47
}
