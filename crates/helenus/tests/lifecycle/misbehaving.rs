//! Nodes that die, hang, stay deaf, take no SIGTERM, leave children behind, or flood their log.
//! Refuses a time-out as an answer where the cause can be named.

use crate::lab::{PATIENCE, TestLab, fake_node, look};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;

#[test]
fn a_node_that_dies_at_its_start() {
    let lab = TestLab::fake("crash");
    shot_live!(lab.run(&["up", "c"]), @"
    exit code: 4
    --- standard error
    error: node1 died [time] after its start (exit status: 1)
      | ERROR fake node: the fake node was told to crash
    hint: its log shows more: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    // What failed by itself is kept for a look.
    assert_eq!(lab.states("c").0, "stopped");
    let log = lab.done(&["logs", "c"]);
    assert!(log.contains("told to crash"), "{log}");
    shot_live!(lab.run(&["start", "c"]), @"
    exit code: 4
    --- standard error
    error: node1 died [time] after its start (exit status: 1)
      | ERROR fake node: the fake node was told to crash
    hint: its log shows more: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    lab.done(&["rm", "c"]);
    assert!(!lab.cluster("c").exists());
}

#[test]
fn a_new_coordinator_starts_when_the_ring_is_there() {
    let lab = TestLab::fake("crash");
    let failed = lab.run(&["up", "c", "-n", "1", "--coordinators", "1"]);
    assert_eq!(failed.code, "4", "{failed}");
    let log = |node: &str| lab.cluster("c").join(node).join("logs/console.log");
    assert!(log("node1").exists());
    assert!(!log("node2").exists(), "started without a ring");
}

#[test]
fn one_of_three_dies_and_the_others_end_with_it() {
    let lab = TestLab::fake("crash-second");
    let said = lab.run(&["up", "c", "-n", "3"]);
    assert_eq!(said.code, "4", "{said}");
    assert!(said.err.contains("node2 died"), "{said}");
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
    assert_eq!(lab.states("c").0, "stopped");
}

#[test]
fn a_node_that_hangs() {
    let lab = TestLab::fake("hang");
    shot_live!(lab.run(&["up", "c", "--ready-within", "500ms"]), @"
    exit code: 4
    --- standard error
    error: node1 was not ready after [time]; last seen: node1 does not answer: [address]:[port] refused the connection
    hint: its log shows more: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
    assert_eq!(lab.states("c").0, "stopped");
}

#[test]
fn an_answer_of_somebody_else_is_not_the_node_s() {
    let lab = TestLab::fake("hang");
    let up = lab.begin(&["up", "c", "--ready-within", "5s"]);
    look::wait_for("the process of the node", PATIENCE, || {
        lab.node_pids()
            .first()
            .map(drop)
            .ok_or_else(|| "none".to_owned())
    });
    let folder = lab.cluster("c").join("node1");
    // What the node would say, from another process.
    let mut stranger = Command::new(fake_node());
    lab.dress(&mut stranger);
    stranger.arg("ready").arg(folder);
    let _stranger = lab.begin_command(stranger);
    shot_live!(up.end(), @"
    exit code: 4
    --- standard error
    error: node1 was not ready after [time]; last seen: another process answers at the address of node1
    hint: another program listens on its address: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    assert_eq!(lab.states("c").0, "stopped");
}

#[test]
fn a_node_that_listens_and_never_answers() {
    let lab = TestLab::fake("deaf");
    // Time enough for a busy machine to have it listen.
    shot_live!(lab.run(&["up", "c", "--ready-within", "3s"]), @"
    exit code: 4
    --- standard error
    error: node1 was not ready after [time]; last seen: node1 does not answer: no answer to STARTUP within [time]
    hint: its log shows more: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
}

#[test]
fn a_node_that_is_slow_is_waited_for() {
    let lab = TestLab::fake("slow");
    lab.done(&["up", "c", "-n", "2"]);
    assert_eq!(lab.states("c").0, "running");
}

#[test]
fn a_node_that_takes_no_sigterm() {
    let lab = TestLab::fake("ignore-term");
    lab.done(&["up", "c"]);
    let pids = lab.node_pids();
    // It is deaf to a polite word, hence rm and kill send no such.
    kill_process(Pid::from_raw(pids[0]).expect("a pid"), Signal::TERM).expect("our own node");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(look::lives(pids[0]));
    lab.done(&["kill", "c/node1"]);
    assert!(!look::lives(pids[0]));
    lab.done(&["start", "c"]);
    lab.done(&["rm", "c"]);
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
}

#[test]
fn stop_kills_what_does_not_stop_by_itself() {
    let lab = TestLab::fake("ignore-term");
    lab.done(&["up", "c"]);
    shot_live!(lab.run(&["stop", "c", "--within", "300ms"]), @"
    exit code: 0
    --- standard output
    c: node1 stopped; the data stays
    --- standard error
    caution: node1 did not stop by itself and was killed
    ");
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
    assert_eq!(lab.states("c").0, "stopped");
}

#[test]
fn a_grandchild_does_not_keep_a_dead_node_alive() {
    let lab = TestLab::fake("fork");
    lab.done(&["up", "c"]);
    let node = lab.node_pids()[0];
    let grandchild = grandchild(&lab);
    kill_process(Pid::from_raw(node).expect("a pid"), Signal::KILL).expect("our own node");
    look::wait_for("the node's end", PATIENCE, || {
        if look::lives(node) {
            Err("it lives".into())
        } else {
            Ok(())
        }
    });
    assert!(look::lives(grandchild));
    assert_eq!(lab.states("c"), ("died".into(), vec!["died".into()]));
    lab.done(&["start", "c"]);
    assert_eq!(lab.states("c").0, "running");
    kill_process(Pid::from_raw(grandchild).expect("a pid"), Signal::KILL).expect("our own");
}

#[test]
fn rm_ends_the_grandchildren_of_a_node_too() {
    let lab = TestLab::fake("fork");
    lab.done(&["up", "c"]);
    let grandchild = grandchild(&lab);
    lab.done(&["rm", "c"]);
    look::wait_for("the grandchild's end", PATIENCE, || {
        if look::lives(grandchild) {
            Err("it lives".into())
        } else {
            Ok(())
        }
    });
}

fn grandchild(lab: &TestLab) -> i32 {
    let found = lab
        .processes()
        .into_iter()
        .find(|p| p.command.starts_with("sleep"));
    found.expect("the fake node's grandchild").pid
}

#[test]
fn a_log_of_megabytes_stands_in_nobodys_way() {
    let lab = TestLab::fake("noisy-log");
    lab.done(&["up", "c"]);
    assert_eq!(lab.done(&["logs", "c"]).lines().count(), 100_000);
    assert_eq!(lab.done(&["logs", "c", "--tail", "3"]).lines().count(), 3);
}

#[test]
fn a_node_that_dies_later_is_reported_as_died() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    let victim = lab.json(&["list"])["clusters"][0]["nodes"][1]["pid"].as_i64();
    let victim = i32::try_from(victim.expect("a pid")).expect("a pid");
    kill_process(Pid::from_raw(victim).expect("a pid"), Signal::KILL).expect("our own node");
    look::wait_for("the node's end", PATIENCE, || {
        if look::lives(victim) {
            Err("it lives".into())
        } else {
            Ok(())
        }
    });
    assert_eq!(
        lab.states("c"),
        ("died".into(), vec!["running".into(), "died".into()])
    );
    shot_live!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    c/node1  running  5.0.9  tiny  [address]:[port]  [pid]  [size]  [size]  [size]  [size]
    c/node2  died  5.0.9  tiny  [address]:[port]  [size]
    ");
    lab.done(&["start", "c"]);
    assert_eq!(lab.states("c").0, "running");
}
