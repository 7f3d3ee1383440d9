//! What stands in a table: keys from positions, rows from keys, cells from rows.
//! Refuses to know operations: a cell is the same whoever asks for it.

use crate::cql::{CqlType, CqlValue};
use crate::dist::{Dist, RatioDist};
use crate::seed::{Seed, mix};
use crate::table::{ColumnKind, Table, TableColumn};
use crate::workload::order;
use crate::workload::profile::{ColumnSpec, Profile, Stretches};
use crate::workload::values::numbered::{is_sized, numbered};
use std::collections::{HashSet, VecDeque};

/// One column's values.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) cql_type: CqlType,
    pub(super) kind: ColumnKind,
    stream: Seed,
    size: Dist,
    population: Dist,
    cluster: Dist,
}

impl Source {
    fn new(table: &Table, column: &TableColumn, spec: &ColumnSpec, data: Seed) -> Self {
        let name = format!("{}\0{}\0{}", table.keyspace, table.name, column.name);
        Self {
            cql_type: column.cql_type.clone(),
            kind: column.kind,
            stream: data.derive(&name),
            size: spec.size.clone(),
            population: spec.population.clone(),
            cluster: spec.cluster.clone(),
        }
    }

    pub(super) fn size(&self) -> &Dist {
        &self.size
    }

    pub(super) fn cluster(&self) -> &Dist {
        &self.cluster
    }

    fn value(&self, number: i64) -> CqlValue {
        let size = if is_sized(&self.cql_type) {
            let drawn = self
                .size
                .draw(mix(self.stream.at(number.cast_unsigned()) ^ 1));
            // A key must not be empty, and an empty collection reads as null.
            let least = match (&self.cql_type, self.kind) {
                (CqlType::Ascii | CqlType::Text | CqlType::Blob, kind) => {
                    i64::from(!matches!(kind, ColumnKind::Regular | ColumnKind::Static))
                }
                _ => 1,
            };
            usize::try_from(drawn.max(least)).unwrap_or(0)
        } else {
            0
        };
        numbered(self.stream, &self.cql_type, number, size)
    }

    fn of_position(&self, position: u64) -> CqlValue {
        self.value(self.population.at(position, self.stream.at(position)))
    }

    /// Candidate `place` of a clustering column below a prefix.
    fn candidate(&self, prefix: u64, place: u64) -> CqlValue {
        let bits = mix(self.stream.0 ^ mix(prefix ^ mix(place)));
        self.value(self.population.at(place, bits))
    }

    /// How many values a clustering column has below a prefix.
    pub(super) fn count(&self, prefix: u64) -> u64 {
        let drawn = self.cluster.draw(mix(self.stream.0 ^ mix(!prefix)));
        u64::try_from(drawn).unwrap_or(0).max(1)
    }

    /// The values that a clustering column draws below a prefix, in the order of drawing; what is drawn twice is there once.
    pub(super) fn drawn(&self, prefix: u64) -> VecDeque<CqlValue> {
        let mut seen = HashSet::new();
        let places = 0..self.count(prefix);
        let values = places.map(|place| self.candidate(prefix, place));
        values.filter(|value| seen.insert(digest(value))).collect()
    }

    /// All values of a clustering column below a prefix, in the table's order.
    fn all(&self, prefix: u64) -> Vec<CqlValue> {
        let count = self.count(prefix);
        let distinct = |from: u64, to: u64, mut values: Vec<CqlValue>| {
            values.extend((from..to).map(|place| self.candidate(prefix, place)));
            values.sort_by(order::compare);
            values.dedup_by(|a, b| order::compare(a, b).is_eq());
            values
        };
        let mut values = distinct(0, count, Vec::new());
        // Where numbers came twice some more are drawn; a type or population of fewer values has fewer rows.
        let mut next = count;
        while (values.len() as u64) < count && next < count.saturating_mul(3).saturating_add(16) {
            let lacking = count - values.len() as u64;
            values = distinct(next, next + lacking, values);
            next += lacking;
        }
        if self.kind == ColumnKind::ClusteringDescending {
            values.reverse();
        }
        values
    }

    /// The cell of a row, or of a partition where the column is static.
    fn cell(&self, row: u64) -> CqlValue {
        self.value(self.population.draw(mix(self.stream.0 ^ row)))
    }
}

/// A partition's key and the number that everything in it follows from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Partition {
    pub(super) key: Vec<CqlValue>,
    pub(super) digest: u64,
    /// Which row it is about, where partitions are written in turns.
    turn: u64,
}

/// A row's key behind the partition's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowKey {
    pub(super) clustering: Vec<CqlValue>,
    pub(super) digest: u64,
}

impl RowKey {
    /// The only row of a partition without clustering columns.
    pub(super) fn of_partition(partition: &Partition) -> Self {
        Self {
            clustering: Vec::new(),
            digest: partition.digest,
        }
    }
}

/// A table and how it is filled.
#[derive(Debug, Clone)]
pub(super) struct Content {
    /// By the table's column order.
    pub(super) sources: Vec<Source>,
    pub(super) partition_columns: usize,
    pub(super) clustering_columns: usize,
    row_population: RatioDist,
    /// Shares of columns are drawn as cassandra-stress draws them.
    real_shares: bool,
    turns: Turns,
    stream: Seed,
}

/// Whose turn a position is.
#[derive(Debug, Clone)]
enum Turns {
    /// Its own: a position is a whole partition.
    None,
    /// That of so many partitions one after the other, a row each.
    Round(u64),
    /// That of the partition of a stretch, a row.
    Stretches(Stretches),
}

/// Positions of a line within which its stretches are drawn, one after the other: as many as are walked at most.
const CHUNK: u64 = 4096;

impl Content {
    pub(super) fn new(profile: &Profile, table: &Table, data: Seed, real_shares: bool) -> Self {
        let spec = |column: &TableColumn| {
            // As cassandra-stress reads them, names in any case; an exact one goes before.
            let any_case = || {
                let mut all = profile.columns.iter();
                all.find(|(name, _)| name.eq_ignore_ascii_case(&column.name))
                    .map(|(_, spec)| spec)
            };
            let named = profile.columns.get(&column.name).or_else(any_case);
            named.cloned().unwrap_or_default()
        };
        let sources: Vec<Source> = table
            .columns
            .iter()
            .map(|column| Source::new(table, column, &spec(column), data))
            .collect();
        let count = |of: &dyn Fn(ColumnKind) -> bool| sources.iter().filter(|s| of(s.kind)).count();
        Self {
            partition_columns: count(&|kind| kind == ColumnKind::Partition),
            clustering_columns: count(&|kind| kind.is_clustering()),
            row_population: profile.insert.row_population.clone(),
            real_shares,
            turns: match (&profile.insert.stretches, profile.insert.turns) {
                (Some(stretches), _) => Turns::Stretches(stretches.clone()),
                (None, Some(partitions)) => Turns::Round(partitions.max(1)),
                (None, None) => Turns::None,
            },
            stream: data.derive(&format!("{}\0{}", table.keyspace, table.name)),
            sources,
        }
    }

    pub(super) fn clustering(&self) -> &[Source] {
        &self.sources[self.partition_columns..self.partition_columns + self.clustering_columns]
    }

    /// Whether each position is one row and not a whole partition.
    pub(super) fn in_turns(&self) -> bool {
        !matches!(self.turns, Turns::None)
    }

    pub(super) fn partition(&self, position: u64) -> Partition {
        let (seed, turn) = match &self.turns {
            Turns::Round(partitions) => (position % partitions, position / partitions),
            Turns::Stretches(stretches) => (self.stretch(stretches, position), position),
            Turns::None => (position, 0),
        };
        let columns = &self.sources[..self.partition_columns];
        let key: Vec<CqlValue> = columns.iter().map(|c| c.of_position(seed)).collect();
        let digest = self.partition_digest(&key);
        Partition { key, digest, turn }
    }

    /// The number of a position's stretch, which its partition is drawn from.
    fn stretch(&self, of: &Stretches, position: u64) -> u64 {
        let (line, index) = (position % of.at_once, position / of.at_once);
        let chunk = mix(self.stream.0 ^ mix(line).rotate_left(23) ^ mix(!(index / CHUNK)));
        let (mut end, mut number) = (0, 0);
        loop {
            let bits = mix(chunk ^ number);
            let length = u64::try_from(of.length.draw(bits)).unwrap_or(1).max(1);
            end += length;
            if index % CHUNK < end {
                return mix(bits);
            }
            number += 1;
        }
    }

    pub(super) fn partition_digest(&self, key: &[CqlValue]) -> u64 {
        key.iter().fold(self.stream.0, below)
    }

    /// The number that a row's cells follow from, from its key behind the partition's.
    pub(super) fn row_digest(&self, partition: u64, clustering: &[CqlValue]) -> u64 {
        clustering.iter().fold(partition, below)
    }

    /// One row of a partition, found without the others: which one follows from `bits`. In turns it is the position's.
    pub(super) fn pick(&self, partition: &Partition, bits: u64) -> RowKey {
        let mut digest = partition.digest;
        let mut clustering = Vec::with_capacity(self.clustering_columns);
        for (level, column) in self.clustering().iter().enumerate() {
            let last = level + 1 == self.clustering_columns;
            let place = match (self.in_turns(), last) {
                (true, true) => partition.turn,
                (true, false) => 0,
                (false, _) => share(mix(bits ^ level as u64), column.count(digest)),
            };
            let value = column.candidate(digest, place);
            digest = below(digest, &value);
            clustering.push(value);
        }
        RowKey { clustering, digest }
    }

    /// About how many rows the partition has: the product of the counts along one way down.
    pub(super) fn about(&self, partition: &Partition) -> u64 {
        let mut digest = partition.digest;
        let mut rows = 1_u64;
        for column in self.clustering() {
            rows = rows.saturating_mul(column.count(digest));
            digest = below(digest, &column.candidate(digest, 0));
        }
        rows
    }

    /// The rows of the largest partition.
    pub(super) fn most_rows(&self) -> f64 {
        if self.in_turns() {
            return 1.0;
        }
        let most = |column: &Source| column.cluster.max().max(1) as f64;
        self.clustering().iter().map(most).product()
    }

    /// Every row of a partition, in the table's order; in turns the position's row alone.
    pub(super) fn rows(&self, partition: &Partition) -> Rows<'_> {
        let start = match self.clustering().first() {
            _ if self.in_turns() => Start::One(self.pick(partition, 0)),
            None => Start::One(RowKey::of_partition(partition)),
            Some(first) => Start::Many(first.all(partition.digest)),
        };
        let (once, levels) = match start {
            Start::One(row) => (Some(row), Vec::new()),
            Start::Many(values) => (
                None,
                vec![Level {
                    values: values.into_iter(),
                    digest: partition.digest,
                }],
            ),
        };
        Rows {
            content: self,
            levels,
            prefix: Vec::new(),
            once,
        }
    }

    /// How many of a row's regular columns are written: the first ones.
    pub(super) fn written(&self, row: u64) -> usize {
        let regular = self.sources.len() - self.first_regular();
        let bits = mix(row ^ self.stream.0);
        let ratio = match self.real_shares {
            true => self.row_population.draw_real(bits),
            false => self.row_population.draw(bits),
        };
        let ratio = ratio.clamp(0.0, 1.0);
        // The smallest doubt of a division must not cost a column.
        (ratio * regular as f64 + 1e-9) as usize
    }

    pub(super) fn first_regular(&self) -> usize {
        let keys = self.partition_columns + self.clustering_columns;
        let is_static = |source: &&Source| source.kind == ColumnKind::Static;
        keys + self.sources[keys..].iter().filter(is_static).count()
    }

    /// The cell of a column that is no key; none where the row does not write it or its type has no values.
    pub(super) fn cell(&self, column: usize, partition: u64, row: u64) -> Option<CqlValue> {
        let source = &self.sources[column];
        if matches!(source.cql_type, CqlType::Custom(_)) {
            return None;
        }
        if source.kind == ColumnKind::Static {
            return Some(source.cell(partition));
        }
        let place = column - self.first_regular();
        (place < self.written(row)).then(|| source.cell(row))
    }

    /// Whether a row writes this column.
    pub(super) fn is_written(&self, column: usize, row: &RowKey) -> bool {
        let first = self.first_regular();
        column < first || column - first < self.written(row.digest)
    }

    /// A column's value in a row, whether it is written or not; none where its type has no values.
    pub(super) fn value(
        &self,
        column: usize,
        partition: &Partition,
        row: &RowKey,
    ) -> Option<CqlValue> {
        let keys = self.partition_columns;
        if column < keys {
            return partition.key.get(column).cloned();
        }
        if column < keys + self.clustering_columns {
            return row.clustering.get(column - keys).cloned();
        }
        let source = &self.sources[column];
        let from = match source.kind {
            ColumnKind::Static => partition.digest,
            _ => row.digest,
        };
        (!matches!(source.cql_type, CqlType::Custom(_))).then(|| source.cell(from))
    }

    /// All of a row, by the table's column order.
    pub(super) fn row(&self, partition: &Partition, row: &RowKey) -> Vec<Option<CqlValue>> {
        let keys = partition.key.iter().chain(&row.clustering).cloned();
        let from = self.partition_columns + self.clustering_columns;
        let cells = (from..self.sources.len()).map(|c| self.cell(c, partition.digest, row.digest));
        keys.map(Some).chain(cells).collect()
    }
}

enum Start {
    One(RowKey),
    Many(Vec<CqlValue>),
}

/// A clustering column's values that are still to come, and what they stand below.
struct Level {
    values: std::vec::IntoIter<CqlValue>,
    digest: u64,
}

/// The rows of a partition, one after the other; as much is held as one way down has values.
pub(super) struct Rows<'a> {
    content: &'a Content,
    levels: Vec<Level>,
    prefix: Vec<CqlValue>,
    once: Option<RowKey>,
}

impl Iterator for Rows<'_> {
    type Item = RowKey;

    fn next(&mut self) -> Option<RowKey> {
        if let Some(only) = self.once.take() {
            return Some(only);
        }
        loop {
            let depth = self.levels.len();
            let level = self.levels.last_mut()?;
            self.prefix.truncate(depth - 1);
            let Some(value) = level.values.next() else {
                self.levels.pop();
                continue;
            };
            let digest = below(level.digest, &value);
            self.prefix.push(value);
            match self.content.clustering().get(depth) {
                None => {
                    let clustering = self.prefix.clone();
                    return Some(RowKey { clustering, digest });
                }
                Some(column) => self.levels.push(Level {
                    values: column.all(digest).into_iter(),
                    digest,
                }),
            }
        }
    }
}

/// One of `0..count`, from random bits.
pub(super) fn share(bits: u64, count: u64) -> u64 {
    u64::try_from((u128::from(bits) * u128::from(count)) >> 64).unwrap_or(0)
}

/// The number of what stands below a prefix by this value.
pub(super) fn below(prefix: u64, value: &CqlValue) -> u64 {
    mix(prefix.rotate_left(17) ^ digest(value))
}

/// A number for a value; equal values have equal ones, whoever made them.
pub(super) fn digest(value: &CqlValue) -> u64 {
    use CqlValue as V;
    let each = |kind: u64, values: &mut dyn Iterator<Item = u64>| {
        values.fold(mix(kind), |all, one| mix(all.rotate_left(9) ^ one))
    };
    let nullable = |value: &Option<CqlValue>| value.as_ref().map_or(7, digest);
    match value {
        V::Ascii(text) | V::Text(text) => of_bytes(1, text.as_bytes()),
        V::Blob(bytes) | V::Custom(bytes) => of_bytes(2, bytes),
        V::Bigint(n) | V::Counter(n) | V::Time(n) | V::Timestamp(n) => mix(n.cast_unsigned()),
        V::Int(n) => mix(i64::from(*n).cast_unsigned()),
        V::Smallint(n) => mix(i64::from(*n).cast_unsigned()),
        V::Tinyint(n) => mix(i64::from(*n).cast_unsigned()),
        V::Date(n) => mix(u64::from(*n)),
        V::Boolean(b) => mix(u64::from(*b)),
        V::Double(x) => mix(x.to_bits()),
        V::Float(x) => mix(u64::from(x.to_bits())),
        V::Decimal { unscaled, scale } => of_bytes(i64::from(*scale).cast_unsigned(), unscaled),
        V::Varint(bytes) => of_bytes(3, bytes),
        V::Duration {
            months,
            days,
            nanos,
        } => {
            let parts = [i64::from(*months), i64::from(*days), *nanos];
            each(4, &mut parts.iter().map(|n| mix(n.cast_unsigned())))
        }
        V::Inet(std::net::IpAddr::V4(four)) => of_bytes(4, &four.octets()),
        V::Inet(std::net::IpAddr::V6(six)) => of_bytes(6, &six.octets()),
        V::Timeuuid(bytes) | V::Uuid(bytes) => of_bytes(5, bytes),
        V::List(all) | V::Set(all) | V::Vector(all) => each(5, &mut all.iter().map(digest)),
        V::Map(all) => each(6, &mut all.iter().flat_map(|(k, v)| [digest(k), digest(v)])),
        V::Tuple(all) => each(7, &mut all.iter().map(nullable)),
        V::Udt(all) => each(8, &mut all.iter().map(|(_, field)| nullable(field))),
    }
}

fn of_bytes(kind: u64, bytes: &[u8]) -> u64 {
    let start = mix(kind ^ (bytes.len() as u64) << 8);
    bytes.chunks(8).fold(start, |all, eight| {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        mix(all ^ u64::from_le_bytes(word))
    })
}
