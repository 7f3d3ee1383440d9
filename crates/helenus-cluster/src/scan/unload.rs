//! Unloads a table: every row, span by span, with the count and the checksum of what was written.
//! Refuses to write a span twice: what was read of it before a trouble is thrown away.

use super::engine::{self, Reading, ScanEvent, Task};
use super::line::{FIRST_ROWS, Halt, Line};
use super::{Gentleness, ScanError, ScanPlace, ScanTable};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use helenus_cql::ClientError;
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::format::Format;
use helenus_model::ingest::Writing;
use helenus_model::scan::{Piece, Span, Way, pieces};
use helenus_model::workload::checksum::{Checksum, RowHash};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Pieces that the ring is cut into at least.
const PIECES_LEAST: usize = 16;

/// What an unload has written, `helenus.unload/1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unloaded {
    /// `helenus.unload/1`.
    pub format: Format,
    /// The table.
    pub table: String,
    /// Columns, in the order of a row's fields.
    pub columns: Vec<String>,
    /// The file; none is standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Rows that were written.
    pub rows: u64,
    /// Bytes of the file; to standard output, those that were written.
    pub bytes: u64,
    /// Checksum of the rows, over the columns that were written: that of `count --checksum` where they are all.
    pub checksum: String,
    /// Seconds that it took.
    pub seconds: f64,
    /// Requests to the nodes.
    pub requests: u64,
    /// What went wrong on the way and was read again, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<&'static str, u64>,
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

/// Gives the rows of a table to `sink`, in no order; none where the person has interrupted it.
///
/// # Errors
/// A span that cannot be read, or `sink` takes no more.
pub fn unload<G: Gathering>(
    place: &ScanPlace,
    table: &ScanTable,
    (columns, gathering): (&[String], &G),
    gentleness: Gentleness,
    sink: &mut (dyn FnMut(G::Rows) -> io::Result<()> + Send),
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Option<Unloaded>, ClusterError> {
    let reading = Unloading {
        statement: table.select(&ScanTable::list(columns)),
        gathering,
        hash: RowHash::new(columns.iter().map(String::as_str)),
    };
    let task = Task {
        place,
        nodes: table.nodes.iter().map(|(address, _)| *address).collect(),
        left: pieces(&table.ring, PIECES_LEAST),
        rows_before: 0,
        gentleness,
        cancel,
    };
    let mut checksum = Checksum::default();
    let mut taking = |_: Piece, found: Found<G::Rows>| {
        sink(found.rows).map_err(|source| ScanError::Unwritten { source })?;
        checksum.add(found.checksum.0);
        Ok(Vec::new())
    };
    let ended = engine::run(&task, &reading, &mut taking, events)?;
    Ok(ended.complete.then(|| Unloaded {
        format: Format::new("unload", 1),
        table: table.name(),
        columns: columns.to_vec(),
        file: None,
        rows: ended.progress.rows,
        bytes: 0,
        checksum: checksum.to_string(),
        seconds: ended.progress.seconds,
        requests: ended.requests,
        troubles: ended.troubles,
    }))
}
