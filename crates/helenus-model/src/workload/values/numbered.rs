//! Values by number and size, as profiles ask for them: the same number is always the same value.
//! Refuses to look at anything but stream, type, number and size.

use super::{Column, nested, permute, shortest, spell, uuid};
use crate::cql::{CqlType, CqlValue};
use crate::seed::{Seed, mix};
use std::net::{IpAddr, Ipv4Addr};

/// Nanoseconds of a day.
const DAY_NANOS: i64 = 86_400_000_000_000;
/// Days from 1970-01-01 to 9999-12-31: later dates have no usual text.
const DAYS: i64 = 2_932_897;
/// 100-ns steps from 1582-10-15 (the UUID epoch) to 1970-01-01 UTC.
const YEAR_1970_UUID: i64 = 0x01b2_1dd2_1381_4000;
/// Letters that carry the number: five bits each.
const UNIQUE_LETTERS: usize = 12;
/// Texts of at most so many letters take them from [`MANY_LETTERS`].
const SHORT: usize = 4;
/// Letters of a short text: 64, six bits each. With 32 a name of one or two letters is drawn again so often that reads find
/// noticeably more rows than those of cassandra-stress, which draws from 128 characters.
const MANY_LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// The value number `number` of a stream.
///
/// Numbers, timestamps (milliseconds), times (nanoseconds) and dates (days since 1970) are the number itself, as far as
/// the type goes. Texts and blobs have `size` letters or bytes, collections `size` elements (at least one: an empty one
/// reads as null); two numbers lead to two values as far as the size can distinguish them.
pub fn numbered(stream: Seed, cql_type: &CqlType, number: i64, size: usize) -> CqlValue {
    use CqlType as T;
    use CqlValue as V;
    let bits = number.cast_unsigned();
    match cql_type {
        T::Ascii => V::Ascii(letters(stream, bits, size)),
        T::Text => V::Text(letters(stream, bits, size)),
        T::Blob => V::Blob(bytes(stream, bits, size)),
        T::Boolean => V::Boolean(bits & 1 == 1),
        T::Inet => V::Inet(address(bits)),
        T::Uuid => V::Uuid(uuid(stream, bits)),
        T::Timeuuid => V::Timeuuid(timeuuid(stream, number)),
        T::Duration | T::Custom(_) => Column(stream).value(cql_type, bits),
        T::List(_) | T::Set(_) | T::Map(..) | T::Tuple(_) | T::Udt { .. } | T::Vector(..) => {
            nested(stream, cql_type, bits, size.max(1))
        }
        _ => number_of(cql_type, number),
    }
}

/// The number as a value of a type of numbers or of time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a number is taken as far as its type goes"
)]
fn number_of(cql_type: &CqlType, number: i64) -> CqlValue {
    use CqlType as T;
    use CqlValue as V;
    match cql_type {
        T::Counter => V::Counter(number),
        T::Int => V::Int(number as i32),
        T::Smallint => V::Smallint(number as i16),
        T::Tinyint => V::Tinyint(number as i8),
        T::Varint => V::Varint(shortest(number)),
        T::Decimal => V::Decimal {
            unscaled: shortest(number),
            scale: 0,
        },
        T::Double => V::Double(number as f64),
        T::Float => V::Float(number as f32),
        T::Timestamp => V::Timestamp(number),
        T::Time => V::Time(number.rem_euclid(DAY_NANOS)),
        T::Date => V::Date((1 << 31) + u32::try_from(number.rem_euclid(DAYS)).unwrap_or(0)),
        _ => V::Bigint(number),
    }
}

/// The value of text, blob or collection grows with its size; others are of one size.
pub fn is_sized(cql_type: &CqlType) -> bool {
    use CqlType as T;
    matches!(
        cql_type,
        T::Ascii | T::Text | T::Blob | T::List(_) | T::Set(_) | T::Map(..)
    )
}

fn letters(stream: Seed, number: u64, size: usize) -> String {
    if size <= SHORT {
        return short(stream, number, size);
    }
    let unique = size.min(UNIQUE_LETTERS);
    let mut text = String::with_capacity(size);
    if unique > 0 {
        let bits = 5 * u32::try_from(unique).unwrap_or(12);
        spell(permute(stream, bits, number), unique, &mut text);
    }
    let mut step = stream.at(number);
    while text.len() < size {
        step = mix(step);
        spell(step, (size - text.len()).min(UNIQUE_LETTERS), &mut text);
    }
    text
}

/// A text of at most [`SHORT`] letters, which spell the permuted number.
fn short(stream: Seed, number: u64, size: usize) -> String {
    let letters = u32::try_from(size).unwrap_or(0);
    let mut bits = match letters {
        0 => 0,
        _ => permute(stream, 6 * letters, number),
    };
    let mut text = String::with_capacity(size);
    for _ in 0..letters {
        text.push(char::from(
            MANY_LETTERS[usize::try_from(bits & 63).unwrap_or(0)],
        ));
        bits >>= 6;
    }
    text
}

fn bytes(stream: Seed, number: u64, size: usize) -> Vec<u8> {
    let unique = size.min(8);
    let mut all = Vec::with_capacity(size);
    if unique > 0 {
        let bits = 8 * u32::try_from(unique).unwrap_or(8);
        let value = permute(stream, bits, number).to_be_bytes();
        all.extend_from_slice(&value[8 - unique..]);
    }
    let mut step = stream.at(number);
    while all.len() < size {
        step = mix(step);
        let left = (size - all.len()).min(8);
        all.extend_from_slice(&step.to_be_bytes()[..left]);
    }
    all
}

fn address(number: u64) -> IpAddr {
    let [.., a, b, c, d] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// At so many milliseconds of 1970; the last eight bytes are the stream's own.
fn timeuuid(stream: Seed, number: i64) -> [u8; 16] {
    let at = YEAR_1970_UUID.wrapping_add(number.wrapping_mul(10_000));
    super::timeuuid_at(at.cast_unsigned(), mix(stream.0))
}
