//! The speed of the disk below a node's folder, held in its control group and read back from there.
//! Refuses file systems without a block device of their own: nothing could be limited there.

use super::{Hierarchy, Kind};
use fs_err as fs;
use helenus_model::memory::{DiskLimit, disk_speed};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What version 1 does not do, where writes shall be limited.
const WRITTEN_LATER: &str = "cgroup v1 does not throttle what the kernel writes back later";

/// Files of version 1: bytes read, bytes written, reads, writes; each a second.
const FILES_V1: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

/// The file of version 2, and its words in the same order.
const FILE_V2: &str = "io.max";
const WORDS_V2: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];

/// A whole disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name, such as `vda`.
    pub name: String,
    /// Its number, such as `254:0`.
    pub number: String,
}

/// The speed of a disk as the kernel holds it for each node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskHeld {
    /// Name of the whole disk, such as `vda`.
    pub device: String,
    /// Its number, such as `254:0`.
    pub number: String,
    /// Bytes read a second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written a second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads a second.
    pub reads_per_s: Option<u64>,
    /// Writes a second.
    pub writes_per_s: Option<u64>,
    /// What the kernel does not hold of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub but: Option<String>,
}

impl DiskHeld {
    /// What is asked of a device, before it is written and read back.
    pub(super) fn asked(device: Device, kind: Kind, asked: DiskLimit) -> Self {
        let writes = asked.write_bytes_per_s.is_some() || asked.operations_per_s.is_some();
        Self {
            device: device.name,
            number: device.number,
            read_bytes_per_s: asked.read_bytes_per_s.map(|bytes| bytes.0),
            write_bytes_per_s: asked.write_bytes_per_s.map(|bytes| bytes.0),
            reads_per_s: asked.operations_per_s,
            writes_per_s: asked.operations_per_s,
            but: (kind == Kind::V1 && writes).then(|| WRITTEN_LATER.to_owned()),
        }
    }

    fn figures(&self) -> [Option<u64>; 4] {
        [
            self.read_bytes_per_s,
            self.write_bytes_per_s,
            self.reads_per_s,
            self.writes_per_s,
        ]
    }

    /// In words, such as `vda: 100 MiB/s read, by cgroup v2`.
    pub fn line(&self, kind: Kind) -> String {
        let speed = disk_speed(self.figures());
        let but = self.but.as_ref();
        let but = but.map_or_else(String::new, |but| format!("; {but}"));
        format!("{}: {speed}, by {}{but}", self.device, kind.as_str())
    }

    /// Sets it for a group.
    pub(super) fn set(&self, kind: Kind, group: &Path) -> io::Result<()> {
        let number = &self.number;
        if kind == Kind::V2 {
            let each = WORDS_V2.iter().zip(self.figures());
            let words: Vec<String> = each
                .filter_map(|(word, figure)| Some(format!("{word}={}", figure?)))
                .collect();
            return fs::write(group.join(FILE_V2), format!("{number} {}", words.join(" ")));
        }
        for (file, figure) in FILES_V1.iter().zip(self.figures()) {
            if let Some(figure) = figure {
                fs::write(group.join(file), format!("{number} {figure}"))?;
            }
        }
        Ok(())
    }

    /// The same as a group has it.
    pub(super) fn read_back(&self, kind: Kind, group: &Path) -> Self {
        let line = |file: &str| {
            let text = super::read(&group.join(file));
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let own = lines.find(|(number, _)| *number == self.number);
            own.map(|(_, rest)| rest.to_owned())
        };
        let figures: [Option<u64>; 4] = match kind {
            Kind::V1 => FILES_V1.map(|file| line(file)?.trim().parse().ok()),
            Kind::V2 => {
                let found = line(FILE_V2).unwrap_or_default();
                WORDS_V2.map(|word| {
                    let mut all = found.split(' ').filter_map(|one| one.split_once('='));
                    all.find(|(key, _)| *key == word)?.1.parse().ok()
                })
            }
        };
        let [read, write, reads, writes] = figures;
        Self {
            read_bytes_per_s: read,
            write_bytes_per_s: write,
            reads_per_s: reads,
            writes_per_s: writes,
            ..self.clone()
        }
    }
}

/// Whether the files of a group's own throttle say anything (version 1): limits there do not add up.
pub(super) fn is_throttled(group: &Path) -> bool {
    let mut files = FILES_V1.iter();
    files.any(|file| !super::read(&group.join(file)).trim().is_empty())
}

/// The tree where disks can be limited, and the disk below a folder that is there.
///
/// # Errors
/// The kernel, the groups or the file system cannot do it, and why.
pub fn can(root: &Path, folder: &Path) -> Result<(Kind, Device), String> {
    let device = device(root, folder)?;
    let hierarchy = super::find(root)?;
    Ok((place(&hierarchy)?.0, device))
}

/// The kind of a tree and the folder below which disks are limited.
pub(super) fn place(hierarchy: &Hierarchy) -> Result<(Kind, &PathBuf), String> {
    let kind = hierarchy.kind;
    let why = match kind {
        Kind::V1 => "no blkio controller of version 1 in which this user may make groups",
        Kind::V2 => "the io controller of version 2 is not delegated to this user",
    };
    let folder = hierarchy.disk.as_ref();
    folder
        .map(|folder| (kind, folder))
        .ok_or_else(|| why.into())
}

/// The whole disk that holds a folder.
///
/// # Errors
/// Its file system has no block device of its own.
pub fn device(root: &Path, folder: &Path) -> Result<Device, String> {
    let stat = rustix::fs::stat(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    of_number(root, &format!("{major}:{minor}"), folder)
}

fn of_number(root: &Path, number: &str, folder: &Path) -> Result<Device, String> {
    let link = root.join("sys/dev/block").join(number);
    let Ok(place) = fs::canonicalize(&link) else {
        return Err(format!(
            "{} is on {}, which has no separate block device",
            folder.display(),
            file_system(root, number)
        ));
    };
    // A partition is limited with its disk: the kernel takes no other.
    let whole = match place.parent() {
        Some(disk) if place.join("partition").exists() => disk,
        _ => &place,
    };
    let number = super::read(&whole.join("dev"));
    let name = whole.file_name().map(|name| name.to_string_lossy());
    Ok(Device {
        name: name.unwrap_or_default().into_owned(),
        number: number.trim().to_owned(),
    })
}

/// The kind of a mounted file system by its number, such as `tmpfs`.
fn file_system(root: &Path, number: &str) -> String {
    let mounts = super::read(&root.join("proc/self/mountinfo"));
    let found = mounts.lines().find_map(|line| {
        let (own, rest) = line.split_once(" - ")?;
        let is = own.split(' ').nth(2) == Some(number);
        is.then(|| rest.split(' ').next().unwrap_or_default().to_owned())
    });
    found.unwrap_or_else(|| "a file system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::units::Bytes;
    use std::os::unix::fs::symlink;

    fn made() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/pci/block/vda");
        fs::create_dir_all(disk.join("vda1")).unwrap();
        fs::write(disk.join("dev"), "254:0\n").unwrap();
        fs::write(disk.join("vda1/dev"), "254:1\n").unwrap();
        fs::write(disk.join("vda1/partition"), "1\n").unwrap();
        let links = root.path().join("sys/dev/block");
        fs::create_dir_all(&links).unwrap();
        symlink("../../devices/pci/block/vda", links.join("254:0")).unwrap();
        symlink("../../devices/pci/block/vda/vda1", links.join("254:1")).unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let mounts =
            "27 1 254:1 / / rw - ext4 /dev/vda1 rw\n29 27 0:42 / /a rw - overlay overlay rw\n";
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        root
    }

    #[test]
    fn a_partition_stands_for_its_disk_and_an_overlay_for_none() {
        let root = made();
        let of = |number: &str| of_number(root.path(), number, Path::new("/a"));
        let disk = Device {
            name: "vda".into(),
            number: "254:0".into(),
        };
        assert_eq!(of("254:1"), Ok(disk.clone()));
        assert_eq!(of("254:0"), Ok(disk));
        let why = "/a is on overlay, which has no separate block device";
        assert_eq!(of("0:42"), Err(why.to_owned()));
        assert!(of("0:99").is_err_and(|why| why.contains("a file system")));
    }

    #[test]
    fn what_was_set_is_read_back() {
        let limit = DiskLimit {
            read_bytes_per_s: Some(Bytes::mib(100)),
            write_bytes_per_s: None,
            operations_per_s: Some(500),
        };
        let device = Device {
            name: "vda".into(),
            number: "254:0".into(),
        };
        for kind in [Kind::V1, Kind::V2] {
            let group = tempfile::tempdir().unwrap();
            let asked = DiskHeld::asked(device.clone(), kind, limit);
            asked.set(kind, group.path()).unwrap();
            assert_eq!(asked.read_back(kind, group.path()), asked);
            // Version 1 says what it does not do.
            assert_eq!(asked.but.is_some(), kind == Kind::V1);
            assert!(kind == Kind::V2 || is_throttled(group.path()));
        }
        let group = tempfile::tempdir().unwrap();
        let kernel = "8:0 rbps=1 wbps=max riops=max wiops=max\n254:0 rbps=104857600 wbps=max riops=500 wiops=max\n";
        fs::write(group.path().join(FILE_V2), kernel).unwrap();
        let asked = DiskHeld::asked(device, Kind::V2, limit);
        let held = asked.read_back(Kind::V2, group.path());
        assert_eq!((held.reads_per_s, held.writes_per_s), (Some(500), None));
        assert_ne!(held, asked, "less than what was asked is seen");
    }
}
