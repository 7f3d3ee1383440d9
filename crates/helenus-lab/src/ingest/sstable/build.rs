//! Merged rows into SSTables: one set for each group of nodes that hold the same tokens.
//! Refuses SSTables without bounds: a new one begins where one is large.

use super::merge::Sink;
use super::shape::Shape;
use fs_err as fs;
use helenus_sstable::{Options, Row, Writer};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of data before compression, and partitions, at which an SSTable ends: its filter and its index stay small.
const BYTES_MOST: u64 = 16 << 30;
const PARTITIONS_MOST: u64 = 16_000_000;

/// Rows between two looks at the world.
const LOOK_EVERY: u64 = 1 << 15;

/// The SSTables of one group.
struct Group {
    folder: PathBuf,
    writer: Option<Writer>,
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

pub(super) struct Builder<'a> {
    shape: &'a Shape,
    options: Options,
    bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    groups: Vec<Group>,
    built: Built,
    /// Called now and then with the number of rows; an error ends it.
    look: &'a mut dyn FnMut(u64) -> io::Result<()>,
}

impl<'a> Builder<'a> {
    /// Builds below `folder`, in one folder for each of the shape's owners.
    pub(super) fn new(
        folder: &Path,
        shape: &'a Shape,
        options: Options,
        bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>),
        look: &'a mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut groups = Vec::new();
        for at in 0..shape.owners.len() {
            let folder = group_folder(folder, at);
            fs::create_dir_all(&folder)?;
            groups.push(Group {
                folder,
                writer: None,
                number: 0,
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
            look,
        })
    }

    /// Ends the last SSTables.
    pub(super) fn end(mut self) -> io::Result<Built> {
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
                group.number += 1;
                group.partitions = 0;
                let options = Options {
                    partitions: self.options.partitions.min(PARTITIONS_MOST),
                    ..self.options.clone()
                };
                Writer::create(&group.folder, group.number, &self.shape.layout, options)?
            }
        };
        group.partitions += 1;
        Ok(group.writer.insert(writer))
    }
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
