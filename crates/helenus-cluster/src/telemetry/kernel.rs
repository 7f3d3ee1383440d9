//! What the kernel reports of processes and host, out of small files of /proc.
//! Refuses what costs: no map of a process's memory is walked.

use fs_err as fs;
use helenus_model::telemetry::{GeneratorSample, HostSample, NodeSample};

/// Names of the thread that syncs the commit log, in the three modes of `commitlog_sync`, as far as the kernel keeps them
/// (Cassandra's `PeriodicCommitLogService`, `BatchCommitLogService` and `GroupCommitLogService`).
const COMMIT_LOG_THREADS: [&str; 3] = ["PERIODIC-COMMIT", "COMMIT-LOG-WRIT", "GROUP-COMMIT-LO"];

/// A process by its `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    /// User and system CPU so far, in microseconds.
    pub(super) cpu_us: u64,
}

/// The state of the thread whose `stat` this is: `T` where a signal stopped its process, `D` where it waits for the disk.
pub(super) fn state_of(stat: &[u8]) -> Option<u8> {
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(name_ends + 2).copied()
}

/// The thread of a node that writes its commit log to the disk; none while there is none.
pub(super) fn commit_log_thread(pid: i32) -> Option<i32> {
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let is_wanted = |thread: &fs::DirEntry| {
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        COMMIT_LOG_THREADS.contains(&name.trim_end())
    };
    let wanted = threads.find(is_wanted)?;
    wanted.file_name().to_str()?.parse().ok()
}

/// None when it is gone.
pub(super) fn process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    process_of(&stat, ticks_per_second())
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn process_of(stat: &str, ticks_per_second: u64) -> Option<Process> {
    // The name in brackets may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Process {
        cpu_us: ticks * 1_000_000 / ticks_per_second,
    })
}

/// A node's counters; what its log and itself report is not in them. None when it is gone.
pub(super) fn node(pid: i32, process: Process) -> Option<NodeSample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let mut sample = node_of(process, &status, &io);
    network(pid, &mut sample);
    Some(sample)
}

fn node_of(process: Process, status: &str, io: &str) -> NodeSample {
    let kib = |key: &str| after(status, key).map_or(0, |kib| kib << 10);
    NodeSample {
        cpu_us: process.cpu_us,
        rss_bytes: kib("VmRSS:"),
        anon_bytes: kib("RssAnon:"),
        file_bytes: kib("RssFile:"),
        shmem_bytes: kib("RssShmem:"),
        threads: after(status, "Threads:").map_or(0, |n| n as u32),
        read_bytes: after(io, "read_bytes:"),
        written_bytes: after(io, "write_bytes:"),
        ..NodeSample::default()
    }
}

/// What a process's network namespace has received, sent and sent again, where the namespace is another than ours:
/// in ours others send, too.
fn network(pid: i32, sample: &mut NodeSample) {
    let space = |whose: &str| fs::read_link(format!("/proc/{whose}/ns/net")).ok();
    let whose = pid.to_string();
    match (space(&whose), space("self")) {
        (Some(theirs), Some(ours)) if theirs != ours => {}
        _ => return,
    }
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/net/{file}"));
    if let Ok(devices) = read("dev")
        && let Some((received, sent)) = bytes_of(&devices)
    {
        sample.received_bytes = Some(received);
        sample.sent_bytes = Some(sent);
    }
    sample.retransmitted = read("snmp").ok().and_then(|text| retransmitted_of(&text));
}

/// Bytes received and sent over all devices of `/proc/PID/net/dev` but loopback; none where there is no other.
fn bytes_of(devices: &str) -> Option<(u64, u64)> {
    let each = devices.lines().filter_map(|line| {
        let (name, counters) = line.split_once(':')?;
        let mut counters = counters.split_whitespace().map(str::parse::<u64>);
        let received = counters.next()?.ok()?;
        let sent = counters.nth(7)?.ok()?;
        (name.trim() != "lo").then_some((received, sent))
    });
    each.reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

/// TCP segments sent again, out of `/proc/PID/net/snmp`: a line of names, then one of numbers.
fn retransmitted_of(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let mut names = lines.next()?.split_whitespace();
    let place = names.position(|name| name == "RetransSegs")?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

/// The first number of the line that starts so.
fn after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The host's counters, with the CPU of these processes beside them.
pub(super) fn host(ours: &[i32]) -> Option<HostSample> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let ours_us = ours
        .iter()
        .filter_map(|pid| process(*pid))
        .map(|p| p.cpu_us)
        .sum();
    host_of(&stat, &vmstat, ours_us, ticks_per_second())
}

/// First line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
fn host_of(stat: &str, vmstat: &str, ours_us: u64, ticks_per_second: u64) -> Option<HostSample> {
    let ticks: Vec<u64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(8)
        .map_while(|n| n.parse().ok())
        .collect();
    let [.., idle, waiting, _, _, stolen] = ticks[..] else {
        return None;
    };
    let us = |ticks: u64| ticks * 1_000_000 / ticks_per_second;
    let total: u64 = ticks.iter().sum();
    Some(HostSample {
        busy_us: us(total - idle - waiting - stolen),
        stolen_us: us(stolen),
        total_us: us(total),
        ours_us,
        run_queue: after(stat, "procs_running").map_or(0, |n| n as u32),
        read_bytes: after(vmstat, "pgpgin").map(|kib| kib << 10),
        written_bytes: after(vmstat, "pgpgout").map(|kib| kib << 10),
    })
}

/// Counters of all generator processes together; none when one of them is gone.
pub(super) fn generators(pids: &[i32]) -> Option<GeneratorSample> {
    let all: Option<Vec<GeneratorSample>> = pids.iter().map(|pid| generator(*pid)).collect();
    let all = all.filter(|all| !all.is_empty())?;
    Some(GeneratorSample {
        cpu_us: all.iter().map(|one| one.cpu_us).sum(),
        run_queue_wait_us: all.iter().map(|one| one.run_queue_wait_us).max()?,
    })
}

/// A generator's counters; none when it is gone.
fn generator(pid: i32) -> Option<GeneratorSample> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let busiest = threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| schedule_of(&text))
        .max()?;
    Some(GeneratorSample {
        cpu_us: process(pid)?.cpu_us,
        run_queue_wait_us: busiest.1 / 1000,
    })
}

/// Time on a processor and time that a thread could have run but waited for one, in nanoseconds.
fn schedule_of(schedstat: &str) -> Option<(u64, u64)> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_any_name_is_read() {
        let stat = "77 (a) T (b) T 1 77 77 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 40 0 9 1 2";
        let expected = Process { cpu_us: 3_000_000 };
        assert_eq!(process_of(stat, 100), Some(expected));
        assert_eq!(state_of(stat.as_bytes()), Some(b'T'));
        assert_eq!(state_of(b"77 (a) T (b) S 1"), Some(b'S'));
        assert_eq!(state_of(b"77 (T)"), None);
        assert_eq!(process_of("77 (a) S 1", 100), None);
        assert_eq!(process_of("", 100), None);
    }

    #[test]
    fn the_thread_of_the_commit_log_is_found_by_its_name() {
        let own = rustix::process::getpid().as_raw_pid();
        assert_eq!(commit_log_thread(own), None);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (say, said) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("PERIODIC-COMMIT-LOG-SYNCER".into())
            .spawn(move || {
                let _listens = say.send(rustix::thread::gettid().as_raw_pid());
                let _ended = ended.recv();
            })
            .expect("a thread");
        let number = said.recv().expect("its number");
        assert_eq!(commit_log_thread(own), Some(number));
        drop(end);
        thread.join().expect("ends");
    }

    #[test]
    fn a_node_s_memory_is_read_by_kind_and_its_disk_where_it_may_be_read() {
        let process = Process { cpu_us: 7 };
        let status = "Name:\tjava\nVmRSS:\t  200 kB\nRssAnon:\t  120 kB\nRssFile:\t   79 kB\nRssShmem:\t   1 kB\n\
                      Threads:\t41\n";
        let io = "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let sample = node_of(process, status, io);
        let memory = [
            sample.rss_bytes,
            sample.anon_bytes,
            sample.file_bytes,
            sample.shmem_bytes,
        ];
        assert_eq!(memory.map(|b| b >> 10), [200, 120, 79, 1]);
        assert_eq!((sample.threads, sample.cpu_us), (41, 7));
        assert_eq!(
            (sample.read_bytes, sample.written_bytes),
            (Some(4096), Some(8192))
        );
        assert_eq!(node_of(process, status, "").read_bytes, None);
    }

    #[test]
    fn the_host_s_first_line_is_split_into_busy_idle_and_stolen() {
        let stat =
            "cpu  100 1 50 800 20 4 5 30 7 0\ncpu0 1 1 1 1\nprocs_running 3\nprocs_blocked 0\n";
        let vmstat = "nr_free_pages 1\npgpgin 10\npgpgout 20\n";
        let host = host_of(stat, vmstat, 5, 100).expect("a host");
        let cpu = [host.total_us, host.busy_us, host.stolen_us, host.ours_us];
        assert_eq!(cpu, [10_100_000, 1_600_000, 300_000, 5]);
        assert_eq!((host.run_queue, host.read_bytes), (3, Some(10 << 10)));
        assert_eq!(host_of("cpu  100 1 50", "", 0, 100), None);
        assert_eq!(host_of("", "", 0, 100), None);
    }

    #[test]
    fn this_very_process_can_be_read() {
        let own = rustix::process::getpid().as_raw_pid();
        let sample = node(own, process(own).expect("it lives")).expect("it lives");
        assert!(sample.rss_bytes > 0 && sample.threads > 0, "{sample:?}");
        assert_eq!(schedule_of("12 34 5"), Some((12, 34)));
        assert!(host(&[own]).is_some_and(|h| h.total_us > h.busy_us));
        assert_eq!(process(i32::MAX), None);
        // It is in our network namespace, where others send, too.
        assert_eq!((sample.received_bytes, sample.retransmitted), (None, None));
    }

    #[test]
    fn a_network_is_read_without_loopback_and_by_the_names_of_its_counters() {
        let devices = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs \
            drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo:  500 5 0 0 \
            0 0 0 0  500 5 0 0 0 0 0 0\n  eth0: 1000 9 0 0 0 0 0 0 2000 8 0 0 0 0 0 0\n  eth1:1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";
        assert_eq!(bytes_of(devices), Some((1001, 2002)));
        assert_eq!(bytes_of("    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n"), None);
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RtoMin OutSegs RetransSegs InErrs\nTcp: 1 200 900 17 0\n";
        assert_eq!(retransmitted_of(snmp), Some(17));
        assert_eq!(retransmitted_of("Tcp: OutSegs\nTcp: 9\n"), None);
    }
}
