//! The history while runs come and go: `kill -9` at twenty moments, two runs at once, a run under way.
//! Refuses to lose or change a run that was there before.

use crate::lab::{PATIENCE, Running, TestLab, look};
use helenus_record::{History, RunFilter, RunState, RunSummary};
use rustix::process::Signal;
use std::time::Instant;

/// A run of one phase, with intervals on the way.
const BENCH: [&str; 11] = [
    "bench",
    "--phases",
    "write",
    "--rate",
    "200",
    "--duration",
    "2s",
    "--warmup",
    "0s",
    "--seed",
    "7",
];

/// A lab whose nodes stand in for a database; the real generator answers itself.
fn lab() -> TestLab {
    TestLab::fake("serve")
}

fn open(lab: &TestLab) -> History {
    let path = lab.path("home/state").join(helenus_record::FILE);
    History::open(&path).expect("the history opens")
}

/// All runs, oldest first; the file is sound.
fn runs(lab: &TestLab) -> Vec<RunSummary> {
    let history = open(lab);
    assert_eq!(history.problems().expect("reads"), Vec::<String>::new());
    let mut all = history.runs(&RunFilter::default()).expect("lists");
    all.reverse();
    all
}

/// Whether it has a result; a busy machine may have disqualified it.
fn ended(run: &RunSummary) -> bool {
    [RunState::Complete, RunState::Invalid].contains(&run.state)
}

/// Everything the history has of these runs, intervals too.
fn exported(lab: &TestLab, runs: &[RunSummary]) -> Vec<String> {
    let one = |run: &RunSummary| {
        let id = run.id.to_string();
        lab.done(&["history", "export", &id, "--intervals", "--with-warmup"])
    };
    runs.iter().map(one).collect()
}

fn kill(mut command: Running) {
    if command.runs() {
        command.signal(Signal::KILL);
    }
    command.end();
}

#[test]
fn kill_9_at_twenty_moments_of_a_run() {
    let lab = lab();
    let begin = Instant::now();
    lab.measured(&BENCH);
    let length = begin.elapsed();
    let mut before = runs(&lab);
    assert!(ended(&before[0]), "{before:?}");
    let mut known = exported(&lab, &before);
    for moment in 0..20_u32 {
        let command = lab.begin(&BENCH);
        // The remainder of the clock moves each moment within its twentieth.
        std::thread::sleep(length * (moment * 5 + std::process::id() % 5) / 100);
        kill(command);
        let now = runs(&lab);
        assert_eq!(now[..before.len()], before[..], "moment {moment}");
        assert_eq!(exported(&lab, &before), known, "moment {moment}");
        // At most one run came, and it is broken unless it had ended; nobody writes it any more.
        let new = &now[before.len()..];
        assert!(new.len() <= 1, "moment {moment}: {new:?}");
        for run in new {
            assert!(
                !run.running && (ended(run) || run.state == RunState::Broken),
                "moment {moment}: {run:?}"
            );
            assert_eq!(run.verdict.is_none(), run.state == RunState::Broken);
        }
        known.extend(exported(&lab, new));
        before = now;
    }
    let broken: Vec<&RunSummary> = before
        .iter()
        .filter(|r| r.state == RunState::Broken)
        .collect();
    assert!(broken.len() > 2, "no moment was within a run: {before:?}");
    let history = open(&lab);
    let kept = broken
        .iter()
        .any(|run| !history.intervals(run.id).expect("reads").is_empty());
    assert!(kept, "what was measured before the kill is gone");
    let listed = lab.json(&["history", "--state", "broken"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(broken.len()));
    // And it goes on: the broken ones are removed, the next run is complete.
    lab.done(&["history", "prune", "--state", "broken"]);
    lab.measured(&BENCH);
    assert!(runs(&lab).iter().all(ended));
}

#[test]
fn a_run_under_way_is_running_and_cannot_be_removed() {
    let lab = lab();
    // It is killed in the end: longer than all that is asked meanwhile, on any machine.
    let long = BENCH.map(|word| if word == "2s" { "300s" } else { word });
    let command = lab.begin(&long);
    look::wait_for("the run", PATIENCE, || {
        let listed = lab.json(&["history", "--state", "running"]);
        match listed["runs"].as_array().map(Vec::len) {
            Some(1) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    shot!(lab.run(&["history", "prune", "r1"]), @"
    exit code: 2
    --- standard error
    error: run r1 is still under way
    hint: wait until it ends, or stop it
    ");
    let pruned = lab.json(&["history", "prune", "--state", "broken"]);
    assert_eq!(pruned["runs"].as_array().map(Vec::len), Some(0));
    let shown = lab.done(&["history", "show", "r1"]);
    assert!(shown.starts_with("run r1: running,"), "{shown}");
    kill(command);
    let shown = lab.json(&["history", "show", "r1"]);
    assert_eq!(shown["summary"]["state"], "broken");
    assert_eq!(shown["summary"]["running"], false);
}

#[test]
fn a_run_that_the_history_cannot_take_does_not_end_well() {
    let lab = lab();
    let folder = lab.path("home/state");
    fs_err::create_dir_all(&folder).expect("a folder");
    fs_err::write(folder.join(helenus_record::FILE), "no database").expect("a file");
    let said = lab.run(&BENCH);
    // 5 where a busy machine has disqualified the run besides.
    assert!(["3", "5"].contains(&said.code.as_str()), "{said}");
    assert!(
        said.err
            .contains("the run could not be stored in the history"),
        "{said}"
    );
    assert!(said.out.contains("write"), "{said}");
}

#[test]
fn two_runs_at_once_lose_nothing() {
    let lab = lab();
    lab.done(&["up", "a"]);
    lab.done(&["up", "b"]);
    let bench = |cluster| [&BENCH[..], &["--cluster", cluster]].concat();
    let commands = ["a", "b"].map(|cluster| lab.begin(&bench(cluster)));
    for command in commands {
        let said = command.end();
        assert!(said.code == "0" || said.code == "5", "{said}");
        assert!(
            !said.err.contains("could not be stored in the history"),
            "{said}"
        );
    }
    let runs = runs(&lab);
    assert_eq!(runs.len(), 2);
    let history = open(&lab);
    for run in runs {
        let intervals = history.intervals(run.id).expect("reads");
        let completed: u64 = intervals
            .iter()
            .flat_map(|i| i.operations.values())
            .map(|one| one.completed)
            .sum();
        assert_eq!(completed, 400, "{run:?}");
    }
}
