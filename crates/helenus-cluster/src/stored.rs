//! Files that Helenus keeps for itself: JSON with the mark of its format, each replaced in one step.
//! Refuses half of a file, and one of a version that it does not know.

use fs_err as fs;
use helenus_model::format::{Format, FormatError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::Path;

/// Why a file that is kept cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No such file, or unreadable.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not what we write.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another version's.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            ReadError::Json(error) => error.into(),
            ReadError::Format(error) => Self::other(error),
        }
    }
}

/// Reads a file of the format of this name.
///
/// # Errors
/// No such file, or not one of this version or the one before.
pub fn read<T: DeserializeOwned>(
    path: &Path,
    name: &'static str,
    version: u32,
) -> Result<T, ReadError> {
    #[derive(Deserialize)]
    struct Mark {
        format: Format,
    }
    let text = fs::read_to_string(path)?;
    let mark: Mark = serde_json::from_str(&text)?;
    mark.format.check(name, version)?;
    Ok(serde_json::from_str(&text)?)
}

/// The same; none where there is no such file.
///
/// # Errors
/// Not one of this version or the one before.
pub fn find<T: DeserializeOwned>(
    path: &Path,
    name: &'static str,
    version: u32,
) -> Result<Option<T>, ReadError> {
    match read(path, name, version) {
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// What came of something done to a file or folder; none where that is not there.
///
/// # Errors
/// Any other error.
pub fn there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Writes a value as JSON: as [`replace`].
///
/// # Errors
/// The folder cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    replace(path, &serde_json::to_vec_pretty(value)?)
}

/// Puts this text in the place of a file, for the eyes of this user only; it is on disk when this returns. A reader sees
/// the old file or the new one.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
