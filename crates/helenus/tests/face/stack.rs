//! `stack`: what is asked for and refused, dry runs, and a stack without parts beside stand-ins for nodes. Reaper, Medusa and Prometheus
//! for real are `cargo xtask prove stack` and a test with Cassandra.

use crate::lab::TestLab;

const BARE: [&str; 4] = ["stack", "up", "--without", "reaper,medusa,metrics"];

#[test]
fn a_dry_run_plans_nodes_gateway_and_parts() {
    let lab = TestLab::new();
    let words = [
        "stack",
        "up",
        "s",
        "-n",
        "3",
        "--without",
        "metrics",
        "--dry-run",
    ];
    let planned = lab.json(&words);
    assert_eq!(planned["format"], "helenus.stack-plan/1");
    let nodes = planned["plan"]["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 4, "three nodes and the gateway");
    assert_eq!(nodes[3]["coordinator"], true);
    assert_eq!(
        nodes[3]["own"]["heap"]["heap"],
        300 << 20,
        "{}",
        nodes[3]["own"]
    );
    assert_eq!(planned["plan"]["preset"], "dev");
    let parts = planned["stack"]["parts"].as_array().expect("parts");
    assert_eq!(*parts, ["reaper", "medusa"]);
    let text = lab.done(&words);
    assert!(text.contains(":8080/webui/"), "{text}");
    assert!(
        text.ends_with("nothing was started (--dry-run)\n"),
        "{text}"
    );
    assert!(
        lab.done(&["list"]).contains("no cluster"),
        "it made something"
    );
}

#[test]
fn what_no_stack_can_have_is_refused() {
    let lab = TestLab::new();
    shot!(lab.run(&["stack", "up", "--auth", "--dry-run"]), @"
    exit code: 2
    --- standard error
    error: a stack does not support --auth: its parts have no credentials or certificates, and run outside the cluster's network
    hint: leave it out; `helenus up` starts such a cluster without a stack
    ");
    shot!(lab.run(&["stack", "up", "--without", "grafana"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'grafana' for '--without <PARTS>'
      [possible values: reaper, medusa, metrics]

    For more information, try '--help'.
    ");
    shot!(lab.run(&["stack", "up", "--gateway", "stargate"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'stargate' for '--gateway <GATEWAY>': "stargate" is not a gateway: write coordinator, none, or the address and port of one that you run

    For more information, try '--help'.
    "#);
    shot!(lab.run(&["stack", "up", "--gateway", "none", "--gateway-heap", "300M"]), @"
    exit code: 2
    --- standard error
    error: --gateway-heap requires coordinator-only nodes
    hint: add --coordinators 1, or leave it out
    ");
    shot!(lab.run(&["stack", "up", "--reaper-jar", "/no/such.jar", "--without", "metrics", "--dry-run"]), @"
    exit code: 2
    --- standard error
    error: no such jar: /no/such.jar
    hint: name an executable jar of Reaper
    ");
}

#[test]
fn a_program_that_is_not_here_has_its_cure() {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    let said = lab.run(&["stack", "up", "--dry-run"]).to_string();
    assert!(said.contains("exit code: 3"), "{said}");
    assert!(said.contains("error: prometheus is not on PATH"), "{said}");
    assert!(said.contains("--without metrics"), "{said}");
}

#[test]
fn verbs_of_a_cluster_without_a_stack_name_the_cure() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    for verb in ["status", "backup", "repair"] {
        let said = lab.run(&["stack", verb, "c"]).to_string();
        assert!(said.contains("exit code: 2"), "{said}");
        assert!(said.contains("`helenus stack up c` adds one"), "{said}");
    }
    shot!(lab.run(&["stack", "restore", "c", "b1"]), @r#"
    exit code: 2
    --- standard error
    error: no backup "b1" of c
    hint: `helenus stack backup c` makes one
    "#);
    shot!(lab.run(&["stack", "status", "d"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: d
    hint: known: c
    ");
    lab.done(&["rm", "c"]);
}

#[test]
fn a_stack_names_what_is_down_and_starts_it_again() {
    let lab = TestLab::fake("ready");
    let up = [&BARE[..], &["--gateway", "none"]].concat();
    lab.done(&up);
    let well = lab.json(&["stack", "status"]);
    assert_eq!(
        (&well["well"], &well["format"]),
        (&true.into(), &"helenus.stack-status/1".into())
    );
    lab.done(&["kill", "stack/node1"]);
    let said = lab.run(&["stack", "status"]).to_string();
    assert!(said.contains("exit code: 1"), "{said}");
    assert!(
        said.contains("is degraded: node1; `helenus stack up stack`"),
        "{said}"
    );
    lab.done(&up);
    assert_eq!(lab.json(&["stack", "status"])["well"], true);
    shot!(lab.run(&["stack", "backup", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would back up stack; nothing was done (--dry-run)
      nothing: the stack has no medusa
    ");
    shot!(lab.run(&["stack", "repair"]), @"
    exit code: 2
    --- standard error
    error: the stack of stack has no reaper
    hint: it was left out; `helenus stack status stack` shows what there is
    ");
    let gone = lab.done(&["stack", "rm", "--dry-run"]);
    assert!(
        gone.starts_with("would remove stack: 1 node (1 running)"),
        "{gone}"
    );
    lab.done(&["stack", "rm"]);
    assert!(lab.done(&["list"]).contains("no cluster"));
}

#[test]
fn nodes_start_only_when_a_restore_is_done() {
    let lab = TestLab::fake("serve");
    let medusa = "cache/tools/medusa-0.31.0";
    let text = "#!/bin/sh\n[ ! -f \"$(dirname \"$0\")/fails\" ]\n";
    lab.program(&format!("{medusa}/bin/medusa"), text);
    lab.write(&format!("{medusa}/installed"), "");
    let without = ["--without", "reaper,metrics", "--gateway", "none"];
    lab.done(&[&["stack", "up", "-n", "1"][..], &without].concat());
    let state = || {
        let text = fs_err::read_to_string(lab.cluster("stack").join("cluster.json"));
        serde_json::from_str::<serde_json::Value>(&text.expect("a state")).expect("JSON")
    };
    let known = state();
    let node = &known["plan"]["nodes"][0];
    let record = serde_json::json!({
        "format": "helenus.stack-backup/1", "name": "b1", "cluster": "stack", "cluster_id": known["id"],
        "release": known["plan"]["release"], "at_unix": 1, "tables": [],
        "nodes": [{"name": node["name"], "address": node["address"], "tokens": node["tokens"], "files": 1}],
    });
    let at = "home/state/clusters/stack";
    lab.write(&format!("{at}/stack/saved/b1.json"), &record.to_string());
    let journal = lab.write(&format!("{at}/populate.json"), "{}");
    lab.write(&format!("{medusa}/bin/fails"), "");
    let failed = lab.run(&["stack", "restore", "b1"]);
    assert_eq!(failed.code, "4", "{failed}");
    // Other rows may be there than a populate remembers.
    assert!(!journal.exists(), "{failed}");
    shot!(lab.run(&["start", "stack"]), @"
    exit code: 2
    --- standard error
    error: the restore of backup b1 of stack into stack was interrupted
    hint: `helenus stack restore stack b1` does it again, `helenus rm stack` removes the cluster
    ");
    fs_err::remove_file(lab.path(&format!("{medusa}/bin/fails"))).expect("deleted");
    lab.done(&["stack", "restore", "b1"]);
    assert!(state()["baseline"]["work"].is_null());
    lab.done(&["stop", "stack"]);
    lab.done(&["start", "stack"]);
}
