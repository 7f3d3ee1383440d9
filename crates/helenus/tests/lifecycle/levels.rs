//! `levels` on a fake node that serves: the grid to its end and to an interruption, its table out of the history again.
//! Refuses distance: a fake is one node, and what levels wait for is proved on real ones.

use crate::lab::{PATIENCE, TestLab, look};
use rustix::process::Signal;
use serde_json::Value;

const GRID: [&str; 18] = [
    "levels",
    "--cluster",
    "c",
    "--cl",
    "LOCAL_QUORUM,QUORUM,TWO",
    "--workloads",
    "write,mixed",
    "--rate",
    "200",
    "--duration",
    "400ms",
    "--warmup",
    "0s",
    "--seed",
    "7",
    "--repeats",
    "2",
    "--quiet",
];

fn lab() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab
}

/// The grid to its end: a busy host may disqualify runs, which the counts show.
fn table(lab: &TestLab, arguments: &[&str]) -> Value {
    let out = lab.measured(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn keyspaces(lab: &TestLab) -> String {
    lab.done(&[
        "cql",
        "c",
        "-e",
        "SELECT keyspace_name FROM system_schema.keyspaces",
    ])
}

#[test]
fn each_cell_is_a_run_in_a_keyspace_of_its_own() {
    let lab = lab();
    let made = table(&lab, &GRID);
    assert_eq!(made["format"], "helenus.levels/1");
    assert_eq!(made["reference"], "LOCAL_QUORUM");
    assert_eq!(made["tcp_nodelay"], true);
    // TWO of one replica is listed as illegal, and not run.
    let illegal: Vec<&Value> = made["illegal"].as_array().expect("a list").iter().collect();
    assert_eq!(illegal.len(), 2, "{made:#}");
    assert_eq!(illegal[0]["why"], "TWO needs 2 replicas, and a row has 1");
    // Two levels, one of them twice, two workloads, two repeats.
    let history = lab.json(&["history"]);
    let runs = history["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 3 * 2 * 2, "{history:#}");
    assert!(
        runs.iter()
            .all(|run| run["tags"] == serde_json::json!(["lv-7"]))
    );
    assert!(!keyspaces(&lab).contains("lv_7"), "{}", keyspaces(&lab));
    let rows = made["rows"].as_array().expect("rows");
    let left_out = made["left_out"].as_array().expect("a list");
    if left_out.is_empty() {
        // The write's rows, and three operations' of the mix, at three levels.
        assert_eq!(rows.len(), 3 + 9, "{made:#}");
        assert!(
            rows.iter()
                .all(|row| row["runs"].as_array().map(Vec::len) == Some(2))
        );
    }
    for row in rows.iter().filter(|row| row["operation"] != "all") {
        assert_eq!(row["predicted"]["high_us"], 0, "{row:#}");
    }
    // A second comparison of the name would be one with the first.
    let dry = [&GRID[..], &["--dry-run"]].concat();
    assert_eq!(lab.run(&dry).to_string(), lab.run(&GRID).to_string());
    shot!(lab.run(&GRID), @"
    exit code: 2
    --- standard error
    error: the history already has a comparison lv-7
    hint: take another --seed or --tag; `helenus levels --from` shows that one
    ");
    let again = table(&lab, &["levels", "--from", "lv-7"]);
    let runs = |table: &Value| -> Vec<Value> {
        let rows = table["rows"].as_array().expect("rows").iter();
        rows.map(|row| row["runs"].clone()).collect()
    };
    assert_eq!(runs(&again), runs(&made));
    lab.measured(&["levels", "--from", "lv-7", "--html", "page.html"]);
    let page = fs_err::read_to_string(lab.path("page.html")).expect("a page");
    // Plots are of runs that count, and a busy host may leave none.
    assert!(page.contains("levels lv-7"));
}

#[test]
fn more_in_flight_than_threads_is_reported_before_anything_runs() {
    let lab = lab();
    let words = [
        "levels",
        "--cluster",
        "c",
        "--workloads",
        "write",
        "--dry-run",
    ];
    let plan = lab.json(&words);
    assert_eq!(plan["crowded"], serde_json::json!([]), "{plan:#}");
    let flat_out = [&words[..], &["--closed", "4096", "--cl", "ONE"]].concat();
    let plan = lab.json(&flat_out);
    assert_eq!(plan["crowded"][0]["waiting"], 4096.0, "{plan:#}");
    assert_eq!(plan["crowded"].as_array().map(Vec::len), Some(1));
    let printed = lab.done(&flat_out);
    assert!(
        printed.contains(
            "crowded: write at ONE, links, closed loop, 4096 in flight: 4096 requests wait at once"
        ),
        "{printed}"
    );
}

#[test]
fn what_is_interrupted_leaves_no_keyspace_and_its_runs() {
    let lab = lab();
    let words: Vec<&str> = GRID.into_iter().filter(|word| *word != "--quiet").collect();
    let mut running = lab.begin(&words);
    look::wait_for("the second cell's end", PATIENCE, || {
        let printed = running.err();
        assert!(running.runs(), "it ended early\n{printed}");
        if printed.contains("cell 2, ") {
            Ok(())
        } else {
            Err(printed)
        }
    });
    running.signal(Signal::INT);
    let said = running.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(!keyspaces(&lab).contains("lv_7"), "{}", keyspaces(&lab));
    let stored = table(&lab, &["levels", "--from", "lv-7"]);
    assert_eq!(stored["comparison"], "lv-7");
}

#[test]
fn a_keyspace_of_somebody_else_stays() {
    let lab = lab();
    lab.done(&[
        "cql",
        "c",
        "-e",
        "CREATE KEYSPACE lv_7_1 WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    ]);
    let said = lab.run(&GRID);
    assert_eq!(said.code, "2", "{said}");
    assert!(keyspaces(&lab).contains("lv_7_1"), "{}", keyspaces(&lab));
}

#[test]
fn a_dry_run_says_what_each_level_waits_for() {
    let lab = lab();
    let arguments = [
        "--cluster",
        "c",
        "--dry-run",
        "--seed",
        "7",
        "--cl",
        "ONE,ANY",
        "--repeats",
        "1",
    ];
    shot!(lab.run(&[&["levels"], &arguments[..]].concat()), @"
    exit code: 0
    --- standard output
    lv-7: 5 cells in 1 repeat on c, 100/s, about 1 min 25 s; seed 7
    client in datacenter1; replicas datacenter1 1; inter_dc_tcp_nodelay true

    distance  workload  op     level  on the way  waits for
    links     write     write  ANY        0.0 ms  acknowledgements: 1 in datacenter1
    links     write     write  ONE        0.0 ms  acknowledgements: 1 in datacenter1
    links     mixed     read   ONE        0.0 ms  answers: 1 in datacenter1
    links     mixed     write  ONE        0.0 ms  acknowledgements: 1 in datacenter1
    not run: mixed at ANY: ANY is for writes only

    nothing was run (--dry-run)
    ");
    let unknown = ["levels", "--cluster", "c", "--rtt", "40ms"];
    shot!(lab.run(&unknown), @"
    exit code: 2
    --- standard error
    error: the cluster runs on loopback, which has no distance to set
    hint: bring one up with links: helenus up wan -n 3:3 --rtt 40ms
    ");
    shot!(lab.run(&["levels", "--cluster", "c", "--client-dc", "DC2"]), @r#"
    exit code: 2
    --- standard error
    error: the cluster has no data centre "DC2"
    hint: known: datacenter1
    "#);
}
