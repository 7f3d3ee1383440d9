//! Rows as records in memory, sorted by partition and clustering, and runs of them on disk.
//! Refuses to hold more than its share of memory: what is full becomes a run.

use super::shape::Shape;
use fs_err::File;
use helenus_cql::codec::vint::{unsigned_length, write_unsigned};
use helenus_model::ingest::Mapping;
use helenus_model::ingest::journal::{RunHalf, RunMark};
use helenus_model::ring::{composite_key, murmur3_token};
use helenus_sstable::{Clustering, NotComparable, comparable};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::path::Path;

/// A row of a run: where its record is, and what it is sorted by first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) partition: u32,
    at: u32,
    prefix: u64,
}

/// What a record's order begins with, so that static rows come first.
const STATIC: u8 = 0;
const ROW: u8 = 1;

/// Least and greatest value of each clustering column: what compares, and the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    least: Vec<(Vec<u8>, Vec<u8>)>,
    greatest: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Bounds {
    fn add(&mut self, column: usize, order: &[u8], value: &[u8]) {
        let pair = || (order.to_vec(), value.to_vec());
        if self.least.len() <= column {
            self.least.push(pair());
            self.greatest.push(pair());
            return;
        }
        if *order < *self.least[column].0 {
            self.least[column] = pair();
        }
        if *order > *self.greatest[column].0 {
            self.greatest[column] = pair();
        }
    }

    /// Those of several batches.
    pub(super) fn all(all: &[Self]) -> Self {
        let mut bounds = Self::default();
        for one in all {
            for (column, (order, value)) in one.least.iter().enumerate() {
                bounds.add(column, order, value);
            }
            for (column, (order, value)) in one.greatest.iter().enumerate() {
                bounds.add(column, order, value);
            }
        }
        bounds
    }

    /// The values alone.
    pub(super) fn values(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let values =
            |bounds: &[(Vec<u8>, Vec<u8>)]| bounds.iter().map(|(_, v)| v.clone()).collect();
        (values(&self.least), values(&self.greatest))
    }
}

/// Rows in memory.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Tokens and keys, in the order in which they came.
    keys: Vec<(i64, Vec<u8>)>,
    numbers: HashMap<Vec<u8>, u32>,
    entries: Vec<Entry>,
    /// Records: the length of what is sorted by, that, then the rest; see [`Record`].
    records: Vec<u8>,
    bounds: Bounds,
    least_us: Option<i64>,
    order: Vec<u8>,
    clustering: Vec<u8>,
}

impl Batch {
    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let keys: usize = self.keys.len() * 160;
        self.records.len() + self.entries.len() * size_of::<Entry>() + keys
    }

    /// Rows and static rows.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What the journal keeps of it.
    pub(super) fn mark(&self) -> RunMark {
        RunMark {
            partitions: self.keys.len() as u64,
            least_us: self.least_us.unwrap_or(i64::MAX),
            half: None,
        }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The number of a partition, whose key is `cells` of the targets.
    pub(super) fn partition(&mut self, shape: &Shape, cells: &[Option<&[u8]>]) -> u32 {
        let mut values = shape
            .partition
            .iter()
            .map(|at| cells[*at].unwrap_or_default());
        let key = match shape.partition.len() {
            1 => values.next().unwrap_or_default().to_vec(),
            _ => composite_key(values),
        };
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push((murmur3_token(&key), key.clone()));
        self.numbers.insert(key, number);
        number
    }

    /// Adds a row of a partition, and its static row where it has one.
    pub(super) fn add(
        &mut self,
        (shape, mapping): (&Shape, &Mapping),
        partition: u32,
        cells: &[Option<&[u8]>],
        timestamp_us: i64,
    ) -> Result<(), NotComparable> {
        self.least_us = Some(
            self.least_us
                .map_or(timestamp_us, |us| us.min(timestamp_us)),
        );
        if shape.statics.iter().any(|at| cells[*at].is_some()) {
            self.order.clear();
            self.order.push(STATIC);
            self.clustering.clear();
            self.push(&shape.statics, (partition, cells), timestamp_us);
        }
        self.order.clear();
        self.order.push(ROW);
        for (column, (at, descending)) in shape.clustering.iter().enumerate() {
            let value = cells[*at].unwrap_or_default();
            let from = self.order.len();
            comparable(
                &mapping.targets[*at].ty,
                value,
                *descending,
                &mut self.order,
            )?;
            self.bounds.add(column, &self.order[from..], value);
        }
        self.clustering.clear();
        let values = shape
            .clustering
            .iter()
            .map(|(at, _)| cells[*at].unwrap_or_default());
        Clustering::encode(&shape.layout, values, &mut self.clustering);
        self.push(&shape.regulars, (partition, cells), timestamp_us);
        Ok(())
    }

    fn push(
        &mut self,
        columns: &[usize],
        (partition, cells): (u32, &[Option<&[u8]>]),
        timestamp_us: i64,
    ) {
        let there = columns.iter().enumerate();
        let there = there.filter(|(_, at)| cells[**at].is_some());
        let there = there.fold(0_u64, |bits, (place, _)| bits | 1 << place);
        let values = || columns.iter().filter_map(|at| cells[*at]);
        let sizes = values().map(|value| unsigned_length(value.len() as u64) + value.len());
        let body = unsigned_length(self.clustering.len() as u64)
            + self.clustering.len()
            + size_of::<i64>()
            + unsigned_length(there)
            + sizes.sum::<usize>();
        let at = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let mut prefix = [0; 8];
        let length = self.order.len().min(8);
        prefix[..length].copy_from_slice(&self.order[..length]);
        self.entries.push(Entry {
            partition,
            at,
            prefix: u64::from_be_bytes(prefix),
        });
        let out = &mut self.records;
        write_unsigned(self.order.len() as u64, out);
        out.extend_from_slice(&self.order);
        write_unsigned(body as u64, out);
        write_unsigned(self.clustering.len() as u64, out);
        out.extend_from_slice(&self.clustering);
        out.extend_from_slice(&timestamp_us.to_be_bytes());
        write_unsigned(there, out);
        for value in values() {
            write_unsigned(value.len() as u64, out);
            out.extend_from_slice(value);
        }
    }

    /// Sorts; rows of one place stay in the order in which they came.
    pub(super) fn sort(&mut self) {
        let mut by_key: Vec<u32> =
            (0..u32::try_from(self.keys.len()).unwrap_or(u32::MAX)).collect();
        by_key.sort_unstable_by(|a, b| self.keys[*a as usize].cmp(&self.keys[*b as usize]));
        let mut ranks = vec![0; by_key.len()];
        for (rank, number) in (0_u32..).zip(&by_key) {
            ranks[*number as usize] = rank;
        }
        for entry in &mut self.entries {
            entry.partition = ranks[entry.partition as usize];
        }
        let mut keys = std::mem::take(&mut self.keys);
        self.keys = by_key
            .iter()
            .map(|number| std::mem::take(&mut keys[*number as usize]))
            .collect();
        self.numbers = HashMap::new();
        let records = &self.records;
        self.entries.sort_by(|a, b| {
            (a.partition, a.prefix)
                .cmp(&(b.partition, b.prefix))
                .then_with(|| record(records, a).order.cmp(record(records, b).order))
        });
    }

    /// Token and key of a partition of a sorted batch.
    pub(super) fn key(&self, partition: u32) -> Option<(i64, &[u8])> {
        let (token, key) = self.keys.get(partition as usize)?;
        Some((*token, key))
    }

    pub(super) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    pub(super) fn record(&self, entry: &Entry) -> Record<'_> {
        record(&self.records, entry)
    }

    /// The token that halves the rows of a sorted batch: those from here on are about as many as those before.
    pub(super) fn middle(&self) -> Option<i64> {
        let entry = self.entry(self.entries.len() / 2)?;
        Some(self.key(entry.partition)?.0)
    }

    /// The partitions of a sorted batch that a part has, and the first of their entries.
    pub(super) fn within(&self, part: Part) -> (Range<u32>, usize) {
        let all = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let before = |half: i64| {
            let keys = self.keys.partition_point(|(token, _)| *token < half);
            u32::try_from(keys).unwrap_or(u32::MAX)
        };
        let partitions = match part {
            Part::All => 0..all,
            Part::Below(half) => 0..before(half),
            Part::From(half) => before(half)..all,
        };
        let first = partitions.start;
        let entry = self
            .entries
            .partition_point(|entry| entry.partition < first);
        (partitions, entry)
    }

    /// The second half of a sorted batch that stays in memory.
    pub(super) fn half(&self, half: i64) -> RunHalf {
        let (partitions, _) = self.within(Part::From(half));
        RunHalf {
            offset: 0,
            partitions: partitions.len() as u64,
        }
    }

    /// Writes a sorted batch as a run: each partition's key and its records, each behind its length. Where the second half
    /// begins, if `half` says by which token.
    pub(super) fn spill(&self, path: &Path, half: Option<i64>) -> io::Result<Option<RunHalf>> {
        let new = path.with_extension("new");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&new)?);
        let (mut at, mut offset) = (0, 0);
        let mut second = None;
        let mut head = Vec::new();
        for (number, (token, key)) in (0_u32..).zip(&self.keys) {
            if second.is_none() && half.is_some_and(|half| *token >= half) {
                second = Some(RunHalf {
                    offset,
                    partitions: (self.keys.len() as u64) - u64::from(number),
                });
            }
            let rows = self.entries[at..].partition_point(|entry| entry.partition <= number);
            head.clear();
            write_unsigned(key.len() as u64, &mut head);
            head.extend_from_slice(key);
            write_unsigned(rows as u64, &mut head);
            file.write_all(&head)?;
            offset += head.len() as u64;
            for entry in &self.entries[at..at + rows] {
                let record = self.record(entry);
                head.clear();
                write_unsigned(record.order.len() as u64, &mut head);
                write_unsigned(record.body.len() as u64, &mut head);
                file.write_all(&head)?;
                file.write_all(record.order)?;
                file.write_all(record.body)?;
                offset += (head.len() + record.order.len() + record.body.len()) as u64;
            }
            at += rows;
        }
        file.flush()?;
        fs_err::rename(new, path)?;
        let none = RunHalf {
            offset,
            partitions: 0,
        };
        Ok(half.map(|_| second.unwrap_or(none)))
    }
}

/// Which tokens: all, those below one, or the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    Below(i64),
    From(i64),
}

impl Part {
    /// The partitions of a run that are its own.
    pub(super) fn partitions(self, mark: &RunMark) -> u64 {
        let second = mark.half.map_or(0, |half| half.partitions);
        match self {
            Self::All => mark.partitions,
            Self::Below(_) => mark.partitions - second,
            Self::From(_) => second,
        }
    }

    /// The bytes of a run that are its own: from where, and up to where.
    pub(super) fn bytes(self, mark: &RunMark) -> (u64, Option<u64>) {
        match (self, mark.half) {
            (Self::Below(_), Some(half)) => (0, Some(half.offset)),
            (Self::From(_), Some(half)) => (half.offset, None),
            _ => (0, None),
        }
    }
}

/// A row or a static row: what it is sorted by, and the rest.
///
/// The rest: the length of its clustering and that, as it stands in an SSTable; its time in eight bytes; a bit for each
/// column that it has; their values, each behind its length. Lengths and bits are vints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) order: &'a [u8],
    pub(super) body: &'a [u8],
}

impl Record<'_> {
    /// Whether it is that of a static row, by what it is sorted by.
    pub(super) fn is_static(order: &[u8]) -> bool {
        order.first() == Some(&STATIC)
    }
}

fn record<'a>(records: &'a [u8], entry: &Entry) -> Record<'a> {
    let mut rest = records.get(entry.at as usize..).unwrap_or_default();
    let order = part(&mut rest);
    Record {
        order,
        body: part(&mut rest),
    }
}

/// The part behind its length.
pub(super) fn part<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let length = usize::try_from(number(rest)).unwrap_or(usize::MAX);
    let (part, after) = rest.split_at_checked(length).unwrap_or_default();
    *rest = after;
    part
}

/// An unsigned vint.
pub(super) fn number(rest: &mut &[u8]) -> u64 {
    let Some((first, after)) = rest.split_first() else {
        return 0;
    };
    let extra = first.leading_ones() as usize;
    let (more, after) = after.split_at_checked(extra).unwrap_or_default();
    *rest = after;
    let own = if extra >= 7 {
        0
    } else {
        u64::from(first & (0xff >> extra))
    };
    more.iter().fold(own, |n, byte| n << 8 | u64::from(*byte))
}
