//! Items held against the known machines and against planted values.

use super::*;
use crate::machine::{KNOWN, known};

fn machine(name: &str) -> Snapshot {
    known(name).expect("known").expect("sound")
}

#[test]
fn every_item_is_found_where_it_is_planted() {
    let toml = r#"
        format = "helenus.machine/1"
        arch = "x86_64"
        [processors]
        logical = 64
        cores = 64
        sockets = 1
        smt = false
        governors = ["performance", "powersave"]
        energy_bias = ["6"]
        [memory]
        total = 274877906944
        swap = 8589934592
        defrag = "madvise"
        [kernel]
        clock_source = "hpet"
        clock_sources = ["tsc", "hpet"]
        clock_kept = false
        [kernel.sysctl]
        "vm.swappiness" = "60"
        "vm.zone_reclaim_mode" = "1"
        "vm.max_map_count" = "65530"
        "net.ipv4.tcp_keepalive_time" = "7200"
        "net.ipv4.tcp_keepalive_probes" = "9"
        "net.ipv4.tcp_keepalive_intvl" = "75"
        "net.core.rmem_max" = "212992"
        "net.core.wmem_max" = "212992"
        "net.core.rmem_default" = "212992"
        "net.core.wmem_default" = "212992"
        "net.core.optmem_max" = "20480"
        "net.ipv4.tcp_rmem" = "4096 131072 6291456"
        "net.ipv4.tcp_wmem" = "4096 16384 4194304"
        [platform]
        virtualisation = "none"
        [limits.nofile]
        soft = "1024"
        hard = "1048576"
        [limits.memlock]
        soft = "65536"
        hard = "65536"
        [limits.nproc]
        soft = "1024"
        hard = "unlimited"
        [[numa]]
        id = 0
        cpus = "0-63"
        [[disks]]
        name = "nvme0n1"
        rotational = true
        scheduler = "mq-deadline"
        schedulers = ["none", "mq-deadline"]
        read_ahead_kib = 128
        [[disks.mounts]]
        point = "/data"
        file_system = "btrfs"
        options = ["rw", "strictatime"]
        [[networks]]
        name = "eno1"
        speed_mbit = 1000
        up = true
    "#;
    let bad = Snapshot::parse(toml).expect("a snapshot");
    let found: Vec<&str> = checks(&bad)
        .iter()
        .filter(|check| !check.good)
        .map(|check| check.item)
        .collect();
    let lacking: Vec<&str> = ITEMS
        .iter()
        .map(|item| item.name)
        .filter(|name| !found.contains(name))
        .collect();
    assert_eq!(lacking, [""; 0]);
    assert!(ITEMS.len() >= 25);
    // The most severe come first.
    assert!(checks(&bad).is_sorted_by_key(|check| check.severity));
}

#[test]
fn what_is_not_known_is_no_finding() {
    let little = Snapshot::of(4, crate::units::Bytes(8 << 30));
    assert_eq!(checks(&little), []);
}

#[test]
fn larger_values_and_choices_that_do_not_exist_are_fine() {
    let mut machine = Snapshot::of(4, crate::units::Bytes(8 << 30));
    let mut set = |name: &str, value: &str| {
        let value = value.to_owned();
        machine.kernel.sysctl.insert(name.to_owned(), value);
    };
    set("net.core.rmem_max", "67108864");
    set("net.ipv4.tcp_rmem", "4096 131072 33554432");
    set("net.ipv4.tcp_keepalive_time", "30");
    machine.kernel.clock_source = Some("arch_sys_counter".to_owned());
    machine.kernel.clock_sources = vec!["arch_sys_counter".to_owned()];
    let checks = checks(&machine);
    assert_eq!(checks.len(), 4);
    assert!(checks.iter().all(|check| check.good), "{checks:?}");
}

/// What the guide's own script sets, but for the addresses, which the plan has.
#[test]
fn the_script_sets_what_the_guide_s_script_sets() {
    let items = named(&[]).expect("all");
    let text = script(&machine("xeon-6767p"), &items);
    for line in [
        "ulimit -n 1048576",
        "ulimit -l unlimited",
        "ulimit -u 32768",
        "put '0' /proc/sys/vm/zone_reclaim_mode",
        "swapoff -a || echo",
        "put 'never' /sys/kernel/mm/transparent_hugepage/defrag",
        "put '60' /proc/sys/net/ipv4/tcp_keepalive_time",
        "put '3' /proc/sys/net/ipv4/tcp_keepalive_probes",
        "put '10' /proc/sys/net/ipv4/tcp_keepalive_intvl",
        "put '16777216' /proc/sys/net/core/rmem_max",
        "put '16777216' /proc/sys/net/core/wmem_max",
        "put '16777216' /proc/sys/net/core/rmem_default",
        "put '16777216' /proc/sys/net/core/wmem_default",
        "put '40960' /proc/sys/net/core/optmem_max",
        "put '4096 87380 16777216' /proc/sys/net/ipv4/tcp_rmem",
        "put '4096 65536 16777216' /proc/sys/net/ipv4/tcp_wmem",
        "put 'performance' /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        "put '0' /sys/devices/system/cpu/cpu*/power/energy_perf_bias",
        "put 'none' /sys/block/nvme1n1/queue/scheduler",
        "put '0' /sys/block/nvme1n1/queue/rotational",
        "put '8' /sys/block/nvme1n1/queue/read_ahead_kb",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn scripts_differ_by_the_machines_disks_alone() {
    let items = named(&[]).expect("all");
    let no_disks = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("/sys/block/"));
        lines.map(str::to_owned).collect()
    };
    let first = no_disks(&script(&machine("xeon-8592"), &items));
    for (name, _) in KNOWN {
        assert_eq!(no_disks(&script(&machine(name), &items)), first, "{name}");
    }
}

#[test]
fn an_unknown_item_is_refused_with_the_nearest() {
    let wrong = named(&["swapiness".to_owned()]).expect_err("none");
    let expected = ("no item swapiness", "did you mean swappiness?");
    assert_eq!((wrong.0.as_str(), wrong.1.as_str()), expected);
}
