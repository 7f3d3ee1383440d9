//! Real Cassandra with a data centre cut off in mid-run: what each level makes of it.
//! Refuses to say how quick anything is: counts, kinds, and who went on without an error.

use crate::home::Home;
use crate::ledger::check;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Longest wait for a data centre that is joined again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the rows follow from.
const SEED: &str = "7";

const RUN: [&str; 15] = [
    "run",
    "standard1",
    "--cluster",
    "wan",
    "--ops",
    "write=1",
    "--rate",
    "40",
    "--warmup",
    "0s",
    "--max-errors",
    "1",
    "--seed",
    SEED,
    "--duration",
];

/// A run that must end with a result; a busy machine may disqualify it.
fn run(home: &Home, words: &[&str]) -> Value {
    let said = home.helenus(&[&RUN[..], words, &["--format", "json"]].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    said.json()
}

/// Rows that the first run wrote, read from every copy.
fn read(home: &Home) -> Value {
    let words = [
        "run",
        "standard1",
        "--cluster",
        "wan",
        "--ops",
        "read=1",
        "--cl",
        "ALL",
        "--seed",
        SEED,
    ];
    let more = [
        "--positions",
        "0..40",
        "--max-errors",
        "1",
        "--format",
        "json",
    ];
    let said = home.helenus(&[&words[..], &more].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    said.json()
}

fn total(told: &Value) -> &Value {
    &told["result"]["phases"][0]["total"]
}

pub(crate) fn a_data_center_cut_off_is_felt_at_the_levels_that_need_it() {
    let home = Home::new();
    let up = ["up", "wan", "-n", "1:1:1", "--rtt", "10ms"];
    home.helenus(&up).ok();
    let keyspace = "CREATE KEYSPACE keyspace1 WITH replication = {'class': 'NetworkTopologyStrategy', \
                    'DC1': 1, 'DC2': 1, 'DC3': 1}";
    home.helenus(&["cql", "wan", "-e", keyspace]).ok();
    // The tables, written once where everybody answers.
    let first = run(&home, &["2s", "--cl", "EACH_QUORUM"]);
    assert!(total(&first)["completed"].as_u64() > Some(0), "{first:#}");

    let fault = ["--fault", "at 2s for 4s partition DC3"];
    let local = run(
        &home,
        &[&["8s", "--cl", "LOCAL_QUORUM", "--ledger"], &fault[..]].concat(),
    );
    assert_eq!(total(&local)["failed"], Value::Null, "{local:#}");
    assert_eq!(local["faults"][0]["made"], true, "{local:#}");

    let each = run(
        &home,
        &[&["8s", "--cl", "EACH_QUORUM", "--ledger"], &fault[..]].concat(),
    );
    let failed = total(&each)["failed"]
        .as_object()
        .expect("failures by kind")
        .clone();
    let known = ["write_timeout", "unavailable", "client_timeout"];
    let of_known: u64 = known
        .iter()
        .filter_map(|kind| failed.get(*kind)?.as_u64())
        .sum();
    let all: u64 = failed.values().filter_map(Value::as_u64).sum();
    assert!(all > 0 && of_known == all, "{failed:?}");

    let seen = home.helenus(&["fault", "wan", "--format", "json"]).ok();
    let seen = seen.json();
    assert_eq!(seen["faults"].as_array().map(Vec::len), Some(0), "{seen}");
    // Healed: reads that need all three data centres work again, once the nodes have seen each other.
    let begin = Instant::now();
    loop {
        let again = read(&home);
        if total(&again)["completed"].as_u64() > Some(0) {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "{again:#}");
    }
    // After a repair every copy has what was acknowledged at either level.
    for node in ["wan/node1", "wan/node2", "wan/node3"] {
        home.helenus(&["nodetool", node, "repair", "-full", "keyspace1"])
            .ok();
    }
    for run in [&local, &each] {
        let name = run["run"].as_str().expect("a run");
        let (code, said) = check(&home, name);
        let table = &said["tables"][0];
        assert_eq!((code, &table["lost"]), (0, &0.into()), "{said:#}");
        assert!(table["present"].as_u64() > Some(0), "{said:#}");
    }
    home.helenus(&["rm", "wan"]).ok();
}
