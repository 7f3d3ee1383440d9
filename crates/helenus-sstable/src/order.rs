//! Values as bytes that compare like the values: what sorts rows, and cells within a row.
//! Refuses types without an order, and values that are none of their type.

use crate::bytes::Parts;
use helenus_cql::codec::value::fixed_length;
use helenus_cql::codec::vint;
use helenus_cql::codec::wire::Reader;
use helenus_model::cql::{CqlType, CqlValue};

/// A value has no place in an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a value of {0} bytes cannot be ordered as {1}")]
pub struct NotComparable(usize, String);

/// Appends bytes whose unsigned order is Cassandra's order of the values of this type.
///
/// No value's bytes begin another's, so that several can stand behind each other. `value` is as CQL serialises it;
/// `descending` turns the order round.
///
/// # Errors
/// Durations, counters, custom classes, and bytes that are no value.
pub fn comparable(
    ty: &CqlType,
    value: &[u8],
    descending: bool,
    out: &mut Vec<u8>,
) -> Result<(), NotComparable> {
    let from = out.len();
    put(ty, value, out).ok_or_else(|| NotComparable(value.len(), ty.to_string()))?;
    if descending {
        out[from..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

fn put(ty: &CqlType, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet => escaped(value, out),
        CqlType::Bigint | CqlType::Timestamp => signed::<8>(value, out)?,
        CqlType::Int => signed::<4>(value, out)?,
        CqlType::Smallint => signed::<2>(value, out)?,
        CqlType::Tinyint => signed::<1>(value, out)?,
        CqlType::Boolean => same::<1>(value, out)?,
        CqlType::Date => same::<4>(value, out)?,
        CqlType::Time => same::<8>(value, out)?,
        CqlType::Float => {
            let number = f32::from_be_bytes(value.try_into().ok()?);
            let number = if number.is_nan() {
                f32::NAN.abs()
            } else {
                number
            };
            let bits = number.to_bits();
            let bits = if bits >> 31 == 1 {
                !bits
            } else {
                bits | 1 << 31
            };
            out.extend_from_slice(&bits.to_be_bytes());
        }
        CqlType::Double => {
            let number = f64::from_be_bytes(value.try_into().ok()?);
            let number = if number.is_nan() {
                f64::NAN.abs()
            } else {
                number
            };
            let bits = number.to_bits();
            let bits = if bits >> 63 == 1 {
                !bits
            } else {
                bits | 1 << 63
            };
            out.extend_from_slice(&bits.to_be_bytes());
        }
        CqlType::Varint => whole(value, out)?,
        CqlType::Decimal => decimal(value, out)?,
        CqlType::Uuid => uuid(value.try_into().ok()?, out),
        CqlType::Timeuuid => {
            let uuid: &[u8; 16] = value.try_into().ok()?;
            time(uuid, out);
            out.extend(uuid[8..].iter().map(|byte| byte ^ 0x80));
        }
        CqlType::List(element) | CqlType::Set(element) => {
            let (count, parts) = Parts::counted(value)?;
            nested(count, parts.map(|part| (&**element, part)), out)?;
        }
        CqlType::Map(key, of) => {
            let (count, parts) = Parts::counted(value)?;
            let types = [&**key, &**of].into_iter().cycle();
            nested(count * 2, types.zip(parts), out)?;
        }
        CqlType::Tuple(types) => fields(types.iter(), value, out)?,
        CqlType::Udt { fields: types, .. } => {
            fields(types.iter().map(|(_, ty)| ty), value, out)?;
        }
        CqlType::Vector(element, count) => vector(element, *count, value, out)?,
        CqlType::Duration | CqlType::Counter | CqlType::Custom(_) => return None,
    }
    Some(())
}

/// A zero becomes 00 ff, and 00 00 ends.
fn escaped(value: &[u8], out: &mut Vec<u8>) {
    for part in value.split_inclusive(|byte| *byte == 0) {
        out.extend_from_slice(part);
        if part.ends_with(&[0]) {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn same<const N: usize>(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let value: &[u8; N] = value.try_into().ok()?;
    out.extend_from_slice(value);
    Some(())
}

fn signed<const N: usize>(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let at = out.len();
    same::<N>(value, out)?;
    out[at] ^= 0x80;
    Some(())
}

/// Sign, then length, then bytes; of negative ones the longer is the smaller.
fn whole(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let negative = value.first()? & 0x80 != 0;
    let padding = if negative { 0xff } else { 0 };
    let padded = |pair: &[u8]| pair[0] == padding && (pair[1] & 0x80 != 0) == negative;
    let padding = value.windows(2).take_while(|pair| padded(pair)).count();
    let value = &value[padding..];
    let length = u32::try_from(value.len()).ok()?;
    let length = if negative { !length } else { length };
    out.push(u8::from(!negative));
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    Some(())
}

/// Sign, then the exponent of 0.d…, then digits without zeros at the end: 1.0 and 1.00 are equal.
fn decimal(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (scale, unscaled) = value.split_first_chunk::<4>()?;
    let scale = i32::from_be_bytes(*scale);
    if unscaled.is_empty() {
        return None;
    }
    let text = CqlValue::Varint(unscaled.to_vec()).exact_text();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.as_str()),
    };
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        out.push(1);
        return Some(());
    }
    let exponent = i64::try_from(digits.len()).ok()? - i64::from(scale);
    out.push(if negative { 0 } else { 2 });
    let from = out.len();
    let exponent = exponent.cast_unsigned() ^ 1 << 63;
    out.extend_from_slice(&exponent.to_be_bytes());
    out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    out.push(0);
    if negative {
        out[from..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(())
}

fn time(uuid: &[u8; 16], out: &mut Vec<u8>) {
    out.extend_from_slice(&[uuid[6] & 0x0f, uuid[7], uuid[4], uuid[5]]);
    out.extend_from_slice(&uuid[..4]);
}

/// By version, then by time where it is 1, then by bytes.
fn uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    let version = uuid[6] >> 4;
    out.push(version);
    if version == 1 {
        time(uuid, out);
    }
    out.extend_from_slice(uuid);
}

fn nested<'a>(
    count: usize,
    parts: impl Iterator<Item = (&'a CqlType, Option<&'a [u8]>)>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut found = 0;
    for (ty, part) in parts.take(count) {
        out.push(1);
        put(ty, part?, out)?;
        found += 1;
    }
    out.push(0);
    (found == count).then_some(())
}

/// Null comes first; fields that were added to a type later are null.
fn fields<'a>(
    types: impl Iterator<Item = &'a CqlType>,
    value: &[u8],
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut parts = Parts::of(value);
    for ty in types {
        match parts.next().flatten() {
            None => out.push(0),
            Some(part) => {
                out.push(1);
                put(ty, part, out)?;
            }
        }
    }
    Some(())
}

fn vector(element: &CqlType, count: usize, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if let Some(length) = fixed_length(element) {
        let elements = value.chunks_exact(length.max(1));
        if elements.len() != count || !elements.remainder().is_empty() {
            return None;
        }
        return elements
            .into_iter()
            .try_for_each(|one| put(element, one, out));
    }
    let mut reader = Reader::new(value);
    for _ in 0..count {
        let length = vint::read_unsigned(&mut reader).ok()?;
        let one = reader.take("an element", usize::try_from(length).ok()?);
        put(element, one.ok()?, out)?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
