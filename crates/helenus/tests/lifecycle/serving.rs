//! `bench` against a fake node that serves: the whole line to its end, with counts and times that are known.
//! Refuses to say how exact the machine is: the truth is a hundred times its usual size, so that a busy host hides in it.

use crate::lab::TestLab;
use serde_json::Value;

/// Median of the service time as it is drawn, in microseconds: docs/design/020-fake-serving-node.md.
const P50_US: f64 = 1006.4;

/// A seed of the fake's draws, so that every run of a test sees the same.
const SEED: &str = "--jvm=-Dfake.seed=7";

fn bench(lab: &TestLab, arguments: &[&str]) -> (String, Value) {
    let said = lab.run(&[&["bench", "--format", "json"], arguments].concat());
    let value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}\n{said}"));
    (said.code, value)
}

/// The phases of a bench that nothing disqualifies but a generator that waits for a busy host's processors.
#[track_caller]
fn phases_that_held(code: &str, said: &Value) -> Vec<Value> {
    let phases = said["result"]["phases"].as_array().expect("phases").clone();
    let worse: Vec<&Value> = phases
        .iter()
        .flat_map(|phase| phase["doubts"].as_array().expect("doubts"))
        .filter(|doubt| doubt["severity"] == "disqualifying")
        .collect();
    for doubt in &worse {
        let host = ["generator_late", "generator_saturated"].map(Value::from);
        assert!(host.contains(&doubt["kind"]), "{said:#}");
    }
    assert_eq!(code == "5", !worse.is_empty(), "{code}: {said:#}");
    phases
}

#[test]
fn what_a_bench_counts_and_times_is_what_was_drawn() {
    let lab = TestLab::fake("serve");
    // Long times: what a busy host adds is little against them.
    let slow = ["--jvm=-Dfake.body=400", "--jvm=-Dfake.tail=400", SEED];
    let load = ["--rate", "400", "--duration", "1500ms", "--warmup", "0s"];
    let (code, said) = bench(&lab, &[&slow[..], &load].concat());
    let phases = phases_that_held(&code, &said);
    let names: Vec<&Value> = phases.iter().map(|phase| &phase["name"]).collect();
    assert_eq!(names, ["write", "read", "mixed"]);
    for phase in &phases {
        let total = &phase["total"];
        // 400 a second for 1.5 s; a read that found another row than was written would have failed.
        for count in ["offered", "started", "completed"] {
            assert_eq!(total[count], 600, "{count} of {phase:#}");
        }
        let p50 = total["service"]["p50_us"].as_f64().expect("a median");
        let truth = 400.0 * P50_US;
        assert!(
            (p50 - truth).abs() < 0.05 * truth + 100.0,
            "{p50}, not {truth}, in {}",
            phase["name"]
        );
    }
    assert_eq!(lab.processes(), vec![]);
}

#[test]
fn rows_that_nobody_wrote_are_missed() {
    let lab = TestLab::fake("serve");
    let load = ["--rate", "200", "--duration", "500ms", "--warmup", "0s"];
    let read = ["--phases", "read", "--population", "50"];
    let (code, said) = bench(&lab, &[&read[..], &load].concat());
    assert_eq!(code, "5", "{said:#}");
    let total = &said["result"]["phases"][0]["total"];
    assert_eq!(total["failed"]["missing_row"], 100, "{total:#}");
}

#[test]
fn operations_fail_as_often_as_is_asked() {
    let lab = TestLab::fake("serve");
    let load = ["--rate", "400", "--duration", "500ms", "--warmup", "0s"];
    let fail = ["--phases", "write", "--jvm=-Dfake.fail=0.05", SEED];
    let (code, said) = bench(&lab, &[&fail[..], &load].concat());
    assert_eq!(code, "5", "{said:#}");
    // What the seed draws for the first two hundred operations.
    let total = &said["result"]["phases"][0]["total"];
    assert_eq!(total["failed"]["overloaded"], 5, "{total:#}");
    assert_eq!(total["completed"], 195, "{total:#}");
}

#[test]
fn statements_of_one_s_own_are_served_too() {
    let lab = TestLab::fake("serve");
    let schema = lab.write(
        "own.cql",
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
         CREATE TABLE ks.t (id int, day date, name text, score double, PRIMARY KEY (id, day));",
    );
    let schema = schema.to_string_lossy();
    let own = [
        "--schema",
        &schema,
        "--insert",
        "INSERT INTO ks.t (id, day, name, score) VALUES (?, ?, ?, ?)",
        "--query",
        "SELECT * FROM ks.t WHERE id = ? AND day = ?",
    ];
    let load = ["--rate", "200", "--duration", "500ms", "--warmup", "0s"];
    let (code, said) = bench(&lab, &[&own[..], &load].concat());
    for phase in phases_that_held(&code, &said) {
        assert_eq!(phase["total"]["completed"], 100, "{phase:#}");
    }
}

#[test]
fn a_statement_that_is_refused_is_reported_in_the_server_s_words() {
    let lab = TestLab::fake("serve");
    let schema = lab.write(
        "own.cql",
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
         CREATE TABLE ks.t (id int PRIMARY KEY, v int);",
    );
    let schema = schema.to_string_lossy();
    let insert = "INSERT INTO ks.t (id, v) VALUES (?, ?)";
    let range = "SELECT * FROM ks.t WHERE id > ?";
    let own = ["--schema", &schema, "--insert", insert, "--query", range];
    let load = [
        "bench",
        "--rate",
        "200",
        "--duration",
        "500ms",
        "--warmup",
        "0s",
    ];
    let said = lab.run(&[&load[..], &own].concat());
    assert_eq!(said.code, "2", "{said}");
    assert!(
        said.err.contains("cannot prepare operation \"read\": "),
        "{said}"
    );
    assert!(!said.err.contains("Preparation failed"), "{said}");
}

#[test]
fn a_truth_that_it_does_not_know_is_refused() {
    let lab = TestLab::fake("serve");
    shot_live!(lab.run(&["up", "c", "--jvm=-Dfake.boddy=1.1"]), @"
    exit code: 4
    --- standard error
    error: node1 died [time] after its start (exit status: 1)
      | ERROR fake node: the fake node knows no property -Dfake.boddy; the nearest that it knows is -Dfake.body
    hint: its log shows more: [LAB]/home/state/clusters/c/node1/logs/console.log
    ");
    let said = lab.run(&["up", "d", "-n", "2"]);
    assert_eq!(said.code, "4", "{said}");
    assert!(said.err.contains("use one node"), "{said}");
}
