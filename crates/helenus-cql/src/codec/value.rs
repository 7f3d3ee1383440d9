//! Values on the wire, for every CQL type, both ways.
//! Refuses to convert: a value must be of its column's type, an `int` is no `bigint`.

use super::error::{DecodeError, EncodeError};
use super::vint;
use super::wire::{Budget, Reader, Write};
use helenus_model::cql::{CqlType, CqlValue};
use std::net::IpAddr;

/// Heap bytes charged for a field that is not on the wire.
const FIELD_BYTES: usize = size_of::<Option<CqlValue>>();

/// Appends the value's bytes, without the length that goes before them in a message.
///
/// # Errors
/// A value of another type, or something too long.
pub fn encode_value(ty: &CqlType, value: &CqlValue, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match (ty, value) {
        (CqlType::Ascii, CqlValue::Ascii(text)) if !text.is_ascii() => {
            return Err(EncodeError::NotAscii { text: text.clone() });
        }
        (CqlType::Ascii, CqlValue::Ascii(text)) | (CqlType::Text, CqlValue::Text(text)) => {
            out.extend_from_slice(text.as_bytes());
        }
        (CqlType::Bigint, CqlValue::Bigint(n))
        | (CqlType::Counter, CqlValue::Counter(n))
        | (CqlType::Time, CqlValue::Time(n))
        | (CqlType::Timestamp, CqlValue::Timestamp(n)) => out.put_i64(*n),
        (CqlType::Blob, CqlValue::Blob(bytes))
        | (CqlType::Varint, CqlValue::Varint(bytes))
        | (CqlType::Custom(_), CqlValue::Custom(bytes)) => out.extend_from_slice(bytes),
        (CqlType::Boolean, CqlValue::Boolean(truth)) => out.put_u8(u8::from(*truth)),
        (CqlType::Date, CqlValue::Date(days)) => out.extend_from_slice(&days.to_be_bytes()),
        (CqlType::Decimal, CqlValue::Decimal { unscaled, scale }) => {
            out.put_i32(*scale);
            out.extend_from_slice(unscaled);
        }
        (CqlType::Double, CqlValue::Double(x)) => out.extend_from_slice(&x.to_be_bytes()),
        (CqlType::Float, CqlValue::Float(x)) => out.extend_from_slice(&x.to_be_bytes()),
        (
            CqlType::Duration,
            CqlValue::Duration {
                months,
                days,
                nanos,
            },
        ) => {
            vint::write_signed(i64::from(*months), out);
            vint::write_signed(i64::from(*days), out);
            vint::write_signed(*nanos, out);
        }
        (CqlType::Inet, CqlValue::Inet(IpAddr::V4(v4))) => out.extend_from_slice(&v4.octets()),
        (CqlType::Inet, CqlValue::Inet(IpAddr::V6(v6))) => out.extend_from_slice(&v6.octets()),
        (CqlType::Int, CqlValue::Int(n)) => out.put_i32(*n),
        (CqlType::Smallint, CqlValue::Smallint(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (CqlType::Tinyint, CqlValue::Tinyint(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (CqlType::Timeuuid, CqlValue::Timeuuid(uuid)) | (CqlType::Uuid, CqlValue::Uuid(uuid)) => {
            out.extend_from_slice(uuid);
        }
        _ => return encode_nested(ty, value, out),
    }
    Ok(())
}

fn encode_nested(ty: &CqlType, value: &CqlValue, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match (ty, value) {
        (CqlType::List(element), CqlValue::List(items))
        | (CqlType::Set(element), CqlValue::Set(items)) => {
            out.put_count("a collection", items.len())?;
            items
                .iter()
                .try_for_each(|item| encode_cell(element, Some(item), out))
        }
        (CqlType::Map(key_type, value_type), CqlValue::Map(pairs)) => {
            out.put_count("a map", pairs.len())?;
            pairs.iter().try_for_each(|(key, value)| {
                encode_cell(key_type, Some(key), out)?;
                encode_cell(value_type, Some(value), out)
            })
        }
        (CqlType::Tuple(types), CqlValue::Tuple(items)) => {
            same_arity(ty, types.len(), items.len())?;
            let mut pairs = types.iter().zip(items);
            pairs.try_for_each(|(ty, item)| encode_cell(ty, item.as_ref(), out))
        }
        (CqlType::Udt { fields, .. }, CqlValue::Udt(items)) => {
            same_arity(ty, fields.len(), items.len())?;
            fields
                .iter()
                .zip(items)
                .try_for_each(|((name, field), (given, item))| {
                    if name != given {
                        return Err(EncodeError::Field {
                            ty: ty.to_string(),
                            field: given.clone(),
                        });
                    }
                    encode_cell(field, item.as_ref(), out)
                })
        }
        (CqlType::Vector(element, length), CqlValue::Vector(items)) => {
            same_arity(ty, *length, items.len())?;
            let fixed = fixed_length(element).is_some();
            items.iter().try_for_each(|item| {
                if fixed {
                    return encode_value(element, item, out);
                }
                let mut bytes = Vec::new();
                encode_value(element, item, &mut bytes)?;
                vint::write_unsigned(bytes.len() as u64, out);
                out.extend_from_slice(&bytes);
                Ok(())
            })
        }
        _ => Err(EncodeError::Mismatch {
            expected: ty.to_string(),
            found: kind_of(value),
        }),
    }
}

fn same_arity(ty: &CqlType, expected: usize, found: usize) -> Result<(), EncodeError> {
    if expected == found {
        return Ok(());
    }
    Err(EncodeError::Arity {
        ty: ty.to_string(),
        expected,
        found,
    })
}

/// Appends a value behind its `[int]` length, or −1 for null.
///
/// # Errors
/// Whatever [`encode_value`] refuses.
pub fn encode_cell(
    ty: &CqlType,
    value: Option<&CqlValue>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.put_i32(-1);
    if let Some(value) = value {
        encode_value(ty, value, out)?;
        let length = out.len() - start - 4;
        let length = i32::try_from(length).map_err(|_| EncodeError::TooLong {
            what: "a value",
            length,
            most: i32::MAX as usize,
        })?;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Bytes of a vector's element where it carries no length of its own.
///
/// The server's own choice: `tinyint`, `smallint`, `date` and `time` are not among them, though
/// their width never varies.
pub fn fixed_length(ty: &CqlType) -> Option<usize> {
    match ty {
        CqlType::Boolean => Some(1),
        CqlType::Float | CqlType::Int => Some(4),
        CqlType::Bigint | CqlType::Double | CqlType::Timestamp => Some(8),
        CqlType::Timeuuid | CqlType::Uuid => Some(16),
        CqlType::Vector(element, length) => fixed_length(element)?.checked_mul(*length),
        _ => None,
    }
}

/// Reads a value that is all of `bytes`.
///
/// No bytes at all is a value for text, blobs, tuples and user types; for any other type it is
/// the legacy *empty*, which reads as null (as the drivers do).
///
/// # Errors
/// Bytes that are no value of this type.
pub fn decode_value(ty: &CqlType, bytes: &[u8]) -> Result<Option<CqlValue>, DecodeError> {
    decode_within(ty, bytes, &mut Budget::of(bytes.len()))
}

/// [`decode_value`] for one of many values that share a memory budget.
///
/// # Errors
/// Bytes that are no value of this type, or a budget used up.
pub fn decode_within(
    ty: &CqlType,
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Option<CqlValue>, DecodeError> {
    let text = |what| {
        let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::NotText { what })?;
        Ok::<_, DecodeError>(text.to_owned())
    };
    Ok(Some(match ty {
        CqlType::Ascii if !bytes.is_ascii() => return Err(DecodeError::NotText { what: "ascii" }),
        CqlType::Ascii => CqlValue::Ascii(text("ascii")?),
        CqlType::Text => CqlValue::Text(text("text")?),
        CqlType::Blob => CqlValue::Blob(bytes.to_vec()),
        CqlType::Custom(_) => CqlValue::Custom(bytes.to_vec()),
        CqlType::Tuple(types) => CqlValue::Tuple(decode_tuple(types, bytes, budget)?),
        CqlType::Udt { fields, .. } => CqlValue::Udt(decode_udt(fields, bytes, budget)?),
        _ if bytes.is_empty() => return Ok(None),
        CqlType::Bigint => CqlValue::Bigint(i64::from_be_bytes(fixed("bigint", bytes)?)),
        CqlType::Counter => CqlValue::Counter(i64::from_be_bytes(fixed("counter", bytes)?)),
        CqlType::Time => CqlValue::Time(i64::from_be_bytes(fixed("time", bytes)?)),
        CqlType::Timestamp => CqlValue::Timestamp(i64::from_be_bytes(fixed("timestamp", bytes)?)),
        CqlType::Boolean => CqlValue::Boolean(fixed::<1>("boolean", bytes)? != [0]),
        CqlType::Date => CqlValue::Date(u32::from_be_bytes(fixed("date", bytes)?)),
        CqlType::Double => CqlValue::Double(f64::from_be_bytes(fixed("double", bytes)?)),
        CqlType::Float => CqlValue::Float(f32::from_be_bytes(fixed("float", bytes)?)),
        CqlType::Int => CqlValue::Int(i32::from_be_bytes(fixed("int", bytes)?)),
        CqlType::Smallint => CqlValue::Smallint(i16::from_be_bytes(fixed("smallint", bytes)?)),
        CqlType::Tinyint => CqlValue::Tinyint(i8::from_be_bytes(fixed("tinyint", bytes)?)),
        CqlType::Timeuuid => CqlValue::Timeuuid(fixed("timeuuid", bytes)?),
        CqlType::Uuid => CqlValue::Uuid(fixed("uuid", bytes)?),
        CqlType::Varint => CqlValue::Varint(bytes.to_vec()),
        CqlType::Decimal => {
            let mut reader = Reader::new(bytes);
            let scale = reader.i32("decimal")?;
            let unscaled = reader.rest().to_vec();
            CqlValue::Decimal { unscaled, scale }
        }
        CqlType::Duration => decode_duration(bytes)?,
        CqlType::Inet => CqlValue::Inet(match bytes.len() {
            4 => IpAddr::from(fixed::<4>("inet", bytes)?),
            _ => IpAddr::from(fixed::<16>("inet", bytes)?),
        }),
        CqlType::List(element) => CqlValue::List(decode_items("list", element, bytes, budget)?),
        CqlType::Set(element) => CqlValue::Set(decode_items("set", element, bytes, budget)?),
        CqlType::Map(key, value) => CqlValue::Map(decode_map(key, value, bytes, budget)?),
        CqlType::Vector(element, length) => {
            CqlValue::Vector(decode_vector(element, *length, bytes, budget)?)
        }
    }))
}

fn fixed<const N: usize>(ty: &'static str, bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    let found = bytes.len();
    bytes
        .try_into()
        .map_err(|_| DecodeError::ValueLength { ty, found })
}

fn decode_duration(bytes: &[u8]) -> Result<CqlValue, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut int = || {
        let n = vint::read_signed(&mut reader)?;
        i32::try_from(n).map_err(|_| DecodeError::Count {
            what: "months or days of a duration",
            count: n,
            most: i32::MAX as usize,
        })
    };
    let (months, days) = (int()?, int()?);
    let nanos = vint::read_signed(&mut reader)?;
    reader.end("duration")?;
    Ok(CqlValue::Duration {
        months,
        days,
        nanos,
    })
}

/// An element, which cannot be null.
fn decode_element(
    container: &'static str,
    ty: &CqlType,
    bytes: Option<&[u8]>,
    budget: &mut Budget,
) -> Result<CqlValue, DecodeError> {
    let value = bytes
        .map(|bytes| decode_within(ty, bytes, budget))
        .transpose()?;
    value
        .flatten()
        .ok_or(DecodeError::NullElement { ty: container })
}

fn decode_items(
    container: &'static str,
    element: &CqlType,
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<CqlValue>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let count = reader.count(container, 4)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(decode_element(
            container,
            element,
            reader.bytes(container)?,
            budget,
        )?);
    }
    reader.end(container)?;
    Ok(items)
}

fn decode_map(
    key_type: &CqlType,
    value_type: &CqlType,
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<(CqlValue, CqlValue)>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let count = reader.count("map", 8)?;
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        let key = decode_element("map", key_type, reader.bytes("map")?, budget)?;
        let value = decode_element("map", value_type, reader.bytes("map")?, budget)?;
        pairs.push((key, value));
    }
    reader.end("map")?;
    Ok(pairs)
}

/// The next field of a tuple or user type; those at the end may be missing, and then are null.
fn decode_field(
    ty: &CqlType,
    reader: &mut Reader<'_>,
    budget: &mut Budget,
) -> Result<Option<CqlValue>, DecodeError> {
    if reader.left() == 0 {
        budget.spend(FIELD_BYTES)?;
        return Ok(None);
    }
    let bytes = reader.bytes("field")?;
    Ok(bytes
        .map(|bytes| decode_within(ty, bytes, budget))
        .transpose()?
        .flatten())
}

fn decode_tuple(
    types: &[CqlType],
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<Option<CqlValue>>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut items = Vec::new();
    for ty in types {
        items.push(decode_field(ty, &mut reader, budget)?);
    }
    reader.end("tuple")?;
    Ok(items)
}

fn decode_udt(
    fields: &[(String, CqlType)],
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<(String, Option<CqlValue>)>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut items = Vec::new();
    for (name, ty) in fields {
        budget.spend(name.len())?;
        items.push((name.clone(), decode_field(ty, &mut reader, budget)?));
    }
    reader.end("user type")?;
    Ok(items)
}

fn decode_vector(
    element: &CqlType,
    length: usize,
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<CqlValue>, DecodeError> {
    let found = bytes.len();
    let wrong = DecodeError::ValueLength {
        ty: "vector",
        found,
    };
    if let Some(width) = fixed_length(element) {
        if width == 0 || width.checked_mul(length) != Some(found) {
            return Err(wrong);
        }
        let parts = bytes.chunks_exact(width);
        return parts
            .map(|part| decode_element("vector", element, Some(part), budget))
            .collect();
    }
    // Every element carries at least the byte that holds its length.
    if length > found {
        return Err(wrong);
    }
    let mut reader = Reader::new(bytes);
    let mut items = Vec::with_capacity(length);
    for _ in 0..length {
        let size = vint::read_unsigned(&mut reader)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let part = reader.take("vector", size)?;
        items.push(decode_element("vector", element, Some(part), budget)?);
    }
    reader.end("vector")?;
    Ok(items)
}

/// The CQL name of a value's kind, for errors.
pub fn kind_of(value: &CqlValue) -> &'static str {
    match value {
        CqlValue::Ascii(_) => "ascii",
        CqlValue::Bigint(_) => "bigint",
        CqlValue::Blob(_) => "blob",
        CqlValue::Boolean(_) => "boolean",
        CqlValue::Counter(_) => "counter",
        CqlValue::Date(_) => "date",
        CqlValue::Decimal { .. } => "decimal",
        CqlValue::Double(_) => "double",
        CqlValue::Duration { .. } => "duration",
        CqlValue::Float(_) => "float",
        CqlValue::Inet(_) => "inet",
        CqlValue::Int(_) => "int",
        CqlValue::Smallint(_) => "smallint",
        CqlValue::Text(_) => "text",
        CqlValue::Time(_) => "time",
        CqlValue::Timestamp(_) => "timestamp",
        CqlValue::Timeuuid(_) => "timeuuid",
        CqlValue::Tinyint(_) => "tinyint",
        CqlValue::Uuid(_) => "uuid",
        CqlValue::Varint(_) => "varint",
        CqlValue::List(_) => "list",
        CqlValue::Set(_) => "set",
        CqlValue::Map(_) => "map",
        CqlValue::Tuple(_) => "tuple",
        CqlValue::Udt(_) => "user type",
        CqlValue::Vector(_) => "vector",
        CqlValue::Custom(_) => "custom",
    }
}
