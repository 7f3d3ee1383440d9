//! An experiment on real Cassandra: its data made once, restored before each restart, all runs done, nothing left.
//! Refuses to say how fast anything is: runs, rows and files only.

use crate::home::Home;
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

pub(crate) fn data_is_made_once_and_restored_before_each_restart() {
    let home = Home::new();
    let file = home.path().join("slots.toml");
    fs_err::write(&file, FILE).expect("a file");
    let file = file.to_str().expect("a name");
    let said = home.helenus(&["experiment", "run", file]);
    // One block claims nothing, and a busy host may disqualify a run.
    assert!(said.code == 0 || said.code == 6, "{said}");
    let told = said.stderr.matches("making the data").count();
    assert_eq!(told, 1, "{said}");
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
