//! What the check of a ledger has found, as it is reported and printed.
//! Refuses to name every lost key: the first so many, and how many there are.

use super::Extent;
use helenus_model::consistency::Consistency;
use helenus_model::format::Format;
use helenus_model::ledger::{Class, KeyWrites, Write};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was found, `helenus.ledger-check/1`.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerReport {
    /// `helenus.ledger-check/1`.
    pub format: Format,
    /// The ledger.
    pub file: PathBuf,
    /// Name of the run, where the history has it.
    pub run: Option<String>,
    /// The workload.
    pub workload: String,
    /// Root seed of the run.
    pub seed: u64,
    /// Data centre whose nodes coordinated the writes; empty where any did.
    pub client_dc: String,
    /// How far the ledger goes.
    #[serde(flatten)]
    pub extent: Extent,
    /// Whether every key was read.
    pub complete: bool,
    /// Seconds that it took.
    pub seconds: f64,
    /// By table.
    pub tables: Vec<TableReport>,
}

/// What was found of one table.
#[derive(Debug, Clone, Serialize)]
pub struct TableReport {
    /// The cluster's own name.
    pub cluster_name: String,
    /// Keyspace.
    pub keyspace: String,
    /// Table.
    pub table: String,
    /// The keyspace's replication, as in the schema.
    pub replication: BTreeMap<String, String>,
    /// Whether the keyspace's writes go through the commit log.
    pub durable_writes: bool,
    /// Level of the reads.
    pub consistency: Consistency,
    /// Data centre whose nodes coordinated the reads; empty where any did.
    pub client_dc: String,
    /// Requests that were sent.
    pub requests: u64,
    /// How many of them had to be asked again.
    pub again: u64,
    /// Keys by class.
    #[serde(flatten)]
    pub counts: Counts,
    /// The first keys that are lost, by the moment at which they were written.
    #[serde(rename = "lost_keys")]
    pub lost: Vec<LostKey>,
}

/// Keys by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Keys that were read.
    pub keys: u64,
    /// The newest acknowledged write was found.
    pub present: u64,
    /// Something newer was found, which the ledger does not contain.
    pub superseded: u64,
    /// Acknowledged at a level that the read must meet, and not there.
    pub lost: u64,
    /// Acknowledged and not there, and the levels do not meet.
    pub stale_permitted: u64,
    /// The newest write may have applied, and has.
    pub indeterminate_applied: u64,
    /// The newest write may have applied, and has not.
    pub indeterminate_not_applied: u64,
    /// No write of it could have applied.
    pub refused: u64,
    /// Acknowledged writes that a later one of the same key covers.
    pub covered_writes: u64,
}

impl Counts {
    /// Takes one key.
    pub fn add(&mut self, writes: &KeyWrites, class: Class) {
        self.keys += 1;
        self.covered_writes += writes.covered();
        let count = match class {
            Class::Present => &mut self.present,
            Class::Superseded => &mut self.superseded,
            Class::Lost(_) => &mut self.lost,
            Class::StalePermitted(_) => &mut self.stale_permitted,
            Class::Indeterminate { applied: true } => &mut self.indeterminate_applied,
            Class::Indeterminate { applied: false } => &mut self.indeterminate_not_applied,
            Class::Refused => &mut self.refused,
        };
        *count += 1;
    }
}

/// A key that is lost.
#[derive(Debug, Clone, Serialize)]
pub struct LostKey {
    /// Its position in the workload.
    pub position: u64,
    /// Its partition key, as CQL writes it.
    pub key: String,
    /// The newest write that must be there.
    #[serde(flatten)]
    pub write: Write,
    /// Data centre whose nodes coordinated it.
    pub client_dc: String,
    /// The write that was found instead, in microseconds since 1970; none without a row.
    pub found_us: Option<u64>,
    /// The nodes that own the key, first replica first.
    pub owners: Vec<String>,
}

impl LedgerReport {
    /// Keys that are lost.
    pub fn lost(&self) -> u64 {
        self.tables.iter().map(|table| table.counts.lost).sum()
    }
}
