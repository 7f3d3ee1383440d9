//! What statements of one's own write into each table: the source of every column, and what makes rows uncertain.
//! Refuses to know more than the text says: a call, an expression or a collection's element is not known.

use super::clauses::{self, Assignment, Value, Verb, has, verb};
use super::fill::{Fill, Filler, Source, What};
use super::{Answered, Segment};
use crate::cql::tokens::{Token, TokenKind};
use crate::cql::{CqlType, CqlValue};
use crate::seed::Seed;
use crate::table::{ColumnKind, Table};
use crate::workload::values::Column;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of this many bits do not come twice by chance, whoever else has written into the table.
pub(super) const WIDE: u32 = 48;

/// All that is written.
#[derive(Debug, Clone)]
pub(super) struct Writes {
    data: Seed,
    tables: Vec<Kept>,
}

/// What is written into a table.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) table: Table,
    /// By place of the column.
    pub(super) sources: BTreeMap<usize, Source>,
    /// Columns that are written in ways that are not known.
    pub(super) loose: BTreeSet<usize>,
    /// Rows may be gone, or lack cells.
    pub(super) takes: bool,
    /// Whether a write leaves a row there for sure.
    pub(super) leaves: bool,
    /// A row that was there before stays as it was.
    pub(super) keeps_older: bool,
    /// Rows that differ, as a power of two.
    pub(super) row_bits: u32,
    /// Partitions that differ.
    pub(super) partition_bits: u32,
    /// Whether nothing of the key differs from row to row, as far as it is known.
    pub(super) keyless: bool,
}

impl Kept {
    /// Whether each row has a partition for itself.
    pub(super) fn row_is_partition(&self) -> bool {
        self.partition_bits >= self.row_bits
    }

    /// The source of a column whose cells are known for sure; none of counters, and of what several rows share.
    pub(super) fn firm(&self, place: usize) -> Option<&Source> {
        let column = &self.table.columns[place];
        let shared = column.kind == ColumnKind::Static && !self.row_is_partition();
        let countless = !matches!(column.cql_type, CqlType::Counter | CqlType::Custom(_));
        let older = self.keeps_older && !column.kind.is_key() && self.row_bits < WIDE;
        let source = self.sources.get(&place)?;
        let last_wins = self.keyless && matches!(source, Source::Stream(..));
        let known = countless && !shared && !older && !last_wins && !self.loose.contains(&place);
        known.then_some(source)
    }
}

impl Writes {
    pub(super) fn new(data: Seed) -> Self {
        let tables = Vec::new();
        Self { data, tables }
    }

    /// What is written into this table.
    pub(super) fn of(&self, table: &Table) -> Option<&Kept> {
        self.tables.iter().find(|kept| {
            let its = &kept.table;
            its.keyspace == table.keyspace && its.name == table.name
        })
    }

    /// The same, or the only one that is written at all: a view of it has its columns.
    pub(super) fn of_or_only(&self, table: &Table) -> Option<&Kept> {
        let only = || match &self.tables[..] {
            [only] => Some(only),
            _ => None,
        };
        self.of(table).or_else(only)
    }

    /// What a column of a table gets: what is written into it, and a stream of its own where nobody knows.
    pub(super) fn source(&self, table: &Table, place: usize) -> Source {
        let column = &table.columns[place];
        let kept = self.of_or_only(table);
        let written = kept.and_then(|kept| {
            let place = kept.table.place(&column.name)?;
            let same = kept.table.columns[place].cql_type == column.cql_type;
            kept.sources.get(&place).filter(|_| same)
        });
        written
            .cloned()
            .unwrap_or_else(|| self.stream(table, place))
    }

    fn stream(&self, table: &Table, place: usize) -> Source {
        let column = &table.columns[place];
        let stream = Column::new(self.data, &table.keyspace, &table.name, &column.name);
        Source::Stream(stream, column.cql_type.clone())
    }

    /// Learns what a statement writes.
    pub(super) fn take(&mut self, segment: &Segment<'_>, answered: &Answered) {
        let does = verb(&segment.tokens);
        let (Some(known), true) = (segment.known, does != Verb::Other) else {
            return;
        };
        let own = Self::new(self.data);
        let fills = Filler::new(self.data, segment, answered, &own).fills();
        let table = &known.table;
        let mut found = Kept::of_statement(segment, does, table, &fills, self);
        found.takes |= known.expires;
        match self.tables.iter_mut().find(|kept| kept.table == *table) {
            Some(kept) => kept.merge(found),
            None => self.tables.push(found),
        }
        for kept in &mut self.tables {
            kept.count();
        }
    }
}

impl Kept {
    fn of_statement(
        segment: &Segment<'_>,
        does: Verb,
        table: &Table,
        fills: &[Fill],
        writes: &Writes,
    ) -> Self {
        let words = &segment.tokens;
        let mut kept = Self {
            table: table.clone(),
            sources: BTreeMap::new(),
            loose: BTreeSet::new(),
            takes: does == Verb::Delete || timed(words),
            leaves: false,
            keeps_older: has(words, "if"),
            row_bits: 64,
            partition_bits: 64,
            keyless: false,
        };
        if does == Verb::Delete {
            return kept;
        }
        let json = fills.iter().any(|fill| matches!(fill.what, What::Json(_)));
        match clauses::assignments(words) {
            Some(all) => all.iter().for_each(|one| kept.assign(one, fills)),
            None if json => {
                for place in 0..table.columns.len() {
                    kept.sources.insert(place, writes.stream(table, place));
                }
            }
            None => kept.loose = (0..table.columns.len()).collect(),
        }
        let regular = |place: &usize| table.columns[*place].kind == ColumnKind::Regular;
        kept.leaves = match does {
            // A row without any cell is there all the same.
            Verb::Insert => true,
            _ => kept.sources.keys().any(regular) && !kept.keeps_older,
        };
        kept
    }

    fn assign(&mut self, one: &Assignment, fills: &[Fill]) {
        let Some(place) = self.table.place(&one.column) else {
            return;
        };
        let of = &self.table.columns[place].cql_type;
        let source = match &one.value {
            Value::Marker(number) => match fills.get(*number).map(|fill| &fill.what) {
                Some(What::Value(Source::Stream(stream, its))) if its == of => {
                    Some(Source::Stream(*stream, its.clone()))
                }
                _ => None,
            },
            Value::Literal(minus, token) => literal(*minus, token, of).map(Source::Constant),
            Value::Other => None,
        };
        if let Some(source) = source {
            self.sources.insert(place, source);
        } else {
            self.loose.insert(place);
        }
    }

    /// Adds what another statement writes into the same table.
    fn merge(&mut self, other: Self) {
        for (place, source) in other.sources {
            let its = self.sources.entry(place).or_insert_with(|| source.clone());
            if *its != source {
                self.loose.insert(place);
            }
        }
        self.loose.extend(other.loose);
        self.takes |= other.takes;
        self.leaves |= other.leaves;
        self.keeps_older |= other.keeps_older;
    }

    /// How many rows and partitions differ.
    fn count(&mut self) {
        let widest = |wanted: &dyn Fn(ColumnKind) -> bool| {
            let columns = self.table.columns.iter().enumerate();
            let keys = columns.filter(|(_, column)| wanted(column.kind));
            let streams = keys.filter_map(|(place, _)| match self.sources.get(&place)? {
                Source::Constant(_) => None,
                source => Some(source.bits()),
            });
            streams.max()
        };
        let whole = widest(&|kind| kind.is_key());
        self.keyless = whole.is_none();
        self.row_bits = whole.unwrap_or(64);
        self.partition_bits = widest(&|kind| kind == ColumnKind::Partition).unwrap_or(0);
    }
}

/// Whether rows expire, or may be older than what took them away.
fn timed(words: &[Token]) -> bool {
    let pairs = words.windows(2);
    let mut pairs = pairs.filter(|two| two[0].is("using") || two[0].is("and"));
    pairs.any(|two| two[1].is("ttl") || two[1].is("timestamp"))
}

/// A literal as a value of a type; none where that takes more than its word.
pub(super) fn literal(minus: bool, token: &Token, of: &CqlType) -> Option<CqlValue> {
    use CqlValue as V;
    let text = match minus {
        true => format!("-{}", token.text),
        false => token.text.clone(),
    };
    match (token.kind, of) {
        (TokenKind::Text, CqlType::Text) => Some(V::Text(text)),
        (TokenKind::Text, CqlType::Ascii) => Some(V::Ascii(text)),
        (TokenKind::Word, CqlType::Boolean) => text.parse().ok().map(V::Boolean),
        (TokenKind::Number, CqlType::Tinyint) => text.parse().ok().map(V::Tinyint),
        (TokenKind::Number, CqlType::Smallint) => text.parse().ok().map(V::Smallint),
        (TokenKind::Number, CqlType::Int) => text.parse().ok().map(V::Int),
        (TokenKind::Number, CqlType::Bigint) => text.parse().ok().map(V::Bigint),
        (TokenKind::Number, CqlType::Double) => text.parse().ok().map(V::Double),
        (TokenKind::Number, CqlType::Float) => text.parse().ok().map(V::Float),
        _ => None,
    }
}
