//! Removal of a cluster with everything that it has: processes, disks, addresses, sockets, folders.
//! Refuses to need a readable state: what `kill -9` left half-made is removed as well.

use crate::alive::{self, CLAIM_FILE};
use crate::context::Context;
use crate::disk;
use crate::error::ClusterError;
use crate::host_settings::{self, Changed};
use crate::limits;
use crate::outside;
use crate::process;
use crate::stored::there;
use fs_err as fs;
use helenus_model::units::Bytes;
use rustix::process::{Signal, kill_process_group};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Folder of a cluster with what runs beside its nodes.
pub(crate) const BESIDE: &str = "stack";

/// Folders that are on their way out.
const LEAVING: &str = ".removing-";

/// What was, or would be, deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// Cluster.
    pub name: String,
    /// Its nodes' folders.
    pub nodes: usize,
    /// Processes that ran.
    pub running: usize,
    /// Size of everything in its folder.
    pub bytes: Bytes,
    /// Its folder.
    pub folder: PathBuf,
    /// Folders of its nodes on other disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<PathBuf>,
    /// Settings of the machine that go back to what they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub puts_back: Vec<Changed>,
}

/// What [`remove`] would delete.
///
/// # Errors
/// No such cluster, or its folder cannot be read.
pub fn look(context: &Context, name: &str) -> Result<Removal, ClusterError> {
    let folder = context.clusters.folder(name);
    if name.is_empty() || name.starts_with('.') || name.contains('/') || !folder.is_dir() {
        let known = context
            .clusters
            .names()
            .map_err(ClusterError::io("the state folder"))?;
        return Err(crate::state::StateError::UnknownCluster {
            name: name.into(),
            known,
        }
        .into());
    }
    let mut claimed = claimed_folders(&folder);
    // The keeper of its network and the parts of a stack go with it, and are no nodes.
    claimed.retain(|f| f.parent() == Some(&folder) && !f.ends_with(crate::net::FOLDER));
    let running = claimed
        .iter()
        .filter(|f| !matches!(alive::holder(f), Ok(None)))
        .count();
    let nodes = claimed.iter().filter(|f| !f.ends_with("training")).count();
    let outside = outside::of(&folder);
    let bytes = outside
        .iter()
        .fold(size(&folder), |sum, folder| sum + size(folder));
    Ok(Removal {
        name: name.into(),
        nodes,
        running,
        bytes,
        outside,
        puts_back: host_settings::ends_with(
            &context.env.root,
            &folder,
            &context.clusters.folders().unwrap_or_default(),
        ),
        folder,
    })
}

/// Removes a cluster: its processes first, its addresses last. What is returned has those settings of the machine that
/// did go back.
///
/// # Errors
/// No such cluster, another helenus is at work on it, a process of it is in another PID namespace, something else is
/// mounted in its folder, or the folder cannot be removed.
pub fn remove(context: &Context, name: &str) -> Result<Removal, ClusterError> {
    let mut removal = look(context, name)?;
    let _lock = context.clusters.lock(name)?;
    disk::below(&removal.folder)?;
    let claimed = claimed_folders(&removal.folder);
    // Whom this process cannot see it cannot end: all are asked before the first one ends.
    for folder in &claimed {
        alive::holder(folder).map_err(ClusterError::io("the node's claim"))?;
    }
    for folder in &claimed {
        end_node(folder).map_err(ClusterError::io("the node's claim"))?;
    }
    disk::unmount_below(&removal.folder)?;
    limits::remove(&removal.folder);
    outside::remove(&removal.folder)?;
    let others = context.clusters.folders().unwrap_or_default();
    removal.puts_back = host_settings::put_back(&context.env.root, &removal.folder, &others);
    let leaving = removal
        .folder
        .with_file_name(format!("{LEAVING}{name}-{}", std::process::id()));
    fs::rename(&removal.folder, &leaving).map_err(ClusterError::io("the cluster's folder"))?;
    delete(&leaving).map_err(ClusterError::io("the cluster's folder"))?;
    // By what is gone, not by name: another `up` may have made a cluster of this name meanwhile.
    context
        .claims
        .sweep(context.clusters.root())
        .map_err(ClusterError::io("the folder of address claims"))?;
    Ok(removal)
}

/// Deletes what an interrupted removal left: folders and address claims.
///
/// # Errors
/// A folder or a claim cannot be deleted.
pub fn sweep(context: &Context) -> io::Result<()> {
    for entry in fs::read_dir(context.clusters.root())? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(LEAVING) {
            disk::unmount_below(&entry.path()).map_err(io::Error::other)?;
            delete(&entry.path())?;
        }
    }
    context.claims.sweep(context.clusters.root())
}

/// Removes the socket that a JVM leaves in /tmp when it was attached to and then killed.
pub fn forget_attach(pid: i32) {
    let _never_attached = fs::remove_file(format!("/tmp/.java_pid{pid}"));
}

/// Folders with a claim: the nodes, a training start that was cut off, and the parts of a stack.
fn claimed_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries(folder)
        .chain(entries(&folder.join(BESIDE)))
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.join(CLAIM_FILE).exists() || p.join("conf").exists())
        .collect();
    folders.sort();
    folders
}

/// Unlinks the claim before asking who holds it: a shim that locks later finds no link and ends.
fn end_node(folder: &Path) -> io::Result<()> {
    let path = folder.join(CLAIM_FILE);
    let claim = fs::OpenOptions::new().read(true).write(true).open(&path);
    let Some(claim) = there(claim)? else {
        return Ok(());
    };
    fs::remove_file(&path)?;
    while let Some(pid) = alive::holder_of(&claim)? {
        // The shim made the node the leader of a session: while it lives, the group is its own.
        let _gone_already = kill_process_group(pid, Signal::KILL);
        process::end(pid, Duration::ZERO);
        forget_attach(pid.as_raw_pid());
    }
    Ok(())
}

/// Deletes a folder; a grandchild that still writes a last file gets a moment to end.
fn delete(folder: &Path) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        match fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !folder.exists() => return Ok(()),
            Err(e) if begin.elapsed() > Duration::from_secs(5) => return Err(e),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn size(folder: &Path) -> Bytes {
    let Ok(entries) = fs::read_dir(folder) else {
        return Bytes(0);
    };
    let sizes = entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size(&entry.path()).0,
            // Blocks, not length: Cassandra's commit log is sparse until it is written.
            Ok(meta) => std::os::unix::fs::MetadataExt::blocks(&meta) * 512,
            Err(_) => 0,
        });
    Bytes(sizes.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::env::Env;

    #[test]
    fn only_settings_that_went_back_are_reported() {
        let lab = tempfile::tempdir().expect("a folder");
        let root = lab.path().join("root");
        let env = Env {
            vars: [
                (
                    "HELENUS_HOME".into(),
                    lab.path().join("home").into_os_string(),
                ),
                ("XDG_RUNTIME_DIR".into(), lab.path().as_os_str().to_owned()),
            ]
            .into(),
            uid: rustix::process::geteuid().as_raw(),
            root: root.clone(),
            ..Env::default()
        };
        let context = Context::open(env, "helenus".into(), Cancel::default()).expect("folders");
        let folder = context.clusters.folder("c");
        fs::create_dir_all(&folder).expect("a folder");
        fs::create_dir_all(&root).expect("a folder");
        // The second one was changed by another program since.
        let mut settings = Vec::new();
        for (file, now) in [("first", "8"), ("second", "64")] {
            fs::write(root.join(file), now).expect("a file");
            settings.push(serde_json::json!({
                "what": file, "file": file, "before": "128", "set": "8", "unit": "KiB"
            }));
        }
        let journal = serde_json::json!({
            "format": "helenus.host/1", "boot": "", "settings": settings
        });
        fs::write(folder.join("host.json"), journal.to_string()).expect("a journal");
        assert_eq!(look(&context, "c").expect("a cluster").puts_back.len(), 2);
        let removal = remove(&context, "c").expect("it is removed");
        let back: Vec<&str> = removal.puts_back.iter().map(|one| &*one.what).collect();
        assert_eq!(back, ["first"]);
        let now = ["first", "second"].map(|file| fs::read_to_string(root.join(file)).ok());
        assert_eq!(now, [Some("128".to_owned()), Some("64".to_owned())]);
        assert!(!folder.exists());
    }
}
