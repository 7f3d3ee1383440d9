//! File and table compared: the distinct rows of the file, and the count and the checksum of both; or of a sample of both.
//! Refuses to compare what it cannot know: a table that holds other rows is said to hold more.

use super::distinct::Distinct;
use super::walk::{Step, walk};
use super::{IngestError, LoadEvent, LoadRequest, Verify, kept};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::scan::count::{CountRequest, count};
use helenus_cluster::scan::unload::{Gathering, SpanRows, unload};
use helenus_cluster::scan::{Gentleness, ScanEvent, ScanPlace, ScanTable};
use helenus_cql::codec::value::encode_value;
use helenus_model::cql::CqlValue;
use helenus_model::ingest::sample::{FULL_MOST, unseen_most};
use helenus_model::ingest::{LoadJournal, Mapping, Place, Sample};
use helenus_model::ring::{composite_key, murmur3_token};
use helenus_model::scan::{pieces, within};
use helenus_model::seed::Seed;
use helenus_model::workload::checksum::{Checksum, RowHash};
use helenus_model::workload::order;
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// What the comparison found; where it was of a sample, of that alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// Whether the table holds exactly the file's rows.
    pub equal: bool,
    /// Which part of both was compared; none where all was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleProof>,
    /// Rows of the file with different keys.
    pub distinct_rows: u64,
    /// Rows whose key comes again later in the file.
    pub equal_keys: u64,
    /// Rows that were rejected when they were written: they are rows of the file, and not in the table.
    #[serde(skip_serializing_if = "none")]
    pub refused_rows: u64,
    /// Rows of the table.
    pub table_rows: u64,
    /// Checksum of the file's rows.
    pub file_checksum: String,
    /// Checksum of the table's rows.
    pub table_checksum: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn none(rows: &u64) -> bool {
    *rows == 0
}

/// What was compared of file and table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleProof {
    /// The share of the ring's tokens, from 0 to 1.
    pub share: f64,
    /// In so many ranges, one in each of equal parts of the ring.
    pub ranges: usize,
    /// What chose them: the load's start, in microseconds since 1970.
    pub seed: u64,
    /// Partitions of the table that lie in them.
    pub partitions: u64,
    /// Where the sample is equal, the greatest share of all partitions that could be wrong, with 95 % confidence: errors in more of
    /// them would have hit one of the sample.
    pub unseen_partitions_most: f64,
    /// The same of rows, where errors fall on rows by chance and not on whole partitions.
    pub unseen_rows_most: f64,
}

/// The rows of the table that are compared.
#[derive(Debug, Default)]
struct TableSide {
    rows: u64,
    partitions: u64,
    checksum: String,
}

/// Compares; or says why it cannot.
pub(super) fn prove(
    place: &ScanPlace,
    table: &ScanTable,
    request: &LoadRequest,
    journal: &LoadJournal,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<(Option<Proof>, Option<String>), IngestError> {
    let mapping = &request.mapping;
    let no = |why: String| Ok((None, Some(why)));
    if mapping.targets.iter().any(|target| target.is_static) {
        return no("static columns belong to many rows".to_owned());
    }
    if request.ttl_s.is_some() {
        return no("rows with a time to live go while they are read".to_owned());
    }
    let rows = journal.place.rows;
    let sampled = match request.verify {
        Verify::Sample => true,
        Verify::Auto => rows > FULL_MOST,
        Verify::Full | Verify::None => false,
    };
    let seed = Seed(journal.start_us.cast_unsigned());
    let sample = sampled.then(|| Sample::new(seed, rows));
    let folder = request.journal.with_extension("proof");
    let failed = |source| kept(&folder, source);
    let mut side = FileSide::new(request, sample.as_ref(), folder.clone());
    let (mut seen, mut no_rows) = (0_u64, 0_u64);
    walk(request, Place::default(), journal.start_us, &mut |step| {
        no_rows += u64::from(matches!(step, Step::Rejected { .. }));
        if let Step::Row { values, first, .. } = step {
            seen += 1;
            if seen.is_multiple_of(10_000) {
                events(LoadEvent::Proving(seen));
                if cancel.is_set() {
                    return Err(IngestError::Interrupted { rows });
                }
            }
            side.row(values, first).map_err(failed)?;
        }
        Ok(true)
    })?;
    let compared = side.rows;
    let mut sum = Checksum::default();
    let stays = side.distinct.end(&mut |row| sum.add(row)).map_err(failed)?;
    let distinct = stays.distinct;
    // Of two rows with one key the later one counts, cell by cell: what it leaves out the other one has.
    if stays.mixed {
        return no("rows with equal keys leave out different columns".to_owned());
    }
    if mapping.timestamp.is_some() && distinct < compared {
        return no("rows with equal keys are dated by --timestamp".to_owned());
    }
    let (from, gentle) = ((place, table), gentleness(request));
    let found = match &sample {
        Some(sample) => sampled_side(from, sample, gentle, cancel, events)?,
        None => whole_side(from, request, gentle, cancel, events)?,
    };
    let Some(found) = found else {
        return Err(IngestError::Interrupted { rows });
    };
    if sample.is_some() && distinct == 0 && found.rows == 0 {
        return no("the sample contains no row: --verify full compares all".to_owned());
    }
    let sample = sample.map(|sample| SampleProof {
        share: sample.share,
        ranges: sample.spans.len(),
        seed: sample.seed,
        partitions: found.partitions,
        unseen_partitions_most: unseen_most(found.partitions),
        unseen_rows_most: unseen_most(found.rows),
    });
    let proof = Proof {
        equal: found.rows == distinct && found.checksum == sum.to_string(),
        sample,
        distinct_rows: distinct,
        equal_keys: compared - distinct,
        refused_rows: journal.place.rejected.saturating_sub(no_rows),
        table_rows: found.rows,
        file_checksum: sum.to_string(),
        table_checksum: found.checksum,
    };
    Ok((Some(proof), None))
}

fn gentleness(request: &LoadRequest) -> Gentleness {
    Gentleness {
        parallel: None,
        rate: None,
        consistency: request.consistency.into(),
    }
}

/// The rows of the file that are compared.
struct FileSide<'a> {
    request: &'a LoadRequest,
    sample: Option<&'a Sample>,
    hash: RowHash,
    distinct: Distinct,
    rows: u64,
    /// Whether rows of a record can be of different partitions.
    varies: bool,
    /// Whether the record in hand is in the sample.
    inside: bool,
}

impl<'a> FileSide<'a> {
    fn new(request: &'a LoadRequest, sample: Option<&'a Sample>, folder: PathBuf) -> Self {
        let mapping = &request.mapping;
        let partition = mapping.partition.iter();
        Self {
            request,
            sample,
            hash: RowHash::new(mapping.targets.iter().map(|target| target.name.as_str())),
            distinct: Distinct::new(folder),
            rows: 0,
            varies: partition
                .map(|at| &mapping.targets[*at])
                .any(|t| t.expr.varies()),
            inside: true,
        }
    }

    fn row(&mut self, values: &[Option<CqlValue>], first: bool) -> io::Result<()> {
        if let Some(sample) = self.sample {
            if first || self.varies {
                let token = token(&self.request.mapping, values);
                self.inside = token.is_some_and(|token| sample.contains(token));
            }
            if !self.inside {
                return Ok(());
            }
        }
        self.rows += 1;
        let cells = values.iter().enumerate();
        let cells: Vec<Option<CqlValue>> = cells
            .map(|(at, value)| stored(value, self.request.is_multi_cell(at)))
            .collect();
        let keys = self.request.mapping.targets.iter().zip(&cells);
        let key: Vec<Option<CqlValue>> = keys
            .map(|(target, cell)| cell.clone().filter(|_| target.key))
            .collect();
        let partial = cells.iter().any(Option::is_none);
        self.distinct
            .add(self.hash.row(&key), self.hash.row(&cells), partial)
    }
}

/// The token of a row's partition; none where a value is none of its column's type, which no server has taken.
fn token(mapping: &Mapping, values: &[Option<CqlValue>]) -> Option<i64> {
    let parts = mapping.partition.iter().map(|at| {
        let mut bytes = Vec::new();
        let value = stored(&values[*at], false)?;
        encode_value(&mapping.targets[*at].ty, &value, &mut bytes).ok()?;
        Some(bytes)
    });
    let parts: Vec<Vec<u8>> = parts.collect::<Option<_>>()?;
    Some(match &parts[..] {
        [one] => murmur3_token(one),
        all => murmur3_token(&composite_key(all.iter().map(Vec::as_slice))),
    })
}

/// The whole table; none where the person has interrupted it.
fn whole_side(
    (place, table): (&ScanPlace, &ScanTable),
    request: &LoadRequest,
    gentleness: Gentleness,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<Option<TableSide>, IngestError> {
    let wanted = CountRequest {
        partitions: None,
        all: false,
        checksum: true,
        gentleness,
        resume: false,
        fresh: true,
        journals: request.journal.with_extension("count"),
    };
    let counted = count(place, table, &wanted, cancel, &mut |event| {
        if let ScanEvent::Progress(at) = event {
            events(LoadEvent::Reading(at.rows));
        }
    })?;
    let _there = fs_err::remove_dir_all(&wanted.journals);
    Ok(counted.complete.then(|| TableSide {
        rows: counted.rows,
        partitions: 0,
        checksum: counted.checksum.unwrap_or_default(),
    }))
}

/// Counts the partitions of rows that come by token.
struct Partitions {
    /// How many columns are the partition key; they come first.
    columns: usize,
}

impl Gathering for Partitions {
    type Rows = (u64, Vec<Option<CqlValue>>);

    fn empty(&self) -> Self::Rows {
        (0, Vec::new())
    }

    fn put(&self, row: &[Option<CqlValue>], (count, key): &mut Self::Rows) {
        let its = &row[..self.columns.min(row.len())];
        if key != its {
            *count += 1;
            *key = its.to_vec();
        }
    }
}

/// What of the table lies in a sample; none where the person has interrupted it.
fn sampled_side(
    (place, table): (&ScanPlace, &ScanTable),
    sample: &Sample,
    gentleness: Gentleness,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<Option<TableSide>, IngestError> {
    let ring = pieces(&table.ring, 1);
    let spans = sample.spans.iter();
    let left = spans.flat_map(|span| within(&ring, *span)).collect();
    let gathering = Partitions {
        columns: table.partition_key.len(),
    };
    let mut side = TableSide::default();
    let mut sum = Checksum::default();
    let mut sink = |rows: SpanRows<(u64, Vec<Option<CqlValue>>)>| {
        side.rows += rows.count;
        side.partitions += rows.rows.0;
        sum.merge(rows.checksum);
        Ok(())
    };
    let what = (&table.columns[..], &gathering);
    let how = (left, gentleness);
    let read = unload(place, table, what, how, &mut sink, cancel, &mut |event| {
        if let ScanEvent::Progress(at) = event {
            events(LoadEvent::Reading(at.rows));
        }
    })?;
    side.checksum = sum.to_string();
    Ok(read.complete.then_some(side))
}

/// A value as the server gives it back: where each part has a cell, nothing is left of a value without parts.
fn stored(value: &Option<CqlValue>, multi_cell: bool) -> Option<CqlValue> {
    let value = value.clone()?.canonical(&order::compare);
    (!(multi_cell && value.is_as_null())).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::tests::request;

    #[test]
    fn a_sample_of_the_file_has_the_rows_of_its_tokens() {
        let folder = tempfile::tempdir().expect("a folder");
        let request = request(&[]);
        let sample = Sample::new(Seed(7), 1);
        let of = |sample: Option<&Sample>| {
            let mut side = FileSide::new(&request, sample, folder.path().join("proof"));
            for n in (0..20_000).chain([3, 5]) {
                let values = [Some(CqlValue::Int(n)), Some(CqlValue::Text("x".into()))];
                side.row(&values, true).expect("adds");
            }
            let mut sums = Vec::new();
            side.distinct.end(&mut |row| sums.push(row)).expect("ends");
            (side.rows, sums)
        };
        let (all, whole) = of(None);
        let (some, part) = of(Some(&sample));
        assert_eq!((all, whole.len()), (20_002, 20_000));
        assert!(part.iter().all(|row| whole.contains(row)));
        // A share of 1/16, by chance.
        assert!((1_000..1_500).contains(&some), "{some}");
        let token = |n: i32| murmur3_token(&n.to_be_bytes());
        let inside = (0..20_000).filter(|n| sample.contains(token(*n))).count();
        assert_eq!(part.len(), inside);
    }
}
