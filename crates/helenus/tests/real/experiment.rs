//! An experiment on real Cassandra: its data made once, restored before each restart, all runs done, nothing left.
//! Refuses to say how fast anything is: runs, rows and files only.

use crate::home::Home;
use helenus_model::pace::Pace;
use serde_json::Value;

const FILE: &str = r#"
name = "slots"
seed = 3
repeats = 1
measure = "throughput"

[cluster]
preset = "tiny"

[workload]
workload = "standard1"
ops = ["write=1", "read=1"]
population = 3000
positions = "uniform"
warmup = "1s"
duration = "2s"

[populate]
partitions = 3000

[[factor]]
key = "in-flight"
kind = "phase"
levels = [1, 16]
"#;

const FAR: &str = r#"
name = "far"
seed = 3
repeats = 1
measure = "service.p50"
announce = false

[cluster]
preset = "tiny"
nodes = "1:1"

[workload]
workload = "standard1"
ops = ["write=1"]
population = 3000
cl = "EACH_QUORUM"
rate = 20
warmup = "1s"
duration = "3s"

[[factor]]
key = "rtt"
kind = "phase"
levels = ["0ms", "40ms"]
"#;

pub(crate) fn distance_changes_between_the_runs_of_one_restart() {
    let home = Home::new();
    let file = home.path().join("far.toml");
    fs_err::write(&file, FAR).expect("a file");
    let said = home.helenus(&["experiment", "run", file.to_str().expect("a name")]);
    assert!(said.code == 0 || said.code == 6, "{said}");
    let status = home
        .helenus(&["experiment", "status", "far", "--format", "json"])
        .ok()
        .json();
    let runs = status["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4, "{status:#}");
    let mut lives = Vec::new();
    let mut asked = Vec::new();
    for run in runs {
        let id = run["run"].as_str().expect("a run");
        let run = home.helenus(&["history", "show", id, "--format", "json"]);
        let run = run.ok().json();
        let trip = &run["plan"]["round_trips"][0];
        let asked_us = trip["asked_us"].as_f64().expect("a round trip");
        let pace = Pace::of(trip["asked_us"].as_u64().map(|us| us * 1_000 / 2));
        let least_us = asked_us - pace.early_us();
        assert!(trip["measured_us"].as_f64() >= Some(least_us), "{trip}");
        let phase = &run["result"]["phases"][0];
        // A write at EACH_QUORUM waits for the other data centre.
        let quickest = phase["total"]["service"]["min_us"].as_f64();
        assert!(quickest >= Some(least_us), "{phase}");
        if asked_us > 0.0 {
            assert_eq!(
                phase["around"]["emulator"]["round_trip_us"], 40_000,
                "{phase}"
            );
        }
        asked.push(asked_us as u64);
        lives.push(run["life"].as_str().expect("a life").to_owned());
    }
    asked.sort_unstable();
    assert_eq!(asked, [0, 0, 40_000, 40_000]);
    // Two restarts of two runs, each with both distances.
    assert!(lives[0] == lives[1] && lives[2] == lives[3] && lives[1] != lives[2]);
    assert!(!home.path().join("state/clusters/exp1").exists());
}

pub(crate) fn data_is_made_once_and_restored_before_each_restart() {
    let home = Home::new();
    let file = home.path().join("slots.toml");
    fs_err::write(&file, FILE).expect("a file");
    let file = file.to_str().expect("a name");
    let said = home.helenus(&["experiment", "run", file]);
    // One block claims nothing, and a busy host may disqualify a run.
    assert!(said.code == 0 || said.code == 6, "{said}");
    let times = said.stderr.matches("making the data").count();
    assert_eq!(times, 1, "{said}");
    let status = home
        .helenus(&["experiment", "status", "slots", "--format", "json"])
        .ok()
        .json();
    let runs = status["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4, "{status:#}");
    assert!(runs.iter().all(|run| run["state"] == "done"), "{status:#}");
    assert!(
        status["dataset_bytes"].as_u64() > Some(3000 * 100),
        "{status:#}"
    );
    // Every read found its row, whichever restart it was of.
    let report = home
        .helenus(&["experiment", "report", "e1", "--format", "json"])
        .json();
    let doubts: Vec<&Value> = report["facts"]
        .as_array()
        .expect("facts")
        .iter()
        .flat_map(|fact| fact["doubts"].as_array().expect("doubts"))
        .collect();
    let failed = doubts
        .iter()
        .any(|doubt| doubt.as_str().is_some_and(|d| d.contains("failed")));
    assert!(!failed, "{doubts:?}");
    let left = home.path().join("state/baselines");
    let left = fs_err::read_dir(left).map_or(0, |entries| {
        let full = |entry: &std::io::Result<fs_err::DirEntry>| {
            let path = entry.as_ref().expect("an entry").path();
            fs_err::read_dir(path).is_ok_and(|mut inner| {
                inner.any(|one| {
                    let name = one.expect("an entry").file_name();
                    !name.to_string_lossy().starts_with('.')
                })
            })
        };
        entries.filter(full).count()
    });
    assert_eq!(left, 0, "datasets go with the experiment's end");
}
