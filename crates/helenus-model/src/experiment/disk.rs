//! What a factor asks of the machine: reads of the disk, writes, limits; and whether data are large enough for the disk.
//! Refuses a question about reads whose data are in memory.

use super::{Experiment, Factor, Setting};
use crate::units::Bytes;

/// Keys that are about reads of the disk, whatever their value.
const KEYS: [&str; 4] = ["disk-read", "disk-iops", "read-ahead", "data-dir"];

/// Keys that are about writes alone: what is written comes to the disk however small the data is.
const WRITES: [&str; 2] = ["disk-write", "commitlog-dir"];

/// Keys that limit nodes.
const LIMITS: [&str; 5] = ["cpus", "memory", "disk-read", "disk-iops", "disk-write"];

/// What keys of cassandra.yaml that say how files are read have in their names.
const YAML: [&str; 2] = ["disk_access_mode", "disk_optimization"];

/// The same of parameters of workloads and of options of tables that say how much is read at once.
const PARAMETERS: [&str; 2] = ["compression", "chunk"];

/// How many times the memory that nodes may use a dataset is at least, so that reads come from the disk.
const TIMES_MEMORY: u64 = 2;

impl Factor {
    /// Whether it is about what the disk gives: its speed, how it is read, chunk length, compression.
    pub(super) fn is_of_reads(&self) -> bool {
        self.asks(is_of_reads)
    }

    /// Whether it is about how fast the disk takes what is written, and about nothing that is read.
    pub(super) fn is_of_writes(&self) -> bool {
        self.asks(|setting| WRITES.contains(&setting.key.as_str())) && !self.is_of_reads()
    }

    /// Whether it is about what nodes are limited to: processors, memory, the disk's speed.
    pub(super) fn is_of_limits(&self) -> bool {
        self.asks(|setting| LIMITS.contains(&setting.key.as_str()))
    }

    fn asks(&self, what: impl Fn(&Setting) -> bool) -> bool {
        let mut settings = self.levels.iter().flat_map(|level| &level.settings);
        settings.any(what)
    }
}

fn is_of_reads(setting: &Setting) -> bool {
    let one_of = |known: &[&str]| {
        let words = words(&setting.value);
        let mut names = words.iter().filter_map(|word| word.split('=').next());
        names.any(|name| known.iter().any(|known| name.contains(known)))
    };
    match setting.key.as_str() {
        "set" => one_of(&YAML),
        "param" | "with" => one_of(&PARAMETERS),
        key => KEYS.contains(&key),
    }
}

/// The texts of a value or of a list of values.
fn words(value: &toml::Value) -> Vec<&str> {
    match value {
        toml::Value::Array(list) => list.iter().filter_map(toml::Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

impl Experiment {
    /// Whether its question is about reads of the disk: the file says so, or a factor is.
    pub fn is_about_reads(&self) -> bool {
        self.needs_disk || self.factors.iter().any(Factor::is_of_reads)
    }

    /// Whether it asks how fast the disk takes what is written.
    pub(super) fn is_about_writes(&self) -> bool {
        self.factors.iter().any(Factor::is_of_writes)
    }

    /// Why its question about the disk has no answer by the size of its data: `dataset` bytes on the disks of nodes that
    /// may use `memory` bytes, page cache and all. None where it has one, or asks nothing of the disk.
    pub fn too_small(&self, dataset: Option<u64>, memory: Option<u64>) -> Option<String> {
        if !self.is_about_reads() {
            return None;
        }
        let Some((dataset, memory)) = dataset.zip(memory) else {
            return Some(
                "the claim is about the disk, and there is no dataset ([populate])".to_owned(),
            );
        };
        (dataset < memory.saturating_mul(TIMES_MEMORY)).then(|| {
            format!(
                "it is about the disk, and the dataset of {} is less than twice the {} that the nodes may use",
                Bytes(dataset),
                Bytes(memory)
            )
        })
    }
}
