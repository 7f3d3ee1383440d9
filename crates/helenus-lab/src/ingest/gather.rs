//! Rows into packages: encoded, dated, and gathered by partition; a chunk of them at a time.
//! Refuses to reorder across chunks: a chunk is done when all of its packages are.

use super::walk::{Step, walk};
use super::{IngestError, LoadRequest};
use helenus_cql::codec::value::encode_cell;
use helenus_cql::codec::wire::Write as _;
use helenus_load::rows::Package;
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::ingest::delimited::{Dialect, put_field};
use helenus_model::ingest::{LoadJournal, Place};
use helenus_model::workload::order;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Most rows of a chunk, and of bytes.
const CHUNK_ROWS: usize = 16_384;
const CHUNK_BYTES: usize = 4 << 20;

/// Most rows of a package.
const PACKAGE_ROWS: usize = 4_096;

/// What an attempt after an interrupt is dated later, in microseconds, where lists are written.
const LATER_US: i64 = 1_000;

/// Microseconds between the dates of two rows; more where lists are written, whose repeated writes are dated later. A load sends
/// fewer rows than that a second, so none is dated after its write.
const APART_US: i64 = 1;
const LISTS_APART_US: i64 = 4;

/// Rows with the place behind them.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) packages: Vec<(Package, Vec<u64>)>,
    /// Lines of the file of rejected rows.
    pub(super) rejected: Vec<Vec<u8>>,
    /// The first reason.
    pub(super) reason: Option<String>,
    pub(super) after: Place,
}

/// A line of the file of rejected rows.
pub(super) fn rejected_line(line: u64, column: &str, why: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let line = line.to_string();
    for (at, field) in [line.as_str(), column, why, text].iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_field(Some(field), &Dialect::CSV, &[], &mut out);
    }
    out.push(b'\n');
    out
}

/// Whether a value holds a set or a map, whose parts have an order. Servers put those of literals into it, those of
/// values that are bound only where no tuple and no user type is around them, and those of SSTables not at all.
fn has_order(ty: &CqlType) -> bool {
    use CqlType as T;
    match ty {
        T::Set(_) | T::Map(..) => true,
        T::List(of) | T::Vector(of, _) => has_order(of),
        T::Tuple(types) => types.iter().any(has_order),
        T::Udt { fields, .. } => fields.iter().any(|(_, ty)| has_order(ty)),
        _ => false,
    }
}

struct Gatherer<'a> {
    request: &'a LoadRequest,
    start_us: i64,
    later_us: i64,
    apart_us: i64,
    cells: Vec<Vec<u8>>,
    partition: Vec<u8>,
    /// Whether the cells are those of this record: not where its first row was rejected.
    known: bool,
    /// The package of the partition that is in hand, of this chunk.
    package: Option<usize>,
    open: HashMap<Vec<u8>, usize>,
    chunk: Chunk,
    rows: usize,
    bytes: usize,
    /// By target: whether its value has to be put into the server's order, so that both ways write the same; and whether it
    /// varies within a record.
    sorted: Vec<bool>,
    varies: Vec<bool>,
    partition_varies: bool,
}

/// Chunks that are made ahead.
const AHEAD: usize = 4;

/// The thread that reads the files and makes chunks of them.
pub(super) struct Gathering {
    /// What it makes, until it is at the end or fails.
    pub(super) chunks: Receiver<Result<Chunk, IngestError>>,
    thread: JoinHandle<()>,
}

impl Gathering {
    /// Starts at the journal's place.
    pub(super) fn start(request: &Arc<LoadRequest>, journal: &LoadJournal) -> Self {
        let (to, chunks) = sync_channel(AHEAD);
        let (request, from) = (Arc::clone(request), journal.clone());
        let thread = std::thread::spawn(move || {
            if let Err(error) = gather(&request, &from, &to) {
                let _nobody_waits = to.send(Err(error));
            }
        });
        Self { chunks, thread }
    }

    /// Waits for its end: nobody takes chunks any more, so that it has ended or does so at its next one.
    ///
    /// # Errors
    /// It has panicked, and has not read all.
    pub(super) fn end(self) -> Result<(), IngestError> {
        drop(self.chunks);
        self.thread.join().map_err(|_panic| IngestError::File {
            path: "the files".to_owned(),
            source: std::io::Error::other("the thread that reads them has panicked"),
        })
    }
}

/// Walks through the files and hands chunks over, until nobody takes them.
fn gather(
    request: &LoadRequest,
    journal: &LoadJournal,
    to: &SyncSender<Result<Chunk, IngestError>>,
) -> Result<(), IngestError> {
    let (later_us, apart_us) = match request.has_lists() {
        true => (i64::from(journal.resumed) * LATER_US, LISTS_APART_US),
        false => (0, APART_US),
    };
    let mapping = &request.mapping;
    let targets = || mapping.targets.iter();
    let varies: Vec<bool> = targets().map(|target| target.expr.varies()).collect();
    let mut gatherer = Gatherer {
        request,
        start_us: journal.start_us,
        later_us,
        apart_us,
        cells: vec![Vec::new(); request.mapping.targets.len()],
        partition: Vec::new(),
        known: false,
        package: None,
        open: HashMap::new(),
        chunk: Chunk::default(),
        rows: 0,
        bytes: 0,
        sorted: targets().map(|target| has_order(&target.ty)).collect(),
        partition_varies: mapping.partition.iter().any(|at| varies[*at]),
        varies,
    };
    let mut wanted = true;
    walk(request, journal.place, journal.start_us, &mut |step| {
        match step {
            Step::Row {
                values,
                first,
                dated,
                after,
            } => gatherer.row(values, (first, dated), after),
            Step::Rejected {
                column,
                why,
                text,
                after,
            } => gatherer.reject(after, column, why, text),
        }
        if gatherer.rows >= CHUNK_ROWS || gatherer.bytes >= CHUNK_BYTES {
            wanted = to.send(Ok(gatherer.end())).is_ok();
        }
        Ok(wanted)
    })?;
    if wanted && gatherer.rows > 0 {
        let _nobody_waits = to.send(Ok(gatherer.end()));
    }
    Ok(())
}

impl Gatherer<'_> {
    fn end(&mut self) -> Chunk {
        (self.rows, self.bytes) = (0, 0);
        self.open.clear();
        self.package = None;
        std::mem::take(&mut self.chunk)
    }

    fn reject(&mut self, after: Place, column: &str, why: &str, text: &str) {
        self.rows += 1;
        let line = rejected_line(after.line, column, why, text);
        self.bytes += line.len();
        self.chunk.rejected.push(line);
        self.chunk.reason.get_or_insert_with(|| match column {
            "" => format!("line {}: {why}", after.line),
            column => format!("line {}, {column}: {why}", after.line),
        });
        self.chunk.after = after;
    }

    fn row(
        &mut self,
        values: &[Option<CqlValue>],
        (first, dated): (bool, Option<i64>),
        after: Place,
    ) {
        const UNSET: i32 = -2;
        let mapping = &self.request.mapping;
        let whole = first || !std::mem::take(&mut self.known);
        for (at, target) in mapping.targets.iter().enumerate() {
            if !whole && !self.varies[at] {
                continue;
            }
            let cell = &mut self.cells[at];
            cell.clear();
            match &values[at] {
                // Nothing is written where a field is null: a null would be a tombstone.
                None => cell.put_i32(UNSET),
                Some(value) => {
                    let sorted = self.sorted[at].then(|| value.clone().canonical(&order::compare));
                    let value = sorted.as_ref().unwrap_or(value);
                    if let Err(error) = encode_cell(&target.ty, Some(value), cell) {
                        let name = target.name.clone();
                        self.reject(after, &name, &error.to_string(), "");
                        return;
                    }
                }
            }
        }
        self.known = true;
        if whole || self.partition_varies {
            self.partition.clear();
            for at in &mapping.partition {
                self.partition.extend_from_slice(&self.cells[*at]);
            }
            self.package = self.open.get(&self.partition).copied();
        }
        let size: usize = self.cells.iter().map(Vec::len).sum::<usize>() + 12;
        let fits = |at: &usize| {
            let (package, _) = &self.chunk.packages[*at];
            package.ends.len() < PACKAGE_ROWS
                && package.values.len() + size <= self.request.batch_bytes
        };
        let at = match self.package.filter(fits) {
            Some(at) => at,
            None => {
                let at = self.chunk.packages.len();
                self.chunk.packages.push((Package::default(), Vec::new()));
                self.open.insert(self.partition.clone(), at);
                at
            }
        };
        self.package = Some(at);
        let (package, lines) = &mut self.chunk.packages[at];
        for cell in &self.cells {
            package.values.extend_from_slice(cell);
        }
        let dated = dated.unwrap_or_else(|| {
            let rows = i64::try_from(after.rows).unwrap_or(i64::MAX);
            let since = rows.saturating_mul(self.apart_us);
            self.start_us.saturating_add(since)
        });
        package.values.put_i32(8);
        package.values.put_i64(dated.saturating_add(self.later_us));
        package.ends.push(package.values.len());
        lines.push(after.line);
        self.rows += 1;
        self.bytes += size;
        self.chunk.after = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::tests::{journal_of, request};
    use helenus_model::ingest::{Mapping, Wishes};
    use helenus_model::table::{ColumnKind, Table, TableColumn};

    fn column(name: &str, cql_type: CqlType, kind: ColumnKind) -> TableColumn {
        TableColumn {
            name: name.into(),
            cql_type,
            kind,
        }
    }

    /// Rows of packages, as their values behind each other.
    fn rows(chunks: &[Chunk]) -> Vec<Vec<u8>> {
        let packages = chunks.iter().flat_map(|chunk| &chunk.packages);
        let rows = packages.flat_map(|(package, _)| {
            let begins = [0].into_iter().chain(package.ends.iter().copied());
            begins
                .zip(&package.ends)
                .map(|(from, to)| package.values[from..*to - 12].to_vec())
        });
        rows.collect()
    }

    #[test]
    fn a_rejected_record_leaves_nothing_in_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ranges.csv");
        let text = "1,2,plain\n3,4,\u{e4}\n5,6,other\n";
        fs_err::write(&file, text).expect("writes");
        let table = Table {
            keyspace: "k".into(),
            name: "t".into(),
            columns: vec![
                column("id", CqlType::Int, ColumnKind::Partition),
                column("city", CqlType::Ascii, ColumnKind::Regular),
            ],
        };
        let wishes = Wishes {
            fields: ["from", "to", "city"].map(str::to_owned).to_vec(),
            expand: Some("id: int_range(from, to)".to_owned()),
            ..Wishes::default()
        };
        let mut request = request(&[file]);
        request.mapping = Mapping::new(&table, &wishes).expect("a mapping");
        let request = Arc::new(request);
        let gathering = Gathering::start(&request, &journal_of(&request));
        let chunks: Vec<Chunk> = gathering
            .chunks
            .iter()
            .map(|chunk| chunk.expect("a chunk"))
            .collect();
        gathering.end().expect("ends");
        let row = |id: u8, city: &str| {
            let mut row = vec![0, 0, 0, 4, 0, 0, 0, id, 0, 0, 0, 5];
            row.extend_from_slice(city.as_bytes());
            row
        };
        let wanted = [
            row(1, "plain"),
            row(2, "plain"),
            row(5, "other"),
            row(6, "other"),
        ];
        assert_eq!(rows(&chunks), wanted);
        let rejected: usize = chunks.iter().map(|chunk| chunk.rejected.len()).sum();
        // What does not vary is wrong once.
        assert_eq!(rejected, 1);
    }
    #[test]
    fn rows_with_lists_are_dated_later_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.csv");
        fs_err::write(&file, "1,[7],500\n2,[8],600\n").expect("writes");
        let list = CqlType::List(Box::new(CqlType::Int));
        let table = Table {
            keyspace: "k".into(),
            name: "t".into(),
            columns: vec![
                column("id", CqlType::Int, ColumnKind::Partition),
                column("l", list, ColumnKind::Regular),
            ],
        };
        let dates = |timestamp: Option<&str>, multi_cell: bool, resumed: u32| -> Vec<i64> {
            let wishes = Wishes {
                fields: ["id", "l", "at"].map(str::to_owned).to_vec(),
                timestamp: timestamp.map(str::to_owned),
                skipped: vec!["at".to_owned()],
                ..Wishes::default()
            };
            let mut request = request(std::slice::from_ref(&file));
            request.mapping = Mapping::new(&table, &wishes).expect("a mapping");
            request.multi_cell = vec![false, multi_cell];
            let request = Arc::new(request);
            let mut journal = journal_of(&request);
            (journal.start_us, journal.resumed) = (1_000, resumed);
            let gathering = Gathering::start(&request, &journal);
            let chunks = gathering.chunks.iter().map(|chunk| chunk.expect("a chunk"));
            let packages = chunks.flat_map(|chunk| chunk.packages);
            let mut dates = Vec::new();
            for (package, _) in packages {
                let ends = package.ends.iter();
                dates.extend(ends.map(|end| {
                    let last = package.values[end - 8..*end].first_chunk().expect("a date");
                    i64::from_be_bytes(*last)
                }));
            }
            gathering.end().expect("ends");
            dates
        };
        assert_eq!(dates(None, false, 2), [1_001, 1_002]);
        // Further apart, so that a write that is repeated does not meet the next row's.
        assert_eq!(dates(None, true, 0), [1_004, 1_008]);
        assert_eq!(dates(None, true, 2), [3_004, 3_008]);
        assert_eq!(dates(Some("at"), false, 2), [500, 600]);
        assert_eq!(dates(Some("at"), true, 2), [2_500, 2_600]);
    }
}
