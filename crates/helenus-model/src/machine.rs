//! What a plan needs to know of the machine: cores, memory, kernel. Read by `helenus-cluster`, decided upon here.
//! Refuses to look for itself.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

mod cpus;
mod describe;
mod known;
mod snapshot;
#[cfg(test)]
mod tests;

pub use cpus::{Cpus, CpusError, apart};
pub use describe::{DescribeError, describe, parse};
pub use known::{KNOWN, known};
pub(crate) use snapshot::read_as;
pub use snapshot::{
    Cgroup, Disk, Java, Kernel, Limit, MachineMemory, Mount, NetworkCard, NumaNode, Platform,
    Processors, SNAPSHOT_VERSION, Snapshot,
};

/// Facts of the machine on which a cluster shall stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: u32,
    /// Physical memory, or the limit of our cgroup where that is lower.
    pub memory: Bytes,
    /// `x86_64` or `aarch64`.
    pub arch: String,
    /// Kernel release, such as `6.18.0`.
    pub kernel: String,
    /// Processor model as the kernel names it.
    pub processor: String,
}
