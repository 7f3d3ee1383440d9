//! An unload: a table into files, whose tokens are journalled as they are written, so that the same line resumes it.
//! Refuses to write a row twice: what a file has behind its last line in the journal is cut off.

mod journal;
mod output;
#[cfg(test)]
mod tests;

use crate::ingest::{Packing, RowShape};
use fs_err as fs;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::error::ClusterError;
use helenus_cluster::scan::unload::{Gathering, types, unload as read};
use helenus_cluster::scan::{Gentleness, ScanEvent, ScanPlace, ScanTable};
use helenus_model::format::Format;
use helenus_model::ingest::unloading::{
    UNLOAD_JOURNAL, UNLOAD_JOURNAL_VERSION, UnloadHead, UnloadMark, files, number_of, numbered,
};
use helenus_model::ingest::{Part, Split, Writing};
use helenus_model::scan::journal::ring_digest;
use helenus_model::scan::{Piece, ScanProgress, Span, WHOLE_RING, pieces, rest, within};
use helenus_model::units::thousands;
use helenus_model::workload::checksum::Checksum;
use journal::Journal;
use output::{Forms, Output, TextForm};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Pieces that the ring is cut into at least.
const PIECES_LEAST: usize = 16;

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnloadForm {
    /// As lines, perhaps compressed.
    Text(Writing, Option<Packing>),
    /// As Parquet.
    Parquet,
}

/// What is unloaded, and where to.
#[derive(Debug, Clone)]
pub struct UnloadRequest {
    /// Columns, in the order of a row's fields.
    pub columns: Vec<String>,
    /// How rows are written.
    pub form: UnloadForm,
    /// The file; of several its name without a number.
    pub path: PathBuf,
    /// Into how many files.
    pub split: Split,
    /// Which of so many files; only with [`Split::Files`] of that number.
    pub part: Option<Part>,
    /// Whether files that are there are replaced.
    pub force: bool,
    /// Forget what an interrupted unload has done.
    pub restart: bool,
    /// How hard to lean on the nodes.
    pub gentleness: Gentleness,
}

/// What an unload has written, `helenus.unload/1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unloaded {
    /// `helenus.unload/1`.
    pub format: Format,
    /// The table.
    pub table: String,
    /// Columns, in the order of a row's fields.
    pub columns: Vec<String>,
    /// The file; none is standard output, or several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The files of a split, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// Which part of the table this is, such as 2/4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Rows that were written, those of an interrupted unload included.
    pub rows: u64,
    /// Rows that were written before this run resumed the unload.
    pub resumed_rows: u64,
    /// Bytes of all files; to standard output, those that were written.
    pub bytes: u64,
    /// Checksum of the rows, over the columns that were written: that of `count --checksum` where they are all.
    pub checksum: String,
    /// Seconds that this run took.
    pub seconds: f64,
    /// Requests to the nodes.
    pub requests: u64,
    /// What went wrong on the way and was read again, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<&'static str, u64>,
}

/// Why an unload ended early.
#[derive(Debug, thiserror::Error)]
pub enum UnloadError {
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A file, or the journal.
    #[error("cannot write {path}")]
    Unwritten {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It may not be replaced.
    #[error("{path} already exists")]
    There {
        /// Which.
        path: String,
    },
    /// What an interrupted unload was about is not what is asked for, or its files are gone.
    #[error("an interrupted unload cannot be resumed: {0}")]
    Changed(String),
    /// Another process writes the same files.
    #[error("the same unload is running already")]
    Busy,
    /// The person's wish.
    #[error("interrupted after {} rows", thousands(*rows))]
    Interrupted {
        /// Rows that are in the files.
        rows: u64,
    },
}

impl UnloadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Cluster(_) => return None,
            Self::Unwritten { .. } => "when it can be written, the same command resumes the unload",
            Self::There { .. } => "--force replaces it, or name another file",
            Self::Changed(_) => "--restart unloads everything again",
            Self::Busy => "wait for it to end, or stop it: this one resumes it then",
            Self::Interrupted { .. } => "the same command resumes it",
        };
        Some(hint.to_owned())
    }
}

fn unwritten(path: &Path) -> impl Fn(io::Error) -> UnloadError + '_ {
    |source| UnloadError::Unwritten {
        path: path.display().to_string(),
        source,
    }
}

/// The files of an unload.
struct Names<'a> {
    request: &'a UnloadRequest,
}

impl Names<'_> {
    /// With another ending.
    fn beside(path: &Path, ending: &str) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        name.into()
    }

    fn file(&self, number: u32) -> PathBuf {
        let path = &self.request.path;
        if self.request.split == Split::Whole {
            return path.clone();
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.with_file_name(numbered(&name, number))
    }

    fn journal(&self) -> PathBuf {
        let part = self.request.part;
        let part = part.map_or(String::new(), |p| format!(".{}-of-{}", p.number, p.of));
        Self::beside(&self.request.path, &format!("{part}.unload"))
    }

    /// Files that are there under names that are, or could be, those of this unload.
    fn there(&self) -> Result<Vec<(u32, PathBuf)>, UnloadError> {
        let request = self.request;
        let own = match (request.split, request.part) {
            (Split::Whole, _) => Some(1),
            (_, part) => part.map(|part| part.number),
        };
        if let Some(number) = own {
            let file = self.file(number);
            return Ok(file
                .exists()
                .then_some((number, file))
                .into_iter()
                .collect());
        }
        let folder = request.path.parent().filter(|f| !f.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let name = request
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).map_err(unwritten(folder))? {
            let path = entry.map_err(unwritten(folder))?.path();
            let other = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(number) = number_of(&name, &other) {
                found.push((number, path));
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Unloads a table into files; what an interrupted unload has written of them stays.
///
/// # Errors
/// Files that are there or cannot be written, a span that cannot be read, an interrupt.
pub fn unload(
    (place, table): (&ScanPlace, &ScanTable),
    request: &UnloadRequest,
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Unloaded, UnloadError> {
    match &request.form {
        UnloadForm::Text(writing, packing) => {
            let forms = TextForm {
                writing,
                packing: *packing,
                columns: &request.columns,
            };
            written((place, table), request, (writing, &forms), cancel, events)
        }
        UnloadForm::Parquet => {
            let types = types(place, table, &request.columns)?;
            let shape = RowShape::new(&types).map_err(unwritten(&request.path))?;
            written((place, table), request, (&shape, &shape), cancel, events)
        }
    }
}

fn head(table: &ScanTable, request: &UnloadRequest) -> UnloadHead {
    UnloadHead {
        format: Format::new(UNLOAD_JOURNAL, UNLOAD_JOURNAL_VERSION),
        cluster_name: table.cluster_name.clone(),
        table: table.name(),
        table_id: table.id.clone(),
        ring: ring_digest(&table.ring),
        columns: request.columns.clone(),
        writing: format!(
            "{:?} at {}",
            request.form,
            request.gentleness.consistency.name()
        ),
        split: request.split,
        part: request.part.map(|part| part.to_string()),
    }
}

/// The files that an unload writes, in order, each with its pieces of the ring; where their number is not known
/// beforehand, the first with all of them.
fn plan(table: &ScanTable, request: &UnloadRequest) -> Vec<(u32, Vec<Piece>)> {
    let ring = pieces(&table.ring, PIECES_LEAST);
    let Split::Files(count) = request.split else {
        return vec![(1, ring)];
    };
    let whole = Span {
        start: i64::MIN,
        end: i64::MAX,
    };
    let parts = (1..).zip(whole.parts(u64::from(count)));
    let own = parts.filter(|(number, _)| request.part.is_none_or(|part| part.number == *number));
    own.map(|(number, part)| (number, within(&ring, part)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "shares")]
fn written<G: Gathering, F: Forms<Rows = G::Rows>>(
    (place, table): (&ScanPlace, &ScanTable),
    request: &UnloadRequest,
    (gathering, forms): (&G, &F),
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Unloaded, UnloadError> {
    let begin = Instant::now();
    let names = Names { request };
    let there = names.there()?;
    let path = names.journal();
    let (mut journal, marks) = Journal::open(&path, &head(table, request), request.restart)?;
    let known = files(&marks);
    for (number, path) in there {
        let own = known.get(&number).is_some_and(|file| file.whole);
        if own {
            continue;
        }
        if !request.force {
            journal.forget_if_empty();
            let path = path.display().to_string();
            return Err(UnloadError::There { path });
        }
        // Another split may have more files than this one: they would be taken for its own.
        if request.split != Split::Whole {
            fs::remove_file(&path).map_err(unwritten(&path))?;
        }
    }
    let plan = plan(table, request);
    let width = |pieces: &[Piece]| -> u128 {
        let widths = pieces.iter().map(|piece| u128::from(piece.span.width()));
        widths.sum()
    };
    let asked: u128 = plan.iter().map(|(_, pieces)| width(pieces)).sum();
    let resumed_rows = marks.iter().map(|mark| mark.rows).sum();
    let mut output = Output::new(&names, forms, &mut journal, &marks)?;
    let mut done = 0;
    let (mut requests, mut troubles) = (0, BTreeMap::new());
    for (number, pieces) in &plan {
        let by_number = matches!(request.split, Split::Files(_));
        let its = marks
            .iter()
            .filter(|mark| !by_number || mark.file == *number);
        let spans: Vec<Span> = its.flat_map(|mark| mark.spans.iter().copied()).collect();
        let overlap = |error: helenus_model::scan::Overlap| UnloadError::Changed(error.to_string());
        let (left, _) = rest(pieces, &spans).map_err(overlap)?;
        done += width(pieces) - width(&left);
        if by_number {
            output.turn_to(*number);
        }
        if !left.is_empty() {
            let share_before = done as f64 / asked as f64;
            let rows_before = output.rows();
            let mut shifted = |event| {
                events(match event {
                    ScanEvent::Progress(at) => {
                        let more = (at.share - at.share_before) * WHOLE_RING as f64;
                        ScanEvent::Progress(ScanProgress {
                            rows: rows_before + at.rows_now,
                            share: (share_before + more / asked as f64).min(1.0),
                            share_before,
                            ..at
                        })
                    }
                    other => other,
                });
            };
            done += width(&left);
            let mut failed = None;
            let mut sink = |rows| {
                output.take(rows).map_err(|error| {
                    failed = Some(error);
                    io::Error::other("a file takes no more")
                })
            };
            let what = (&request.columns[..], gathering);
            let how = (left, request.gentleness);
            let read = read(place, table, what, how, &mut sink, cancel, &mut shifted);
            let read = match (failed, read) {
                (Some(error), _) => Err(error),
                (None, read) => read.map_err(UnloadError::from),
            };
            // What was read stays, whatever ended it.
            let kept = output.keep();
            let read = read?;
            kept?;
            requests += read.requests;
            for (name, times) in read.troubles {
                *troubles.entry(name).or_default() += times;
            }
            if !read.complete {
                let rows = output.rows();
                return Err(UnloadError::Interrupted { rows });
            }
        }
        output.end()?;
    }
    let (rows, checksum) = (output.rows(), output.checksum());
    let written = output.files();
    journal.remove()?;
    let bytes = written.values().map(|file| file.bytes).sum();
    let all: Vec<PathBuf> = written.keys().map(|number| names.file(*number)).collect();
    let split = request.split != Split::Whole;
    Ok(Unloaded {
        format: Format::new("unload", 1),
        table: table.name(),
        columns: request.columns.clone(),
        file: (!split).then(|| request.path.clone()),
        files: if split { all } else { Vec::new() },
        part: request.part.map(|part| part.to_string()),
        rows,
        resumed_rows,
        bytes,
        checksum: checksum.to_string(),
        seconds: begin.elapsed().as_secs_f64(),
        requests,
        troubles,
    })
}

/// Rows of several marks, and their checksum.
fn sums(marks: &[UnloadMark]) -> (u64, Checksum) {
    let mut sum = Checksum::default();
    marks.iter().for_each(|mark| sum.add(mark.checksum));
    (marks.iter().map(|mark| mark.rows).sum(), sum)
}

/// Writes a table to a stream, as lines; none where the person has interrupted it.
///
/// # Errors
/// A span that cannot be read, or the stream takes no more.
pub fn stream(
    (place, table): (&ScanPlace, &ScanTable),
    (columns, writing): (&[String], &Writing),
    gentleness: Gentleness,
    to: &mut (dyn io::Write + Send),
    cancel: &Cancel,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Option<Unloaded>, UnloadError> {
    let begin = Instant::now();
    let stream = Path::new("standard output");
    let mut head = Vec::new();
    writing.put_header(columns, &mut head);
    to.write_all(&head).map_err(unwritten(stream))?;
    let mut sums = UnloadMark {
        bytes: head.len() as u64,
        ..UnloadMark::default()
    };
    let mut failed = None;
    let mut sink = |rows: helenus_cluster::scan::unload::SpanRows<Vec<u8>>| {
        sums.bytes += rows.rows.len() as u64;
        sums.rows += rows.count;
        sums.checksum = sums.checksum.wrapping_add(rows.checksum.0);
        to.write_all(&rows.rows).map_err(|error| {
            failed = Some(error);
            io::Error::other("the stream takes no more")
        })
    };
    let how = (pieces(&table.ring, PIECES_LEAST), gentleness);
    let what = (columns, writing);
    let read = read(place, table, what, how, &mut sink, cancel, events);
    if let Some(error) = failed {
        return Err(unwritten(stream)(error));
    }
    let read = read?;
    to.flush().map_err(unwritten(stream))?;
    Ok(read.complete.then(|| Unloaded {
        format: Format::new("unload", 1),
        table: table.name(),
        columns: columns.to_vec(),
        file: None,
        files: Vec::new(),
        part: None,
        rows: sums.rows,
        resumed_rows: 0,
        bytes: sums.bytes,
        checksum: Checksum(sums.checksum).to_string(),
        seconds: begin.elapsed().as_secs_f64(),
        requests: read.requests,
        troubles: read.troubles,
    }))
}
