//! Experiments from files: planned, begun, cut off, gone on with, and kept when their runs go.
//! Refuses to run anything: what becomes of a run is said by hand.

use crate::values::{SEED, beginning, host, plan, result};
use helenus_model::experiment::{Planned, Progress, RunState, Stage, Whole, more, order};
use helenus_model::seed::Seed;
use helenus_record::{
    Ending, ExperimentBeginning, ExperimentId, History, PlannedRun, RunBeginning, RunPlace,
};
use std::path::Path;

pub(crate) fn wholes() -> Vec<Whole> {
    let whole = |level: usize| Whole {
        levels: vec![level],
        combinations: vec![level],
        mirrored: false,
        twice: level == 0,
    };
    vec![whole(0), whole(1)]
}

/// Two blocks of two restarts, and their twins.
pub(crate) fn planned(history: &mut History) -> ExperimentId {
    let beginning = ExperimentBeginning {
        name: "heap",
        text: "name = \"heap\"\n",
        folder: "/home/me",
        command: "helenus experiment run heap.toml",
        seed: SEED,
        trials: &["heap=64M", "heap=128M"],
        began_wall_ns: 5,
    };
    history
        .plan_experiment(&beginning, &order(SEED, &wholes(), 2))
        .expect("plans")
}

fn states(runs: &[PlannedRun]) -> Vec<(Planned, RunState)> {
    runs.iter().map(|run| (run.planned, run.state)).collect()
}

fn abandon(path: &Path) {
    let raw = rusqlite::Connection::open(path).expect("opens");
    raw.execute_batch("UPDATE experiment_file SET writer = 'boot 1 1'")
        .expect("changes");
}

#[test]
fn what_was_cut_off_is_next_and_what_ended_stays() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = History::open(&path).expect("opens");
    let id = planned(&mut history);
    assert!(
        !history
            .experiment("heap")
            .expect("reads")
            .expect("one")
            .running
    );
    assert_eq!(history.sit_down(id).expect("sits"), 1);
    history.begin_planned(id, 0, 10).expect("begins");
    history
        .end_planned(id, 0, (RunState::Died, None, Some("no heap")), 11)
        .expect("ends");
    history.begin_planned(id, 1, 12).expect("begins");
    let stored = history
        .experiment(&id.to_string())
        .expect("reads")
        .expect("one");
    assert_eq!(
        (stored.seed, stored.running, stored.sittings),
        (SEED, true, 1)
    );
    abandon(&path);
    let stored = history.experiment("heap").expect("reads").expect("one");
    assert!(!stored.running, "its writer is gone");
    assert_eq!(history.sit_down(id).expect("sits"), 2);
    let runs = history.planned_runs(id).expect("reads");
    assert_eq!(runs.len(), 6);
    assert_eq!(runs[1].state, RunState::Interrupted);
    assert_eq!(Progress::next(&states(&runs)), Some(1));
    assert_eq!(
        (runs[0].why.as_deref(), runs[0].ended_wall_ns),
        (Some("no heap"), Some(11))
    );
    let mut longer: Vec<Planned> = runs.iter().map(|run| run.planned).collect();
    more(&mut longer, SEED, &wholes(), 1, Stage::Again);
    history
        .plan_more(id, &longer[6..], Some(2))
        .expect("plans more");
    let again = history.planned_runs(id).expect("reads");
    assert_eq!(
        again.iter().map(|run| run.planned).collect::<Vec<_>>(),
        longer
    );
    assert_eq!(
        history.experiments().expect("lists")[0].first_stage,
        Some(2)
    );
    assert_eq!(history.experiment("none").expect("reads"), None);
}

#[test]
fn a_plan_outlives_its_runs() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = History::open(&path).expect("opens");
    let id = planned(&mut history);
    history.begin_planned(id, 0, 10).expect("begins");
    let (plan, host) = (plan(Seed(1)), host());
    let began = RunBeginning {
        place: Some(RunPlace {
            experiment: id,
            trial: 1,
            restart: 0,
        }),
        ..beginning(&plan, &host)
    };
    let run = history.begin_run(&began).expect("begins");
    history
        .finish_run(run, &result(&plan), Ending::Complete)
        .expect("finishes");
    history
        .end_planned(id, 0, (RunState::Done, Some(run), None), 20)
        .expect("ends");
    assert_eq!(history.planned_runs(id).expect("reads")[0].run, Some(run));
    history.remove_runs(&[run]).expect("removes");
    let kept = history.planned_runs(id).expect("reads");
    assert_eq!(
        (kept[0].run, kept[0].state, kept[0].attempts),
        (None, RunState::Done, 1)
    );
    assert_eq!(history.problems().expect("reads"), Vec::<String>::new());
}

#[test]
fn the_smallest_dataset_and_the_largest_memory_are_kept() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let id = planned(&mut history);
    for (dataset, memory) in [(500, 90), (400, 70)] {
        history.note_dataset(id, dataset, memory).expect("notes");
    }
    let stored = history.experiment("heap").expect("reads").expect("one");
    assert_eq!(
        (stored.dataset_bytes, stored.memory_bytes),
        (Some(400), Some(90))
    );
}
