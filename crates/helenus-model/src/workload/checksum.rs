//! One number for the content of a table, whatever the order in which its rows are read or written.
//! Refuses to be a signature: it finds accidents, not forgers.

use crate::cql::CqlValue;
use crate::seed::mix;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The wrapping sum of rows' hashes: rows may come in any order, and parts be added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Checksum(pub u64);

impl Checksum {
    /// One more row, by [`RowHash::row`].
    pub fn add(&mut self, row: u64) {
        self.0 = self.0.wrapping_add(row);
    }

    /// The rows of another part.
    pub fn merge(&mut self, other: Self) {
        self.add(other.0);
    }
}

impl fmt::Display for Checksum {
    /// Sixteen hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Hashes rows of these columns. The order of columns has no effect, their names have; a null cell counts nothing, so
/// a row that never had a column is equal to one in which it is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowHash {
    columns: Vec<u64>,
}

impl RowHash {
    /// For rows of these columns, key columns included, in the order in which [`Self::row`] gets them.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        let seed = |name: &str| {
            let mut hash = Hash(0);
            hash.bytes(name.as_bytes());
            hash.0
        };
        Self {
            columns: columns.into_iter().map(seed).collect(),
        }
    }

    /// The hash of one row, for [`Checksum::add`].
    pub fn row(&self, cells: &[Option<CqlValue>]) -> u64 {
        let cells = self.columns.iter().zip(cells);
        let written = cells.filter_map(|(column, cell)| {
            let mut hash = Hash(*column);
            hash.value(cell.as_ref()?);
            Some(hash.0)
        });
        mix(written.fold(0, u64::wrapping_add))
    }
}

/// What a value is, so that an empty text is no empty blob. Stored checksums depend on these numbers.
#[derive(Debug, Clone, Copy)]
enum Tag {
    Ascii = 1,
    Bigint = 2,
    Blob = 3,
    Boolean = 4,
    Counter = 5,
    Date = 6,
    Decimal = 7,
    Double = 8,
    Duration = 9,
    Float = 10,
    Inet = 11,
    Int = 12,
    Smallint = 13,
    Text = 14,
    Time = 15,
    Timestamp = 16,
    Timeuuid = 17,
    Tinyint = 18,
    Uuid = 19,
    Varint = 20,
    List = 21,
    Set = 22,
    Map = 23,
    Tuple = 24,
    Udt = 25,
    Vector = 26,
    Custom = 27,
    Null = 28,
}

/// A running hash: each word changes all of it.
struct Hash(u64);

impl Hash {
    fn word(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn tagged(&mut self, tag: Tag, bytes: &[u8]) {
        self.word(tag as u64);
        self.bytes(bytes);
    }

    fn number(&mut self, tag: Tag, number: i64) {
        self.word(tag as u64);
        self.word(number.cast_unsigned());
    }

    fn all<'a>(&mut self, tag: Tag, items: impl ExactSizeIterator<Item = Option<&'a CqlValue>>) {
        self.number(tag, items.len().try_into().unwrap_or(i64::MAX));
        for item in items {
            match item {
                Some(value) => self.value(value),
                None => self.word(Tag::Null as u64),
            }
        }
    }

    fn value(&mut self, value: &CqlValue) {
        use CqlValue as V;
        match value {
            V::Ascii(text) => self.tagged(Tag::Ascii, text.as_bytes()),
            V::Bigint(n) => self.number(Tag::Bigint, *n),
            V::Blob(bytes) => self.tagged(Tag::Blob, bytes),
            V::Boolean(truth) => self.number(Tag::Boolean, i64::from(*truth)),
            V::Counter(n) => self.number(Tag::Counter, *n),
            V::Date(days) => self.number(Tag::Date, i64::from(*days)),
            V::Decimal { unscaled, scale } => {
                self.tagged(Tag::Decimal, unscaled);
                self.word(i64::from(*scale).cast_unsigned());
            }
            V::Double(x) => self.number(Tag::Double, x.to_bits().cast_signed()),
            V::Duration {
                months,
                days,
                nanos,
            } => {
                self.number(Tag::Duration, i64::from(*months));
                self.word(i64::from(*days).cast_unsigned());
                self.word(nanos.cast_unsigned());
            }
            V::Float(x) => self.number(Tag::Float, i64::from(x.to_bits())),
            V::Inet(std::net::IpAddr::V4(four)) => self.tagged(Tag::Inet, &four.octets()),
            V::Inet(std::net::IpAddr::V6(six)) => self.tagged(Tag::Inet, &six.octets()),
            V::Int(n) => self.number(Tag::Int, i64::from(*n)),
            V::Smallint(n) => self.number(Tag::Smallint, i64::from(*n)),
            V::Text(text) => self.tagged(Tag::Text, text.as_bytes()),
            V::Time(n) => self.number(Tag::Time, *n),
            V::Timestamp(n) => self.number(Tag::Timestamp, *n),
            V::Timeuuid(uuid) => self.tagged(Tag::Timeuuid, uuid),
            V::Tinyint(n) => self.number(Tag::Tinyint, i64::from(*n)),
            V::Uuid(uuid) => self.tagged(Tag::Uuid, uuid),
            V::Varint(bytes) => self.tagged(Tag::Varint, bytes),
            V::List(items) => self.all(Tag::List, items.iter().map(Some)),
            V::Set(items) => self.all(Tag::Set, items.iter().map(Some)),
            V::Map(pairs) => {
                self.number(Tag::Map, pairs.len().try_into().unwrap_or(i64::MAX));
                for (key, value) in pairs {
                    self.value(key);
                    self.value(value);
                }
            }
            V::Tuple(items) => self.all(Tag::Tuple, items.iter().map(Option::as_ref)),
            V::Udt(fields) => self.all(Tag::Udt, fields.iter().map(|(_, item)| item.as_ref())),
            V::Vector(items) => self.all(Tag::Vector, items.iter().map(Some)),
            V::Custom(bytes) => self.tagged(Tag::Custom, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cql::CqlType;
    use crate::seed::Seed;
    use crate::workload::values::value;
    use proptest::prelude::*;

    #[test]
    fn checksums_are_pinned() {
        // Stored checksums are compared by later versions: these numbers may never change.
        let hash = RowHash::new(["k", "v"]);
        let row = hash.row(&[
            Some(CqlValue::Int(7)),
            Some(CqlValue::Map(vec![(
                CqlValue::Text("a".into()),
                CqlValue::Tuple(vec![Some(CqlValue::Double(0.5)), None]),
            )])),
        ]);
        insta::assert_snapshot!(Checksum(row), @"
        1ad1171b787a1309
        ");
        let blobs = [&b"key"[..], &b""[..]];
        let values = blobs.map(|b| Some(CqlValue::Blob(b.to_vec())));
        insta::assert_snapshot!(Checksum(hash.row(&values)), @"
        66612aff6d3367b4
        ");
    }

    #[test]
    fn null_is_as_if_the_column_were_not_there() {
        let one = RowHash::new(["k"]).row(&[Some(CqlValue::Int(1))]);
        let two = RowHash::new(["k", "later"]).row(&[Some(CqlValue::Int(1)), None]);
        assert_eq!(one, two);
    }

    fn types() -> Vec<CqlType> {
        use CqlType as T;
        vec![
            T::Text,
            T::Bigint,
            T::Blob,
            T::Boolean,
            T::Decimal,
            T::Duration,
            T::Inet,
            T::Timeuuid,
            T::Varint,
            T::List(Box::new(T::Int)),
            T::Map(Box::new(T::Smallint), Box::new(T::Set(Box::new(T::Ascii)))),
            T::Tuple(vec![T::Float, T::Tinyint]),
            T::Vector(Box::new(T::Float), 3),
        ]
    }

    fn row(seed: u64, position: u64) -> Vec<Option<CqlValue>> {
        let types = types();
        let cells = types.iter().enumerate();
        cells
            .map(|(at, ty)| Some(value(Seed(seed), "k", "t", &format!("c{at}"), ty, position)))
            .collect()
    }

    proptest! {
        #[test]
        fn orders_do_not_matter_and_every_cell_does(seed: u64, at in 0_u64..1 << 40, cell in 0_usize..13, turn in 1_usize..13) {
            let names: Vec<String> = (0..13).map(|n| format!("c{n}")).collect();
            let hash = RowHash::new(names.iter().map(String::as_str));
            let (a, b) = (row(seed, at), row(seed, at + 1));
            let mut sum = Checksum::default();
            sum.add(hash.row(&a));
            sum.add(hash.row(&b));
            let mut other = Checksum(hash.row(&b));
            other.merge(Checksum(hash.row(&a)));
            prop_assert_eq!(sum, other);
            // Columns in another order, with their names.
            let (mut turned, mut cells) = (names.clone(), a.clone());
            turned.rotate_left(turn);
            cells.rotate_left(turn);
            prop_assert_eq!(RowHash::new(turned.iter().map(String::as_str)).row(&cells), hash.row(&a));
            // One cell gone, or in another column.
            let mut holed = a.clone();
            holed[cell] = None;
            prop_assert_ne!(hash.row(&holed), hash.row(&a));
            holed[(cell + turn) % 13] = a[cell].clone();
            prop_assert_ne!(hash.row(&holed), hash.row(&a));
        }
    }
}
