//! Machines in words, in files and in the list of known ones.
//! Refuses an error without its line or its cure.

use super::*;
use crate::units::Bytes;
use proptest::prelude::*;

#[test]
fn lists_of_processors_are_the_kernels() {
    for text in ["", "0", "0-31,64-95", "1,3,5-6"] {
        assert_eq!(text.parse::<Cpus>().unwrap().to_string(), text);
    }
    for wrong in ["3-1", "1,1", "a", "0-9999999", "1-2-3"] {
        assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
    }
}

#[test]
fn a_description_becomes_a_machine() {
    let machine = parse("2 sockets × 64 cores, SMT, 6 NUMA nodes, 1.5 TB, 8 NVMe").unwrap();
    assert_eq!(machine.processors.logical, 256);
    assert_eq!(machine.memory.total, Bytes::mib(1536 * 1024));
    assert_eq!(machine.clusters_per_socket(), Some(3));
    let shares: Vec<u32> = machine.numa.iter().map(|node| node.cpus.len()).collect();
    assert_eq!(shares, [44, 42, 42, 44, 42, 42]);
    assert_eq!(machine.numa[0].cpus.to_string(), "0-21,128-149");
    assert_eq!(machine.disks.len(), 8);
    assert_eq!(
        describe(&machine),
        "2 sockets × 64 cores, SMT, 6 NUMA nodes, 1536 GiB, 8 NVMe"
    );
    let x =
        parse("2x64 cores, HT, SNC3, 1536GiB RAM, 8 x 3.5TB nvme, 2 x 25 Gbit, JDK 17").unwrap();
    assert_eq!(x.numa, machine.numa);
    assert_eq!(x.disks[7].size, Some(Bytes(3_848_290_697_216)));
    assert_eq!(x.networks[1].speed_mbit, Some(25_000));
    assert_eq!(x.jdks[0].feature, 17);
    assert_eq!(
        parse("4 vCPUs, 16 GB, arm64").unwrap().arch.as_deref(),
        Some("aarch64")
    );
}

#[test]
fn what_a_description_lacks_is_said_with_its_cure() {
    let said = |text: &str| {
        let error = parse(text).unwrap_err();
        format!("{error}: {}", error.hint())
    };
    let list = [
        "2 sokets x 64 cores, 1 TB",
        "64 GB",
        "8 cores",
        "2 sockets, 64 cores, 64 GB",
        "7 processors, SMT, 8 GB",
        "2 sockets x 8 cores, 3 NUMA nodes, 8 GB",
        "8 cores, 8 processors, 8 GB",
        "8 cores, 8 GB, 2 NVNe",
        "8 cores, 8 GB, blue",
        "8000 x 8000 cores, 8 GB",
    ];
    insta::assert_snapshot!(list.map(said).join("\n"), @r#"
    "2 sokets x 64 cores" does not describe a machine: did you mean sockets?
    the description does not state how many processors there are: add it, such as: 2 sockets x 64 cores, or 16 processors
    the description does not state how much memory there is: add it, such as: 64 GB
    the cores may be those of one socket or of all 2: write the cores of each socket, such as: 2 sockets x 64 cores
    7 processors are not a whole number of cores: 2 threads each, sockets: 1: write the cores of each socket, such as: 2 sockets x 64 cores, SMT
    3 NUMA nodes in 2 sockets with 16 cores: each socket has equally many NUMA nodes, and each node a core
    the processors are counted twice: write either cores or processors
    "2 NVNe" does not describe a machine: did you mean NVMe?
    "blue" does not describe a machine: write parts such as: 2 sockets x 64 cores, SMT, 6 NUMA nodes, 1.5 TB, 8 x 3.5 TB NVMe, 25 Gbit, aarch64, JDK 17
    64000000 cores are more than any machine has: write the cores of each socket, such as: 2 sockets x 64 cores
    "#);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let said = |text: &str| {
        let error = Snapshot::parse(text).unwrap_err();
        format!("{error}; {}", error.hint.as_deref().unwrap_or_default())
    };
    let good = "format = \"helenus.machine/1\"\n[processors]\nlogical = 2\n[memory]\ntotal = 9\n";
    assert!(Snapshot::parse(good).is_ok());
    let list = [
        "[processors]\nlogical = 2".to_owned(),
        good.replace("/1", "/2"),
        good.replace("machine", "ledger"),
        good.replace("total", "totl"),
        good.replace("= 2", "= 0"),
        good.replace("= 2", "= \"two\""),
        format!("{good}[[numa]]\nid = 0\ncpus = \"0-1\"\n[[numa]]\nid = 1\ncpus = \"1\"\n"),
        format!("{good}[[numa]]\nid = 0\ncpus = \"2-1\"\n"),
    ];
    insta::assert_snapshot!(list.map(|text| said(&text)).join("\n"), @r#"
    line 1: no format line: expected helenus.machine/1; `helenus machine --save FILE` writes one
    line 1: "helenus.machine/2" was written by a newer Helenus (this one reads up to helenus.machine/1); `helenus machine --save FILE` writes one
    line 1: expected the format helenus.machine/N, found "helenus.ledger/1"; `helenus machine --save FILE` writes one
    line 5: unknown key totl; did you mean total?
    line 1: a machine has at least one processor, and memory; 
    line 3: invalid type: string "two", expected u32; 
    line 1: processor 1 is in two NUMA nodes; 
    line 8: "2-1" is not a list of processors: write numbers and ranges, such as 0-31,64-95;
    "#);
}

#[test]
fn known_machines_are_sound_and_say_where_they_come_from() {
    for (name, text) in KNOWN {
        let machine = known(name).unwrap().unwrap();
        assert_eq!(machine.name.as_deref(), Some(*name));
        assert!(
            text.starts_with("# ") && text.contains("# Source"),
            "{name}"
        );
        let of_nodes: u32 = machine.numa.iter().map(|node| node.cpus.len()).sum();
        assert_eq!(of_nodes, machine.processors.logical, "{name}");
        let again = Snapshot::parse(&machine.to_toml().unwrap()).unwrap();
        assert_eq!(again, machine, "{name}");
    }
}

proptest! {
    #[test]
    fn a_described_machine_reads_back(
        sockets in 1_u32..=4, each in 1_u32..=128, clusters in 1_u32..=4, smt: bool, gib in 1_u64..=4096,
        nvme in 0_u32..12,
    ) {
        prop_assume!(clusters <= each);
        let smt = if smt { "SMT" } else { "no SMT" };
        let text = format!("{sockets} sockets x {each} cores, {smt}, SNC{clusters}, {gib} GB");
        let mut machine = parse(&text).unwrap();
        if nvme > 0 {
            machine = parse(&format!("{text}, {nvme} NVMe")).unwrap();
        }
        prop_assert_eq!(&parse(&describe(&machine)).unwrap(), &machine);
        prop_assert_eq!(Snapshot::parse(&machine.to_toml().unwrap()).unwrap(), machine);
    }
}
