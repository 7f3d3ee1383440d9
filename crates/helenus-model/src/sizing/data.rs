//! How much room data take, and what a rate asks of the network.
//! Refuses to predict latencies: those are measured.

use super::Instance;
use crate::machine::Snapshot;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes on disk of an entry of cassandra-stress's insanity example, compressed, by the guide.
const INSANITY_ENTRY: u64 = 670;

/// Room for data and for the compaction of all of it: as much again, which a major compaction may need.
const ROOM: u64 = 2;

/// What the cluster shall hold and serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    /// Rows, or partitions of the insanity example.
    pub rows: Option<u64>,
    /// Bytes of a row on disk.
    pub row_size: Option<Bytes>,
    /// Replicas.
    pub rf: u32,
    /// Machines like this one.
    pub machines: u32,
    /// Operations a second, of all machines.
    pub rate_per_s: Option<f64>,
    /// The p99 that shall hold.
    pub p99: Option<Duration>,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            rows: None,
            row_size: None,
            rf: 1,
            machines: 1,
            rate_per_s: None,
            p99: None,
        }
    }
}

/// Data on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// Rows.
    pub rows: u64,
    /// Bytes of a row on disk.
    pub row_size: Bytes,
    /// Replicas.
    pub rf: u32,
    /// Machines like this one.
    pub machines: u32,
    /// Bytes of all replicas.
    pub total: Bytes,
    /// Bytes on each machine.
    pub per_machine: Bytes,
    /// Bytes of each instance.
    pub per_instance: Bytes,
    /// Bytes that its disks should have: data, and room for compaction.
    pub wanted: Bytes,
    /// Whether the disks of every instance have so many; absent where a size is not known.
    pub fits: Option<bool>,
}

impl Wish {
    pub(super) fn row(&self) -> Bytes {
        self.row_size.unwrap_or(Bytes(INSANITY_ENTRY))
    }

    pub(super) fn plan(&self, instances: &[Instance]) -> Option<DataPlan> {
        let rows = self.rows?;
        let row_size = self.row();
        let bytes = u128::from(rows) * u128::from(row_size.0) * u128::from(self.rf.max(1));
        let machines = u128::from(self.machines.max(1));
        let whole = |n: u128| Bytes(u64::try_from(n).unwrap_or(u64::MAX));
        let per_instance = bytes.div_ceil(machines * instances.len().max(1) as u128);
        let wanted = whole(per_instance * u128::from(ROOM));
        let fits = |instance: &Instance| Some(instance.disk_space? >= wanted);
        let fits: Option<Vec<bool>> = instances.iter().map(fits).collect();
        Some(DataPlan {
            rows,
            row_size,
            rf: self.rf.max(1),
            machines: self.machines.max(1),
            total: whole(bytes),
            per_machine: whole(bytes.div_ceil(machines)),
            per_instance: whole(per_instance),
            wanted,
            fits: fits.map(|all| all.into_iter().all(|fits| fits)),
        })
    }
}

impl DataPlan {
    pub(super) fn cautions(&self, machine: &Snapshot) -> Vec<String> {
        let mut cautions = Vec::new();
        if self.fits == Some(false) {
            cautions.push(format!(
                "{} for data and compaction of each instance are more than its disks have",
                self.wanted
            ));
        }
        let memory = machine.usable_memory();
        if self.per_machine <= memory {
            cautions.push(format!(
                "{} of data fit into {memory} of memory: a test with them measures no disk, says the guide",
                self.per_machine
            ));
        }
        if self.rf > self.machines {
            cautions.push(format!(
                "{} replicas on fewer machines ({}): one that fails takes several with it",
                self.rf, self.machines
            ));
        }
        cautions
    }
}
