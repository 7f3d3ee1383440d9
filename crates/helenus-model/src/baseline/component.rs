//! Which files of a node's data folder a baseline takes, and which of them it may share with a living node.
//! Refuses to share what it does not know: an unknown component is copied.

use super::series;
use serde::{Deserialize, Serialize};

/// How a file got from one folder into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A second name of the same file: no time, no space.
    Linked,
    /// A file of its own that shares its blocks until one of both is written to.
    Reflinked,
    /// A file of its own.
    Copied,
}

/// Components that are written once, before the SSTable is known to the node, and then only read or deleted,
/// in every release that Helenus knows. Big format: Data, Index, CompressionInfo, CRC, Digest; BTI: Partitions
/// and Rows instead of Index.
const WRITTEN_ONCE: [&str; 10] = [
    "Data.db",
    "Index.db",
    "Partitions.db",
    "Rows.db",
    "CompressionInfo.db",
    "CRC.db",
    "Digest.crc32",
    "Digest.adler32",
    "Digest.sha1",
    "EncryptionInfo.db",
];

/// Series in which `Filter.db` is written once: in 5.0 a changed bloom_filter_fp_chance rebuilds no filter of
/// an existing SSTable (`FilterComponent.rebuildFilterOnFPChanceChange` is a constant, false); before, opening
/// the SSTable rebuilds it and writes over the file.
const FILTER_WRITTEN_ONCE: [&str; 1] = ["5.0"];

/// Folders below a table's that belong to no state of it.
const LEFT_OUT: [&str; 2] = ["snapshots", "backups"];

/// Whether a node of this release never writes into the file again, so that it may have a second name.
///
/// Not so: Statistics (repair and level are changed), Summary (resampled), TOC (appended to), the components
/// of secondary indexes of newer kinds (rebuilt), and everything that is not known.
pub fn is_immutable(release: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // `nb-1-big-Data.db`: format, generation or unique id, family, component.
    let mut parts = name.splitn(4, '-');
    let (Some(format), Some(_), Some(family), Some(component)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let known = format.len() == 2 && matches!(family, "big" | "bti");
    let once = WRITTEN_ONCE.contains(&component)
        || (component == "Filter.db" && FILTER_WRITTEN_ONCE.contains(&series(release)));
    known && once
}

/// Whether a file below the data folder belongs to a baseline: not snapshots, backups and unfinished writes.
pub fn is_saved(path: &str) -> bool {
    let mut parts = path.split('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    !parts.any(|part| LEFT_OUT.contains(&part)) && !name.ends_with(".tmp")
}
