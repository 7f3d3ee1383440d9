//! A cluster that a run measures: other commands leave it alone, unless a person insists; then the run says who it was.
//! Refuses to depend on a moment: each run lasts until a command ends it.

use crate::lab::{PATIENCE, Running, TestLab, look};

/// A run on `c` that goes on for minutes.
const LONG: &str = "run standard1 --cluster c --ops write=1 --rate 100 --warmup 0s --duration 300s";

/// `helenus LINE`, until it holds the cluster.
fn until_held(lab: &TestLab, line: &str, cluster: &str) -> Running {
    let words: Vec<&str> = line.split(' ').collect();
    let mut running = lab.begin(&words);
    let held = lab.cluster(cluster).join("runs");
    look::wait_for("a run that holds its cluster", PATIENCE, || {
        assert!(running.runs(), "it ended early: {}", running.err());
        match look::entries(&held).len() {
            1 => Ok(()),
            held => Err(format!("{held} hold it")),
        }
    });
    running
}

#[test]
fn verbs_that_disturb_are_refused_while_a_run_is_under_way() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    // One of a cluster that stays, and one whose cluster is gone.
    for cluster in ["c", "gone"] {
        let manifest = format!("home/state/baselines/{cluster}/kept/manifest.json");
        lab.write(&manifest, "{}");
    }
    let run = until_held(&lab, LONG, "c");
    for line in [
        "stop c",
        "start c",
        "kill c/node1",
        "pause c/node1",
        "resume c/node1",
        "reset c",
        "baseline save c t",
        "baseline restore c t",
        "rm c",
        "rm c --with-baselines",
        "rm --all",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = lab.run(&words);
        assert_eq!(said.code, "2", "{line}\n{said}");
        assert!(
            said.err
                .contains("a run is under way on cluster c: [HELENUS] run standard1"),
            "{line}\n{said}"
        );
        assert!(said.err.contains("--force"), "{line}\n{said}");
        let by_itself = said.err.contains("--fault 'at 10s for 20s ");
        let fault = line.starts_with("kill") || line.starts_with("pause");
        assert_eq!(by_itself, fault, "{line}\n{said}");
    }
    assert_eq!(lab.states("c").0, "running");
    // What did go is reported all the same.
    let said = lab.run(&["rm", "--all", "--with-baselines"]);
    assert_eq!(said.code, "2", "{said}");
    assert_eq!(said.out, "removed baseline kept of gone\n", "{said}");
    assert!(lab.path("home/state/baselines/c/kept").exists());
    assert!(!lab.path("home/state/baselines/gone").exists());
    look::wait_for("the run in the history", PATIENCE, || {
        let newest = lab.run(&["history", "show", "@newest"]);
        let there = newest.code == "0";
        there.then_some(()).ok_or_else(|| newest.to_string())
    });
    shot!(lab.run(&["history", "show", "@last"]), @"
    exit code: 2
    --- standard error
    error: no run has ended yet
    hint: `@newest` is the newest run, whatever its state
    ");
    run.signal(rustix::process::Signal::INT);
    assert_eq!(run.end().code, "130");
    lab.done(&["history", "show", "@last"]);
    lab.done(&["stop", "c"]);
}

#[test]
fn who_insists_is_named_by_the_run() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let line = LONG.replace("300s", "6s");
    let run = until_held(&lab, &line, "c");
    // Its operations fail from here on.
    look::wait_for("the run's first line", PATIENCE, || {
        let runs = lab.json(&["history"]);
        let begun = runs["runs"].as_array().is_some_and(|all| !all.is_empty());
        begun.then_some(()).ok_or_else(|| runs.to_string())
    });
    lab.done(&["pause", "c/node1", "--force"]);
    lab.done(&["resume", "c/node1", "--force"]);
    let said = run.end();
    assert_eq!(said.code, "5", "{said}");
    let output = said.out + &said.err;
    for verb in ["pause", "resume"] {
        let words = format!("([HELENUS] {verb} c/node1 --force)");
        assert!(
            output.contains("another command changed the cluster during the run"),
            "{output}"
        );
        assert!(output.contains(&words), "{output}");
    }
    let shown = lab.json(&["history", "show", "@last"]);
    assert!(shown.to_string().contains("\"disturbed\""), "{shown:#}");
}

#[test]
fn a_bench_whose_nodes_were_stopped_removes_its_cluster() {
    let lab = TestLab::fake("serve");
    let bench = "bench --phases write --rate 100 --warmup 0s --duration 5s";
    let bench = until_held(&lab, bench, "bench1");
    assert_eq!(lab.run(&["stop", "bench1"]).code, "2");
    lab.done(&["stop", "bench1", "--force"]);
    let said = bench.end();
    assert_ne!(said.code, "0", "{said}");
    assert!(!lab.cluster("bench1").exists(), "{said}");
    assert_eq!(lab.processes(), vec![]);
}

#[test]
fn a_refused_statement_leaves_no_run() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let said = lab.run(&[
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write",
        "--rate",
        "10",
        "--insert",
        "INSERT INTO nowhere.t (k) VALUES (?)",
    ]);
    assert_eq!(said.code, "2", "{said}");
    let runs = lab.json(&["history"]);
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(0), "{runs:#}");
}
