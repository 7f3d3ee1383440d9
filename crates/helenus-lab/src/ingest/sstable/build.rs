//! Merged rows into SSTables: one set for each group of nodes that hold the same tokens.
//! Refuses SSTables without bounds: a new one begins where one is large.

use super::merge::{Run, Sink, merge};
use super::shape::Shape;
use fs_err as fs;
use helenus_sstable::{Options, Row, Writer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Bytes of data before compression, and partitions, at which an SSTable ends: its filter and its index stay small.
const BYTES_MOST: u64 = 16 << 30;
const PARTITIONS_MOST: u64 = 16_000_000;

/// Rows between two looks at whether to go on.
const LOOK_EVERY: u64 = 1 << 15;

/// Time between two looks at the world.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The SSTables of one group.
struct Group {
    folder: PathBuf,
    writer: Option<Writer>,
    /// Of the next SSTable.
    number: u32,
    partitions: u64,
    /// Whether the group holds the open partition.
    holds: bool,
}

/// What was built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Built {
    pub(super) sstables: u64,
    pub(super) disk_bytes: u64,
    /// Rows, each once.
    pub(super) rows: u64,
}

impl Built {
    fn add(&mut self, other: Self) {
        self.sstables += other.sstables;
        self.disk_bytes += other.disk_bytes;
        self.rows += other.rows;
    }
}

struct Builder<'a> {
    shape: &'a Shape,
    options: Options,
    bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    groups: Vec<Group>,
    built: Built,
    /// How far the numbers of two SSTables are apart: others write beside it.
    step: u32,
    /// Called now and then with the number of rows; an error ends it.
    look: &'a mut (dyn FnMut(u64) -> io::Result<()> + Send),
}

impl<'a> Builder<'a> {
    /// Builds below `folder`, in one folder for each of the shape's owners, as number `at` (from 0) of `step` that do.
    fn new(
        (folder, at, step): (&Path, u32, u32),
        shape: &'a Shape,
        options: Options,
        bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>),
        look: &'a mut (dyn FnMut(u64) -> io::Result<()> + Send),
    ) -> io::Result<Self> {
        let mut groups = Vec::new();
        for group in 0..shape.owners.len() {
            let folder = group_folder(folder, group);
            fs::create_dir_all(&folder)?;
            groups.push(Group {
                folder,
                writer: None,
                number: at + 1,
                partitions: 0,
                holds: false,
            });
        }
        Ok(Self {
            shape,
            options,
            bounds,
            groups,
            built: Built::default(),
            step,
            look,
        })
    }

    /// Ends the last SSTables.
    fn end(mut self) -> io::Result<Built> {
        for at in 0..self.groups.len() {
            self.close(at)?;
        }
        Ok(self.built)
    }

    fn close(&mut self, at: usize) -> io::Result<()> {
        if let Some(writer) = self.groups[at].writer.take() {
            let written = writer.finish(self.bounds.clone())?;
            self.built.sstables += 1;
            self.built.disk_bytes += written.disk_bytes;
        }
        Ok(())
    }

    /// The group's open SSTable.
    fn writer(&mut self, at: usize) -> io::Result<&mut Writer> {
        let group = &mut self.groups[at];
        let is_full =
            |writer: &Writer| writer.bytes() >= BYTES_MOST || group.partitions >= PARTITIONS_MOST;
        if group.writer.as_ref().is_some_and(is_full) {
            self.close(at)?;
        }
        let group = &mut self.groups[at];
        let writer = match group.writer.take() {
            Some(writer) => writer,
            None => {
                let number = group.number;
                group.number += self.step;
                group.partitions = 0;
                let options = Options {
                    partitions: self.options.partitions.min(PARTITIONS_MOST),
                    ..self.options.clone()
                };
                Writer::create(&group.folder, number, &self.shape.layout, options)?
            }
        };
        group.partitions += 1;
        Ok(group.writer.insert(writer))
    }
}

/// Merges the runs of each job into SSTables, all jobs at once: each has tokens that no other has. `look` is called now and
/// then with the number of rows; an error of it ends all.
pub(super) fn all(
    folder: &Path,
    shape: &Shape,
    jobs: Vec<(Vec<Run>, Options)>,
    bounds: &(Vec<Vec<u8>>, Vec<Vec<u8>>),
    look: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<Built> {
    let stop = AtomicBool::new(false);
    let done: Vec<AtomicU64> = jobs.iter().map(|_| AtomicU64::new(0)).collect();
    let step = u32::try_from(jobs.len()).unwrap_or(1);
    std::thread::scope(|scope| {
        let (sender, ended) = channel();
        for ((at, (runs, options)), done) in (0_u32..).zip(jobs).zip(&done) {
            let (sender, stop) = (sender.clone(), &stop);
            scope.spawn(move || {
                let mut look = |rows: u64| {
                    done.store(rows, Ordering::Relaxed);
                    match stop.load(Ordering::Relaxed) {
                        true => Err(io::ErrorKind::Interrupted.into()),
                        false => Ok(()),
                    }
                };
                let place = (folder, at, step);
                let builder = Builder::new(place, shape, options, bounds.clone(), &mut look);
                let built = builder.and_then(|mut builder| {
                    merge(runs, &mut builder)?;
                    builder.end()
                });
                let _nobody_waits = sender.send(built);
            });
        }
        drop(sender);
        let (mut all, mut why) = (Built::default(), None);
        loop {
            let ended = match ended.recv_timeout(LOOK_AGAIN) {
                Ok(built) => built,
                Err(RecvTimeoutError::Disconnected) => return why.map_or(Ok(all), Err),
                Err(RecvTimeoutError::Timeout) => {
                    let rows = done.iter().map(|rows| rows.load(Ordering::Relaxed)).sum();
                    look(rows).map(|()| Built::default())
                }
            };
            match ended {
                Ok(one) => all.add(one),
                // What came first is why.
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    why.get_or_insert(error);
                }
            }
        }
    })
}

/// Where the SSTables of a group are built.
pub(super) fn group_folder(folder: &Path, at: usize) -> PathBuf {
    folder.join(format!("group{at}"))
}

impl Sink for Builder<'_> {
    fn partition(&mut self, token: i64, key: &[u8], statics: Option<Row<'_>>) -> io::Result<()> {
        for at in 0..self.groups.len() {
            self.groups[at].holds = self.shape.owners[at].hold(token);
            if self.groups[at].holds {
                self.writer(at)?.partition(key, statics)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, clustering: &[u8], row: Row<'_>) -> io::Result<()> {
        self.built.rows += 1;
        for group in self.groups.iter_mut().filter(|group| group.holds) {
            if let Some(writer) = &mut group.writer {
                writer.row(clustering, row)?;
            }
        }
        if self.built.rows.is_multiple_of(LOOK_EVERY) {
            (self.look)(self.built.rows)?;
        }
        Ok(())
    }
}
