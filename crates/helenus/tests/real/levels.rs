//! Real Cassandra in three data centres: what EACH_QUORUM waits for and LOCAL_ONE does not, by `levels`.
//! Refuses to say how near measurement and model are: a busy machine adds to every time.

use crate::home::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Half of the round trip between all data centres, in milliseconds.
const HALF_MS: f64 = 10.0;

const GRID: [&str; 17] = [
    "levels",
    "--cluster",
    "wan",
    "--cl",
    "LOCAL_ONE,EACH_QUORUM",
    "--workloads",
    "write",
    "--rtt",
    "20ms",
    "--repeats",
    "1",
    "--rate",
    "50",
    "--duration",
    "4s",
    "--warmup",
    "2s",
];

/// The quickest operation of each run of a level, in milliseconds: on a busy machine only that is the level's own.
fn quickest(home: &Home, level: &str) -> Vec<f64> {
    let list = home.helenus(&["history", "--format", "json"]).ok().json();
    let runs = list["runs"].as_array().expect("runs").iter();
    let shown = runs.map(|run| {
        let id = run["id"].as_str().expect("a name");
        home.helenus(&["history", "show", id, "--format", "json"])
            .ok()
            .json()
    });
    let of_level = shown.filter(|run| run["plan"]["cell"]["level"] == level);
    let least = |run: Value| {
        let total = &run["result"]["phases"][0]["total"];
        total["service"]["min_us"].as_f64().expect("a time") / 1e3
    };
    of_level.map(least).collect()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn each_quorum_waits_for_the_farthest_and_local_one_does_not() {
    let home = Home::new();
    home.helenus(&["up", "wan", "-n", "1:1:1", "--rtt", "2ms"])
        .ok();
    let links = |home: &Home| {
        home.helenus(&["link", "wan", "--format", "json"])
            .ok()
            .json()
    };
    let before = links(&home)["network"]["links"].clone();
    let said = home.helenus(&[&GRID[..], &["--seed", "7", "--format", "json"]].concat());
    // A busy machine may disqualify every number.
    assert!(said.code == 0 || said.code == 5, "{said}");
    let (local, each) = (quickest(&home, "LOCAL_ONE"), quickest(&home, "EACH_QUORUM"));
    // The reference runs twice.
    assert_eq!((local.len(), each.len()), (2, 1), "{said}");
    let least = local.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(each[0] - least > HALF_MS, "{each:?} against {local:?}");
    let cells = home
        .helenus(&[
            "cql",
            "wan",
            "-e",
            "SELECT keyspace_name FROM system_schema.keyspaces",
        ])
        .ok();
    assert!(!cells.stdout.contains("lv_7"), "{cells}");
    assert_eq!(links(&home)["network"]["links"], before);

    // Ctrl-C in a run with links of its own puts them back, too, and so does a keeper whose run was killed.
    let head = ["run", "standard1", "--ops", "write=1", "--cluster", "wan"];
    let tail = ["--rtt", "20ms", "--rate", "50", "--duration", "10m"];
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut running = home.start(&[&head[..], &tail].concat());
        let mut ended = None;
        until("links of its own", || {
            ended = running.try_wait().expect("a child");
            ended.is_some() || links(&home)["network"]["links"] != before
        });
        assert!(ended.is_none(), "{ended:?}");
        kill_process(Pid::from_child(&running), signal).expect("a signal");
        assert_eq!(running.wait().expect("its end").code(), code);
        until("links as they were", || {
            links(&home)["network"]["links"] == before
        });
    }
}
