//! The planner: what a machine can carry, as instances with their processors, memory, disks and settings.
//! Refuses a setting without its reason and the source of it.

use crate::format::Format;
use crate::machine::{Cpus, Snapshot, describe, read_as};
use crate::release::Release;
use crate::toml_file::FileError;
use crate::units::Bytes;
use crate::worded::worded;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

mod data;
mod devices;
mod heap;
mod lines;
mod pin;
mod place;
mod stack;
#[cfg(test)]
mod tests;
mod tips;

pub use data::{DataPlan, Wish};
pub use heap::{HEAP_GAP, HEAP_MOST, blank_heap, heap_for};
pub use pin::PinError;
pub use place::{CPUS_LEAST, CPUS_MOST};
pub use stack::{Rung, StackBudget, budget};
pub(crate) use tips::{Measured, READ_AHEAD};
pub use tips::{SIZES, Size};

/// Version of [`MachinePlan`].
pub const MACHINE_PLAN_VERSION: u32 = 1;

worded! {
    /// What the machine shall be good at.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Purpose {
        /// Operations a second.
        #[default]
        Throughput = "throughput",
        /// Short waits.
        Latency = "latency",
        /// Many small instances.
        Density = "density",
    }
}

/// What is planned for.
#[derive(Debug, Clone, Copy)]
pub struct Sizing<'a> {
    /// The machine.
    pub machine: &'a Snapshot,
    /// The release that shall run on it.
    pub release: &'static Release,
    /// What it shall be good at.
    pub purpose: Purpose,
    /// Data and load.
    pub wish: Wish,
    /// So many instances, instead of as many as the machine's shape asks for.
    pub instances: Option<u32>,
}

/// What a machine can carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachinePlan {
    /// `helenus.machine-plan/1`.
    pub format: Format,
    /// The machine in a few words.
    pub machine: String,
    /// What the plan is for.
    pub purpose: Purpose,
    /// Release of Cassandra.
    pub release: String,
    /// Feature number of the JDK.
    pub jdk: u32,
    /// Whether that JDK is on the machine; absent if that is not known.
    pub jdk_found: Option<bool>,
    /// What should be known before the plan is followed.
    pub cautions: Vec<String>,
    /// Data on the disks, where rows were given.
    pub data: Option<DataPlan>,
    /// What a machine of this size holds of a developer's stack; absent for larger ones.
    pub stack: Option<StackBudget>,
    /// The instances of Cassandra.
    pub instances: Vec<Instance>,
    /// Every decision with its reason.
    pub lines: Vec<Line>,
}

/// One instance of Cassandra.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `instance1`, `instance2` ….
    pub name: String,
    /// NUMA nodes that it lies in: one, unless single nodes are too small; none where the machine reports none.
    pub numa: Vec<u32>,
    /// Its processors.
    pub cpus: Cpus,
    /// Its share of the memory, in bytes.
    pub memory: Bytes,
    /// `-Xms` and `-Xmx`, in bytes.
    pub heap: Bytes,
    /// What it is planned to take beside its heap, in bytes.
    pub off_heap: Bytes,
    /// What is left for its page cache, in bytes.
    pub page_cache: Bytes,
    /// The row of the guide's table that it reaches; absent where it is smaller than all.
    pub size: Option<String>,
    /// Interface of its address.
    pub interface: Option<String>,
    /// Its address; absent where none is known, or one must be added.
    pub address: Option<String>,
    /// Whether an address must be added to the interface for it.
    pub add_address: bool,
    /// Port of JMX.
    pub jmx_port: u16,
    /// Its disks.
    pub disks: Vec<String>,
    /// Folders of its data, a disk each; none where the disk is the system's.
    pub data_dirs: Vec<String>,
    /// Folder of its commit log.
    pub commitlog_dir: Option<String>,
    /// Space of its disks, in bytes; shared ones count by their share; absent where a size is not known.
    pub disk_space: Option<Bytes>,
    /// Flags of its JVM beside the heap's.
    pub jvm: Vec<String>,
    /// Keys of cassandra.yaml.
    pub set: BTreeMap<String, Value>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// About what.
    pub what: String,
    /// What is planned.
    pub value: String,
    /// Why.
    pub why: String,
    /// Where the reason comes from.
    pub source: String,
    /// The gain that the source promises.
    pub promised: Option<String>,
    /// The gain that an experiment of Helenus measured, with its interval and the page.
    pub measured: Option<String>,
}

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SizingError {
    /// Too little memory for one node.
    #[error(
        "{memory} of memory is too little for a node of Cassandra {version}: the smallest needs {least}"
    )]
    TooSmall {
        /// Memory of the instance.
        memory: Bytes,
        /// Release.
        version: String,
        /// What the smallest node comes to.
        least: Bytes,
    },
    /// No processor is left.
    #[error("no processor of the machine is available")]
    NoProcessors,
    /// Instances would share a core.
    #[error("{asked} instances on {cores} cores: each needs at least one")]
    TooMany {
        /// Asked for.
        asked: u32,
        /// The machine's, as far as they may be used.
        cores: usize,
    },
}

impl SizingError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::TooSmall { .. } => {
                "plan for a machine with more memory; the smallest node here is `helenus up --preset tiny`"
            }
            Self::TooMany { .. } => {
                "ask for fewer instances; nodes that share processors are those of `helenus up -n N`"
            }
            Self::NoProcessors => "look at `usable` and `cpus` of the machine's NUMA nodes",
        }
        .to_owned()
    }
}

/// Plans a machine.
///
/// # Errors
/// It has too little memory for one node, or no processor.
pub fn plan(sizing: &Sizing<'_>) -> Result<MachinePlan, SizingError> {
    let machine = sizing.machine;
    let (pieces, mut cautions) = place::pieces(machine, sizing.purpose, sizing.instances)?;
    if pieces.is_empty() {
        return Err(SizingError::NoProcessors);
    }
    let (jdk, jdk_found) = lines::jdk(sizing);
    let several = pieces.len() > 1;
    let mut instances = Vec::new();
    for (k, piece) in pieces.into_iter().enumerate() {
        instances.push(instance(sizing, (k, piece), several)?);
    }
    devices::give(machine, &mut instances, &mut cautions);
    cautions.extend(lines::cautions(sizing, &instances));
    let data = sizing.wish.plan(&instances);
    cautions.extend(data.iter().flat_map(|data| data.cautions(machine)));
    let small = machine.usable_memory() <= stack::SMALL_MACHINE;
    let cpus: u32 = instances.iter().map(|i| i.cpus.len()).sum();
    if small && cpus < stack::CPUS_FOR_ALL {
        cautions.push(format!(
            "a developer's whole stack needs {} cores, says its guide; there are {cpus}",
            stack::CPUS_FOR_ALL
        ));
    }
    Ok(MachinePlan {
        format: Format::new("machine-plan", MACHINE_PLAN_VERSION),
        machine: describe(machine),
        purpose: sizing.purpose,
        release: sizing.release.version.to_owned(),
        jdk,
        jdk_found,
        lines: lines::lines(sizing, jdk, &instances, data.as_ref()),
        cautions,
        data,
        stack: small.then(|| budget(machine.usable_memory())),
        instances,
    })
}

fn instance(
    sizing: &Sizing<'_>,
    (k, piece): (usize, place::Piece),
    several: bool,
) -> Result<Instance, SizingError> {
    let cpus = piece.cpus.len();
    let set = lines::settings(sizing, cpus);
    let jvm = |heap| lines::jvm(sizing, heap, several.then_some(cpus));
    let fitted = heap::fitted(sizing.release, piece.memory, &set, jvm)?;
    let size = tips::reached(cpus, piece.memory);
    Ok(Instance {
        name: format!("instance{}", k + 1),
        numa: piece.numa,
        memory: piece.memory,
        heap: fitted.heap,
        off_heap: fitted.off_heap,
        page_cache: Bytes(piece.memory.0 - fitted.heap.0 - fitted.off_heap.0),
        size: size.map(|size| size.name.to_owned()),
        interface: None,
        address: None,
        add_address: false,
        // As the guide numbers them.
        jmx_port: u16::try_from(k)
            .map_or(u16::MAX, |k| 7199_u16.saturating_add(k.saturating_mul(100))),
        disks: Vec::new(),
        data_dirs: Vec::new(),
        commitlog_dir: None,
        disk_space: None,
        jvm: jvm(fitted.heap),
        set,
        cpus: piece.cpus,
    })
}

impl MachinePlan {
    /// Heap of all instances.
    pub fn heap(&self) -> Bytes {
        Bytes(self.instances.iter().map(|i| i.heap.0).sum())
    }

    /// Reads a stored plan.
    ///
    /// # Errors
    /// It is no TOML, another format, or has wrong keys or values.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let hint = "`helenus plan -o FILE` writes one";
        read_as(text, ("machine-plan", MACHINE_PLAN_VERSION), hint)
    }

    /// The plan as TOML.
    ///
    /// # Errors
    /// A value that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}
