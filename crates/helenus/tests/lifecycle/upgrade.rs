//! Upgrades of made-up nodes: each step in turn, back again, and on from where one was cut off.
//! Refuses to believe the words alone: the state on disk and what nodes answer are looked at.

use crate::lab::TestLab;
use serde_json::Value;

fn state(lab: &TestLab) -> Value {
    let text = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn modes(lab: &TestLab) -> Vec<String> {
    let state = state(lab);
    let nodes = state["plan"]["nodes"].as_array().unwrap().iter();
    let mode = |node: &Value| {
        let yaml = node["yaml"].as_str().unwrap().to_owned();
        let line = yaml.lines().find(|l| l.starts_with("storage_compat"));
        line.unwrap_or("no mode").to_owned()
    };
    nodes.map(mode).collect()
}

#[test]
fn a_cluster_goes_to_5_0_back_to_4_1_and_through_all_modes() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2", "--cassandra", "4.1"]);
    let dry = lab.run(&["upgrade", "c", "--to", "5.0", "--dry-run"]);
    shot!(dry, @"
    exit code: 0
    --- standard output
    c to Cassandra 5.0.9: 8 steps
      1. node1: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4
      2. node2: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4
      3. node1: restart on 5.0.9, storage compatibility mode UPGRADING
      4. node2: restart on 5.0.9, storage compatibility mode UPGRADING
      5. node1: restart on 5.0.9, storage compatibility mode NONE
      6. node2: restart on 5.0.9, storage compatibility mode NONE
      7. node1: upgradesstables
      8. node2: upgradesstables
    ");
    assert_eq!(state(&lab)["plan"]["release"], "4.1.10");
    let until = ["upgrade", "c", "--to", "5.0", "--until", "cassandra_4"];
    let pids = lab.node_pids();
    lab.done(&until);
    assert_ne!(lab.node_pids(), pids);
    assert_eq!(state(&lab)["plan"]["release"], "5.0.9");
    assert_eq!(modes(&lab), ["storage_compatibility_mode: CASSANDRA_4"; 2]);
    let listed = lab.done(&["list"]);
    assert_eq!(listed.matches("5.0.9").count(), 2, "{listed}");

    lab.done(&["upgrade", "c", "--to", "4.1"]);
    assert_eq!(state(&lab)["plan"]["release"], "4.1.10");
    assert_eq!(modes(&lab), ["no mode"; 2]);

    let whole = lab.done(&["upgrade", "c", "--to", "5.0", "--format", "json"]);
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["format"], "helenus.upgrade/1");
    assert_eq!(whole["until"], "NONE");
    let steps = whole["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 8);
    assert!(
        steps.iter().all(|step| step["seconds"].is_number()),
        "{whole}"
    );
    assert_eq!(modes(&lab), ["storage_compatibility_mode: NONE"; 2]);
    let after = state(&lab);
    assert!(
        after["upgrade"].is_null() && after["releases"].is_null(),
        "{after}"
    );
    shot!(lab.run(&["upgrade", "c", "--to", "5.0"]), @"
    exit code: 0
    --- standard output
    c: nothing to do, it runs 5.0.9
    ");
    shot!(lab.run(&["upgrade", "c", "--to", "4.1"]), @"
    exit code: 2
    --- standard error
    error: node1 runs 5.0.9 in storage compatibility mode NONE: 4.1.10 cannot read its files
    hint: a cluster can be downgraded only while all nodes are in CASSANDRA_4 (`helenus upgrade NAME --to 5.0 --until CASSANDRA_4`); restore a baseline of the older release
    ");
    lab.done(&["rm", "c"]);
    lab.leave();
}

#[test]
fn an_upgrade_that_was_cut_off_goes_on_and_nobody_else_is_stopped_meanwhile() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "3", "--cassandra", "4.0.19"]);
    shot!(lab.run(&["upgrade", "c"]), @"
    exit code: 2
    --- standard error
    error: upgrade c to which release?
    hint: name it with --to, such as --to 5.0
    ");
    // The new release does not start.
    let file = lab.cluster("c").join("cluster.json");
    let fake = |from: &str, to: &str| {
        let text = fs_err::read_to_string(&file).unwrap();
        let named = |behaviour: &str| format!("helenus-fake-node {behaviour}\"");
        fs_err::write(&file, text.replace(&named(from), &named(to))).unwrap();
    };
    let before = lab.node_pids();
    fake("ready", "crash");
    let said = lab.run(&["upgrade", "c", "--to", "4.1"]);
    assert_eq!(said.code, "4", "{said}");
    let cut = state(&lab);
    assert_eq!(cut["upgrade"]["in_hand"], "node1", "{cut}");
    assert_eq!(cut["releases"]["node1"]["release"], "4.1.10", "{cut}");
    assert_eq!(cut["plan"]["release"], "4.0.19");
    let left = lab.node_pids();
    assert!(left.len() == 2 && left.iter().all(|pid| before.contains(pid)));
    let listed = lab.done(&["list"]);
    assert!(
        listed.contains("4.1.10") && listed.contains("4.0.19"),
        "{listed}"
    );
    let refused = lab.run(&["baseline", "save", "c", "x"]);
    assert_eq!(refused.code, "2", "{refused}");
    assert!(
        refused.err.contains("in the middle of an upgrade"),
        "{refused}"
    );
    shot!(lab.run(&["node", "add", "c"]), @"
    exit code: 2
    --- standard error
    error: c is in the middle of an upgrade: its nodes are of two releases, and cannot stream to each other
    hint: `helenus upgrade c` continues it; change the nodes afterwards
    ");

    fake("crash", "ready");
    let done = lab.done(&["upgrade", "c"]);
    assert!(done.contains("c runs Cassandra 4.1.10"), "{done}");
    assert_eq!(state(&lab)["plan"]["release"], "4.1.10");
    assert_eq!(lab.node_pids().len(), 3);

    lab.done(&["stop", "c/node2"]);
    shot!(lab.run(&["upgrade", "c", "--to", "4.1.5"]), @"
    exit code: 2
    --- standard error
    error: not all nodes of the cluster are running; down: node2
    hint: start them first (`helenus start NAME`): one node is down at a time, the others serve
    ");
    lab.done(&["rm", "c"]);
    lab.leave();
}
