//! Rows into a Parquet file: gathered by column, a row group at a time, compressed with zstd.
//! Refuses to end a file that a row is missing from.

use super::shape::{ColumnBatch, RowShape, Shredded, Values};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use fs_err as fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group, and its bytes before they are compressed.
const GROUP_ROWS: usize = 1 << 20;
const GROUP_BYTES: usize = 64 << 20;

/// A Parquet file that is written.
#[expect(
    missing_debug_implementations,
    reason = "the library's writer has none"
)]
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<Behind<W>>,
    open: ColumnBatch,
    shape: RowShape,
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// Writes behind bytes that are there: so many are passed over, since they are the same.
struct Behind<W> {
    inner: W,
    there: u64,
}

impl<W: Write> Write for Behind<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.there == 0 {
            return self.inner.write(bytes);
        }
        let passed = self.there.min(bytes.len() as u64);
        self.there -= passed;
        Ok(usize::try_from(passed).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl ParquetWriter<fs::File> {
    /// Goes on with a file of so many bytes, which [`Self::keep`] has returned, with a file of what [`Self::footer`] was then or
    /// later.
    /// Its row groups are read and given to the library again; what it makes of them is in the file already.
    ///
    /// # Errors
    /// The file is another one.
    pub fn resume(shape: &RowShape, file: fs::File, bytes: u64, footer: &Path) -> io::Result<Self> {
        let footer = fs::File::open(footer)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(footer.file());
        let metadata = metadata.map_err(failed)?;
        let there = fs::File::open(file.path())?;
        let mut resumed = Self::behind(shape, file, bytes)?;
        for group in metadata.row_groups() {
            if resumed.writer.bytes_written() as u64 >= bytes {
                break;
            }
            let mut again = resumed.writer.next_row_group().map_err(failed)?;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
                    rows_written: u64::try_from(group.num_rows()).unwrap_or(0),
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                again.append_column(there.file(), close).map_err(failed)?;
            }
            again.close().map_err(failed)?;
        }
        let again = resumed.keep()?;
        if again != bytes {
            let why = format!("its row groups have {again} bytes, and not {bytes}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(resumed)
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// `to` takes nothing.
    pub fn new(shape: &RowShape, to: W) -> io::Result<Self> {
        Self::behind(shape, to, 0)
    }

    fn behind(shape: &RowShape, to: W, there: u64) -> io::Result<Self> {
        let to = Behind { inner: to, there };
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Row groups that are gone on with have none: their pages are found without.
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(None)
            .set_created_by(concat!("helenus ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = SerializedFileWriter::new(to, Arc::clone(&shape.schema), Arc::new(properties));
        Ok(Self {
            writer: writer.map_err(failed)?,
            open: shape.batch(),
            shape: shape.clone(),
        })
    }

    /// Writes rows of the same shape.
    ///
    /// # Errors
    /// The file takes no more, or a value is none of its column's type.
    pub fn add(&mut self, batch: ColumnBatch) -> io::Result<()> {
        if let Some(why) = &batch.trouble {
            return Err(io::Error::new(io::ErrorKind::InvalidData, why.clone()));
        }
        self.open.append(batch);
        match self.open.rows >= GROUP_ROWS || self.open.bytes >= GROUP_BYTES {
            true => self.group(),
            false => Ok(()),
        }
    }

    /// Writes a row group.
    fn group(&mut self) -> io::Result<()> {
        if self.open.rows == 0 {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.open, self.shape.batch());
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut leaves = batch.leaves.into_iter();
        while let Some(mut column) = group.next_column().map_err(failed)? {
            if let Some(leaf) = leaves.next() {
                write(&mut column, &leaf).map_err(failed)?;
            }
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Rows that are in no row group yet.
    pub fn waiting(&self) -> usize {
        self.open.rows
    }

    /// Writes all rows that it was given, as a row group; the bytes of the file, to which it may be cut.
    ///
    /// # Errors
    /// The file takes no more.
    pub fn keep(&mut self) -> io::Result<u64> {
        self.group()?;
        self.writer.flush()?;
        Ok(self.writer.bytes_written() as u64)
    }

    /// What would stand at the file's end if no more row groups followed.
    ///
    /// # Errors
    /// The library cannot write it.
    pub fn footer(&self) -> io::Result<Vec<u8>> {
        let groups = self.writer.flushed_row_groups().to_vec();
        let rows = groups.iter().map(|group| group.num_rows()).sum();
        let schema = Arc::new(self.writer.schema_descr().clone());
        let about = FileMetaData::new(2, rows, None, None, schema, None);
        let metadata = ParquetMetaData::new(about, groups);
        let mut bytes = Vec::new();
        let writer = ParquetMetaDataWriter::new(&mut bytes, &metadata);
        writer.finish().map_err(failed)?;
        Ok(bytes)
    }

    /// Writes what is left and the file's end; the file's bytes.
    ///
    /// # Errors
    /// The file takes no more.
    pub fn finish(mut self) -> io::Result<u64> {
        self.group()?;
        self.writer.finish().map_err(failed)?;
        self.writer.inner_mut().flush()?;
        Ok(self.writer.bytes_written() as u64)
    }
}

fn write(column: &mut SerializedColumnWriter<'_>, leaf: &Shredded) -> Result<(), ParquetError> {
    match &leaf.values {
        Values::Bool(all) => typed::<BoolType>(column, all, leaf),
        Values::I32(all) => typed::<Int32Type>(column, all, leaf),
        Values::I64(all) => typed::<Int64Type>(column, all, leaf),
        Values::F32(all) => typed::<FloatType>(column, all, leaf),
        Values::F64(all) => typed::<DoubleType>(column, all, leaf),
        Values::Bytes(all) => typed::<ByteArrayType>(column, all, leaf),
        Values::Fixed(all) => typed::<FixedLenByteArrayType>(column, all, leaf),
    }
}

fn typed<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    leaf: &Shredded,
) -> Result<(), ParquetError> {
    let reps = leaf.reps.iter().any(|level| *level > 0);
    let writer = column.typed::<T>();
    let repeats = writer.get_descriptor().max_rep_level() > 0;
    debug_assert!(repeats || !reps, "levels of another column");
    writer.write_batch(values, Some(&leaf.defs), repeats.then_some(&leaf.reps[..]))?;
    Ok(())
}
