//! Cures of statements that a node refuses, by the words of its message: what is off, what was renamed, what is not there.
//! Refuses to guess: a message without a cure has none.

/// Words of a message, all of which must be there, and the cure.
const CURES: [(&[&str], &str); 21] = [
    (
        &["Materialized views are disabled"],
        "bring the nodes up with --set materialized_views_enabled=true",
    ),
    (
        &["SASI indexes are disabled"],
        "bring the nodes up with --set sasi_indexes_enabled=true; from 5.0 on, USING 'sai' works, too",
    ),
    (
        &["User-defined functions are disabled"],
        "bring the nodes up with --set user_defined_functions_enabled=true",
    ),
    (
        &["DROP COMPACT STORAGE is disabled"],
        "bring the nodes up with --set drop_compact_storage_enabled=true",
    ),
    (
        &["ransient replication", "disabled"],
        "bring the nodes up with --set transient_replication_enabled=true",
    ),
    (
        &["ransient replication", "not enabled"],
        "bring the nodes up with --set transient_replication_enabled=true",
    ),
    (
        &["Missing sub-option 'class' for the 'compression'"],
        "sstable_compression is called class: compression = {'class': 'LZ4Compressor'}, or {'enabled': false} for none",
    ),
    (
        &["Unknown compression options", "crc_check_chance"],
        "crc_check_chance is an option of the table: WITH crc_check_chance = 1.0",
    ),
    (
        &["Unknown compression options"],
        "chunk_length_kb is called chunk_length_in_kb, and crc_check_chance is an option of the table",
    ),
    (
        &["Unknown property", "read_repair_chance'"],
        "it was removed in 4.0: leave it out; read_repair = 'BLOCKING' is the default",
    ),
    (
        &["Unknown property 'index_interval'"],
        "it is called min_index_interval and max_index_interval since 2.1",
    ),
    (
        &["Unknown property 'replicate_on_write'"],
        "it was removed in 2.1: leave it out",
    ),
    (
        &["Unable to find compaction strategy", "DateTiered"],
        "it was removed in 5.0: TimeWindowCompactionStrategy replaces it",
    ),
    (
        &["Unable to find compaction strategy", "Unified"],
        "it came with 5.0: bring the nodes up with --cassandra 5.0",
    ),
    (
        &["property 'caching'. It should be a map"],
        "write caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}",
    ),
    (
        &["Unrecognized strategy option {"],
        "no data centre has that name: SELECT data_center FROM system.local shows one, system.peers the others",
    ),
    (
        &["CassandraRoleManager doesn't support PASSWORD"],
        "passwords need nodes with authentication: bring them up with --auth",
    ),
    (
        &["Memtable configuration", "not found"],
        "name it when the nodes come up: --set 'memtable.configurations={trie: {class_name: TrieMemtable}}'",
    ),
    (
        &["Cannot specify index class for a non-CUSTOM index"],
        "USING 'sai' came with 5.0: bring the nodes up with --cassandra 5.0; SASI needs CREATE CUSTOM INDEX",
    ),
    (
        &["mismatched input '<'", "vector[<]"],
        "vectors came with 5.0: bring the nodes up with --cassandra 5.0",
    ),
    (
        &["Compact tables are not allowed"],
        "leave WITH COMPACT STORAGE out",
    ),
];

/// The cure of what a node refused with this message.
pub(super) fn of(message: &str) -> Option<&'static str> {
    let all = |(words, _): &&(&[&str], &str)| words.iter().all(|word| message.contains(word));
    CURES.iter().find(all).map(|(_, cure)| *cure)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn what_nodes_of_4_0_and_5_0_refuse_has_its_cure() {
        for (message, word) in [
            (
                "Materialized views are disabled. Enable in cassandra.yaml to use.",
                "materialized_views_enabled=true",
            ),
            (
                "User-defined functions are disabled in cassandra.yaml - set enable_user_defined_functions=true to enable",
                "--set user_defined_functions_enabled=true",
            ),
            (
                "Missing sub-option 'class' for the 'compression' option.",
                "'class': 'LZ4Compressor'",
            ),
            (
                "Unknown property 'dclocal_read_repair_chance'",
                "removed in 4.0",
            ),
            (
                "Unrecognized strategy option {dc1} passed to NetworkTopologyStrategy for keyspace k2",
                "system.local",
            ),
            (
                "org.apache.cassandra.auth.CassandraRoleManager doesn't support PASSWORD",
                "--auth",
            ),
            (
                "line 1:48 mismatched input '<' expecting ')' (...int PRIMARY KEY, v vector[<]...)",
                "5.0",
            ),
        ] {
            let cure = of(message);
            assert!(
                cure.is_some_and(|cure| cure.contains(word)),
                "{message}: {cure:?}"
            );
        }
        assert_eq!(of("keyspace nope does not exist"), None);
    }
}
