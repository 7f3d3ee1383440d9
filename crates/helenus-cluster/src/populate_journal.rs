//! What is remembered of a populate in the cluster's folder: written again as it goes, gone with the cluster.
//! Refuses two at once on one cluster.

use crate::context::Context;
use crate::error::ClusterError;
use crate::state::StateError;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::populate::{Journal, VERSION};
use rustix::fs::FlockOperation;
use serde::Deserialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const FILE: &str = "populate.json";
const LOCK: &str = "populate.lock";

/// The one populate of a cluster; given back when dropped or when the process ends.
#[derive(Debug)]
pub struct PopulateJournal {
    path: PathBuf,
    _lock: fs::File,
}

impl PopulateJournal {
    /// Opens the book of a cluster, which lies in the folder of its state.
    ///
    /// # Errors
    /// Another process fills it now, or the folder cannot be written.
    pub fn open(folder: &Path, cluster: &str) -> Result<Self, ClusterError> {
        let lock = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(LOCK))
            .map_err(ClusterError::io("the cluster's folder"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                path: folder.join(FILE),
                _lock: lock,
            }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StateError::Busy(cluster.to_owned()).into()),
            Err(e) => Err(ClusterError::io("the cluster's folder")(e.into())),
        }
    }

    /// What is remembered.
    ///
    /// # Errors
    /// It cannot be read, or is of a later version.
    pub fn read(&self) -> Result<Option<Journal>, ClusterError> {
        read(&self.path).map_err(ClusterError::io("the journal of the populate"))
    }

    /// Remembers this; it is on disk when this returns.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, journal: &Journal) -> Result<(), ClusterError> {
        let written = || -> io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec(journal)?)?;
            file.as_file().sync_data()?;
            file.persist(&self.path).map_err(|e| e.error)?;
            Ok(())
        };
        written().map_err(ClusterError::io("the journal of the populate"))
    }
}

/// What is recorded of a cluster's populate, for whoever only looks.
///
/// # Errors
/// It cannot be read, or is of a later version.
pub fn look(folder: &Path) -> Result<Option<Journal>, ClusterError> {
    read(&folder.join(FILE)).map_err(ClusterError::io("the journal of the populate"))
}

/// Forgets what was filled: it no longer describes the rows.
///
/// # Errors
/// The file cannot be removed.
pub fn forget(context: &Context, cluster: &str) -> Result<(), ClusterError> {
    let path = context.clusters.folder(cluster).join(FILE);
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(ClusterError::io("the journal of the populate")(e))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> io::Result<Option<Journal>> {
    #[derive(Deserialize)]
    struct Mark {
        format: Format,
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mark: Mark = serde_json::from_str(&text)?;
    let format = mark.format.check("populate", VERSION);
    format.map_err(io::Error::other)?;
    Ok(Some(serde_json::from_str(&text)?))
}
