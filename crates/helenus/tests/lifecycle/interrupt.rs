//! Ctrl-C, SIGTERM and SIGHUP while helenus works: exit code 130, and nothing left.
//! Refuses to count on a moment: the test waits until the node is there, then interrupts.

use crate::lab::{PATIENCE, Running, TestLab, look};
use rustix::process::Signal;

/// `helenus ARGUMENTS`, run until so many nodes are there.
fn until_nodes(lab: &TestLab, arguments: &[&str], nodes: usize) -> Running {
    let mut running = lab.begin(arguments);
    look::wait_for("the nodes", PATIENCE, || {
        assert!(running.runs(), "helenus {arguments:?} ended early");
        let pids = lab.node_pids();
        if pids.len() == nodes {
            Ok(())
        } else {
            Err(format!("{pids:?}"))
        }
    });
    running
}

fn nothing_is_left(lab: &TestLab) {
    assert_eq!(lab.processes(), vec![]);
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
    assert_eq!(look::claims_of(&lab.path("home")).len(), 0);
}

#[test]
fn ctrl_c_during_up() {
    let lab = TestLab::fake("hang");
    let up = until_nodes(&lab, &["up", "c", "-n", "2"], 2);
    up.signal(Signal::INT);
    shot!(up.end(), @"
    exit code: 130
    --- standard error
    error: interrupted, and cleaned up
    ");
    nothing_is_left(&lab);
}

#[test]
fn ctrl_c_in_ten_moments_of_up() {
    let begin = std::time::Instant::now();
    TestLab::fake("slow").done(&["up", "c", "-n", "2"]);
    let length = begin.elapsed();
    for moment in 0..10 {
        let lab = TestLab::fake("slow");
        let mut up = lab.begin(&["up", "c", "-n", "2"]);
        std::thread::sleep(length * moment / 10);
        if up.runs() {
            up.signal(Signal::INT);
        }
        let said = up.end();
        match said.code.as_str() {
            // It was done before the word reached it.
            "0" => assert_eq!(lab.states("c").0, "running"),
            // Before it had begun to listen, it has made nothing either.
            "130" | "signal 2" => nothing_is_left(&lab),
            other => panic!("{other} in moment {moment}\n{said}"),
        }
    }
}

#[test]
fn sigterm_and_sighup_during_up() {
    for signal in [Signal::TERM, Signal::HUP] {
        let lab = TestLab::fake("hang");
        let up = until_nodes(&lab, &["up", "c"], 1);
        up.signal(signal);
        let said = up.end();
        assert_eq!(said.code, "130", "{said}");
        nothing_is_left(&lab);
    }
}

#[test]
fn ctrl_c_while_a_node_is_deaf() {
    let lab = TestLab::fake("deaf");
    let up = until_nodes(&lab, &["up", "c"], 1);
    up.signal(Signal::INT);
    assert_eq!(up.end().code, "130");
    nothing_is_left(&lab);
}

#[test]
fn ctrl_c_during_start_keeps_the_data() {
    let mut lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    lab.done(&["stop", "c"]);
    lab.write("home/state/clusters/c/node1/data/a-table", "rows");
    // The state says how the node behaves: it hangs from now on.
    let state = lab.cluster("c").join("cluster.json");
    let text = fs_err::read_to_string(&state).expect("a state");
    fs_err::write(
        &state,
        text.replace("helenus-fake-node ready\"", "helenus-fake-node hang\""),
    )
    .expect("a state");
    lab.behave("hang");
    let start = until_nodes(&lab, &["start", "c"], 1);
    start.signal(Signal::INT);
    shot!(start.end(), @"
    exit code: 130
    --- standard error
    error: interrupted, and cleaned up
    ");
    assert_eq!(lab.states("c").0, "stopped");
    let kept = lab.path("home/state/clusters/c/node1/data/a-table");
    assert_eq!(fs_err::read_to_string(kept).expect("data"), "rows");
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_rm_removes_the_rest() {
    let lab = TestLab::fake("deaf");
    let mut up = until_nodes(&lab, &["up", "c"], 1);
    up.signal(Signal::INT);
    if up.runs() {
        up.signal(Signal::INT);
    }
    assert_eq!(up.end().code, "130");
    lab.done(&["rm", "--all"]);
    nothing_is_left(&lab);
}

#[test]
fn ctrl_c_during_bench() {
    let lab = TestLab::fake("hang");
    let bench = until_nodes(&lab, &["bench"], 1);
    bench.signal(Signal::INT);
    shot!(bench.end(), @"
    exit code: 130
    --- standard error
    error: interrupted, and cleaned up
    ");
    nothing_is_left(&lab);
}

#[test]
fn a_stop_that_is_cut_off_leaves_nodes_that_were_asked_to_stop() {
    let lab = TestLab::fake("ignore-term");
    lab.done(&["up", "c"]);
    let node = lab.node_pids()[0];
    let mut stop = lab.begin(&["stop", "c"]);
    let state = lab.cluster("c").join("cluster.json");
    look::wait_for("the word in the state", PATIENCE, || {
        let text = fs_err::read_to_string(&state).expect("a state");
        if text.contains("\"wanted\": \"stopped\"") {
            Ok(())
        } else {
            Err(text)
        }
    });
    assert!(stop.runs());
    stop.signal(Signal::KILL);
    stop.end();
    assert!(look::lives(node));
    lab.done(&["kill", "c/node1"]);
    assert_eq!(lab.states("c").0, "stopped");
}
