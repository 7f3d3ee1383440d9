//! The presets: what each is for and its heap. `data/presets.tsv` has every setting with its reason and source.
//! Refuses logic: these are tables.

use super::{HeapRule, Place, Preset, PresetName, Setting};
use crate::cells::rows;
use std::sync::LazyLock;

/// The settings in whose first cell this name is.
fn settings(of: &str) -> Vec<Setting> {
    let rows = rows::<6>(include_str!("../../data/presets.tsv"));
    let own = rows.filter(|[presets, ..]| presets.split(' ').any(|name| name == of));
    own.map(|[_, place, key, value, reason, source]| {
        let mut places = Place::ALL.into_iter();
        Setting {
            place: places
                .find(|known| known.word() == place)
                .unwrap_or_else(|| panic!("{key}: no place {place}")),
            key,
            value,
            reason,
            source,
        }
    })
    .collect()
}

/// What every preset starts from: parity with stock where it matters, no waits that one machine does not need.
pub static BASE: LazyLock<Vec<Setting>> = LazyLock::new(|| settings("base"));

/// Document 001's knobs in their 5.0 names, and what 5.0 offers to make 64 MB comfortable.
pub static TINY: LazyLock<Preset> = LazyLock::new(|| Preset {
    name: PresetName::Tiny,
    summary: "a node in a 64 MB heap: many on one machine, up in seconds",
    heap: HeapRule::Fixed {
        heap_mib: 64,
        // A third of 64 MB is alive in an idle node's old generation beside what is promoted: with a young generation
        // of 24 MB nearly every collection was a full one, with 12 MB one in seventeen is (docs/tiny.md).
        new_mib: 12,
    },
    settings: settings("tiny"),
});

/// Document 001's settings where 5.0 still has a name for them, and nothing else: the mark that `tiny` has to beat.
///
/// Gone since: the Thrift server's threads, `in_memory_compaction_limit_in_mb`, `reduce_cache_sizes_at` and
/// `reduce_cache_capacity_to`; keyspaces and tables are as the workload makes them.
pub static DOC001: LazyLock<Preset> = LazyLock::new(|| Preset {
    name: PresetName::Doc001,
    summary: "the settings of 2013 in a 64 MB heap, to compare tiny with",
    heap: HeapRule::Fixed {
        heap_mib: 64,
        new_mib: 12,
    },
    settings: settings("doc001"),
});

/// Document 000's heap for a developer's machine.
pub static DEV: LazyLock<Preset> = LazyLock::new(|| Preset {
    name: PresetName::Dev,
    summary: "a developer's node in a 500 MB heap, otherwise near stock",
    heap: HeapRule::Fixed {
        heap_mib: 500,
        new_mib: 200,
    },
    settings: settings("dev"),
});

/// What one measures: full JIT, memory by the machine, everything else as stock as one machine allows.
pub static BENCH: LazyLock<Preset> = LazyLock::new(|| Preset {
    name: PresetName::Bench,
    summary: "full JIT, memory by the machine: for measurements",
    heap: HeapRule::ByMachine {
        least_mib: 512,
        most_mib: 2048,
    },
    settings: settings("bench"),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_of_a_preset_or_of_all() {
        for [presets, _, key, ..] in rows::<6>(include_str!("../../data/presets.tsv")) {
            let known = |name: &str| {
                name == "base" || PresetName::ALL.iter().any(|preset| preset.word() == name)
            };
            assert!(presets.split(' ').all(known), "{key}: {presets}");
        }
    }
}
