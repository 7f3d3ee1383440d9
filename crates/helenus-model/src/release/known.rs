//! The releases that are known, one value each: what a table of keys and a list of jars cannot say.
//! Refuses logic, and facts that nobody saw or that the release itself does not state.

use std::sync::OnceLock;

use super::{Also, Lack, Release};

/// Every known release, oldest first.
pub(super) static RELEASES: [&Release; 4] = [
    &CASSANDRA_3_11_5,
    &CASSANDRA_4_0_19,
    &CASSANDRA_4_1_10,
    &CASSANDRA_5_0_9,
];

/// What every release from 4.0 on does when it starts, and JDK 24 forbids (JEP 486).
const SECURITY_MANAGER: &str = "installs a SecurityManager when it starts, which JDK 24 removed";

const NO_TRIE: Lack = Lack {
    key: "memtable.configurations.default.class_name",
    value: Some("TrieMemtable"),
    instead: None,
    why: "trie memtables came with 5.0",
};

const NO_PAXOS_REPAIR: Lack = Lack {
    key: "cassandra.skip_paxos_state_rebuild",
    value: None,
    instead: None,
    why: "the rebuild that it skips came with 4.1",
};

/// The estimate of a row's overhead cannot be given here, only made in fewer steps.
const ESTIMATES_ROW_OVERHEAD: Lack = Lack {
    key: "cassandra.memtable.row_overhead_size",
    value: None,
    instead: Some(("cassandra.memtable_row_overhead_computation_step", "1000")),
    why: "the overhead is always estimated before 4.1: of 1,000 rows instead of 100,000",
};

static CASSANDRA_3_11_5: Release = Release {
    version: "3.11.5",
    facts: "3.11.5",
    series: "3.11",
    // bin/cassandra and NEWS.txt of the series: Java 8.
    supported_jdks: &[8],
    // 11: started and opened CQL (Temurin 11.0.13, November 2026).
    works_jdks: &[11],
    oldest_jdk: 8,
    // 17: dies at its start, because FileDescriptor's field is closed to it (JEP 403, from 16 on).
    broken_from_jdk: 16,
    broken_why: "uses internals of java.io, which are closed since JDK 16",
    agent_from_jdk: None,
    heap_least_mib: 48,
    lacks: &[NO_PAXOS_REPAIR, ESTIMATES_ROW_OVERHEAD],
    also: &[Also {
        key: "start_rpc",
        value: "false",
        why: "Thrift's port, which the configuration class opens by default",
    }],
    lock_text: None,
    keys_text: include_str!("../../data/releases/3.11.5/keys.tsv"),
    patches_text: include_str!("../../data/releases/3.11.5/patches.tsv"),
    lock: OnceLock::new(),
    keys: OnceLock::new(),
};

static CASSANDRA_4_0_19: Release = Release {
    version: "4.0.19",
    facts: "4.0.19",
    series: "4.0",
    // bin/cassandra.in.sh of the series: Java 8 and 11.
    supported_jdks: &[8, 11],
    // 17: started and served with jamm as an agent (OpenJDK 17.0, November 2026).
    works_jdks: &[17],
    // The jars hold class files of version 52.
    oldest_jdk: 8,
    broken_from_jdk: 24,
    broken_why: SECURITY_MANAGER,
    // jamm 0.3.2 without an agent: "can't get field offset on a hidden class"; seen on 17, hidden since 15 (JEP 371).
    agent_from_jdk: Some(12),
    heap_least_mib: 48,
    lacks: &[NO_PAXOS_REPAIR, ESTIMATES_ROW_OVERHEAD],
    also: &[],
    lock_text: Some(include_str!("../../data/releases/4.0.19/lock.tsv")),
    keys_text: include_str!("../../data/releases/4.0.19/keys.tsv"),
    patches_text: include_str!("../../data/releases/4.0.19/patches.tsv"),
    lock: OnceLock::new(),
    keys: OnceLock::new(),
};

static CASSANDRA_4_1_10: Release = Release {
    version: "4.1.10",
    facts: "4.1.10",
    series: "4.1",
    supported_jdks: &[8, 11],
    works_jdks: &[17],
    oldest_jdk: 8,
    broken_from_jdk: 24,
    broken_why: SECURITY_MANAGER,
    agent_from_jdk: Some(12),
    heap_least_mib: 48,
    lacks: &[NO_TRIE],
    also: &[],
    lock_text: Some(include_str!("../../data/releases/4.1.10/lock.tsv")),
    keys_text: include_str!("../../data/releases/4.1.10/keys.tsv"),
    patches_text: include_str!("../../data/releases/4.1.10/patches.tsv"),
    lock: OnceLock::new(),
    keys: OnceLock::new(),
};

static CASSANDRA_5_0_9: Release = Release {
    version: "5.0.9",
    facts: "5.0.9",
    series: "5.0",
    // bin/cassandra.in.sh of the series: java_versions_supported=11,17.
    supported_jdks: &[11, 17],
    // 21: started and opened CQL with -Djava.security.manager=allow (Temurin 21.0.8, November 2026).
    works_jdks: &[21],
    // The jars hold class files of version 55.
    oldest_jdk: 11,
    // CassandraDaemon.setup installs a security manager and a policy; JDK 24 removed both (JEP 486).
    broken_from_jdk: 24,
    broken_why: SECURITY_MANAGER,
    agent_from_jdk: None,
    // 40 MiB died of OutOfMemoryError during boot, 48 started.
    heap_least_mib: 48,
    lacks: &[],
    also: &[],
    lock_text: Some(include_str!("../../data/releases/5.0.9/lock.tsv")),
    keys_text: include_str!("../../data/releases/5.0.9/keys.tsv"),
    patches_text: include_str!("../../data/releases/5.0.9/patches.tsv"),
    lock: OnceLock::new(),
    keys: OnceLock::new(),
};
