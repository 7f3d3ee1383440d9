//! A load by SSTables: rows are sorted in runs, merged into SSTables for each owner, and the nodes import them.
//! Refuses nodes that are not this machine's own: their data folders are out of reach.

mod build;
mod merge;
mod shape;
mod sort;
#[cfg(test)]
mod tests;

use super::gather::{Chunk, Gathering, rejected_line};
use super::keeper::Keeper;
use super::send::Sent;
use super::{IngestError, LoadEvent, LoadRequest, cpu_us, kept};
use build::group_folder;
use fs_err as fs;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::reset::refill;
use helenus_cluster::scan::{ScanPlace, ScanTable};
use helenus_cluster::stored::there;
use helenus_model::ingest::journal::RunMark;
use helenus_model::ingest::{LoadJournal, Place};
use helenus_sstable::Options;
use merge::Run;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use shape::Shape;
use sort::{Batch, Bounds, Part};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The last second that an SSTable of version `nb` can name.
const LAST_SECOND: i64 = i32::MAX as i64 - 1;

/// Most bytes of a batch: places in it are numbers of 32 bits.
const BATCH_MOST: usize = 3 << 30;

/// Bytes of rows from which two threads write two SSTables; fewer are written in a moment by one.
const HALVED_FROM: usize = 16 << 20;

/// Most bytes of a partition key, and of a clustering value: their lengths have 16 bits.
const KEY_MOST: usize = 65_535;

/// What a load by SSTables wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sstables {
    /// How many, of all nodes.
    pub count: u64,
    /// Bytes of their data on disk.
    pub data_bytes: u64,
    /// Rows with different keys.
    pub distinct_rows: u64,
    /// Runs that were sorted on disk before.
    pub runs: u64,
    /// Seconds until all rows were read and sorted.
    pub sorting_s: f64,
    /// Seconds until they were in SSTables.
    pub writing_s: f64,
    /// Seconds until all nodes had imported them.
    pub importing_s: f64,
}

/// A table that SSTables can be written for.
#[derive(Debug)]
pub(super) struct Way(Shape);

/// Looks whether SSTables of a table can be written; else why not.
pub(super) fn look(
    place: &ScanPlace,
    table: &ScanTable,
    request: &LoadRequest,
) -> Result<Result<Way, String>, IngestError> {
    let shape = match shape::look(place, table, request)? {
        Ok(shape) => shape,
        Err(why) => return Ok(Err(why)),
    };
    let ttl = request.ttl_s.unwrap_or(shape.ttl_s);
    if request.now_us / 1_000_000 + i64::from(ttl) > LAST_SECOND {
        return Ok(Err("rows would live longer than until 2038".to_owned()));
    }
    Ok(Ok(Way(shape)))
}

/// A batch that a thread sorts and writes.
struct Spilling {
    /// Its bounds, its mark, and the token that halves it.
    thread: JoinHandle<io::Result<(Bounds, RunMark, Option<i64>)>>,
    path: PathBuf,
    /// Where the load is behind it.
    place: Place,
}

struct Load<'a> {
    request: &'a Arc<LoadRequest>,
    shape: &'a Shape,
    keeper: Keeper<'a>,
    folder: PathBuf,
    batch: Batch,
    spilling: Option<Spilling>,
    /// Of each batch; none where those of an interrupted load are not known.
    bounds: Option<Vec<Bounds>>,
}

/// Writes all rows from the journal's place on; the journal is at the end afterwards, and on disk at the last run.
pub(super) fn write(
    context: &Context,
    (place, table): (&ScanPlace, &ScanTable),
    request: &Arc<LoadRequest>,
    Way(shape): &Way,
    journal: &mut LoadJournal,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<(Sent, Option<Sstables>), IngestError> {
    let folder = request.journal.with_extension("sstables");
    let sent = || Sent {
        repeated: 0,
        cpu_us: cpu_us(),
    };
    if journal.imported {
        remove(&folder)?;
        return Ok((sent(), None));
    }
    if journal.runs.is_empty() {
        remove(&folder)?;
        journal.place = Place::default();
    }
    fs::create_dir_all(&folder).map_err(|source| kept(&folder, source))?;
    let start_us = journal.start_us;
    let mut load = Load {
        request,
        shape,
        bounds: journal.runs.is_empty().then(Vec::new),
        keeper: Keeper::open(request, journal)?,
        folder,
        batch: Batch::default(),
        spilling: None,
    };
    let mut lap = Instant::now();
    let mut lap = || {
        std::mem::replace(&mut lap, Instant::now())
            .elapsed()
            .as_secs_f64()
    };
    load.sort(cancel, events)?;
    let sorting_s = lap();
    let (built, runs) = load.build(start_us, cancel, events)?;
    let writing_s = lap();
    let folder = load.folder;
    let mut keeper = load.keeper;
    let Some(state) = place.state() else {
        return Err(IngestError::Way(
            "the cluster is not one of yours".to_owned(),
        ));
    };
    for (at, owners) in shape.owners.iter().enumerate() {
        for node in &owners.nodes {
            events(LoadEvent::Importing(node.clone()));
            if cancel.is_set() {
                let rows = request.own(keeper.saved_place().rows);
                return Err(IngestError::Interrupted { rows });
            }
            let stored = group_folder(&folder, at);
            refill(context, state, node, &stored, &table.keyspace, &table.table)?;
        }
    }
    // Before the runs go: who resumes it from here on has nothing left to write.
    keeper.journal().imported = true;
    keeper.save()?;
    remove(&folder)?;
    Ok((
        sent(),
        Some(Sstables {
            count: built.sstables,
            data_bytes: built.disk_bytes,
            distinct_rows: built.rows,
            runs,
            sorting_s,
            writing_s,
            importing_s: lap(),
        }),
    ))
}

fn remove(folder: &Path) -> Result<(), IngestError> {
    let removed = there(fs::remove_dir_all(folder)).map(drop);
    removed.map_err(|error| kept(folder, error))
}

impl Load<'_> {
    /// Reads everything; what is not on disk as a run is in the batch afterwards.
    fn sort(
        &mut self,
        cancel: &Cancel,
        events: &mut dyn FnMut(LoadEvent),
    ) -> Result<(), IngestError> {
        let begin = (Instant::now(), self.keeper.place().rows);
        let gathering = Gathering::start(self.request, self.keeper.journal());
        for chunk in &gathering.chunks {
            self.take(chunk?)?;
            if self.keeper.has_news() {
                events(self.keeper.progress(begin, 0));
            }
            if cancel.is_set() {
                self.spilled()?;
                let rows = self.request.own(self.keeper.saved_place().rows);
                return Err(IngestError::Interrupted { rows });
            }
        }
        gathering.end()?;
        self.spilled()
    }

    fn take(&mut self, mut chunk: Chunk) -> Result<(), IngestError> {
        let mapping = &self.request.mapping;
        let mut cells: Vec<Option<&[u8]>> = vec![None; mapping.targets.len()];
        for (package, lines) in &chunk.packages {
            let mut partition = None;
            let mut from = 0;
            for (end, line) in package.ends.iter().zip(lines) {
                let mut row = package.values.get(from..*end).unwrap_or_default();
                from = *end;
                for cell in &mut cells {
                    *cell = cut(&mut row);
                }
                let time = cut(&mut row).and_then(|time| time.try_into().ok());
                let timestamp_us = time.map_or(0, i64::from_be_bytes);
                if is_too_long(self.shape, &cells) {
                    let why = "a key of more than 65,535 bytes";
                    chunk.rejected.push(rejected_line(*line, "", why, ""));
                    chunk.reason.get_or_insert(format!("line {line}: {why}"));
                    continue;
                }
                let partition =
                    *partition.get_or_insert_with(|| self.batch.partition(self.shape, &cells));
                let added = self
                    .batch
                    .add((self.shape, mapping), partition, &cells, timestamp_us);
                if let Err(error) = added {
                    let why = error.to_string();
                    chunk.rejected.push(rejected_line(*line, "", &why, ""));
                    chunk.reason.get_or_insert(format!("line {line}: {why}"));
                }
            }
        }
        self.keeper
            .settle(chunk.after, &chunk.rejected, chunk.reason)?;
        // One batch grows while another one is written.
        let most = (self.request.memory_bytes / 2).min(BATCH_MOST);
        if self.batch.bytes() >= most {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), IngestError> {
        self.spilled()?;
        let journal = self.keeper.journal();
        let number = journal.runs.len();
        // The first run says where all are halved.
        let (half, is_first) = (journal.half, number == 0);
        let path = self.run(number);
        let mut batch = std::mem::take(&mut self.batch);
        let to = path.clone();
        let thread = std::thread::spawn(move || {
            batch.sort();
            let half = if is_first { batch.middle() } else { half };
            let mark = RunMark {
                half: batch.spill(&to, half)?,
                ..batch.mark()
            };
            Ok((batch.bounds().clone(), mark, half))
        });
        let place = self.keeper.place();
        self.spilling = Some(Spilling {
            thread,
            path,
            place,
        });
        Ok(())
    }

    /// Waits for the batch that is being written; the journal on disk is behind it then.
    fn spilled(&mut self) -> Result<(), IngestError> {
        let Some(spilling) = self.spilling.take() else {
            return Ok(());
        };
        let gone = |_panic| io::Error::other("the thread that sorts has panicked");
        let done = spilling.thread.join().map_err(gone).and_then(|done| done);
        let (bounds, mark, half) = done.map_err(|source| kept(&spilling.path, source))?;
        if let Some(all) = &mut self.bounds {
            all.push(bounds);
        }
        let journal = self.keeper.journal();
        journal.runs.push(mark);
        journal.half = half;
        self.keeper.save_at(spilling.place)
    }

    fn run(&self, number: usize) -> PathBuf {
        self.folder.join(format!("run{number}"))
    }

    /// Merges the runs and the batch into SSTables.
    fn build(
        &mut self,
        start_us: i64,
        cancel: &Cancel,
        events: &mut dyn FnMut(LoadEvent),
    ) -> Result<(build::Built, u64), IngestError> {
        let folder = self.folder.clone();
        let failed = |source: io::Error| kept(&folder, source);
        let mut batch = std::mem::take(&mut self.batch);
        batch.sort();
        let on_disk = self.keeper.journal().runs.clone();
        let bounds = self.bounds.take().map(|mut all| {
            all.push(batch.bounds().clone());
            Bounds::all(&all).values()
        });
        let half = match on_disk.is_empty() {
            true => batch.middle().filter(|_| batch.bytes() >= HALVED_FROM),
            false => self.keeper.journal().half,
        };
        let batch_mark = RunMark {
            half: half.map(|half| batch.half(half)),
            ..batch.mark()
        };
        let marks: Vec<RunMark> = on_disk.iter().copied().chain([batch_mark]).collect();
        // Runs of an interrupted load of an earlier version are not halved.
        let half = half.filter(|_| marks.iter().all(|mark| mark.half.is_some()));
        let parts = match half {
            Some(half) => vec![Part::Below(half), Part::From(half)],
            None => vec![Part::All],
        };
        let least_us = marks.iter().map(|mark| mark.least_us).min();
        let place = self.keeper.place();
        let rows = self.request.own(place.rows) - place.rejected;
        let now_s = i32::try_from(start_us / 1_000_000).unwrap_or(i32::MAX);
        let options = |part: Part| Options {
            compression: self.shape.compression,
            false_positives: self.shape.false_positives,
            index_interval: self.shape.index_interval,
            partitions: marks.iter().map(|mark| part.partitions(mark)).sum(),
            least_timestamp_us: least_us.unwrap_or(start_us),
            now_s,
            expiry: self.shape.expiry(self.request.ttl_s, now_s),
        };
        as_many_files_as_possible();
        let batch = Arc::new(batch);
        let mut jobs = Vec::new();
        for part in parts {
            let mut runs = Vec::new();
            for (number, mark) in on_disk.iter().enumerate() {
                let path = self.run(number);
                let run = Run::open(&path, part.bytes(mark));
                runs.push(run.map_err(|source| kept(&path, source))?);
            }
            if batch.len() > 0 {
                runs.push(Run::of(Arc::clone(&batch), part));
            }
            jobs.push((runs, options(part)));
        }
        let mut look = |done: u64| {
            events(LoadEvent::Building(done, rows));
            match cancel.is_set() {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => Ok(()),
            }
        };
        // What an interrupted load has left.
        for at in 0..self.shape.owners.len() {
            remove(&group_folder(&folder, at))?;
        }
        let bounds = bounds.unwrap_or_default();
        let built = build::all(&folder, self.shape, jobs, &bounds, &mut look);
        match built {
            Err(error) if cancel.is_set() && error.kind() == io::ErrorKind::Interrupted => {
                let rows = self.request.own(self.keeper.saved_place().rows);
                Err(IngestError::Interrupted { rows })
            }
            built => Ok((built.map_err(failed)?, on_disk.len() as u64)),
        }
    }
}

/// All runs are open at once, and the usual limit of 1,024 files is that of a billion rows. What the system does not grant
/// is an error where a run is opened.
fn as_many_files_as_possible() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _refused = setrlimit(Resource::Nofile, most);
}

/// Whether no server would take the row's key: of several columns each has two bytes of length and one behind it.
fn is_too_long(shape: &Shape, cells: &[Option<&[u8]>]) -> bool {
    let length = |at: usize| cells[at].map_or(0, <[u8]>::len);
    let extra = if shape.partition.len() > 1 { 3 } else { 0 };
    let key: usize = shape.partition.iter().map(|at| length(*at) + extra).sum();
    key > KEY_MOST
        || shape
            .clustering
            .iter()
            .any(|(at, _)| length(*at) > KEY_MOST)
}

/// A value behind its length, as it is bound; none where it is null or unset.
fn cut<'a>(row: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = row.split_first_chunk::<4>()?;
    *row = rest;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    let (value, rest) = rest.split_at_checked(length)?;
    *row = rest;
    Some(value)
}
