//! Rows into a Parquet file: gathered by column, a row group at a time, compressed with zstd.
//! Refuses to end a file that a row is missing from.

use super::shape::{ColumnBatch, RowShape, Shredded, Values};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io::{self, Write};
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
    writer: SerializedFileWriter<W>,
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

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// `to` takes nothing.
    pub fn new(shape: &RowShape, to: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
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

    /// Writes what is left and the file's end.
    ///
    /// # Errors
    /// The file takes no more.
    pub fn finish(mut self) -> io::Result<()> {
        self.group()?;
        self.writer.finish().map_err(failed)?;
        self.writer.inner_mut().flush()
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
