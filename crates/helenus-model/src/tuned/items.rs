//! The items that are looked at: the tuning guide's start-up script and BIOS table, and the settings that it links.

use super::reaches;
use crate::sizing::{Measured, READ_AHEAD};
use crate::worded::worded;
use serde::Serialize;

worded! {
    /// How much an item matters.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    pub enum Severity {
        /// Nodes stop, or stall for seconds.
        High = "high",
        /// Throughput or latency.
        Medium = "medium",
        /// Some per cent, or only in some clusters.
        Low = "low",
    }
}

/// An item.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// Its name on the command line.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    pub(super) rule: Rule,
    /// What it should be.
    pub wanted: &'static str,
    /// Why.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
    pub(super) promised: Option<&'static str>,
    pub(super) measured: Option<Measured>,
    pub(super) by_hand: &'static str,
}

/// How two values compare.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compare {
    NotBelow,
    NotAbove,
    /// The last of several numbers is at least the last one that is wanted.
    LastNotBelow,
}

impl Compare {
    pub(super) fn holds(self, found: &str, wanted: &str) -> bool {
        let last = |text: &str| text.split(' ').next_back().unwrap_or_default().to_owned();
        match self {
            Self::NotBelow => reaches(found, wanted),
            Self::NotAbove => reaches(wanted, found),
            Self::LastNotBelow => reaches(&last(found), &last(wanted)),
        }
    }
}

/// Where the value is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Sysctl(&'static str, Compare),
    Limit(&'static str),
    Swap,
    Defrag,
    ClockSource,
    ClockKept,
    Governor,
    EnergyBias,
    Smt,
    SubNuma,
    Scheduler,
    Rotational,
    ReadAhead,
    MountOption,
    FileSystem,
    LinkSpeed,
}

const SCRIPT: &str = "Intel's tuning guide for Cassandra on Xeon, start-up script";
const BIOS: &str = "Intel's tuning guide for Cassandra on Xeon, table 2";
const SETTINGS: &str = "DataStax's recommended production settings";
const CHECKS: &str = "Cassandra's own start-up checks";
const EC2: &str = "AWS's guidance for instances of EC2";
const MOUNT: &str = "the manual page of mount";
const HARDWARE: &str = "Cassandra's documentation, hardware choices";

const fn item(
    name: &'static str,
    severity: Severity,
    rule: Rule,
    wanted: &'static str,
    why: &'static str,
    source: &'static str,
) -> Item {
    Item {
        name,
        severity,
        rule,
        wanted,
        why,
        source,
        promised: None,
        measured: None,
        by_hand: "",
    }
}

impl Item {
    const fn promised(self, promised: &'static str) -> Self {
        Self {
            promised: Some(promised),
            ..self
        }
    }

    const fn measured(self, measured: Measured) -> Self {
        Self {
            measured: Some(measured),
            ..self
        }
    }

    const fn by_hand(self, by_hand: &'static str) -> Self {
        Self { by_hand, ..self }
    }
}

use Compare::{LastNotBelow, NotAbove, NotBelow};
use Rule::{Limit, Sysctl};
use Severity::{High, Low, Medium};

/// All items.
pub const ITEMS: &[Item] = &[
    item(
        "swap",
        High,
        Rule::Swap,
        "0 B",
        "a node whose heap is swapped out stalls for seconds; one that is killed is replaced",
        SCRIPT,
    ),
    item(
        "swappiness",
        Low,
        Sysctl("vm.swappiness", NotAbove),
        "1",
        "where there is swap, the kernel should use it last",
        SETTINGS,
    ),
    item(
        "zone-reclaim",
        High,
        Sysctl("vm.zone_reclaim_mode", NotAbove),
        "0",
        "a NUMA node that frees its own memory first evicts the page cache, and stalls",
        SCRIPT,
    ),
    item(
        "max-map-count",
        High,
        Sysctl("vm.max_map_count", NotBelow),
        "1048575",
        "every mapped SSTable takes maps; without one a node stops",
        CHECKS,
    ),
    item(
        "files",
        High,
        Limit("nofile"),
        "1048576",
        "SSTables and connections take a descriptor each; without one a node stops",
        SCRIPT,
    ),
    item(
        "locked-memory",
        Medium,
        Limit("memlock"),
        "unlimited",
        "Cassandra locks its heap, so that it cannot be swapped out",
        SCRIPT,
    ),
    item(
        "processes",
        Medium,
        Limit("nproc"),
        "32768",
        "threads count as processes",
        SCRIPT,
    ),
    item(
        "thp-defrag",
        Medium,
        Rule::Defrag,
        "never",
        "a thread that defragments memory for a huge page waits for it",
        SCRIPT,
    ),
    item(
        "keepalive-time",
        Medium,
        Sysctl("net.ipv4.tcp_keepalive_time", NotAbove),
        "60",
        "firewalls forget idle connections; the default waits two hours before it looks",
        SCRIPT,
    ),
    item(
        "keepalive-probes",
        Medium,
        Sysctl("net.ipv4.tcp_keepalive_probes", NotAbove),
        "3",
        "a connection that is gone is noticed after three probes",
        SCRIPT,
    ),
    item(
        "keepalive-interval",
        Medium,
        Sysctl("net.ipv4.tcp_keepalive_intvl", NotAbove),
        "10",
        "a connection that is gone is noticed within half a minute",
        SCRIPT,
    ),
    item(
        "receive-buffer-most",
        Medium,
        Sysctl("net.core.rmem_max", NotBelow),
        "16777216",
        "thousands of connections and distant data centres need larger windows",
        SCRIPT,
    ),
    item(
        "send-buffer-most",
        Medium,
        Sysctl("net.core.wmem_max", NotBelow),
        "16777216",
        "thousands of connections and distant data centres need larger windows",
        SCRIPT,
    ),
    item(
        "receive-buffer",
        Low,
        Sysctl("net.core.rmem_default", NotBelow),
        "16777216",
        "sockets start with the larger window",
        SCRIPT,
    ),
    item(
        "send-buffer",
        Low,
        Sysctl("net.core.wmem_default", NotBelow),
        "16777216",
        "sockets start with the larger window",
        SCRIPT,
    ),
    item(
        "option-memory",
        Low,
        Sysctl("net.core.optmem_max", NotBelow),
        "40960",
        "memory of a socket beside its data",
        SCRIPT,
    ),
    item(
        "tcp-receive",
        Medium,
        Sysctl("net.ipv4.tcp_rmem", LastNotBelow),
        "4096 87380 16777216",
        "TCP grows its window up to the last number",
        SCRIPT,
    ),
    item(
        "tcp-send",
        Medium,
        Sysctl("net.ipv4.tcp_wmem", LastNotBelow),
        "4096 65536 16777216",
        "TCP grows its window up to the last number",
        SCRIPT,
    ),
    item(
        "governor",
        Medium,
        Rule::Governor,
        "performance",
        "a processor that saves power answers the first request late",
        SCRIPT,
    ),
    item(
        "energy-bias",
        Low,
        Rule::EnergyBias,
        "0",
        "0 prefers performance to saving power",
        SCRIPT,
    ),
    item(
        "scheduler",
        Medium,
        Rule::Scheduler,
        "none",
        "flash has no head to move: sorting requests only delays them",
        SCRIPT,
    ),
    item(
        "rotational",
        Low,
        Rule::Rotational,
        "0",
        "the kernel treats what it takes for a turning disk otherwise",
        SCRIPT,
    ),
    item(
        "read-ahead",
        Medium,
        Rule::ReadAhead,
        "8",
        "small random reads throw away what is read ahead",
        SCRIPT,
    )
    .promised("up to 100 % more throughput, for rows of about 1 KB, mostly read")
    .measured(READ_AHEAD),
    item(
        "clock-source",
        Medium,
        Rule::ClockSource,
        "tsc",
        "every operation reads the clock several times; others than tsc cost a system call or more",
        EC2,
    ),
    item(
        "clock-kept",
        High,
        Rule::ClockKept,
        "kept",
        "the latest write stays by its timestamp: clocks that differ lose writes",
        SETTINGS,
    )
    .by_hand("install chrony, or enable systemd-timesyncd"),
    item(
        "access-times",
        Low,
        Rule::MountOption,
        "noatime or relatime",
        "each read of a file would write its time",
        MOUNT,
    ),
    item(
        "file-system",
        Low,
        Rule::FileSystem,
        "xfs or ext4",
        "Cassandra is tested on these",
        HARDWARE,
    )
    .by_hand("put data and commit log on xfs or ext4"),
    item(
        "network-speed",
        Low,
        Rule::LinkSpeed,
        "10000 Mbit/s",
        "repair and streaming fill slower links",
        "Intel's tuning guide for Cassandra on Xeon, table 1",
    )
    .by_hand("use an interface of 10 Gbit/s or more for the nodes"),
    item("smt", Medium, Rule::Smt, "on", "two threads a core", BIOS)
        .promised("up to 22 %")
        .by_hand("BIOS: Hyper-Threading or SMT: enabled"),
    item(
        "sub-numa",
        Low,
        Rule::SubNuma,
        "2 to 4 NUMA nodes a socket",
        "several instances each get processors with their own memory",
        BIOS,
    )
    .promised("up to 15 %, with pinned instances")
    .by_hand("BIOS: SNC: SNC2 to SNC4, by the number of instances"),
];
