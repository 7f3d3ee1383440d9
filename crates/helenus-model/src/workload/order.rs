//! The server's order of values inside sets and maps, so that what is read compares with what was sent.
//! Refuses types that Cassandra refuses there (durations, counters): they keep the order they came in.

use crate::cql::CqlValue;
use std::cmp::Ordering;
use std::net::IpAddr;

/// Compares two values of one type as Cassandra's comparators do.
pub fn compare(a: &CqlValue, b: &CqlValue) -> Ordering {
    use CqlValue as V;
    match (a, b) {
        (V::Ascii(a), V::Ascii(b)) | (V::Text(a), V::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (V::Bigint(a), V::Bigint(b))
        | (V::Time(a), V::Time(b))
        | (V::Timestamp(a), V::Timestamp(b)) => a.cmp(b),
        (V::Blob(a), V::Blob(b)) | (V::Custom(a), V::Custom(b)) => a.cmp(b),
        (V::Boolean(a), V::Boolean(b)) => a.cmp(b),
        (V::Date(a), V::Date(b)) => a.cmp(b),
        (
            V::Decimal {
                unscaled: a,
                scale: of_a,
            },
            V::Decimal {
                unscaled: b,
                scale: of_b,
            },
        ) => compare_decimals((a, *of_a), (b, *of_b)),
        (V::Double(a), V::Double(b)) => a.total_cmp(b),
        (V::Float(a), V::Float(b)) => a.total_cmp(b),
        (V::Inet(a), V::Inet(b)) => compare_addresses(a, b),
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Smallint(a), V::Smallint(b)) => a.cmp(b),
        (V::Timeuuid(a), V::Timeuuid(b)) => compare_timeuuids(a, b),
        (V::Tinyint(a), V::Tinyint(b)) => a.cmp(b),
        (V::Uuid(a), V::Uuid(b)) => compare_uuids(a, b),
        (V::Varint(a), V::Varint(b)) => compare_varints(a, b),
        (V::List(a), V::List(b)) | (V::Set(a), V::Set(b)) | (V::Vector(a), V::Vector(b)) => {
            compare_all(a.iter(), b.iter(), compare)
        }
        (V::Map(a), V::Map(b)) => compare_all(a.iter(), b.iter(), |(ka, va), (kb, vb)| {
            compare(ka, kb).then_with(|| compare(va, vb))
        }),
        (V::Tuple(a), V::Tuple(b)) => compare_all(a.iter(), b.iter(), compare_nullable),
        (V::Udt(a), V::Udt(b)) => {
            compare_all(a.iter(), b.iter(), |(_, a), (_, b)| compare_nullable(a, b))
        }
        _ => Ordering::Equal,
    }
}

/// A set's elements in the server's order, each once.
pub fn set(mut elements: Vec<CqlValue>) -> Vec<CqlValue> {
    elements.sort_by(compare);
    elements.dedup();
    elements
}

/// A map's entries in the server's order of keys, each key once (the first given one stays).
pub fn map(mut entries: Vec<(CqlValue, CqlValue)>) -> Vec<(CqlValue, CqlValue)> {
    entries.sort_by(|(a, _), (b, _)| compare(a, b));
    entries.dedup_by(|(later, _), (first, _)| later == first);
    entries
}

fn compare_nullable(a: &Option<CqlValue>, b: &Option<CqlValue>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        _ => a.is_some().cmp(&b.is_some()),
    }
}

fn compare_all<T>(
    a: impl ExactSizeIterator<Item = T>,
    b: impl ExactSizeIterator<Item = T>,
    by: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let lengths = a.len().cmp(&b.len());
    a.zip(b)
        .map(|(a, b)| by(a, b))
        .find(|order| order.is_ne())
        .unwrap_or(lengths)
}

/// Big-endian two's complement: by sign, then by length and bytes once padding is gone.
fn compare_varints(a: &[u8], b: &[u8]) -> Ordering {
    let width = a.len().max(b.len()).max(1);
    let widened = |bytes: &[u8]| {
        let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let mut wide = vec![if negative { 0xff } else { 0 }; width - bytes.len()];
        wide.extend_from_slice(bytes);
        // Flipping the sign bit turns two's complement into unsigned order.
        if let Some(first) = wide.first_mut() {
            *first ^= 0x80;
        }
        wide
    };
    widened(a).cmp(&widened(b))
}

/// By value, whatever their scales: 1.0 and 1.00 are equal.
fn compare_decimals((a, a_scale): (&[u8], i32), (b, b_scale): (&[u8], i32)) -> Ordering {
    if a_scale == b_scale {
        return compare_varints(a, b);
    }
    let (a, b) = (Magnitude::of(a, a_scale), Magnitude::of(b, b_scale));
    let sizes = (a.exponent, &a.digits).cmp(&(b.exponent, &b.digits));
    let sizes = if a.sign < 0 { sizes.reverse() } else { sizes };
    a.sign.cmp(&b.sign).then(sizes)
}

/// A number as `0.digits × 10^exponent`, without zeros at either end of the digits; scales of any size cost nothing.
struct Magnitude {
    sign: i8,
    exponent: i64,
    digits: String,
}

impl Magnitude {
    fn of(unscaled: &[u8], scale: i32) -> Self {
        let text = CqlValue::Varint(unscaled.to_vec()).exact_text();
        let digits = text.trim_start_matches('-').trim_start_matches('0');
        let sign = match digits.is_empty() {
            true => 0,
            false if text.starts_with('-') => -1,
            false => 1,
        };
        let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        Self {
            sign,
            exponent: if sign == 0 {
                0
            } else {
                exponent - i64::from(scale)
            },
            digits: digits.trim_end_matches('0').to_owned(),
        }
    }
}

/// As raw bytes, the shorter first where one begins the other.
fn compare_addresses(a: &IpAddr, b: &IpAddr) -> Ordering {
    let bytes = |address: &IpAddr| match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    };
    bytes(a).cmp(&bytes(b))
}

fn timestamp_of(uuid: &[u8; 16]) -> u64 {
    let low = u32::from_be_bytes([uuid[0], uuid[1], uuid[2], uuid[3]]);
    let middle = u16::from_be_bytes([uuid[4], uuid[5]]);
    let high = u16::from_be_bytes([uuid[6], uuid[7]]) & 0x0fff;
    u64::from(high) << 48 | u64::from(middle) << 32 | u64::from(low)
}

/// By time, then by the last eight bytes as *signed* ones (Cassandra keeps the order of its first versions).
fn compare_timeuuids(a: &[u8; 16], b: &[u8; 16]) -> Ordering {
    let signed =
        |uuid: &[u8; 16]| -> Vec<i8> { uuid[8..].iter().map(|byte| byte.cast_signed()).collect() };
    timestamp_of(a)
        .cmp(&timestamp_of(b))
        .then_with(|| signed(a).cmp(&signed(b)))
}

/// By version, then by time where both are of version 1, then by bytes.
fn compare_uuids(a: &[u8; 16], b: &[u8; 16]) -> Ordering {
    let version = |uuid: &[u8; 16]| uuid[6] >> 4;
    version(a).cmp(&version(b)).then_with(|| {
        if version(a) == 1 {
            timestamp_of(a).cmp(&timestamp_of(b)).then_with(|| a.cmp(b))
        } else {
            a.cmp(b)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_numbers() {
        let v = |bytes: &[u8]| CqlValue::Varint(bytes.to_vec());
        assert_eq!(compare(&v(&[0xff]), &v(&[0x00])), Ordering::Less);
        assert_eq!(compare(&v(&[0x80, 0]), &v(&[0xff])), Ordering::Less);
        assert_eq!(compare(&v(&[0x01, 0]), &v(&[0x7f])), Ordering::Greater);
        assert_eq!(compare(&v(&[0, 1]), &v(&[1])), Ordering::Equal);
        let inet = |text: &str| CqlValue::Inet(text.parse().expect("an address"));
        assert_eq!(
            compare(&inet("10.0.0.1"), &inet("9.255.0.0")),
            Ordering::Greater
        );
        assert_eq!(compare(&inet("10.0.0.1"), &inet("fd00::1")), Ordering::Less);
    }

    #[test]
    fn decimals_of_different_scales_compare_by_value() {
        let decimal = |unscaled: i32, scale| CqlValue::Decimal {
            unscaled: unscaled.to_be_bytes().to_vec(),
            scale,
        };
        // -1E+2147483647, -10.5, -0.01, 0, 1E-2147483647, 0.099, 1.0, 1.05, 9, 1E+30
        let ascending = [
            decimal(-1, -i32::MAX),
            decimal(-105, 1),
            decimal(-1, 2),
            decimal(0, 5),
            decimal(1, i32::MAX),
            decimal(99, 3),
            decimal(10, 1),
            decimal(105, 2),
            decimal(9, 0),
            decimal(1, -30),
        ];
        for (a, one) in ascending.iter().enumerate() {
            for (b, other) in ascending.iter().enumerate() {
                assert_eq!(compare(one, other), a.cmp(&b), "{one:?} {other:?}");
            }
        }
        assert_eq!(compare(&decimal(10, 1), &decimal(100, 2)), Ordering::Equal);
        assert_eq!(compare(&decimal(0, 1), &decimal(0, -9)), Ordering::Equal);
    }

    #[test]
    fn sets_are_sorted_and_unique() {
        let ints = |all: &[i32]| all.iter().copied().map(CqlValue::Int).collect::<Vec<_>>();
        assert_eq!(set(ints(&[3, -1, 3, 2])), ints(&[-1, 2, 3]));
        let pair = |k, v| (CqlValue::Int(k), CqlValue::Int(v));
        assert_eq!(
            map(vec![pair(2, 1), pair(1, 1), pair(2, 9)]),
            [pair(1, 1), pair(2, 1)]
        );
    }
}
