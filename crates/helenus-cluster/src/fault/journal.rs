//! The journal of faults: what was done to a cluster and what undoes it, on disk before it is done.
//! Refuses to say whether a fault still holds: the kernel and the keeper are asked for that.

use super::FaultTrouble;
use crate::state::started_at;
use crate::stored;
use crate::wall::since_1970;
use helenus_model::fault::Fault;
use helenus_model::fault::place::Reach;
use helenus_model::format::Format;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of [`Journal`] as JSON.
const JOURNAL_VERSION: u32 = 1;

/// The journal in a cluster's folder.
const FILE: &str = "faults.json";

/// All faults that were started and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// `helenus.fault-journal/1`.
    pub format: Format,
    /// Number of the next fault: none is given twice while the network lives that knows them.
    pub next: u32,
    /// In the order of their beginnings.
    pub faults: Vec<Entry>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    pub id: u32,
    /// The fault, as given.
    pub fault: Fault,
    /// What it reaches.
    pub reach: Reach,
    /// When it started, in milliseconds since 1970.
    pub since_unix_ms: u64,
    /// When it is to be ended, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_unix_ms: Option<u64>,
    /// The process that made it and ends it, with its start in ticks since boot; none where a person ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<(i32, Option<u64>)>,
    /// Quotas as they were, and groups that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<Undo>,
}

/// What puts a processor quota back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// What stood in a file of the node's own group.
    Quota {
        /// The file.
        file: PathBuf,
        /// Its text.
        was: String,
    },
    /// A group that was made for the fault; the processes in it go back.
    Group {
        /// It.
        group: PathBuf,
        /// Where they were.
        back: PathBuf,
    },
}

impl Entry {
    /// Whether the process that was to end it is gone.
    pub fn abandoned(&self) -> bool {
        self.maker
            .is_some_and(|(pid, started)| started.is_none() || started_at(pid) != started)
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            format: Format::new("fault-journal", JOURNAL_VERSION),
            next: 1,
            faults: Vec::new(),
        }
    }
}

impl Journal {
    /// The journal of the cluster in this folder; an empty one where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(cluster: &Path) -> Result<Self, FaultTrouble> {
        let found = stored::find(&cluster.join(FILE), "fault-journal", JOURNAL_VERSION);
        let found = found.map_err(|error| FaultTrouble::Journal(error.into()))?;
        Ok(found.unwrap_or_default())
    }

    /// Writes it; a reader sees the old one or the new one.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, cluster: &Path) -> Result<(), FaultTrouble> {
        stored::write(&cluster.join(FILE), self).map_err(FaultTrouble::Journal)
    }

    /// The entry with that number.
    pub fn entry(&self, id: u32) -> Option<&Entry> {
        self.faults.iter().find(|entry| entry.id == id)
    }
}

/// Milliseconds since 1970.
pub fn now_unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
