//! A column's type on the wire: a code, and what it is made of.
//! Refuses values, and nesting deeper than any schema has.

use super::envelope::Version;
use super::error::{DecodeError, EncodeError};
use super::marshal;
use super::wire::{Reader, Write};
use helenus_model::cql::CqlType;

/// Levels of nesting that decoding accepts, so that hostile bytes cannot exhaust the stack.
pub const DEEPEST_TYPE: usize = 32;

/// The types that are a code alone.
const PLAIN: [(u16, CqlType); 21] = [
    (0x01, CqlType::Ascii),
    (0x02, CqlType::Bigint),
    (0x03, CqlType::Blob),
    (0x04, CqlType::Boolean),
    (0x05, CqlType::Counter),
    (0x06, CqlType::Decimal),
    (0x07, CqlType::Double),
    (0x08, CqlType::Float),
    (0x09, CqlType::Int),
    (0x0b, CqlType::Timestamp),
    (0x0c, CqlType::Uuid),
    (0x0d, CqlType::Text),
    (0x0e, CqlType::Varint),
    (0x0f, CqlType::Timeuuid),
    (0x10, CqlType::Inet),
    (0x11, CqlType::Date),
    (0x12, CqlType::Time),
    (0x13, CqlType::Smallint),
    (0x14, CqlType::Tinyint),
    (0x15, CqlType::Duration),
    (0x0a, CqlType::Text),
];
const CUSTOM: u16 = 0x00;
const LIST: u16 = 0x20;
const MAP: u16 = 0x21;
const SET: u16 = 0x22;
const UDT: u16 = 0x30;
const TUPLE: u16 = 0x31;

/// Appends a type.
///
/// # Errors
/// A name or a count that does not fit.
pub fn encode_type(ty: &CqlType, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match ty {
        CqlType::List(element) => {
            out.put_u16(LIST);
            encode_type(element, version, out)
        }
        CqlType::Set(element) => {
            out.put_u16(SET);
            encode_type(element, version, out)
        }
        CqlType::Map(key, value) => {
            out.put_u16(MAP);
            encode_type(key, version, out)?;
            encode_type(value, version, out)
        }
        CqlType::Tuple(fields) => {
            out.put_u16(TUPLE);
            out.put_short_count("tuple", fields.len())?;
            fields
                .iter()
                .try_for_each(|field| encode_type(field, version, out))
        }
        CqlType::Udt {
            keyspace,
            name,
            fields,
        } => {
            out.put_u16(UDT);
            out.put_string("keyspace", keyspace)?;
            out.put_string("user type", name)?;
            out.put_short_count("user type", fields.len())?;
            fields.iter().try_for_each(|(name, field)| {
                out.put_string("field", name)?;
                encode_type(field, version, out)
            })
        }
        CqlType::Vector(..) => encode_custom(&marshal::class_of(ty), out),
        // v4 knew durations by their class only.
        CqlType::Duration if version == Version::V4 => encode_custom(&marshal::class_of(ty), out),
        CqlType::Custom(class) => encode_custom(class, out),
        plain => {
            let code = PLAIN.iter().find(|(_, known)| known == plain);
            out.put_u16(code.map_or(CUSTOM, |(code, _)| *code));
            Ok(())
        }
    }
}

fn encode_custom(class: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.put_u16(CUSTOM);
    out.put_string("type class", class)
}

/// Reads a type.
///
/// # Errors
/// Too few bytes, an unknown code, nesting that is too deep.
pub fn decode_type(reader: &mut Reader<'_>) -> Result<CqlType, DecodeError> {
    decode_within(reader, DEEPEST_TYPE)
}

fn decode_within(reader: &mut Reader<'_>, levels: usize) -> Result<CqlType, DecodeError> {
    let Some(below) = levels.checked_sub(1) else {
        return Err(DecodeError::TooDeep { most: DEEPEST_TYPE });
    };
    let code = reader.u16("type")?;
    if let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == code) {
        return Ok(plain.clone());
    }
    match code {
        CUSTOM => marshal::parse_class(&reader.string("type class")?, levels),
        LIST => Ok(CqlType::List(Box::new(decode_within(reader, below)?))),
        SET => Ok(CqlType::Set(Box::new(decode_within(reader, below)?))),
        MAP => {
            let key = decode_within(reader, below)?;
            let value = decode_within(reader, below)?;
            Ok(CqlType::Map(Box::new(key), Box::new(value)))
        }
        TUPLE => {
            let count = reader.short_count("tuple", 2)?;
            let fields = (0..count).map(|_| decode_within(reader, below));
            fields.collect::<Result<_, _>>().map(CqlType::Tuple)
        }
        UDT => {
            let keyspace = reader.string("keyspace")?;
            let name = reader.string("user type")?;
            let count = reader.short_count("user type", 4)?;
            let field = |_| Ok((reader.string("field")?, decode_within(reader, below)?));
            let fields = (0..count).map(field).collect::<Result<_, DecodeError>>()?;
            Ok(CqlType::Udt {
                keyspace,
                name,
                fields,
            })
        }
        _ => Err(DecodeError::UnknownCode {
            what: "type",
            code: i64::from(code),
        }),
    }
}
