//! Many clusters of one prefix: together up, apart in everything else, together removed.
//! Refuses a trace of them: processes, folders, addresses, control groups.

use crate::lab::{PATIENCE, TestLab, look, not_run};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

const THREE: [&str; 5] = ["up", "--count", "3", "--prefix", "dev"];

/// Control groups that the clusters of this lab speak of, there or not.
fn groups(lab: &TestLab) -> Vec<PathBuf> {
    let clusters = look::entries(&lab.path("home/state/clusters"));
    let lists = clusters
        .iter()
        .filter_map(|folder| fs_err::read_to_string(folder.join("cgroups")).ok());
    let lines: Vec<String> = lists.map(|text| text.trim().to_owned()).collect();
    lines
        .iter()
        .flat_map(|text| text.lines().map(PathBuf::from))
        .collect()
}

/// Whether this machine lets the test limit anything; a line says where it does not.
fn limited(lab: &TestLab) -> bool {
    let listed = lab.json(&["list"]);
    let limits = &listed["clusters"][0]["limits"];
    let held = limits["by"].is_string();
    if !held {
        let why = limits["not_enforced"].as_str().unwrap_or_default();
        not_run("limits by control groups", why);
    }
    held
}

fn gone(groups: &[PathBuf]) {
    let left: Vec<&PathBuf> = groups.iter().filter(|group| group.exists()).collect();
    assert!(left.is_empty(), "control groups are left: {left:?}");
}

#[test]
fn three_of_a_prefix_are_apart_and_leave_together() {
    let lab = TestLab::fake("ready");
    let up = lab.json(&THREE);
    assert_eq!(up["format"], "helenus.ready-list/1");
    assert_eq!((&up["ready"], &up["failed"]), (&3.into(), &0.into()));
    lab.done(&["up", "other"]);
    let listed = lab.json(&["list", "--prefix", "dev"]);
    let clusters = listed["clusters"].as_array().expect("clusters");
    let of = |what: fn(&serde_json::Value) -> &serde_json::Value| {
        let mut all: Vec<String> = clusters.iter().map(|c| what(c).to_string()).collect();
        all.sort();
        all.dedup();
        all.len()
    };
    let names: Vec<&str> = clusters.iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(names, ["dev1", "dev2", "dev3"]);
    assert_eq!(of(|c| &c["folder"]), 3);
    assert_eq!(of(|c| &c["nodes"][0]["address"]), 3);
    assert_eq!(of(|c| &c["nodes"][0]["pid"]), 3);
    let groups = groups(&lab);
    lab.done(&["stop", "--prefix", "dev"]);
    assert_eq!(lab.states("dev3").0, "stopped");
    assert_eq!(lab.states("other").0, "running");
    lab.done(&["start", "--prefix", "dev"]);
    assert_eq!(lab.states("dev3").0, "running");
    let removed = lab.json(&["rm", "--prefix", "dev"]);
    assert_eq!(removed["removed"].as_array().map(Vec::len), Some(3));
    assert_eq!(lab.states("other").0, "running");
    lab.leave();
    gone(&groups);
}

#[test]
fn one_that_fails_keeps_no_other_from_being_ready() {
    let lab = TestLab::fake("crash-second");
    shot_live!(lab.run(&[&THREE[..], &["--at-once", "4"]].concat()), @"
    exit code: 4
    --- standard output
    node  address  pid  memory
    dev1/node1  [address]:[port]  [pid]  [size]
    dev2  failed
    dev3/node1  [address]:[port]  [pid]  [size]

    2 of 3 clusters ready after [time], 4 nodes at a time; [size] of memory in all
    dev2 failed: node1 died [time] after its start (exit status: 1)
    `helenus logs dev2` shows more, `helenus rm dev2` removes it
    ");
    assert_eq!(lab.states("dev1").0, "running");
    assert_eq!(lab.states("dev2").0, "stopped");
    assert_eq!(lab.states("dev3").0, "running");
    assert_eq!(lab.node_pids().len(), 2);
    // A name that is taken is refused before anything begins.
    let again = lab.run(&["up", "--count", "4", "--prefix", "dev"]);
    assert_eq!(again.code, "2", "{again}");
    assert!(!lab.cluster("dev4").exists());
}

#[test]
fn a_setting_of_the_machine_that_cannot_be_made_is_refused_for_all() {
    let lab = TestLab::fake("ready");
    // More than any kernel takes, so that no machine is changed.
    let said = lab.run(&[&THREE[..], &["--read-ahead", "9000G"]].concat());
    assert_eq!(said.code, "3", "{said}");
    assert!(said.err.contains("--read-ahead"), "{said}");
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn a_window_of_one_starts_one_after_the_other() {
    let lab = TestLab::fake("hang");
    let mut up = lab.begin(&[&THREE[..], &["--at-once", "1"]].concat());
    look::wait_for("the first node", PATIENCE, || {
        assert!(up.runs(), "it ended early");
        (lab.node_pids().len() == 1)
            .then_some(())
            .ok_or("none yet".to_owned())
    });
    // All is decided and written down, and nothing else was started.
    let states = ["dev1", "dev2", "dev3"].map(|name| lab.cluster(name).join("cluster.json"));
    assert!(states.iter().all(|file| file.exists()));
    assert!(!lab.cluster("dev2").join("node1").exists());
    up.signal(Signal::INT);
    let said = up.end();
    assert_eq!(said.code, "130", "{said}");
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn ctrl_c_removes_all_that_the_command_made_and_nothing_else() {
    let mut lab = TestLab::fake("ready");
    lab.done(&["up", "dev"]);
    lab.behave("hang");
    let mut up = lab.begin(&THREE);
    look::wait_for("three more nodes", PATIENCE, || {
        assert!(up.runs(), "it ended early");
        let nodes = lab.node_pids().len();
        (nodes == 4).then_some(()).ok_or(format!("{nodes}"))
    });
    let groups = groups(&lab);
    up.signal(Signal::INT);
    shot!(up.end(), @"
    exit code: 130
    --- standard error
    error: interrupted, and cleaned up
    ");
    assert_eq!(lab.states("dev").0, "running");
    assert_eq!(lab.node_pids().len(), 1);
    lab.leave();
    gone(&groups);
}

#[test]
fn kill_9_in_ten_moments_and_rm_leaves_nothing() {
    let begin = std::time::Instant::now();
    TestLab::fake("ready").done(&THREE);
    let length = begin.elapsed();
    for moment in 0..10 {
        let lab = TestLab::fake("ready");
        let mut up = lab.begin(&THREE);
        std::thread::sleep(length * moment / 10);
        if up.runs() {
            up.signal(Signal::KILL);
        }
        up.end();
        lab.done(&["list"]);
        let groups = groups(&lab);
        lab.leave();
        gone(&groups);
    }
}

#[test]
fn a_limit_that_is_recorded_is_in_force() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "--memory", "600M", "--cpus", "0.5"]);
    if !limited(&lab) {
        return;
    }
    let listed = lab.json(&["list"]);
    let limits = &listed["clusters"][0]["limits"];
    assert_eq!(limits["memory_bytes"], 600 << 20);
    assert_eq!(limits["cpus"], 0.5);
    let groups = groups(&lab);
    let pid = lab.node_pids()[0].to_string();
    for group in &groups {
        let inside = fs_err::read_to_string(group.join("cgroup.procs")).expect("a group");
        assert!(
            inside.lines().any(|line| line == pid),
            "{group:?}: {inside}"
        );
    }
    let set = |group: &Path| {
        ["memory.limit_in_bytes", "memory.max"]
            .iter()
            .find_map(|file| fs_err::read_to_string(group.join(file)).ok())
    };
    let limit = groups.iter().find_map(|group| set(group)).expect("a limit");
    assert_eq!(limit.trim(), (600_u64 << 20).to_string());
    // Removal needs no readable state.
    fs_err::write(lab.cluster("c").join("cluster.json"), "no longer JSON").expect("a file");
    lab.done(&["rm", "c"]);
    gone(&groups);
}

#[test]
fn a_slow_disk_is_in_force_and_recorded_or_refused() {
    let lab = TestLab::fake("serve");
    let slow = [
        "--disk-read",
        "100M",
        "--disk-write",
        "50M",
        "--disk-iops",
        "900",
    ];
    let said = lab.run(&[&["up", "c"], &slow[..]].concat());
    if said.code != "0" {
        // What the system does not allow is refused, with doctor's reason.
        assert_eq!(said.code, "3", "{said}");
        let reason = said.err.split_once("made slower: ").map(|(_, why)| why);
        let reason = reason.and_then(|why| why.lines().next()).expect("a reason");
        let doctor = lab.run(&["doctor"]).out;
        assert!(doctor.contains(reason), "{said}\n{doctor}");
        assert!(!lab.cluster("c").exists());
        return not_run("a slower disk by control groups", reason);
    }
    let listed = lab.json(&["list"]);
    let limits = &listed["clusters"][0]["limits"];
    let disk = &limits["disk"];
    assert_eq!(disk["read_bytes_per_s"], 100 << 20, "{limits:#}");
    assert_eq!(disk["write_bytes_per_s"], 50 << 20, "{limits:#}");
    assert_eq!(
        (&disk["reads_per_s"], &disk["writes_per_s"]),
        (&900.into(), &900.into())
    );
    assert_eq!(
        disk["but"].is_string(),
        limits["by"] == "cgroup v1",
        "{limits:#}"
    );
    let line = format!(
        "\ndisk of each node of c: {}: 100 MiB/s read, 50 MiB/s written, 900 reads/s, 900 writes/s, by ",
        disk["device"].as_str().expect("a disk")
    );
    for text in [said.out, lab.done(&["list"])] {
        assert!(text.contains(&line), "{line}{text}");
    }
    let groups = groups(&lab);
    let pid = lab.node_pids()[0].to_string();
    let held = groups.iter().find_map(|group| {
        let files = ["blkio.throttle.read_bps_device", "io.max"];
        let mut texts = files
            .iter()
            .filter_map(|file| fs_err::read_to_string(group.join(file)).ok());
        let inside = fs_err::read_to_string(group.join("cgroup.procs")).expect("a group");
        texts
            .next()
            .filter(|_| inside.lines().any(|line| line == pid))
    });
    let bytes = (100_u64 << 20).to_string();
    assert!(held.is_some_and(|held| held.contains(&bytes)), "{groups:?}");
    // What held is recorded with a run.
    lab.measured(&[
        "run",
        "standard1",
        "--ops",
        "write=1",
        "--count",
        "10",
        "--cluster",
        "c",
    ]);
    let run = lab.json(&["history", "show", "@last"]);
    assert_eq!(&run["host"]["limits"]["disk"], disk, "{run:#}");
    lab.done(&["rm", "c"]);
    gone(&groups);
}
