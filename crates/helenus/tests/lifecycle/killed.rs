//! `kill -9` of helenus at any moment: whatever is left, `rm --all` removes.
//! Refuses to choose a comfortable moment: ten moments a behaviour, spread over the whole `up`.

use crate::lab::{PATIENCE, TestLab, look};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long an undisturbed command takes, so that the moments lie within it on any machine.
fn length(behaviour: &str, arguments: &[&str]) -> Duration {
    let lab = TestLab::fake(behaviour);
    let begin = Instant::now();
    lab.run(arguments);
    begin.elapsed()
}

/// Kills the command in ten moments of it, each in a home of its own; every lab looks at what is left.
fn in_ten_moments(behaviour: &str, arguments: &[&str], length: Duration) {
    for moment in 0..10_u32 {
        let lab = TestLab::fake(behaviour);
        let mut command = lab.begin(arguments);
        // Not evenly: the remainder of the clock moves each moment within its tenth.
        let jitter = std::process::id() % 10;
        std::thread::sleep(length * (moment * 10 + jitter) / 100);
        if command.runs() {
            command.signal(Signal::KILL);
        }
        command.end();
        // Whatever it was, it can be listed.
        lab.done(&["list"]);
        lab.leave();
    }
}

#[test]
fn up_of_a_ready_node() {
    let arguments = ["up", "c", "-n", "2"];
    in_ten_moments("ready", &arguments, length("ready", &arguments));
}

#[test]
fn up_of_a_node_that_hangs() {
    let arguments = ["up", "c", "-n", "3"];
    in_ten_moments("hang", &arguments, length("ready", &arguments));
}

#[test]
fn up_of_a_slow_node() {
    let arguments = ["up", "c"];
    in_ten_moments("slow", &arguments, length("slow", &arguments));
}

#[test]
fn bench_with_its_generator() {
    // Its generator finds no database, after a while of trying.
    let arguments = ["bench", "--rate", "10", "--phases", "write"];
    in_ten_moments("ready", &arguments, length("ready", &arguments));
}

#[test]
fn bench_before_its_node_is_ready() {
    let arguments = ["bench", "--ready-within", "200ms"];
    in_ten_moments("hang", &arguments, length("hang", &arguments));
}

#[test]
fn rm_itself() {
    for moment in 0..5_u32 {
        let lab = TestLab::fake("ready");
        lab.done(&["up", "c", "-n", "2"]);
        let mut rm = lab.begin(&["rm", "c"]);
        std::thread::sleep(Duration::from_millis(u64::from(moment) * 4));
        if rm.runs() {
            rm.signal(Signal::KILL);
        }
        rm.end();
        lab.leave();
    }
}

#[test]
fn nodes_of_up_outlive_it_and_can_be_found_again() {
    let lab = TestLab::fake("slow");
    let mut up = lab.begin(&["up", "c"]);
    look::wait_for("the node", PATIENCE, || one(&lab));
    assert!(up.runs());
    up.signal(Signal::KILL);
    up.end();
    assert_eq!(lab.states("c").0, "running");
    lab.done(&["start", "c"]);
    assert_eq!(lab.node_pids().len(), 1);
}

#[test]
fn nodes_of_bench_die_with_it() {
    let lab = TestLab::fake("hang");
    let mut bench = lab.begin(&["bench"]);
    look::wait_for("the node", PATIENCE, || one(&lab));
    let node = lab.node_pids()[0];
    assert!(bench.runs());
    bench.signal(Signal::KILL);
    bench.end();
    look::wait_for("the node's end", PATIENCE, || {
        if look::lives(node) {
            Err("it lives".into())
        } else {
            Ok(())
        }
    });
    assert_eq!(lab.states("bench1").0, "abandoned");
    shot_live!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    bench1/node1  abandoned  5.0.9  bench  [address]:[port]  [size]
    ");
    shot_live!(lab.run(&["rm", "--all"]), @"
    exit code: 0
    --- standard output
    removed bench1: 1 node (0 running), [size] in [LAB]/home/state/clusters/bench1
    ");
}

fn one(lab: &TestLab) -> Result<(), String> {
    let pids = lab.node_pids();
    if pids.len() == 1 {
        Ok(())
    } else {
        Err(format!("{pids:?}"))
    }
}
