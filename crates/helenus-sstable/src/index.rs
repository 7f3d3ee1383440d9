//! The index of partitions, with the rows of wide ones, and its summary.
//! Refuses to keep more than one key in so many in memory.

use crate::bytes::{put_count, put_i32, put_i64, put_vint, put_with_u16};
use crate::row::put_live;
use fs_err::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// Bytes of rows between two entries of a wide partition's index: the default of BIG.
const BLOCK: u64 = 64 << 10;

/// `CLUSTERING` among the kinds of prefixes.
const WHOLE_ROW: u8 = 4;

/// The open file.
#[derive(Debug)]
pub(crate) struct Index {
    file: BufWriter<File>,
    position: u64,
    entry: Vec<u8>,
    summary: Summary,
    rows: Rows,
}

/// The index of the rows of one partition.
#[derive(Debug, Default)]
struct Rows {
    entries: Vec<u8>,
    places: Vec<u32>,
    first: Vec<u8>,
    last: Vec<u8>,
    /// Where the open block begins, from the beginning of the partition; none before its first row.
    from: Option<u64>,
}

#[derive(Debug, Default)]
struct Summary {
    every: u32,
    keys: u64,
    entries: Vec<u8>,
    places: Vec<u32>,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Index {
    pub(crate) fn create(path: &Path, every: u32) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(256 << 10, File::create(path)?),
            position: 0,
            entry: Vec::new(),
            summary: Summary {
                every,
                ..Summary::default()
            },
            rows: Rows::default(),
        })
    }

    /// A row of the open partition, which lies from `from` up to `to` of it.
    pub(crate) fn row(&mut self, clustering: &[u8], (from, to): (u64, u64)) {
        let rows = &mut self.rows;
        if rows.from.is_none() {
            rows.from = Some(from);
            rows.first.clear();
            rows.first.extend_from_slice(clustering);
        }
        rows.last.clear();
        rows.last.extend_from_slice(clustering);
        if rows.from.is_some_and(|from| to - from >= BLOCK) {
            rows.close(to);
        }
    }

    /// Ends a partition, which begins at `position` of the data; its rows begin `head` bytes later, and it ends at
    /// `end`, its mark included.
    pub(crate) fn partition(
        &mut self,
        key: &[u8],
        position: u64,
        (head, end): (u64, u64),
    ) -> io::Result<()> {
        self.rows.close(end);
        let entry = &mut self.entry;
        entry.clear();
        put_with_u16(key, entry);
        put_vint(position, entry);
        if self.rows.places.len() < 2 {
            put_vint(0, entry);
        } else {
            let mut lead = Vec::with_capacity(32);
            put_vint(head, &mut lead);
            put_live(&mut lead);
            put_vint(self.rows.places.len() as u64, &mut lead);
            let size = lead.len() + self.rows.entries.len() + 4 * self.rows.places.len();
            put_vint(size as u64, entry);
            entry.extend_from_slice(&lead);
            entry.extend_from_slice(&self.rows.entries);
            for place in &self.rows.places {
                entry.extend_from_slice(&place.to_be_bytes());
            }
        }
        self.rows.clear();
        self.summary.add(key, self.position);
        self.position += self.entry.len() as u64;
        self.file.write_all(&self.entry)
    }

    /// Waits until it is on the disk; the summary.
    pub(crate) fn end(mut self) -> io::Result<Vec<u8>> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(self.summary.bytes())
    }
}

impl Rows {
    fn close(&mut self, to: u64) {
        let Some(from) = self.from.take() else {
            return;
        };
        self.places
            .push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        for clustering in [&self.first, &self.last] {
            self.entries.push(WHOLE_ROW);
            self.entries.extend_from_slice(clustering);
        }
        put_vint(from, &mut self.entries);
        // The width, as a signed vint of its difference to that of a block.
        let more = (to - from).cast_signed() - BLOCK.cast_signed();
        put_vint(
            ((more << 1) ^ (more >> 63)).cast_unsigned(),
            &mut self.entries,
        );
        // No range deletion is open here.
        self.entries.push(0);
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.places.clear();
    }
}

impl Summary {
    fn add(&mut self, key: &[u8], position: u64) {
        if self.keys == 0 {
            self.first = key.to_vec();
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.keys.is_multiple_of(u64::from(self.every)) {
            self.places
                .push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
            self.entries.extend_from_slice(key);
            // Cassandra writes its memory: the machine's own order, and that of all machines of today.
            self.entries.extend_from_slice(&position.to_le_bytes());
        }
        self.keys += 1;
    }

    fn bytes(&self) -> Vec<u8> {
        /// All entries are there: none was dropped to save memory.
        const FULL: i32 = 128;
        let count = self.places.len();
        let mut out = Vec::with_capacity(self.entries.len() + count * 4 + 64);
        put_i32(self.every.cast_signed(), &mut out);
        put_count(count, &mut out);
        put_i64((self.entries.len() + count * 4) as i64, &mut out);
        put_i32(FULL, &mut out);
        put_count(count, &mut out);
        for place in &self.places {
            let place = place + u32::try_from(count * 4).unwrap_or(0);
            out.extend_from_slice(&place.to_le_bytes());
        }
        out.extend_from_slice(&self.entries);
        for key in [&self.first, &self.last] {
            put_count(key.len(), &mut out);
            out.extend_from_slice(key);
        }
        out
    }
}
