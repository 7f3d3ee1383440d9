//! The rows of a table, or of pieces of it, span by span, with their count and checksum.
//! Refuses to give a span twice: what was read of it before a trouble is thrown away.

use super::engine::{self, Reading, ScanEvent, Task};
use super::line::{FIRST_ROWS, Halt, Line};
use super::{Gentleness, ScanError, ScanPlace, ScanTable};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use helenus_cql::ClientError;
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::ingest::Writing;
use helenus_model::scan::{Piece, Span, Way};
use helenus_model::workload::checksum::{Checksum, RowHash};
use std::collections::BTreeMap;
use std::io;

/// What came of a read.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRead {
    /// Whether all of it was read: not where the person has interrupted it.
    pub complete: bool,
    /// Requests to the nodes.
    pub requests: u64,
    /// What went wrong on the way and was read again, by kind.
    pub troubles: BTreeMap<&'static str, u64>,
}

/// The rows of a span, read to its end.
#[derive(Debug)]
pub struct SpanRows<R> {
    /// The span.
    pub span: Span,
    /// How many.
    pub count: u64,
    /// What was gathered of them.
    pub rows: R,
    /// Their checksum.
    pub checksum: Checksum,
}

/// How rows are gathered before they are written.
pub trait Gathering: Sync {
    /// Rows.
    type Rows: Send;

    /// No rows.
    fn empty(&self) -> Self::Rows;

    /// Appends a row.
    fn put(&self, row: &[Option<CqlValue>], rows: &mut Self::Rows);
}

impl Gathering for Writing {
    type Rows = Vec<u8>;

    fn empty(&self) -> Vec<u8> {
        Vec::new()
    }

    fn put(&self, row: &[Option<CqlValue>], rows: &mut Vec<u8>) {
        self.put_row(row, rows);
    }
}

/// What a span gave.
struct Found<R> {
    count: u64,
    rows: R,
    checksum: Checksum,
}

/// The question, as a statement.
struct Unloading<'a, G> {
    statement: String,
    gathering: &'a G,
    hash: RowHash,
}

impl<G: Gathering> Reading for Unloading<'_, G> {
    type Found = Found<G::Rows>;

    fn statements(&self) -> Vec<String> {
        vec![self.statement.clone()]
    }

    fn way(&self) -> Way {
        Way::Paged
    }

    fn first_page(&self) -> u32 {
        FIRST_ROWS
    }

    fn read(&self, line: &mut Line<'_>, span: Span, way: Way) -> Result<Self::Found, Halt> {
        let mut found = Found {
            count: 0,
            rows: self.gathering.empty(),
            checksum: Checksum::default(),
        };
        line.read(0, span, way, |prepared, page| {
            found.count += page.row_count as u64;
            for row in page.rows(page.columns.as_deref().unwrap_or(&prepared.columns))? {
                found.checksum.add(self.hash.row(&row));
                self.gathering.put(&row, &mut found.rows);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn rows(found: &Self::Found) -> u64 {
        found.count
    }
}

/// The types of a table's columns, as the server says them.
///
/// # Errors
/// The server does not answer, or knows a column no longer.
pub fn types(
    place: &ScanPlace,
    table: &ScanTable,
    columns: &[String],
) -> Result<Vec<(String, CqlType)>, ClusterError> {
    let silent = |source: ClientError| ClusterError::silent(place.address(0).to_string(), source);
    let mut client = place.connect(0).map_err(silent)?;
    let statement = table.select(&ScanTable::list(columns));
    let prepared = client.prepare(&statement).map_err(silent)?;
    let columns = prepared.columns.into_iter();
    Ok(columns.map(|column| (column.name, column.ty)).collect())
}

/// Gives the rows of pieces of a table to `sink`, span by span and in no order.
///
/// # Errors
/// A span that cannot be read, or `sink` takes no more.
pub fn unload<G: Gathering>(
    place: &ScanPlace,
    table: &ScanTable,
    (columns, gathering): (&[String], &G),
    (left, gentleness): (Vec<Piece>, Gentleness),
    sink: &mut (dyn FnMut(SpanRows<G::Rows>) -> io::Result<()> + Send),
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<TableRead, ClusterError> {
    let reading = Unloading {
        statement: table.select(&ScanTable::list(columns)),
        gathering,
        hash: RowHash::new(columns.iter().map(String::as_str)),
    };
    let task = Task {
        place,
        nodes: table.nodes.iter().map(|(address, _)| *address).collect(),
        left,
        rows_before: 0,
        gentleness,
        cancel,
    };
    let mut taking = |piece: Piece, found: Found<G::Rows>| {
        let rows = SpanRows {
            span: piece.span,
            count: found.count,
            rows: found.rows,
            checksum: found.checksum,
        };
        sink(rows).map_err(|source| ScanError::Unwritten { source })?;
        Ok(Vec::new())
    };
    let ended = engine::run(&task, &reading, &mut taking, events)?;
    Ok(TableRead {
        complete: ended.complete,
        requests: ended.requests,
        troubles: ended.troubles,
    })
}
