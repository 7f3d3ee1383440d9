//! `stress` on a fake node that serves: rows, summary, files, exit codes, and what goes to standard error.
//! Refuses numbers of times: counts are known, the machine's speed is not.

use crate::lab::TestLab;
use serde_json::Value;

/// A lab with one cluster `c` of a node that serves.
fn served() -> TestLab {
    let lab = TestLab::fake("serve");
    let said = lab.run(&["up", "c"]);
    assert_eq!(said.code, "0", "{said}");
    lab
}

/// Cells of each row whose first is `name`.
fn rows(text: &str, name: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .filter(|line| line.starts_with(&format!("{name},")));
    rows.map(|row| row.split(',').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

#[test]
fn a_line_is_carried_out_and_reported_in_cassandra_stress_s_words() {
    let lab = served();
    let graph = lab.path("graph.html");
    let graph = format!("file={}", graph.display());
    let log = format!("file={}", lab.path("log.txt").display());
    let said = lab.run(&[
        "stress",
        "write",
        "n=400",
        "-rate",
        "threads=4",
        "-log",
        &log,
        "-graph",
        &graph,
        "revision=one",
    ]);
    assert_eq!(said.code, "0", "{said}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(
        lines[0],
        "******************** Stress Settings ********************"
    );
    for line in [
        "Created keyspaces. Sleeping 1s for propagation.",
        "Sleeping 2s...",
        "Warming up WRITE with 100 iterations...",
        "Running WRITE with 4 threads for 400 iteration",
        "Results:",
        "Total partitions          :        400 [WRITE: 400]",
        "Total errors              :          0 [WRITE: 0]",
    ] {
        assert!(lines.contains(&line), "{line} in {said}");
    }
    assert_eq!(lines.last(), Some(&"END"), "{said}");
    let last = rows(&said.out, "total").pop().expect("a row");
    assert_eq!((last.len(), last[1].as_str()), (19, "400"), "{last:?}");
    let logged = fs_err::read_to_string(lab.path("log.txt")).expect("a log");
    assert_eq!(logged.lines().count(), said.out.lines().count());
    assert_eq!(logged.lines().last(), Some("END"));
    // A second run is added to the page; its words come from a line of old.
    let said = lab.run(&[
        "stress",
        "--operation",
        "READ",
        "-n",
        "100",
        "--random",
        "--threads",
        "2",
        "--progress-interval",
        "1",
    ]);
    assert!(
        said.out.starts_with("Running in legacy support mode. Translating command to: \nstress read n=100 no-warmup cl=ONE -pop dist=uniform(1..100)"),
        "{said}"
    );
    assert_eq!(said.code, "0", "{said}");
    let said = lab.run(&[
        "stress",
        "mixed",
        "ratio(read=3,write=1)",
        "n=200",
        "no-warmup",
        "-pop",
        "seq=1..400",
        "-rate",
        "threads=4",
        "fixed=400/s",
        "-log",
        "no-settings",
        "no-summary",
        "-graph",
        &graph,
        "revision=two",
    ]);
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out
            .contains("Running [READ, WRITE] with 4 threads for 200 iteration"),
        "{said}"
    );
    assert!(
        !said.out.contains("Results:") && !said.out.contains("Settings"),
        "{said}"
    );
    let each = |name| {
        rows(&said.out, name).pop().expect("a row")[1]
            .parse::<u64>()
            .expect("a count")
    };
    assert_eq!(each("READ") + each("WRITE"), 200, "{said}");
    let page = fs_err::read_to_string(lab.path("graph.html")).expect("a page");
    assert!(page.contains(r#""revision":"one""#) && page.contains(r#""revision":"two""#));
    // The runs are in the history; warm-ups are not.
    let listed = lab.run(&["history", "--format", "json"]);
    let runs: Value = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(3), "{runs:#}");
}

#[test]
fn programs_read_json_and_what_was_never_written_is_a_failure() {
    let lab = served();
    let said = lab.run(&["stress", "read", "n=10", "-rate", "threads=1"]);
    assert_eq!(said.code, "1", "{said}");
    assert!(said.out.ends_with("FAILURE\n"), "{said}");
    assert!(
        said.err.contains("c has no table keyspace1.standard1"),
        "{said}"
    );
    let said = lab.run(&["stress", "write", "n=0"]);
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out
            .ends_with("N=0: SCHEMA CREATED, NOTHING ELSE DONE.\n"),
        "{said}"
    );
    let said = lab.run(&[
        "stress",
        "--format",
        "json",
        "--tag",
        "mine",
        "read",
        "n=10",
        "no-warmup",
        "-rate",
        "threads=1",
    ]);
    assert_eq!(said.code, "1", "{said}");
    let report: Value = serde_json::from_str(&said.out).expect("JSON alone");
    assert_eq!(report["format"], "helenus.stress/1");
    assert_eq!(
        (&report["success"], &report["runs"][0]["shown"]),
        (&Value::Bool(false), &Value::from("service"))
    );
    assert_eq!(report["runs"][0]["threads"], 1);
    assert!(said.err.contains("missing_row"), "{said}");
    assert!(
        said.err
            .contains("rows must be written before they are read"),
        "{said}"
    );
    // What is ignored is counted, and the run goes on.
    let said = lab.run(&[
        "stress",
        "read",
        "n=10",
        "no-warmup",
        "-rate",
        "threads=1",
        "-errors",
        "ignore",
        "-log",
        "no-settings",
    ]);
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out
            .contains("Total errors              :         10 [READ: 10]"),
        "{said}"
    );
}

/// A profile of one table, one row a partition.
const USERS: &str = "
keyspace: shop
keyspace_definition: |
  CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: users
table_definition: |
  CREATE TABLE users (id bigint PRIMARY KEY, name text);
columnspec:
  - {name: id, population: seq(0..1M)}
insert: {batchtype: UNLOGGED, select: fixed(2)/1M}
queries:
  one: {cql: 'SELECT * FROM users WHERE id = ?', fields: samerow}
";

#[test]
fn a_profile_s_query_that_finds_no_row_is_counted_and_no_failure() {
    let lab = served();
    let profile = lab.path("users.yaml");
    fs_err::write(&profile, USERS).expect("writes");
    let profile = format!("profile={}", profile.display());
    let line = |ops: &str, seq: &str, json: bool| {
        let mut words = vec!["stress"];
        if json {
            words.extend(["--format", "json"]);
        }
        words.extend(["user", &profile, ops, "n=100", "no-warmup", "-pop", seq]);
        words.extend(["-rate", "threads=2", "-log", "no-settings"]);
        lab.run(&words)
    };
    let wrote = line("ops(insert=1)", "seq=1..100", false);
    assert_eq!(wrote.code, "0", "{wrote}");
    assert!(
        wrote
            .out
            .contains("Total partitions          :        100 [insert: 100]"),
        "{wrote}"
    );
    let read = line("ops(one=1)", "seq=1..100", false);
    assert!(!read.err.contains("found no row"), "{read}");
    let read = line("ops(one=1)", "seq=51..150", false);
    assert_eq!(read.code, "0", "{read}");
    assert!(read.out.ends_with("\nEND\n"), "{read}");
    assert!(
        read.out
            .contains("Total partitions          :         50 [one: 50]"),
        "{read}"
    );
    assert!(
        read.err.contains("one: 50 of 100 reads found no row"),
        "{read}"
    );
    let read = line("ops(one=1)", "seq=51..150", true);
    let report: Value = serde_json::from_str(&read.out).expect("JSON alone");
    assert_eq!(report["runs"][0]["found_nothing"]["one"], 50, "{report:#}");
    assert_eq!(report["success"], true);
}

#[test]
fn a_failure_is_reported_with_its_own_cure() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.fail=1"]);
    let line = [
        "write",
        "n=20",
        "no-warmup",
        "-rate",
        "threads=2",
        "-errors",
        "retries=2",
    ];
    let said = lab.run(&[&["stress"][..], &line].concat());
    assert_eq!(said.code, "1", "{said}");
    assert!(
        said.err.contains("hint: the nodes refused the load"),
        "{said}"
    );
    // It paused between its tries: that is no fault of the generator's.
    for wrong in ["must be written before", "by its own fault"] {
        assert!(!said.err.contains(wrong), "{said}");
    }
    let line = [
        "write",
        "n=20",
        "-rate",
        "threads=2",
        "-errors",
        "retries=1",
    ];
    let said = lab.run(&[&["stress"][..], &line].concat());
    assert!(said.err.contains("of the warm-up"), "{said}");
    assert!(
        said.err.contains("hint: the nodes refused the load"),
        "{said}"
    );
}

#[test]
fn a_search_climbs_to_its_most_and_compares_its_runs() {
    let lab = served();
    let said = lab.run(&["stress", "write", "n=0"]);
    assert_eq!(said.code, "0", "{said}");
    let said = lab.run(&[
        "stress",
        "read",
        "n=50",
        "no-warmup",
        "-rate",
        "threads>=2",
        "threads<=8",
        "-errors",
        "ignore",
        "-log",
        "no-settings",
        "no-summary",
    ]);
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out
            .contains("Thread count was not specified\n\nRunning with 2 threadCount\n"),
        "{said}"
    );
    assert!(
        said.out.contains("\nImprovement over 4 threadCount: "),
        "{said}"
    );
    let table: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains(" threadCount, total,"))
        .collect();
    assert_eq!(table.len(), 3, "{said}");
    assert!(said.out.contains("id, type "), "{said}");
}

#[test]
fn where_it_runs_is_never_guessed() {
    let lab = TestLab::fake("serve");
    let line = ["stress", "write", "n=1"];
    shot!(lab.run(&line), @"
    exit code: 1
    --- standard error
    error: the line has no -node, and none of your clusters runs
    hint: helenus up c, or name hosts with -node
    ");
    for name in ["a", "b"] {
        assert_eq!(lab.run(&["up", name]).code, "0");
    }
    shot!(lab.run(&line), @"
    exit code: 1
    --- standard error
    error: the line has no -node, and several of your clusters run: a, b
    hint: choose one with --cluster a
    ");
    let said = lab.run(&["stress", "--cluster", "b", "write", "n=0"]);
    assert_eq!(said.code, "0", "{said}");
    shot!(lab.run(&[&line[..], &["-node", "a"]].concat()), @"
    exit code: 1
    --- standard error
    error: a: no such host
    hint: a is one of your clusters: name no hosts, and put --cluster a first
    ");
    // What ends with its command is no choice.
    let path = lab.cluster("a").join("cluster.json");
    let state = fs_err::read_to_string(&path).expect("a state");
    let ephemeral = state.replace("\"ephemeral\": false", "\"ephemeral\": true");
    assert_ne!(state, ephemeral);
    fs_err::write(&path, ephemeral).expect("writes");
    let said = lab.run(&["stress", "write", "n=0"]);
    assert_eq!(said.code, "0", "{said}");
    fs_err::write(&path, state).expect("writes");
    let said = lab.run(&["stress", "write", "n=1", "-node", "no.such.host.invalid"]);
    assert!(
        said.code == "1" && said.err.contains("no.such.host.invalid: no such host"),
        "{said}"
    );
}

#[test]
fn a_dead_verb_of_nodetool_is_answered_with_the_living_one() {
    let lab = served();
    shot!(lab.run(&["nodetool", "c", "setwriterequesttimeout", "8000"]), @r#"
    exit code: 2
    --- standard error
    error: nodetool has no command "setwriterequesttimeout"
    hint: helenus nodetool c settimeout write 8000
    "#);
}
