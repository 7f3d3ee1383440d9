//! Settings of the whole machine that a cluster asks for: changed on request, remembered before, put back with its end.
//! Refuses to put back what somebody else has changed since, and what another cluster still wants.
//!
//! What was there is written into the cluster's folder before the first change. Whatever removes the cluster puts it back,
//! also after everything that knew of it was killed. A boot puts it back by itself.

mod aliases;
mod fix;

pub use aliases::{give_addresses, may_have_addresses};
pub use fix::{Failed, FixError, Fixes, undo, undoes};

use crate::error::{Class, Problem};
use crate::limits::disk::device;
use crate::stored;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the stored shape.
const VERSION: u32 = 1;
const FILE: &str = "host.json";
const BOOT: &str = "proc/sys/kernel/random/boot_id";

/// What was changed, `helenus.host/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Journal {
    format: Format,
    /// The kernel's name of this boot: with another one nothing is left to put back.
    boot: String,
    /// Settings that were changed, with what they were.
    settings: Vec<Changed>,
}

/// A setting that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// What it is, such as `read-ahead of vda`.
    pub what: String,
    /// The kernel's file, below the root.
    file: PathBuf,
    /// What it said.
    pub before: String,
    /// What it was set to.
    pub set: String,
    /// Unit of both.
    pub unit: String,
}

impl Changed {
    /// How it is once it was put back.
    pub fn undone(&self) -> String {
        match &*self.before {
            "" => format!("{} is removed", self.what),
            before => format!("{} is {before} {} again", self.what, self.unit),
        }
    }
}

/// Why a setting of the machine cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The nodes' files are on no disk.
    #[error("no read-ahead to set: {0}")]
    NoDisk(String),
    /// There is no such interface.
    #[error("this machine has no network interface {name}")]
    NoInterface {
        /// It.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// An address that the machine does not have.
    #[error("this machine has no address {0}")]
    NoAddress(std::net::Ipv4Addr),
    /// The kernel does not let this user add it.
    #[error("cannot add address {address} to {interface}")]
    NotAdded {
        /// Address.
        address: std::net::Ipv4Addr,
        /// Interface.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// It must not be written.
    #[error("{what} cannot be set to {wanted}")]
    NotSet {
        /// What.
        what: String,
        /// What was wanted.
        wanted: String,
        /// Why.
        source: io::Error,
    },
    /// Two clusters on one machine have one setting.
    #[error("cluster {cluster} has already set {what}")]
    Taken {
        /// What.
        what: String,
        /// Whose it is.
        cluster: String,
    },
    /// It cannot be remembered.
    #[error("cannot save the previous value in {}", path.display())]
    NotKept {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl HostError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDisk(_) => {
                "leave --read-ahead out, or put the state on a disk with HELENUS_HOME".to_owned()
            }
            Self::NoInterface { known, .. } => format!("it has {}", known.join(", ")),
            Self::NoAddress(_) => {
                "add --interface NAME: it is added there, and removed with the cluster".to_owned()
            }
            Self::NotAdded { .. } => {
                "only root may add it; or leave --addresses and --interface out".to_owned()
            }
            Self::NotSet { .. } => "only root may set it; or leave --read-ahead out".to_owned(),
            Self::Taken { cluster, .. } => format!("`helenus rm {cluster}` restores it"),
            Self::NotKept { .. } => "free some space there".to_owned(),
        }
    }
}

impl Problem for HostError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        Some(Self::hint(self))
    }
}

/// Whether this user may set the read-ahead of the disk that holds a folder; nothing is changed.
///
/// # Errors
/// There is no such disk, or the kernel does not let this user.
pub fn may_read_ahead(root: &Path, folder: &Path, wanted: Bytes) -> Result<(), HostError> {
    let disk = device(root, folder).map_err(HostError::NoDisk)?;
    let file = root.join(format!("sys/block/{}/queue/read_ahead_kb", disk.name));
    let opened = fs::OpenOptions::new().write(true).open(file);
    opened.map(drop).map_err(|source| HostError::NotSet {
        what: format!("read-ahead of {}", disk.name),
        wanted: wanted.to_string(),
        source,
    })
}

/// Sets how far the kernel reads ahead on the disk that holds this cluster's folder; `others` are the folders of all
/// clusters of this home, by name.
///
/// # Errors
/// There is no such disk, another cluster has set it, or the kernel does not let this user.
pub fn read_ahead(
    root: &Path,
    folder: &Path,
    others: &[(String, PathBuf)],
    wanted: Bytes,
) -> Result<(), HostError> {
    let disk = device(root, folder).map_err(HostError::NoDisk)?;
    let what = format!("read-ahead of {}", disk.name);
    let file = PathBuf::from(format!("sys/block/{}/queue/read_ahead_kb", disk.name));
    let kib = wanted.0.div_ceil(1024);
    let (wanted_kib, in_pages) = (kib.to_string(), in_pages(kib).to_string());
    let mut of_others = others.iter().filter(|(_, other)| other != folder);
    let of_another = of_others.find_map(|(name, other)| Some((name, of_file(root, other, &file)?)));
    if let Some((cluster, other)) = &of_another
        && other.set != wanted_kib
        && other.set != in_pages
    {
        let cluster = (*cluster).clone();
        return Err(HostError::Taken { what, cluster });
    }
    let not_set = |source| HostError::NotSet {
        what: what.clone(),
        wanted: wanted.to_string(),
        source,
    };
    let path = root.join(&file);
    let before = match of_another
        .map(|(_, other)| other)
        .or_else(|| of_file(root, folder, &file))
    {
        // What another cluster found, or this one before an earlier change, is what goes back when the last of them ends.
        Some(earlier) => earlier.before,
        None => fs::read_to_string(&path).map_err(not_set)?,
    };
    let change = Changed {
        what: what.clone(),
        file,
        before: before.trim().to_owned(),
        set: wanted_kib.clone(),
        unit: "KiB".to_owned(),
    };
    remember(root, folder, change.clone())?;
    fs::write(&path, &wanted_kib).map_err(not_set)?;
    // What the kernel keeps of it is what is compared when it goes back.
    let kept = fs::read_to_string(&path).map_err(not_set)?;
    if kept.trim() == wanted_kib {
        return Ok(());
    }
    let set = kept.trim().to_owned();
    remember(root, folder, Changed { set, ..change })
}

/// So many KiB as the kernel keeps them: in whole pages.
fn in_pages(kib: u64) -> u64 {
    let page = rustix::param::page_size() as u64 / 1024;
    kib - kib % page.max(1)
}

/// Keeps what a cluster is about to change, beside what it has changed.
fn remember(root: &Path, folder: &Path, change: Changed) -> Result<(), HostError> {
    let mut settings = held(root, folder);
    settings.retain(|one| one.file != change.file);
    settings.push(change);
    let journal = Journal {
        format: Format::new("host", VERSION),
        boot: boot(root),
        settings,
    };
    keep(folder, &journal).map_err(|source| HostError::NotKept {
        path: folder.join(FILE),
        source,
    })
}

/// What a cluster has set, as far as it holds since this boot.
pub fn held(root: &Path, folder: &Path) -> Vec<Changed> {
    match read(folder) {
        Some(journal) if journal.boot == boot(root) => journal.settings,
        _ => Vec::new(),
    }
}

/// A cluster's change of this file, where it holds.
fn of_file(root: &Path, folder: &Path, file: &Path) -> Option<Changed> {
    held(root, folder).into_iter().find(|one| one.file == file)
}

/// What goes back where a cluster ends: what no other cluster needs as well.
pub fn ends_with(root: &Path, folder: &Path, others: &[(String, PathBuf)]) -> Vec<Changed> {
    let mut all = held(root, folder);
    all.retain(|one| {
        let mut others = others.iter().filter(|(_, other)| other != folder);
        !others.any(|(_, other)| of_file(root, other, &one.file).is_some())
    });
    all
}

/// Restores what a cluster has set, and reports it; what was changed since, or is needed by another, stays. A file
/// that cannot be written is reported in the log: removal continues.
pub fn put_back(root: &Path, folder: &Path, others: &[(String, PathBuf)]) -> Vec<Changed> {
    let mut restored = Vec::new();
    for one in ends_with(root, folder, others) {
        let path = root.join(&one.file);
        let address = aliases::of(&one);
        let now = match &address {
            Some(alias) => alias.now(root),
            None => fs::read_to_string(&path).unwrap_or_default(),
        };
        if now.trim() == one.before {
            continue;
        }
        if now.trim() != one.set {
            tracing::warn!(
                what = one.what,
                now = now.trim(),
                "changed by another program"
            );
            continue;
        }
        let written = match address {
            Some(alias) => alias.put(root, false),
            None => fs::write(&path, &one.before),
        };
        match written {
            Ok(()) => restored.push(one),
            Err(error) => tracing::error!(%error, what = one.what, "cannot be restored"),
        }
    }
    restored
}

fn read(folder: &Path) -> Option<Journal> {
    let text = fs::read_to_string(folder.join(FILE)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whole or not at all, and on the disk before anything is changed.
fn keep(folder: &Path, journal: &Journal) -> io::Result<()> {
    stored::write(&folder.join(FILE), journal)
}

fn boot(root: &Path) -> String {
    let text = fs::read_to_string(root.join(BOOT)).unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root whose only disk holds the folder, and two folders of clusters in it.
    fn machine() -> (tempfile::TempDir, [PathBuf; 2], PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let folders = ["a", "b"].map(|name| root.path().join(name));
        folders.iter().for_each(|f| fs::create_dir(f).unwrap());
        let number = rustix::fs::stat(&folders[0]).unwrap().st_dev;
        let number = format!(
            "{}:{}",
            rustix::fs::major(number),
            rustix::fs::minor(number)
        );
        let disk = root.path().join("sys/block/vdx");
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(disk.join("dev"), &number).unwrap();
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        let link = root.path().join("sys/dev/block").join(&number);
        fs_err::os::unix::fs::symlink(&disk, link).unwrap();
        let file = disk.join("queue/read_ahead_kb");
        fs::write(&file, "8192\n").unwrap();
        fs::create_dir_all(root.path().join("proc/sys/kernel/random")).unwrap();
        fs::write(root.path().join(BOOT), "one\n").unwrap();
        (root, folders, file)
    }

    fn others(folders: &[PathBuf; 2]) -> Vec<(String, PathBuf)> {
        let names = ["a".to_owned(), "b".to_owned()];
        names.into_iter().zip(folders.clone()).collect()
    }

    #[test]
    fn it_is_put_back_as_it_was() {
        let (root, folders, file) = machine();
        let root = root.path();
        read_ahead(root, &folders[0], &others(&folders), Bytes(8 << 10)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "8");
        // To ask changes nothing.
        may_read_ahead(root, &folders[0], Bytes(1 << 20)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "8");
        assert_eq!(held(root, &folders[0])[0].what, "read-ahead of vdx");
        let taken = read_ahead(root, &folders[1], &others(&folders), Bytes(1 << 20)).unwrap_err();
        assert_eq!(
            taken.to_string(),
            "cluster a has already set read-ahead of vdx"
        );
        // The same is no conflict, and holds until the last of them ends.
        read_ahead(root, &folders[1], &others(&folders), Bytes(8 << 10)).unwrap();
        assert_eq!(put_back(root, &folders[1], &others(&folders)), vec![]);
        fs::remove_dir_all(&folders[1]).unwrap();
        let back = put_back(root, &folders[0], &others(&folders));
        assert_eq!((back.len(), back[0].before.as_str()), (1, "8192"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "8192");
    }

    #[test]
    fn what_the_kernel_keeps_otherwise_is_put_back() {
        let (root, folders, file) = machine();
        let root = root.path();
        // A file of the kernel that keeps fifteen characters.
        fs::remove_file(&file).unwrap();
        fs_err::os::unix::fs::symlink("/proc/self/comm", &file).unwrap();
        let before = fs::read_to_string(&file).unwrap();
        read_ahead(root, &folders[0], &[], Bytes(u64::MAX)).unwrap();
        assert_eq!(held(root, &folders[0])[0].set, "180143985094819");
        assert_eq!(put_back(root, &folders[0], &[]).len(), 1);
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
    }

    #[test]
    fn what_comes_to_the_same_pages_is_no_conflict() {
        let (root, folders, _) = machine();
        let page = rustix::param::page_size() as u64;
        let all = others(&folders);
        read_ahead(root.path(), &folders[0], &all, Bytes(page)).unwrap();
        read_ahead(root.path(), &folders[1], &all, Bytes(page + 2048)).unwrap();
    }

    #[test]
    fn what_others_changed_and_what_a_boot_put_back_stays() {
        let (root, folders, file) = machine();
        let root = root.path();
        read_ahead(root, &folders[0], &others(&folders), Bytes(8 << 10)).unwrap();
        fs::write(&file, "64").unwrap();
        assert_eq!(put_back(root, &folders[0], &[]), vec![]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "64");
        fs::write(&file, "8").unwrap();
        fs::write(root.join(BOOT), "two").unwrap();
        assert_eq!(put_back(root, &folders[0], &[]), vec![]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "8");
    }

    #[test]
    fn nothing_is_changed_that_cannot_be_remembered() {
        let (root, folders, file) = machine();
        fs::remove_dir(&folders[1]).unwrap();
        fs::write(&folders[1], "no folder").unwrap();
        let error = read_ahead(root.path(), &folders[1], &[], Bytes(8 << 10)).unwrap_err();
        assert!(matches!(error, HostError::NotKept { .. }), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "8192\n");
    }
}
