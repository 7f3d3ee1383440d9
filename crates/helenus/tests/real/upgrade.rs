//! Real Cassandra from 4.1 to 5.0 under writes at QUORUM: back again while the mode allows it, then whole.
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
    let upgrade = |words: &[&str]| {
        let words = [&["upgrade", "c", "--format", "json"], words, &on[..]].concat();
        home.helenus(&words).ok().json()
    };
    let first = upgrade(&["--to", "5.0", "--until", "CASSANDRA_4"]);
    assert_eq!(
        first["steps"].as_array().map(Vec::len),
        Some(3),
        "{first:#}"
    );
    let version = |node: &str| {
        let cql = "SELECT release_version FROM system.local";
        home.helenus(&["cql", node, "-e", cql]).ok().stdout
    };
    assert!(version("c/node1").contains("5.0.9"));
    // One node back, by way of a whole downgrade.
    upgrade(&["--to", "4.1"]);
    assert!(version("c/node1").contains("4.1.10"));
    let whole = upgrade(&["--to", "5.0"]);
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
