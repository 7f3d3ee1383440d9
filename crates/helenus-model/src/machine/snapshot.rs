//! A machine as a value: what was read of it, or what is known of one elsewhere.
//! Refuses to invent: what is not known is absent.

use super::{Cpus, Machine};
use crate::format::Format;
use crate::nearest::nearest;
use crate::toml_file::FileError;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of [`Snapshot`].
pub const SNAPSHOT_VERSION: u32 = 1;

/// A machine, as far as it is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// `helenus.machine/1`.
    pub format: Format,
    /// Its name; absent if none was given.
    pub name: Option<String>,
    /// `x86_64` or `aarch64`.
    pub arch: Option<String>,
    /// Its processors.
    pub processors: Processors,
    /// Its memory.
    pub memory: MachineMemory,
    /// The kernel and its settings.
    #[serde(default)]
    pub kernel: Kernel,
    /// What it is made of: virtual or not, in a cloud or not.
    #[serde(default)]
    pub platform: Platform,
    /// The control group of the process that read it; absent where there is none.
    pub cgroup: Option<Cgroup>,
    /// Limits of the process that read it, by the names of `limits.conf`: `nofile`, `memlock`, `nproc`.
    #[serde(default)]
    pub limits: BTreeMap<String, Limit>,
    /// NUMA nodes; empty where the kernel reports none.
    #[serde(default)]
    pub numa: Vec<NumaNode>,
    /// Block devices, without memory that is used as one.
    #[serde(default)]
    pub disks: Vec<Disk>,
    /// Network interfaces, without loopback.
    #[serde(default)]
    pub networks: Vec<NetworkCard>,
    /// JDKs.
    #[serde(default)]
    pub jdks: Vec<Java>,
}

/// The processors of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processors {
    /// Logical processors that are online.
    pub logical: u32,
    /// Cores in all sockets.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Whether cores run two threads each.
    pub smt: Option<bool>,
    /// Processors that a process may use, where those are fewer.
    pub usable: Option<Cpus>,
    /// The model as the kernel or its maker names it.
    pub model: Option<String>,
    /// Frequency governors in use, each once.
    #[serde(default)]
    pub governors: Vec<String>,
    /// Values of `energy_perf_bias` in use, each once: 0 is performance, 15 is power saving.
    #[serde(default)]
    pub energy_bias: Vec<String>,
}

/// The memory of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineMemory {
    /// Physical memory, in bytes.
    pub total: Bytes,
    /// Swap, in bytes; 0 where there is none.
    pub swap: Option<Bytes>,
    /// Size of a huge page, in bytes.
    pub huge_page: Option<Bytes>,
    /// Huge pages that are reserved.
    pub huge_pages: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent: Option<String>,
    /// How the kernel defragments for transparent huge pages: `always`, `defer`, `madvise`, `never`.
    pub defrag: Option<String>,
}

/// A node of memory with the processors next to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumaNode {
    /// The kernel's number.
    pub id: u32,
    /// Its processors; none where the node is memory only.
    pub cpus: Cpus,
    /// Of these, the second threads of cores, in the order of the first ones.
    pub second_threads: Option<Cpus>,
    /// Its memory, in bytes.
    pub memory: Option<Bytes>,
    /// Huge pages that are reserved on it.
    pub huge_pages: Option<u64>,
    /// Distances to all nodes in the kernel's order; 10 is itself.
    #[serde(default)]
    pub distances: Vec<u32>,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// The kernel's name, such as `nvme0n1`.
    pub name: String,
    /// Its model.
    pub model: Option<String>,
    /// Its size, in bytes.
    pub size: Option<Bytes>,
    /// Whether the kernel takes it for one that turns.
    pub rotational: Option<bool>,
    /// The scheduler in use, such as `none`.
    pub scheduler: Option<String>,
    /// The schedulers to choose from.
    #[serde(default)]
    pub schedulers: Vec<String>,
    /// How far the kernel reads ahead, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Requests that its queue holds.
    pub queue: Option<u64>,
    /// The NUMA node that it is attached to.
    pub numa: Option<u32>,
    /// File systems on it and on its partitions.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// A file system in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Where it is mounted.
    pub point: String,
    /// Its type, such as `ext4`.
    pub file_system: String,
    /// Its options, sorted.
    #[serde(default)]
    pub options: Vec<String>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkCard {
    /// The kernel's name, such as `eno1`.
    pub name: String,
    /// Speed of the link, in Mbit/s; absent where the link is down or does not say.
    pub speed_mbit: Option<u64>,
    /// Largest packet, in bytes.
    pub mtu: Option<u64>,
    /// Whether its link is up.
    pub up: Option<bool>,
    /// The NUMA node that it is attached to.
    pub numa: Option<u32>,
    /// Addresses with their prefix length.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// The kernel and its settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its release, such as `6.8.0-49-generic`.
    pub release: Option<String>,
    /// The distribution, such as `Ubuntu 24.04.1 LTS`.
    pub distribution: Option<String>,
    /// The clock source in use, such as `tsc`.
    pub clock_source: Option<String>,
    /// The clock sources to choose from.
    #[serde(default)]
    pub clock_sources: Vec<String>,
    /// Whether a time service says that it keeps the clock.
    pub clock_kept: Option<bool>,
    /// Settings by the names of sysctl, such as `vm.swappiness`, with their values as the kernel writes them.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
}

/// What the machine is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// `none` on bare metal, else the hypervisor, or `unknown` where there is one that does not say its name.
    pub virtualisation: Option<String>,
    /// Whether the reader ran in a container.
    pub container: Option<bool>,
    /// The cloud: `aws`, `azure`, `gcp` and others by the name of cloud-init.
    pub cloud: Option<String>,
    /// The cloud's type of instance, such as `i4i.8xlarge`.
    pub cloud_type: Option<String>,
    /// Maker and product.
    pub product: Option<String>,
    /// Version of the firmware.
    pub firmware: Option<String>,
}

/// Limits of a control group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgroup {
    /// 1 or 2.
    pub version: u32,
    /// Memory limit, in bytes, of the group or of one above it; absent without a limit.
    pub memory: Option<Bytes>,
    /// Processors' worth of time; absent without a limit.
    pub cpus: Option<f64>,
}

/// A limit as `ulimit` has it: a number, or `unlimited`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What holds now.
    pub soft: String,
    /// How far a process may raise it.
    pub hard: String,
}

/// A JDK.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Java {
    /// Its feature number: 8, 11, 17 ….
    pub feature: u32,
    /// The full version.
    pub version: Option<String>,
    /// Who built it.
    pub vendor: Option<String>,
}

impl Snapshot {
    /// A machine of which only processors and memory are known.
    pub fn of(logical: u32, memory: Bytes) -> Self {
        Self {
            format: Format::new("machine", SNAPSHOT_VERSION),
            name: None,
            arch: None,
            processors: Processors {
                logical,
                ..Processors::default()
            },
            memory: MachineMemory {
                total: memory,
                ..MachineMemory::default()
            },
            kernel: Kernel::default(),
            platform: Platform::default(),
            cgroup: None,
            limits: BTreeMap::new(),
            numa: Vec::new(),
            disks: Vec::new(),
            networks: Vec::new(),
            jdks: Vec::new(),
        }
    }

    /// Reads a stored snapshot.
    ///
    /// # Errors
    /// It is no TOML, another format, has unknown keys or wrong values, or processors that cannot be.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let hint = "`helenus machine --save FILE` writes one";
        let snapshot: Self = read_as(text, ("machine", SNAPSHOT_VERSION), hint)?;
        snapshot.sound().map_err(|what| FileError {
            line: 1,
            what,
            hint: None,
        })?;
        Ok(snapshot)
    }

    /// What a machine cannot be.
    fn sound(&self) -> Result<(), String> {
        if self.processors.logical == 0 || self.memory.total == Bytes(0) {
            return Err("a machine has at least one processor, and memory".to_owned());
        }
        let mut seen = BTreeSet::new();
        for node in &self.numa {
            if let Some(twice) = node.cpus.iter().find(|cpu| !seen.insert(*cpu)) {
                return Err(format!("processor {twice} is in two NUMA nodes"));
            }
            let second = node.second_threads.clone().unwrap_or_default();
            let strange = second.without(&node.cpus);
            if !strange.is_empty() {
                let id = node.id;
                return Err(format!(
                    "second threads {strange} are not processors of node {id}"
                ));
            }
        }
        Ok(())
    }

    /// The snapshot as TOML.
    ///
    /// # Errors
    /// A value that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// NUMA nodes that have processors.
    pub fn nodes(&self) -> impl Iterator<Item = &NumaNode> {
        self.numa.iter().filter(|node| !node.cpus.is_empty())
    }

    /// NUMA nodes in each socket, above 1 with sub-NUMA clusters; none where sockets or nodes are not known.
    pub fn clusters_per_socket(&self) -> Option<u32> {
        let nodes = u32::try_from(self.nodes().count()).ok()?;
        nodes
            .checked_div(self.processors.sockets?)
            .filter(|n| *n > 0)
    }

    /// Memory that processes may use: the machine's, or the control group's limit where that is lower.
    pub fn usable_memory(&self) -> Bytes {
        let limit = self.cgroup.as_ref().and_then(|group| group.memory);
        limit.map_or(self.memory.total, |limit| limit.min(self.memory.total))
    }

    /// What a cluster's plan wants to know of it.
    pub fn machine(&self) -> Machine {
        let usable = self.processors.usable.as_ref().map(Cpus::len);
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        Machine {
            cores: usable.unwrap_or(self.processors.logical),
            memory: self.usable_memory(),
            arch: known(&self.arch),
            kernel: known(&self.kernel.release),
            processor: known(&self.processors.model),
        }
    }
}

impl Disk {
    /// Whether it is an NVMe disk, by its name.
    pub fn is_nvme(&self) -> bool {
        self.name.starts_with("nvme")
    }

    /// `NVMe`, `SSD` or `HDD`; none where the kernel does not say whether it turns.
    pub fn kind(&self) -> Option<&'static str> {
        match (self.is_nvme(), self.rotational) {
            (true, _) => Some("NVMe"),
            (false, Some(false)) => Some("SSD"),
            (false, Some(true)) => Some("HDD"),
            (false, None) => None,
        }
    }

    /// Whether the system lives on it.
    pub fn has_system(&self) -> bool {
        let system = |mount: &Mount| matches!(mount.point.as_str(), "/" | "/boot" | "/boot/efi");
        self.mounts.iter().any(system)
    }
}

/// The format line alone.
#[derive(Deserialize)]
struct Mark {
    format: Option<Format>,
}

/// A value that was stored as TOML, its format looked at first; `hint` says what writes one.
pub(crate) fn read_as<T: serde::de::DeserializeOwned>(
    text: &str,
    (name, version): (&'static str, u32),
    hint: &str,
) -> Result<T, FileError> {
    let at_top = |what: String| FileError {
        line: 1,
        what,
        hint: Some(hint.to_owned()),
    };
    let mark: Mark = toml::from_str(text).map_err(|e| refused(text, &e))?;
    let none = || at_top(format!("no format line: expected helenus.{name}/{version}"));
    let format = mark.format.ok_or_else(none)?;
    format
        .check(name, version)
        .map_err(|e| at_top(e.to_string()))?;
    toml::from_str(text).map_err(|e| refused(text, &e))
}

/// An error of the TOML reader, with its line and the nearest known key.
fn refused(text: &str, error: &toml::de::Error) -> FileError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = &text.as_bytes()[..at];
    let message = error.message();
    let mut words = message.split('`').skip(1).step_by(2);
    let hint = match message.starts_with("unknown field") {
        true => words.next().map(|wrong| {
            let known: Vec<&str> = words.collect();
            match nearest(wrong, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known: {}", known.join(", ")),
            }
        }),
        false => None,
    };
    let what = match message.split_once("`, expected one of ") {
        Some((wrong, _)) => wrong.replace("unknown field `", "unknown key "),
        None => message.replace('`', ""),
    };
    FileError {
        line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
        what,
        hint,
    }
}
