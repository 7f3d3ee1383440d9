//! Plans of machines: what the guide says, and laws over random ones.
//! Refuses a measured figure that its page does not have.

use super::*;
use crate::machine::{KNOWN, known, parse};
use proptest::prelude::*;

const GIB: u64 = 1 << 30;

fn planned(machine: &Snapshot, purpose: Purpose) -> Result<MachinePlan, SizingError> {
    plan(&Sizing {
        machine,
        release: Release::newest(),
        purpose,
        wish: Wish::default(),
        instances: None,
    })
}

fn of(text: &str) -> MachinePlan {
    planned(&parse(text).unwrap(), Purpose::Throughput).unwrap()
}

fn cpus(plan: &MachinePlan) -> Vec<u32> {
    plan.instances.iter().map(|i| i.cpus.len()).collect()
}

#[test]
fn two_sockets_with_128_processors_are_four_instances_with_a_disk_and_an_address_each() {
    for nodes in ["", ", 4 NUMA nodes"] {
        let plan = of(&format!(
            "2 sockets x 32 cores, SMT{nodes}, 512 GB, 4 NVMe, 25 Gbit"
        ));
        assert_eq!(cpus(&plan), [32; 4]);
        let disks: Vec<&str> = plan.instances.iter().map(|i| &*i.disks[0]).collect();
        assert_eq!(disks, ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"]);
        let ports: Vec<u16> = plan.instances.iter().map(|i| i.jmx_port).collect();
        assert_eq!(ports, [7199, 7299, 7399, 7499]);
        let added = plan.instances.iter().filter(|i| i.add_address).count();
        assert_eq!(added, 3);
        let heaps: Vec<u64> = plan.instances.iter().map(|i| i.heap.0 / GIB).collect();
        assert_eq!(heaps, [31; 4]);
        assert_eq!(plan.instances[0].size.as_deref(), Some("large"));
        assert_eq!(plan.instances[0].set["concurrent_reads"], 96);
        assert_eq!(plan.instances[0].set["concurrent_writes"], 32);
        assert_eq!(plan.cautions, Vec::<String>::new());
    }
    let pinned = of("2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB");
    assert_eq!(pinned.instances[1].cpus.to_string(), "16-31,80-95");
    assert_eq!(pinned.instances[1].numa, [1]);
}

#[test]
fn instances_that_are_asked_for_lie_in_a_numa_node_each_where_there_are_enough() {
    let machine = parse("2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB").unwrap();
    let of = |instances| {
        let plan = plan(&Sizing {
            machine: &machine,
            release: Release::newest(),
            purpose: Purpose::Throughput,
            wish: Wish::default(),
            instances: Some(instances),
        });
        plan.unwrap().instances
    };
    let numa =
        |instances: u32| -> Vec<Vec<u32>> { of(instances).into_iter().map(|i| i.numa).collect() };
    assert_eq!(numa(4), [[0], [1], [2], [3]]);
    assert_eq!(numa(2), [[0, 1], [2, 3]]);
    assert_eq!(numa(1), [[0, 1, 2, 3]]);
    assert_eq!(numa(6), [[0], [0], [1], [1], [2], [3]]);
    let six: Vec<u32> = of(6).iter().map(|i| i.cpus.len()).collect();
    assert_eq!(six, [16, 16, 16, 16, 32, 32]);
    let most = of(64);
    assert!(most.iter().all(|i| i.cpus.len() == 2 && i.numa.len() == 1));
    let sizing = Sizing {
        machine: &machine,
        release: Release::newest(),
        purpose: Purpose::Throughput,
        wish: Wish::default(),
        instances: Some(65),
    };
    let error = plan(&sizing).unwrap_err();
    assert_eq!(
        error.to_string(),
        "65 instances on 64 cores: each needs at least one"
    );
    // Small nodes, too: who says how many has decided.
    let small = parse("1 socket x 4 cores, 4 NUMA nodes, 16 GB").unwrap();
    let plan = plan(&Sizing {
        machine: &small,
        instances: Some(4),
        ..sizing
    })
    .unwrap();
    assert_eq!(plan.instances[3].numa, [3]);
}

#[test]
fn an_instance_is_bound_where_the_machine_has_what_it_wants() {
    let machine = parse("2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB").unwrap();
    let plan = planned(&machine, Purpose::Throughput).unwrap();
    let pin = plan.instances[1].pin(&machine).unwrap().unwrap();
    assert_eq!(
        (pin.cpus.to_string().as_str(), &pin.numa[..]),
        ("16-31,80-95", &[1][..])
    );
    let one_node = parse("1 socket x 85 cores, 512 GB").unwrap();
    let two = planned(&one_node, Purpose::Throughput).unwrap();
    assert_eq!(
        two.instances[0].pin(&one_node).unwrap().unwrap().numa,
        [0_u32; 0]
    );
    let laptop = parse("6 cores, 16 GB").unwrap();
    let whole = planned(&laptop, Purpose::Throughput).unwrap();
    assert_eq!(
        whole.instances[0].pin(&laptop),
        Ok(None),
        "it has everything"
    );
    let error = plan.instances[1].pin(&laptop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "instance2 is assigned to processors 16-31,80-95; only 0-5 are available"
    );
    let far = plan.instances[1].pin(&parse("1 socket x 128 cores, 64 GB").unwrap());
    assert!(
        matches!(far, Err(PinError::Node { node: 1, .. })),
        "{far:?}"
    );
}

#[test]
fn a_numa_node_of_85_processors_holds_two_instances() {
    let plan = of("1 socket x 85 cores, 512 GB, 2 NVMe");
    assert_eq!(cpus(&plan), [43, 42]);
    assert_eq!(plan.instances[1].numa, [0]);
}

#[test]
fn the_heap_keeps_the_rules() {
    for (memory, heap) in [
        (32, 8),
        (64, 16),
        (124, 31),
        (128, 31),
        (152, 31),
        (156, 39),
        (256, 64),
        (1024, 64),
    ] {
        assert_eq!(heap_for(Bytes(memory * GIB)), Bytes(heap * GIB), "{memory}");
    }
    let blank = |name: &str, gib: u64| {
        let release = Release::find(name).unwrap();
        blank_heap(release, Bytes(gib * GIB)).0.as_mib()
    };
    assert_eq!((blank("5.0", 16), blank("5.0", 128)), (8192, 31_744));
    assert_eq!((blank("4.1", 16), blank("4.1", 128)), (4096, 8192));
}

#[test]
fn a_laptop_holds_what_the_guide_says() {
    let chosen = |gib: u64| budget(Bytes(gib * GIB)).chosen.unwrap_or_default();
    assert_eq!(chosen(1), "one tiny node");
    assert_eq!(chosen(2), "one node and a gateway");
    assert_eq!(chosen(4), "whole stack, one node");
    assert_eq!(chosen(8), "whole stack, three nodes");
    assert_eq!(chosen(16), "whole stack, three nodes, larger heaps");
    let four = budget(Bytes(4 * GIB));
    assert!(!four.stacks[1].fits && four.stacks[2].fits);
    // Without Stargate, Grafana and Kubernetes all three nodes would fit.
    assert_eq!(four.stacks[1].measured, Some(Bytes::mib(1962)));
    assert_eq!(four.leave_out[0], "metrics and dashboards");
    assert_eq!(budget(Bytes(GIB / 8)).chosen, None);
    assert!(of("8 cores, 16 GB").stack.is_some() && of("8 cores, 64 GB").stack.is_none());
}

#[test]
fn data_take_670_bytes_an_entry_and_room_for_compaction() {
    let machine = parse("2 sockets x 32 cores, SMT, 512 GB, 4 x 1 TB NVMe").unwrap();
    let plan_of = |rows: u64, rf: u32| {
        let wish = Wish {
            rows: Some(rows),
            rf,
            ..Wish::default()
        };
        let sizing = Sizing {
            machine: &machine,
            release: Release::newest(),
            purpose: Purpose::Throughput,
            wish,
            instances: None,
        };
        plan(&sizing).unwrap()
    };
    let small = plan_of(600_000_000, 1);
    let line = small.lines.iter().find(|line| line.what == "data").unwrap();
    assert!(line.value.ends_with("670 B, 1 replica"), "{}", line.value);
    let data = small.data.unwrap();
    assert_eq!(data.total, Bytes(402_000_000_000));
    assert_eq!(data.per_instance, Bytes(100_500_000_000));
    assert_eq!(
        (data.wanted, data.fits),
        (Bytes(201_000_000_000), Some(true))
    );
    let large = plan_of(6_000_000_000, 3);
    assert_eq!(large.data.as_ref().unwrap().fits, Some(false));
    assert!(
        large
            .cautions
            .iter()
            .any(|c| c.contains("more than its disks have"))
    );
    assert!(large.cautions.iter().any(|c| c.contains("fewer machines")));
}

#[test]
fn small_numa_nodes_are_joined_and_a_quota_counts() {
    let plan = of("8 sockets x 4 cores, 256 GB");
    assert_eq!(plan.instances[0].numa, [0, 1]);
    assert_eq!(cpus(&plan), [8; 4]);
    let mut machine = parse("64 cores, 256 GB").unwrap();
    machine.cgroup = Some(crate::machine::Cgroup {
        version: 2,
        memory: Some(Bytes(16 * GIB)),
        cpus: Some(2.5),
    });
    let plan = planned(&machine, Purpose::Throughput).unwrap();
    assert_eq!(
        (cpus(&plan), plan.instances[0].memory),
        (vec![2], Bytes(16 * GIB))
    );
    machine.processors.usable = Some("70".parse().unwrap());
    let none = planned(&machine, Purpose::Throughput).unwrap_err();
    assert_eq!(none, SizingError::NoProcessors);
}

#[test]
fn density_makes_as_many_as_the_smallest_size_allows() {
    let machine = parse("2 sockets x 32 cores, SMT, 512 GB, 4 NVMe").unwrap();
    let plan = planned(&machine, Purpose::Density).unwrap();
    assert_eq!(cpus(&plan), [8; 16]);
    assert!(
        plan.cautions
            .iter()
            .any(|c| c.contains("16 instances share 4 of the disks"))
    );
    let poor = parse("2 sockets x 32 cores, SMT, 128 GB").unwrap();
    assert_eq!(cpus(&planned(&poor, Purpose::Density).unwrap()), [32; 4]);
}

#[test]
fn the_disk_with_the_system_is_left_alone_and_near_disks_come_first() {
    let mut machine =
        parse("2 sockets x 8 cores, 128 GB, 3 x 2 TB NVMe, 1 TB NVMe, 2 HDD").unwrap();
    let root = crate::machine::Mount {
        point: "/".into(),
        file_system: "ext4".into(),
        options: Vec::new(),
    };
    machine.disks[0].mounts = vec![root];
    machine.disks[1].numa = Some(1);
    machine.disks[2].numa = Some(0);
    let plan = planned(&machine, Purpose::Throughput).unwrap();
    let disks: Vec<&Vec<String>> = plan.instances.iter().map(|i| &i.disks).collect();
    assert_eq!(disks, [&["nvme2n1"], &["nvme1n1"]]);
}

#[test]
fn too_little_memory_is_refused_and_older_releases_get_their_own_keys() {
    let tiny = parse("1 core, 200 MB").unwrap();
    let error = planned(&tiny, Purpose::Throughput).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is too little for a node of Cassandra"),
        "{error}"
    );
    let machine = known("xeon-8592").unwrap().unwrap();
    let sizing = Sizing {
        machine: &machine,
        release: Release::find("4.0").unwrap(),
        purpose: Purpose::Throughput,
        wish: Wish::default(),
        instances: None,
    };
    let old = plan(&sizing).unwrap();
    assert_eq!((old.jdk, old.jdk_found), (11, Some(true)));
    assert_eq!(
        old.instances[0].set["compaction_throughput_mb_per_sec"],
        128
    );
    assert!(!old.instances[0].jvm.iter().any(|f| f.contains("MaxDirect")));
}

#[test]
fn what_is_said_to_be_measured_stands_in_its_page() {
    let page = include_str!("../../../../docs/experiments/xeon-guide.md");
    for tips::Measured {
        tip,
        change,
        interval,
        result,
    } in tips::ALL
    {
        let tip = tip.replace('_', "\\_");
        let row = page.lines().find(|l| l.starts_with(&format!("| {tip} |")));
        let row = row.unwrap_or_else(|| panic!("{tip} is not in the page"));
        let rest = format!("| {change} | {interval} | {result} |");
        assert!(row.contains(&rest), "{row}\nsaid: {rest}");
    }
}

#[test]
fn every_line_has_a_reason_and_a_source() {
    for (name, _) in KNOWN {
        let machine = known(name).unwrap().unwrap();
        for purpose in [Purpose::Throughput, Purpose::Latency, Purpose::Density] {
            let plan = planned(&machine, purpose).unwrap();
            for line in &plan.lines {
                assert!(line.why.len() > 10 && line.source.len() > 7, "{line:?}");
            }
            assert_eq!(MachinePlan::parse(&plan.to_toml().unwrap()).unwrap(), plan);
        }
    }
}

proptest! {
    #[test]
    fn a_plan_never_takes_more_than_there_is(
        sockets in 1_u32..=8, each in 1_u32..=160, clusters in 1_u32..=4, smt: bool, mib in 600_u64..=4_000_000,
        nvme in 0_u32..12, density: bool,
    ) {
        prop_assume!(clusters <= each);
        let smt = if smt { "SMT" } else { "no SMT" };
        let disks = if nvme > 0 { format!(", {nvme} NVMe") } else { String::new() };
        let machine = parse(&format!(
            "{sockets} sockets x {each} cores, {smt}, SNC{clusters}, {mib} MB{disks}"
        )).unwrap();
        let purpose = if density { Purpose::Density } else { Purpose::Latency };
        let Ok(plan) = planned(&machine, purpose) else {
            // Only a machine with too little memory for its instances is refused.
            prop_assert!(mib / u64::from(machine.processors.logical.div_ceil(8)) < 600);
            return Ok(());
        };
        let memory: u64 = plan.instances.iter().map(|i| i.memory.0).sum();
        prop_assert!(memory <= machine.memory.total.0);
        let mut seen = std::collections::BTreeSet::new();
        for instance in &plan.instances {
            let taken = instance.heap + instance.off_heap + instance.page_cache;
            prop_assert_eq!(taken, instance.memory);
            let heap = instance.heap;
            prop_assert!(heap <= HEAP_MOST && !(heap > HEAP_GAP.0 && heap <= HEAP_GAP.1));
            prop_assert!(heap.0 <= instance.memory.0 / 2);
            prop_assert!(instance.cpus.len() <= CPUS_MOST && !instance.cpus.is_empty());
            for cpu in instance.cpus.iter() {
                prop_assert!(seen.insert(cpu), "processor {} twice", cpu);
            }
            let nodes = machine.numa.iter().filter(|n| instance.numa.contains(&n.id));
            let all: u32 = nodes.clone().map(|n| n.cpus.both(&instance.cpus).len()).sum();
            prop_assert_eq!(all, instance.cpus.len(), "outside of its nodes");
            if instance.numa.len() > 1 {
                prop_assert!(nodes.clone().all(|n| n.cpus.len() < CPUS_LEAST));
            }
            // Both threads of a core lie together.
            for node in nodes {
                let second = node.second_threads.clone().unwrap_or_default();
                let split = second.iter().filter(|cpu| {
                    let first = cpu - machine.processors.logical / 2;
                    instance.cpus.contains(*cpu) != instance.cpus.contains(first)
                });
                prop_assert_eq!(split.count(), 0);
            }
        }
        prop_assert_eq!(seen.len(), machine.processors.logical as usize, "all are used");
    }
}
