//! One SSTable from its first partition to its last file.
//! Refuses partitions and rows that are out of order.

use crate::cardinality::Cardinality;
use crate::data::{Compression, Data};
use crate::filter::Filter;
use crate::index::Index;
use crate::layout::Layout;
use crate::row::{Base, END_OF_PARTITION, Expiry, Row, RowWriter, put_partition};
use crate::statistics::{Collected, EPOCH_S, Histogram, bytes};
use fs_err as fs;
use helenus_model::ring::murmur3_token;
use std::io;
use std::path::{Path, PathBuf};

/// What holds for a whole SSTable.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How data is compressed.
    pub compression: Compression,
    /// `bloom_filter_fp_chance` of the table.
    pub false_positives: f64,
    /// `min_index_interval` of the table.
    pub index_interval: u32,
    /// Most partitions that will come: the size of the Bloom filter.
    pub partitions: u64,
    /// Least timestamp that will come, in microseconds; that of a replaced collection is one less.
    pub least_timestamp_us: i64,
    /// When collections are replaced, in seconds since 1970.
    pub now_s: i32,
    /// When everything expires.
    pub expiry: Option<Expiry>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Partitions.
    pub partitions: u64,
    /// Bytes of data before compression.
    pub bytes: u64,
    /// Bytes of data on disk.
    pub disk_bytes: u64,
}

/// An SSTable that is being written.
#[derive(Debug)]
pub struct Writer {
    layout: Layout,
    options: Options,
    base: Base,
    folder: PathBuf,
    number: u32,
    data: Data,
    index: Index,
    filter: Option<Filter>,
    rows: RowWriter,
    collected: Collected,
    key: Vec<u8>,
    token: Option<i64>,
    /// Where the open partition begins, where its rows do, and where its last row does.
    places: Option<(u64, u64, u64)>,
    partitions: u64,
    cells_before: u64,
}

/// The parts that a table of contents lists, besides what compression adds.
const TOC: &str = "TOC.txt";

impl Writer {
    /// Opens the files `nb-NUMBER-big-…` in a folder that is there.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn create(
        folder: &Path,
        number: u32,
        layout: &Layout,
        options: Options,
    ) -> io::Result<Self> {
        let multi_cell = |columns: &[crate::Column]| columns.iter().any(|column| column.multi_cell);
        let replaces = multi_cell(&layout.statics) || multi_cell(&layout.regulars);
        let times = options.expiry.is_some() || replaces;
        let base = Base {
            timestamp_us: options
                .least_timestamp_us
                .saturating_sub(i64::from(replaces)),
            deletion_s: if times { options.now_s } else { EPOCH_S },
            expiry: options.expiry,
        };
        let path = |part: &str| folder.join(format!("nb-{number}-big-{part}"));
        Ok(Self {
            data: Data::create(&path("Data.db"), options.compression)?,
            index: Index::create(&path("Index.db"), options.index_interval)?,
            filter: Filter::new(options.partitions, options.false_positives),
            rows: RowWriter::new(base),
            collected: Collected {
                sizes: Histogram::new(155),
                cells: Histogram::new(118),
                cardinality: Cardinality::new(),
                rows: 0,
                total_cells: 0,
                deletions: 0,
                timestamps: (i64::MAX, i64::MIN),
                bounds: (Vec::new(), Vec::new()),
            },
            layout: layout.clone(),
            base,
            options,
            folder: folder.to_path_buf(),
            number,
            key: Vec::new(),
            token: None,
            places: None,
            partitions: 0,
            cells_before: 0,
        })
    }

    /// Bytes of data so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.data.position()
    }

    /// Opens the next partition, whose key is serialised. Its static row comes with it, if it has one.
    ///
    /// # Errors
    /// A key that does not follow the last one; the files cannot be written.
    pub fn partition(&mut self, key: &[u8], statics: Option<Row<'_>>) -> io::Result<()> {
        let token = murmur3_token(key);
        let follows = self
            .token
            .is_none_or(|last| (last, &*self.key) < (token, key));
        if !follows {
            return Err(io::Error::other("partitions are out of order"));
        }
        self.close()?;
        (self.token, self.partitions) = (Some(token), self.partitions + 1);
        self.key.clear();
        self.key.extend_from_slice(key);
        if let Some(filter) = &mut self.filter {
            filter.add(key);
        }
        self.collected.cardinality.add(key);
        let begin = self.data.position();
        put_partition(key, self.data.out());
        if !self.layout.statics.is_empty() {
            let row = statics.unwrap_or(Row {
                timestamp_us: 0,
                cells: &[],
            });
            let put = self
                .rows
                .put(&self.layout.statics, (None, row), 0, self.data.out());
            put.map_err(io::Error::other)?;
            self.collected.rows += u64::from(!row.cells.is_empty());
            self.see(row, false);
        }
        let rows = self.data.position();
        self.places = Some((begin, rows, begin));
        Ok(())
    }

    fn see(&mut self, row: Row<'_>, lives: bool) {
        let columns = if lives {
            &self.layout.regulars
        } else {
            &self.layout.statics
        };
        let times = &mut self.collected.timestamps;
        let cells = row.cells.iter().map(|cell| {
            let deleted = i64::from(columns[cell.column].multi_cell);
            (cell.timestamp_us - deleted, cell.timestamp_us)
        });
        let own = lives.then_some((row.timestamp_us, row.timestamp_us));
        for (least, greatest) in cells.chain(own) {
            *times = (times.0.min(least), times.1.max(greatest));
        }
    }

    /// Appends a row to the open partition. `clustering` is as [`crate::Clustering::encode`] makes it; rows come in the
    /// table's order, which is not checked.
    ///
    /// # Errors
    /// No open partition, a value that cannot be written, or the files cannot be.
    pub fn row(&mut self, clustering: &[u8], row: Row<'_>) -> io::Result<()> {
        let (begin, _, last) = self
            .places
            .ok_or_else(|| io::Error::other("a row without a partition"))?;
        let from = self.data.position();
        let content = (Some(clustering), row);
        let put = self
            .rows
            .put(&self.layout.regulars, content, from - last, self.data.out());
        put.map_err(io::Error::other)?;
        self.collected.rows += 1;
        self.see(row, true);
        let to = self.data.position();
        self.index.row(clustering, (from - begin, to - begin));
        if let Some(places) = &mut self.places {
            places.2 = from;
        }
        self.data.flush()
    }

    fn close(&mut self) -> io::Result<()> {
        let Some((begin, rows, _)) = self.places.take() else {
            return Ok(());
        };
        self.data.out().push(END_OF_PARTITION);
        let end = self.data.position();
        let key = std::mem::take(&mut self.key);
        let indexed = self
            .index
            .partition(&key, begin, (rows - begin, end - begin));
        self.key = key;
        self.collected.sizes.add(end - begin);
        self.collected
            .cells
            .add(self.rows.cells - self.cells_before);
        self.cells_before = self.rows.cells;
        indexed?;
        self.data.flush()
    }

    /// Closes the last partition and writes all other files; all are on the disk afterwards. `bounds` are the least and the
    /// greatest value of each clustering column, in the table's order, as CQL serialises them.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn finish(mut self, bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>)) -> io::Result<Written> {
        self.close()?;
        let stored = self.data.end()?;
        let summary = self.index.end()?;
        let mut collected = self.collected;
        collected.bounds = bounds;
        collected.total_cells = self.rows.cells;
        collected.deletions = self.rows.deletions;
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let ratio = match self.options.compression {
            Compression::None => -1.0,
            Compression::Lz4 { .. } | Compression::Zstd { .. } => {
                stored.disk_bytes as f64 / stored.bytes.max(1) as f64
            }
        };
        let shares = (self.options.false_positives, ratio);
        let statistics = bytes(&self.layout, &self.base, &collected, shares);
        let mut parts = vec![
            ("Summary.db", summary),
            ("Statistics.db", statistics),
            ("Digest.crc32", stored.digest.to_string().into_bytes()),
            stored.beside,
        ];
        if let Some(filter) = &self.filter {
            parts.push(("Filter.db", filter.bytes()));
        }
        let mut names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        names.extend(["Data.db", "Index.db", TOC]);
        names.sort_unstable();
        let contents: String = names.iter().map(|name| format!("{name}\n")).collect();
        parts.push((TOC, contents.into_bytes()));
        for (name, bytes) in &parts {
            let path = self.folder.join(format!("nb-{}-big-{name}", self.number));
            let mut file = fs::File::create(path)?;
            io::Write::write_all(&mut file, bytes)?;
            file.sync_all()?;
        }
        Ok(Written {
            partitions: self.partitions,
            bytes: stored.bytes,
            disk_bytes: stored.disk_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clustering;
    use helenus_model::cql::CqlType;
    use helenus_model::ring::composite_key;

    fn options(partitions: u64) -> Options {
        Options {
            compression: Compression::Lz4 {
                chunk_bytes: 16 << 10,
            },
            false_positives: 0.01,
            index_interval: 128,
            partitions,
            least_timestamp_us: 1_700_000_000_000_000,
            now_s: 1_700_000_000,
            expiry: None,
        }
    }

    fn layout() -> Layout {
        let texts = vec![CqlType::Text, CqlType::Text];
        Layout::new(texts, vec![(CqlType::Inet, false)], Vec::new(), Vec::new()).unwrap()
    }

    /// Nine partitions of one row each, against the files of Cassandra 5.0.9 for the same rows.
    #[test]
    fn index_and_summary_are_those_of_cassandra() {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Vec::new();
        for country in 1..=3_u8 {
            for region in 1..=3_u8 {
                let (c, r) = (format!("c{country}"), format!("r{region}"));
                let key = composite_key([c.as_bytes(), r.as_bytes()]);
                rows.push((murmur3_token(&key), key, [10, 0, country, region]));
            }
        }
        rows.sort();
        let layout = layout();
        let mut writer = Writer::create(folder.path(), 1, &layout, options(9)).unwrap();
        for (_, key, address) in &rows {
            writer.partition(key, None).unwrap();
            let mut clustering = Vec::new();
            Clustering::encode(&layout, [&address[..]].into_iter(), &mut clustering);
            let row = Row {
                timestamp_us: 1_700_000_000_000_000,
                cells: &[],
            };
            writer.row(&clustering, row).unwrap();
        }
        let again = writer.partition(&rows[0].1, None);
        assert!(again.is_err(), "partitions in their order only");
        let written = writer.finish((Vec::new(), Vec::new())).unwrap();
        assert_eq!((written.partitions, written.bytes), (9, 9 * 35));
        let hex = |part: &str| -> String {
            let bytes = fs::read(folder.path().join(format!("nb-1-big-{part}"))).unwrap();
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let index = "000a000263330000027233000000 000a000263320000027233002300 000a000263310000027232004600 \
            000a000263310000027231006900 000a00026332000002723100808c00 000a0002633300000272320080af00 \
            000a0002633100000272330080d200 000a0002633200000272320080f500 000a00026333000002723100811800";
        assert_eq!(hex("Index.db"), index.replace([' ', '\n'], ""));
        let summary = "0000008000000001000000000000001600000080000000010400000000026333000002723300 \
            0000000000000000 0000000a00026333000002723300 0000000a00026333000002723100";
        assert_eq!(hex("Summary.db"), summary.replace([' ', '\n'], ""));
        let toc = fs::read_to_string(folder.path().join("nb-1-big-TOC.txt")).unwrap();
        assert_eq!(toc.lines().count(), 8);
        for part in toc.lines() {
            assert!(!hex(part).is_empty(), "{part}");
        }
    }

    #[test]
    fn a_row_needs_a_partition() {
        let folder = tempfile::tempdir().unwrap();
        let layout = layout();
        let mut writer = Writer::create(folder.path(), 1, &layout, options(1)).unwrap();
        let row = Row {
            timestamp_us: 1,
            cells: &[],
        };
        assert!(writer.row(&[], row).is_err());
        assert!(Writer::create(&folder.path().join("nowhere"), 1, &layout, options(1)).is_err());
    }
}
