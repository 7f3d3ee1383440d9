//! Unloads a table: every row as text, span by span, with the count and the checksum of what was written.
//! Refuses to write a span twice: what was read of it before a trouble is thrown away.

use super::engine::{self, Reading, ScanEvent, Task};
use super::line::{FIRST_ROWS, Halt, Line};
use super::{Gentleness, ScanError, ScanPlace, ScanTable};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use helenus_model::format::Format;
use helenus_model::ingest::Writing;
use helenus_model::scan::{Piece, Span, Way, pieces};
use helenus_model::workload::checksum::{Checksum, RowHash};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
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
    /// Bytes that were written.
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

/// What a span gave.
struct Found {
    rows: u64,
    text: Vec<u8>,
    checksum: Checksum,
}

/// The question, as a statement.
struct Unloading<'a> {
    statement: String,
    writing: &'a Writing,
    hash: RowHash,
}

impl Reading for Unloading<'_> {
    type Found = Found;

    fn statements(&self) -> Vec<String> {
        vec![self.statement.clone()]
    }

    fn way(&self) -> Way {
        Way::Paged
    }

    fn first_page(&self) -> u32 {
        FIRST_ROWS
    }

    fn read(&self, line: &mut Line<'_>, span: Span, way: Way) -> Result<Found, Halt> {
        let mut found = Found {
            rows: 0,
            text: Vec::new(),
            checksum: Checksum::default(),
        };
        line.read(0, span, way, |prepared, page| {
            found.rows += page.row_count as u64;
            for row in page.rows(page.columns.as_deref().unwrap_or(&prepared.columns))? {
                found.checksum.add(self.hash.row(&row));
                self.writing.put_row(&row, &mut found.text);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn rows(found: &Found) -> u64 {
        found.rows
    }
}

/// Writes the rows of a table into `out`, in no order; none where the person has interrupted it.
///
/// # Errors
/// A span that cannot be read, or `out` takes no more.
pub fn unload(
    place: &ScanPlace,
    table: &ScanTable,
    (columns, writing): (&[String], &Writing),
    gentleness: Gentleness,
    out: &mut (dyn Write + Send),
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Option<Unloaded>, ClusterError> {
    let reading = Unloading {
        statement: table.select(&ScanTable::list(columns)),
        writing,
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
    let mut head = Vec::new();
    writing.put_header(columns, &mut head);
    put(out, &head)?;
    let (mut bytes, mut checksum) = (head.len() as u64, Checksum::default());
    let mut sink = |_: Piece, found: Found| {
        put(out, &found.text)?;
        bytes += found.text.len() as u64;
        checksum.add(found.checksum.0);
        Ok(Vec::new())
    };
    let ended = engine::run(&task, &reading, &mut sink, events)?;
    Ok(ended.complete.then(|| Unloaded {
        format: Format::new("unload", 1),
        table: table.name(),
        columns: columns.to_vec(),
        file: None,
        rows: ended.progress.rows,
        bytes,
        checksum: checksum.to_string(),
        seconds: ended.progress.seconds,
        requests: ended.requests,
        troubles: ended.troubles,
    }))
}

fn put(out: &mut (dyn Write + Send), bytes: &[u8]) -> Result<(), ScanError> {
    out.write_all(bytes)
        .map_err(|source: io::Error| ScanError::Unwritten { source })
}
