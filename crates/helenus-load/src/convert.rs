//! Between the model's CQL values and the driver's.
//! Refuses types that CQL has no name for.

use helenus_model::cql::{CqlType, CqlValue};
use scylla::frame::response::result::{CollectionType, ColumnType, NativeType};
use scylla::value::{
    Counter, CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid,
    CqlValue as Theirs, CqlVarint,
};

/// The model's name of a driver's type, or none for one that it does not know.
pub(crate) fn type_of(theirs: &ColumnType<'_>) -> Option<CqlType> {
    Some(match theirs {
        ColumnType::Native(native) => native_type(native)?,
        ColumnType::Collection { typ, .. } => match typ {
            CollectionType::List(of) => CqlType::List(Box::new(type_of(of)?)),
            CollectionType::Set(of) => CqlType::Set(Box::new(type_of(of)?)),
            CollectionType::Map(key, of) => {
                CqlType::Map(Box::new(type_of(key)?), Box::new(type_of(of)?))
            }
            _ => return None,
        },
        ColumnType::Vector { typ, dimensions } => {
            CqlType::Vector(Box::new(type_of(typ)?), usize::from(*dimensions))
        }
        ColumnType::UserDefinedType { definition, .. } => CqlType::Udt {
            keyspace: definition.keyspace.to_string(),
            name: definition.name.to_string(),
            fields: definition
                .field_types
                .iter()
                .map(|(name, of)| Some((name.to_string(), type_of(of)?)))
                .collect::<Option<_>>()?,
        },
        ColumnType::Tuple(of) => CqlType::Tuple(of.iter().map(type_of).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn native_type(native: &NativeType) -> Option<CqlType> {
    Some(match native {
        NativeType::Ascii => CqlType::Ascii,
        NativeType::Boolean => CqlType::Boolean,
        NativeType::Blob => CqlType::Blob,
        NativeType::Counter => CqlType::Counter,
        NativeType::Date => CqlType::Date,
        NativeType::Decimal => CqlType::Decimal,
        NativeType::Double => CqlType::Double,
        NativeType::Duration => CqlType::Duration,
        NativeType::Float => CqlType::Float,
        NativeType::Int => CqlType::Int,
        NativeType::BigInt => CqlType::Bigint,
        NativeType::Text => CqlType::Text,
        NativeType::Timestamp => CqlType::Timestamp,
        NativeType::Inet => CqlType::Inet,
        NativeType::SmallInt => CqlType::Smallint,
        NativeType::TinyInt => CqlType::Tinyint,
        NativeType::Time => CqlType::Time,
        NativeType::Timeuuid => CqlType::Timeuuid,
        NativeType::Uuid => CqlType::Uuid,
        NativeType::Varint => CqlType::Varint,
        _ => return None,
    })
}

/// The driver's form of a value of this type (the type names a UDT's keyspace).
pub(crate) fn to_driver(value: CqlValue, of: &CqlType) -> Theirs {
    use CqlValue as V;
    let each = |all: Vec<V>, of: &CqlType| all.into_iter().map(|v| to_driver(v, of)).collect();
    match (value, of) {
        (V::List(all), CqlType::List(of)) => Theirs::List(each(all, of)),
        (V::Set(all), CqlType::Set(of)) => Theirs::Set(each(all, of)),
        (V::Vector(all), CqlType::Vector(of, _)) => Theirs::Vector(each(all, of)),
        (V::Map(entries), CqlType::Map(key, of)) => Theirs::Map(
            entries
                .into_iter()
                .map(|(k, v)| (to_driver(k, key), to_driver(v, of)))
                .collect(),
        ),
        (V::Tuple(all), CqlType::Tuple(types)) => Theirs::Tuple(
            all.into_iter()
                .zip(types)
                .map(|(v, of)| v.map(|v| to_driver(v, of)))
                .collect(),
        ),
        (
            V::Udt(all),
            CqlType::Udt {
                keyspace,
                name,
                fields,
            },
        ) => Theirs::UserDefinedType {
            keyspace: keyspace.clone(),
            name: name.clone(),
            fields: all
                .into_iter()
                .zip(fields)
                .map(|((name, v), (_, of))| (name, v.map(|v| to_driver(v, of))))
                .collect(),
        },
        (scalar, _) => scalar_to_driver(scalar),
    }
}

fn scalar_to_driver(value: CqlValue) -> Theirs {
    use CqlValue as V;
    match value {
        V::Ascii(v) => Theirs::Ascii(v),
        V::Bigint(v) => Theirs::BigInt(v),
        V::Blob(v) | V::Custom(v) => Theirs::Blob(v),
        V::Boolean(v) => Theirs::Boolean(v),
        V::Counter(v) => Theirs::Counter(Counter(v)),
        V::Date(v) => Theirs::Date(CqlDate(v)),
        V::Decimal { unscaled, scale } => Theirs::Decimal(
            CqlDecimal::from_signed_be_bytes_and_exponent(unscaled, scale),
        ),
        V::Double(v) => Theirs::Double(v),
        V::Duration {
            months,
            days,
            nanos,
        } => Theirs::Duration(CqlDuration {
            months,
            days,
            nanoseconds: nanos,
        }),
        V::Float(v) => Theirs::Float(v),
        V::Inet(v) => Theirs::Inet(v),
        V::Int(v) => Theirs::Int(v),
        V::Smallint(v) => Theirs::SmallInt(v),
        V::Text(v) => Theirs::Text(v),
        V::Time(v) => Theirs::Time(CqlTime(v)),
        V::Timestamp(v) => Theirs::Timestamp(CqlTimestamp(v)),
        V::Timeuuid(v) => Theirs::Timeuuid(CqlTimeuuid::from_bytes(v)),
        V::Tinyint(v) => Theirs::TinyInt(v),
        V::Uuid(v) => Theirs::Uuid(CqlTimeuuid::from_bytes(v).into()),
        V::Varint(v) => Theirs::Varint(CqlVarint::from_signed_bytes_be(v)),
        // Nested values whose type did not fit: the driver refuses them with its own words.
        V::List(_) | V::Set(_) | V::Map(_) | V::Tuple(_) | V::Udt(_) | V::Vector(_) => {
            Theirs::Empty
        }
    }
}

/// The model's form of a value that was read, or none for one without (an empty value).
pub(crate) fn from_driver(value: Theirs) -> Option<CqlValue> {
    use CqlValue as V;
    let each = |all: Vec<Theirs>| all.into_iter().map(from_driver).collect::<Option<Vec<_>>>();
    Some(match value {
        Theirs::Ascii(v) => V::Ascii(v),
        Theirs::BigInt(v) => V::Bigint(v),
        Theirs::Blob(v) => V::Blob(v),
        Theirs::Boolean(v) => V::Boolean(v),
        Theirs::Counter(v) => V::Counter(v.0),
        Theirs::Date(v) => V::Date(v.0),
        Theirs::Decimal(v) => {
            let (unscaled, scale) = v.into_signed_be_bytes_and_exponent();
            V::Decimal { unscaled, scale }
        }
        Theirs::Double(v) => V::Double(v),
        Theirs::Duration(v) => V::Duration {
            months: v.months,
            days: v.days,
            nanos: v.nanoseconds,
        },
        Theirs::Float(v) => V::Float(v),
        Theirs::Inet(v) => V::Inet(v),
        Theirs::Int(v) => V::Int(v),
        Theirs::SmallInt(v) => V::Smallint(v),
        Theirs::Text(v) => V::Text(v),
        Theirs::Time(v) => V::Time(v.0),
        Theirs::Timestamp(v) => V::Timestamp(v.0),
        Theirs::Timeuuid(v) => V::Timeuuid(*v.as_bytes()),
        Theirs::TinyInt(v) => V::Tinyint(v),
        Theirs::Uuid(v) => V::Uuid(v.into_bytes()),
        Theirs::Varint(v) => V::Varint(v.into_signed_bytes_be()),
        Theirs::List(all) => V::List(each(all)?),
        Theirs::Set(all) => V::Set(each(all)?),
        Theirs::Vector(all) => V::Vector(each(all)?),
        Theirs::Map(entries) => V::Map(
            entries
                .into_iter()
                .map(|(k, v)| Some((from_driver(k)?, from_driver(v)?)))
                .collect::<Option<_>>()?,
        ),
        Theirs::Tuple(all) => V::Tuple(all.into_iter().map(|v| v.and_then(from_driver)).collect()),
        Theirs::UserDefinedType { fields, .. } => V::Udt(
            fields
                .into_iter()
                .map(|(name, v)| (name, v.and_then(from_driver)))
                .collect(),
        ),
        _ => return None,
    })
}
