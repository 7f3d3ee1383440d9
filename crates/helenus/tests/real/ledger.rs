//! Real Cassandra killed under writes: what the commit log keeps, and what the ledger names where there is none.
//! Refuses to kill gently: every node gets SIGKILL at once.

use crate::home::{Home, Said};
use serde_json::Value;
use std::time::Duration;

/// Longer than the pause between two marks in the commit log, up to which a node that was killed reads it again.
const MARKED: Duration = Duration::from_secs(1);

const PROFILE: &str = "
keyspace: app
keyspace_definition: |
  CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
    AND durable_writes = false;
table: events
table_definition: |
  CREATE TABLE events (id bigint, day int, note text, PRIMARY KEY (id, day));
columnspec:
  - name: day
    cluster: fixed(3)
insert:
  batchtype: UNLOGGED
";

/// What a ledger's check says, with its exit code.
pub(crate) fn check(home: &Home, run: &str) -> (i32, Value) {
    let Said {
        code,
        stdout,
        stderr,
    } = home.helenus(&["ledger", "check", run, "--format", "json"]);
    let said = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}\n{stderr}"));
    (code, said)
}

fn write(home: &Home, words: &[&str]) -> String {
    // Few in flight: on a busy machine more of them time out, and what is not acknowledged may be lost.
    let line = [
        "--in-flight",
        "16",
        "--cluster",
        "c",
        "--seed",
        "7",
        "--ledger",
        "--format",
        "json",
    ];
    let said = home.helenus(&[&["run"], words, &line].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    said.json()["run"].as_str().expect("a run").to_owned()
}

fn count(table: &Value, class: &str) -> u64 {
    table[class].as_u64().expect("a count")
}

/// Keys with a write that was acknowledged: nearly all, whatever else the machine did.
fn acknowledged(table: &Value) -> u64 {
    let open = [
        "indeterminate_applied",
        "indeterminate_not_applied",
        "refused",
    ];
    let open: u64 = open.iter().map(|class| count(table, class)).sum();
    let keys = count(table, "keys");
    assert!(
        2 * open < keys,
        "half of the writes were not acknowledged: {table:#}"
    );
    keys - open
}

/// Kills all nodes, and starts them again.
fn crash(home: &Home, nodes: &[&str]) {
    for node in nodes {
        home.helenus(&["kill", node]).ok();
    }
    home.helenus(&["start", "c"]).ok();
}

pub(crate) fn what_was_acknowledged_survives_kill_9_unless_it_is_not_durable() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "3"]).ok();
    let nodes = ["c/node1", "c/node2", "c/node3"];
    let standard1 = ["standard1", "--ops", "write=1", "--positions", "0..6000"];
    let durable = write(&home, &[&standard1[..], &["--cl", "QUORUM"]].concat());
    std::thread::sleep(MARKED);
    crash(&home, &nodes);
    let (code, said) = check(&home, &durable);
    let table = &said["tables"][0];
    assert_eq!(code, 0, "{said:#}");
    assert_eq!(acknowledged(table), count(table, "present"), "{said:#}");
    assert_eq!(table["consistency"], "ALL");
    assert_eq!(table["durable_writes"], true);

    // A profile whose keyspace has no commit log: three rows a partition, in one batch each.
    let path = home.path().join("events.yaml");
    fs_err::write(&path, PROFILE).expect("a file");
    let path = path.to_string_lossy().into_owned();
    let insert = ["--ops", "insert=1", "--positions", "0..1000"];
    let volatile = write(&home, &[&[path.as_str()], &insert[..]].concat());
    let (code, said) = check(&home, &volatile);
    assert_eq!(code, 0, "{said:#}");
    let written = count(&said["tables"][0], "present");
    std::thread::sleep(MARKED);
    crash(&home, &nodes);
    let (code, said) = check(&home, &volatile);
    let table = &said["tables"][0];
    assert_eq!(code, 1, "{said:#}");
    // Nothing was flushed, and nothing was logged.
    assert_eq!(count(table, "lost"), written, "{said:#}");
    assert_eq!(table["durable_writes"], false);
    let named = table["lost_keys"].as_array().expect("names");
    assert_eq!(named.len(), 10);
    for key in named {
        assert_eq!(key["owners"].as_array().map(Vec::len), Some(1), "{key:#}");
        assert_eq!(key["consistency"], "ONE");
    }
    // The other keyspace's are still there, after the second crash too.
    assert_eq!(check(&home, &durable).0, 0);
    home.helenus(&["rm", "c"]).ok();
}
