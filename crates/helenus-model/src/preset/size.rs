//! Which settings are sizes, and what a preset gives a node that follows a production's file: sizes, and what it needs.
//! Refuses behaviour: of that the file decides, and where it says nothing, the release.

use super::{BASE, Place, PresetName, Setting, Written, written};
use crate::release::Release;

/// What a size is a size of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOf {
    /// Memory: caches, memtables, buffers.
    Memory,
    /// Disk: the commit log, change data.
    Disk,
    /// Threads.
    Threads,
    /// The largest of single things: bounded by another size.
    Bounded,
}

impl SizeOf {
    /// Why a production's size is another here.
    pub fn why(self) -> &'static str {
        match self {
            Self::Memory => "memory of another machine",
            Self::Disk => "disk of another machine",
            Self::Threads => "threads of another machine",
            Self::Bounded => "limited by a size that is smaller here",
        }
    }
}

use SizeOf::{Bounded, Disk, Memory, Threads};

/// Sizes by modern name.
const SIZES: [(&str, SizeOf); 40] = [
    ("memtable_heap_space", Memory),
    ("memtable_offheap_space", Memory),
    ("memtable_flush_writers", Threads),
    ("key_cache_size", Memory),
    ("row_cache_size", Memory),
    ("counter_cache_size", Memory),
    ("file_cache_size", Memory),
    ("networking_cache_size", Memory),
    ("prepared_statements_cache_size", Memory),
    ("thrift_prepared_statements_cache_size_mb", Memory),
    ("index_summary_capacity", Memory),
    ("paxos_cache_size", Memory),
    ("sai_options.segment_write_buffer_size", Memory),
    ("commitlog_segment_size", Disk),
    ("commitlog_total_space", Disk),
    ("commitlog_max_compression_buffers_in_pool", Memory),
    ("max_mutation_size", Bounded),
    ("cdc_total_space", Disk),
    ("data_disk_usage_max_disk_size", Disk),
    ("concurrent_reads", Threads),
    ("concurrent_writes", Threads),
    ("concurrent_counter_writes", Threads),
    ("concurrent_replicates", Threads),
    ("concurrent_materialized_view_writes", Threads),
    ("concurrent_materialized_view_builders", Threads),
    ("concurrent_compactors", Threads),
    ("concurrent_validations", Threads),
    ("concurrent_index_builders", Threads),
    ("concurrent_merkle_tree_requests", Threads),
    ("native_transport_max_threads", Threads),
    ("native_transport_max_auth_threads", Threads),
    ("native_transport_max_request_data_in_flight", Memory),
    ("native_transport_max_request_data_in_flight_per_ip", Memory),
    ("native_transport_max_message_size", Bounded),
    ("available_processors", Threads),
    ("repair_session_space", Memory),
    ("repair_command_pool_size", Threads),
    ("rpc_min_threads", Threads),
    ("rpc_max_threads", Threads),
    ("max_hints_delivery_threads", Threads),
];

/// Behaviour of the base that a node cannot do without: what has no default in the release's classes, and what a new
/// cluster of known addresses needs.
const NEEDED: [&str; 5] = [
    "partitioner",
    "endpoint_snitch",
    "commitlog_sync",
    "commitlog_sync_period",
    "auto_bootstrap",
];

/// What a key, by its modern name, is a size of.
pub fn size_of(modern: &str) -> Option<SizeOf> {
    SIZES
        .iter()
        .find(|(key, _)| *key == modern)
        .map(|(_, of)| *of)
}

/// Whether a node that follows a production's file has this setting of a preset.
///
/// Thread pools have the release's own sizes: memory is planned for them. A size of nothing is no size: it switches a
/// cache off.
pub fn kept_beside_a_file(setting: &Setting) -> bool {
    if setting.place != Place::Yaml || NEEDED.contains(&setting.key) {
        return true;
    }
    let off = setting.value.starts_with('0');
    size_of(setting.key).is_some_and(|of| of != Threads) && !off
}

/// What a node that follows a production's file has of a preset, as the release writes it.
pub fn sizes(preset: PresetName, release: &Release) -> Vec<Written> {
    let also = |w: &Written| release.also.iter().any(|also| also.key == w.setting.key);
    let mut all = written(preset, release);
    all.retain(|w| also(w) || kept_beside_a_file(&w.setting));
    all
}

/// A preset's value of a key, its own over that of all presets; none where a node that follows a file has it not.
pub fn size_in(preset: PresetName, modern: &str) -> Option<&'static str> {
    let mut settings = BASE.iter().chain(&preset.preset().settings);
    settings
        .rfind(|s| s.place == Place::Yaml && s.key == modern && kept_beside_a_file(s))
        .map(|s| s.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_preset_only_sizes_and_needs_stay() {
        let yaml = |preset| {
            let all = sizes(preset, Release::newest()).into_iter();
            let own = all.filter(|w| w.setting.place == Place::Yaml);
            own.map(|w| w.setting.key).collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(yaml(PresetName::Tiny), @"partitioner endpoint_snitch commitlog_sync commitlog_sync_period auto_bootstrap memtable_heap_space memtable_offheap_space commitlog_segment_size commitlog_total_space file_cache_size networking_cache_size prepared_statements_cache_size");
        insta::assert_snapshot!(yaml(PresetName::Dev), @"partitioner endpoint_snitch commitlog_sync commitlog_sync_period auto_bootstrap commitlog_segment_size file_cache_size networking_cache_size memtable_heap_space");
        insta::assert_snapshot!(yaml(PresetName::Bench), @"partitioner endpoint_snitch commitlog_sync commitlog_sync_period auto_bootstrap");
        assert_eq!(size_in(PresetName::Tiny, "key_cache_size"), None);
        assert_eq!(size_in(PresetName::Tiny, "file_cache_size"), Some("16MiB"));
    }

    #[test]
    fn every_size_is_a_key_of_some_release() {
        for (key, _) in SIZES {
            let known = |r: &&Release| r.keys().named(key).is_some();
            assert!(Release::all().iter().any(known), "{key}");
        }
    }
}
