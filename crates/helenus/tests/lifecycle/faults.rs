//! Faults made, reported, healed; by hand, on a run's time line, and by whoever comes after a killed helenus.
//! Refuses to believe the words alone: processes, links and groups are looked at.

use super::distance::networks;
use crate::lab::{PATIENCE, TestLab, look, not_run};
use helenus_cluster::net::client::Keeper;
use helenus_model::network::NetworkPlan;
use rustix::process::Signal;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

/// Conditions of the nodes of `c`.
fn nodes(lab: &TestLab) -> Vec<String> {
    lab.states("c").1
}

fn until(lab: &TestLab, wanted: &[&str]) {
    look::wait_for("the nodes' conditions", PATIENCE, || {
        let now = nodes(lab);
        if now == wanted {
            Ok(())
        } else {
            Err(format!("{now:?}"))
        }
    });
}

fn holding(lab: &TestLab, cluster: &str) -> Vec<Value> {
    let report = lab.json(&["fault", cluster]);
    assert_eq!(report["format"], "helenus.faults/1");
    report["faults"].as_array().cloned().expect("faults")
}

#[test]
fn what_is_killed_is_started_again() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "3"]);
    shot!(lab.run(&["fault", "c", "kill", "2", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would do to c: kill node2 (node2); nothing was done (--dry-run)
    ");
    assert_eq!(nodes(&lab), ["running"; 3]);
    shot!(lab.run(&["fault", "c", "kill", "2"]), @"
    exit code: 0
    --- standard output
    c: kill node2 is active (node2); `helenus heal c node2` ends it
    ");
    assert_eq!(nodes(&lab), ["running", "stopped", "running"]);
    shot_live!(lab.run(&["fault", "c"]), @"
    exit code: 0
    --- standard output
    fault  reaches  since  ends in  state
    kill node2  node2  [time]  -  active
    ");
    let listed = lab.done(&["list"]);
    assert!(
        listed.contains("kill node2 is active in c: `helenus heal c node2` ends it"),
        "{listed}"
    );
    shot!(lab.run(&["fault", "c", "kill", "node2"]), @"
    exit code: 2
    --- standard error
    error: 'kill node2' cannot be applied to node2 of c: 'kill node2' is already active there
    hint: `helenus fault c` lists active faults, `helenus heal c --all` ends it
    ");
    lab.done(&["fault", "c", "pause", "1"]);
    shot!(lab.run(&["heal", "c"]), @"
    exit code: 2
    --- standard error
    error: which fault of c? kill node2; pause node1
    hint: name a target (node2, node1), or --all
    ");
    shot!(lab.run(&["heal", "c", "node3"]), @"
    exit code: 2
    --- standard error
    error: no fault of cluster c is active at node3
    hint: did you mean node1?
    ");
    shot!(lab.run(&["heal", "c", "2"]), @"
    exit code: 0
    --- standard output
    c: healed kill node2
    ");
    assert_eq!(nodes(&lab), ["paused", "running", "running"]);
    shot!(lab.run(&["heal", "c", "--all"]), @"
    exit code: 0
    --- standard output
    c: healed pause node1
    ");
    assert_eq!(nodes(&lab), ["running"; 3]);
    shot!(lab.run(&["fault", "c"]), @"
    exit code: 0
    --- standard output
    no fault is active in c
    ");
}

#[test]
fn a_whole_data_center_at_once_and_what_start_undoes_is_forgotten() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2:1"]);
    let made = lab.json(&["fault", "c", "kill", "DC1"]);
    assert_eq!(
        made["reach"]["nodes"],
        serde_json::json!(["node1", "node2"])
    );
    assert_eq!(nodes(&lab), ["stopped", "stopped", "running"]);
    lab.done(&["start", "c"]);
    assert_eq!(holding(&lab, "c")[0]["holds"], false);
    // Killed anew, for nothing holds there any more.
    lab.done(&["fault", "c", "kill", "node1"]);
    assert_eq!(holding(&lab, "c").len(), 1);
    lab.done(&["heal", "c"]);
    assert_eq!(nodes(&lab), ["running"; 3]);
}

#[test]
fn a_fault_for_a_while_is_healed_and_ctrl_c_heals_at_once() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let report = lab.json(&["fault", "c", "pause", "node1", "--for", "300ms"]);
    assert!(
        report["held_ms"].as_u64().expect("a time") >= 300,
        "{report}"
    );
    assert_eq!(nodes(&lab), ["running"]);
    let fault = lab.begin(&["fault", "c", "pause", "node1", "--for", "300s"]);
    until(&lab, &["paused"]);
    let held = holding(&lab, "c");
    assert_eq!(
        (&held[0]["holds"], &held[0]["abandoned"]),
        (&true.into(), &false.into())
    );
    fault.signal(Signal::INT);
    shot!(fault.end(), @"
    exit code: 130
    --- standard error
    error: interrupted, and healed
    ");
    assert_eq!(nodes(&lab), ["running"]);
    assert_eq!(holding(&lab, "c").len(), 0);
}

#[test]
fn whoever_comes_after_kill_9_heals_what_was_left() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    for (word, left) in [("pause", "paused"), ("kill", "stopped")] {
        let fault = lab.begin(&["fault", "c", word, "node1", "--for", "300s"]);
        until(&lab, &[left, "running"]);
        fault.signal(Signal::KILL);
        fault.end();
        let held = holding(&lab, "c");
        assert_eq!(
            (&held[0]["holds"], &held[0]["abandoned"]),
            (&true.into(), &true.into())
        );
        let listed = lab.done(&["list"]);
        assert!(
            listed.contains("the command that made it is gone"),
            "{listed}"
        );
        lab.done(&["heal", "c"]);
        assert_eq!(nodes(&lab), ["running"; 2]);
    }
    // `rm` goes through whatever holds.
    lab.done(&["fault", "c", "pause", "datacenter1"]);
    lab.done(&["rm", "c"]);
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
}

#[test]
fn a_heal_that_waits_in_vain_has_healed_all_the_same() {
    // One that answers at once might do so before the heal has looked.
    let lab = TestLab::fake("slow");
    lab.done(&["up", "c", "-n", "2"]);
    lab.done(&["fault", "c", "kill", "node1"]);
    let said = lab.run(&["heal", "c", "--ready-within", "1ms"]);
    assert_eq!(said.code, "4", "{said}");
    // What it started goes on starting, and nothing is left to heal.
    assert_eq!(holding(&lab, "c").len(), 0);
    until(&lab, &["running"; 2]);
}

#[test]
fn what_something_else_undid_is_reported_by_whoever_was_to_end_it() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    // Longer than the commands until then take on a busy machine.
    let fault = lab.begin(&["fault", "c", "pause", "node1", "--for", "12s"]);
    until(&lab, &["paused"]);
    lab.done(&["resume", "c"]);
    let said = fault.end();
    assert_eq!(said.code, "0", "{said}");
    assert!(said.err.contains("something else undid it"), "{said}");
    assert_eq!(nodes(&lab), ["running"]);
}

#[test]
fn words_that_are_no_fault_are_pointed_at() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot!(lab.run(&["fault", "c", "puase", "node1"]), @r#"
    exit code: 2
    --- standard error
    error: no such fault: "puase"
      | puase node1
      | ^^^^^
    hint: did you mean pause?
    "#);
    shot!(lab.run(&["fault", "c", "partition", "node1"]), @"
    exit code: 2
    --- standard error
    error: there is no link between these nodes: the cluster runs on loopback
      | partition node1
      |           ^^^^^
    hint: bring one up with distance: helenus up wan -n 1:1:1 --rtt 20ms
    ");
    let run = ["run", "standard1", "--cluster", "c", "--ops", "write=1"];
    shot!(lab.run(&[&run[..], &["--fault", "at 1s for 5s kill node7"]].concat()), @"
    exit code: 2
    --- standard error
    error: this cluster has no node7
      | kill node7
      |      ^^^^^
    hint: did you mean node1?
    ");
    shot!(lab.run(&[&run[..], &["--dry-run", "--fault", "at 1 kill node1"]].concat()), @r#"
    exit code: 2
    --- standard error
    error: "1" is not a time: it needs a unit, such as 10s
      | at 1 kill node1
      |    ^
    hint: write it as 'at 10s for 20s partition DC3'; without for, it lasts to the end
    "#);
    let planned = lab.done(&[&run[..], &["--dry-run", "--fault", "at 1s kill 1"]].concat());
    assert!(planned.contains("fault: at 1s kill node1\n"), "{planned}");
}

/// The processor quota of a process in microseconds of 100 ms; none without one.
fn quota_us(pid: i32) -> Option<u64> {
    let groups = fs_err::read_to_string(format!("/proc/{pid}/cgroup")).expect("its groups");
    let path = |controller: &str| {
        let line = groups
            .lines()
            .find(|l| l.split(':').nth(1) == Some(controller));
        line.and_then(|l| l.splitn(3, ':').nth(2))
            .map(str::to_owned)
    };
    let files = [
        path("cpu").map(|p| format!("/sys/fs/cgroup/cpu{p}/cpu.cfs_quota_us")),
        path("").map(|p| format!("/sys/fs/cgroup{p}/cpu.max")),
    ];
    let mut texts = files
        .into_iter()
        .flatten()
        .filter_map(|f| fs_err::read_to_string(f).ok());
    texts.find_map(|text| text.split_whitespace().next()?.parse().ok())
}

#[test]
fn a_slowed_node_has_a_quota_until_it_is_healed() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let said = lab.run(&["fault", "c", "slow", "20%", "node1"]);
    if said.code == "3" {
        return not_run(
            "a processor quota",
            "run as root, or in a delegated control group",
        );
    }
    assert_eq!(said.code, "0", "{said}");
    let pid = lab.node_pids()[0];
    assert_eq!(quota_us(pid), Some(20_000));
    assert_eq!(holding(&lab, "c")[0]["percent"], 20);
    lab.done(&["heal", "c"]);
    assert_ne!(quota_us(pid), Some(20_000));
    // Of a node with limits of its own its quota comes back.
    lab.done(&["rm", "c"]);
    lab.done(&["up", "c", "--cpus", "0.5"]);
    let pid = lab.node_pids()[0];
    let own = quota_us(pid);
    if own == Some(50_000) {
        lab.done(&["fault", "c", "slow", "10%", "node1"]);
        assert_eq!(quota_us(pid), Some(10_000));
        lab.done(&["heal", "c"]);
        assert_eq!(quota_us(pid), own);
        shot!(lab.run(&["fault", "c", "slow", "80%", "node1"]), @"
        exit code: 2
        --- standard error
        error: node1 is already limited to 50 % of a processor
        hint: use a lower percentage
        ");
    }
    lab.done(&["fault", "c", "slow", "10%", "node1"]);
    // Whoever is started beside it, it stays slow.
    lab.done(&["rm", "c"]);
    lab.done(&["up", "c", "-n", "2", "--cpus", "0.5"]);
    lab.done(&["stop", "c/node2"]);
    let pid = lab.node_pids()[0];
    if quota_us(pid) == Some(50_000) {
        lab.done(&["fault", "c", "slow", "10%", "node1"]);
        lab.done(&["start", "c/node2"]);
        assert_eq!(quota_us(pid), Some(10_000));
    }
}

fn network(lab: &TestLab) -> NetworkPlan {
    let state = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).expect("the state");
    let mut state: Value = serde_json::from_str(&state).expect("JSON");
    serde_json::from_value(state["plan"]["network"].take()).expect("a network")
}

/// Whether a node reaches another's port.
fn reaches(lab: &TestLab, from: &str, to: &str) -> bool {
    let plan = network(lab);
    let address = plan.space(to).expect("a namespace").address;
    let keeper = Keeper::call(&lab.cluster("c")).expect("a keeper");
    let within = Duration::from_millis(1500);
    keeper
        .dial(from, SocketAddr::from((address, 9042)), within)
        .is_ok()
}

#[test]
fn links_nodes_racks_and_data_centers_are_cut_and_joined() {
    if !networks() {
        return;
    }
    let lab = TestLab::fake("ready");
    lab.done(&[
        "up", "c", "--dc", "DC1=3", "--dc", "DC2=2", "--racks", "2", "--rtt", "2ms",
    ]);
    let cut = || {
        let links = lab.json(&["link", "c"])["network"]["links"].clone();
        let links = links.as_array().expect("links").clone();
        links.iter().filter(|l| l["cut"] == true).count()
    };
    shot!(lab.run(&["fault", "c", "partition", "DC2"]), @"
    exit code: 0
    --- standard output
    c: partition DC2 is active (DC2 > DC1, DC1 > DC2); `helenus heal c DC2` ends it
    ");
    assert_eq!(cut(), 2);
    assert!(!reaches(&lab, "node1", "node4") && reaches(&lab, "node1", "node2"));
    // One more over it; the links are joined when both are lifted.
    lab.done(&["fault", "c", "partition", "DC1:DC2"]);
    lab.done(&["heal", "c", "DC2"]);
    assert_eq!(cut(), 2);
    lab.done(&["heal", "c"]);
    assert_eq!(cut(), 0);
    assert!(reaches(&lab, "node1", "node4"));

    lab.done(&["fault", "c", "slow", "50ms", "DC1:DC2"]);
    lab.done(&["fault", "c", "loss", "1%", "DC1:DC2"]);
    // What people change is below, and stays.
    lab.done(&["link", "c", "--rtt", "4ms"]);
    let link = &lab.json(&["link", "c"])["network"]["links"][0];
    assert_eq!(
        (&link["delay_us"], &link["loss_ppm"]),
        (&52_000.into(), &10_000.into())
    );
    lab.done(&["heal", "c", "--all"]);
    let link = &lab.json(&["link", "c"])["network"]["links"][0];
    assert_eq!(
        (&link["delay_us"], &link["loss_ppm"]),
        (&2_000.into(), &0.into())
    );

    // Racks alternate: node1 and node3 stand in rack1.
    lab.done(&["fault", "c", "partition", "DC1/rack1"]);
    assert!(reaches(&lab, "node1", "node3"));
    assert!(!reaches(&lab, "node1", "node2") && !reaches(&lab, "node4", "node3"));
    let refused = lab.run(&["fault", "c", "partition", "node1"]);
    assert_eq!(refused.code, "2", "{refused}");
    lab.done(&["heal", "c"]);
    assert!(reaches(&lab, "node1", "node2") && reaches(&lab, "node4", "node3"));
    lab.done(&["fault", "c", "partition", "node2"]);
    assert!(!reaches(&lab, "node1", "node2") && reaches(&lab, "node1", "node3"));
    // A network that is made anew has no faults.
    lab.done(&["stop", "c"]);
    lab.done(&["start", "c"]);
    assert_eq!(holding(&lab, "c")[0]["holds"], false);
    assert!(reaches(&lab, "node1", "node2"));
}

const RUN: [&str; 12] = [
    "run",
    "standard1",
    "--cluster",
    "c",
    "--ops",
    "write=1",
    "--rate",
    "50",
    "--warmup",
    "0s",
    "--format",
    "json",
];

fn faults_of(report: &Value) -> Vec<(String, bool, f64, f64)> {
    let faults = report["faults"].as_array().expect("faults").clone();
    let each = faults.iter().map(|f| {
        let seconds = |name: &str| f[name].as_f64().expect("seconds");
        let words = f["words"].as_str().expect("words").to_owned();
        (words, f["made"] == true, seconds("from_s"), seconds("to_s"))
    });
    each.collect()
}

fn doubts_of(report: &Value) -> Vec<(String, String)> {
    let phases = report["result"]["phases"]
        .as_array()
        .expect("phases")
        .clone();
    let doubts = phases
        .iter()
        .flat_map(|p| p["doubts"].as_array().cloned().unwrap_or_default());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    doubts
        .map(|d| (text(&d["kind"]), text(&d["about"])))
        .collect()
}

#[test]
fn a_run_s_faults_come_and_go_and_are_reported() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let pause = "at 500ms for 700ms pause node1";
    let kill = "at 1500ms for 2s kill node1";
    let words = ["--duration", "5s", "--fault", pause, "--fault", kill];
    let warm = RUN.map(|word| if word == "0s" { "1s" } else { word });
    let said = lab.run(&[&warm[..], &words].concat());
    assert!(said.code == "0" || said.code == "5", "{said}");
    assert!(
        said.err.contains(&format!("fault '{kill}': healed")),
        "{said}"
    );
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    let faults = faults_of(&report);
    assert_eq!(faults.len(), 2, "{faults:?}");
    for ((words, made, from_s, to_s), (asked, at, lasts)) in
        faults.iter().zip([(pause, 0.5, 0.7), (kill, 1.5, 2.0)])
    {
        assert_eq!((words.as_str(), *made), (asked, true));
        // Never before its time, and never shorter; how much later is the machine's.
        assert!(
            *from_s >= at - 0.2 && to_s - from_s >= lasts - 0.3,
            "{faults:?}"
        );
    }
    let doubts = doubts_of(&report);
    let about = |words: &str| ("fault".to_owned(), words.to_owned());
    assert!(
        doubts.contains(&about(pause)) && doubts.contains(&about(kill)),
        "{doubts:?}"
    );
    assert!(
        doubts.iter().all(|(kind, _)| kind != "node_died"),
        "{doubts:?}"
    );
    assert_eq!(report["plan"]["faults"][1]["at_ms"], 1500);
    assert_eq!(holding(&lab, "c").len(), 0);
    assert_eq!(nodes(&lab), ["running"]);

    let run = report["run"].as_str().expect("a run");
    let stored = lab.json(&["history", "show", run]);
    assert_eq!(faults_of(&stored), faults);
    let shown = lab.done(&["history", "show", run]);
    assert!(shown.contains(pause) && shown.contains("node1"), "{shown}");
    let page = lab.path("page.html");
    lab.done(&["report", run, "--out", &page.to_string_lossy()]);
    let page = fs_err::read_to_string(page).expect("the page");
    assert!(page.contains("data-band=\"fault\"") && page.contains("data-band=\"killed\""));
    assert!(page.contains(kill));
    // The charts count from the same moment as the table.
    for (words, from_s) in [("pause node1", faults[0].2), ("kill node1", faults[1].2)] {
        let drawn = page.split_once(&format!(">{words}</text>"));
        let before = drawn.map_or("", |(before, _)| before);
        let at = before.rsplit_once("data-at=\"").map_or("", |(_, at)| at);
        let at = at.split('"').next().unwrap_or_default();
        let at: f64 = at.parse().expect("where it is drawn");
        assert!((at - from_s).abs() < 0.01, "{words}: {at} and {from_s}");
    }
}

/// The file by whose lock one command at a time has `c`.
fn lock_of(lab: &TestLab) -> fs_err::File {
    let mut options = fs_err::OpenOptions::new();
    let lock = options.append(true).create(true);
    lock.open(lab.cluster("c").join("lock")).expect("the lock")
}

#[test]
fn a_fault_that_cannot_be_made_disqualifies_and_ctrl_c_heals() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let lock = lock_of(&lab);
    let run = lab.begin(
        &[
            &RUN[..],
            &["--duration", "5s", "--fault", "at 500ms for 1s pause node1"],
        ]
        .concat(),
    );
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    let said = run.end();
    drop(lock);
    assert_eq!(said.code, "5", "{said}");
    assert!(
        said.err
            .contains("could not be made: another helenus is working on cluster c"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    assert!(!faults_of(&report)[0].1, "{report:#}");
    assert!(
        doubts_of(&report)
            .iter()
            .any(|(kind, _)| kind == "fault_not_made")
    );

    let run = lab.begin(
        &[
            &RUN[..],
            &["--duration", "60s", "--fault", "at 100ms pause node1"],
        ]
        .concat(),
    );
    until(&lab, &["paused"]);
    assert_eq!(holding(&lab, "c")[0]["abandoned"], false);
    run.signal(Signal::INT);
    let said = run.end();
    assert_eq!(said.code, "130", "{said}");
    assert_eq!(nodes(&lab), ["running"]);
    assert_eq!(holding(&lab, "c").len(), 0);
}

#[test]
fn a_fault_whose_moment_never_comes_disqualifies() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let late = "at 60s for 1s pause node1";
    let said = lab.run(&[&RUN[..], &["--duration", "2s", "--fault", late]].concat());
    assert_eq!(said.code, "5", "{said}");
    assert!(
        said.err.contains("the run ended before it was due"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(faults_of(&report).len(), 1, "{report:#}");
    let not_made = ("fault_not_made".to_owned(), late.to_owned());
    assert!(doubts_of(&report).contains(&not_made), "{report:#}");
}

#[test]
fn a_heal_that_another_command_stands_in_the_way_of_comes_as_soon_as_it_can() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let node = lab.node_pids()[0];
    let words = "at 500ms for 2s pause node1";
    let run = lab.begin(&[&RUN[..], &["--duration", "10s", "--fault", words]].concat());
    // Not by `list`, which may take as long as the pause.
    look::wait_for("the pause", PATIENCE, || {
        let stat = fs_err::read_to_string(format!("/proc/{node}/stat")).expect("the node");
        if stat.contains(") T ") {
            Ok(())
        } else {
            Err(stat)
        }
    });
    let lock = lock_of(&lab);
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    // Longer than the rest of the pause, and than a heal waits for the cluster.
    std::thread::sleep(Duration::from_secs(5));
    drop(lock);
    until(&lab, &["running"]);
    let said = run.end();
    assert!(said.code == "0" || said.code == "5", "{said}");
    assert!(
        said.err.contains(&format!("fault '{words}': healed")),
        "{said}"
    );
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    let (_, made, from_s, to_s) = faults_of(&report).remove(0);
    assert!(made && to_s - from_s >= 4.0, "{report:#}");
}

#[test]
fn an_ephemeral_cluster_takes_its_faults_with_it() {
    let lab = TestLab::fake("serve");
    let words = [
        "--phases",
        "write",
        "--rate",
        "50",
        "--duration",
        "2s",
        "--warmup",
        "0s",
    ];
    let fault = ["--fault", "at 500ms kill node1", "--format", "json"];
    let out = lab.measured(&[&["bench"], &words[..], &fault].concat());
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert!(faults_of(&report)[0].1, "{report:#}");
    assert_eq!(lab.processes(), vec![]);
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}
