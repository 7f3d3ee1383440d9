//! What a pod used so far, from inside: processors, standing still at their limit, memory, and stops of its JVM.
//! Refuses to guess: what its cgroup does not show is absent.

use crate::machine;
use crate::telemetry::monotonic_ns;
use crate::wall;
use fs_err as fs;
use helenus_model::format::{Format, FormatError};
use helenus_model::gc_log::GcLog;
use helenus_model::kube::pod::RUN_FOLDER;
use helenus_model::machine::Machine;
use helenus_model::plan::GC_LOG;
use helenus_model::telemetry::Reading;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of [`PodFacts`] as JSON.
pub const POD_FACTS_VERSION: u32 = 1;

/// What a pod's container sees of itself at one moment. Counters count from its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodFacts {
    /// `helenus.pod-facts/1`.
    pub format: Format,
    /// The worker's monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// The worker's wall clock at the same moment, in nanoseconds since 1970.
    pub wall_ns: u64,
    /// Processors.
    pub cpu: CpuFacts,
    /// Memory.
    pub memory: MemoryFacts,
    /// Its worker.
    pub machine: Machine,
    /// Collections and other stops of its JVM, from the moment on that was asked for; none in a pod without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<Reading>,
}

/// Processors that a container used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Used so far, in microseconds.
    pub used_us: Option<u64>,
    /// Time for which it was throttled at its CPU limit, in microseconds.
    pub throttled_us: Option<u64>,
}

/// Memory that a container used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// In use, page cache included, in bytes.
    pub used_bytes: Option<u64>,
    /// Most that was in use, in bytes.
    pub peak_bytes: Option<u64>,
    /// How often something in it was killed for memory.
    pub killed: Option<u64>,
    /// Of what is in use, anonymous: heap, metaspace, stacks; in bytes.
    #[serde(default)]
    pub anon_bytes: Option<u64>,
    /// Of it page cache and mapped files, in bytes.
    #[serde(default)]
    pub file_bytes: Option<u64>,
}

impl PodFacts {
    /// Reads what [`look`] wrote.
    ///
    /// # Errors
    /// No such JSON, or of another version.
    pub fn read(text: &str) -> Result<Self, FactsError> {
        let read: Self = serde_json::from_str(text)?;
        read.format.check("pod-facts", POD_FACTS_VERSION)?;
        Ok(read)
    }

    /// Share of the time since `before` for which it was throttled at its CPU limit.
    #[expect(clippy::cast_precision_loss, reason = "durations below 2^53")]
    pub fn throttled_since(&self, before: &Self) -> Option<f64> {
        let stood_us = self
            .cpu
            .throttled_us?
            .checked_sub(before.cpu.throttled_us?)?;
        let passed_ns = self.monotonic_ns.checked_sub(before.monotonic_ns)?;
        Some(stood_us as f64 * 1000.0 / passed_ns.max(1) as f64)
    }

    /// Whether something in it was killed for memory since `before`.
    pub fn killed_since(&self, before: &Self) -> bool {
        self.memory.killed.unwrap_or_default() > before.memory.killed.unwrap_or_default()
    }
}

/// Why facts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// No such JSON.
    #[error("the pod's answer cannot be read")]
    Json(#[from] serde_json::Error),
    /// Of another Helenus.
    #[error("the pod's answer cannot be read")]
    Format(#[from] FormatError),
}

/// This container now, with the stops of its JVM from this moment of the monotonic clock on.
pub fn look(since_ns: u64) -> PodFacts {
    let wall_ns = wall::now_ns();
    let mut machine = machine::read();
    // The worker's: the container's limit is another thing.
    machine.memory = machine::meminfo("MemTotal").unwrap_or(machine.memory);
    PodFacts {
        format: Format::new("pod-facts", POD_FACTS_VERSION),
        monotonic_ns: monotonic_ns(),
        wall_ns,
        cpu: cpu(Path::new("/sys/fs/cgroup")),
        memory: memory(Path::new("/sys/fs/cgroup")),
        machine,
        stops: stops(&Path::new(RUN_FOLDER).join(GC_LOG), since_ns),
    }
}

/// By version 2 of cgroups, or version 1 (whose times are in nanoseconds).
fn cpu(root: &Path) -> CpuFacts {
    if let Ok(stat) = fs::read_to_string(root.join("cpu.stat")) {
        return CpuFacts {
            used_us: field(&stat, "usage_usec"),
            throttled_us: field(&stat, "throttled_usec"),
        };
    }
    let of = |file: &str| fs::read_to_string(root.join(file)).ok();
    let stat = of("cpu/cpu.stat").or_else(|| of("cpu,cpuacct/cpu.stat"));
    let used = of("cpuacct/cpuacct.usage").or_else(|| of("cpu,cpuacct/cpuacct.usage"));
    CpuFacts {
        used_us: used.and_then(|text| text.trim().parse::<u64>().ok().map(|ns| ns / 1000)),
        throttled_us: stat
            .and_then(|stat| field(&stat, "throttled_time"))
            .map(|ns| ns / 1000),
    }
}

fn memory(root: &Path) -> MemoryFacts {
    let number = |file: &str| -> Option<u64> {
        let text = fs::read_to_string(root.join(file)).ok()?;
        text.trim().parse().ok()
    };
    let stat = |file: &str, name: &str| field(&fs::read_to_string(root.join(file)).ok()?, name);
    let killed = |file: &str| field(&fs::read_to_string(root.join(file)).ok()?, "oom_kill");
    MemoryFacts {
        used_bytes: number("memory.current").or_else(|| number("memory/memory.usage_in_bytes")),
        peak_bytes: number("memory.peak").or_else(|| number("memory/memory.max_usage_in_bytes")),
        killed: killed("memory.events").or_else(|| killed("memory/memory.oom_control")),
        anon_bytes: stat("memory.stat", "anon").or_else(|| stat("memory/memory.stat", "rss")),
        file_bytes: stat("memory.stat", "file").or_else(|| stat("memory/memory.stat", "cache")),
    }
}

/// A number behind its name, a line each.
fn field(text: &str, name: &str) -> Option<u64> {
    let lines = text.lines();
    let mut words = lines.filter_map(|line| line.split_once(' '));
    let (_, value) = words.find(|(own, _)| *own == name)?;
    value.trim().parse().ok()
}

/// What the log reports, and those that it rolled over to.
fn stops(log: &Path, since_ns: u64) -> Vec<Reading> {
    let folder = log.parent().map(Path::to_path_buf).unwrap_or_default();
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_log = |path: &PathBuf| {
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        own.starts_with(name.as_ref())
    };
    let mut all = Vec::new();
    for path in entries.map(|entry| entry.path()).filter(is_log) {
        let mut log = GcLog::default();
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let stops = text.lines().filter_map(|line| log.take(line));
        all.extend(stops.filter_map(|stop| stop.event("")));
    }
    all.retain(|stop| stop.at_ns >= since_ns);
    all.sort_by_key(|stop| stop.at_ns);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_cgroups_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        assert_eq!(cpu(root), CpuFacts::default());
        write(
            "cpu/cpu.stat",
            "nr_periods 7\nnr_throttled 2\nthrottled_time 5000000\n",
        );
        write("cpuacct/cpuacct.usage", "9000000\n");
        write("memory/memory.stat", "cache 1096\nrss 3000\nrss_huge 7\n");
        write("memory/memory.usage_in_bytes", "4096\n");
        write("memory/memory.max_usage_in_bytes", "8192\n");
        write(
            "memory/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
        );
        let facts = CpuFacts {
            used_us: Some(9000),
            throttled_us: Some(5000),
        };
        let memory_facts = MemoryFacts {
            used_bytes: Some(4096),
            peak_bytes: Some(8192),
            killed: Some(1),
            anon_bytes: Some(3000),
            file_bytes: Some(1096),
        };
        assert_eq!((cpu(root), memory(root)), (facts, memory_facts));
        write(
            "cpu.stat",
            "usage_usec 9000\nuser_usec 1\nthrottled_usec 5000\n",
        );
        write("memory.stat", "anon_thp 7\nanon 3000\nfile 1096\n");
        write("memory.current", "4096\n");
        write("memory.peak", "8192\n");
        write("memory.events", "low 0\noom 3\noom_kill 1\n");
        fs::remove_dir_all(root.join("memory")).expect("gone");
        assert_eq!((cpu(root), memory(root)), (facts, memory_facts));
    }

    #[test]
    fn what_a_pod_stood_still_is_a_share_of_the_time_between() {
        let before = look(0);
        let mut after = before.clone();
        after.monotonic_ns += 10_000_000_000;
        assert_eq!(
            PodFacts {
                cpu: CpuFacts::default(),
                ..after.clone()
            }
            .throttled_since(&before),
            None
        );
        let at = |us| CpuFacts {
            throttled_us: Some(us),
            ..CpuFacts::default()
        };
        let before = PodFacts {
            cpu: at(1_000_000),
            ..before
        };
        after.cpu = at(1_500_000);
        assert_eq!(after.throttled_since(&before), Some(0.05));
        let text = serde_json::to_string(&after).expect("JSON");
        assert_eq!(PodFacts::read(&text).expect("facts"), after);
    }

    #[test]
    fn stops_of_all_logs_are_reported_from_a_moment_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = |s: u64| {
            format!("[{s}000000000ns][gc] GC({s}) Pause Full (Ergonomics) 24M->10M(31M) 5.300ms\n")
        };
        let log = folder.path().join("gc.log");
        fs::write(&log, line(4)).expect("a log");
        fs::write(folder.path().join("gc.log.0"), line(1) + &line(3)).expect("a log");
        let found = stops(&log, 2_000_000_000);
        let at: Vec<u64> = found
            .iter()
            .map(|stop| stop.at_ns / 1_000_000_000)
            .collect();
        assert_eq!(at.len(), 2, "{found:?}");
    }
}
