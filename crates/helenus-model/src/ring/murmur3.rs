//! The token of a partition key: Cassandra's own variant of Murmur3 (x64, 128 bits, seed 0, upper half kept).
//! Refuses to be a general hash: it repeats the sign extension of tail bytes that sets Cassandra apart from the original.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The token that Murmur3Partitioner gives to a serialised partition key.
///
/// An empty key has the smallest token, `i64::MIN`; no other key has it.
/// A composite partition key is serialised as, per component, two bytes of length, the bytes, and a zero byte
/// ([`composite_key`]).
#[inline]
pub fn murmur3_token(key: &[u8]) -> i64 {
    if key.is_empty() {
        return i64::MIN;
    }
    let hash = murmur3_halves(key).0.cast_signed();
    if hash == i64::MIN { i64::MAX } else { hash }
}

/// The serialised form of a partition key of several columns.
///
/// Components longer than 65,535 bytes cannot be partition keys; their length is cut to sixteen bits.
pub fn composite_key<'a>(components: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut key = Vec::new();
    for component in components {
        let [.., high, low] = component.len().to_be_bytes();
        key.extend([high, low]);
        key.extend(component);
        key.push(0);
    }
    key
}

/// The two 64-bit words of the hash: the first is the token, both make the places in a Bloom filter.
#[inline]
pub fn murmur3_halves(key: &[u8]) -> (u64, u64) {
    let (blocks, tail) = key.as_chunks::<16>();
    let (mut h1, mut h2) = (0_u64, 0_u64);
    for block in blocks {
        let (low, high) = block.split_at(8);
        h1 ^= mix_first(word(low));
        h1 = h1.rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix_second(word(high));
        h2 = h2.rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = tail.split_at(tail.len().min(8));
    h2 ^= mix_second(signed_word(high));
    h1 ^= mix_first(signed_word(low));

    let length = key.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    let h1 = scatter(h1).wrapping_add(scatter(h2));
    (h1, h1.wrapping_add(scatter(h2)))
}

/// Eight bytes, least significant first.
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Up to eight bytes of the tail, each widened with its sign before it is shifted: what Cassandra does, and Murmur3 does not.
fn signed_word(bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().fold(0, |word, (i, byte)| {
        let widened = i64::from(byte.cast_signed()).cast_unsigned();
        word ^ widened << (8 * i)
    })
}

fn mix_first(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_second(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

/// The finaliser: every bit of the input reaches every bit of the output.
fn scatter(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}
