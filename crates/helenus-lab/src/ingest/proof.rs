//! File and table compared: the distinct rows of the file, and the count and the checksum of both.
//! Refuses to compare what it cannot know: a table that holds other rows is said to hold more.

use super::distinct::Distinct;
use super::walk::{Step, walk};
use super::{IngestError, LoadEvent, LoadRequest, kept};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::scan::count::{CountRequest, count};
use helenus_cluster::scan::{Gentleness, ScanEvent, ScanPlace, ScanTable};
use helenus_model::cql::CqlValue;
use helenus_model::ingest::{LoadJournal, Place};
use helenus_model::workload::checksum::{Checksum, RowHash};
use helenus_model::workload::order;
use serde::Serialize;

/// What the comparison found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Whether the table holds exactly the file's rows.
    pub equal: bool,
    /// Rows of the file with different keys.
    pub distinct_rows: u64,
    /// Rows whose key comes again later in the file.
    pub equal_keys: u64,
    /// Rows of the table.
    pub table_rows: u64,
    /// Checksum of the file's rows.
    pub file_checksum: String,
    /// Checksum of the table's rows.
    pub table_checksum: String,
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
    let names = mapping.targets.iter().map(|target| target.name.as_str());
    let hash = RowHash::new(names);
    let folder = request.journal.with_extension("proof");
    let failed = |source| kept(&folder, source);
    let mut rows = Distinct::new(folder.clone());
    let mut seen = 0_u64;
    walk(request, Place::default(), journal.start_us, &mut |step| {
        if let Step::Row { values, .. } = step {
            seen += 1;
            if seen.is_multiple_of(10_000) {
                events(LoadEvent::Proving(seen));
                if cancel.is_set() {
                    return Err(IngestError::Interrupted {
                        rows: journal.place.rows,
                    });
                }
            }
            let targets = mapping.targets.iter().zip(values);
            let cells: Vec<Option<CqlValue>> = targets.map(|(_, value)| stored(value)).collect();
            let keys = mapping.targets.iter().zip(&cells);
            let key: Vec<Option<CqlValue>> = keys
                .map(|(target, cell)| cell.clone().filter(|_| target.key))
                .collect();
            let partial = cells.iter().any(Option::is_none);
            rows.add(hash.row(&key), hash.row(&cells), partial)
                .map_err(failed)?;
        }
        Ok(true)
    })?;
    let mut sum = Checksum::default();
    let stays = rows.end(&mut |row| sum.add(row)).map_err(failed)?;
    let distinct = stays.distinct;
    // Of two rows with one key the later one counts, cell by cell: what it leaves out the other one has.
    if stays.mixed {
        return no("rows with equal keys leave out different columns".to_owned());
    }
    if mapping.timestamp.is_some() && distinct < seen {
        return no("rows with equal keys are dated by --timestamp".to_owned());
    }
    let wanted = CountRequest {
        partitions: None,
        all: false,
        checksum: true,
        gentleness: Gentleness {
            parallel: None,
            rate: None,
            consistency: request.consistency,
        },
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
    if !counted.complete {
        return Err(IngestError::Interrupted {
            rows: journal.place.rows,
        });
    }
    let found = counted.checksum.unwrap_or_default();
    Ok((
        Some(Proof {
            equal: counted.rows == distinct && found == sum.to_string(),
            distinct_rows: distinct,
            equal_keys: seen - distinct,
            table_rows: counted.rows,
            file_checksum: sum.to_string(),
            table_checksum: found,
        }),
        None,
    ))
}

/// A value as the server gives it back.
fn stored(value: &Option<CqlValue>) -> Option<CqlValue> {
    let value = value.clone()?.canonical(&order::compare);
    (!value.is_as_null()).then_some(value)
}
