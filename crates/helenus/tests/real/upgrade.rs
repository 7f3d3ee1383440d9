//! Real Cassandra from 4.1 to 5.0: three nodes under writes at QUORUM, one node there and back, a baseline of the old release.
//! Refuses to count what the run says itself: the ledger is read back.

use crate::home::Home;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// Ahead of the first restart.
const AHEAD: Duration = Duration::from_secs(3);

pub(crate) fn three_nodes_go_to_5_0_under_load_and_nothing_is_lost(java_home: &str) {
    let home = Home::new();
    let on = ["--java-home", java_home];
    home.helenus(&[&["up", "c", "-n", "3", "--cassandra", "4.1"], &on[..]].concat())
        .ok();
    let ledger = home.path().join("ledger").to_string_lossy().into_owned();
    let mut run = home.start(&[
        "run",
        "standard1",
        "--cluster",
        "c",
        "--ops",
        "write=1",
        "--cl",
        "QUORUM",
        "--rate",
        "100",
        "--duration",
        "30m",
        "--ledger",
        &ledger,
    ]);
    std::thread::sleep(AHEAD);
    let words = ["upgrade", "c", "--to", "5.0", "--format", "json"];
    let whole = home.helenus(&[&words, &on[..]].concat()).ok().json();
    assert_eq!(
        whole["steps"].as_array().map(Vec::len),
        Some(12),
        "{whole:#}"
    );
    let mode = "SELECT value FROM system_views.settings WHERE name = 'storage_compatibility_mode'";
    let said = home.helenus(&["cql", "c/node3", "-e", mode]).ok().stdout;
    assert!(said.contains("NONE"), "{said}");
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::INT).expect("it runs still");
    run.wait().expect("it ends");
    let words = [
        "ledger",
        "check",
        &ledger,
        "--cluster",
        "c",
        "--format",
        "json",
    ];
    let said = home.helenus(&words).ok().json();
    let table = &said["tables"][0];
    assert_eq!(table["lost"], 0, "{said:#}");
    assert!(table["present"].as_u64() > Some(1000), "{said:#}");
    home.helenus(&["rm", "c"]).ok();
}

/// As long as the mode is CASSANDRA_4 the way back is open, and rows stay; 5.0 takes a baseline of 4.1.
pub(crate) fn one_node_goes_to_5_0_and_back_and_5_0_takes_its_baseline(java_home: &str) {
    let home = Home::new();
    let on = ["--java-home", java_home];
    let helenus = |words: &[&str]| home.helenus(words).ok().stdout;
    helenus(&[&["up", "c", "--cassandra", "4.1"], &on[..]].concat());
    let made = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
                CREATE TABLE k.t (id int PRIMARY KEY, name text); INSERT INTO k.t (id, name) VALUES (1, 'one')";
    helenus(&["cql", "c", "-e", made]);
    helenus(&["baseline", "save", "c", "old"]);
    let there = ["--to", "5.0", "--until", "CASSANDRA_4"];
    for (way, runs, row) in [
        (&there[..], "5.0.9", "(2, 'two')"),
        (&["--to", "4.1"], "4.1.10", "(3, 'three')"),
    ] {
        helenus(&[&["upgrade", "c"], way, &on[..]].concat());
        let version = "SELECT release_version FROM system.local";
        let said = helenus(&["cql", "c", "-e", version]);
        assert!(said.contains(runs), "{said}");
        helenus(&[
            "cql",
            "c",
            "-e",
            &format!("INSERT INTO k.t (id, name) VALUES {row}"),
        ]);
    }
    let rows = helenus(&["cql", "c", "-e", "SELECT name FROM k.t"]);
    for name in ["one", "two", "three"] {
        assert!(rows.contains(name), "{rows}");
    }
    helenus(&[&["up", "d", "--cassandra", "5.0"], &on[..]].concat());
    helenus(&["baseline", "restore", "c", "old", "--into", "d"]);
    let rows = helenus(&["cql", "d", "-e", "SELECT name FROM k.t"]);
    assert!(rows.contains("one") && !rows.contains("two"), "{rows}");
    helenus(&["rm", "c", "d"]);
}
