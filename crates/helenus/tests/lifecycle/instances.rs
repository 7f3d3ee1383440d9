//! Instances of a plan, each on its processors and with the memory of its NUMA node, in a machine of QEMU's with four nodes.
//! Refuses to believe the plan: the kernel says where threads and pages are.

use crate::lab::{TestLab, look, machine, not_run};
use std::collections::BTreeMap;

/// Least share of a process's anonymous memory on its NUMA node.
const LEAST: f64 = 0.95;

/// Does it in a machine with four NUMA nodes, by the test of that name.
fn in_a_machine(test: &str, what: impl FnOnce()) {
    if machine::is_inside() {
        return what();
    }
    match machine::run(test, &[], 4) {
        Ok(end) => assert!(end.passed, "{}", end.console),
        Err(lacks) => not_run(&format!("NUMA nodes: {}", lacks.what), lacks.cure),
    }
}

fn read(pid: i32, file: &str) -> String {
    fs_err::read_to_string(format!("/proc/{pid}/{file}")).expect("the process lives")
}

/// Processors that each thread of a process may run on.
fn processors(pid: i32) -> Vec<String> {
    let threads = look::entries(format!("/proc/{pid}/task").as_ref());
    let list = |thread: &std::path::PathBuf| {
        let status = fs_err::read_to_string(thread.join("status")).ok()?;
        let line = status
            .lines()
            .find(|l| l.starts_with("Cpus_allowed_list:"))?;
        line.split_whitespace().nth(1).map(str::to_owned)
    };
    threads.iter().filter_map(list).collect()
}

/// Anonymous pages of a process by NUMA node.
fn pages(pid: i32) -> BTreeMap<u32, u64> {
    let mut pages = BTreeMap::new();
    for line in read(pid, "numa_maps").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.iter().any(|word| word.starts_with("file=")) {
            continue;
        }
        for word in words {
            let count = word.strip_prefix('N').and_then(|rest| rest.split_once('='));
            if let Some((node, count)) = count {
                let node: u32 = node.parse().expect("a node");
                *pages.entry(node).or_default() += count.parse::<u64>().expect("a count");
            }
        }
    }
    pages
}

#[test]
fn each_has_its_processors_and_the_memory_of_its_numa_node() {
    in_a_machine(
        "instances::each_has_its_processors_and_the_memory_of_its_numa_node",
        || {
            let lab = TestLab::fake("ready");
            let read_machine = lab.json(&["machine"]);
            assert_eq!(
                read_machine["numa"].as_array().map(Vec::len),
                Some(4),
                "{read_machine}"
            );
            let up = [
                "up",
                "big",
                "--instances",
                "4",
                "--preset",
                "tiny",
                "--heap",
                "64M",
            ];
            lab.done(&up);
            let listed = lab.json(&["list"]);
            let nodes = listed["clusters"][0]["nodes"].as_array().expect("nodes");
            assert_eq!(nodes.len(), 4);
            for (k, node) in (0_u32..).zip(nodes) {
                assert_eq!(node["pin"]["cpus"], k.to_string(), "{node}");
                assert_eq!(node["pin"]["numa"][0], k, "{node}");
                let pid = node["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
                let pid = pid.expect("it runs");
                assert!(processors(pid).iter().all(|list| *list == k.to_string()));
                let pages = pages(pid);
                let (own, all) = (
                    pages.get(&k).copied().unwrap_or(0),
                    pages.values().sum::<u64>(),
                );
                assert!(
                    all > 0 && own as f64 >= LEAST * all as f64,
                    "node {k}: {pages:?}"
                );
                let maps = read(pid, "numa_maps");
                let bound = format!("bind:{k}");
                let policy = |line: &str| line.split(' ').nth(1) == Some(bound.as_str());
                assert!(maps.lines().all(policy), "{maps}");
            }
            lab.done(&["stop", "big/node2"]);
            lab.done(&["start", "big/node2"]);
            let pid = lab.json(&["list"])["clusters"][0]["nodes"][1]["pid"].as_i64();
            let pid = pid
                .and_then(|pid| i32::try_from(pid).ok())
                .expect("it runs");
            assert_eq!(processors(pid)[0], "1");
            lab.done(&["rm", "big"]);
            lab.done(&[
                "up",
                "free",
                "--instances",
                "2",
                "--pin",
                "none",
                "--preset",
                "tiny",
                "--heap",
                "64M",
            ]);
            let listed = lab.json(&["list"]);
            assert!(
                listed["clusters"][0]["nodes"][0].get("pin").is_none(),
                "{listed}"
            );
        },
    );
}

#[test]
fn nodes_and_generator_have_processors_apart() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--node-cpus", "0"]);
    let listed = lab.json(&["list"]);
    let node = &listed["clusters"][0]["nodes"][0];
    assert_eq!(node["pin"]["cpus"], "0", "{listed}");
    let pid = node["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    assert!(
        processors(pid.expect("it runs"))
            .iter()
            .all(|list| list == "0")
    );
    let run = "run kv --cluster c --count 20 --closed --generator-cpus 0 --format json";
    lab.measured(&run.split(' ').collect::<Vec<_>>());
    let shown = lab.json(&["history", "show", "@last"]);
    assert_eq!(shown["plan"]["cpus"], "0", "{shown}");
    for (words, wanted) in [
        (
            "up d --node-cpus 4095",
            "error: there is no processor 4095 here",
        ),
        (
            "run kv --cluster c --generator-cpus 4095",
            "error: there is no processor 4095 here",
        ),
        (
            "up d --gateway-heap 80M",
            "error: --gateway-heap requires coordinator-only nodes",
        ),
        (
            "up d --instances 1 --node-cpus 0",
            "error: --node-cpus and a plan of instances both decide where nodes run",
        ),
    ] {
        let said = lab.run(&words.split(' ').collect::<Vec<_>>());
        assert!(
            said.code == "2" && said.err.starts_with(wanted),
            "{words}: {said}"
        );
    }
}

#[test]
fn only_coordinators_get_the_gateway_s_heap() {
    let lab = TestLab::fake("ready");
    let up = "up g -n 2 --coordinators 1 --heap 64M --gateway-heap 96M --dry-run";
    let planned = lab.json(&up.split(' ').collect::<Vec<_>>());
    let heaps: Vec<Option<u64>> = (0..3)
        .map(|node| planned["nodes"][node]["own"]["heap"]["heap"].as_u64())
        .collect();
    assert_eq!(heaps, [None, None, Some(96 << 20)], "{planned}");
}

#[test]
fn folders_on_other_disks_are_used_and_leave_nothing() {
    let lab = TestLab::fake("ready");
    let (first, log) = (lab.path("disks/a"), lab.path("disks/log"));
    let words = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    let (a, b, c) = (words(&first), words(&lab.path("disks/b")), words(&log));
    let up = [
        "up",
        "c",
        "-n",
        "2",
        "--data-dir",
        &a,
        "--data-dir",
        &b,
        "--commitlog-dir",
        &c,
    ];
    lab.done(&up);
    let yaml = fs_err::read_to_string(lab.cluster("c").join("node2/conf/cassandra.yaml"));
    let yaml = yaml.expect("a file");
    for wanted in [
        "/a/c-node2/data",
        "/b/c-node2/data",
        "/log/c-node2/commitlog",
        "/a/c-node2/hints",
    ] {
        assert!(yaml.contains(wanted), "{wanted} in {yaml}");
    }
    assert!(first.join("c-node1/data").is_dir());
    // Somebody's files are nobody's to remove.
    fs_err::create_dir_all(first.join("d-node1")).expect("a folder");
    fs_err::write(first.join("d-node1/theirs"), "rows").expect("a file");
    let refused = lab.run(&["up", "d", "--data-dir", &a]);
    assert_eq!(refused.code, "3", "{refused}");
    assert!(
        refused.to_string().contains("d-node1 is not empty"),
        "{refused}"
    );
    assert!(!lab.cluster("d").exists());
    let saved = lab.run(&["baseline", "save", "c", "one"]);
    assert_eq!(saved.code, "2", "{saved}");
    assert!(
        saved.to_string().contains("several data folders"),
        "{saved}"
    );
    lab.done(&["rm", "c"]);
    assert!(first.join("d-node1/theirs").exists());
    fs_err::remove_dir_all(first).expect("the test's own");
    assert!(!log.exists());
}

#[test]
fn pins_want_instances_and_plans_this_machine() {
    let lab = TestLab::fake("ready");
    let alone = lab.run(&["up", "c", "--pin", "numa"]);
    assert_eq!(alone.code, "2", "{alone}");
    assert!(alone.to_string().contains("--instances auto"), "{alone}");
    let far = words(&lab, "far.toml");
    lab.done(&[
        "plan",
        "--from",
        "2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB",
        "-o",
        &far,
    ]);
    let elsewhere = lab.run(&["up", "c", "--plan", &far]);
    assert_eq!(elsewhere.code, "2", "{elsewhere}");
    assert!(
        elsewhere.to_string().contains("is assigned to processors"),
        "{elsewhere}"
    );
    let dry = lab.run(&[
        "up",
        "c",
        "--plan",
        &far,
        "--pin",
        "none",
        "--heap",
        "64M",
        "--preset",
        "tiny",
        "--dry-run",
    ]);
    assert_eq!(dry.code, "0", "{dry}");
    let many = lab.run(&["up", "c", "--instances", "1000"]);
    assert_eq!(many.code, "2", "{many}");
}

#[test]
fn a_heap_of_which_the_jvm_makes_little_is_cautioned_of() {
    let lab = TestLab::fake("ready");
    for (heap, warned) in [("34G", true), ("31G", false), ("40G", false)] {
        let said = lab.run(&["up", "c", "--preset", "bench", "--heap", heap, "--dry-run"]);
        let text = said.to_string();
        assert_eq!(
            text.contains("hardly more than one of 31 GiB"),
            warned,
            "{heap}: {text}"
        );
    }
}

fn words(lab: &TestLab, below: &str) -> String {
    lab.path(below).to_string_lossy().into_owned()
}
