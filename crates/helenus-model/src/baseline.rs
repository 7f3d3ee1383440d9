//! A baseline: what was saved of a stopped cluster, and where and how it may come back.
//! Refuses to touch files: sizes, times and hashes are given, and what becomes of them is said as a plan.

use crate::format::Format;
use crate::nearest::nearest;
use crate::reset::Element;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

mod component;
mod fits;
mod schema;
#[cfg(test)]
mod tests;

pub use component::{Class, is_immutable, is_saved};
pub use fits::{Misfit, Pair, Place, PlaceNode, RestorePlan, fits};
pub use schema::{TableFolder, table_folder, without_id};

/// Version of [`Baseline`] as JSON.
pub const BASELINE_VERSION: u32 = 1;

/// Files up to this size are read whole before a baseline is used; larger ones by `baseline verify` only.
pub const SMALL_FILE: Bytes = Bytes(64 << 10);

/// Longest tag: it names a folder beside others.
const TAG_MAX: usize = 40;

/// What was saved of a cluster: `manifest.json` in the baseline's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// `helenus.baseline/1`.
    pub format: Format,
    /// The word that the person gave it.
    pub tag: String,
    /// When it was saved, in seconds since 1970.
    pub created_unix: u64,
    /// Release that wrote the files, such as `5.0.9`.
    pub release: String,
    /// The cluster's id in the state of Helenus; a later cluster of the same name has another.
    pub cluster_id: String,
    /// The cluster's name.
    pub cluster: String,
    /// Class that turns keys into tokens.
    pub partitioner: String,
    /// The cluster's own keyspaces, in the order in which they are to be made.
    pub keyspaces: Vec<SavedKeyspace>,
    /// Tables and views of these keyspaces with the ids that their folders carry.
    pub tables: Vec<SavedTable>,
    /// Nodes in the plan's order.
    pub nodes: Vec<SavedNode>,
    /// How it was known that nothing was on its way to disk.
    pub settled: Settled,
    /// The schema as a reset compares it; empty in baselines of an older Helenus.
    #[serde(default)]
    pub elements: Vec<Element>,
    /// When every byte was last read and found as saved, in seconds since 1970.
    #[serde(default)]
    pub verified_unix: Option<u64>,
}

/// A keyspace and the statements that make it with everything in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedKeyspace {
    /// Name.
    pub name: String,
    /// In order: the keyspace, types, functions, tables, indexes, views. No table id is in them.
    pub statements: Vec<String>,
}

/// A table or view and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTable {
    /// Keyspace.
    pub keyspace: String,
    /// Table or view.
    pub table: String,
    /// Id as folders carry it: 32 hexadecimal digits.
    pub id: String,
}

/// A node with its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNode {
    /// `node1`, `node2` ….
    pub name: String,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// Tokens, ascending.
    pub tokens: Vec<i64>,
    /// Cassandra's id of it.
    pub host_id: Option<String>,
    /// Files below its data folder, by path.
    pub files: Vec<SavedFile>,
}

/// One file of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    /// Below the data folder, with `/`.
    pub path: String,
    /// How it got into the baseline.
    pub class: Class,
    /// Length in bytes.
    pub bytes: u64,
    /// Last change in nanoseconds since 1970.
    pub modified_ns: i64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

impl SavedFile {
    /// Whether it is small enough to be read whole before the baseline is used.
    pub fn is_small(&self) -> bool {
        self.bytes <= SMALL_FILE.0
    }
}

/// How it was known that a node had nothing left to write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Who was asked.
    pub by: Asked,
    /// Looks at pending and active compactions, all nodes together.
    pub looks: u32,
    /// From the flush to the end of the drain, in seconds.
    pub seconds: f64,
}

/// How it was found that a node had settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// MBeans, through an agent in the node.
    Mbeans,
    /// The release's own nodetool.
    Nodetool,
    /// No source: a stand-in of a node has neither.
    Nobody,
}

/// What of a cluster's data files was in the page cache when its nodes started from a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCache {
    /// Whether the pages were asked to go.
    pub dropped: bool,
    /// Bytes of these files in pages that the kernel said were resident.
    pub resident_bytes: u64,
    /// Bytes of all data files.
    pub bytes: u64,
}

impl PageCache {
    /// Resident share of all data files, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.bytes == 0 {
            return 0.0;
        }
        // Whole pages were counted once, of which the last can be longer than its file.
        (self.resident_bytes as f64 / self.bytes as f64).min(1.0)
    }
}

/// Why a word cannot be a tag.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} cannot name a baseline: use 1 to 40 letters, digits, . - and _, a letter or digit first"
)]
pub struct TagError(pub String);

/// Checks that `tag` can be a folder's name and a word in a shell.
///
/// # Errors
/// Empty, longer than 40, or other characters than letters, digits, `.`, `-` and `_`, a letter or digit first.
pub fn check_tag(tag: &str) -> Result<(), TagError> {
    let first_ok = tag
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric());
    let rest_ok = tag
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if first_ok && rest_ok && tag.len() <= TAG_MAX {
        Ok(())
    } else {
        Err(TagError(tag.to_owned()))
    }
}

/// The cure for an unknown tag: the nearest known one, or all.
pub fn tag_hint(wanted: &str, known: &[String]) -> String {
    if let Some(near) = nearest(wanted, known.iter().map(String::as_str)) {
        format!("did you mean {near}?")
    } else if known.is_empty() {
        "none exists; `helenus baseline save` makes one".to_owned()
    } else {
        format!("known: {}", known.join(", "))
    }
}

impl Baseline {
    /// Bytes of all files.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.files().map(|f| f.bytes).sum())
    }

    /// Bytes that are the baseline's own from the start, because their files were copied.
    pub fn copied(&self) -> Bytes {
        let copied = self.files().filter(|f| f.class == Class::Copied);
        Bytes(copied.map(|f| f.bytes).sum())
    }

    /// All files of all nodes.
    pub fn files(&self) -> impl Iterator<Item = &SavedFile> {
        self.nodes.iter().flat_map(|node| &node.files)
    }

    /// Series of the release, such as `5.0`.
    pub fn series(&self) -> &str {
        series(&self.release)
    }
}

/// The first two numbers of a release.
pub fn series(release: &str) -> &str {
    let second = release.match_indices('.').nth(1);
    second.map_or(release, |(at, _)| &release[..at])
}
