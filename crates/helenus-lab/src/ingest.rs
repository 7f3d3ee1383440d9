//! A load: files are read and made into rows on one thread and written on another, resumable, and compared at the end.
//! Refuses to lose a row in silence: each is written, rejected with its reason, or the load is not over.

mod distinct;
mod encoding;
mod limit;
mod packed;
mod parts;
mod record;

mod columnar;

mod keeper;
mod source;
mod walk;

mod gather;
mod proof;

mod send;

mod sstable;
#[cfg(test)]
pub(crate) mod tests;

pub use proof::{Proof, SampleProof};
pub use record::record;
pub use sstable::Sstables;

use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::lock;
use helenus_cluster::scan::{ScanPlace, ScanTable};
use helenus_load::endpoint::EndpointError;
use helenus_model::consistency::Consistency;
use helenus_model::cql::CqlType;
use helenus_model::format::Format;
use helenus_model::ingest::delimited::Dialect;
use helenus_model::ingest::journal::{JOURNAL, JOURNAL_VERSION};
use helenus_model::ingest::{FileMark, LoadJournal, Mapping, Part, Place};
use helenus_model::units::thousands;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use columnar::{ColumnBatch, ParquetWriter, RowShape, columns};
pub use encoding::TextEncoding;
pub use packed::{Packer, Packing};
pub use source::{header, preview, readable};

/// How a file's records are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Separated values.
    Delimited {
        /// How they are separated.
        dialect: Dialect,
        /// Names that the first record of each file holds, none where it is a row already; where they are empty, it is
        /// passed over whatever it holds.
        header: Option<Vec<String>>,
        /// Words that are null where they are not quoted.
        nulls: Vec<String>,
    },
    /// One JSON object a line, whose members have these names.
    JsonLines(Vec<String>),
    /// Parquet, whose columns have these names.
    Parquet(Vec<String>),
}

/// How rows get into the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Written through the nodes.
    Cql,
    /// Sorted, written as SSTables, and imported by the nodes.
    Sstable,
}

/// How file and table are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// In full; by a sample where that would take longer than the load itself.
    Auto,
    /// All rows.
    Full,
    /// Rows of some tokens.
    Sample,
    /// Not at all.
    None,
}

/// What is loaded, and how.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// The files, in order; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// How their records are written.
    pub shape: Shape,
    /// How their text is encoded, where it is not UTF-8; a byte-order mark of UTF-16 counts more.
    pub encoding: Option<TextEncoding>,
    /// Which of the rows are loaded; none loads all.
    pub part: Option<Part>,
    /// What the parts of the same load share.
    pub parts: PathBuf,
    /// Which column gets what.
    pub mapping: Mapping,
    /// Seconds that rows live; none leaves it to the table.
    pub ttl_s: Option<u32>,
    /// How rows get into the table.
    pub via: Way,
    /// Why so, if it was not requested.
    pub via_reason: String,
    /// Bytes of rows that are sorted in memory, by SSTables.
    pub memory_bytes: usize,
    /// Consistency level of the writes, and of the reads of the proof.
    pub consistency: Consistency,
    /// Most requests in flight.
    pub in_flight: usize,
    /// Bytes of rows that are gathered into one batch.
    pub batch_bytes: usize,
    /// Most rows that may be rejected.
    pub max_rejected: u64,
    /// The file of rejected rows.
    pub rejected: PathBuf,
    /// The journal of this load.
    pub journal: PathBuf,
    /// Forget what an interrupted load has done.
    pub restart: bool,
    /// By target: whether its column keeps each element of a collection, or field of a user type, in a cell. An empty value
    /// is null there.
    pub multi_cell: Vec<bool>,
    /// How the file and the table are compared at the end.
    pub verify: Verify,
    /// Seconds since 1970 in microseconds, now.
    pub now_us: i64,
}

impl LoadRequest {
    fn is_multi_cell(&self, target: usize) -> bool {
        self.multi_cell.get(target) == Some(&true)
    }

    /// Whether a non-frozen list is written: a repeated write must be dated later than the one before.
    fn has_lists(&self) -> bool {
        let mut targets = self.mapping.targets.iter().enumerate();
        targets.any(|(at, target)| matches!(target.ty, CqlType::List(_)) && self.is_multi_cell(at))
    }

    /// How many of the first `rows` rows are loaded by it.
    fn own(&self, rows: u64) -> u64 {
        self.part.map_or(rows, |part| part.below(rows))
    }
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum LoadEvent {
    /// An interrupted load is resumed after so many rows.
    Resumed(u64),
    /// How far it is.
    Progress {
        /// Rows that are written, of this run.
        rows: u64,
        /// Rows that were rejected.
        rejected: u64,
        /// Rows a second.
        rows_per_s: f64,
        /// Bytes that are done, and of how many; none where that is not known.
        bytes: Option<(u64, u64)>,
        /// Requests that were sent again.
        repeated: u64,
    },
    /// So many rows of how many are in SSTables.
    Building(u64, u64),
    /// A node imports its SSTables.
    Importing(String),
    /// The file is read again for the proof: so many rows.
    Proving(u64),
    /// The table is read for the proof: so many rows.
    Reading(u64),
}

/// What became of a load, `helenus.load/1`.
#[derive(Debug, Clone, Serialize)]
pub struct Loaded {
    /// `helenus.load/1`.
    pub format: Format,
    /// The table.
    pub table: String,
    /// The files.
    pub files: Vec<String>,
    /// How its rows got there.
    pub via: Way,
    /// Why so, where the load chose it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub via_reason: String,
    /// What was built, by SSTables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sstables: Option<Sstables>,
    /// Which part of the rows this is, such as 2/4: the counts are its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Rows that were read, those of an interrupted load included.
    pub rows_read: u64,
    /// Rows that were written, those of an interrupted load included.
    pub rows_written: u64,
    /// Rows that were rejected.
    pub rows_rejected: u64,
    /// The file that has them, with their reasons; none where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_file: Option<PathBuf>,
    /// Rows that were there when this run resumed the load.
    pub resumed_after: u64,
    /// Requests that were sent again after a time-out or a lost connection.
    pub repeated: u64,
    /// Rows that this run wrote, none of them rejected.
    #[serde(skip)]
    written_here: u64,
    /// Seconds that reading and writing took, of this run.
    pub seconds: f64,
    /// Rows a second, of this run.
    pub rows_per_s: f64,
    /// Microseconds of this process's processor time for each row.
    pub client_cpu_us_per_row: f64,
    /// What the comparison of file and table found; none where it was not asked for or not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Why there is no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
    /// The run in the history that this is; none where it could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Why a load ended early.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// A file.
    #[error("cannot read {path}")]
    File {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The journal or the file of rejected rows.
    #[error("cannot write {path}")]
    Kept {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that cannot be loaded at all.
    #[error("{path}: {why}")]
    Content {
        /// Which.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// What an interrupted load was about is not what is asked for.
    #[error("an interrupted load cannot be resumed: {0}")]
    Changed(String),
    /// SSTables of the table cannot be written.
    #[error("SSTables of this table cannot be written: {0}")]
    Way(String),
    /// Another process loads the same files into the same table.
    #[error("the same load is running already")]
    Busy,
    /// More rows were rejected than are allowed.
    #[error("{} rows were rejected, more than --max-rejected {most}: see {path}", thousands(*rejected))]
    Rejected {
        /// How many.
        rejected: u64,
        /// How many are allowed.
        most: u64,
        /// Where they are.
        path: String,
        /// The first reason.
        first: String,
    },
    /// The nodes take nothing any more.
    #[error("no write has succeeded for {seconds} s: {last}")]
    Silent {
        /// So long.
        seconds: u64,
        /// The last failure.
        last: String,
    },
    /// No connection, or a statement that is refused.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The system fails.
    #[error("cannot wait for the connections")]
    Io(#[from] std::io::Error),
    /// The person's wish.
    #[error("interrupted after {} rows", thousands(*rows))]
    Interrupted {
        /// Rows that are done.
        rows: u64,
    },
}

impl IngestError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy => {
                Some("wait for it to end, or stop it: this one resumes it then".to_owned())
            }
            Self::Way(_) => Some("--via cql writes through the nodes".to_owned()),
            Self::Changed(_) => Some("--restart loads everything again".to_owned()),
            Self::Rejected { first, .. } => Some(format!(
                "the first reason: {first}; the same command with a higher --max-rejected resumes it"
            )),
            Self::Silent { .. } => Some(
                "look at the nodes' logs; the same command resumes the load when they answer"
                    .to_owned(),
            ),
            Self::Interrupted { .. } => Some("the same command resumes it".to_owned()),
            Self::Kept { .. } => {
                Some("when it can be written, the same command resumes the load".to_owned())
            }
            _ => None,
        }
    }
}

/// Loads files into a table of a cluster of ours.
///
/// # Errors
/// Files that cannot be read or have changed, too many rejected rows, nodes that answer no longer, an interrupt.
pub fn load(
    context: &Context,
    (place, table): (&ScanPlace, &ScanTable),
    request: &LoadRequest,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<Loaded, IngestError> {
    let begin = Instant::now();
    let _only_one = lock(&request.journal)?;
    let mut journal = journal(table, request)?;
    let resumed_after = request.own(journal.place.rows);
    let rejected_before = journal.place.rejected;
    if resumed_after > 0 || journal.resumed > 0 {
        events(LoadEvent::Resumed(resumed_after));
    }
    let cpu = cpu_us();
    let request = Arc::new(request.clone());
    let way = match request.via {
        Way::Cql => None,
        Way::Sstable => Some(sstable::look(place, table, &request)?.map_err(IngestError::Way)?),
    };
    let (sent, sstables) = match &way {
        None => {
            let sent = send::send(place, &request, &mut journal, cancel, events)?;
            (sent, None)
        }
        Some(way) => {
            let to = (place, table);
            sstable::write(context, to, &request, way, &mut journal, cancel, events)?
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    let done = journal.place;
    let rows_read = request.own(done.rows);
    let written = rows_read - done.rejected;
    let this_run = rows_read - resumed_after;
    let lacking = match request.part {
        Some(part) => parts::end(&request, part, journal.start_us)?,
        None => Vec::new(),
    };
    let (proof, unproved) = match request.verify {
        Verify::None => (None, Some("--verify none".to_owned())),
        _ if request.files.iter().any(|file| file.as_os_str() == "-") => {
            (None, Some("standard input cannot be read again".to_owned()))
        }
        _ if !lacking.is_empty() => {
            let names: Vec<String> = lacking.iter().map(u32::to_string).collect();
            let of = request.part.map_or(1, |part| part.of);
            let why = format!("of {of} parts these are not done: {}", names.join(", "));
            (None, Some(why))
        }
        _ => {
            let whole = LoadRequest {
                part: None,
                ..(*request).clone()
            };
            proof::prove(place, table, &whole, &journal, cancel, events)?
        }
    };
    let path = &request.journal;
    fs_err::remove_file(path).map_err(|source| kept(path, source))?;
    if request.part.is_some() && lacking.is_empty() {
        parts::forget(&request)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "rows below 2^53")]
    let rows = this_run.max(1) as f64;
    Ok(Loaded {
        format: Format::new("load", 1),
        table: table.name(),
        via: request.via,
        via_reason: request.via_reason.clone(),
        sstables,
        files: request
            .files
            .iter()
            .map(|f| f.display().to_string())
            .collect(),
        part: request.part.map(|part| part.to_string()),
        rows_read,
        rows_written: written,
        rows_rejected: done.rejected,
        rejected_file: (done.rejected > 0).then(|| request.rejected.clone()),
        resumed_after,
        repeated: sent.repeated,
        written_here: this_run.saturating_sub(done.rejected - rejected_before),
        seconds,
        rows_per_s: if this_run == 0 {
            0.0
        } else {
            rows / seconds.max(1e-9)
        },
        client_cpu_us_per_row: sent.cpu_us.saturating_sub(cpu) as f64 / rows,
        proof,
        unproved,
        run: None,
    })
}

/// Bytes of files from which SSTables are worth a node's import.
const MUCH: u64 = 64 << 20;

/// The quicker way for a request, and why; that of an interrupted load where there is one.
///
/// # Errors
/// The cluster does not answer.
pub fn choose(
    place: &ScanPlace,
    table: &ScanTable,
    request: &LoadRequest,
) -> Result<(Way, String), IngestError> {
    let then = fs_err::read_to_string(&request.journal).ok();
    let then: Option<LoadJournal> = then.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(then) = then.filter(|_| !request.restart) {
        let way = if then.by_sstables {
            Way::Sstable
        } else {
            Way::Cql
        };
        return Ok((way, "as the interrupted load".to_owned()));
    }
    let files = request.files.iter();
    let bytes: Option<u64> = files
        .map(|f| fs_err::metadata(f).ok().map(|m| m.len()))
        .sum();
    let much = request.mapping.expand.is_some() || bytes.is_none_or(|bytes| bytes >= MUCH);
    if !much {
        return Ok((Way::Cql, "the files are small".to_owned()));
    }
    Ok(match sstable::look(place, table, request)? {
        Ok(_) => (Way::Sstable, "there is much to load".to_owned()),
        Err(why) => (Way::Cql, why),
    })
}

/// Keeps others from the same load, until it is dropped.
fn lock(journal: &Path) -> Result<fs_err::File, IngestError> {
    let path = journal.with_extension("lock");
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(|source| kept(folder, source))?;
    }
    let file = fs_err::File::create(&path).map_err(|source| kept(&path, source))?;
    match lock::take(&file).map_err(|source| kept(&path, source))? {
        true => Ok(file),
        false => Err(IngestError::Busy),
    }
}

fn kept(path: &Path, source: std::io::Error) -> IngestError {
    IngestError::Kept {
        path: path.display().to_string(),
        source,
    }
}

/// Processor time of this process, in microseconds.
fn cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let whole = u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000;
    whole + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

/// The journal: that of an interrupted load, or a new one.
fn journal(table: &ScanTable, request: &LoadRequest) -> Result<LoadJournal, IngestError> {
    let files: Result<Vec<FileMark>, _> = request.files.iter().map(|f| source::mark(f)).collect();
    let mut fresh = LoadJournal {
        format: Format::new(JOURNAL, JOURNAL_VERSION),
        cluster_name: table.cluster_name.clone(),
        table: table.name(),
        table_id: table.id.clone(),
        mapping: format!(
            "{:?} {:?} {:?}{}",
            request.shape,
            request.mapping,
            request.ttl_s,
            request
                .encoding
                .map_or(String::new(), |encoding| format!(" {encoding:?}"))
        ),
        files: files?,
        start_us: request.now_us,
        resumed: 0,
        place: Place::default(),
        by_sstables: request.via == Way::Sstable,
        imported: false,
        half: None,
        runs: Vec::new(),
    };
    if request.part.is_some() {
        fresh.start_us = parts::begin(request, &fresh)?;
    }
    let path = &request.journal;
    let text = match fs_err::read_to_string(path) {
        Ok(text) if !request.restart => text,
        Ok(_) => return Ok(fresh),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(fresh),
        Err(source) => return Err(kept(path, source)),
    };
    let then: LoadJournal = serde_json::from_str(&text)
        .map_err(|error| IngestError::Changed(format!("{}: {error}", path.display())))?;
    if request.part.is_some() && then.start_us != fresh.start_us {
        return Ok(fresh);
    }
    match then.differs(&fresh) {
        Some(why) => Err(IngestError::Changed(why)),
        None => Ok(LoadJournal {
            resumed: then.resumed + 1,
            ..then
        }),
    }
}
