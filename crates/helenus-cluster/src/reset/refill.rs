//! Rows of a baseline put back into a running node: SSTables are linked, and the node takes them over.
//! Refuses to hand over the stored files themselves: the node moves what it imports.

use crate::context::Context;
use crate::error::ClusterError;
use crate::mbeans::{Ask, Mbeans};
use crate::origin::ResetError;
use crate::state::ClusterState;
use fs_err as fs;
use serde_json::json;
use std::io;
use std::path::Path;

/// Lets a node import the SSTables that lie in `stored`, and leaves `stored` as it is.
///
/// `keyspace` and `table` are names as the server keeps them. The table should be empty. Parts that a node writes
/// again in place are copied; the others are linked where the file system allows, and copied else.
///
/// # Errors
/// The node is not running, a file cannot be linked or copied, or the node refuses an SSTable.
pub fn refill(
    context: &Context,
    state: &ClusterState,
    node: &str,
    stored: &Path,
    keyspace: &str,
    table: &str,
) -> Result<(), ClusterError> {
    let plan = state.node(node)?;
    // Beside the data, on the same file system: the node moves what lies there.
    let staging = Path::new(&plan.storage()).join("staging");
    fs::create_dir_all(&staging).map_err(ClusterError::io("the staging folder"))?;
    let folder = tempfile::tempdir_in(&staging).map_err(ClusterError::io("the staging folder"))?;
    // The node learns the table from the two last folders of the path.
    let target = folder.path().join(keyspace).join(table);
    let staged = stage(stored, &target).map_err(ClusterError::io("a baseline's files"))?;
    if staged == 0 {
        return Ok(());
    }
    let mbeans = Mbeans::of(context, state, node)?;
    let bean = format!("org.apache.cassandra.db:type=Tables,keyspace={keyspace},table={table}");
    let path = target.to_string_lossy();
    // Paths; then: keep levels off, keep repaired, verify SSTables and tokens, drop no caches, no extended verify, no copy.
    let flags = json!([false, false, true, true, false, false, false]);
    let mut arguments = vec![json!([path])];
    arguments.extend(flags.as_array().into_iter().flatten().cloned());
    let answer = mbeans
        .bulk(&[Ask::exec(&bean, IMPORT, &arguments)])?
        .pop()
        .transpose()?;
    let refused: Vec<String> = answer
        .as_ref()
        .and_then(|a| a.as_array())
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(ResetError::NotImported {
        node: node.to_owned(),
        table: format!("{keyspace}.{table}"),
        folders: refused.len(),
    }
    .into())
}

/// The import of 4.0 and later, by its signature: there are several.
const IMPORT: &str =
    "importNewSSTables(java.util.Set,boolean,boolean,boolean,boolean,boolean,boolean,boolean)";

/// Parts of an SSTable that a node never writes again once they are there.
const IMMUTABLE: [&str; 8] = [
    "Data.db",
    "Index.db",
    "Filter.db",
    "CompressionInfo.db",
    "Digest.crc32",
    "CRC.db",
    "Partitions.db",
    "Rows.db",
];

/// Puts every file of an SSTable into `target`; returns how many.
fn stage(stored: &Path, target: &Path) -> io::Result<usize> {
    fs::create_dir_all(target)?;
    let mut staged = 0;
    for entry in fs::read_dir(stored)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        let immutable = IMMUTABLE.iter().any(|part| name.ends_with(part));
        if !(immutable && fs::hard_link(&from, &to).is_ok()) {
            fs::copy(&from, &to)?;
        }
        staged += 1;
    }
    Ok(staged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn what_is_written_again_is_copied_and_the_rest_linked() {
        let root = tempfile::tempdir().unwrap();
        let stored = root.path().join("stored");
        fs::create_dir(&stored).unwrap();
        for part in ["nb-1-big-Data.db", "nb-1-big-Statistics.db"] {
            fs::write(stored.join(part), part).unwrap();
        }
        fs::create_dir(stored.join("folder")).unwrap();
        let target = root.path().join("k/t");
        assert_eq!(stage(&stored, &target).unwrap(), 2);
        let inode = |path: std::path::PathBuf| fs::metadata(path).unwrap().ino();
        let same = |part: &str| inode(stored.join(part)) == inode(target.join(part));
        assert!(same("nb-1-big-Data.db"));
        assert!(!same("nb-1-big-Statistics.db"));
        assert!(stage(&root.path().join("nowhere"), &target).is_err());
    }
}
