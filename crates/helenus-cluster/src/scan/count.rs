//! Counts the rows of a table: the server adds up, span by span; where it cannot, rows are fetched page by page.
//! Refuses to remember every partition: the largest are kept by key, all can be reported as they come.

use super::engine::{self, Ended, Reading, ScanEvent, Task};
use super::journal::{Before, Journal};
use super::line::{FIRST_ROWS, Halt, Line};
use super::{Gentleness, ScanError, ScanPlace, ScanTable};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::wall::since_1970;
use helenus_cql::codec::value::decode_value;
use helenus_cql::codec::{ColumnSpec, DecodeError, Prepared, RowsPage};
use helenus_model::cql::CqlValue;
use helenus_model::format::Format;
use helenus_model::scan::journal::{JOURNAL, JOURNAL_VERSION, ring_digest};
use helenus_model::scan::pace::PAGE_MOST;
use helenus_model::scan::report::PartitionReport;
use helenus_model::scan::{
    CountReport, CountedSpan, JournalHead, Large, NodeCount, PartitionSizes, Piece, RangeCount,
    Span, Way, pieces,
};
use helenus_model::workload::checksum::{Checksum, RowHash};
use std::path::PathBuf;

/// Pieces that the ring is cut into at least: the lines of a count by token range.
const PIECES_LEAST: usize = 16;

/// What is asked of a table.
#[derive(Debug, Clone)]
pub struct CountRequest {
    /// Tell partitions apart; so many of the largest are kept by key.
    pub partitions: Option<usize>,
    /// Report every partition as it comes; such a count cannot be resumed.
    pub all: bool,
    /// Make the checksum: every row is fetched.
    pub checksum: bool,
    /// How hard to lean on the nodes.
    pub gentleness: Gentleness,
    /// Continue with a count that was cut off.
    pub resume: bool,
    /// Forget a count that was cut off.
    pub fresh: bool,
    /// The folder of journals.
    pub journals: PathBuf,
}

/// A count with everything that is known of it: by node, by range; by partition where that was asked for.
///
/// An interrupt ends it early: the report is not complete, and its journal stays.
///
/// # Errors
/// A span that cannot be read, or a journal that cannot be used.
pub fn count(
    place: &ScanPlace,
    table: &ScanTable,
    request: &CountRequest,
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<CountReport, ClusterError> {
    let pieces = pieces(&table.ring, PIECES_LEAST);
    let (mut journal, before) = match request.all {
        true => (
            None,
            Before {
                counted: Vec::new(),
                left: pieces.clone(),
            },
        ),
        false => {
            let path = request.journals.join(file_name(table));
            let head = head(table, request, pieces.len());
            let opened = Journal::open(&path, &head, &pieces, request.resume, request.fresh)?;
            (Some(opened.0), opened.1)
        }
    };
    let mut totals = Totals::new(request, pieces.len());
    for (counted, place) in before.counted {
        totals.add(counted, place);
    }
    let reading = Counting::new(table, request);
    let task = Task {
        place,
        nodes: table.nodes.iter().map(|(address, _)| *address).collect(),
        left: before.left,
        rows_before: totals.rows,
        gentleness: request.gentleness,
        cancel,
    };
    let mut sink = |piece: Piece, mut found: Found| {
        let partitions = std::mem::take(&mut found.all);
        let counted = found.counted(piece.span);
        if let Some(journal) = &mut journal {
            journal.append(&counted)?;
        }
        totals.add(counted, piece.place);
        Ok(partitions)
    };
    let ended = engine::run(&task, &reading, &mut sink, events);
    let complete = ended.as_ref().is_ok_and(|ended| ended.complete);
    match journal {
        Some(journal) if complete => journal.remove()?,
        Some(mut journal) => journal.sync()?,
        None => {}
    }
    let ended = ended?;
    Ok(report(table, request, &pieces, totals, &task, ended))
}

/// The journal of a table, whatever its id: a table that was made again is reported.
fn file_name(table: &ScanTable) -> String {
    let name = format!("{}.{}.{}", table.cluster_name, table.keyspace, table.table);
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).collect();
    format!("{}.jsonl", name.trim_start_matches('.'))
}

fn head(table: &ScanTable, request: &CountRequest, pieces: usize) -> JournalHead {
    JournalHead {
        format: Format::new(JOURNAL, JOURNAL_VERSION),
        cluster_name: table.cluster_name.clone(),
        table: table.name(),
        table_id: table.id.clone(),
        ring: ring_digest(&table.ring),
        consistency: request.gentleness.consistency.name().to_owned(),
        partitions: request.partitions,
        checksum: request.checksum,
        pieces,
        begun_unix: since_1970().as_secs(),
    }
}

/// What all spans come to.
struct Totals {
    rows: u64,
    checksum: Checksum,
    sizes: PartitionSizes,
    by_piece: Vec<u64>,
}

impl Totals {
    fn new(request: &CountRequest, pieces: usize) -> Self {
        Self {
            rows: 0,
            checksum: Checksum::default(),
            sizes: PartitionSizes::new(request.partitions.unwrap_or(0)),
            by_piece: vec![0; pieces],
        }
    }

    fn add(&mut self, counted: CountedSpan, place: usize) {
        self.rows += counted.rows;
        self.by_piece[place] += counted.rows;
        self.checksum.add(counted.checksum.unwrap_or_default());
        if let Some(sizes) = counted.sizes {
            self.sizes.merge(sizes);
        }
    }
}

/// What a span gave.
struct Found {
    rows: u64,
    checksum: Option<Checksum>,
    sizes: Option<PartitionSizes>,
    all: Vec<Large>,
}

impl Found {
    fn counted(self, span: Span) -> CountedSpan {
        CountedSpan {
            span,
            rows: self.rows,
            checksum: self.checksum.map(|sum| sum.0),
            sizes: self.sizes,
        }
    }
}

/// The question, as statements.
struct Counting {
    key_columns: usize,
    partitions: Option<usize>,
    all: bool,
    hash: Option<RowHash>,
    statements: [String; 2],
}

/// Places of the statements.
const ADDED_UP: usize = 0;
const ROW_BY_ROW: usize = 1;

impl Counting {
    fn new(table: &ScanTable, request: &CountRequest) -> Self {
        let key = ScanTable::list(&table.partition_key);
        let by_partition = request.partitions.is_some() || request.all;
        let added_up = match by_partition {
            true => format!(
                "{} GROUP BY {key}",
                table.select(&format!("{key}, count(*)"))
            ),
            false => table.select("count(*)"),
        };
        let row_by_row = match (request.checksum, by_partition) {
            (true, _) => table.select(&ScanTable::list(&table.columns)),
            (false, true) => table.select(&key),
            (false, false) => table.select(&ScanTable::list(&table.partition_key[..1])),
        };
        Self {
            key_columns: table.partition_key.len(),
            partitions: by_partition.then(|| request.partitions.unwrap_or(0)),
            all: request.all,
            hash: request
                .checksum
                .then(|| RowHash::new(table.columns.iter().map(String::as_str))),
            statements: [added_up, row_by_row],
        }
    }

    /// What the server has added up: one row, or one a partition.
    fn added_up(
        &self,
        prepared: &Prepared,
        page: &RowsPage,
        found: &mut Found,
        grouped: &mut Partition,
    ) -> Result<(), ScanError> {
        let mut cells = page.cells();
        for _ in 0..page.row_count {
            let key: Vec<Option<&[u8]>> = cells.by_ref().take(page.column_count - 1).collect();
            let rows = number(cells.next().flatten());
            found.rows += rows;
            if self.partitions.is_some() {
                grouped.next(&key, rows, |partition| {
                    self.note_partition(prepared, partition, found)
                })?;
            }
        }
        Ok(())
    }

    /// Rows as they are.
    fn row_by_row(
        &self,
        prepared: &Prepared,
        page: &RowsPage,
        found: &mut Found,
        grouped: &mut Partition,
    ) -> Result<(), ScanError> {
        found.rows += page.row_count as u64;
        if self.partitions.is_some() {
            let mut cells = page.cells();
            for _ in 0..page.row_count {
                let key: Vec<Option<&[u8]>> = cells.by_ref().take(self.key_columns).collect();
                cells
                    .by_ref()
                    .take(page.column_count - self.key_columns)
                    .for_each(drop);
                grouped.next(&key, 1, |partition| {
                    self.note_partition(prepared, partition, found)
                })?;
            }
        }
        if let (Some(hash), Some(sum)) = (&self.hash, &mut found.checksum) {
            for row in page.rows(page.columns.as_deref().unwrap_or(&prepared.columns))? {
                sum.add(hash.row(&row));
            }
        }
        Ok(())
    }

    /// A partition that is complete.
    fn note_partition(
        &self,
        prepared: &Prepared,
        partition: &Partition,
        found: &mut Found,
    ) -> Result<(), ScanError> {
        let key = || decoded(&prepared.columns, &partition.key);
        if self.all {
            found.all.push(Large {
                rows: partition.rows,
                key: key()?,
            });
        }
        let mut failed = None;
        if let Some(sizes) = &mut found.sizes {
            sizes.add(partition.rows, || {
                key().unwrap_or_else(|error| {
                    failed = Some(error);
                    Vec::new()
                })
            });
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// The number in a cell of `count(*)`.
fn number(cell: Option<&[u8]>) -> u64 {
    let bytes = cell.and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_be_bytes)
}

fn decoded(
    columns: &[ColumnSpec],
    key: &[Option<Vec<u8>>],
) -> Result<Vec<Option<CqlValue>>, DecodeError> {
    let cells = columns.iter().zip(key);
    cells
        .map(|(column, bytes)| match bytes {
            Some(bytes) => decode_value(&column.ty, bytes),
            None => Ok(None),
        })
        .collect()
}

/// The partition whose rows come now.
#[derive(Debug, Default)]
struct Partition {
    key: Vec<Option<Vec<u8>>>,
    rows: u64,
}

impl Partition {
    /// More rows of this key; `ended` gets what was there before when the key is another.
    fn next(
        &mut self,
        key: &[Option<&[u8]>],
        rows: u64,
        ended: impl FnOnce(&Self) -> Result<(), ScanError>,
    ) -> Result<(), ScanError> {
        let same = self.key.len() == key.len()
            && self.key.iter().zip(key).all(|(a, b)| a.as_deref() == *b);
        if !same {
            if self.rows > 0 {
                ended(self)?;
            }
            self.key = key.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
            self.rows = 0;
        }
        self.rows += rows;
        Ok(())
    }
}

impl Reading for Counting {
    type Found = Found;

    fn statements(&self) -> Vec<String> {
        self.statements.to_vec()
    }

    fn way(&self) -> Way {
        if self.hash.is_some() {
            Way::Paged
        } else {
            Way::Whole
        }
    }

    fn first_page(&self) -> u32 {
        if self.hash.is_some() {
            FIRST_ROWS
        } else {
            PAGE_MOST
        }
    }

    fn read(&self, line: &mut Line<'_>, span: Span, way: Way) -> Result<Found, Halt> {
        let mut found = Found {
            rows: 0,
            checksum: self.hash.as_ref().map(|_| Checksum::default()),
            sizes: self.partitions.map(PartitionSizes::new),
            all: Vec::new(),
        };
        let mut grouped = Partition::default();
        let mut last = None;
        let statement = match way {
            Way::Whole => ADDED_UP,
            Way::Paged => ROW_BY_ROW,
        };
        line.read(statement, span, way, |prepared, page| {
            if last.is_none() {
                last = Some(prepared.clone());
            }
            match way {
                Way::Whole => self.added_up(prepared, page, &mut found, &mut grouped),
                Way::Paged => self.row_by_row(prepared, page, &mut found, &mut grouped),
            }
        })?;
        if let Some(prepared) = last.filter(|_| grouped.rows > 0) {
            self.note_partition(&prepared, &grouped, &mut found)?;
        }
        Ok(found)
    }

    fn rows(found: &Found) -> u64 {
        found.rows
    }
}

fn report(
    table: &ScanTable,
    request: &CountRequest,
    pieces: &[Piece],
    totals: Totals,
    task: &Task<'_>,
    ended: Ended,
) -> CountReport {
    let share = ended.progress.share;
    CountReport {
        format: Format::new("count", 1),
        cluster_name: table.cluster_name.clone(),
        keyspace: table.keyspace.clone(),
        table: table.table.clone(),
        consistency: request.gentleness.consistency.name().to_owned(),
        rows: totals.rows,
        complete: ended.complete,
        share,
        seconds: ended.progress.seconds,
        resumed_rows: task.rows_before,
        requests: ended.requests,
        troubles: ended.troubles,
        checksum: request.checksum.then(|| totals.checksum.to_string()),
        nodes: Some(by_node(table, pieces, &totals.by_piece)),
        ranges: Some(by_range(table, pieces, &totals.by_piece)),
        partitions: request.partitions.map(|_| PartitionReport {
            key: table.partition_key.clone(),
            sizes: totals.sizes,
        }),
    }
}

fn by_node(table: &ScanTable, pieces: &[Piece], rows: &[u64]) -> Vec<NodeCount> {
    let of = |(node, (address, data_center)): (usize, &(std::net::IpAddr, String))| {
        let own = pieces
            .iter()
            .zip(rows)
            .filter(|(piece, _)| piece.node == node);
        NodeCount {
            address: address.to_string(),
            data_center: data_center.clone(),
            ranges: table.ring.primary_ranges(node).len(),
            share: own.clone().map(|(piece, _)| piece.span.share()).sum(),
            rows: own.map(|(_, rows)| rows).sum(),
        }
    };
    table.nodes.iter().enumerate().map(of).collect()
}

fn by_range(table: &ScanTable, pieces: &[Piece], rows: &[u64]) -> Vec<RangeCount> {
    let of = |(piece, rows): (&Piece, &u64)| RangeCount {
        start: piece.span.start,
        end: piece.span.end,
        node: table.nodes[piece.node].0.to_string(),
        rows: *rows,
    };
    pieces.iter().zip(rows).map(of).collect()
}
