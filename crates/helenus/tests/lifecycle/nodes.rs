//! Nodes that come and go, as far as no Cassandra is needed: what is on disk, refused, cut off and gone on with.
//! Refuses to believe the words alone: processes, state and claims are looked at.

use crate::lab::{PATIENCE, TestLab, look};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// The state on disk.
fn state(lab: &TestLab) -> Value {
    let text = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).expect("a state");
    serde_json::from_str(&text).expect("JSON")
}

fn names(lab: &TestLab) -> Vec<String> {
    let state = state(lab);
    let nodes = state["plan"]["nodes"].as_array().expect("nodes").iter();
    nodes
        .filter_map(|n| Some(n["name"].as_str()?.to_owned()))
        .collect()
}

#[test]
fn a_node_is_added_with_tokens_address_and_folder_of_its_own() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    let dry = lab.json(&["node", "add", "c", "--dry-run"]);
    assert_eq!(names(&lab), ["node1", "node2"]);
    assert_eq!(lab.node_pids().len(), 2);
    let added = lab.json(&["node", "add", "c", "--rack", "rack2"]);
    // Another cluster on this machine may take the planned address in between.
    for key in ["name", "tokens", "data_center"] {
        assert_eq!(added["node"][key], dry["node"][key], "{key}");
    }
    for node in [&added["node"], &dry["node"]] {
        assert_ne!(node["address"], state(&lab)["plan"]["nodes"][1]["address"]);
    }
    assert_eq!(
        state(&lab)["plan"]["nodes"][2]["address"],
        added["node"]["address"]
    );
    assert_eq!(added["node"]["rack"], "rack2");
    assert_eq!(added["before"]["nodes"].as_array().map(Vec::len), Some(2));
    assert_eq!(added["after"]["nodes"].as_array().map(Vec::len), Some(3));
    assert_eq!(lab.node_pids().len(), 3);
    assert_eq!(
        lab.json(&["env", "c"])["contact_points"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    // While it joined it bootstrapped; from now on it starts as the others do.
    let yaml = || {
        fs_err::read_to_string(lab.cluster("c").join("node3/conf/cassandra.yaml")).expect("a file")
    };
    assert!(yaml().contains("auto_bootstrap: true"), "{}", yaml());
    assert_eq!(state(&lab)["nodes"]["node3"]["joining"], Value::Null);
    lab.done(&["stop", "c"]);
    lab.done(&["start", "c"]);
    assert!(yaml().contains("auto_bootstrap: false"), "{}", yaml());
    assert_eq!(lab.states("c").1, ["running", "running", "running"]);
}

#[test]
fn a_node_that_does_not_come_in_is_kept_reported_and_removed() {
    let lab = TestLab::fake("crash-second");
    lab.done(&["up", "c"]);
    let said = lab.run(&["node", "add", "c"]);
    assert!(said.code == "4", "{said}");
    assert_eq!(lab.states("c").1, ["running", "stopped"]);
    shot!(lab.run(&["node", "add", "c"]), @"
    exit code: 2
    --- standard error
    error: node2 of c has not joined yet
    hint: `helenus start c/node2` continues, `helenus node remove c/node2` removes it
    ");
    shot!(lab.run(&["node", "decommission", "c/node2"]), @"
    exit code: 2
    --- standard error
    error: node2 of c has not joined yet
    hint: `helenus start c/node2` continues, `helenus node remove c/node2` removes it
    ");
    let said = lab.run(&["node", "remove", "c/node2"]);
    shot_live!(said.nodes_by_state(), @"
    exit code: 0
    --- standard output
    c: node2 was removed ([address]:[port], datacenter1 rack1), nothing streamed, after [time]

    before
    Datacenter: datacenter1
    =======================
    Status=Up/Down
    |/ State=Normal/Leaving/Joining/Moving
    --  Address  Load  Tokens  Owns  Host ID  Rack 
    DN  [address]  ?  1  ?  6e6f6465-3207-0707-0707-070707070707  rack1
    UN  [address]  ?  1  ?  6e6f6465-3107-0707-0707-070707070707  rack1

    Note: The node does not have system_traces yet, probably still bootstrapping. Effective ownership information is meaningless.

    now
    Datacenter: datacenter1
    =======================
    Status=Up/Down
    |/ State=Normal/Leaving/Joining/Moving
    --  Address  Load  Owns  Host ID  Token  Rack 
    UN  [address]  ?  ?  6e6f6465-3107-0707-0707-070707070707  0  rack1

    Note: The node does not have system_traces yet, probably still bootstrapping. Effective ownership information is meaningless.
    ");
    assert_eq!(names(&lab), ["node1"]);
    assert!(!lab.cluster("c").join("node2").exists());
    // Neither its name nor its address is given again.
    let address = state(&lab)["gone"][0]["address"].clone();
    let next = lab.json(&["node", "add", "c"]);
    assert_eq!(next["node"]["name"], "node3");
    assert_ne!(next["node"]["address"], address);
}

#[test]
fn a_bootstrap_that_was_cut_off_goes_on_with_start() {
    let lab = TestLab::fake("slow");
    lab.done(&["up", "c"]);
    let mut add = lab.begin(&["node", "add", "c"]);
    look::wait_for("the second node", PATIENCE, || {
        match lab.node_pids().len() {
            2 => Ok(()),
            n => Err(format!("{n} nodes")),
        }
    });
    assert!(add.runs());
    add.signal(Signal::KILL);
    add.end();
    assert_eq!(state(&lab)["nodes"]["node2"]["joining"]["how"], "bootstrap");
    let before = lab.node_pids();
    lab.done(&["start", "c"]);
    assert_eq!(lab.node_pids(), before);
    assert_eq!(state(&lab)["nodes"]["node2"]["joining"], Value::Null);
    // A node that was ended half-way is started again as one that joins.
    let add = lab.begin(&["node", "add", "c"]);
    look::wait_for("the third node", PATIENCE, || match lab.node_pids().len() {
        3 => Ok(()),
        n => Err(format!("{n} nodes")),
    });
    add.signal(Signal::KILL);
    add.end();
    lab.done(&["stop", "c"]);
    lab.done(&["start", "c"]);
    assert_eq!(lab.states("c").1, ["running", "running", "running"]);
    assert_eq!(state(&lab)["nodes"]["node3"]["joining"], Value::Null);
}

#[test]
fn an_interrupted_add_leaves_nothing() {
    let lab = TestLab::fake("slow");
    lab.done(&["up", "c"]);
    let mut add = lab.begin(&["node", "add", "c"]);
    look::wait_for("the second node", PATIENCE, || {
        match lab.node_pids().len() {
            2 => Ok(()),
            n => Err(format!("{n} nodes")),
        }
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(add.runs());
    add.signal(Signal::INT);
    let said = add.end();
    assert!(said.code == "130", "{said}");
    assert_eq!(names(&lab), ["node1"]);
    assert_eq!(lab.node_pids().len(), 1);
    assert!(!lab.cluster("c").join("node2").exists());
}

#[test]
fn what_cannot_come_or_go_is_refused_with_the_cure() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    shot!(lab.run(&["node", "add", "c", "--dc", "DC2"]), @"
    exit code: 2
    --- standard error
    error: cluster c has no data centre DC2
    hint: known: datacenter1; a whole data centre is added with a new cluster: `helenus up --dc`
    ");
    shot!(lab.run(&["node", "add", "c", "--rack", "a b"]), @r#"
    exit code: 2
    --- standard error
    error: "a b" cannot name a rack: use 1 to 40 letters, digits, - and _, a letter first
    hint: a rack has a name like rack2
    "#);
    shot!(lab.run(&["node", "add", "c", "--keyspace", "app"]), @r#"
    exit code: 2
    --- standard error
    error: no such keyspace: "app"
    hint: the cluster has no user keyspace yet
    "#);
    shot!(lab.run(&["node", "decommission", "c"]), @"
    exit code: 2
    --- standard error
    error: which node to decommission?
    hint: one of c/node1, c/node2
    ");
    shot!(lab.run(&["node", "decommission", "c/node7"]), @"
    exit code: 2
    --- standard error
    error: cluster c has no node named node7
    hint: did you mean node2?
    ");
    shot!(lab.run(&["node", "remove", "c/node2"]), @"
    exit code: 2
    --- standard error
    error: node2 of c is running
    hint: `helenus node decommission c/node2` streams its data to the others first; `helenus kill c/node2` kills it
    ");
    shot!(lab.run(&["node", "replace", "c/2"]), @"
    exit code: 2
    --- standard error
    error: node2 of c is running
    hint: `helenus node decommission c/node2` streams its data to the others first; `helenus kill c/node2` kills it
    ");
    lab.done(&["kill", "c/node2"]);
    shot!(lab.run(&["node", "decommission", "c/node2"]), @"
    exit code: 4
    --- standard error
    error: node2 of c is not running
    hint: `helenus start c` starts it; a dead node is taken out with `helenus node remove c/node2` or `helenus node replace c/node2`
    ");
    shot!(lab.run(&["node", "add", "c"]), @"
    exit code: 4
    --- standard error
    error: node2 of c is not running
    hint: `helenus start c` starts it; a dead node is taken out with `helenus node remove c/node2` or `helenus node replace c/node2`; --force continues anyway
    ");
    shot!(lab.run(&["node", "decommission", "c/node1"]), @"
    exit code: 4
    --- standard error
    error: node2 of c is not running
    hint: `helenus start c` starts it; a dead node is taken out with `helenus node remove c/node2` or `helenus node replace c/node2`
    ");
    let dry = lab.json(&["node", "replace", "c/node2", "--dry-run"]);
    assert_eq!(dry["node"]["name"], "node3");
    assert_eq!(dry["node"]["tokens"], dry["replaces"]["tokens"]);
    let dry = lab.json(&["node", "replace", "c/node2", "--dry-run", "--same-address"]);
    assert_eq!(dry["node"], dry["replaces"]);
    assert_eq!(names(&lab), ["node1", "node2"]);
    // One node is no cluster that another could leave.
    lab.done(&["up", "d"]);
    shot!(lab.run(&["node", "decommission", "d/node1"]), @"
    exit code: 2
    --- standard error
    error: node1 is the only node of d that holds data
    hint: `helenus rm d` removes the cluster
    ");
}

#[test]
fn a_node_that_leaves_takes_its_other_disks_and_what_was_done_to_it_along() {
    let lab = TestLab::fake("slow");
    let disk = lab.path("disk");
    lab.done(&["up", "c", "--data-dir", &disk.to_string_lossy()]);
    let mut add = lab.begin(&["node", "add", "c"]);
    look::wait_for("the second node", PATIENCE, || {
        match lab.node_pids().len() {
            2 => Ok(()),
            n => Err(format!("{n} nodes")),
        }
    });
    assert!(add.runs());
    add.signal(Signal::KILL);
    add.end();
    lab.done(&["fault", "c", "kill", "node2"]);
    assert!(disk.join("c-node2/data").is_dir());
    let journal = lab.cluster("c").join("faults.json");
    let before = fs_err::read_to_string(&journal).expect("a journal");
    lab.done(&["node", "remove", "c/node2"]);
    assert!(!disk.join("c-node2").exists());
    assert!(disk.join("c-node1/data").is_dir());
    let faults = || lab.json(&["fault", "c"])["faults"].clone();
    assert_eq!(faults().as_array().map(Vec::len), Some(0));
    // A journal of an earlier version still has it.
    fs_err::write(&journal, before).expect("a journal");
    assert_eq!(faults()[0]["holds"], false);
    lab.done(&["heal", "c", "--all"]);
    assert_eq!(faults().as_array().map(Vec::len), Some(0));
}

#[test]
fn a_node_that_comes_back_at_its_address_finds_nothing_on_its_other_disks() {
    let lab = TestLab::fake("ready");
    let disk = lab.path("disk");
    let disk_words = disk.to_string_lossy();
    // No other owner has to hold it for dead first, which takes a Cassandra.
    let up = ["up", "c", "-n", "1", "--coordinators", "1", "--data-dir"];
    lab.done(&[&up[..], &[&*disk_words]].concat());
    lab.done(&["kill", "c/node1"]);
    let rows = disk.join("c-node1/data/rows");
    fs_err::write(&rows, "rows").expect("a file");
    lab.done(&["node", "replace", "c/node1", "--same-address"]);
    assert!(!rows.exists());
    assert!(disk.join("c-node1/data").is_dir());
    assert_eq!(lab.states("c").1, ["running", "running"]);
}
