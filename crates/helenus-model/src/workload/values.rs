//! A value for every CQL type at every position, for workloads of one's own.
//! A value depends only on (seed, keyspace, table, column, type, position): a read computes what a write sent.
//! Refuses to repeat a key early: within a type's range different positions get different values.

pub mod numbered;

use super::order;
use crate::cql::{CqlType, CqlValue};
use crate::seed::{Seed, mix};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Milliseconds from 1970 to 2000-01-01 UTC, where our timestamps begin.
const YEAR_2000_MS: i64 = 946_684_800_000;
/// Days from 1970 to 2000-01-01.
const YEAR_2000_DAYS: u32 = 10_957;
/// 100-ns steps from 1582-10-15 (the UUID epoch) to 2020-01-01 UTC.
const YEAR_2020_UUID: u64 = 0x01ea_2c29_a747_c000;
/// Letters of a text: 32, so that five bits make one.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The stream of one column's values: name it once, ask it for each position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column(Seed);

impl Column {
    /// The stream of this column.
    pub fn new(seed: Seed, keyspace: &str, table: &str, column: &str) -> Self {
        Self(seed.derive(&format!("{keyspace}\0{table}\0{column}")))
    }

    /// The column's value at a position.
    pub fn value(self, cql_type: &CqlType, position: u64) -> CqlValue {
        scalar(self.0, cql_type, position).unwrap_or_else(|| {
            // One to four elements: an empty collection would read as null.
            let few = 1 + usize::try_from(self.0.at(position) % 4).unwrap_or(0);
            nested(self.0, cql_type, position, few)
        })
    }
}

/// The value of a column at a position. Ask [`Column`] instead where many are wanted.
pub fn value(
    seed: Seed,
    keyspace: &str,
    table: &str,
    column: &str,
    cql_type: &CqlType,
    position: u64,
) -> CqlValue {
    Column::new(seed, keyspace, table, column).value(cql_type, position)
}

/// A bijection of the integers below 2^bits, different for every seed: odd multiplications and shifts.
fn permute(seed: Seed, bits: u32, position: u64) -> u64 {
    let mask = if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let half = (bits / 2).max(1);
    let mut x = position & mask;
    for round in 0..3_u64 {
        let key = mix(seed.0 ^ round);
        x = x.wrapping_add(key) & mask;
        x = x.wrapping_mul(key | 1) & mask;
        x ^= x >> half;
    }
    x
}

fn signed(seed: Seed, bits: u32, position: u64) -> i64 {
    let up = permute(seed, bits, position).cast_signed();
    if bits >= 64 {
        up
    } else {
        up - (1 << (bits - 1))
    }
}

/// The shortest big-endian two's complement of a number, as the server's own libraries write it.
fn shortest(number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let sign = if number < 0 { 0xff } else { 0 };
    let mut from = 0;
    while from < 7 && bytes[from] == sign && (bytes[from + 1] ^ sign) & 0x80 == 0 {
        from += 1;
    }
    bytes[from..].to_vec()
}

/// 8 to 24 letters; the first thirteen spell the permuted position, so texts differ.
fn text(seed: Seed, position: u64) -> String {
    let (unique, more) = (permute(seed, 64, position), mix(seed.at(position)));
    let extra = usize::try_from(more % 12).unwrap_or(0);
    let mut text = String::with_capacity(13 + extra);
    spell(unique, 13, &mut text);
    spell(more >> 8, extra, &mut text);
    text
}

/// Adds so many letters, five bits each.
fn spell(mut bits: u64, letters: usize, text: &mut String) {
    for _ in 0..letters {
        let letter = LETTERS[usize::try_from(bits & 31).unwrap_or(0)];
        bits >>= 5;
        text.push(char::from(letter));
    }
}

fn uuid(seed: Seed, position: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    // 48 + 12 of the permuted bits stay whole beside version and variant; the rest follows in the tail.
    let unique = permute(seed, 64, position);
    bytes[..6].copy_from_slice(&unique.to_be_bytes()[..6]);
    bytes[6..8].copy_from_slice(&unique.to_be_bytes()[6..]);
    bytes[8..].copy_from_slice(&mix(unique).to_be_bytes());
    // The four bits that the version takes live on in the tail.
    bytes[15] = bytes[6];
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn timeuuid(seed: Seed, position: u64) -> [u8; 16] {
    // 50 bits of 100 ns are three and a half years from 2020.
    let at = YEAR_2020_UUID + permute(seed, 50, position);
    timeuuid_at(at, mix(seed.at(position)))
}

/// A version 1 UUID of so many 100-ns steps since 1582-10-15, with these last eight bytes.
fn timeuuid_at(at: u64, tail: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    let [h0, h1, m0, m1, l0, l1, l2, l3] = at.to_be_bytes();
    bytes[..8].copy_from_slice(&[l0, l1, l2, l3, m0, m1, h0 & 0x0f | 0x10, h1]);
    bytes[8..].copy_from_slice(&tail.to_be_bytes());
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Even positions are IPv4 in 10/8, odd ones IPv6 in fd00::/8.
fn inet(seed: Seed, position: u64) -> IpAddr {
    if position.is_multiple_of(2) {
        let [.., a, b, c] = permute(seed, 24, position / 2).to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(10, a, b, c))
    } else {
        let low = u128::from(permute(seed, 64, position));
        IpAddr::V6(Ipv6Addr::from(0xfd00 << 112 | low))
    }
}

/// The value of a type that holds no other, or none.
fn scalar(seed: Seed, cql_type: &CqlType, position: u64) -> Option<CqlValue> {
    use CqlType as T;
    use CqlValue as V;
    let bits = |n: u32| permute(seed, n, position);
    Some(match cql_type {
        T::Ascii => V::Ascii(text(seed, position)),
        T::Text => V::Text(text(seed, position)),
        T::Bigint => V::Bigint(signed(seed, 64, position)),
        T::Blob => {
            let more = mix(seed.at(position)).to_be_bytes();
            let length = 1 + usize::from(more[0] % 7);
            V::Blob([bits(64).to_be_bytes().as_slice(), &more[..length]].concat())
        }
        T::Boolean => V::Boolean(seed.at(position) & 1 == 1),
        // What is added to a counter; its sum depends on how often.
        T::Counter => V::Counter(1),
        T::Date => V::Date((1 << 31) + YEAR_2000_DAYS + low32(bits(15))),
        T::Decimal => V::Decimal {
            unscaled: shortest(signed(seed, 48, position)),
            scale: 2,
        },
        T::Double => V::Double(exact(signed(seed, 53, position)) / f64::from(1 << 20)),
        T::Float => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "24 bits fit a float exactly"
            )]
            let value = exact(signed(seed, 24, position)) as f32 / 256.0;
            V::Float(value)
        }
        T::Duration => V::Duration {
            months: i32::try_from(bits(4) % 12).unwrap_or(0),
            days: i32::try_from(seed.at(position) % 28).unwrap_or(0),
            nanos: bits(46).cast_signed(),
        },
        T::Inet => V::Inet(inet(seed, position)),
        T::Int => V::Int(i32::try_from(signed(seed, 32, position)).unwrap_or(0)),
        T::Smallint => V::Smallint(i16::try_from(signed(seed, 16, position)).unwrap_or(0)),
        T::Tinyint => V::Tinyint(i8::try_from(signed(seed, 8, position)).unwrap_or(0)),
        // 46 bits of nanoseconds are 19.5 hours.
        T::Time => V::Time(bits(46).cast_signed()),
        // 40 bits of milliseconds are 34 years from 2000.
        T::Timestamp => V::Timestamp(YEAR_2000_MS + bits(40).cast_signed()),
        T::Timeuuid => V::Timeuuid(timeuuid(seed, position)),
        T::Uuid => V::Uuid(uuid(seed, position)),
        T::Varint => V::Varint(shortest(signed(seed, 64, position))),
        T::Custom(_) => V::Custom(bits(64).to_be_bytes().to_vec()),
        T::List(_) | T::Set(_) | T::Map(..) | T::Tuple(_) | T::Udt { .. } | T::Vector(..) => {
            return None;
        }
    })
}

fn low32(bits: u64) -> u32 {
    u32::try_from(bits & 0xffff_ffff).unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "callers pass at most 53 bits")]
fn exact(number: i64) -> f64 {
    number as f64
}

/// The value of a type that holds others; collections get so many elements (sets and maps fewer where some are equal).
fn nested(seed: Seed, cql_type: &CqlType, position: u64, few: usize) -> CqlValue {
    use CqlType as T;
    use CqlValue as V;
    let at = |place: usize, of: &CqlType| {
        let own = Seed(mix(seed.0 ^ mix(place as u64 + 1)));
        Column(own).value(of, position)
    };
    match cql_type {
        T::List(of) => V::List((0..few).map(|i| at(i, of)).collect()),
        T::Set(of) => V::Set(order::set((0..few).map(|i| at(i, of)).collect())),
        T::Map(key, of) => V::Map(order::map(
            (0..few)
                .map(|i| (at(2 * i, key), at(2 * i + 1, of)))
                .collect(),
        )),
        T::Tuple(of) => V::Tuple(of.iter().enumerate().map(|(i, t)| Some(at(i, t))).collect()),
        T::Udt { fields, .. } => V::Udt(
            fields
                .iter()
                .enumerate()
                .map(|(i, (name, t))| (name.clone(), Some(at(i, t))))
                .collect(),
        ),
        T::Vector(of, length) => V::Vector((0..*length).map(|i| at(i, of)).collect()),
        // Every other type is a scalar.
        _ => V::Blob(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn scalars() -> Vec<CqlType> {
        use CqlType as T;
        vec![
            T::Ascii,
            T::Bigint,
            T::Blob,
            T::Date,
            T::Decimal,
            T::Double,
            T::Float,
            T::Inet,
            T::Int,
            T::Smallint,
            T::Text,
            T::Time,
            T::Timestamp,
            T::Timeuuid,
            T::Uuid,
            T::Varint,
        ]
    }

    #[test]
    fn keys_do_not_repeat_within_a_types_range() {
        for t in scalars() {
            let all: HashSet<String> = (0..20_000)
                .map(|p| format!("{:?}", value(Seed(5), "ks", "t", "k", &t, p)))
                .collect();
            assert_eq!(all.len(), 20_000, "{t:?}");
        }
        let bytes: HashSet<u64> = (0..256).map(|p| permute(Seed(9), 8, p)).collect();
        assert_eq!(bytes.len(), 256);
    }

    #[test]
    fn numbers_are_written_as_short_as_they_go() {
        assert_eq!(shortest(0), [0]);
        assert_eq!(shortest(127), [127]);
        assert_eq!(shortest(128), [0, 128]);
        assert_eq!(shortest(-128), [128]);
        assert_eq!(shortest(-129), [0xff, 0x7f]);
        assert_eq!(shortest(i64::MIN), i64::MIN.to_be_bytes());
    }

    #[test]
    fn uuids_carry_their_version() {
        for p in 0..100 {
            let CqlValue::Timeuuid(t) = value(Seed(1), "k", "t", "c", &CqlType::Timeuuid, p) else {
                panic!("not a timeuuid")
            };
            let CqlValue::Uuid(u) = value(Seed(1), "k", "t", "c", &CqlType::Uuid, p) else {
                panic!("not a uuid")
            };
            assert_eq!((t[6] >> 4, t[8] >> 6), (1, 2));
            assert_eq!((u[6] >> 4, u[8] >> 6), (4, 2));
        }
    }

    proptest! {
        #[test]
        fn values_are_pure_and_differ_by_column(seed: u64, position: u64) {
            for t in scalars() {
                let a = value(Seed(seed), "ks", "t", "a", &t, position);
                prop_assert_eq!(&a, &value(Seed(seed), "ks", "t", "a", &t, position));
            }
            let a = value(Seed(seed), "ks", "t", "a", &CqlType::Bigint, position);
            prop_assert_ne!(a, value(Seed(seed), "ks", "t", "b", &CqlType::Bigint, position));
        }

        #[test]
        fn collections_are_never_empty_and_in_order(seed: u64, position: u64) {
            for inner in scalars() {
                let t = CqlType::Map(
                    Box::new(CqlType::Tuple(vec![inner.clone(), CqlType::Boolean])),
                    Box::new(CqlType::Set(Box::new(inner))),
                );
                let CqlValue::Map(entries) = value(Seed(seed), "k", "t", "c", &t, position) else {
                    panic!("not a map")
                };
                prop_assert!(!entries.is_empty());
                prop_assert!(entries.windows(2).all(|w| order::compare(&w[0].0, &w[1].0).is_lt()));
            }
        }
    }
}
