//! What is on disk of a load while it runs: where it is, and what it was started as.
//! Refuses to go on with another file, another table or another mapping.

use crate::format::Format;
use serde::{Deserialize, Serialize};

/// Name of the journal's format.
pub const JOURNAL: &str = "load-journal";
/// Its version.
pub const JOURNAL_VERSION: u32 = 1;

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its path; `-` is standard input.
    pub path: String,
    /// Its size in bytes; none of standard input.
    pub bytes: Option<u64>,
    /// When it was last changed, in nanoseconds since 1970; none of standard input.
    pub modified_ns: Option<i64>,
    /// Hash of its first bytes; none of standard input.
    pub head: Option<String>,
}

/// Where a load is: all rows before it are written or rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// Which of the files, from 0.
    pub file: usize,
    /// Bytes of it that are done, as UTF-8 behind compression and encoding; rows of a Parquet file.
    pub offset: u64,
    /// Lines of it that are done.
    pub line: u64,
    /// Elements of the record there that are done.
    pub element: u64,
    /// Rows that are done.
    pub rows: u64,
    /// Rows that were rejected.
    pub rejected: u64,
    /// Bytes of the file of rejected rows.
    pub rejected_bytes: u64,
}

/// A load that is not over, `helenus.load-journal/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadJournal {
    /// `helenus.load-journal/1`.
    pub format: Format,
    /// The cluster's own name.
    pub cluster_name: String,
    /// The table.
    pub table: String,
    /// Its id.
    pub table_id: String,
    /// The statement and the mapping.
    pub mapping: String,
    /// The files.
    pub files: Vec<FileMark>,
    /// When it was started, in microseconds since 1970: rows are dated from here by their number.
    pub start_us: i64,
    /// How often it was resumed.
    pub resumed: u32,
    /// Where it is.
    pub place: Place,
    /// Whether its rows are in runs, and in no table before all are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_sstables: bool,
    /// Whether the nodes have imported everything: only the proof is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Its runs on disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunMark>,
    /// The token at which the second half of each run begins; none where its runs are not halved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<i64>,
}

/// A sorted run of a load by SSTables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMark {
    /// Its partitions.
    pub partitions: u64,
    /// Its least timestamp, in microseconds since 1970.
    pub least_us: i64,
    /// Its second half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<RunHalf>,
}

/// The second half of a run, by tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHalf {
    /// Bytes of the run before it.
    pub offset: u64,
    /// Its partitions.
    pub partitions: u64,
}

impl LoadJournal {
    /// What differs between this and what is asked for now; none where it can be resumed.
    pub fn differs(&self, now: &Self) -> Option<String> {
        if (&self.cluster_name, &self.table_id) != (&now.cluster_name, &now.table_id) {
            return Some(format!("{} was recreated since", self.table));
        }
        if self.mapping != now.mapping {
            return Some("the columns or the mapping are others".to_owned());
        }
        if self.by_sstables != now.by_sstables {
            return Some("it was written the other way, --via cql or --via sstable".to_owned());
        }
        if self.files.len() != now.files.len() {
            return Some("the number of files is another".to_owned());
        }
        let changed = self.files.iter().zip(&now.files).find(|(a, b)| a != b);
        changed.map(|(then, _)| format!("{} has changed since", then.path))
    }
}
