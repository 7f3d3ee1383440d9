//! Reads a whole table back and compares it with what a workload must have written.
//! Refuses to stop at the first difference: it names some and counts all.
//!
//! One scan of the ring finds what is missing, what is wrong, and what nobody wrote. The positions of the workload are
//! sorted by the tokens of their keys (16 bytes each, so many at a time), and walked beside the rows that come.

use super::engine::{self, Reading, ScanEvent, Task};
use super::line::{FIRST_ROWS, Halt, Line};
use super::{Gentleness, ScanError, ScanPlace, ScanTable};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use helenus_cql::codec::value::encode_value;
use helenus_cql::codec::{EncodeError, Prepared, RowsPage};
use helenus_model::ring::{composite_key, murmur3_token};
use helenus_model::scan::{Piece, ScanProgress, Span, Way, pieces};
use helenus_model::workload::checksum::RowHash;
use helenus_model::workload::expected::Expected;
use helenus_model::workload::findings::{Comparing, Findings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Positions that are sorted at a time: 128 MiB. A larger population is checked in several parts of the ring.
pub const POSITIONS_MOST: u64 = 8 << 20;

/// Pieces that the ring is cut into at least.
const PIECES_LEAST: usize = 16;

/// Between two words on how many keys are computed.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Positions between two looks at the person's wish to stop.
const LOOK_EVERY: u64 = 1_024;

/// A token and a position whose key has it.
type Placed = (i64, u64);

/// What is checked.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Positions 0 up to this one were written.
    pub population: u64,
    /// Differences of each kind that are named.
    pub keep: usize,
    /// Positions that are sorted at a time.
    pub positions_most: u64,
    /// How hard to lean on the nodes.
    pub gentleness: Gentleness,
}

/// What the check of a table has found.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// The cluster's own name.
    pub cluster_name: String,
    /// Keyspace.
    pub keyspace: String,
    /// Table.
    pub table: String,
    /// Positions that were written.
    pub population: u64,
    /// Consistency level of the reads.
    pub consistency: String,
    /// Whether the whole ring was read.
    pub complete: bool,
    /// Share of the ring that was read, from 0 to 1.
    pub share: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were asked again, by what had gone wrong.
    pub troubles: BTreeMap<&'static str, u64>,
    /// What was found.
    #[serde(flatten)]
    pub findings: Findings,
}

/// Checks one table. An interrupt ends it early: the report is not complete.
///
/// # Errors
/// The table lacks a column, or a span cannot be read.
pub fn check(
    place: &ScanPlace,
    table: &ScanTable,
    expected: &Expected,
    request: &CheckRequest,
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<CheckReport, ClusterError> {
    let begin = std::time::Instant::now();
    let most = request.positions_most.max(1);
    let passes = usize::try_from(request.population.div_ceil(most).max(1)).unwrap_or(usize::MAX);
    let pieces = pieces(&table.ring, PIECES_LEAST.max(passes));
    let mut report = CheckReport {
        cluster_name: table.cluster_name.clone(),
        keyspace: table.keyspace.clone(),
        table: table.table.clone(),
        population: request.population,
        consistency: request.gentleness.consistency.name().to_owned(),
        complete: true,
        share: 0.0,
        seconds: 0.0,
        requests: 0,
        troubles: BTreeMap::new(),
        findings: Findings::new(request.keep),
    };
    let parts = Parts {
        place,
        table,
        expected,
        request,
        cancel,
    };
    for left in pieces.chunks(pieces.len().div_ceil(passes)) {
        if cancel.is_set() {
            report.complete = false;
            break;
        }
        parts.check(left, &mut report, events)?;
    }
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// What the parts of a check share.
struct Parts<'a> {
    place: &'a ScanPlace,
    table: &'a ScanTable,
    expected: &'a Expected,
    request: &'a CheckRequest,
    cancel: &'a Cancel,
}

impl Parts<'_> {
    /// One part of the ring, with the positions whose keys lie in it.
    fn check(
        &self,
        left: &[Piece],
        report: &mut CheckReport,
        events: &mut dyn FnMut(ScanEvent),
    ) -> Result<(), ClusterError> {
        let Self {
            table,
            expected,
            request,
            ..
        } = *self;
        let positions = placed(expected, request.population, left, self.cancel, events)
            .map_err(ScanError::from)?;
        if self.cancel.is_set() {
            // Not all positions are known: rows of the others would count as foreign.
            report.complete = false;
            return Ok(());
        }
        let columns: Vec<String> = expected
            .table()
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let checking = Checking {
            expected,
            hash: RowHash::new(columns.iter().map(String::as_str)),
            positions: &positions,
            keep: request.keep,
            statement: table.select(&ScanTable::list(&columns)),
        };
        let task = Task {
            place: self.place,
            nodes: table.nodes.iter().map(|(address, _)| *address).collect(),
            left: left.to_vec(),
            rows_before: report.findings.found,
            gentleness: request.gentleness,
            cancel: self.cancel,
        };
        let before = report.share;
        let mut found = std::mem::replace(&mut report.findings, Findings::new(request.keep));
        let mut sink = |_: Piece, more: Findings| {
            found.merge(more);
            Ok(Vec::new())
        };
        let mut shifted = |event| {
            events(match event {
                ScanEvent::Progress(at) => ScanEvent::Progress(ScanProgress {
                    share: before + at.share - at.share_before,
                    share_before: before,
                    ..at
                }),
                other => other,
            });
        };
        let ended = engine::run(&task, &checking, &mut sink, &mut shifted)?;
        report.findings = found;
        report.share += ended.progress.share - ended.progress.share_before;
        report.complete &= ended.complete;
        report.requests += ended.requests;
        for (name, times) in ended.troubles {
            *report.troubles.entry(name).or_default() += times;
        }
        Ok(())
    }
}

/// The positions whose keys lie in these pieces, by token.
fn placed(
    expected: &Expected,
    population: u64,
    pieces: &[Piece],
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Vec<Placed>, EncodeError> {
    let inside = |token: i64| {
        let at = pieces.partition_point(|piece| piece.span.end < token);
        pieces
            .get(at)
            .is_some_and(|piece| piece.span.contains(token))
    };
    let threads =
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get) as u64;
    let each = population.div_ceil(threads).max(1);
    let done = AtomicU64::new(0);
    let part = |from: u64| {
        let mut placed = Vec::new();
        for position in from..population.min(from.saturating_add(each)) {
            if (position - from).is_multiple_of(LOOK_EVERY) {
                done.fetch_add(LOOK_EVERY, Ordering::Relaxed);
                if cancel.is_set() {
                    break;
                }
            }
            let token = token_of(expected, position)?;
            if inside(token) {
                placed.push((token, position));
            }
        }
        Ok::<_, EncodeError>(placed)
    };
    let parts = std::thread::scope(|scope| {
        let part = &part;
        let workers: Vec<_> = (0..threads)
            .map(|n| scope.spawn(move || part(n * each)))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(TELL_EVERY.min(Duration::from_millis(1 + population / 1_000)));
            let done = done.load(Ordering::Relaxed).min(population);
            events(ScanEvent::Keys {
                done,
                total: population,
            });
        }
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Ok(Vec::new())))
            .collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for part in parts {
        all.append(&mut part?);
    }
    all.sort_unstable();
    Ok(all)
}

/// The token of a position's partition key.
pub(super) fn token_of(expected: &Expected, position: u64) -> Result<i64, EncodeError> {
    let columns = expected.table().columns.iter();
    let mut parts = Vec::new();
    for (column, value) in columns.zip(expected.key(position)) {
        let mut bytes = Vec::new();
        if let Some(value) = value {
            encode_value(&column.cql_type, &value, &mut bytes)?;
        }
        parts.push(bytes);
    }
    Ok(token(parts.iter().map(Vec::as_slice)))
}

/// The token of a partition key's parts as they are on the wire.
fn token<'a>(parts: impl ExactSizeIterator<Item = &'a [u8]>) -> i64 {
    let single = parts.len() == 1;
    let mut parts = parts.peekable();
    match (single, parts.peek()) {
        (true, Some(part)) => murmur3_token(part),
        _ => murmur3_token(&composite_key(parts)),
    }
}

/// The question and what is known of the answer.
struct Checking<'a> {
    expected: &'a Expected,
    hash: RowHash,
    positions: &'a [Placed],
    keep: usize,
    statement: String,
}

/// A span while it is read.
struct Walk<'a> {
    checking: &'a Checking<'a>,
    /// Positions of the span that were not come to yet.
    ahead: &'a [Placed],
    /// Those of the token at which the rows are.
    here: Vec<Placed>,
    key: Vec<Option<Vec<u8>>>,
    partition: Option<Comparing<'a>>,
    findings: Findings,
}

impl<'a> Walk<'a> {
    fn new(checking: &'a Checking<'a>, span: Span) -> Self {
        let from = checking
            .positions
            .partition_point(|(token, _)| *token <= span.start);
        let to = checking
            .positions
            .partition_point(|(token, _)| *token <= span.end);
        Self {
            checking,
            ahead: &checking.positions[from..to],
            here: Vec::new(),
            key: Vec::new(),
            partition: None,
            findings: Findings::new(checking.keep),
        }
    }

    fn page(&mut self, prepared: &Prepared, page: &RowsPage) -> Result<(), ScanError> {
        let keys = self.checking.expected.key_columns();
        let columns = page.columns.as_deref().unwrap_or(&prepared.columns);
        let mut cells = page.cells();
        for row in page.rows(columns)? {
            let key: Vec<Option<&[u8]>> = cells.by_ref().take(keys).collect();
            cells.by_ref().take(page.column_count - keys).for_each(drop);
            let same = self.partition.is_some()
                && self
                    .key
                    .iter()
                    .zip(&key)
                    .all(|(known, cell)| known.as_deref() == *cell);
            if !same {
                self.come_to(&key, &row[..keys]);
            }
            if let Some(partition) = &mut self.partition {
                let Checking { expected, hash, .. } = self.checking;
                self.findings.row(expected, hash, partition, &row);
            }
        }
        Ok(())
    }

    /// The rows have come to another partition.
    fn come_to(&mut self, key: &[Option<&[u8]>], values: &[Option<helenus_model::cql::CqlValue>]) {
        self.leave();
        let token = token(key.iter().map(|part| part.unwrap_or_default()));
        while let Some(((next, _), _)) = self.ahead.split_first() {
            if *next > token {
                break;
            }
            if self.here.first().is_some_and(|(here, _)| here != next) {
                self.absent();
            }
            self.here.push(self.ahead[0]);
            self.ahead = &self.ahead[1..];
        }
        if self.here.first().is_some_and(|(here, _)| *here != token) {
            self.absent();
        }
        let expected = self.checking.expected;
        let (own, others): (Vec<Placed>, Vec<Placed>) = std::mem::take(&mut self.here)
            .into_iter()
            .partition(|(_, position)| expected.key(*position) == values);
        self.here = others;
        let positions: Vec<u64> = own.into_iter().map(|(_, position)| position).collect();
        self.partition = Some(Comparing::new(expected, token, &positions));
        self.key = key.iter().map(|part| part.map(<[u8]>::to_vec)).collect();
    }

    /// The partition has ended.
    fn leave(&mut self) {
        if let Some(mut partition) = self.partition.take() {
            let Checking { expected, hash, .. } = self.checking;
            self.findings.end(expected, hash, &mut partition);
        }
    }

    /// Partitions of the token that was passed, and whose rows have not come.
    fn absent(&mut self) {
        let Checking { expected, hash, .. } = self.checking;
        let mut here = std::mem::take(&mut self.here);
        while let Some((token, first)) = here.first().copied() {
            let key = expected.key(first);
            let (own, others): (Vec<Placed>, Vec<Placed>) = here
                .into_iter()
                .partition(|(_, position)| expected.key(*position) == key);
            here = others;
            let positions: Vec<u64> = own.into_iter().map(|(_, position)| position).collect();
            let mut partition = Comparing::new(expected, token, &positions);
            self.findings.end(expected, hash, &mut partition);
        }
    }

    fn end(mut self) -> Findings {
        self.leave();
        self.absent();
        for placed in self.ahead {
            if self.here.first().is_some_and(|(here, _)| *here != placed.0) {
                self.absent();
            }
            self.here.push(*placed);
        }
        self.absent();
        self.findings
    }
}

impl Reading for Checking<'_> {
    type Found = Findings;

    fn statements(&self) -> Vec<String> {
        vec![self.statement.clone()]
    }

    fn way(&self) -> Way {
        Way::Paged
    }

    fn first_page(&self) -> u32 {
        FIRST_ROWS
    }

    fn read(&self, line: &mut Line<'_>, span: Span, way: Way) -> Result<Findings, Halt> {
        let mut walk = Walk::new(self, span);
        line.read(0, span, way, |prepared, page| walk.page(prepared, page))?;
        Ok(walk.end())
    }

    fn rows(found: &Findings) -> u64 {
        found.found
    }
}

/// A column of the workload that the table has not.
pub fn lacks(table: &ScanTable, expected: &Expected) -> Option<String> {
    let columns = expected.table().columns.iter();
    let mut names = columns.map(|column| &column.name);
    names.find(|name| !table.columns.contains(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::seed::Seed;
    use helenus_model::workload::Workload;
    use helenus_model::workload::expected::Cells;

    fn expected() -> Expected {
        Expected::tables(&Workload::Standard1, Seed(1))
            .unwrap()
            .remove(0)
    }

    fn hash(expected: &Expected) -> RowHash {
        RowHash::new(expected.table().columns.iter().map(|c| c.name.as_str()))
    }

    /// A whole walk over rows that a table gives in the order of tokens.
    fn walked(span: Span, positions: &[Placed], rows: &[Cells]) -> Findings {
        let expected = expected();
        let checking = Checking {
            expected: &expected,
            hash: hash(&expected),
            positions,
            keep: 9,
            statement: String::new(),
        };
        let mut walk = Walk::new(&checking, span);
        for row in rows {
            let Some(helenus_model::cql::CqlValue::Blob(key)) = &row[0] else {
                panic!("no key")
            };
            walk.come_to(&[Some(key)], &row[..1]);
            let mut partition = walk.partition.take().unwrap();
            walk.findings
                .row(&expected, &checking.hash, &mut partition, row);
            walk.partition = Some(partition);
        }
        walk.end()
    }

    #[test]
    fn rows_and_positions_meet_by_token() {
        let expected = expected();
        let mut placed: Vec<Placed> = (0..50)
            .map(|p| (token_of(&expected, p).unwrap(), p))
            .collect();
        placed.sort_unstable();
        let row = |position: u64| expected.rows(&[position]).next().unwrap();
        let rows: Vec<Cells> = placed.iter().map(|(_, position)| row(*position)).collect();
        let all = Span {
            start: i64::MIN,
            end: i64::MAX,
        };
        let whole = walked(all, &placed, &rows);
        assert_eq!((whole.right, whole.missing, whole.foreign), (50, 0, 0));
        // The first, one in the midst and the last are gone; one nobody wrote has come.
        let mut some: Vec<Cells> = rows[1..20].iter().chain(&rows[21..49]).cloned().collect();
        let (stranger, token) = (50..)
            .map(|p| (row(p), token_of(&expected, p).unwrap()))
            .next()
            .unwrap();
        let at = placed[1..20]
            .iter()
            .chain(&placed[21..49])
            .filter(|(t, _)| *t < token)
            .count();
        some.insert(at, stranger);
        let holed = walked(all, &placed, &some);
        assert_eq!((holed.right, holed.missing, holed.foreign), (47, 3, 1));
        // Half of the ring knows of its own positions only.
        let half = Span {
            start: placed[9].0,
            end: placed[29].0,
        };
        let part = walked(half, &placed, &rows[10..30]);
        assert_eq!((part.right, part.expected, part.missing), (20, 20, 0));
        let empty = walked(half, &placed, &[]);
        assert_eq!((empty.missing, empty.found), (20, 0));
    }

    #[test]
    fn parts_of_the_ring_share_the_positions_out() {
        use helenus_model::ring::{Member, Ring};
        let expected = expected();
        let member = Member {
            data_center: "d".into(),
            rack: "r".into(),
            tokens: vec![17],
        };
        let pieces = pieces(&Ring::new(vec![member]).unwrap(), 16);
        let mut seen = Vec::new();
        for part in pieces.chunks(5) {
            let mut reported = 0;
            let mut events = |event| {
                if let ScanEvent::Keys { total, .. } = event {
                    reported = total;
                }
            };
            let placed = placed(&expected, 3_000, part, &Cancel::default(), &mut events).unwrap();
            assert!(placed.is_sorted() && !placed.is_empty());
            for (token, position) in placed {
                assert!(part.iter().any(|piece| piece.span.contains(token)));
                assert_eq!(token_of(&expected, position).unwrap(), token);
                seen.push(position);
            }
            assert!(reported == 0 || reported == 3_000);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..3_000).collect::<Vec<u64>>());
        let cancel = Cancel::default();
        cancel.set();
        let none = placed(&expected, 3_000, &pieces, &cancel, &mut |_| {}).unwrap();
        assert!(none.is_empty(), "an interrupt is heard before the scan");
    }

    #[test]
    fn tokens_are_those_of_the_server() {
        // As `SELECT token(…)` says of these keys.
        assert_eq!(token([&b"a"[..]].into_iter()), murmur3_token(b"a"));
        let two = composite_key([&b"a"[..], b"b"]);
        assert_eq!(token([&b"a"[..], b"b"].into_iter()), murmur3_token(&two));
    }
}
