//! Reads a machine from `/proc`, `/sys` and `/etc` below a root.
//! Refuses to invent: a file that is missing, or that says nothing, becomes nothing.

use super::devices;
use fs_err as fs;
use helenus_model::machine::{
    Cgroup, Cpus, Java, Kernel, Limit, MachineMemory, NumaNode, Platform, Processors, Snapshot,
};
use helenus_model::release::Jdk;
use helenus_model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Settings of the kernel that matter to a database, by their names for sysctl.
const SYSCTLS: [&str; 22] = [
    "fs.file-max",
    "fs.nr_open",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "vm.dirty_background_ratio",
    "vm.dirty_ratio",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// A v1 limit above this is none.
const UNLIMITED: u64 = 1 << 62;

/// The machine whose files lie below `root`, with the JDKs that were found on it.
pub fn snapshot(root: &Path, jdks: &[Jdk]) -> Snapshot {
    let files = Files(root);
    let mut machine = Snapshot::of(logical(files), Bytes(0));
    machine.arch = arch(files);
    machine.memory = memory(files);
    machine.numa = numa(files);
    machine.processors = processors(files, machine.processors.logical);
    machine.kernel = kernel(files);
    machine.platform = platform(files);
    machine.cgroup = cgroup(files);
    machine.limits = limits(files);
    machine.disks = devices::disks(files);
    machine.networks = devices::networks(files);
    let java = |jdk: &Jdk| Java {
        feature: jdk.feature,
        version: Some(jdk.version.clone()),
        vendor: jdk.vendor.clone(),
    };
    machine.jdks = jdks.iter().map(java).collect();
    machine
}

/// The files below a root.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a>(pub(crate) &'a Path);

impl Files<'_> {
    pub(super) fn path(self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// What a file says, without the space around it; none where it is missing or empty.
    pub(crate) fn text(self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        let text = text.trim_matches(['\0', ' ', '\n', '\t']);
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn number(self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    pub(super) fn is_there(self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, sorted: `disk2` before `disk10`.
    pub(crate) fn names(self, path: &str) -> Vec<String> {
        let there = fs::read_dir(self.path(path))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = there
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        let key = |name: &String| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let number: u64 = name[stem.len()..].parse().unwrap_or(0);
            (stem.to_owned(), number)
        };
        names.sort_by_key(key);
        names
    }

    /// The word in brackets of a file that lists choices, and all of them.
    pub(super) fn chosen(self, path: &str) -> (Option<String>, Vec<String>) {
        let text = self.text(path).unwrap_or_default();
        let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
        let chosen = text.split_whitespace().find(|word| word.starts_with('['));
        (
            chosen.map(bare),
            text.split_whitespace().map(bare).collect(),
        )
    }

    /// A setting of the kernel: the word in brackets where the file lists choices, else its words.
    pub(crate) fn value(self, path: &str) -> Option<String> {
        let (chosen, words) = self.chosen(path);
        chosen.or_else(|| (!words.is_empty()).then(|| words.join(" ")))
    }
}

/// Processors that are online; as many as `/proc/cpuinfo` lists where the kernel has no list.
fn logical(files: Files<'_>) -> u32 {
    let online = files.text("sys/devices/system/cpu/online");
    let listed = online.and_then(|text| text.parse::<Cpus>().ok());
    let counted = || {
        let text = files.text("proc/cpuinfo").unwrap_or_default();
        let count = text.lines().filter(|l| l.starts_with("processor")).count();
        u32::try_from(count).unwrap_or(0)
    };
    listed.map_or_else(counted, |cpus| cpus.len())
}

/// The kernel's word; kernels before 6.1 have none, and then the name of the program loader says it.
fn arch(files: Files<'_>) -> Option<String> {
    let of = |path: &str, name: &str| files.is_there(path).then(|| name.to_owned());
    files
        .text("proc/sys/kernel/arch")
        .or_else(|| of("lib64/ld-linux-x86-64.so.2", "x86_64"))
        .or_else(|| of("lib/ld-linux-aarch64.so.1", "aarch64"))
}

fn topology(files: Files<'_>, cpu: u32, name: &str) -> Option<String> {
    files.text(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"))
}

/// The processors that share a core with one.
fn siblings(files: Files<'_>, cpu: u32) -> Option<Cpus> {
    topology(files, cpu, "thread_siblings_list")?.parse().ok()
}

fn online(files: Files<'_>) -> Cpus {
    let text = files.text("sys/devices/system/cpu/online");
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The processors that this process may run on; none where the kernel does not say.
pub fn usable(root: &Path) -> Option<Cpus> {
    let files = Files(root);
    let status = files.text("proc/self/status")?;
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let allowed: Cpus = list.trim().parse().ok()?;
    Some(allowed.both(&online(files))).filter(|usable| !usable.is_empty())
}

/// The processors that this process may run on, by core; a core of which it may use one thread has that one alone.
pub fn cores(root: &Path) -> Vec<Cpus> {
    let files = Files(root);
    let usable = usable(root).unwrap_or_default();
    let core = |cpu| siblings(files, cpu).unwrap_or_else(|| Cpus::range(cpu, cpu + 1));
    let cores: BTreeSet<Cpus> = usable.iter().map(|cpu| core(cpu).both(&usable)).collect();
    cores.into_iter().collect()
}

fn processors(files: Files<'_>, logical: u32) -> Processors {
    let online = online(files);
    let sockets: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| topology(files, cpu, "physical_package_id"))
        .collect();
    let cores: BTreeSet<Cpus> = online
        .iter()
        .filter_map(|cpu| siblings(files, cpu))
        .collect();
    let count = |n: usize| u32::try_from(n).ok().filter(|n| *n > 0);
    let smt = match files.text("sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => Some(true),
        Some(_) => Some(false),
        None => (!cores.is_empty()).then(|| cores.iter().any(|core| core.len() > 1)),
    };
    let each = |path: &str| {
        let of = |cpu| files.text(&format!("sys/devices/system/cpu/cpu{cpu}/{path}"));
        let all: BTreeSet<String> = online.iter().filter_map(of).collect();
        all.into_iter().collect()
    };
    let usable = usable(files.0).filter(|usable| usable.len() < logical);
    Processors {
        logical,
        cores: count(cores.len()),
        sockets: count(sockets.len()),
        smt,
        usable,
        model: of_cpuinfo(files, "model name"),
        governors: each("cpufreq/scaling_governor"),
        energy_bias: each("power/energy_perf_bias"),
    }
}

fn of_cpuinfo(files: Files<'_>, key: &str) -> Option<String> {
    let text = files.text("proc/cpuinfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn meminfo(text: &str, key: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|l| l.split_once(key)?.1.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

fn memory(files: Files<'_>) -> MachineMemory {
    let text = files.text("proc/meminfo").unwrap_or_default();
    let size = |key| meminfo(&text, key).map(|kib| Bytes(kib << 10));
    let huge = "sys/kernel/mm/transparent_hugepage";
    MachineMemory {
        total: size("MemTotal").unwrap_or_default(),
        swap: size("SwapTotal"),
        huge_page: size("Hugepagesize"),
        huge_pages: meminfo(&text, "HugePages_Total"),
        transparent: files.chosen(&format!("{huge}/enabled")).0,
        defrag: files.chosen(&format!("{huge}/defrag")).0,
    }
}

fn numa(files: Files<'_>) -> Vec<NumaNode> {
    let folder = "sys/devices/system/node";
    let id = |name: &String| name.strip_prefix("node")?.parse().ok();
    let ids = files.names(folder);
    let ids = ids.iter().filter_map(id);
    ids.map(|id: u32| {
        let at = |name: &str| files.text(&format!("{folder}/node{id}/{name}"));
        let meminfo_of = at("meminfo").unwrap_or_default();
        let cpus: Cpus = at("cpulist")
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        let second: Cpus = cpus
            .iter()
            .filter(|cpu| siblings(files, *cpu).is_some_and(|core| core.iter().next() < Some(*cpu)))
            .collect();
        let distances = at("distance").unwrap_or_default();
        NumaNode {
            id,
            second_threads: Some(second).filter(|cpus| !cpus.is_empty()),
            memory: meminfo(&meminfo_of, "MemTotal").map(|kib| Bytes(kib << 10)),
            huge_pages: meminfo(&meminfo_of, "HugePages_Total"),
            distances: distances
                .split_whitespace()
                .filter_map(|d| d.parse().ok())
                .collect(),
            cpus,
        }
    })
    .collect()
}

fn kernel(files: Files<'_>) -> Kernel {
    let os = files.text("etc/os-release").unwrap_or_default();
    let name = os.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    let clock = "sys/devices/system/clocksource/clocksource0";
    let sources = files
        .text(&format!("{clock}/available_clocksource"))
        .unwrap_or_default();
    let sysctl = SYSCTLS.iter().filter_map(|name| {
        let value = files.value(&format!("proc/sys/{}", name.replace('.', "/")))?;
        Some(((*name).to_owned(), value))
    });
    Kernel {
        release: files.text("proc/sys/kernel/osrelease"),
        distribution: name.map(|name| name.trim_matches('"').to_owned()),
        clock_source: files.text(&format!("{clock}/current_clocksource")),
        clock_sources: sources.split_whitespace().map(str::to_owned).collect(),
        // Only systemd's service leaves a mark in a file: without it nothing is known.
        clock_kept: files
            .is_there("run/systemd/timesync/synchronized")
            .then_some(true),
        sysctl: sysctl.collect(),
    }
}

fn platform(files: Files<'_>) -> Platform {
    let dmi = |name: &str| files.text(&format!("sys/class/dmi/id/{name}"));
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let flags = of_cpuinfo(files, "flags").unwrap_or_default();
    let is = |maker: &str| vendor.as_deref().is_some_and(|v| v.contains(maker));
    let hypervisor = files.text("sys/hypervisor/type").or_else(|| {
        let named = [
            ("Amazon", "amazon"),
            ("QEMU", "qemu"),
            ("Google", "google"),
            ("VMware", "vmware"),
            ("Microsoft", "microsoft"),
            ("innotek", "virtualbox"),
        ];
        let named = named.into_iter().find(|(maker, _)| is(maker));
        named.map(|(_, name)| name.to_owned())
    });
    let virtualisation = if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        Some(hypervisor.unwrap_or_else(|| "unknown".to_owned()))
    } else {
        // Without the flag a processor of x86 is a real one; others have none.
        (!flags.is_empty() && of_cpuinfo(files, "vendor_id").is_some()).then(|| "none".to_owned())
    };
    let amazon = is("Amazon EC2");
    let cloud = files.text("run/cloud-init/cloud-id").or_else(|| {
        let named = [(amazon, "aws"), (is("Google"), "gcp")];
        let named = named.into_iter().find(|(is, _)| *is);
        named.map(|(_, name)| name.to_owned())
    });
    let both = [vendor, product.clone()];
    let both: Vec<String> = both.into_iter().flatten().collect();
    Platform {
        virtualisation,
        container: Some(files.is_there(".dockerenv") || files.is_there("run/.containerenv")),
        cloud: cloud.filter(|name| name != "none"),
        cloud_type: product.filter(|_| amazon),
        product: (!both.is_empty()).then(|| both.join(" ")),
        firmware: dmi("bios_version"),
    }
}

/// The lowest limits of our own group and of those above it.
fn cgroup(files: Files<'_>) -> Option<Cgroup> {
    let own = files.text("proc/self/cgroup")?;
    let of = |controller: &str| {
        own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (names, path) = rest.split_once(':')?;
            let mine = names.split(',').any(|name| name == controller);
            mine.then(|| path.trim_matches('/').to_owned())
        })
    };
    let base = "sys/fs/cgroup";
    let v2 = files.is_there(&format!("{base}/cgroup.controllers"));
    let lowest = |tree: &str, path: &str, read: &dyn Fn(&str) -> Option<f64>| {
        let mut folder = PathBuf::from(path);
        let mut least: Option<f64> = None;
        loop {
            let at = Path::new(base).join(tree).join(&folder);
            if let Some(limit) = read(&at.to_string_lossy()) {
                least = Some(least.map_or(limit, |least| least.min(limit)));
            }
            if !folder.pop() {
                return least;
            }
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "limits of real machines")]
    let number = |path: String| {
        let number = files.number(&path).filter(|n| *n < UNLIMITED);
        number.map(|n| n as f64)
    };
    let (memory, cpus) = if v2 {
        let path = of("").unwrap_or_default();
        let quota = |at: &str| {
            let text = files.text(&format!("{at}/cpu.max"))?;
            let (quota, period) = text.split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
        };
        (
            lowest("", &path, &|at| number(format!("{at}/memory.max"))),
            lowest("", &path, &quota),
        )
    } else {
        let at = of("memory").unwrap_or_default();
        let memory = lowest("memory", &at, &|at| {
            number(format!("{at}/memory.limit_in_bytes"))
        });
        let at = of("cpu").unwrap_or_default();
        let quota = |at: &str| {
            let quota = number(format!("{at}/cpu.cfs_quota_us"))?;
            Some(quota / number(format!("{at}/cpu.cfs_period_us"))?)
        };
        (memory, lowest("cpu", &at, &quota))
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "was a whole number"
    )]
    Some(Cgroup {
        version: if v2 { 2 } else { 1 },
        memory: memory.map(|bytes| Bytes(bytes as u64)),
        cpus,
    })
}

fn limits(files: Files<'_>) -> BTreeMap<String, Limit> {
    let names = [
        ("Max open files", "nofile"),
        ("Max locked memory", "memlock"),
        ("Max processes", "nproc"),
        ("Max address space", "as"),
    ];
    let text = files.text("proc/self/limits").unwrap_or_default();
    let found = names.iter().filter_map(|(line, name)| {
        let rest = text.lines().find_map(|l| l.strip_prefix(line))?;
        let mut values = rest.split_whitespace().map(str::to_owned);
        let (soft, hard) = (values.next()?, values.next()?);
        Some(((*name).to_owned(), Limit { soft, hard }))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &str = include_str!("expected.toml");

    /// A false root with these files.
    fn root(list: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in list {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn what_is_not_there_is_not_invented() {
        let dir = root(&[]);
        let machine = snapshot(dir.path(), &[]);
        let mut nothing = Snapshot::of(0, Bytes(0));
        nothing.platform.container = Some(false);
        assert_eq!(machine, nothing);
    }

    #[test]
    fn two_sockets_with_their_nodes_threads_disks_and_addresses() {
        let mut files: Vec<(String, String)> = Vec::new();
        let mut add = |path: &str, text: &str| files.push((path.to_owned(), text.to_owned()));
        let cpu = "sys/devices/system/cpu";
        add(&format!("{cpu}/online"), "0-7\n");
        add(&format!("{cpu}/smt/active"), "1\n");
        for k in 0..8_u32 {
            let at = format!("{cpu}/cpu{k}");
            let core = k % 4;
            add(
                &format!("{at}/topology/thread_siblings_list"),
                &format!("{core},{}", core + 4),
            );
            add(
                &format!("{at}/topology/physical_package_id"),
                &(core / 2).to_string(),
            );
            add(
                &format!("{at}/cpufreq/scaling_governor"),
                if k == 3 { "powersave" } else { "performance" },
            );
            add(&format!("{at}/power/energy_perf_bias"), "6");
        }
        for (id, list) in [(0, "0-1,4-5"), (1, "2-3,6-7"), (2, "")] {
            let at = format!("sys/devices/system/node/node{id}");
            add(&format!("{at}/cpulist"), &format!("{list}\n"));
            add(&format!("{at}/distance"), "10 21 17\n");
            let meminfo =
                format!("Node {id} MemTotal:       1000 kB\nNode {id} HugePages_Total:     {id}\n");
            add(&format!("{at}/meminfo"), &meminfo);
        }
        add(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Big\nflags\t\t: fpu ht\n",
        );
        add(
            "proc/meminfo",
            "MemTotal:       3000 kB\nSwapTotal:      0 kB\nHugePages_Total:   3\nHugepagesize:       2048 kB\n",
        );
        add("proc/sys/vm/zone_reclaim_mode", "0\n");
        add("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
        add(
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 1048576              files\nMax locked memory         unlimited            unlimited            bytes\n",
        );
        add("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-5\n");
        add("proc/self/cgroup", "0::/a/b\n");
        add("sys/fs/cgroup/cgroup.controllers", "cpu memory");
        add("sys/fs/cgroup/a/memory.max", "2000000\n");
        add("sys/fs/cgroup/a/b/memory.max", "max\n");
        add("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
        add(
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        );
        add(
            "sys/kernel/mm/transparent_hugepage/defrag",
            "always defer defer+madvise madvise [never]\n",
        );
        for (disk, number, sectors) in [
            ("nvme0n1", "259:0", "8"),
            ("nvme10n1", "259:9", "16"),
            ("loop0", "7:0", "8"),
            ("dm-0", "253:0", "8"),
        ] {
            let at = format!("sys/block/{disk}");
            add(&format!("{at}/dev"), number);
            add(&format!("{at}/size"), sectors);
            add(&format!("{at}/queue/scheduler"), "[none] mq-deadline\n");
            add(&format!("{at}/queue/rotational"), "0\n");
            add(&format!("{at}/queue/read_ahead_kb"), "128\n");
            add(&format!("{at}/device/numa_node"), "1\n");
        }
        add("sys/block/nvme0n1/nvme0n1p2/dev", "259:2");
        add("sys/block/nvme0n1/nvme0n1p2/holders/dm-0/x", "");
        add(
            "proc/self/mountinfo",
            "1 0 253:0 / / rw,noatime - ext4 /dev/mapper/root rw,discard\n2 0 253:0 /x /y rw - ext4 /dev/mapper/root rw\n3 0 259:9 / /mnt/nvme10 rw - xfs /dev/nvme10n1 rw\n",
        );
        add("sys/class/net/eno1/speed", "25000\n");
        add("sys/class/net/eno1/mtu", "9000\n");
        add("sys/class/net/eno1/operstate", "up\n");
        add("sys/class/net/eno1/device/numa_node", "-1\n");
        add("sys/class/net/docker0/mtu", "1500\n");
        add("sys/class/net/lo/mtu", "65536\n");
        add(
            "proc/net/route",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\neno1\t00000000\t0100000A\t3\t0\t0\t0\t00000000\t0\t0\t0\neno1\t0000000A\t00000000\t1\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
        );
        add(
            "proc/net/fib_trie",
            "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.7\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n",
        );
        let list: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, &**t)).collect();
        let dir = root(&list);
        let machine = snapshot(dir.path(), &[]);
        assert_eq!(machine.machine().cores, 6);
        assert_eq!(machine.machine().memory, Bytes(2_000_000));
        assert_eq!(machine.to_toml().unwrap(), EXPECTED);
    }

    #[test]
    fn this_machine_reads_back_from_what_is_saved() {
        let machine = snapshot(Path::new("/"), &[]);
        assert!(machine.processors.logical > 0 && machine.memory.total > Bytes(0));
        assert!(machine.kernel.release.is_some());
        let again = Snapshot::parse(&machine.to_toml().unwrap()).unwrap();
        assert_eq!(again, machine);
    }
}
