//! Cassandra's variable-length integers: as many leading ones as extra bytes follow, big-endian.
//! Refuses fixed-width numbers; those are in `wire`.

use super::error::DecodeError;
use super::wire::Reader;

/// Appends an unsigned number in one to nine bytes.
#[inline]
pub fn write_unsigned(n: u64, out: &mut Vec<u8>) {
    // Most lengths and differences are small.
    match n {
        0..0x80 => out.push(n as u8),
        _ => write_long(n, out),
    }
}

fn write_long(n: u64, out: &mut Vec<u8>) {
    // A first byte with k leading ones leaves 7 - k bits of its own, so k extra bytes hold 7 + 7k.
    let extra = unsigned_length(n) - 1;
    let bytes = n.to_be_bytes();
    if extra == 8 {
        out.push(0xff);
        out.extend_from_slice(&bytes);
        return;
    }
    let start = out.len();
    out.extend_from_slice(&bytes[7 - extra..]);
    out[start] |= ones(extra);
}

/// How many bytes [`write_unsigned`] appends.
pub fn unsigned_length(n: u64) -> usize {
    let bits = 64 - n.leading_zeros() as usize;
    1 + (bits.saturating_sub(1) / 7).min(8)
}

/// Appends a signed number, zig-zagged so that small magnitudes stay short.
pub fn write_signed(n: i64, out: &mut Vec<u8>) {
    write_unsigned(((n << 1) ^ (n >> 63)) as u64, out);
}

/// Reads an unsigned number.
///
/// # Errors
/// Too few bytes.
pub fn read_unsigned(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let first = reader.u8("vint")?;
    let extra = first.leading_ones() as usize;
    let rest = reader.take("vint", extra)?;
    let own = if extra >= 7 {
        0
    } else {
        u64::from(first & !ones(extra))
    };
    Ok(rest.iter().fold(own, |n, byte| n << 8 | u64::from(*byte)))
}

/// Reads a signed number.
///
/// # Errors
/// Too few bytes.
pub fn read_signed(reader: &mut Reader<'_>) -> Result<i64, DecodeError> {
    let n = read_unsigned(reader)?;
    Ok((n >> 1) as i64 ^ -((n & 1) as i64))
}

/// A byte of `count` leading ones (at most 8).
fn ones(count: usize) -> u8 {
    !(0xff_u16 >> count) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_step_at_every_seventh_bit() {
        for (n, length) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
            let mut out = Vec::new();
            write_unsigned(n, &mut out);
            assert_eq!(out.len(), length, "{n}");
        }
        let mut out = Vec::new();
        write_unsigned(256_000, &mut out);
        assert_eq!(out, [0xc3, 0xe8, 0x00]);
    }

    proptest! {
        #[test]
        fn comes_back(n: u64, shift in 0_u32..64, tail: u8) {
            let n = n >> shift;
            let mut out = Vec::new();
            write_unsigned(n, &mut out);
            write_signed(n as i64, &mut out);
            write_signed(-(n as i64 >> 1), &mut out);
            out.push(tail);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(read_unsigned(&mut reader).unwrap(), n);
            prop_assert_eq!(read_signed(&mut reader).unwrap(), n as i64);
            prop_assert_eq!(read_signed(&mut reader).unwrap(), -(n as i64 >> 1));
            prop_assert_eq!(reader.left(), 1);
        }
    }
}
