//! The guide's table of sizes, sources by their names, and what experiments of Helenus measured.
//! Refuses a measured figure that is not in its page: a test compares them.

use crate::units::Bytes;
use serde::Serialize;

/// The tuning guide.
pub(super) const GUIDE: &str = "Intel's tuning guide for Cassandra on Xeon";
/// The guide about a laptop.
pub(super) const DEV_GUIDE: &str = "K8ssandra's guide to requirements for development";
/// The page of our experiment with the tuning guide's tips.
pub(super) const XEON_PAGE: &str = "docs/experiments/xeon-guide.md";

/// A row of the guide's table 1: hardware for one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Its name.
    pub name: &'static str,
    /// Logical processors.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// Disks.
    pub storage: &'static str,
    /// Network, in Gbit/s, from and to.
    pub network_gbit: (u64, u64),
}

const GIB: u64 = 1 << 30;

/// The guide's table 1.
pub const SIZES: [Size; 4] = [
    Size {
        name: "small",
        cpus: 8,
        memory: Bytes(32 * GIB),
        storage: "1 SATA or SAS SSD",
        network_gbit: (10, 10),
    },
    Size {
        name: "medium",
        cpus: 16,
        memory: Bytes(64 * GIB),
        storage: "2 SATA or SAS SSDs, or 1 NVMe",
        network_gbit: (10, 10),
    },
    Size {
        name: "large",
        cpus: 32,
        memory: Bytes(128 * GIB),
        storage: "1 NVMe",
        network_gbit: (10, 25),
    },
    Size {
        name: "x-large",
        cpus: 48,
        memory: Bytes(192 * GIB),
        storage: "1 to 2 NVMe",
        network_gbit: (25, 25),
    },
];

/// Memory that the kernel takes for itself: a machine sold with 32 GB reports a little less.
const REPORTED: u64 = 16;

/// The largest row that processors and memory reach.
pub(super) fn reached(cpus: u32, memory: Bytes) -> Option<&'static Size> {
    let memory = memory.0 + memory.0 / REPORTED;
    SIZES
        .iter()
        .rfind(|size| cpus >= size.cpus && memory >= size.memory.0)
}

/// What an experiment measured of a tip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Factor and level, as the page writes them.
    pub(super) tip: &'static str,
    /// Change of throughput.
    pub(super) change: &'static str,
    /// Its 95 % interval.
    pub(super) interval: &'static str,
    /// What came of the promise.
    pub(super) result: &'static str,
}

const fn measured(
    tip: &'static str,
    change: &'static str,
    interval: &'static str,
    result: &'static str,
) -> Measured {
    Measured {
        tip,
        change,
        interval,
        result,
    }
}

pub(super) const UNIFIED: Measured =
    measured("files=unified", "+34 %", "+15 % to +56 %", "confirmed");
pub(super) const SIZE_TIERED: Measured =
    measured("files=size-tiered", "+35 %", "+15 % to +58 %", "confirmed");
pub(super) const LATEST: Measured = measured(
    "files=latest",
    "+1.5 %",
    "-14 % to +20 %",
    "no difference above 20 %",
);
pub(super) const G1: Measured = measured(
    "collector=G1",
    "-7.9 %",
    "-18 % to +3.9 %",
    "no difference above 18 %",
);
pub(super) const HUGE_PAGES: Measured = measured(
    "huge-pages=transparent",
    "+15 %",
    "+3.7 % to +28 %",
    "confirmed",
);
pub(super) const HEAP: Measured = measured(
    "heap=300M",
    "+5.2 %",
    "-5.5 % to +17 %",
    "no difference above 17 %",
);
pub(super) const READS: Measured = measured(
    "concurrent_reads=3-a-cpu",
    "-13 %",
    "-16 % to -10 %",
    "contradicted",
);
pub(super) const WRITES: Measured = measured(
    "concurrent_writes=1-a-cpu",
    "+0.65 %",
    "-2.6 % to +4.0 %",
    "no difference above 4.0 %",
);
pub(crate) const READ_AHEAD: Measured = measured(
    "read-ahead=8K",
    "-2.0 %",
    "-5.2 % to +1.3 %",
    "no difference above 5.2 %",
);

/// All of them.
#[cfg(test)]
pub(super) const ALL: [Measured; 9] = [
    UNIFIED,
    SIZE_TIERED,
    LATEST,
    G1,
    HUGE_PAGES,
    HEAP,
    READS,
    WRITES,
    READ_AHEAD,
];

impl Measured {
    /// For a line of a plan.
    pub(crate) fn text(&self) -> String {
        let Self {
            tip,
            change,
            interval,
            result,
        } = self;
        format!("{tip} {change} ({interval}) on two processors: {result}; {XEON_PAGE}")
    }
}
