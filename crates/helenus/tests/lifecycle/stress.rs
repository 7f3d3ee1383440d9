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
fn a_line_is_carried_out_and_told_in_cassandra_stress_s_words() {
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
        said.err
            .contains("there is no table keyspace1.standard1 in c"),
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
    let told: Value = serde_json::from_str(&said.out).expect("JSON alone");
    assert_eq!(told["format"], "helenus.stress/1");
    assert_eq!(
        (&told["success"], &told["runs"][0]["shown"]),
        (&Value::Bool(false), &Value::from("service"))
    );
    assert_eq!(told["runs"][0]["threads"], 1);
    assert!(said.err.contains("missing_row"), "{said}");
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
    error: the line has no -node, and no cluster of yours runs
    hint: helenus up c, or name hosts behind -node
    ");
    for name in ["a", "b"] {
        assert_eq!(lab.run(&["up", name]).code, "0");
    }
    shot!(lab.run(&line), @"
    exit code: 1
    --- standard error
    error: the line has no -node, and several clusters of yours run: a, b
    hint: helenus stress --cluster a …
    ");
    let said = lab.run(&["stress", "--cluster", "b", "write", "n=0"]);
    assert_eq!(said.code, "0", "{said}");
    let said = lab.run(&["stress", "write", "n=1", "-node", "no.such.host.invalid"]);
    assert!(
        said.code == "1"
            && said
                .err
                .contains("-node no.such.host.invalid: no such host"),
        "{said}"
    );
}

#[test]
fn a_dead_verb_of_nodetool_is_told_the_living_one() {
    let lab = served();
    shot!(lab.run(&["nodetool", "c", "setwriterequesttimeout", "8000"]), @r#"
    exit code: 2
    --- standard error
    error: nodetool has no verb "setwriterequesttimeout"
    hint: helenus nodetool c settimeout write 8000
    "#);
}
