//! Disks of limited size: mounted, kept, filled, freed, and gone with their cluster, whatever ended it.
//! Refuses to believe the words alone: the kernel's list of mounts and the disks themselves are looked at.

use crate::lab::{HELENUS, PATIENCE, TestLab, look, not_run, with_own_mounts};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Brings up a cluster with disks; says where the machine allows none.
fn up(lab: &TestLab, words: &[&str]) -> bool {
    let said = lab.run(&[&["up", "c"], words].concat());
    if said.code == "3" && said.err.contains("this user may not") {
        not_run("disks of limited size", "run as root");
        return false;
    }
    assert_eq!(said.code, "0", "{said}");
    true
}

fn disk(lab: &TestLab, node: &str) -> PathBuf {
    lab.cluster("c").join(node).join("disk")
}

fn mounts(lab: &TestLab) -> Vec<PathBuf> {
    look::mounts_below(&lab.path("home"))
}

/// Bytes that are free on a node's disk.
fn free(lab: &TestLab, node: &str) -> u64 {
    let stat = rustix::fs::statvfs(disk(lab, node)).expect("a disk");
    stat.f_bavail * stat.f_frsize
}

fn node(lab: &TestLab, number: usize) -> Value {
    lab.json(&["list"])["clusters"][0]["nodes"][number - 1].clone()
}

fn pid(lab: &TestLab, number: usize) -> i32 {
    let pid = node(lab, number)["pid"].as_i64().expect("a process");
    i32::try_from(pid).expect("a pid")
}

fn holding(lab: &TestLab) -> usize {
    let report = lab.json(&["fault", "c"]);
    report["faults"].as_array().expect("faults").len()
}

#[test]
fn a_disk_stays_through_stop_and_kill_and_goes_with_its_cluster() {
    let lab = TestLab::fake("ready");
    if !up(&lab, &["-n", "2", "--disk", "128M"]) {
        return;
    }
    assert_eq!(mounts(&lab), [disk(&lab, "node1"), disk(&lab, "node2")]);
    assert_eq!(node(&lab, 1)["disk"]["size"], 128 << 20);
    let listed = lab.json(&["list"]);
    assert_eq!(listed["clusters"][0]["planned"]["disk"], 128 << 20);
    let table = lab.done(&["list", "--memory"]);
    assert!(
        table.contains("128 MiB") && table.contains("disk"),
        "{table}"
    );

    let rows = disk(&lab, "node1").join("data/rows");
    fs_err::write(&rows, "rows").expect("room");
    let too_much = vec![0_u8; 129 << 20];
    assert!(fs_err::write(disk(&lab, "node2").join("data/much"), too_much).is_err());
    lab.done(&["stop", "c"]);
    assert_eq!(mounts(&lab).len(), 2);
    lab.done(&["start", "c"]);
    lab.done(&["fault", "c", "kill", "node1"]);
    lab.done(&["heal", "c"]);
    assert_eq!(mounts(&lab).len(), 2);
    assert_eq!(fs_err::read_to_string(&rows).expect("the rows"), "rows");
    lab.done(&["rm", "c"]);
    assert_eq!(mounts(&lab), Vec::<PathBuf>::new());
}

#[test]
fn nodes_have_the_disk_that_their_part_of_the_file_says() {
    let lab = TestLab::fake("ready");
    let file = lab.write(
        "two.toml",
        "disk = \"128M\"\n[[data_center]]\nname = \"us\"\nnodes = 2\n\
         [[data_center.node]]\nnode = 2\ndisk = \"100M\"\n",
    );
    shot!(lab.run(&["topology", "check", "two.toml"]), @"
    exit code: 0
    --- standard output
    us
      rack1  node1 node2
      disk 100 MiB in memory  node2
      disk 128 MiB in memory  node1

    no distance: the nodes are on loopback
    ");
    if !up(&lab, &["--topology", &file.to_string_lossy()]) {
        return;
    }
    let sizes = [1, 2].map(|number| node(&lab, number)["disk"]["size"].clone());
    assert_eq!(sizes, [Value::from(128 << 20), Value::from(100 << 20)]);
    assert_eq!(node(&lab, 2)["own"]["preset"], "tiny");
}

#[test]
fn a_full_disk_holds_until_it_is_healed() {
    let lab = TestLab::fake("ready");
    if !up(&lab, &["-n", "2", "--disk", "128M"]) {
        return;
    }
    shot!(lab.run(&["fault", "c", "disk-full", "2", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would do to c: disk-full node2 (node2); nothing was done (--dry-run)
    ");
    assert!(free(&lab, "node2") > 100 << 20);
    shot!(lab.run(&["fault", "c", "disk-full", "2"]), @"
    exit code: 0
    --- standard output
    c: disk-full node2 is active (node2); `helenus heal c node2` ends it
    ");
    assert_eq!(free(&lab, "node2"), 0);
    assert!(free(&lab, "node1") > 100 << 20);
    let listed = lab.done(&["list"]);
    assert!(
        listed.contains("disk-full node2 is active in c: `helenus heal c node2` ends it"),
        "{listed}"
    );
    shot!(lab.run(&["fault", "c", "disk-full", "node2"]), @"
    exit code: 2
    --- standard error
    error: 'disk-full node2' cannot be applied to node2 of c: 'disk-full node2' is already active there
    hint: `helenus fault c` lists active faults, `helenus heal c --all` ends it
    ");
    // A node that bears it is left alone.
    let before = pid(&lab, 2);
    shot!(lab.run(&["heal", "c"]), @"
    exit code: 0
    --- standard output
    c: healed disk-full node2
    ");
    assert!(free(&lab, "node2") > 100 << 20);
    assert_eq!((pid(&lab, 2), holding(&lab)), (before, 0));

    // One that died of it is started again.
    lab.done(&["fault", "c", "disk-full", "datacenter1"]);
    let victim = Pid::from_raw(pid(&lab, 2)).expect("a pid");
    kill_process(victim, Signal::KILL).expect("our own node");
    look::wait_for("its end", PATIENCE, || {
        match lab.states("c").1[1].as_str() {
            "died" => Ok(()),
            other => Err(other.to_owned()),
        }
    });
    lab.done(&["heal", "c"]);
    assert_eq!(lab.states("c").1, ["running"; 2]);
    // `rm` goes through whatever holds.
    lab.done(&["fault", "c", "disk-full", "node1"]);
    lab.done(&["rm", "c"]);
    assert_eq!(mounts(&lab), Vec::<PathBuf>::new());
}

#[test]
fn a_node_that_stopped_serving_is_started_again() {
    let lab = TestLab::fake("stop-when-full");
    if !up(&lab, &["--disk", "128M"]) {
        return;
    }
    let before = pid(&lab, 1);
    let report = lab.json(&["fault", "c", "disk-full", "node1", "--for", "300ms"]);
    assert!(
        report["held_ms"].as_u64().expect("a time") >= 300,
        "{report}"
    );
    assert_eq!(report["word"], "disk-full");
    assert_ne!(pid(&lab, 1), before);
    assert_eq!(
        (lab.states("c").1, holding(&lab)),
        (vec!["running".to_owned()], 0)
    );
}

/// A short run at the cluster, as JSON; whether its numbers count is the host's business.
fn run(lab: &TestLab, more: &[&str]) -> Value {
    let words =
        "run standard1 --cluster c --ops write=1 --rate 50 --warmup 0s --duration 3s --format json";
    let words: Vec<&str> = words.split(' ').collect();
    let said = lab.run(&[&words[..], more].concat());
    assert!(said.code == "0" || said.code == "5", "{said}");
    serde_json::from_str(&said.out).expect("JSON")
}

#[test]
fn a_fault_from_before_a_run_is_stored_with_its_numbers() {
    let lab = TestLab::fake("serve");
    if !up(&lab, &["--disk", "128M"]) {
        return;
    }
    lab.done(&["fault", "c", "disk-full", "node1"]);
    let report = run(&lab, &[]);
    let words = "disk-full node1, made before the run";
    let seen = &report["faults"][0];
    assert_eq!(
        (&seen["words"], &seen["at"][0]),
        (&words.into(), &"node1".into())
    );
    let seconds = |name: &str| seen[name].as_f64().expect("seconds");
    assert!(seconds("from_s") <= 0.0 && seconds("to_s") >= 2.9, "{seen}");
    let doubts = |report: &Value| report["result"]["phases"][0]["doubts"].to_string();
    assert!(doubts(&report).contains(words), "{report:#}");
    lab.done(&["heal", "c"]);
    let healed = run(&lab, &[]);
    assert!(healed["faults"].as_array().is_none_or(Vec::is_empty));
    assert!(!doubts(&healed).contains("disk-full"), "{healed:#}");
}

#[test]
fn a_run_s_full_disk_is_reported_and_no_death() {
    let lab = TestLab::fake("serve");
    if !up(&lab, &["--disk", "128M"]) {
        return;
    }
    let fault = "at 500ms for 700ms disk-full node1";
    let report = run(&lab, &["--fault", fault]);
    let seen = &report["faults"][0];
    assert_eq!(
        (&seen["words"], &seen["made"]),
        (&fault.into(), &true.into())
    );
    assert_eq!(seen["at"], serde_json::json!(["node1"]));
    let doubts = report["result"]["phases"][0]["doubts"].to_string();
    assert!(
        doubts.contains(fault) && !doubts.contains("node_died"),
        "{doubts}"
    );
    assert_eq!(holding(&lab), 0);
    assert!(free(&lab, "node1") > 100 << 20);
}

#[test]
fn a_machine_s_disk_is_not_filled() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot!(lab.run(&["fault", "c", "disk-full", "node1"]), @"
    exit code: 2
    --- standard error
    error: node1 has no disk of limited size, and other disks are never filled
      | disk-full node1
      |           ^^^^^
    hint: bring the cluster up with one for each node: helenus up --disk 512M
    ");
}

#[test]
fn the_next_up_takes_the_disks_of_a_bench_that_was_killed() {
    let lab = TestLab::fake("serve");
    if !up(&lab, &["--disk", "128M"]) {
        return;
    }
    lab.done(&["rm", "c"]);
    let words = [
        "bench",
        "--disk",
        "200M",
        "--phases",
        "write",
        "--rate",
        "50",
        "--duration",
        "100s",
    ];
    let bench = lab.begin(&words);
    look::wait_for("its node", PATIENCE, || {
        match (lab.node_pids().len(), mounts(&lab).len()) {
            (1, 1) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    bench.signal(Signal::KILL);
    bench.end();
    look::wait_for("the node's end", PATIENCE, || {
        match lab.node_pids().as_slice() {
            [] => Ok(()),
            left => Err(format!("{left:?}")),
        }
    });
    assert_eq!(mounts(&lab).len(), 1);
    lab.done(&["up", "c"]);
    assert_eq!(mounts(&lab), Vec::<PathBuf>::new());
}

#[test]
fn rm_cleans_up_after_kill_9_of_everything() {
    let lab = TestLab::fake("hang");
    let begun = lab.begin(&["up", "c", "-n", "2", "--disk", "128M"]);
    if !rustix::process::geteuid().is_root() {
        assert_eq!(begun.end().code, "3");
        return not_run("disks of limited size", "run as root");
    }
    look::wait_for("two disks", PATIENCE, || match mounts(&lab).len() {
        2 => Ok(()),
        other => Err(other.to_string()),
    });
    begun.signal(Signal::KILL);
    begun.end();
    for left in lab.processes() {
        if let Some(pid) = Pid::from_raw(left.pid) {
            let _gone_already = kill_process(pid, Signal::KILL);
        }
    }
    assert_eq!(mounts(&lab).len(), 2);
    lab.done(&["rm", "c"]);
    assert_eq!(mounts(&lab), Vec::<PathBuf>::new());
}

#[test]
fn a_disk_whose_data_is_gone_is_not_begun_anew() {
    let lab = TestLab::fake("ready");
    if !up(&lab, &["--disk", "128M"]) {
        return;
    }
    lab.done(&["stop", "c"]);
    // What the end of the machine does.
    let gone = rustix::mount::unmount(disk(&lab, "node1"), rustix::mount::UnmountFlags::DETACH);
    gone.expect("our own mount");
    shot!(lab.run(&["start", "c"]), @"
    exit code: 4
    --- standard error
    error: the disk of node1 and its data are gone
    hint: it was in memory, and was lost with the machine or the shell that mounted it: `helenus baseline restore c` restores a saved state, `helenus rm c` removes the rest
    ");
    assert_eq!(mounts(&lab), Vec::<PathBuf>::new());
}

#[test]
fn who_may_not_mount_is_refused_at_once() {
    let lab = TestLab::fake("ready");
    let words = ["up", "c", "--disk", "128M"];
    let said = if rustix::process::geteuid().is_root() {
        if !Path::new("/usr/bin/setpriv").exists() {
            return not_run("a root that may not mount", "install util-linux");
        }
        let mut command = Command::new("/usr/bin/setpriv");
        command
            .args(["--bounding-set=-sys_admin", HELENUS])
            .args(words);
        lab.dress(&mut command);
        lab.begin_command(command).end()
    } else {
        lab.run(&words)
    };
    shot!(said, @"
    exit code: 3
    --- standard error
    error: size-limited disks need permission to mount file systems
    hint: run as root (in a container with CAP_SYS_ADMIN), or run every command in a shell started by `unshare --user --map-root-user --mount`, or leave --disk out
    ");
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn what_else_is_mounted_in_a_cluster_s_folder_keeps_rm_away() {
    let mut lab = TestLab::fake("ready");
    if !rustix::process::geteuid().is_root() {
        lab.set("XDG_RUNTIME_DIR", lab.path("person"));
    }
    let script = "\"$0\" up c --disk 128M > up.txt || exit 9\n\
                  there=$HELENUS_HOME/state/clusters/c/other\n\
                  mkdir $there && mount -t tmpfs none $there && echo kept > $there/file || exit 9\n\
                  \"$0\" rm c\necho rm: $?\ncat $there/file\n\"$0\" list --quiet > list.txt\n\
                  umount $there\nexec \"$0\" rm c";
    let Some(mut command) = with_own_mounts(script) else {
        return not_run(
            "a test in mounts of its own",
            "run as root, or allow user namespaces",
        );
    };
    lab.dress(&mut command);
    shot_live!(lab.begin_command(command).end(), @"
    exit code: 0
    --- standard output
    rm: 3
    kept
    removed c: 1 node (1 running), [size] in [LAB]/home/state/clusters/c
    --- standard error
    error: [LAB]/home/state/clusters/c/other is a mounted file system, but not a node's disk
    hint: unmount it first: umount [LAB]/home/state/clusters/c/other
    ");
    let listed = fs_err::read_to_string(lab.path("list.txt")).expect("a list");
    assert!(listed.contains("running"), "{listed}");
}
