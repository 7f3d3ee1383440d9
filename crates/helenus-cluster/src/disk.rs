//! Disks of limited size in memory: a tmpfs of a node's own below its folder, found again in the kernel's list of mounts.
//! Refuses to unmount what is not ours, and to begin anew on a disk whose data is gone.

use crate::alive;
use crate::error::{Class, Problem};
use crate::state::{ClusterState, Clusters};
use fs_err as fs;
use helenus_model::plan::NodePlan;
use helenus_model::units::Bytes;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::thread::CapabilitySet;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The source of our mounts, by which they are known in the kernel's list.
const SOURCE: &str = "helenus-disk";

/// What is mounted in this process's namespace.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Why a disk cannot be had, or not be taken away.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// This user may not mount.
    #[error("size-limited disks need permission to mount file systems")]
    Forbidden,
    /// The kernel refuses one.
    #[error("cannot mount the disk of {node}")]
    Mount {
        /// Node.
        node: String,
        /// Why.
        source: io::Error,
    },
    /// It was there, and is not.
    #[error("the disk of {node} and its data are gone")]
    Gone {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// Something else is mounted in a cluster's folder.
    #[error("{} is a mounted file system, but not a node's disk", .0.display())]
    Foreign(PathBuf),
    /// One stays.
    #[error("cannot unmount {}", place.display())]
    Unmount {
        /// Where it is.
        place: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel's list.
    #[error("cannot read the list of mounted file systems")]
    Mounts(#[source] io::Error),
}

impl Problem for DiskError {
    fn class(&self) -> Class {
        match self {
            Self::Gone { .. } => Class::Cluster,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        let may = "run as root (in a container with CAP_SYS_ADMIN), or run every command in a shell started by `unshare --user --map-root-user --mount`";
        match self {
            Self::Forbidden => Some(format!("{may}, or leave --disk out")),
            Self::Mount { .. } | Self::Unmount { .. } => Some(may.to_owned()),
            Self::Gone { cluster, .. } => Some(format!(
                "it was in memory, and was lost with the machine or the shell that mounted it: `helenus baseline restore {cluster}` restores a saved state, `helenus rm {cluster}` removes the rest"
            )),
            Self::Foreign(place) => Some(format!("unmount it first: umount {}", place.display())),
            Self::Mounts(_) => None,
        }
    }
}

/// A disk as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Its size.
    pub size: Bytes,
    /// What is on it, in whole pages.
    pub used: Bytes,
}

/// The disk of a node; none where it has none, or where it is not mounted.
pub fn look(node: &NodePlan) -> Option<Disk> {
    node.disk?;
    let place = PathBuf::from(node.storage());
    if !is_mounted(&place).ok()? {
        return None;
    }
    let stat = rustix::fs::statvfs(&place).ok()?;
    Some(Disk {
        size: Bytes(stat.f_blocks * stat.f_frsize),
        used: Bytes(stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize),
    })
}

/// Whether this process may mount.
///
/// # Errors
/// It may not.
pub(crate) fn may_mount() -> Result<(), DiskError> {
    let sets = rustix::thread::capabilities(None);
    if sets.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN)) {
        Ok(())
    } else {
        Err(DiskError::Forbidden)
    }
}

/// Mounts the disks of these nodes, where they have one that is not there.
///
/// # Errors
/// The kernel refuses, or a disk is gone that held a node's data.
pub(crate) fn provide(state: &ClusterState, nodes: &[String]) -> Result<(), DiskError> {
    for node in state.plan.nodes.iter().filter(|n| nodes.contains(&n.name)) {
        let kept = state.nodes.get(&node.name);
        if kept.is_some_and(|kept| kept.host_id.is_some()) && is_missing(node)? {
            return Err(DiskError::Gone {
                cluster: state.plan.name.clone(),
                node: node.name.clone(),
            });
        }
        provide_empty(node)?;
    }
    Ok(())
}

/// Mounts the disk of a node, whatever was on it before; one that is mounted stays as it is.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn provide_empty(node: &NodePlan) -> Result<(), DiskError> {
    let Some(size) = node.disk else {
        return Ok(());
    };
    if !is_missing(node)? {
        return Ok(());
    }
    let refused = |source| DiskError::Mount {
        node: node.name.clone(),
        source,
    };
    let place = PathBuf::from(node.storage());
    fs::create_dir_all(&place).map_err(refused)?;
    let options = CString::new(format!("size={},mode=0700", size.0));
    let options = options.map_err(|error| refused(error.into()))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    mount(SOURCE, &place, "tmpfs", flags, options.as_c_str()).map_err(|e| refused(e.into()))?;
    tracing::info!(node = node.name, %size, "a disk is mounted");
    Ok(())
}

/// Whether a node has a disk that is not there.
fn is_missing(node: &NodePlan) -> Result<bool, DiskError> {
    match node.disk {
        Some(_) => Ok(!is_mounted(Path::new(&node.storage()))?),
        None => Ok(false),
    }
}

fn is_mounted(place: &Path) -> Result<bool, DiskError> {
    let Ok(place) = fs::canonicalize(place) else {
        return Ok(false);
    };
    Ok(mounts()?.iter().any(|m| m.ours && m.place == place))
}

/// The disks that are mounted below a folder, in the order in which they were.
///
/// # Errors
/// Something else is mounted there, into which nobody shall delete.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let Ok(folder) = fs::canonicalize(folder) else {
        return Ok(Vec::new());
    };
    let mut below = mounts()?;
    below.retain(|mount| mount.place.starts_with(&folder));
    match below.iter().find(|mount| !mount.ours) {
        Some(foreign) => Err(DiskError::Foreign(foreign.place.clone())),
        None => Ok(below.into_iter().map(|mount| mount.place).collect()),
    }
}

/// Unmounts all disks below a folder. Lazily where somebody still looks at one: its memory is free with their end.
///
/// # Errors
/// As [`below`], or a disk stays.
pub(crate) fn unmount_below(folder: &Path) -> Result<(), DiskError> {
    // One may lie over another: the last comes off first.
    for place in below(folder)?.into_iter().rev() {
        let stays = |source: Errno| DiskError::Unmount {
            place: place.clone(),
            source: source.into(),
        };
        take_off(&place).map_err(stays)?;
    }
    Ok(())
}

fn take_off(place: &Path) -> Result<(), Errno> {
    let here = UnmountFlags::NOFOLLOW;
    match unmount(place, here) {
        Err(Errno::BUSY) => unmount(place, here | UnmountFlags::DETACH),
        // Somebody else was quicker.
        Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Unmounts the disks of clusters whose maker is gone and that nobody will look at again: memory that new nodes want.
/// What stands in the way of that is the next `rm`'s to report.
pub(crate) fn sweep(clusters: &Clusters) {
    let (Ok(root), Ok(mounts)) = (fs::canonicalize(clusters.root()), mounts()) else {
        return;
    };
    let ours = mounts.iter().filter(|mount| mount.ours);
    let below = ours.filter_map(|mount| mount.place.strip_prefix(&root).ok()?.iter().next());
    let names: BTreeSet<String> = below
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    for name in names {
        let left = || clusters.load(&name).is_ok_and(|state| is_left(&state));
        if !left() {
            continue;
        }
        // Once more under the lock: `start` may have taken it over.
        if let Ok(_lock) = clusters.lock(&name)
            && left()
        {
            let swept = unmount_below(&root.join(&name));
            tracing::info!(cluster = name, ?swept, "disks of an abandoned cluster");
        }
    }
}

fn is_left(state: &ClusterState) -> bool {
    // One whose claim cannot be asked may live.
    let lives = |node: &NodePlan| !matches!(alive::holder(Path::new(&node.folder)), Ok(None));
    state.abandoned() && !state.plan.nodes.iter().any(lives)
}

/// A line of the kernel's list.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    place: PathBuf,
    /// Whether it is a disk of a node.
    ours: bool,
}

fn mounts() -> Result<Vec<Mount>, DiskError> {
    let text = fs::read(MOUNTS).map_err(DiskError::Mounts)?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(read).collect())
}

/// `36 35 98:0 /root /place rw,noatime shared:1 - tmpfs source rw,size=1k`
fn read(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let place = words.nth(4)?;
    // Before the hyphen stand as many fields as there happen to be.
    words.find(|word| *word == b"-")?;
    let (kind, source) = (words.next()?, words.next()?);
    Some(Mount {
        place: PathBuf::from(OsString::from_vec(unescaped(place))),
        ours: kind == b"tmpfs" && source == SOURCE.as_bytes(),
    })
}

/// Blanks and their like stand as three octal digits behind a backslash.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|d| u8::from_str_radix(d, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &more[3..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_mounts_are_known_among_others() {
        let of = |line: &str| read(line.as_bytes());
        let ours =
            of("70 28 0:61 / /s/c/node1/disk rw,nosuid shared:9 - tmpfs helenus-disk rw,size=1k");
        let expected = Mount {
            place: "/s/c/node1/disk".into(),
            ours: true,
        };
        assert_eq!(ours, Some(expected));
        let spaced = of("70 28 0:61 / /a\\040b\\134c rw - tmpfs none rw").expect("a mount");
        assert_eq!((spaced.place, spaced.ours), ("/a b\\c".into(), false));
        let other = of("70 28 0:61 / /x rw master:1 propagate_from:2 - ext4 helenus-disk rw");
        assert!(!other.expect("a mount").ours);
        assert_eq!(of(""), None);
        assert_eq!(of("70 28 0:61 / /x rw"), None);
        assert!(
            mounts()
                .expect("a list")
                .iter()
                .any(|m| m.place == Path::new("/"))
        );
    }
}
