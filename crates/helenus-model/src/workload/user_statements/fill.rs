//! What a bind marker gets at a position.
//! Refuses to invent columns: a marker that stands for none gets values of its own, of the type that the server wants.

use super::write::Writes;
use super::{Answered, Segment};
use crate::cql::tokens::TokenKind;
use crate::cql::{CqlType, CqlValue};
use crate::seed::{Seed, mix};
use crate::table::Table;
use crate::workload::maker::markers::{Marked, Part, Reader, Slot};
use crate::workload::maker::query::{LIMIT, TIMESTAMP, TTL, part_of};
use crate::workload::operation::Bound;
use crate::workload::values::Column;

/// Values that `IN ?` asks for: those of the row and of the positions that follow it.
const SEVERAL: u64 = 3;

/// Where the values of a column come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// A value for each row.
    Stream(Column, CqlType),
    /// The same in every row.
    Constant(CqlValue),
}

impl Source {
    pub(super) fn value(&self, row: u64) -> CqlValue {
        match self {
            Self::Stream(column, of) => column.value(of, row),
            Self::Constant(value) => value.clone(),
        }
    }

    /// Rows until its values come again, as a power of two.
    pub(super) fn bits(&self) -> u32 {
        match self {
            Self::Stream(_, of) => bits(of),
            Self::Constant(_) => 0,
        }
    }
}

/// As [`Column`] makes values: different ones at so many positions, as a power of two.
fn bits(of: &CqlType) -> u32 {
    use CqlType as T;
    match of {
        T::Ascii | T::Bigint | T::Blob | T::Text | T::Uuid | T::Varint | T::Custom(_) => 64,
        T::Boolean | T::Counter => 0,
        T::Date => 15,
        T::Decimal => 48,
        T::Double => 53,
        T::Float => 24,
        T::Duration => 46,
        T::Inet => 25,
        T::Int => 32,
        T::Smallint => 16,
        T::Tinyint => 8,
        T::Time => 46,
        T::Timestamp => 40,
        T::Timeuuid => 50,
        T::List(of) | T::Set(of) | T::Vector(of, _) | T::Map(of, _) => bits(of),
        T::Tuple(all) => all.iter().map(bits).max().unwrap_or(0),
        T::Udt { fields, .. } => fields.iter().map(|(_, of)| bits(of)).max().unwrap_or(0),
    }
}

/// The row that a position is about, where only so many differ.
pub(super) fn row(position: u64, bits: u32) -> u64 {
    match bits {
        64.. => position,
        bits => position & ((1 << bits) - 1),
    }
}

/// What a marker gets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fill {
    pub(super) what: What,
    /// Rows that differ, as a power of two.
    pub(super) row_bits: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Value(Source),
    Part(Source, Part),
    /// The keys of a map, to take them away.
    Keys(Source),
    Several(Vec<Source>),
    Tuple(Vec<Source>),
    Limit,
    Ttl,
    Timestamp,
    Token,
    Index,
    Json(Vec<(String, Source)>),
}

impl Fill {
    pub(super) fn bound(&self, position: u64) -> Bound {
        let row = row(position, self.row_bits);
        let tuple = |all: &[Source], row: u64| match all {
            [one] => one.value(row),
            all => CqlValue::Tuple(all.iter().map(|source| Some(source.value(row))).collect()),
        };
        Bound::Value(match &self.what {
            What::Value(source) => source.value(row),
            What::Part(source, part) => match part_of(source.value(row), part, mix(row)) {
                Some(value) => value,
                None => return Bound::Unset,
            },
            What::Keys(source) => match source.value(row) {
                CqlValue::Map(pairs) => CqlValue::Set(pairs.into_iter().map(|(k, _)| k).collect()),
                other => other,
            },
            What::Several(all) => {
                let mut found: Vec<CqlValue> = Vec::new();
                for next in 0..SEVERAL {
                    let one = tuple(all, self::row(position.wrapping_add(next), self.row_bits));
                    if !found.contains(&one) {
                        found.push(one);
                    }
                }
                CqlValue::List(found)
            }
            What::Tuple(all) => {
                CqlValue::Tuple(all.iter().map(|source| Some(source.value(row))).collect())
            }
            What::Limit => CqlValue::Int(LIMIT),
            What::Ttl => CqlValue::Int(TTL),
            What::Index => CqlValue::Int(0),
            What::Timestamp => {
                let after = (position & 0xffff_ffff_ffff).cast_signed();
                CqlValue::Bigint(TIMESTAMP.wrapping_add(after))
            }
            What::Token => CqlValue::Bigint(mix(position ^ !1).cast_signed()),
            What::Json(all) => {
                let each = all.iter();
                let each = each.map(|(key, source)| (key.clone(), source.value(row).json()));
                let object: serde_json::Map<_, _> = each.collect();
                CqlValue::Text(serde_json::Value::Object(object).to_string())
            }
        })
    }
}

/// Fills the markers of a statement, or of one in a batch.
pub(super) struct Filler<'a> {
    data: Seed,
    segment: &'a Segment<'a>,
    answered: &'a Answered,
    writes: &'a Writes,
}

impl<'a> Filler<'a> {
    pub(super) fn new(
        data: Seed,
        segment: &'a Segment<'a>,
        answered: &'a Answered,
        writes: &'a Writes,
    ) -> Self {
        Self {
            data,
            segment,
            answered,
            writes,
        }
    }

    /// One for each marker.
    pub(super) fn fills(&self) -> Vec<Fill> {
        let markers = self.segment.tokens.iter();
        let markers = markers.filter(|token| token.kind == TokenKind::Marker);
        let marked = match self.segment.known {
            Some(known) => Reader::new(&known.table, self.segment.text).marked(),
            None => vec![None; markers.clone().count()],
        };
        let row_bits = self.row_bits();
        let nothing = (String::new(), CqlType::Int);
        let mut named: Vec<(&str, &CqlType, What)> = Vec::new();
        let mut found = Vec::new();
        for (number, (token, marked)) in markers.zip(&marked).enumerate() {
            let number = self.segment.first + number;
            let (name, of) = self.answered.markers.get(number).unwrap_or(&nothing);
            // A name that comes twice is one value.
            let twice = named
                .iter()
                .find(|(seen, its, _)| !token.text.is_empty() && *seen == token.text && *its == of);
            let what = match twice {
                Some((_, _, what)) => what.clone(),
                None => self.what(marked.as_ref(), (number, name), of),
            };
            named.push((&token.text, of, what.clone()));
            found.push(Fill { what, row_bits });
        }
        found
    }

    fn row_bits(&self) -> u32 {
        let table = self.segment.known.map(|known| &known.table);
        let kept = table.and_then(|table| self.writes.of_or_only(table));
        kept.map_or(64, |kept| kept.row_bits)
    }

    fn what(&self, marked: Option<&Marked>, server: (usize, &str), of: &CqlType) -> What {
        let known = self.segment.known.map(|known| &known.table);
        let understood = known
            .zip(marked)
            .and_then(|(table, marked)| self.understood(table, marked, of));
        understood.unwrap_or_else(|| match server.1 {
            "[limit]" | "[per_partition_limit]" => What::Limit,
            "[ttl]" => What::Ttl,
            "[timestamp]" => What::Timestamp,
            name => {
                // A table that nobody knows: the server's name of the marker is its column.
                let plain = known.is_none() && !name.is_empty() && !name.contains(['[', '(', ' ']);
                let own = format!("\0marker {}", server.0);
                let name = if plain { name } else { &own };
                let table = super::clauses::table(&self.segment.tokens).unwrap_or_default();
                let column = Column::new(self.data, &table.0, &table.1, name);
                What::Value(Source::Stream(column, of.clone()))
            }
        })
    }

    fn understood(&self, table: &Table, marked: &Marked, of: &CqlType) -> Option<What> {
        let source = |place: &usize| self.writes.source(table, *place);
        Some(match &marked.slot {
            Slot::Column(place, Part::Whole) => {
                let column = &table.columns[*place].cql_type;
                match (column, of) {
                    _ if column == of => What::Value(source(place)),
                    (CqlType::Map(..), CqlType::Set(_)) => What::Keys(source(place)),
                    _ => return None,
                }
            }
            Slot::Column(place, part) => What::Part(source(place), part.clone()),
            Slot::Several(places) => What::Several(places.iter().map(source).collect()),
            Slot::Tuple(places) => What::Tuple(places.iter().map(source).collect()),
            Slot::Limit => What::Limit,
            Slot::Ttl => What::Ttl,
            Slot::Timestamp => What::Timestamp,
            Slot::Token => What::Token,
            Slot::Index => What::Index,
            Slot::Json(columns) => {
                let each = columns.iter();
                What::Json(each.map(|(p, key)| (key.clone(), source(p))).collect())
            }
        })
    }
}
