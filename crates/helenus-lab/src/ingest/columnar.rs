//! Parquet files, as rows of values and back.
//! Refuses files that are cut off or damaged: what cannot be read is an error, never a missing row.

mod read;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod write;

pub use read::columns;
pub(super) use read::{Rows, Wanted};
pub use shape::{ColumnBatch, RowShape};
pub use write::ParquetWriter;

use super::IngestError;
use ::parquet::errors::ParquetError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What the library does with a file that it does not understand, as one error. It checks most of what it reads; for the
/// rest, a panic of its is an error as well.
fn guarded<T>(
    path: &Path,
    what: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, IngestError> {
    let content = |why: String| IngestError::Content {
        path: path.display().to_string(),
        why,
    };
    match catch_unwind(AssertUnwindSafe(what)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(content(format!(
            "its Parquet data is cut off, damaged or of an unknown kind: {error}"
        ))),
        Err(_panic) => Err(content("its Parquet data is damaged".to_owned())),
    }
}
