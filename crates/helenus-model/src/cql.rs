//! CQL's types and values as plain data, shared by the codec, the workloads and the shell.
//! Refuses bytes on a wire: those are `helenus-cql`'s.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

mod exact;
mod json;
pub mod read;
mod text;
pub mod tokens;
pub use text::{identifier, quoted, uuid_text};

/// A CQL type, nested where CQL nests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum CqlType {
    Ascii,
    Bigint,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Duration,
    Float,
    Inet,
    Int,
    Smallint,
    Text,
    Time,
    Timestamp,
    Timeuuid,
    Tinyint,
    Uuid,
    Varint,
    List(Box<CqlType>),
    Set(Box<CqlType>),
    Map(Box<CqlType>, Box<CqlType>),
    Tuple(Vec<CqlType>),
    Udt {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// Its fields with their types.
        fields: Vec<(String, CqlType)>,
    },
    Vector(Box<CqlType>, usize),
    /// A server-side class that CQL has no name for.
    Custom(String),
}

/// A CQL value. Null is `Option::None` around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CqlValue {
    /// US-ASCII text.
    Ascii(String),
    /// 64-bit signed.
    Bigint(i64),
    /// Bytes.
    Blob(Vec<u8>),
    /// True or false.
    Boolean(bool),
    /// 64-bit counter.
    Counter(i64),
    /// Days, with 2^31 at 1970-01-01.
    Date(u32),
    /// `unscaled × 10^-scale`, unscaled as big-endian two's complement.
    Decimal {
        /// Big-endian two's complement.
        unscaled: Vec<u8>,
        /// Digits after the point.
        scale: i32,
    },
    /// IEEE 754, 64 bits.
    Double(f64),
    /// Months, days and nanoseconds, all of one sign.
    Duration {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Nanoseconds.
        nanos: i64,
    },
    /// IEEE 754, 32 bits.
    Float(f32),
    /// IPv4 or IPv6 address.
    Inet(IpAddr),
    /// 32-bit signed.
    Int(i32),
    /// 16-bit signed.
    Smallint(i16),
    /// UTF-8 text.
    Text(String),
    /// Nanoseconds since midnight.
    Time(i64),
    /// Milliseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// Version 1 UUID.
    Timeuuid([u8; 16]),
    /// 8-bit signed.
    Tinyint(i8),
    /// Any UUID.
    Uuid([u8; 16]),
    /// Big-endian two's complement of any length.
    Varint(Vec<u8>),
    /// In order.
    List(Vec<CqlValue>),
    /// In the server's order.
    Set(Vec<CqlValue>),
    /// In the server's order of keys.
    Map(Vec<(CqlValue, CqlValue)>),
    /// By position.
    Tuple(Vec<Option<CqlValue>>),
    /// By field, in the type's order.
    Udt(Vec<(String, Option<CqlValue>)>),
    /// Fixed length.
    Vector(Vec<CqlValue>),
    /// Bytes of a type that CQL has no name for.
    Custom(Vec<u8>),
}
