//! Presets: named sets of settings, each with its reason and where the reason comes from.
//! Refuses a setting without a reason.

use crate::machine::Machine;
use crate::units::Bytes;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

mod data;
mod size;
mod written;
pub use data::{BASE, BENCH, DEV, DOC001, TINY};
pub use size::{SizeOf, kept_beside_a_file, size_in, size_of, sizes};
pub use written::{Written, written};

worded! {
    /// Which preset.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum PresetName {
        /// A 64 MB heap: many nodes on one machine.
        Tiny = "tiny",
        /// The settings of 2013 under their names of today: what `tiny` is measured against.
        Doc001 = "doc001",
        /// A 500 MB heap: a developer's database.
        Dev = "dev",
        /// Full JIT, memory by the machine: what one measures.
        Bench = "bench",
    }
}

worded! {
    /// Where a setting goes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Place {
        /// A key of cassandra.yaml; nested keys with dots.
        Yaml = "yaml",
        /// A flag of the JVM, whole.
        Jvm = "jvm",
        /// A system property, given with `-D`.
        Property = "property",
        /// A variable of the node's environment.
        Environment = "environment",
        /// A property that the kernel keeps of the node's process.
        Process = "process",
    }
}

/// How late the kernel may wake a node's sleeping threads, in microseconds, so that it wakes several at once; 50 by
/// default. Cassandra's workers look for work in turns of sleeping 10 µs: what they spend on it follows from this.
pub const TIMER_SLACK_US: &str = "timer_slack_us";

/// One setting with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Where it goes.
    pub place: Place,
    /// Key, flag, property or variable.
    pub key: &'static str,
    /// Value as YAML; empty for a JVM flag, which is whole in `key`.
    pub value: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Where the reason comes from.
    pub source: &'static str,
}

/// How large the heap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeapRule {
    /// The same everywhere.
    Fixed {
        /// `-Xms` and `-Xmx`, in MiB.
        heap_mib: u64,
        /// `-Xmn`, in MiB.
        new_mib: u64,
    },
    /// A quarter of the machine's memory shared among the cluster's nodes, within bounds.
    ByMachine {
        /// Never less, in MiB.
        least_mib: u64,
        /// Never more, in MiB.
        most_mib: u64,
    },
}

/// A preset: its heap and its settings, later ones over earlier ones, over [`BASE`].
#[derive(Debug, Clone, Serialize)]
pub struct Preset {
    /// Name.
    pub name: PresetName,
    /// One line for a person.
    pub summary: &'static str,
    /// Heap.
    pub heap: HeapRule,
    /// Settings.
    pub settings: Vec<Setting>,
}

impl PresetName {
    /// The preset's contents.
    pub fn preset(self) -> &'static Preset {
        match self {
            Self::Tiny => &TINY,
            Self::Dev => &DEV,
            Self::Bench => &BENCH,
            Self::Doc001 => &DOC001,
        }
    }
}

/// Heap and young generation of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// `-Xms` and `-Xmx`.
    pub heap: Bytes,
    /// `-Xmn`; left to the collector where absent.
    pub new: Option<Bytes>,
}

impl HeapRule {
    /// The heap of each of `nodes` nodes on this machine.
    ///
    /// Cassandra's own default, `max(min(1/2 ram, 1024MB), min(1/4 ram, 8GB))`, is blind to the
    /// other nodes of the machine (K8ssandra's development guide); this one divides by them.
    pub fn heap(self, machine: &Machine, nodes: usize) -> Heap {
        match self {
            Self::Fixed { heap_mib, new_mib } => Heap {
                heap: Bytes::mib(heap_mib),
                new: Some(Bytes::mib(new_mib)),
            },
            Self::ByMachine {
                least_mib,
                most_mib,
            } => {
                let share = machine.memory.as_mib() / 4 / (nodes.max(1) as u64);
                let heap = Bytes::mib(share.clamp(least_mib, most_mib));
                Heap {
                    heap,
                    new: Some(Bytes::mib(heap.as_mib() / 4)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(memory_mib: u64) -> Machine {
        Machine {
            cores: 2,
            memory: Bytes::mib(memory_mib),
            arch: "x86_64".into(),
            kernel: "6.1".into(),
            processor: "test".into(),
        }
    }

    #[test]
    fn every_setting_says_why_and_from_where() {
        for preset in PresetName::ALL.map(PresetName::preset) {
            for setting in BASE.iter().chain(&preset.settings) {
                assert!(
                    setting.reason.len() > 10,
                    "{}: {}",
                    preset.name.word(),
                    setting.key
                );
                assert!(
                    setting.source.len() > 5,
                    "{}: {}",
                    preset.name.word(),
                    setting.key
                );
                assert_eq!(
                    setting.place == Place::Jvm,
                    setting.value.is_empty(),
                    "{}",
                    setting.key
                );
            }
        }
    }

    #[test]
    fn the_bench_heap_is_shared_among_the_nodes() {
        let rule = BENCH.heap;
        assert_eq!(rule.heap(&machine(24 * 1024), 1).heap, Bytes::mib(2048));
        assert_eq!(rule.heap(&machine(4 * 1024), 1).heap, Bytes::mib(1024));
        assert_eq!(rule.heap(&machine(4 * 1024), 3).heap, Bytes::mib(512));
        assert_eq!(TINY.heap.heap(&machine(1024), 15).heap, Bytes::mib(64));
    }
}
