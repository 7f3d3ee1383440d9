//! Sorted runs, in memory and on disk, merged into partitions and rows; of two writes to one column the later one stays.
//! Refuses a run that ends early.

use super::sort::{Batch, Part, Record, number, part};
use fs_err::File;
use helenus_model::ring::murmur3_token;
use helenus_sstable::{Cell, Row};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Take};
use std::path::Path;
use std::sync::Arc;

/// Bytes of a run that are read at once: of a billion rows two hundred runs are open, each twice.
const READ_BYTES: usize = 128 << 10;

/// Who takes what is merged, in the order of the table.
pub(super) trait Sink {
    /// The next partition, with its static row.
    fn partition(&mut self, token: i64, key: &[u8], statics: Option<Row<'_>>) -> io::Result<()>;
    /// A row of it.
    fn row(&mut self, clustering: &[u8], row: Row<'_>) -> io::Result<()>;
}

/// A sorted run, at one of its records.
#[derive(Debug)]
pub(super) enum Run {
    Memory {
        batch: Arc<Batch>,
        entry: usize,
        partition: u32,
        /// Behind the last partition.
        end: u32,
    },
    File(FileRun),
}

/// A run on disk.
#[derive(Debug)]
pub(super) struct FileRun {
    file: BufReader<Take<File>>,
    key: Option<(i64, Vec<u8>)>,
    /// Records of the partition behind this one.
    left: u64,
    order: Vec<u8>,
    body: Vec<u8>,
    has_record: bool,
}

impl Run {
    /// A part of a sorted batch.
    pub(super) fn of(batch: Arc<Batch>, part: Part) -> Self {
        let (partitions, entry) = batch.within(part);
        Self::Memory {
            batch,
            entry,
            partition: partitions.start,
            end: partitions.end,
        }
    }

    /// A file that [`Batch::spill`] wrote, from one byte up to another or to its end.
    pub(super) fn open(path: &Path, (from, to): (u64, Option<u64>)) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let file = file.take(to.map_or(u64::MAX, |to| to.saturating_sub(from)));
        let mut run = FileRun {
            file: BufReader::with_capacity(READ_BYTES, file),
            key: None,
            left: 0,
            order: Vec::new(),
            body: Vec::new(),
            has_record: false,
        };
        run.next_partition()?;
        Ok(Self::File(run))
    }

    fn key(&self) -> Option<(i64, &[u8])> {
        match self {
            Self::Memory {
                batch,
                partition,
                end,
                ..
            } => batch.key(*partition).filter(|_| partition < end),
            Self::File(run) => run.key.as_ref().map(|(token, key)| (*token, &**key)),
        }
    }

    /// The record that it is at, of the open partition.
    fn record(&self) -> Option<Record<'_>> {
        match self {
            Self::Memory {
                batch,
                entry,
                partition,
                ..
            } => {
                let entry = batch.entry(*entry)?;
                (entry.partition == *partition).then(|| batch.record(entry))
            }
            Self::File(run) => run.has_record.then_some(Record {
                order: &run.order,
                body: &run.body,
            }),
        }
    }

    fn next(&mut self) -> io::Result<()> {
        match self {
            Self::Memory { entry, .. } => {
                *entry += 1;
                Ok(())
            }
            Self::File(run) => run.next(),
        }
    }

    /// Once no record of the open partition is left.
    fn next_partition(&mut self) -> io::Result<()> {
        match self {
            Self::Memory { partition, .. } => {
                *partition += 1;
                Ok(())
            }
            Self::File(run) => run.next_partition(),
        }
    }
}

impl FileRun {
    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 9];
        self.file.read_exact(&mut bytes[..1])?;
        let extra = bytes[0].leading_ones() as usize;
        self.file.read_exact(&mut bytes[1..=extra])?;
        Ok(number(&mut &bytes[..=extra]))
    }

    fn fill(file: &mut impl Read, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
        /// Nothing in a run is longer; a damaged length shall not take the memory.
        const MOST: u64 = 1 << 30;
        if length > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        into.resize(usize::try_from(length).unwrap_or(0), 0);
        file.read_exact(into)
    }

    fn next(&mut self) -> io::Result<()> {
        self.has_record = self.left > 0;
        if self.has_record {
            self.left -= 1;
            let lengths = (self.number()?, self.number()?);
            Self::fill(&mut self.file, lengths.0, &mut self.order)?;
            Self::fill(&mut self.file, lengths.1, &mut self.body)?;
        }
        Ok(())
    }

    fn next_partition(&mut self) -> io::Result<()> {
        use std::io::BufRead as _;
        if self.file.fill_buf()?.is_empty() {
            self.key = None;
            return Ok(());
        }
        let length = self.number()?;
        let mut key = self.key.take().map_or_else(Vec::new, |(_, key)| key);
        Self::fill(&mut self.file, length, &mut key)?;
        self.key = Some((murmur3_token(&key), key));
        self.left = self.number()?;
        self.next()
    }
}

/// Merges all runs; the earlier run has the earlier rows.
pub(super) fn merge(mut runs: Vec<Run>, sink: &mut dyn Sink) -> io::Result<()> {
    let mut key = Vec::new();
    let mut group = Group::default();
    loop {
        let Some((token, least)) = runs.iter().filter_map(Run::key).min() else {
            return Ok(());
        };
        key.clear();
        key.extend_from_slice(least);
        let of = |run: &Run| run.key() == Some((token, &*key));
        let mut members: Vec<usize> = (0..runs.len()).filter(|at| of(&runs[*at])).collect();
        group.open(token);
        // The members by the records that they are at, those of equal records by their number.
        let order = |runs: &[Run], a: usize, b: usize| {
            let record = |at: usize| runs[at].record().map(|record| record.order);
            record(a).cmp(&record(b)).then(a.cmp(&b))
        };
        members.sort_by(|a, b| order(&runs, *a, *b));
        while let Some(&first) = members.first() {
            if let Some(record) = runs[first].record() {
                group.take(record, &key, sink)?;
                runs[first].next()?;
                if runs[first].record().is_some() {
                    // It moves back to its place among the others.
                    let mut at = 0;
                    while at + 1 < members.len()
                        && order(&runs, members[at], members[at + 1]).is_gt()
                    {
                        members.swap(at, at + 1);
                        at += 1;
                    }
                    continue;
                }
            }
            members.remove(0);
            runs[first].next_partition()?;
        }
        group.end(&key, sink)?;
    }
}

/// Records of one place, until the next place comes.
#[derive(Debug, Default)]
struct Group {
    token: i64,
    /// Whether the sink knows of the partition.
    is_open: bool,
    order: Vec<u8>,
    bodies: Vec<Vec<u8>>,
    used: usize,
    statics: Vec<Vec<u8>>,
}

impl Group {
    fn open(&mut self, token: i64) {
        self.token = token;
        self.is_open = false;
        self.used = 0;
        self.statics.clear();
    }

    fn take(&mut self, record: Record<'_>, key: &[u8], sink: &mut dyn Sink) -> io::Result<()> {
        if self.used > 0 && *self.order != *record.order {
            self.flush(key, sink)?;
        }
        if self.used == 0 {
            self.order.clear();
            self.order.extend_from_slice(record.order);
        }
        if self.bodies.len() == self.used {
            self.bodies.push(Vec::new());
        }
        let body = &mut self.bodies[self.used];
        body.clear();
        body.extend_from_slice(record.body);
        self.used += 1;
        Ok(())
    }

    fn flush(&mut self, key: &[u8], sink: &mut dyn Sink) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        if used == 0 {
            return Ok(());
        }
        if Record::is_static(&self.order) {
            self.statics.extend(self.bodies.drain(..used));
            return Ok(());
        }
        self.announce(key, sink)?;
        let (clustering, timestamp_us, cells) = latest(&self.bodies[..used]);
        let row = Row {
            timestamp_us,
            cells: &cells,
        };
        sink.row(clustering, row)
    }

    fn announce(&mut self, key: &[u8], sink: &mut dyn Sink) -> io::Result<()> {
        if self.is_open {
            return Ok(());
        }
        self.is_open = true;
        if self.statics.is_empty() {
            return sink.partition(self.token, key, None);
        }
        let (_, timestamp_us, cells) = latest(&self.statics);
        let row = Row {
            timestamp_us,
            cells: &cells,
        };
        sink.partition(self.token, key, Some(row))
    }

    fn end(&mut self, key: &[u8], sink: &mut dyn Sink) -> io::Result<()> {
        self.flush(key, sink)?;
        self.announce(key, sink)
    }
}

/// What stays of several writes to one row: its clustering, the latest time, and each column's latest value; of equal times
/// the greater value, as Cassandra has it.
fn latest(bodies: &[Vec<u8>]) -> (&[u8], i64, Vec<Cell<'_>>) {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    let (mut clustering, mut latest) = (&[][..], i64::MIN);
    for (at, body) in bodies.iter().enumerate() {
        let mut rest = &**body;
        clustering = part(&mut rest);
        let (time, after) = rest.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        rest = after;
        let timestamp_us = i64::from_be_bytes(*time);
        latest = latest.max(timestamp_us);
        let mut there = number(&mut rest);
        while there != 0 {
            let cell = Cell {
                column: there.trailing_zeros() as usize,
                timestamp_us,
                value: part(&mut rest),
            };
            there &= there - 1;
            if at == 0 {
                cells.push(cell);
                continue;
            }
            match cells.binary_search_by_key(&cell.column, |cell| cell.column) {
                Err(place) => cells.insert(place, cell),
                Ok(place) => {
                    let held = &mut cells[place];
                    if (held.timestamp_us, held.value) < (timestamp_us, cell.value) {
                        *held = cell;
                    }
                }
            }
        }
    }
    (clustering, latest, cells)
}
