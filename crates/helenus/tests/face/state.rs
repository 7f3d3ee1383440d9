//! Names that are not there, clusters that are broken, states of a newer Helenus.
//! Refuses to let a broken cluster stand in the way of another, or of its own removal.

use crate::lab::TestLab;

/// A lab with running clusters of these names.
fn with_clusters(names: &[&str]) -> TestLab {
    let lab = TestLab::fake("ready");
    for name in names {
        lab.done(&["up", name]);
    }
    lab
}

#[test]
fn no_cluster_at_all() {
    let lab = TestLab::new();
    for verb in ["stop", "start", "status", "logs", "env"] {
        let said = lab.run(&[verb]);
        assert_eq!(said.code, "2", "{verb}\n{said}");
        assert!(said.err.contains("which cluster? there is none"), "{said}");
    }
    shot!(lab.run(&["env"]), @"
    exit code: 2
    --- standard error
    error: which cluster? there is none
    hint: bring one up with `helenus up`
    ");
    shot!(lab.run(&["cqlsh", "-e", "SELECT 1"]), @"
    exit code: 2
    --- standard error
    error: which cluster? there is none
    hint: bring one up with `helenus up`
    ");
    shot!(lab.run(&["kill", "c"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c
    hint: none exists; bring one up with `helenus up`
    ");
    shot!(lab.run(&["bench", "--cluster", "c"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c
    hint: none exists; bring one up with `helenus up`
    ");
}

#[test]
fn rm_of_nothing() {
    let lab = TestLab::new();
    shot!(lab.run(&["rm", "c"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c
    hint: none exists; bring one up with `helenus up`
    ");
    shot!(lab.run(&["rm", ".."]), @"
    exit code: 2
    --- standard error
    error: no such cluster: ..
    hint: none exists; bring one up with `helenus up`
    ");
    assert_eq!(lab.run(&["rm", ""]).code, "2");
}

#[test]
fn unknown_clusters_and_nodes() {
    let lab = with_clusters(&["orders"]);
    shot!(lab.run(&["stop", "order"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: order
    hint: did you mean orders?
    ");
    shot!(lab.run(&["env", "zzz"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: zzz
    hint: known: orders
    ");
    shot!(lab.run(&["pause", "orders/node2"]), @"
    exit code: 2
    --- standard error
    error: cluster orders has no node named node2
    hint: did you mean node1?
    ");
    shot!(lab.run(&["logs", "orders/9"]), @"
    exit code: 2
    --- standard error
    error: cluster orders has no node named node9
    hint: did you mean node1?
    ");
    shot!(lab.run(&["nodetool", "oders", "status"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: oders
    hint: did you mean orders?
    ");
    shot!(lab.run(&["start", "../orders"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: ..
    hint: known: orders
    ");
}

#[test]
fn a_mistyped_name_among_several_removes_nothing() {
    let lab = with_clusters(&["orders"]);
    shot!(lab.run(&["rm", "orders", "payments"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: payments
    hint: known: orders
    ");
    assert_eq!(lab.states("orders").0, "running");
}

#[test]
fn several_clusters_and_no_name() {
    let mut lab = with_clusters(&["a", "b"]);
    shot!(lab.run(&["env"]), @"
    exit code: 2
    --- standard error
    error: which cluster? there are several
    hint: name one of a, b, or set HELENUS_CLUSTER
    ");
    lab.set("HELENUS_CLUSTER", "b");
    let env = lab.json(&["env"]);
    assert_eq!(env["cluster"], "b");
    lab.set("HELENUS_CLUSTER", "bb");
    shot!(lab.run(&["stop"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: bb
    hint: did you mean b?
    ");
}

#[test]
fn several_nodes_and_no_node() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    shot!(lab.run(&["kill", "c"]), @"
    exit code: 2
    --- standard error
    error: which node to kill?
    hint: one of c/node1, c/node2
    ");
    assert_eq!(lab.states("c").0, "running");
}

#[test]
fn an_existing_name() {
    let lab = with_clusters(&["c"]);
    shot!(lab.run(&["up", "c"]), @"
    exit code: 2
    --- standard error
    error: cluster c already exists
    hint: `helenus start c` starts it again, `helenus rm c` removes it
    ");
    shot!(lab.run(&["up", "c", "--dry-run"]), @"
    exit code: 2
    --- standard error
    error: cluster c already exists
    hint: `helenus start c` starts it again, `helenus rm c` removes it
    ");
    assert_eq!(lab.states("c").0, "running");
}

#[test]
fn names_are_given_in_order_where_none_is_asked_for() {
    let lab = with_clusters(&["c2"]);
    lab.done(&["up"]);
    lab.done(&["up"]);
    let listed = lab.json(&["list"]);
    let names: Vec<&str> = listed["clusters"]
        .as_array()
        .expect("clusters")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(names, ["c1", "c2", "c3"]);
}

#[test]
fn a_broken_state_file_is_reported_and_removed() {
    let lab = with_clusters(&["bad", "good"]);
    fs_err::write(lab.cluster("bad").join("cluster.json"), "{ \"format\": ").expect("a file");
    shot_live!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    bad  broken
    good/node1  running  5.0.9  tiny  [address]:[port]  [pid]  [size]  [size]  [size]  [size]

    bad is broken: cannot read the state of cluster bad: EOF while parsing a value at line 1 column 12
    `helenus rm bad` deletes the cluster and all its data
    ");
    shot!(lab.run(&["stop", "bad"]), @"
    exit code: 2
    --- standard error
    error: cannot read the state of cluster bad
      caused by: EOF while parsing a value at line 1 column 12
    hint: `helenus rm bad` deletes the cluster and all its data
    ");
    assert_eq!(lab.states("bad").0, "broken");
    // Its node still runs, and its claim of an address is still there.
    assert_eq!(lab.node_pids().len(), 2);
    shot_live!(lab.run(&["rm", "bad"]), @"
    exit code: 0
    --- standard output
    removed bad: 1 node (1 running), [size] in [LAB]/home/state/clusters/bad
    ");
    assert_eq!(lab.node_pids().len(), 1);
    assert_eq!(lab.states("good").0, "running");
}

#[test]
fn a_state_file_of_a_newer_version_is_named_and_left_alone() {
    let lab = with_clusters(&["c"]);
    let file = lab.cluster("c").join("cluster.json");
    let text = fs_err::read_to_string(&file).expect("a state");
    let newer = text.replace("helenus.cluster/2", "helenus.cluster/99");
    assert_ne!(text, newer);
    fs_err::write(&file, &newer).expect("a file");
    shot!(lab.run(&["stop", "c"]), @r#"
    exit code: 2
    --- standard error
    error: cannot read the state of cluster c
      caused by: "helenus.cluster/99" was written by a newer Helenus (this one reads up to helenus.cluster/2)
    hint: `helenus rm c` deletes the cluster and all its data
    "#);
    shot_live!(lab.run(&["list"]), @r#"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    c  broken

    c is broken: cannot read the state of cluster c: "helenus.cluster/99" was written by a newer Helenus (this one reads up to helenus.cluster/2)
    `helenus rm c` deletes the cluster and all its data
    "#);
    assert_eq!(fs_err::read_to_string(&file).expect("a state"), newer);
}

#[test]
fn a_cluster_without_a_state_file_is_broken_and_removable() {
    let lab = TestLab::new();
    lab.write("home/state/clusters/half/lock", "");
    shot!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state   release  preset  address  pid  planned  anon  file  pss
    half  broken

    half is broken: cannot read the state of cluster half: failed to open file `[LAB]/home/state/clusters/half/cluster.json`: No such file or directory (os error 2)
    `helenus rm half` deletes the cluster and all its data
    ");
    shot_live!(lab.run(&["rm", "half"]), @"
    exit code: 0
    --- standard output
    removed half: 0 nodes (0 running), [size] in [LAB]/home/state/clusters/half
    ");
}

#[test]
fn a_cluster_that_another_helenus_works_on() {
    let lab = TestLab::fake("hang");
    let mut up = lab.begin(&["up", "c"]);
    crate::lab::look::wait_for("the node", crate::lab::PATIENCE, || {
        let pids = lab.node_pids();
        if pids.len() == 1 {
            Ok(())
        } else {
            Err(format!("{pids:?}"))
        }
    });
    shot!(lab.run(&["stop", "c"]), @"
    exit code: 2
    --- standard error
    error: another helenus is working on cluster c
    hint: wait until it is done, or stop it
    ");
    shot!(lab.run(&["rm", "c"]), @"
    exit code: 2
    --- standard error
    error: another helenus is working on cluster c
    hint: wait until it is done, or stop it
    ");
    assert!(up.runs());
    up.signal(rustix::process::Signal::INT);
    assert_eq!(up.end().code, "130");
}

#[test]
fn a_home_that_is_no_absolute_path() {
    let mut lab = TestLab::new();
    let home = lab.path("home");
    lab.set("HELENUS_HOME", "here");
    shot!(lab.run(&["list"]), @r#"
    exit code: 3
    --- standard error
    error: HELENUS_HOME is "here", which is not an absolute path
    hint: set HELENUS_HOME to an absolute path
    "#);
    lab.set("HELENUS_HOME", home);
}

#[test]
fn a_home_that_is_a_file() {
    let mut lab = TestLab::new();
    let home = lab.path("home");
    let file = lab.write("a-file", "");
    lab.set("HELENUS_HOME", file);
    shot!(lab.run(&["list"]), @"
    exit code: 3
    --- standard error
    error: cannot use the state folder
      caused by: failed to create directory `[LAB]/a-file/state/clusters`: Not a directory (os error 20)
    hint: set HELENUS_HOME to a folder that you may write to
    ");
    lab.set("HELENUS_HOME", home);
}

#[test]
fn a_cluster_of_somebody_else_is_refused_without_the_flag() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let env = lab.json(&["env", "c"]);
    let host = env["contact_points"][0].as_str().expect("an address");
    let port = env["port"].to_string();
    // Another home knows nothing of that cluster.
    let other = TestLab::new();
    shot!(other.run(&["bench", "--hosts", host, "--port", &port]), @r#"
    exit code: 2
    --- standard error
    error: refused to write to [address]:[port]: 1 of 1 nodes of "c" were not brought up by this user's helenus
    hint: there: cluster "c", data centres datacenter1, 1 nodes, keyspaces none. If you may write to it, name it: --i-may-write-to "c"
    "#);
}
