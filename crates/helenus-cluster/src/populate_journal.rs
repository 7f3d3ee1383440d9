//! What is remembered of a populate in the cluster's folder: written again as it goes, gone with the cluster.
//! Refuses two at once on one cluster.

use crate::context::Context;
use crate::error::ClusterError;
use crate::lock;
use crate::state::StateError;
use crate::stored::{self, there};
use fs_err as fs;
use helenus_model::populate::{Journal, VERSION};
use std::io;
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
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(LOCK))
            .map_err(ClusterError::io("the cluster's folder"))?;
        match lock::take(&file).map_err(ClusterError::io("the cluster's folder"))? {
            true => Ok(Self {
                path: folder.join(FILE),
                _lock: file,
            }),
            false => Err(StateError::Busy(cluster.to_owned()).into()),
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
        stored::write(&self.path, journal).map_err(ClusterError::io("the journal of the populate"))
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
    let removed = there(fs::remove_file(path)).map(drop);
    removed.map_err(ClusterError::io("the journal of the populate"))
}

fn read(path: &Path) -> io::Result<Option<Journal>> {
    Ok(stored::find(path, "populate", VERSION)?)
}
